"""What the runs of a scenario took, run by run: the same failures strike every scenario that shares their seed."""

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
"""Checkpoint at the closed form's best interval of each scenario, or at its own."""

UNITS = MappingProxyType({"ettr": "1", "days": "d", "gpu_h": "GPU h", "usd": "USD", "mwh": "MWh"})
"""Measures of a run, and their units."""
BETTER_LARGE = ("ettr",)
"""Measures of which more is better; of the others less."""

_OFTEN_H, _LEAST_ETTR, _MOST_MET = 1.0, 0.01, 1e6
"""Failures that often, with so low an ETTR and so many of them, are not simulated."""


@dataclass(frozen=True, eq=False)
class Runs:
    """Simulated runs of one scenario.

    Attributes
    ----------
    scenario : Scenario
        What was simulated, with the interval that was used.
    hours : ndarray of shape (runs, columns)
        As in a simulation's table.
    own_usd : float
        Spent on mitigations, whatever the run takes. [USD]
    """

    scenario: Scenario
    hours: np.ndarray
    own_usd: float = 0.0

    @property
    def n_runs(self) -> int:
        """Runs that were simulated."""
        return int(self.hours.shape[0])

    @cached_property
    def total_h(self) -> np.ndarray:
        """Wall clock of each run. [h]"""
        return np.asarray(self.hours[:, : len(PARTS)].sum(axis=1))

    @cached_property
    def held_gpus(self) -> int:
        """GPUs of the job and of its hot spares; pre-emptible nodes have other work, which pays for them."""
        held = self.scenario.spares
        nodes = held.n_nodes if held else 0
        return self.scenario.cluster.n_gpus + nodes * self.scenario.cluster.gpus_per_node

    @property
    def waiting_share(self) -> float:
        """Share of the wall clock that was spent waiting for nodes."""
        return float(self.hours[:, WAITING].sum() / self.total_h.sum())

    @property
    def ettr(self) -> float:
        """Ratio of the sums."""
        return float(self.hours[:, PRODUCTIVE].sum() / self.total_h.sum())

    @cached_property
    def mwh(self) -> np.ndarray:
        """Energy of the facility, that of idle hot spares too. [MWh]"""
        profile = power.profile(self.scenario)
        by_part_mw = np.array([profile.facility_mw(state_of(part)) for part in PARTS])
        hot = self.scenario.spares.n_nodes if self.scenario.spares else 0
        spare_gpus = hot * self.scenario.cluster.gpus_per_node
        idle_mw = profile.facility_mw("queue") * spare_gpus / profile.n_gpus
        return np.asarray(self.hours[:, : len(PARTS)] @ by_part_mw + idle_mw * self.total_h)

    def values(self, measure: str) -> np.ndarray:
        """A measure of each run, whose mean is that of all.

        Of the ETTR, a ratio of sums, what each run adds to it to first order: the mean is exact, and the spread is that
        of the delta method.
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
        return np.asarray(self.scenario.prices.total_usd(gpu_h, self.mwh, self.total_h / H_PER_DAY) + self.own_usd)

    def mean(self, measure: str) -> float:
        """Mean of a measure over the runs."""
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
    own_usd: float = 0.0,
) -> Runs:
    """Simulate a scenario at its best interval or at its own.

    Parameters
    ----------
    scenario : Scenario
        The run.
    n_runs, seed
        As for :func:`ettr.simulate`.
    interval : {"best", "given"}
        Which checkpoint interval.
    own_usd : float
        Spent beside the run. [USD]

    Returns
    -------
    Runs
        Run by run.
    """
    run = at_interval(scenario, interval)
    _refuse_endless(run, n_runs)
    simulated = simulation.simulate(run, n_runs, seed)
    return Runs(run, simulated.rows[:, : len(COLUMNS)], own_usd)


def _refuse_endless(run: Scenario, n_runs: int) -> None:
    """Raise where runs that hardly get on would meet failures for minutes of computing."""
    if run.job_mttf_h > _OFTEN_H:
        return
    ahead = outlook(run)
    if ahead.ettr > 0 and ahead.is_endless(_LEAST_ETTR, _MOST_MET, n_runs):
        met = f"{n_runs:,} runs would meet {ahead.n_failures * n_runs:.2g} failures"
        raise NoProgress(f"{ahead.words}, and {met}; {REMEDY}")


def at_interval(scenario: Scenario, interval: Interval) -> Scenario:
    """The scenario at the closed form's best interval, as near to it as its tiers let it be; or as it is.

    Silent failures are taken as :func:`ettr.budget.with_immediate_detection` ones for this.
    """
    if interval == "given":
        return scenario
    planned = budget.simplified(budget.with_immediate_detection(scenario)).scenario
    best_min = whole_interval_min(scenario, float(best_interval_min(planned)))
    return scenario.override({INTERVAL: best_min})


@dataclass(frozen=True)
class Difference:
    """How much better one scenario is than another, from runs with common random numbers.

    Attributes
    ----------
    mean : float
        Of the measure; positive where the second is better.
    error : float
        Standard error.
    low, high : float
        95% interval.
    """

    mean: float
    error: float
    low: float
    high: float


def gain(before: Runs, after: Runs, measure: str) -> Difference:
    """How much better ``after`` is than ``before``: saved days, GPU-hours, USD and MWh, or gained ETTR.

    Parameters
    ----------
    before, after : Runs
        Of the same seed and as many.
    measure : str
        A key of ``UNITS``.

    Returns
    -------
    Difference
        Paired run by run.
    """
    return difference(*_in_order(before, after, measure))


def gains(before: Runs, after: Runs, measure: str) -> np.ndarray:
    """What :func:`gain` is the mean of, run by run."""
    one, other = _in_order(before, after, measure)
    return np.asarray(one - other)


def _in_order(before: Runs, after: Runs, measure: str) -> tuple[np.ndarray, np.ndarray]:
    """The measure of each run, in the order in which the first less the second is the gain."""
    one, other = before.values(measure), after.values(measure)
    return (other, one) if measure in BETTER_LARGE else (one, other)


def difference(one: np.ndarray, other: np.ndarray | float = 0.0) -> Difference:
    """Mean of ``one - other`` over paired runs, with its interval by Student's distribution."""
    apart = one - other
    n = apart.size
    mean, variance = float(apart.mean()), float(apart.var(ddof=1)) if n > 1 else np.nan
    error = float(np.sqrt(variance / n))
    half = float(scipy.special.stdtrit(n - 1, 0.975)) * error if n > 1 else np.nan
    return Difference(mean, error, mean - half, mean + half)
