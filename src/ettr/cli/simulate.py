"""``ettr simulate``: finishing dates and time budgets of many simulated runs."""

from __future__ import annotations

import math
import shlex
from pathlib import Path
from typing import Annotated, Any

import typer

from ettr.cli import options, outputs, terminal
from ettr.cli.options import JsonOption, QuietOption, ScenarioArgument, SetOption
from ettr.core.errors import InputError
from ettr.core.report import Note
from ettr.core.units import H_PER_DAY


@terminal.stopped_with("stopped before the end; no run is kept")
def simulate(
    scenario: ScenarioArgument,
    set_: SetOption = None,
    runs: Annotated[
        int, typer.Option("--runs", metavar="N", help="Number of simulated runs; with --until-error, the minimum.")
    ] = 1000,
    seed: Annotated[
        int,
        typer.Option("--seed", metavar="N", help="Seed; two scenarios with the same seed get the same random numbers."),
    ] = 0,
    until_error: Annotated[
        float | None,
        typer.Option(
            "--until-error",
            metavar="SHARE",
            help="Add runs until the standard error of the mean duration is this share of it, e.g. 0.1%.",
        ),
    ] = None,
    days: Annotated[
        float | None,
        typer.Option("--days", metavar="DAYS", help="End all runs after this time, and report the work done by then."),
    ] = None,
    timeline: Annotated[
        Path | None,
        typer.Option("--timeline", metavar="FILE", help="Write the states of the first run to this CSV file."),
    ] = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Simulate a run many times: finishing dates, ETTR and where the hours go.

    The answer has the ETTR with its 95% CI, the dates by which 5% to 95% of runs finish, and the mean time budget next
    to that of the analytical model, with the parts that the model leaves out. The CI is that of the mean over the
    simulated runs; it does not include the uncertainty of the inputs.

    With --json, times end in _h. finish_h has the hours by percentile of runs, and finish_error_h their standard
    errors; errors has the standard errors of the means in budget; ettr_low and ettr_high are the 95% CI; waiting_h is
    the time in the queue waiting for nodes, in n_waits waits; ended_share is the share of runs that ended for lack of
    nodes; variance_ratio is how many times more runs plain averages would need. With --days, productive_h replaces
    finish_h: the hours of work done, by percentile of runs.

    The timeline has the columns run, start_h, end_h (since submission) and state: training, checkpoint, rework
    (training that is lost later), detection, queue, restart or maintenance. Existing files are overwritten.

    Exit status: 0 answer; 1 a file cannot be written or an extra is not installed; 2 input refused; 130 stopped with
    Ctrl-C.

    Example: ettr simulate llama3-405b --runs 5000

    Example: ettr simulate llama3-405b --set "spares={n_nodes: 8}" --set "repair={manual_h: 24}"

    Example: ettr simulate mine.yml --days 30 --timeline first.csv
    """
    run, changes = options.changed(scenario, set_)
    options.check_seed(seed)
    options.check_until_error(until_error)
    if days is not None and not 0 < days < math.inf:
        raise InputError(f"--days must be > 0 days and finite, got {days:g}")
    if timeline is not None:
        outputs.check_file(timeline)
    from ettr.budget import closed_form
    from ettr.files.spreadsheet import csv_text
    from ettr.scenario.fields import implausible
    from ettr.simulation import MOST_RUNS
    from ettr.simulation import simulate as simulated

    options.check_runs(runs, MOST_RUNS)
    recorded = [] if timeline is None else [0]
    horizon_h = None if days is None else days * H_PER_DAY
    with terminal.simulating("preparing", "runs", quiet, as_json) as on_progress:
        try:
            outcome = simulated(
                run, runs, seed, recorded, until=until_error, horizon_h=horizon_h, on_progress=on_progress
            )
        except InputError as error:
            if not str(error).startswith("horizon_h"):
                raise
            raise InputError(f"--days {days:g}: {error}") from error
    extra: dict[str, Any] = {"changes": changes, "warnings": (*implausible(run), *run.cautions)}
    report = outcome.report()
    if days is None:
        model = closed_form(run)
        extra["closed_form"], report = model.to_dict(), outcome.report(model.budget, model.caveats)
    note = Note(f"The timeline of run 0 is at {shlex.quote(str(timeline))}")
    with outputs.written(timeline, lambda: csv_text(outcome.timeline), note, as_json):
        terminal.show("simulate", outcome, as_json, extra, report)
