"""Estimate of a run before it is simulated: whether it makes progress, and how many runs are affordable."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from ettr.checkpoint import growth
from ettr.core.units import ROUNDING
from ettr.scenario import Scenario
from ettr.scenario.job_in_hours import AgeingInHours, JobInHours

REMEDY = "it takes fewer GPUs (cluster.n_gpus), fewer failures (failures), or a faster restart (recovery.restart_min)"
"""Ways out for a run that makes no progress."""
_FEWEST_RUNS = 12
"""Runs needed to estimate a standard error."""
_OUT_OF_RANGE = 1e-300


def affordable_runs(n_failures: float, n_runs: int, most_failures: float, fewest: int = _FEWEST_RUNS) -> int:
    """Return the number of runs that together meet at most a number of failures, but no fewer than an error needs.

    Parameters
    ----------
    n_failures : float
        Expected failures per run.
    n_runs : int
        Largest number of runs.
    most_failures : float
        Largest number of failures, of all runs together.
    fewest : int
        Smallest number of runs, unless `n_runs` is smaller.

    Examples
    --------
    >>> affordable_runs(416, 1000, 50_000), affordable_runs(1e6, 1000, 50_000)
    (120, 12)
    """
    return min(n_runs, max(fewest, int(most_failures / max(n_failures, 1.0))))


@dataclass(frozen=True)
class Outlook:
    """Expected failures and hours of a run, or bounds on them if no exact model covers its mechanisms.

    Attributes
    ----------
    ettr : float
        Expected ETTR or an upper bound; 0 if the wall clock is out of the range of numbers.
    n_failures : float
        Expected failures or a lower bound.
    trained_h : float
        Hours of training, including lost work. [h]
    """

    ettr: float
    n_failures: float
    trained_h: float

    def is_endless(self, least_ettr: float, most_failures: float, n_runs: int = 1) -> bool:
        """Whether runs make hardly any progress, and would meet too many failures."""
        return self.ettr < least_ettr and self.n_failures * n_runs >= most_failures

    def within(self, horizon_h: float, scenario: Scenario) -> Outlook:
        """Estimate for a run that ends at a wall clock: at most the failures at the highest rate, without downtime."""
        ageing = scenario.in_hours().ageing
        most = 1.0 if ageing is None else max(1.0, ageing.factor) * max(1.0, ageing.long_run)
        n_failures = min(self.n_failures, horizon_h * most / scenario.job_mttf_h)
        return Outlook(self.ettr, n_failures, min(self.trained_h, horizon_h))

    @property
    def words(self) -> str:
        """The refusal of a run that makes practically no progress."""
        ettr = f"{self.ettr:.2g}" if self.ettr > _OUT_OF_RANGE else "out of the range of numbers"
        return f"the job makes practically no progress: the expected ETTR is {ettr}"


def outlook(scenario: Scenario) -> Outlook:
    """Estimate the failures and hours of a run, on the optimistic side.

    Parameters
    ----------
    scenario : Scenario
        The run.

    Returns
    -------
    Outlook
        By Daly's formula, which is exact for a run with no other mechanism. Maintenance, spares and other mechanisms
        that only cost time are left out. With tiers the stretches between their checkpoints are nested; a changing rate
        counts at its lowest, and alarms save all work. So no run is refused that would make progress.

    Examples
    --------
    >>> expected = outlook(Scenario.load("llama3-405b"))
    >>> round(expected.ettr, 3), round(expected.n_failures)
    (0.921, 413)
    """
    run = scenario.in_hours()
    rate = float(run.rate) * _least(run.ageing)
    starts = 1.0 if run.include_start else 0.0
    with np.errstate(all="ignore"):
        exposed_h, stalled_h = _training_h(run, rate)
        # silent failures strike only during training; the load of the fastest tier is the shortest
        loud = replace(run, rate=rate * (1 - run.silent), load=run.loads[0])
        planned_h = starts * float(replace(run, rate=rate).planned_restart_h)
        n_failures = float(rate * (exposed_h + planned_h) / loud.survive_restart)
        restart_h = float(loud.cut_restart / loud.rate if loud.rate > 0 else loud.restart_after)
        undetected_h = float(run.latency) if run.silent > 1 - ROUNDING else 0.0
        trained_h = exposed_h - stalled_h + n_failures * undetected_h
        recovery_h = planned_h + n_failures * (restart_h + float(run.downtime)) + starts * float(run.first_queue)
        total_h = trained_h + stalled_h + recovery_h
        ettr = float(run.work) / total_h if math.isfinite(total_h) else 0.0
    return Outlook(ettr, n_failures if ettr > 0 else math.inf, trained_h)


def _training_h(run: JobInHours, rate: float) -> tuple[float, float]:
    """Hours of training and stalls without recoveries, and the part of them in stalls and slowdown that count."""
    work_h, tau_h = float(run.work), float(run.tau)
    whole = not run.include_start or bool(run.tiers)
    n = work_h / tau_h if whole else max(math.ceil(work_h / tau_h - ROUNDING) - 1, 0)
    rest_h = 0.0 if whole else work_h - n * tau_h
    losing = 0.0 if run.prediction is not None and run.prediction.recall > 0 else rate
    hours, stalled_h, before_h = float(run.taus[0]), 0.0, float(run.taus[0])
    for share, tau_h, stall_h, write_h in zip(run.severity, run.taus, run.stalls, run.writes, strict=True):
        struck, slowed_h = losing * float(share), float(run.slowdown * write_h)
        inner, before_h = float(tau_h) / before_h, float(tau_h)
        length_h = inner * hours + float(stall_h) + slowed_h
        hours = float(growth(struck, length_h) * np.exp(struck * (write_h - slowed_h)))
        stalled_h = inner * stalled_h + float(stall_h) + slowed_h * math.exp(-struck * length_h)
    return n * hours + float(growth(losing, rest_h)), n * stalled_h


def _least(ageing: AgeingInHours | None) -> float:
    """Lowest failure rate over the life of a run, relative to that of the scenario."""
    if ageing is None:
        return 1.0
    if ageing.starts_new and ageing.shape > 1:
        return 0.0
    excess = (ageing.factor - 1) * math.exp(-ageing.age / ageing.decay)
    return ageing.long_run * min(1.0, 1 + excess)
