"""Finishing date of a run: exact, simulated, and by hand."""

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
"""Probabilities of being done by the displayed dates."""
KNOWN_RATE, COUNTED_RATE = "rate known", "rate from a count"

_FAILURES_OF_RUNS = 5_000_000
_COUNTS = (3, 5, 10, 20, 50, 100, 200, 500, 1000)


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


@dataclass(frozen=True)
class ByHand:
    """Mean and spread of a finishing date by hand.

    Attributes
    ----------
    work_h, ettr, n_failures : float
        Work, ETTR and failures by the exact model. [h, 1, count]
    spread_h : float
        Root mean square of the loss per failure. [h]
    n_stops, stop_h : float
        Number and duration of maintenance stops. [count, h]
    """

    work_h: float
    ettr: float
    n_failures: float
    spread_h: float
    n_stops: float
    stop_h: float

    @property
    def mean_h(self) -> float:
        """Mean duration: work over ETTR. [h]"""
        return self.work_h / self.ettr

    @property
    def sd_h(self) -> float:
        """Standard deviation: root of the summed variances of failures and stops. [h]"""
        return math.sqrt(self.n_failures * self.spread_h**2 + self.n_stops * self.stop_h**2)


def by_hand(dates: FinishingDates) -> ByHand:
    """Return the finishing date by three lines of arithmetic.

    Parameters
    ----------
    dates : FinishingDates
        As from :func:`finishing_dates`.

    Notes
    -----
    The sum of a Poisson number of losses has the variance :math:`n\\,E[c^2]`. A failure costs the recovery, and lost
    work with a uniform distribution between zero and twice its mean.
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
    """Return the width of the interval of dates over the number of failures behind the rate; exact.

    Parameters
    ----------
    dates : FinishingDates
        As from :func:`finishing_dates`.

    Returns
    -------
    DataFrame
        ``case`` (:data:`KNOWN_RATE` or :data:`COUNTED_RATE`), ``n_events`` (failures counted), ``range_days``
        between 5 and 95% [days]. Counts with which the run may practically never end are left out,
        and so are all without failures. The rate is always the scenario's.
    """
    run, n_own = dates.followed, own_count(dates)
    counts = sorted({*_COUNTS, *([n_own] if n_own else [])})
    rows = [(KNOWN_RATE, count, _range_days(dates.exact)) for count in counts]
    for count in counts if run.failure_rate > 0 else ():
        gamma = {"shape": count + 0.5, "node_days": 1000 * (count + 0.5) / run.failure_rate}
        counted = run.override({paths.RATE: run.failure_rate, "failures.rate_gamma": gamma})
        counted_dates = dates.counted if count == n_own else None
        rows.append((COUNTED_RATE, count, _range_days(counted_dates or budget.finishing(counted, rate_known=False))))
    frame = pd.DataFrame(rows, columns=["case", "n_events", "range_days"])
    return frame[np.isfinite(frame["range_days"])].reset_index(drop=True)


def own_count(dates: FinishingDates) -> float | None:
    """Return the number of failures behind the scenario's rate, or its equivalent; None for a rate known exactly."""
    posterior = dates.followed.failures.posterior
    return dates.scenario.failures.n_events or (round(posterior.shape) if posterior else None)


def _range_days(dates: Finishing) -> float:
    return float(dates.quantile(ENDS[-1]) - dates.quantile(ENDS[0])) / H_PER_DAY


def quarter_of(dates: FinishingDates) -> float:
    """Return the standard deviation of the date of a quarter of the work. [h]"""
    run = dates.followed
    return float(budget.finishing(run.override({"job.productive_h": run.work_h / 4, "job.tokens": None})).sd_h)
