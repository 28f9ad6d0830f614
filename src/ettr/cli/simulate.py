"""``ettr simulate``: finishing dates and time budgets of many simulated runs."""

from __future__ import annotations

import math
import shlex
from pathlib import Path
from typing import Annotated, Any

import typer

from ettr.budget import closed_form
from ettr.cli import options, outputs, terminal
from ettr.cli.options import JsonOption, QuietOption, ScenarioArgument, SetOption
from ettr.core.errors import InputError
from ettr.core.report import Note
from ettr.core.units import H_PER_DAY
from ettr.files.spreadsheet import csv_text
from ettr.scenario.fields import implausible


@terminal.stopped_with("stopped before the end; no run is kept")
def simulate(
    scenario: ScenarioArgument,
    set_: SetOption = None,
    runs: Annotated[
        int, typer.Option("--runs", metavar="N", help="How many times to simulate; with --until-error at least.")
    ] = 1000,
    seed: Annotated[
        int,
        typer.Option(
            "--seed", metavar="N", help="The same seed gives the same runs, and two scenarios the same random numbers."
        ),
    ] = 0,
    until_error: Annotated[
        float | None,
        typer.Option(
            "--until-error",
            metavar="SHARE",
            help="Add runs until the standard error of the mean total is this share of it, e.g. 0.001 for 0.1%.",
        ),
    ] = None,
    days: Annotated[
        float | None,
        typer.Option(
            "--days", metavar="N", help="End all runs after so many days, and tell how much work is done by then."
        ),
    ] = None,
    timeline: Annotated[
        Path | None,
        typer.Option("--timeline", metavar="FILE", help="Write what happened when in the first run here, as CSV."),
    ] = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Simulate a run many times: finishing dates, where the hours go, and the closed form beside it.

    What a scenario can describe is simulated, from failure to failure. Answers with the ETTR and its 95%
    interval, the dates by which 5% to 95% of the runs are done, and the mean time budget beside that of the closed
    form, which names what it leaves out. The intervals tell how well so many runs know the mean, not how well the
    scenario's figures are known.

    With --json, hours end in _h; errors are the standard errors of the means in budget, ettr_low and ettr_high the ends
    of the 95% interval, finish_h the hours by which so many in 100 runs are done and finish_error_h their standard
    errors, waiting_h the part of the queue spent waiting for nodes in n_waits waits, ended_share the share of runs in
    which too few nodes were left, and variance_ratio how many times more runs plain means would need. With --days,
    productive_h has in place of finish_h the hours of work that so many in 100 runs have done at most.

    The timeline has the columns run, start_h, end_h (hours since the run began) and state: training, checkpoint,
    rework (training that is lost later), detection, queue, restart or maintenance. A steady run is in whole intervals
    of the store, not scaled back to the work. A file that is there is written over.

    Example: ettr simulate llama3-405b --set "spares={n_nodes: 8}" --set "repair={manual_h: 24}" --runs 5000
    """
    run, changes = options.changed(scenario, set_)
    options.check_seed(seed)
    options.check_until_error(until_error)
    if days is not None and not 0 < days < math.inf:
        raise InputError(f"--days must be > 0, got {days:g}")
    if timeline is not None:
        outputs.check_file(timeline)
    from ettr.simulation import MOST_RUNS
    from ettr.simulation import simulate as simulated

    options.check_runs(runs, MOST_RUNS)
    written = [] if timeline is None else [0]
    horizon_h = None if days is None else days * H_PER_DAY
    with terminal.simulating("preparing", "runs", quiet, as_json) as on_progress:
        try:
            outcome = simulated(
                run, runs, seed, written, until=until_error, horizon_h=horizon_h, on_progress=on_progress
            )
        except InputError as error:
            if not str(error).startswith("horizon_h"):
                raise
            raise InputError(f"--days {days:g}: {error}") from error
    extra: dict[str, Any] = {"changes": changes, "warnings": implausible(run)}
    report = outcome.report()
    if days is None:
        beside = closed_form(run)
        extra["closed_form"], report = beside.to_dict(), outcome.report(beside.budget, beside.caveats)
    note = Note(f"The timeline of run 0 is at {shlex.quote(str(timeline))}")
    with outputs.written(timeline, lambda: csv_text(outcome.timeline), note, as_json):
        terminal.show(outcome, as_json, extra, report)
