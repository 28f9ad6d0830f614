"""When a run is done: its date, exactly and simulated, and what that rests on."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd

from ettr import budget, simulation
from ettr.core import finishing
from ettr.core.errors import InputError, NotModelled, OutsideValidity
from ettr.core.finishing import Finishing
from ettr.core.results import TimeBudget
from ettr.core.units import H_PER_DAY, MIN_PER_H
from ettr.scenario import Scenario, paths
from ettr.simulation import Simulation
from ettr.simulation.outlook import affordable_runs

ENDS = (0.05, 0.5, 0.95)
"""Probabilities of being done by the dates that are shown."""
KNOWN, COUNTED = "rate known", "rate from a count"

_FAILURES_OF_RUNS = 5_000_000
_COUNTS = (3, 5, 10, 20, 50, 100, 200, 500, 1000)


@dataclass(frozen=True)
class FinishingDates:
    """When a run is done, by the exact form as far as it follows the run, and by simulated runs.

    Attributes
    ----------
    scenario, followed : Scenario
        The run, and the same without what the exact form does not follow.
    left_out : tuple of str
        What that is, in words; empty if nothing.
    exact : Finishing
        Hours to the end of :attr:`followed`.
    counted : Finishing or None
        The same where its failure rate is known from a count only; None where nothing is known of that.
    closed : TimeBudget
        Mean hours of what :func:`ettr.budget.exact` has terms for.
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
        """The finishing date of the run: exact if nothing had to be left out, of the simulated runs otherwise."""
        return finishing.of_runs(self.runs.total_h) if self.left_out else self.exact

    @property
    def reported(self) -> Finishing:
        """The finishing date as a plan reports it: the failure rate no better known than it was counted."""
        return self.of_run if self.left_out or self.counted is None else self.counted

    @property
    def ends_h(self) -> tuple[float, float, float]:
        """Hours by which the run is done with 5, 50 and 95% probability. [h]"""
        low, middle, high = (float(hours) for hours in self.of_run.quantile(np.array(ENDS)))
        return low, middle, high


def finishing_dates(scenario: Scenario, n_runs: int = 10_000, seed: int = 0) -> FinishingDates:
    """When a run is done.

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
    """As much of a run as the exact form of the finishing date follows, what it is left without, and that date."""
    *simpler, last = _ever_simpler(scenario)
    for one in simpler:
        try:
            return one.scenario, one.left_out, budget.finishing(one.scenario)
        except (NotModelled, OutsideValidity):
            continue
    return last.scenario, last.left_out, budget.finishing(last.scenario)


def _ever_simpler(scenario: Scenario) -> list[budget.Simplified]:
    last = budget.simplified(scenario)
    simple = [budget.without_extras(scenario), last]
    if last.scenario.prediction is not None:
        last = last.without(f"warnings of failures ({paths.PREDICTION})", {paths.PREDICTION: None})
    if last.scenario.checkpoint.tiers:
        best_min = float(budget.best_interval_min(last.scenario.override({paths.TIERS: ()})))
        last = last.without(f"faster tiers ({paths.TIERS})", {paths.TIERS: (), paths.INTERVAL: best_min})
    if last.scenario.latencies_h:
        noticed = "silent failures, noticed at once here (failures.modes)"
        last = budget.Simplified(budget.with_immediate_detection(last.scenario), (*last.left_out, noticed))
    return [*simple, last]


@dataclass(frozen=True)
class ByHand:
    """Mean and spread of a finishing date, as anybody can reckon them.

    Attributes
    ----------
    work_h, ettr, n_failures : float
        Of the closed form. [h, 1, count]
    spread_h : float
        Root of the mean square of what a failure loses. [h]
    n_stops, stop_h : float
        Stops for maintenance, and what one of them takes. [count, h]
    """

    work_h: float
    ettr: float
    n_failures: float
    spread_h: float
    n_stops: float
    stop_h: float

    @property
    def mean_h(self) -> float:
        """Work over ETTR. [h]"""
        return self.work_h / self.ettr

    @property
    def sd_h(self) -> float:
        """Square root of the sum over failures and stops, each as if without the others. [h]"""
        return math.sqrt(self.n_failures * self.spread_h**2 + self.n_stops * self.stop_h**2)


def by_hand(dates: FinishingDates) -> ByHand:
    """The date of a run by three lines of arithmetic.

    Parameters
    ----------
    dates : FinishingDates
        As from :func:`finishing_dates`.

    Notes
    -----
    The sum of a Poisson number of losses has the variance :math:`n\\,E[c^2]`. A failure loses what recovery takes, and
    work that is uniform between nothing and twice its mean.
    """
    run = budget.simplified(dates.followed).scenario
    closed = budget.exact(run)
    steady = budget.exact(run.override({"job.include_start": False, "maintenance": None}))
    n = float(steady.n_failures)
    rework_h = float(steady.rework_h) / n if n > 0 else 0.0
    each_h = rework_h + float(steady.detection_h + steady.queue_h + steady.restart_h) / n if n > 0 else 0.0
    stops = run.maintenance
    stop_h = stops.duration_min / MIN_PER_H + run.restart_h if stops else 0.0
    return ByHand(
        work_h=run.work_h,
        ettr=float(closed.ettr),
        n_failures=float(closed.n_failures),
        spread_h=math.sqrt(each_h**2 + rework_h**2 / 3),
        n_stops=stops.per_day * float(closed.total_h) / H_PER_DAY if stops else 0.0,
        stop_h=stop_h,
    )


def range_by_count(dates: FinishingDates) -> pd.DataFrame:
    """How wide the range of dates is over the number of failures that the rate was counted from; exact.

    Parameters
    ----------
    dates : FinishingDates
        As from :func:`finishing_dates`.

    Returns
    -------
    DataFrame
        ``case`` (:data:`KNOWN` or :data:`COUNTED`), ``n_events`` (failures counted), ``range_days`` between 5 and 95%
        [days]. Counts from which the run may practically never end are left out, and so are all without failures. The
        rate is the scenario's own throughout.
    """
    run, own = dates.followed, own_count(dates)
    counts = sorted({*_COUNTS, *([own] if own else [])})
    rows = [(KNOWN, count, _range_days(dates.exact)) for count in counts]
    for count in counts if run.failure_rate > 0 else ():
        known = {"shape": count + 0.5, "node_days": 1000 * (count + 0.5) / run.failure_rate}
        counted = run.override({paths.RATE: run.failure_rate, "failures.rate_gamma": known})
        own_dates = dates.counted if count == own else None
        rows.append((COUNTED, count, _range_days(own_dates or budget.finishing(counted, rate_known=False))))
    frame = pd.DataFrame(rows, columns=["case", "n_events", "range_days"])
    return frame[np.isfinite(frame["range_days"])].reset_index(drop=True)


def own_count(dates: FinishingDates) -> float | None:
    """From how many failures the scenario's rate was counted, or as from how many it is known; None if nobody says."""
    known = dates.followed.failures.posterior
    return dates.scenario.failures.n_events or (round(known.shape) if known else None)


def _range_days(dates: Finishing) -> float:
    return float(dates.quantile(ENDS[-1]) - dates.quantile(ENDS[0])) / H_PER_DAY


def quarter_of(dates: FinishingDates) -> float:
    """Standard deviation of the date of a quarter of the work. [h]"""
    run = dates.followed
    return float(budget.finishing(run.override({"job.productive_h": run.work_h / 4, "job.tokens": None})).sd_h)
