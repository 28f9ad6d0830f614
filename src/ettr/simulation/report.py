"""What the simulated runs of a scenario say, beside its closed form."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from ettr.core.report import Headline, Note, Report, Table
from ettr.core.results import TimeBudget
from ettr.core.sentences import duration, number
from ettr.core.units import ROUNDING

if TYPE_CHECKING:
    from ettr.simulation.outcome import Simulation

PERCENTILES = (5, 25, 50, 75, 95)
"""Shares of runs that are done by the dates that are shown."""
_FEW_RUNS = 100
"""Of fewer runs, less than five lie outside the 5% or 95% dates."""


def simulation_report(outcome: Simulation, expected: TimeBudget | None, caveats: Iterable[str]) -> Report:
    """ETTR, finishing dates, the mean time budget, and how sure all that is."""
    return [
        Headline(outcome.scenario.title),
        Note(_ettr(outcome, expected)),
        *map(Note, _ended(outcome)),
        Headline(_when(outcome)),
        _dates(outcome) if outcome.horizon_h is None else _work(outcome),
        Headline("Mean time budget"),
        _hours(outcome, expected),
        *map(Note, caveats),
        *map(Note, _counts(outcome, expected)),
        *(Note(line, dim=True) for line in (*_own_ratios(outcome), *_how_sure(outcome))),
    ]


def _ettr(outcome: Simulation, expected: TimeBudget | None) -> str:
    low, high = outcome.ettr_interval
    digits = _ettr_decimals(outcome)
    ettr = f"{100 * outcome.ettr:.{digits}f}%"
    if math.isfinite(outcome.relative_error):  # more than one run
        ettr += f" (95%: {100 * low:.{digits}f}% to {100 * high:.{digits}f}%)"
    form = f"; closed form: {100 * expected.ettr:.{digits}f}%" if expected else ""
    return f"{counted(outcome.n_runs)} of {outcome.scenario.name}, seed {outcome.seed}. ETTR: {ettr}{form}"


def _ettr_decimals(outcome: Simulation) -> int:
    """Decimals of the ETTR in per cent: as many as its interval carries."""
    low, high = outcome.ettr_interval
    return max(min(decimals(100 * (high - low) / 2, 1), 3), decimals(100 * outcome.ettr, 2))


def _own_ratios(outcome: Simulation) -> Iterator[str]:
    """The mean of each run's own ETTR, where it reads otherwise than the ETTR."""
    digits = _ettr_decimals(outcome)
    together, own = (f"{100 * ratio:.{digits}f}%" for ratio in (outcome.ettr, outcome.ettr_mean_of_ratios))
    if own != together:
        yield f"Mean of the runs' own ETTRs: {own}. The ETTR above is the ratio of their sums: what many runs get."


def _dates(outcome: Simulation) -> Table:
    """Hours and days by which shares of the runs are done, and the standard error of the hours."""
    shares = np.array(PERCENTILES) / 100
    hours, error_h = outcome.finish_h(shares), outcome.finish_error_h(shares)
    rows = []
    for unit, values in (("hours", hours), ("days", hours / 24)):
        ends = values[np.isfinite(values)]
        digits = decimals(np.ptp(ends), 2) if ends.size else 1
        rows.append([unit, *(f"{value:,.{digits}f}" if value < math.inf else "never" for value in values)])
    if np.isfinite(error_h).any():
        digits = decimals(np.nanmax(error_h), 2)
        cells = (f"{value:,.{digits}f}" if math.isfinite(value) else "unknown" for value in error_h)
        rows.append(["standard error, hours", *cells])
    return Table(("share of runs", *(f"{percentile}%" for percentile in PERCENTILES)), rows)


def _when(outcome: Simulation) -> str:
    since = "submission" if outcome.scenario.starts else "the start, in the steady state"
    if outcome.horizon_h is None and not outcome.scenario.ends:
        return f"Time for a year of training, since {since}: the job has no end (job.productive_h sets one)"
    if outcome.horizon_h is None:
        return f"Finishing dates, since {since}"
    return f"Work done {duration(outcome.horizon_h)} after {since}"


def _ended(outcome: Simulation) -> Iterator[str]:
    """That the fleet shrank below the job, where it did."""
    if outcome.ended.any():
        runs = outcome.runs[outcome.ended]
        after, done = runs["total_h"].mean(), runs["productive_h"].mean()
        if outcome.ended.all():
            after, done = outcome.budget.total_h, outcome.budget.productive_h
        yield (
            f"Too few nodes were left in {outcome.ended.mean():.0%} of the runs, which ended there: after "
            f"{number(after)} h on average, with {number(done)} h of work done"
        )


def _work(outcome: Simulation) -> Table:
    """Hours and days of work that shares of the runs have done by the horizon."""
    hours = np.percentile(outcome.runs["productive_h"], [100 - percentile for percentile in PERCENTILES])
    rows = []
    for unit, values in (("hours of work", hours), ("days of work", hours / 24)):
        digits = decimals(values[0] - values[-1], 2)
        rows.append([unit, *(f"{value:,.{digits}f}" for value in values)])
    return Table(("share of runs with at least", *(f"{percentile}%" for percentile in PERCENTILES)), rows)


def _hours(outcome: Simulation, expected: TimeBudget | None) -> Table:
    """Parts with their 95% intervals; those of the closed form beside them."""
    parts = outcome.budget_interval.query("part != 'n_failures'").set_index("part")
    total_h, half = parts.loc["total", "mean"], (parts["high"] - parts["low"]) / 2
    differs = half["total"] > ROUNDING * total_h
    digits = min(decimals(half["total"], 2), decimals(total_h, 6)) if differs else 1
    form = expected.to_dict() if expected else {}
    rows = []
    for part, mean in parts["mean"].items():
        by_form = form.get(f"{part}_h", 0.0)
        if not mean and not by_form:
            continue
        whole = part == "total"
        cells = [f"{mean:,.{digits}f} h", _half(half[part], mean, digits), "" if whole else f"{mean / total_h:.1%}"]
        if form:
            cells += [f"{by_form:,.{digits}f} h", "" if whole else f"{by_form / form['total_h']:.1%}"]
        rows.append([str(part), *cells])
    columns = ("part", "hours", "95%", "share", *(("closed form", "share") if form else ()))
    return Table(columns, rows, total=True)


def _counts(outcome: Simulation, expected: TimeBudget | None) -> Iterator[str]:
    """Failures, and what else occurs: means of a run."""
    runs, mean_h = outcome.runs, outcome.budget
    form = f"; closed form: {number(expected.n_failures)}" if expected else ""
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


def _how_sure(outcome: Simulation) -> Iterator[str]:
    what = "total" if outcome.horizon_h is None else "productive"
    low, high = outcome.budget_interval.set_index("part").loc[what, ["low", "high"]]
    n_runs = outcome.n_runs
    if outcome.met_nothing:
        yield f"No failure in {counted(n_runs)}: how far these are from the mean is not known."
        return
    if not math.isfinite(high):
        yield "One run alone does not say how far runs differ: no intervals."
        return
    relative = (high - low) / (high + low)
    if relative <= ROUNDING:
        yield "No run differs from another."
        return
    mean = "total" if what == "total" else "work"
    yield f"From {counted(n_runs)} the mean {mean} is known to within ±{100 * relative:.2g}% (95%)."
    if outcome.horizon_h is not None:
        return
    ratio = outcome.variance_ratio
    if ratio >= 1.05:
        yield f"The means use control variates: plain means would have needed {number(ratio)} times as many runs."
    elif ratio != 1:
        yield "The means use control variates, which are no help here: plain means would have needed as many runs."
    else:
        yield "The means are plain: control variates have nothing to work with, or too few runs."
    if n_runs < _FEW_RUNS:
        yield f"The 5% and 95% dates are rough: each has fewer than five of {counted(n_runs)} beyond it."


def _half(half: float, mean: float, digits: int) -> str:
    if not math.isfinite(half):
        return "unknown"
    if half <= ROUNDING * mean:
        return "± 0"
    return f"± {half:,.{digits}f}" if half >= 0.5 * 10**-digits else f"< {10**-digits:.{digits}f}"


def counted(number: int) -> str:
    """So many runs."""
    return f"{number:,} run{'' if number == 1 else 's'}"


def decimals(scale: float, significant: int) -> int:
    """Decimals that show a number of this size with so many digits; from one to six."""
    if not math.isfinite(scale) or scale <= 0:
        return 1
    return min(max(significant - 1 - math.floor(math.log10(scale)), 1), 6)
