"""``ettr power``: the power that a run draws from the grid, its swings and its cost."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ettr.cli import completion, options, outputs, terminal
from ettr.cli.options import JsonOption, ScenarioArgument, SetOption
from ettr.core.report import Note

if TYPE_CHECKING:
    from ettr.power import Drawn


def power(
    scenario: ScenarioArgument,
    set_: SetOption = None,
    part: Annotated[
        str | None,
        typer.Option(
            "--part",
            metavar="GPU",
            help="Another GPU: a preset (see `ettr gpus`), or a file ending in .yml.",
            autocompletion=completion.gpus,
        ),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="Seed of the simulated run.")] = 0,
    limits: Annotated[
        str | None,
        typer.Option("--limits", metavar="SPEC", help="Check the limits of a utility: a name, or a file in .csv."),
    ] = None,
    series: Annotated[
        Path | None,
        typer.Option("--series", metavar="FILE", help="Write the grid power in each minute to this CSV file."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Compute the power that a run draws from the grid, its swings and its cost.

    One run is simulated, and the GPU's draw in each state adds up to the power of the site. The answer has the mean
    and the extremes of the grid power in seconds, its swings and ramps, and energy, cost and carbon by state. Fields
    of the sections power and cost that the scenario leaves out are assumed.

    The series has the columns time_h (middle of the minute, since submission) and power_mw (its mean). With --json,
    keys end in their unit, and null marks a value that cannot be resolved in seconds.

    Exit status: 0 answer; 1 a file cannot be written or an extra is not installed; 2 input refused.

    Example: ettr power llama3-405b --set power.step_s=3 --limits utility-example

    Example: ettr power llama3-405b --part gb200 --series grid.csv
    """
    run, changes = options.changed(scenario, set_)
    options.check_seed(seed)
    if series is not None:
        outputs.check_file(series)
    from ettr import power as model
    from ettr.scenario.fields import implausible

    profile = model.profile(run, part)
    rules = model.specification(limits) if limits else None
    from ettr.simulation import simulate

    with terminal.progress(as_json, "simulating the run") as report, terminal.compiling_said(as_json):
        timeline = simulate(run, 1, seed, timeline=[0]).timeline
        report.step("computing the power in each second")
        answer = model.drawn(run, seed, profile, timeline, rules)
    note = Note(f"The series is at {shlex.quote(str(series))}")
    with outputs.written(series, lambda: _csv(answer), note, as_json):
        terminal.show("power", answer, as_json, {"changes": changes, "warnings": (*implausible(run), *run.cautions)})


def _csv(answer: Drawn) -> str:
    """Return the grid power by the minute, as CSV."""
    from ettr import power as model
    from ettr.files.spreadsheet import csv_text

    return csv_text(model.series(answer.timeline, answer.profile, 60.0).to_frame(), float_format="%.9g")
