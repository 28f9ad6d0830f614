"""The best checkpoint interval, and the range of intervals that is nearly as good."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ettr.budget.blocks import as_product
from ettr.budget.closed_forms import quiet_budget
from ettr.budget.refusals import refuse
from ettr.budget.search import lowest
from ettr.core.errors import InputError, OutsideValidity
from ettr.core.units import LAST_DIGITS, MIN_PER_H
from ettr.core.validity import ENDS, plain
from ettr.scenario import JobInHours, Scenario
from ettr.scenario.paths import INTERVAL
from ettr.scenario.to_hours import before_interval

BAND_POINTS = 0.005
"""An interval is nearly as good as the best if its ETTR is at most this much lower: half a percentage point."""

_GRID_POINTS, _STRIDE = 2000, 40
_HAIR = 1 + LAST_DIGITS
"""Factor that keeps an interval above a limit in spite of rounding."""


@dataclass(frozen=True)
class BestInterval:
    """The best interval, and the range of intervals that is nearly as good.

    Attributes
    ----------
    interval_min, low_min, high_min : float or ndarray
        Best interval, and the ends of the range. [min]
    points : float
        Largest loss of ETTR within the range, as a fraction.
    ends_job : bool or ndarray
        True if the range includes a run with no checkpoint before its end.
    """

    interval_min: Any
    low_min: Any
    high_min: Any
    points: float
    ends_job: Any


@dataclass(frozen=True)
class AtBest:
    """ETTR at the best interval, with that interval; 0 where the exact model is not valid."""

    ettr: np.ndarray
    interval_min: np.ndarray


def best_interval_min(
    scenario: Scenario | JobInHours, at: Mapping[str, Any] | None = None, *, product: bool = False
) -> Any:
    """Return the interval of the store with the highest steady-state ETTR. [min]

    Parameters
    ----------
    scenario : Scenario or JobInHours
        The run; faster tiers keep their intervals.
    at : mapping, optional
        Dotted path (one of :func:`ettr.budget.swept`) to an array in the field's unit; arrays broadcast against each
        other.
    product : bool
        True for every combination of the arrays, as in :func:`ettr.budget.exact`.

    Returns
    -------
    float or ndarray
        At least :func:`shortest_interval_min`, and at most the work; with maintenance, at most the longest interval for
        which the exact model is valid. [min]

    Raises
    ------
    InputError
        A path that cannot be swept, the interval itself, or a value that breaks the field's rule.
    NotModelled
        Mechanisms that the exact model does not cover together.

    Notes
    -----
    Without tiers and prediction, also if all failures are silent, this is :func:`ettr.checkpoint.exact_interval`.
    Otherwise it is the minimum of the exact steady-state cost, to a relative accuracy of 10⁻⁶. Maintenance, the start
    and changing rates (burn-in, lifetimes) are not considered: sweep the rate for the interval at another moment.

    Examples
    --------
    >>> from ettr import Scenario, budget
    >>> run = Scenario.load("llama3-405b")
    >>> budget.best_interval_min(run, {"cluster.n_gpus": [16_384, 100_000]}).round(1).tolist()
    [7.7, 3.1]
    """
    _refuse_interval(at)
    at = as_product(at) if product else at
    run = scenario if isinstance(scenario, JobInHours) else before_interval(scenario, at)
    if isinstance(scenario, Scenario) and (_stops(run) or not run.has_interval_rule):
        refuse(scenario, run)
    return plain(best_h(run)[0] * MIN_PER_H)


def _refuse_interval(at: Mapping[str, Any] | None) -> None:
    if at and INTERVAL in at:
        raise InputError(f"{INTERVAL} is the result: leave it out of at")


def at_best(
    scenario: Scenario | JobInHours, at: Mapping[str, Any] | None = None, within: tuple[Any, Any] = (0.0, math.inf)
) -> AtBest:
    """Best interval and ETTR at each point of a run.

    An interval among the arrays of ``at`` is used unchanged. ``within`` has the ends of the search. [min]
    """
    run = any_interval(scenario, at)
    if at and INTERVAL in at:
        interval_h, ettr = run.tau, np.asarray(quiet_budget(run).ettr)
    else:
        interval_h, ettr = best_h(run, (within[0] / MIN_PER_H, within[1] / MIN_PER_H))
    return AtBest(np.nan_to_num(ettr, nan=0.0), np.broadcast_to(interval_h * MIN_PER_H, ettr.shape))


def any_interval(
    scenario: Scenario | JobInHours, at: Mapping[str, Any] | None = None, formula: str = "exact"
) -> JobInHours:
    """Run in hours as by :func:`ettr.budget.accepted`, also if the rule for the scenario's interval is not valid."""
    if isinstance(scenario, JobInHours):
        return scenario
    scenario = Scenario.of(scenario)
    run = before_interval(scenario, at)
    refuse(scenario, run, formula)
    return run


def best_h(run: JobInHours, within: tuple[Any, Any] = (0.0, math.inf)) -> tuple[np.ndarray, np.ndarray]:
    """Best interval at each point [h], and the ETTR there: NaN where the exact model is not valid."""
    low, high = run.interval_ends
    if run.has_interval_rule:
        return _answered(run, low, np.broadcast_to(run.interval_by("best"), low.shape))
    return _answered(run, low, _searched_h(run, *(np.clip(end, low, high) for end in within)))


def job_mttf_h(scenario: Scenario, n_gpus: Any = None) -> Any:
    """Return the mean time to failure of the job, also at other sizes; infinite without failures. [h]

    Parameters
    ----------
    scenario : Scenario
        The run.
    n_gpus : int or array, optional
        Numbers of GPUs; that of the scenario if not given.

    Examples
    --------
    >>> from ettr import Scenario, budget
    >>> budget.job_mttf_h(Scenario.load("llama3-405b"), [16_384, 100_000]).round(2).tolist()
    [3.05, 0.5]
    """
    n_nodes = scenario.n_nodes if n_gpus is None else np.asarray(n_gpus) / scenario.cluster.gpus_per_node
    with np.errstate(divide="ignore", over="ignore"):
        return plain(1 / (scenario.node_rate_per_h * scenario.mode_exposure(n_nodes).sum(axis=-1)))


def shortest_interval_min(scenario: Scenario) -> float:
    """Return the shortest interval that a plan considers: 1 s, the write, or the faster tier's interval. [min]

    Examples
    --------
    >>> from ettr import Scenario, budget
    >>> run = Scenario.load("llama3-405b").override({"checkpoint.persist_s": 120, "checkpoint.persist_slowdown": 0})
    >>> round(budget.shortest_interval_min(run), 3)
    2.0
    """
    return float(before_interval(scenario).interval_ends[0]) * MIN_PER_H


def longest_h(run: JobInHours) -> np.ndarray:
    """Longest interval that a plan considers, at each point: that of a run without checkpoints before its end. [h]

    With maintenance, the longest interval for which the exact model is valid: a stop waits for the next checkpoint, so
    requests would pile up over longer intervals.
    """
    return _answered(run, *run.interval_ends)[0]


def _stops(run: JobInHours) -> bool:
    return bool(np.any(np.asarray(run.stops_per_h) > 0))


def _searched_h(run: JobInHours, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Interval at the minimum of the exact steady-state cost. [h]"""
    steady = without_ends(run)

    def cost(tau: np.ndarray) -> np.ndarray:
        return np.asarray(1 / _ettr_of(steady, tau))

    if run.prediction is None:
        return lowest(cost, low, high)
    # with intervals shorter than this every alarm is ignored, so there may be a minimum on either side
    heed = np.clip(np.asarray(run.prediction.action) / run.prediction.precision, low, high)
    if np.all(heed <= low) or np.all(heed >= high):
        return lowest(cost, low, high)
    minima = [lowest(cost, low, heed), lowest(cost, heed, high)]
    costs = [np.nan_to_num(cost(tau[None])[0], nan=np.inf) for tau in minima]
    return np.where(costs[0] < costs[1], *minima)


def without_ends(run: JobInHours) -> JobInHours:
    """Steady state of a run without maintenance."""
    return replace(run, include_start=False, stops_per_h=0.0)


def _ettr_of(run: JobInHours, tau: Any) -> np.ndarray:
    """Exact ETTR with these intervals; in an array, NaN where the model is not valid."""
    return np.asarray(quiet_budget(replace(run, tau=tau)).ettr)


def _answered(run: JobInHours, low: np.ndarray, wanted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Wanted intervals and their ETTR, NaN where the exact model is not valid.

    With maintenance, an interval that is too long is replaced by the longest one for which the model is valid. [h]
    """
    ettr = _ettr_of(run, wanted[None])[0]  # with an axis more, so that a single point is NaN and no error
    invalid = ~np.isfinite(ettr)
    if not invalid.any() or not _stops(run):
        return wanted, ettr
    # skip points where maintenance is not the reason: without it, neither end of the search would be valid either
    invalid &= np.isfinite(_ettr_of(replace(run, stops_per_h=0.0), np.array([low, wanted]))).any(axis=0)
    points = run.at_points(invalid)
    shortest, left, right = low[invalid], np.log(low[invalid]), np.log(wanted[invalid])
    left_over = np.arange(invalid.sum())
    steps = np.linspace(0.0, 1.0, 33)[:, None]
    # three grids, each within the cell of the last one in which the model stops being valid
    for _ in range(3):
        if not left_over.size:
            return wanted, ettr
        grid = left + (right - left) * steps
        valid = np.isfinite(_ettr_of(points.at_points(left_over), np.exp(grid)))
        answered = valid.any(axis=0)
        left_over, grid, valid = left_over[answered], grid[:, answered], valid[:, answered]
        last = valid.shape[0] - 1 - valid[::-1].argmax(axis=0)[None]
        left = np.take_along_axis(grid, last, axis=0)[0]
        right = np.take_along_axis(grid, np.minimum(last + 1, valid.shape[0] - 1), axis=0)[0]
    interval, ettr, where = wanted.copy(), np.array(ettr), np.flatnonzero(invalid)[left_over]
    interval.flat[where] = np.maximum(np.exp(left) / _HAIR, shortest[left_over])  # below, as the logarithm rounds
    ettr.flat[where] = _ettr_of(points.at_points(left_over), interval.flat[where])
    return interval, ettr


def whole_interval_min(run: Scenario, interval_min: float) -> float:
    """Return the nearest interval that a simulation accepts beside the run's faster tiers. [min]

    Parameters
    ----------
    run : Scenario
        The run, whose faster tiers keep their intervals.
    interval_min : float
        Wanted interval. [min]

    Returns
    -------
    float
        A multiple of the interval of the slowest of the faster tiers, and no longer than the work. [min]

    Examples
    --------
    >>> from ettr import Scenario
    >>> peer = {"name": "peer", "interval_s": 40, "survives": 0.9}
    >>> run = Scenario.load("llama3-405b").override({"checkpoint.tiers": [peer]})
    >>> whole_interval_min(run, 7.7)
    8.0
    """
    hours = before_interval(run)
    interval_min = min(interval_min, float(hours.work * MIN_PER_H))
    if not hours.tiers:
        return interval_min
    step_min = float(hours.tiers[-1].tau * MIN_PER_H)
    fewest = math.ceil(run.least_interval_min / step_min * (1 - LAST_DIGITS))
    return max(round(interval_min / step_min), fewest, 1) * step_min


def flat_band(
    scenario: Scenario | JobInHours, points: float = BAND_POINTS, at: Mapping[str, Any] | None = None
) -> BestInterval:
    """Return the best interval and the range of intervals whose steady-state ETTR is within ``points`` of it.

    Parameters
    ----------
    scenario : Scenario
        The run.
    points : float
        Allowed loss of ETTR, as a fraction in (0, 1).
    at : mapping, optional
        Dotted path (one of :func:`ettr.budget.swept`, none of ``maintenance``) to an array in the field's unit, each of
        shape ``(n,)``; the answer then has arrays.

    Returns
    -------
    BestInterval
        Best interval and the ends of the range, each correct to 0.1%.

    Raises
    ------
    InputError
        ``points`` outside (0, 1).
    OutsideValidity
        The run, or the run at one of the points, has no steady state.

    Examples
    --------
    >>> from ettr import Scenario, budget
    >>> band = budget.flat_band(Scenario.load("llama3-405b"), at={"cluster.n_gpus": [16_384, 100_000]})
    >>> band.low_min.round(1).tolist(), band.high_min.round(1).tolist()
    ([4.6, 2.1], [12.7, 4.5])
    """
    if not 0 < points < 1:
        raise InputError(f"points must be > 0 and < 1, e.g. 0.005 for half a percentage point of ETTR, got {points:g}")
    _refuse_interval(at)
    run = any_interval(scenario, at)
    best, _ = best_h(run)
    # maintenance scales the ETTR of every interval alike, so it shifts neither the best nor, visibly, the range
    steady = without_ends(run)
    highest = _ettr_of(steady, best)
    if np.isnan(highest).any():
        raise OutsideValidity(f"budget.flat_band holds only for {ENDS}")

    def loss(tau: np.ndarray) -> np.ndarray:
        return np.asarray(highest - np.nan_to_num(_ettr_of(steady, tau), nan=-1.0))

    def end_h(farthest_h: Any) -> Any:
        """Interval at which the loss exceeds ``points``, going from the best interval to the farthest."""
        start, end = np.broadcast_arrays(*np.atleast_1d(best, farthest_h))
        # a loss that only grows on the way is evaluated at every fortieth step first
        passed = _first_above(loss, points, start, end, _STRIDE if run.has_interval_rule else 1)
        return passed.reshape(np.shape(best))

    low_h = end_h(np.minimum(steady.interval_ends[0], best))
    high_h = end_h(np.maximum(longest_h(run), best))
    ends_job = np.asarray(high_h >= run.work)
    best_min, low_min, high_min = (plain(hours * MIN_PER_H) for hours in (best, low_h, high_h))
    return BestInterval(best_min, low_min, high_min, points, ends_job if ends_job.ndim else bool(ends_job))


def _first_above(
    loss: Callable[[np.ndarray], np.ndarray], limit: float, start: np.ndarray, end: np.ndarray, stride: int
) -> np.ndarray:
    """Place where a loss first exceeds a limit between start and end, on a logarithmic grid; the end if it never does.

    The grid is searched in strides, and then step by step within the stride in which the limit is exceeded.
    """
    is_empty, last = start == end, _GRID_POINTS - 1
    grid = np.geomspace(start, np.where(is_empty, 2 * start, end), _GRID_POINTS)
    rows = np.append(np.arange(0, last, stride), last)
    above = loss(grid[rows]) > limit
    rows = rows[np.maximum(above.argmax(axis=0) - 1, 0)] + np.arange(stride + 1)[:, None]
    near = np.take_along_axis(grid, np.minimum(rows, last), axis=0)
    lost = loss(near)
    first, columns = np.maximum((lost > limit).argmax(axis=0), 1), np.arange(start.size)
    (left, right), (loss_left, loss_right) = (
        (table[first - 1, columns], table[first, columns]) for table in (near, lost)
    )
    with np.errstate(divide="ignore", invalid="ignore"):  # where the loss never exceeds the limit
        passed = (right - left) / (loss_right - loss_left) * (limit - loss_left) + left  # linear within the cell
    return np.where(is_empty | ~above.any(axis=0), end, passed)
