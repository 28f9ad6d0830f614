"""``ettr simulate``: finishing dates and time budgets of many simulated runs."""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from ettr.budget import closed_form
from ettr.chapters.common.sentences import number
from ettr.cli import options, terminal
from ettr.cli.options import JsonOption, ScenarioArgument, SetOption
from ettr.cli.terminal import console, printable
from ettr.core.errors import EttrError
from ettr.scenario import Scenario


def simulate(
    scenario: ScenarioArgument,
    set_: SetOption = None,
    runs: Annotated[
        float, typer.Option("--runs", metavar="N", help="How many times to simulate; with --until-error at least.")
    ] = 1000,
    seed: Annotated[
        int,
        typer.Option(
            "--seed", metavar="S", help="The same seed gives the same runs, and two scenarios the same random numbers."
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
    timeline: Annotated[
        Path | None,
        typer.Option("--timeline", metavar="FILE", help="Write what happened when in run 0 here, as CSV."),
    ] = None,
    timeline_runs: Annotated[
        str | None, typer.Option("--timeline-runs", metavar="N,N,...", help="The runs to write instead of run 0.")
    ] = None,
    as_json: JsonOption = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress bar.")] = False,
) -> None:
    """Simulate a run many times: finishing dates, where the hours go, and the closed form beside it.

    What a scenario can describe is simulated, from failure to failure. Answers with the ETTR and its 95%
    interval, the dates by which 5% to 95% of the runs are done, and the mean time budget beside that of the closed
    form, which names what it leaves out. The intervals tell how well so many runs know the mean, not how well the
    scenario's figures are known.

    With --json, hours end in _h; errors are the standard errors of the means in budget, ettr_low and ettr_high the ends
    of the 95% interval, finish_h the hours by which so many in 100 runs are done, waiting_h the part of the queue spent
    waiting for nodes in n_waits waits, and variance_ratio how many times more runs plain means would need.

    The timeline has the columns run, start_h, end_h (hours since the run began) and state: training, checkpoint,
    rework (training that is lost later), detection, queue, restart or maintenance. A steady run is in whole intervals
    of the store, not scaled back to the work. A file that is there is written over.

    Example: ettr simulate llama3-405b --set "spares={n_nodes: 8}" --set "repair={manual_h: 24}" --runs 5000
    """
    with terminal.stopped_with("stopped before the end; no run is kept"):
        _simulate(scenario, set_ or [], runs, seed, until_error, timeline, timeline_runs, as_json, quiet)


def _simulate(
    scenario: str,
    pairs: list[str],
    runs: float,
    seed: int,
    until_error: float | None,
    timeline: Path | None,
    timeline_runs: str | None,
    as_json: bool,
    quiet: bool,
) -> None:
    changes = options.changes(pairs)
    options.check_seed(seed)
    options.check_until_error(until_error)
    if timeline is not None:
        options.check_file_out(timeline)
    from ettr.simulation import MOST_RUNS
    from ettr.simulation import simulate as simulated

    n_runs = options.number_of_runs(runs, MOST_RUNS)
    chosen = options.timeline_runs(timeline_runs, timeline, n_runs)
    run = Scenario.load(scenario).override(changes) if changes else Scenario.load(scenario)
    with (
        terminal.progress(quiet or as_json, "preparing") as report,
        terminal.said_if_late(terminal.COMPILES, quiet) as begun,
    ):

        def on_progress(done: int, total: int) -> None:
            begun()
            report.runs(done, total)

        outcome = simulated(run, n_runs, seed, chosen, until=until_error, on_progress=on_progress)
    beside = closed_form(run)
    unwritten = None
    if timeline is not None:  # first, as whoever reads the answer may close the pipe
        try:
            options.write(timeline, outcome.timeline.to_csv(index=False))
        except EttrError as error:
            unwritten = error
    if as_json:
        typer.echo(json.dumps(for_json(outcome, beside, changes), indent=2, allow_nan=False))
    else:
        print_simulation(outcome, beside, changes)
    if unwritten:
        raise unwritten
    if timeline is not None and not as_json:
        print_written(timeline, chosen)


_FEW_RUNS = 100
"""Of fewer runs, less than five lie outside the 5% or 95% dates."""
_ROUNDING = 1e-9
"""A relative error this small is that of adding floats: the part is the same in each run."""


def for_json(outcome: Any, beside: Any, changes: dict[str, Any]) -> dict[str, Any]:
    """A simulation with the closed form beside it, for JSON; null for what one run alone cannot say."""
    record: dict[str, Any] = _without_nan({**outcome.to_dict(), "closed_form": beside.to_dict()})
    return record | {"changes": changes}


def _without_nan(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nan(item) for key, item in value.items()}
    return None if isinstance(value, float) and not math.isfinite(value) else value


def print_simulation(outcome: Any, beside: Any, changes: dict[str, Any]) -> None:
    """Show the ETTR, finishing dates, the mean time budget, and how sure all that is."""
    out = console()

    def say(text: str, style: str = "") -> None:
        out.print(Text(printable(text), style=style), soft_wrap=True)

    say(outcome.scenario.title, "bold")
    for path, value in changes.items():
        say(f"  {path} = {value}")
    say(_headline(outcome, beside))
    say(_dates_since(outcome.scenario), "bold")
    out.print(_dates(outcome))
    say("Mean time budget", "bold")
    out.print(_hours(outcome, beside))
    for line in (*_beside(beside), *_counts(outcome, beside)):
        say(line)
    for line in _how_sure(outcome):
        say(line, "dim")


def print_written(path: Path, runs: list[int]) -> None:
    """Say where the timeline is."""
    named = f"run {runs[0]}" if len(runs) == 1 else f"{len(runs):,} runs"
    console().print(Text(f"The timeline of {named} is at {shlex.quote(printable(str(path)))}"), soft_wrap=True)


def _headline(outcome: Any, beside: Any) -> str:
    low, high = outcome.ettr_interval
    digits = max(min(_decimals(100 * (high - low) / 2, 1), 3), _decimals(100 * outcome.ettr, 2))
    ettr = f"{100 * outcome.ettr:.{digits}f}%"
    if math.isfinite(outcome.total_error):  # more than one run
        ettr += f" (95%: {100 * low:.{digits}f}% to {100 * high:.{digits}f}%)"
    form = f"; closed form: {100 * beside.budget.ettr:.{digits}f}%" if beside.budget else ""
    return f"{_runs(outcome.n_runs)} of {outcome.scenario.name}, seed {outcome.seed}. ETTR: {ettr}{form}"


def _dates_since(run: Any) -> str:
    since = "submission" if run.job.include_start else "the start, in the steady state"
    return f"Finishing dates, since {since}"


def _dates(outcome: Any) -> Any:
    """Hours and days by which shares of the runs are done."""
    from ettr.simulation import PERCENTILES

    table = Table(box=None, pad_edge=False)
    table.add_column("share of runs")
    for percentile in PERCENTILES:
        table.add_column(f"{percentile}%", justify="right")
    hours = outcome.finish_h(PERCENTILES)
    for unit, values in (("hours", hours), ("days", hours / 24)):
        digits = _decimals(values[-1] - values[0], 2)
        table.add_row(unit, *(f"{value:,.{digits}f}" for value in values))
    return table


def _hours(outcome: Any, beside: Any) -> Any:
    """Parts with their 95% intervals; those of the closed form beside them."""
    rows = outcome.budget_interval.query("part != 'n_failures'").set_index("part")
    total_h, half = rows.loc["total", "mean"], (rows["high"] - rows["low"]) / 2
    differs = half["total"] > _ROUNDING * total_h
    digits = min(_decimals(half["total"], 2), _decimals(total_h, 6)) if differs else 1
    form = beside.budget.to_dict() if beside.budget else {}
    table = Table(box=None, pad_edge=False)
    table.add_column("part")
    for name in ("hours", "95%", "share", *(("closed form", "share") if form else ())):
        table.add_column(name, justify="right")
    for part, mean in rows["mean"].items():
        expected = form.get(f"{part}_h", 0.0)
        if not mean and not expected:
            continue
        whole = part == "total"
        cells = [f"{mean:,.{digits}f} h", _half(half[part], mean, digits), "" if whole else f"{mean / total_h:.1%}"]
        if form:
            cells += [f"{expected:,.{digits}f} h", "" if whole else f"{expected / form['total_h']:.1%}"]
        table.add_row(str(part), *cells, style="bold" if whole else "")
    return table


def _beside(beside: Any) -> Iterator[str]:
    if beside.refusal:
        yield f"No closed form beside it: {beside.refusal}."
    elif beside.left_out:
        yield "The closed form leaves out:"
    else:
        changing = ", at each moment's failure rate" if beside.formula == "budget.over_time" else ""
        maintenance = ", and has maintenance to first order" if beside.budget.maintenance_h > 0 else ""
        yield f"The closed form ({beside.formula}) leaves nothing out{changing}{maintenance}."
    if not beside.refusal:
        yield from (f"  {words}" for words in beside.left_out)


def _counts(outcome: Any, beside: Any) -> Iterator[str]:
    """Failures, and what else occurs: means of a run."""
    runs, mean_h = outcome.runs, outcome.budget
    form = f"; closed form: {number(beside.budget.n_failures)}" if beside.budget else ""
    yield f"Failures: {number(mean_h.n_failures)} a run{form}"
    if runs["n_waits"].any():
        waits, waiting_h = (number(runs[column].mean()) for column in ("n_waits", "waiting_h"))
        yield f"Waits for nodes: {waits} a run, {waiting_h} h (within the queue)"
    if runs["n_undetected"].any():
        yield f"Silent failures that nobody had found at the end: {number(runs['n_undetected'].mean())} a run"
    if runs["n_planned"].any():
        yield f"Planned stops: {number(runs['n_planned'].mean())} a run"
    if mean_h.spare_gpu_h:
        yield f"Held as hot spares: {number(mean_h.spare_gpu_h)} GPU-hours"


def _how_sure(outcome: Any) -> Iterator[str]:
    low, high = outcome.budget_interval.set_index("part").loc["total", ["low", "high"]]
    n_runs = outcome.n_runs
    if outcome.met_nothing:
        yield f"No failure in {_runs(n_runs)}: how far these are from the mean is not known."
        return
    if not math.isfinite(high):
        yield "One run alone does not say how far runs differ: no intervals."
        return
    relative = (high - low) / (high + low)
    if relative <= _ROUNDING:
        yield "No run differs from another."
        return
    yield f"From {_runs(n_runs)} the mean total is known to within ±{100 * relative:.2g}% (95%)."
    ratio = outcome.variance_ratio
    if ratio >= 1.05:
        yield f"The means use control variates: plain means would have needed {number(ratio)} times as many runs."
    elif ratio != 1:
        yield "The means use control variates, which are no help here: plain means would have needed as many runs."
    else:
        yield "The means are plain: control variates have nothing to work with, or too few runs."
    if n_runs < _FEW_RUNS:
        yield f"The 5% and 95% dates are rough: each has fewer than five of {_runs(n_runs)} beyond it."


def _half(half: float, mean: float, digits: int) -> str:
    if not math.isfinite(half):
        return "unknown"
    if half <= _ROUNDING * mean:
        return "± 0"
    return f"± {half:,.{digits}f}" if half >= 0.5 * 10**-digits else f"< {10**-digits:.{digits}f}"


def _runs(number: int) -> str:
    return f"{number:,} run{'' if number == 1 else 's'}"


def _decimals(scale: float, significant: int) -> int:
    """Decimals that show a number of this size with so many digits; from one to six."""
    if not math.isfinite(scale) or scale <= 0:
        return 1
    return min(max(significant - 1 - math.floor(math.log10(scale)), 1), 6)
