"""When will it be done, and how sure is that?"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import altair as alt
import numpy as np
import pandas as pd

from ettr import budget, simulation
from ettr.core import finishing
from ettr.core.errors import InputError, NotModelled, OutsideValidity
from ettr.core.finishing import Finishing
from ettr.core.results import TimeBudget
from ettr.core.sentences import Finding, about, count, duration, listed, number, roughly, say
from ettr.core.units import H_PER_DAY, MIN_PER_H
from ettr.plan.report import fitted_words
from ettr.plots import builders
from ettr.plots.columns import tooltips
from ettr.plots.encodings import rounded
from ettr.plots.theme import MODEL_COLOURS, ORANGE, finish
from ettr.scenario import Scenario, paths
from ettr.simulation import Simulation
from ettr.simulation.outlook import affordable_runs

if TYPE_CHECKING:
    from ettr.plan import Plan

ENDS = (0.05, 0.5, 0.95)
"""Probabilities of being done by the displayed dates."""
KNOWN_RATE, COUNTED_RATE = "rate known", "rate from a count"
_CASES = {KNOWN_RATE: (MODEL_COLOURS["exact"], [6, 3]), COUNTED_RATE: (ORANGE, [1, 0])}
_FAILURES_OF_RUNS = 5_000_000
_COUNTS = (3, 5, 10, 20, 50, 100, 200, 500, 1000)
_INSTANT_H = 1 / MIN_PER_H
"""Smaller differences between dates are ignored."""
_LONG_H = 72.0
"""Durations from here on are stated in days."""


@dataclass(frozen=True)
class FinishingDates:
    """Finishing date of a run by the exact model (for the part it covers) and by simulation.

    Attributes
    ----------
    scenario, followed : Scenario
        The run, and its part that the exact date covers.
    left_out : tuple of str
        Features that the exact date drops, in words.
    exact : Finishing
        Hours to the end of :attr:`followed`.
    counted : Finishing or None
        Hours to the end of :attr:`followed` with the uncertainty of a counted failure rate; None without a count.
    closed : TimeBudget
        Mean hours by :func:`ettr.budget.exact`.
    runs : Simulation
        Simulated runs of :attr:`scenario`.
    """

    scenario: Scenario
    followed: Scenario
    left_out: tuple[str, ...]
    exact: Finishing
    counted: Finishing | None
    closed: TimeBudget
    runs: Simulation

    @property
    def of_run(self) -> Finishing:
        """Finishing date of the run: exact if no feature was dropped, else of the simulated runs."""
        return finishing.of_runs(self.runs.total_h) if self.left_out else self.exact

    @property
    def reported(self) -> Finishing:
        """Finishing date as in a plan, with the uncertainty of the failure rate."""
        return self.of_run if self.left_out or self.counted is None else self.counted

    @property
    def ends_h(self) -> tuple[float, float, float]:
        """Duration with 5%, 50% and 95% probability. [h]"""
        low, middle, high = (float(hours) for hours in self.of_run.quantile(np.array(ENDS)))
        return low, middle, high

    @property
    def n_counted(self) -> float | None:
        """Number of failures behind the rate of the run, or its equivalent; None for a rate known exactly."""
        posterior = self.followed.failures.posterior
        return self.scenario.failures.n_events or (round(posterior.shape) if posterior else None)


def finishing_dates(scenario: Scenario, n_runs: int = 10_000, seed: int = 0) -> FinishingDates:
    """Return the finishing date of a run.

    Parameters
    ----------
    scenario : Scenario
        The run.
    n_runs, seed : int
        Simulated runs, fewer where they meet many failures, and their seed.

    Raises
    ------
    OutsideValidity, NoProgress
        The run practically never ends.

    Examples
    --------
    >>> dates = finishing_dates(Scenario.load("llama3-405b"), n_runs=20)
    >>> [round(hours / 24, 1) for hours in dates.ends_h]
    [53.1, 53.5, 53.8]
    """
    followed, left_out, exact = _followed(scenario)
    try:
        counted = budget.finishing(followed, rate_known=False)
    except InputError:  # no count, or none of a failure
        counted = None
    closed = budget.exact(budget.simplified(scenario).scenario)
    n_runs = affordable_runs(float(closed.n_failures), n_runs, _FAILURES_OF_RUNS)
    runs = simulation.simulate(scenario, n_runs, seed)
    return FinishingDates(scenario, followed, left_out, exact, counted, closed, runs)


def _followed(scenario: Scenario) -> tuple[Scenario, tuple[str, ...], Finishing]:
    """Return the part of a run that the exact date covers, the features it drops, and that date."""
    *simpler, last = _ever_simpler(scenario)
    for simplified in simpler:
        try:
            return simplified.scenario, simplified.left_out, budget.finishing(simplified.scenario)
        except (NotModelled, OutsideValidity):
            continue
    return last.scenario, last.left_out, budget.finishing(last.scenario)


def _ever_simpler(scenario: Scenario) -> list[budget.Simplified]:
    last = budget.simplified(scenario)
    simple = [budget.without_extras(scenario), last]
    if last.scenario.prediction is not None:
        last = last.without(f"predicted failures ({paths.PREDICTION})", {paths.PREDICTION: None})
    if last.scenario.checkpoint.tiers:
        best_min = float(budget.best_interval_min(last.scenario.override({paths.TIERS: ()})))
        last = last.without(f"faster tiers ({paths.TIERS})", {paths.TIERS: (), paths.INTERVAL: best_min})
    if last.scenario.latencies_h:
        noticed = "late detection of silent failures (failures.modes)"
        last = budget.Simplified(budget.with_immediate_detection(last.scenario), (*last.left_out, noticed))
    return [*simple, last]


def answer(dates: FinishingDates, plan: Plan) -> Finding:
    """Return the finishing date at the best interval, its plausible range, and its run-to-run variation."""
    low_h, _, high_h = dates.ends_h
    run, wide_h = dates.scenario, high_h - low_h
    middle_h, p90_h = (float(dates.reported.quantile(level)) for level in (0.5, 0.9))
    done = f"[{_after(wide_h, middle_h)}]{{#q-done-after}}" if math.isfinite(middle_h) else "no certain date"
    by_90 = f", 90% after [{_after(wide_h, p90_h)}]{{#q-done-by-90}}" if math.isfinite(p90_h) else ""
    work = "" if run.ends else f"It states no work: these are the dates for {duration(run.work_h)} of training."
    texts = [
        f"**At the best checkpoint interval, {roughly(run.interval_h)}, half of such runs are done after "
        f"{done}{by_90}.**",
        work,
        _assumed(plan),
        _random(dates),
        f"These are dates of simulated runs: the exact model leaves out {listed(list(dates.left_out))}."
        if dates.left_out
        else "",
        fitted_words(run),
    ]
    return Finding(f"Done after {_after(wide_h, middle_h)}", " ".join(filter(None, texts)))


def _assumed(plan: Plan) -> str:
    """Return the mean date over the plausible range of the assumed inputs."""
    assumptions = plan.assumptions
    if assumptions.range is None or assumptions.leading is None or assumptions.range[0] <= 0:
        return ""
    low_h, high_h = (plan.scenario.work_h / ettr for ettr in reversed(assumptions.range))
    condition = f", given {assumptions.condition}" if assumptions.condition else ""
    return (
        f"Across the plausible range of the assumed inputs, mostly {assumptions.leading.name}, the mean date is "
        f"{_after(high_h - low_h, low_h, high_h)}{condition}."
    )


def _random(dates: FinishingDates) -> str:
    """Return the spread from random failures and from the uncertainty of their rate."""
    low_h, _, high_h = dates.ends_h
    if high_h - low_h <= _INSTANT_H:
        return ""
    alone = (
        f"Random failures alone spread the finish over {roughly(high_h - low_h)} (90% of runs, "
        f"{_after(high_h - low_h, low_h, high_h)})."
    )
    wide_h = math.nan if dates.left_out or dates.counted is None else _range_h(dates.counted)
    return alone + say(" Uncertainty in the failure rate widens that to {wide:roughly}.", wide=wide_h)


def _range_h(dates: Finishing) -> float:
    return float(dates.quantile(ENDS[-1]) - dates.quantile(ENDS[0]))


def _after(wide_h: float, *hours: float) -> str:
    """Return dates since submission, with digits that suit their range."""
    unit_h, unit = (H_PER_DAY, "days") if max(hours) >= _LONG_H else (1.0, "h")
    wide = wide_h / unit_h
    digits = 0 if wide >= 10 else 1 if wide >= 0.2 else 2
    texts = dict.fromkeys(f"{value / unit_h:,.{digits}f}" for value in hours)  # ends that look alike are named once
    return f"{' to '.join(texts)} {unit}"


def range_by_count(dates: FinishingDates) -> pd.DataFrame:
    """Return the width of the interval of dates over the number of failures behind the rate; exact.

    Returns
    -------
    DataFrame
        ``case`` (:data:`KNOWN_RATE` or :data:`COUNTED_RATE`), ``n_events`` (failures counted), ``range_days``
        between 5 and 95% [days]. Counts with which the run may practically never end are left out,
        and so are all without failures. The rate is always the scenario's.
    """
    run, n_own = dates.followed, dates.n_counted
    counts = sorted({*_COUNTS, *([n_own] if n_own else [])})
    rows = [(KNOWN_RATE, n_events, _range_h(dates.exact)) for n_events in counts]
    for n_events in counts if run.failure_rate > 0 else ():
        gamma = {"shape": n_events + 0.5, "node_days": 1000 * (n_events + 0.5) / run.failure_rate}
        counted = run.override({paths.RATE: run.failure_rate, "failures.rate_gamma": gamma})
        counted_dates = dates.counted if n_events == n_own else None
        rows.append((COUNTED_RATE, n_events, _range_h(counted_dates or budget.finishing(counted, rate_known=False))))
    frame = pd.DataFrame(rows, columns=["case", "n_events", "range_days"])
    frame["range_days"] /= H_PER_DAY
    return frame[np.isfinite(frame["range_days"])].reset_index(drop=True)


def rate(dates: FinishingDates) -> Any:
    """Draw the width of the interval of dates over the number of failures behind the rate."""
    frame, own = range_by_count(dates), dates.n_counted
    x = builders.across("n_events", title="Failures behind the rate [count]")
    y = builders.up("range_days", zero=True)
    drawn = builders.lines(rounded(frame), x, y, "case", _CASES, tooltips("case", "n_events", "range_days"))
    at = alt.Chart(pd.DataFrame({"n_events": [float(own)] if own else [], "name": "this run's count"}))
    at = at.encode(x=alt.X("n_events:Q"))
    name = at.mark_text(align="right", dx=-5, baseline="top").encode(y=alt.value(4), text=alt.Text("name:N"))
    widths = "; ".join(
        f"{case} {rows['range_days'].iloc[0]:.3g} days at {rows['n_events'].iloc[0]:,.0f} failures and "
        f"{rows['range_days'].iloc[-1]:.3g} at {rows['n_events'].iloc[-1]:,.0f}"
        for case, rows in frame.groupby("case", sort=False)
    )
    return finish(
        alt.layer(drawn, at.mark_rule(strokeDash=[3, 3]), name),
        title=_rate_title(frame),
        subtitle=dates.scenario.title,
        description=f"Width of the 90% prediction interval in days, over the number of failures counted: {widths}.",
        height=260,
    )


def _rate_title(frame: pd.DataFrame) -> str:
    known_days = float(frame.loc[frame["case"] == KNOWN_RATE, "range_days"].iloc[0])
    counted = frame[frame["case"] == COUNTED_RATE]
    if counted.empty or known_days * H_PER_DAY <= _INSTANT_H:
        return "The failure rate adds no uncertainty"
    few = counted.iloc[0]
    times = number(about(few["range_days"] / known_days))
    if times == "1":
        return f"A rate from {count(few['n_events'])} failures hardly widens the range"
    return f"A rate from {count(few['n_events'])} failures makes the range {times} times as wide"
