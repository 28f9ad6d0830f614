"""Simulated runs of a scenario and their measures; scenarios with the same seed have the same failures."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Literal

import numpy as np
import scipy

from ettr import budget, power, simulation
from ettr.budget.intervals import best_interval_min, whole_interval_min
from ettr.core.errors import NoProgress
from ettr.core.results import PARTS, TimeBudget
from ettr.core.seeds import Seed
from ettr.core.units import H_PER_DAY
from ettr.power.bills import state_of
from ettr.scenario import Scenario
from ettr.scenario.paths import INTERVAL
from ettr.simulation.columns import COLUMNS, N_FAILURES, PRODUCTIVE, WAITING
from ettr.simulation.outlook import REMEDY, outlook

Interval = Literal["best", "given"]
"""Checkpoint at the best interval of each scenario by the analytical model, or at the current one."""

UNITS = MappingProxyType({"ettr": "1", "days": "d", "gpu_h": "GPU h", "usd": "USD", "mwh": "MWh"})
"""Measures of a run with their units."""
BETTER_LARGE = ("ettr",)
"""Measures for which more is better; for the others less is."""

_OFTEN_H, _LOWEST_ETTR, _MOST_FAILURES = 1.0, 0.01, 1e6
"""Runs with a shorter MTTF, a lower ETTR and more failures than these are not simulated."""


@dataclass(frozen=True, eq=False)
class Runs:
    """Simulated runs of one scenario.

    Attributes
    ----------
    scenario : Scenario
        The simulated scenario, with its interval.
    hours : ndarray of shape (runs, columns)
        Table of the simulation.
    price_usd : float
        One-off price of the mitigations. [USD]

    Examples
    --------
    >>> runs = run_scenario(Scenario.load("llama3-405b"), 20)
    >>> runs.n_runs, round(runs.ettr, 2)
    (20, 0.91)
    """

    scenario: Scenario
    hours: np.ndarray
    price_usd: float = 0.0

    @property
    def n_runs(self) -> int:
        """Number of simulated runs."""
        return int(self.hours.shape[0])

    @cached_property
    def total_h(self) -> np.ndarray:
        """Wall-clock time of each run. [h]"""
        return np.asarray(self.hours[:, : len(PARTS)].sum(axis=1))

    @cached_property
    def held_gpus(self) -> int:
        """GPUs of the job and of its hot spares, without pre-emptible nodes, which do other work."""
        spares = self.scenario.spares
        nodes = spares.n_nodes if spares else 0
        return self.scenario.cluster.n_gpus + nodes * self.scenario.cluster.gpus_per_node

    @property
    def waiting_share(self) -> float:
        """Share of the wall clock spent waiting for nodes."""
        return float(self.hours[:, WAITING].sum() / self.total_h.sum())

    @property
    def ettr(self) -> float:
        """Effective Training Time Ratio: the ratio of the sums over all runs, in [0, 1]."""
        return float(self.hours[:, PRODUCTIVE].sum() / self.total_h.sum())

    @cached_property
    def mwh(self) -> np.ndarray:
        """Energy of the facility, including idle hot spares. [MWh]"""
        profile = power.profile(self.scenario)
        by_part_mw = np.array([profile.facility_mw(state_of(part)) for part in PARTS])
        hot = self.scenario.spares.n_nodes if self.scenario.spares else 0
        spare_gpus = hot * self.scenario.cluster.gpus_per_node
        idle_mw = profile.facility_mw("queue") * spare_gpus / profile.n_gpus
        return np.asarray(self.hours[:, : len(PARTS)] @ by_part_mw + idle_mw * self.total_h)

    def values(self, measure: str) -> np.ndarray:
        """Return a measure of each run.

        The ETTR is a ratio of sums. Its values are linearised (delta method): their mean is the exact ETTR, and their
        variance that of the ratio.
        """
        gpu_h = self.total_h * self.held_gpus
        if measure == "ettr":
            mean_h = self.total_h.mean()
            return np.asarray(self.ettr + (self.hours[:, PRODUCTIVE] - self.ettr * self.total_h) / mean_h)
        if measure == "days":
            return np.asarray(self.total_h / H_PER_DAY)
        if measure == "gpu_h":
            return np.asarray(gpu_h)
        if measure == "mwh":
            return self.mwh
        return np.asarray(self.scenario.prices.total_usd(gpu_h, self.mwh, self.total_h / H_PER_DAY) + self.price_usd)

    def mean(self, measure: str) -> float:
        """Return the mean of a measure over the runs."""
        return float(self.values(measure).mean())

    @property
    def budget(self) -> TimeBudget:
        """Mean hours of each part."""
        mean = self.hours.mean(axis=0)
        spare = (self.held_gpus - self.scenario.cluster.n_gpus) * self.total_h.mean()
        named = {part: float(mean[i]) for i, part in enumerate(PARTS)}
        return TimeBudget(**named, n_failures=float(mean[N_FAILURES]), spare_gpu_h=float(spare))


def run_scenario(
    scenario: Scenario,
    n_runs: int,
    seed: Seed = 0,
    interval: Interval = "best",
    price_usd: float = 0.0,
) -> Runs:
    """Return simulated runs of a scenario at its best or its current interval.

    Parameters
    ----------
    scenario : Scenario
        The run.
    n_runs, seed
        As for :func:`ettr.simulate`.
    interval : {"best", "given"}
        Checkpoint interval.
    price_usd : float
        One-off price of the mitigations. [USD]

    Returns
    -------
    Runs

    Examples
    --------
    >>> runs = run_scenario(Scenario.load("llama3-405b"), 20)
    >>> runs.values("days").shape, round(runs.mean("days"))
    ((20,), 53)
    """
    run = at_interval(scenario, interval)
    _refuse_endless(run, n_runs)
    simulated = simulation.simulate(run, n_runs, seed)
    return Runs(run, simulated.rows[:, : len(COLUMNS)], price_usd)


def _refuse_endless(run: Scenario, n_runs: int) -> None:
    """Refuse runs with hardly any progress, whose many failures would take minutes to simulate."""
    if run.job_mttf_h > _OFTEN_H:
        return
    ahead = outlook(run)
    if ahead.ettr > 0 and ahead.is_endless(_LOWEST_ETTR, _MOST_FAILURES, n_runs):
        met = f"{n_runs:,} runs would meet {ahead.n_failures * n_runs:.2g} failures"
        raise NoProgress(f"{ahead.words}, and {met}; {REMEDY}")


def at_interval(scenario: Scenario, interval: Interval) -> Scenario:
    """Return the scenario at the best interval by the analytical model ("best"), or unchanged ("given").

    The interval is rounded to a multiple of the tiers' intervals. Silent failures count as detected at once
    (:func:`ettr.budget.with_immediate_detection`).
    """
    if interval == "given":
        return scenario
    planned = budget.simplified(budget.with_immediate_detection(scenario)).scenario
    best_min = whole_interval_min(scenario, float(best_interval_min(planned)))
    return scenario.override({INTERVAL: best_min})


@dataclass(frozen=True)
class Difference:
    """The difference between two scenarios, from runs with common random numbers.

    Attributes
    ----------
    mean : float
        Mean difference of the measure; positive where the second scenario is better.
    error : float
        Standard error of the mean.
    low, high : float
        Ends of the 95% CI of the mean.
    """

    mean: float
    error: float
    low: float
    high: float


def gain(before: Runs, after: Runs, measure: str) -> Difference:
    """Return how much better ``after`` is than ``before``: saved days, GPU-hours, USD and MWh, or gained ETTR.

    Parameters
    ----------
    before, after : Runs
        Runs with the same seed, in equal number.
    measure : str
        A key of ``UNITS``.

    Returns
    -------
    Difference
        Paired run by run.

    Examples
    --------
    >>> run = Scenario.load("llama3-405b")
    >>> faster = run_scenario(run.override({"recovery.restart_min": 2}), 20)
    >>> gain(run_scenario(run, 20), faster, "ettr").mean > 0.01
    True
    """
    return difference(*_in_order(before, after, measure))


def gains(before: Runs, after: Runs, measure: str) -> np.ndarray:
    """Return the gain of each run; :func:`gain` is the mean."""
    minuend, subtrahend = _in_order(before, after, measure)
    return np.asarray(minuend - subtrahend)


def _in_order(before: Runs, after: Runs, measure: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the measure of each run, in the order in which the first minus the second is the gain."""
    values = before.values(measure), after.values(measure)
    return values[::-1] if measure in BETTER_LARGE else values


def difference(first: np.ndarray, second: np.ndarray | float = 0.0) -> Difference:
    """Return the mean of ``first - second`` over paired runs, with its 95% CI by Student's t distribution.

    Examples
    --------
    >>> round(difference(np.array([3.0, 4.0, 5.0]), 2.0).error, 3)
    0.577
    """
    paired = first - second
    n = paired.size
    mean, variance = float(paired.mean()), float(paired.var(ddof=1)) if n > 1 else np.nan
    error = float(np.sqrt(variance / n))
    half = float(scipy.special.stdtrit(n - 1, 0.975)) * error if n > 1 else np.nan
    return Difference(mean, error, mean - half, mean + half)
