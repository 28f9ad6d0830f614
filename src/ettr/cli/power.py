"""``ettr power``: what a run draws from the grid, how much that swings, and what it costs."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from ettr import power as model
from ettr.cli import options, outputs, terminal
from ettr.cli.options import JsonOption, ScenarioArgument, SetOption
from ettr.core.report import Note
from ettr.files.spreadsheet import csv_text
from ettr.scenario.fields import implausible


def power(
    scenario: ScenarioArgument,
    set_: SetOption = None,
    part: Annotated[
        str | None, typer.Option("--part", metavar="PART", help="Another GPU: a preset, or a file in .yml.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="Of the simulated run.")] = 0,
    limits: Annotated[
        str | None,
        typer.Option("--limits", metavar="SPEC", help="Check against a specification: a name, or a file in .csv."),
    ] = None,
    series: Annotated[
        Path | None,
        typer.Option("--series", metavar="FILE", help="Write the power at the grid in each minute here, as CSV."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Say what a run draws from the grid, how much that swings, and what it costs.

    One run is simulated, and each of its states draws what the GPU does in it. Answers with the mean and the extremes
    of the power at the grid in seconds, swings and ramps, and energy, money and carbon by part of the wall clock. The
    sections power and cost of a scenario say what is drawn and what it costs; what they do not say is assumed.

    The series has the columns time_h (middle of a minute, since submission) and power_mw (its mean). With --json,
    units are the ends of names, and null stands for what seconds cannot show.

    Example: ettr power llama3-405b --set power.step_s=3 --limits utility-example
    """
    run, changes = options.changed(scenario, set_)
    options.check_seed(seed)
    if series is not None:
        outputs.check_file(series)
    profile = model.profile(run, part)
    rules = model.specification(limits) if limits else None
    from ettr.simulation import simulate

    with terminal.progress(as_json, "simulating the run") as report, terminal.compiling_said(as_json):
        timeline = simulate(run, 1, seed, timeline=[0]).timeline
        report.step("computing the power of each second")
        answer = model.drawn(run, seed, profile, timeline, rules)
    note = Note(f"The series is at {shlex.quote(str(series))}")
    with outputs.written(series, lambda: _csv(answer), note, as_json):
        terminal.show(answer, as_json, {"changes": changes, "warnings": implausible(run)})


def _csv(answer: model.Drawn) -> str:
    """The power at the grid by the minute, as CSV."""
    return csv_text(model.series(answer.timeline, answer.profile, 60.0).to_frame(), float_format="%.9g")
