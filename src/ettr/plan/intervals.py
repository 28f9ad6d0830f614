"""The interval to checkpoint at, and the range that is as good."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from ettr import budget
from ettr.checkpoint import exact_interval
from ettr.errors import InputError
from ettr.failures import gamma_interval
from ettr.scenario import Scenario
from ettr.validity import ValidityWarning, plain

BAND_POINTS = 0.005
"""An interval is as good as the best while it costs no more than this in ETTR: half a point."""

SHORTEST_MIN = 1 / 60
"""No plan checkpoints more often than each second, even where a checkpoint is free."""

_GRID_POINTS = 2000


@dataclass(frozen=True)
class Band:
    """The best interval, and the range that is nearly as good.

    Attributes
    ----------
    interval_min, low_min, high_min : float
        Best interval, and the ends of the range. [min]
    points : float
        What the range may cost, in ETTR as a fraction.
    ends_job : bool
        True if even a single checkpoint at the end of the work is within the range.
    """

    interval_min: float
    low_min: float
    high_min: float
    points: float
    ends_job: bool


def best_interval_min(scenario: Scenario, n_gpus: Any = None) -> Any:
    """The interval with the highest steady-state ETTR, no longer than :func:`longest_interval_min`. [min]

    Parameters
    ----------
    scenario : Scenario
        The run.
    n_gpus : float or ndarray, optional
        Size of the job instead of the scenario's. [GPUs]

    Returns
    -------
    float or ndarray
        Between a second, or the training during a background write, and the longest interval. [min]
    """
    checkpoint = scenario.checkpoint
    mttf_h = job_mttf_h(scenario, n_gpus)
    tau_h = exact_interval(scenario.stall_h, mttf_h, scenario.persist_h, checkpoint.persist_slowdown)
    # a hair above the write, which rounding must not put the interval below
    least_min = max(SHORTEST_MIN, checkpoint.least_interval_min * (1 + 1e-12))
    return plain(np.maximum(np.minimum(np.multiply(tau_h, 60), longest_interval_min(scenario)), least_min))


def job_mttf_h(scenario: Scenario, n_gpus: Any = None) -> Any:
    """Mean time to failure of the job, also at other sizes; infinite without failures. [h]"""
    n_nodes = scenario.n_nodes if n_gpus is None else np.asarray(n_gpus) / scenario.cluster.gpus_per_node
    with np.errstate(divide="ignore", over="ignore"):
        return plain(1 / (scenario.node_rate_per_h * scenario.mode_exposure(n_nodes).sum(axis=-1)))


def longest_interval_min(scenario: Scenario) -> float:
    """The longest interval that a plan considers. [min]

    The whole work; with maintenance, the longest of those for which the exact form has an answer: a stop waits for the
    next checkpoint, so with longer intervals requests would pile up.
    """
    work_min = scenario.job.productive_h * 60
    requests_per_min = scenario.maintenance_rate_per_h / 60
    if requests_per_min == 0:
        return work_min
    longest_min = min(work_min, 0.5 / requests_per_min)
    least_min = max(SHORTEST_MIN, scenario.checkpoint.least_interval_min * (1 + 1e-12))
    if longest_min <= least_min:
        return longest_min
    grid = np.geomspace(least_min, longest_min, _GRID_POINTS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ValidityWarning)
        answers = np.isfinite(budget.exact(scenario, {"checkpoint.interval_min": grid}).ettr)
    return float(grid[np.flatnonzero(answers)[-1]]) if answers.any() else longest_min


def flat_band(scenario: Scenario, points: float = BAND_POINTS) -> Band:
    """Intervals whose steady-state ETTR is within ``points`` of the best.

    Parameters
    ----------
    scenario : Scenario
        The run.
    points : float
        Allowed loss of ETTR, as a fraction in (0, 1).

    Returns
    -------
    Band
        Best interval and the ends of the range, each within 0.1%.

    Raises
    ------
    InputError
        ``points`` outside (0, 1).
    OutsideValidity
        The run has no steady state.
    """
    if not 0 < points < 1:
        raise InputError(f"points must be between 0 and 1, got {points:g}")
    # maintenance scales the ETTR of every interval alike, so it moves neither the best nor, visibly, the band
    steady = scenario.override({"job.include_start": False, "maintenance": None})
    best_min = best_interval_min(scenario)
    at_best = budget.exact(steady.override({"checkpoint.interval_min": best_min})).ettr
    longest_min = longest_interval_min(scenario)
    least_min = max(scenario.checkpoint.least_interval_min, SHORTEST_MIN)

    def end_min(farthest_min: float) -> float:
        """Where the loss passes ``points`` on the way from the best interval."""
        grid = np.geomspace(best_min, farthest_min, _GRID_POINTS)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ValidityWarning)
            loss = at_best - np.nan_to_num(budget.exact(steady, {"checkpoint.interval_min": grid}).ettr, nan=-1.0)
        outside = np.flatnonzero(loss > points)
        if outside.size == 0:
            return float(farthest_min)
        first = outside[0]
        return float(np.interp(points, loss[first - 1 : first + 1], grid[first - 1 : first + 1]))

    high_min = end_min(longest_min) if longest_min > best_min else best_min
    low_min = end_min(least_min) if least_min < best_min else best_min
    return Band(best_min, low_min, high_min, points, ends_job=high_min >= scenario.job.productive_h * 60)


def mttf_interval_h(scenario: Scenario, level: float = 0.95) -> tuple[float, float] | None:
    """Interval of the job's mean time to failure, from what is known of the failure rate. [h]

    Returns
    -------
    tuple of float or None
        Low and high end; None if the scenario says nothing about its rate's uncertainty.
    """
    known = scenario.failures.posterior
    rate = scenario.failures.rate
    if known is None or rate == 0:
        return None
    interval = gamma_interval(known.shape, known.node_days, level)
    longest_h = scenario.job_mttf_h * rate / interval.low if interval.low > 0 else math.inf
    return scenario.job_mttf_h * rate / interval.high, longest_h
