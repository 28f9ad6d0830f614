"""The interval to checkpoint at, and the range that is as good."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

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
"""An interval is as good as the best while it costs no more than this in ETTR: half a point."""

_GRID_POINTS, _STRIDE = 2000, 40
_HAIR = 1 + LAST_DIGITS
"""Above a limit by this much, so that rounding does not put an interval below it."""


@dataclass(frozen=True)
class BestInterval:
    """The best interval, and the range that is nearly as good.

    Attributes
    ----------
    interval_min, low_min, high_min : float or ndarray
        Best interval, and the ends of the range. [min]
    points : float
        What the range may cost, in ETTR as a fraction.
    ends_job : bool or ndarray
        True if even a single checkpoint at the end of the work is within the range.
    """

    interval_min: Any
    low_min: Any
    high_min: Any
    points: float
    ends_job: Any


@dataclass(frozen=True)
class AtBest:
    """ETTR at the best interval, with that interval; 0 where the exact form has no answer."""

    ettr: np.ndarray
    interval_min: np.ndarray


def best_interval_min(scenario: Scenario | JobInHours, at: Mapping[str, Any] | None = None) -> Any:
    """The interval of the store with the highest steady-state ETTR. [min]

    Parameters
    ----------
    scenario : Scenario or JobInHours
        The run; faster tiers keep their intervals.
    at : mapping, optional
        Dotted path (one of :func:`ettr.budget.swept`) to an array in the field's unit; arrays broadcast against each
        other.

    Returns
    -------
    float or ndarray
        Between :func:`shortest_interval_min` and :func:`longest_h` of each point.

    Raises
    ------
    InputError
        A path that cannot be swept, the interval itself, or a value that breaks the field's rule.
    NotModelled
        Mechanisms that no closed form holds for together.

    Notes
    -----
    :func:`ettr.checkpoint.exact_interval` where it holds: without tiers and prediction, also where all failures are
    silent. Else the minimum of the exact steady-state cost, within 10⁻⁶ of itself. Maintenance, the start, and what
    makes rates change in time (burn-in, lifetimes) do not enter: sweep the rate for the interval at another moment.

    Examples
    --------
    >>> from ettr import Scenario, budget
    >>> run = Scenario.load("llama3-405b")
    >>> budget.best_interval_min(run, {"cluster.n_gpus": [16_384, 100_000]}).round(1).tolist()
    [7.7, 3.1]
    """
    if at and INTERVAL in at:
        raise InputError(f"{INTERVAL} is what is looked for: leave it out of at")
    run = scenario if isinstance(scenario, JobInHours) else before_interval(scenario, at)
    if isinstance(scenario, Scenario) and (_stops(run) or not run.has_interval_rule):
        refuse(scenario, run)
    return plain(best_h(run)[0] * MIN_PER_H)


def at_best(
    scenario: Scenario | JobInHours, at: Mapping[str, Any] | None = None, within: tuple[Any, Any] = (0.0, math.inf)
) -> AtBest:
    """Best interval and ETTR of a run, or at points.

    With an interval among the arrays of ``at``, that one is used. ``within`` bounds the intervals of a search. [min]
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
    """As :func:`ettr.budget.accepted`, also of a scenario whose rule for the interval does not hold."""
    if isinstance(scenario, JobInHours):
        return scenario
    scenario = Scenario.of(scenario)
    run = before_interval(scenario, at)
    refuse(scenario, run, formula)
    return run


def best_h(run: JobInHours, within: tuple[Any, Any] = (0.0, math.inf)) -> tuple[np.ndarray, np.ndarray]:
    """The best interval at each point [h], and the ETTR there, NaN where the exact form has no answer."""
    low, high = run.interval_ends
    if run.has_interval_rule:
        return _answered(run, low, np.broadcast_to(run.interval_by("best"), low.shape))
    return _answered(run, low, _searched_h(run, *(np.clip(end, low, high) for end in within)))


def job_mttf_h(scenario: Scenario, n_gpus: Any = None) -> Any:
    """Mean time to failure of the job, also at other sizes; infinite without failures. [h]"""
    n_nodes = scenario.n_nodes if n_gpus is None else np.asarray(n_gpus) / scenario.cluster.gpus_per_node
    with np.errstate(divide="ignore", over="ignore"):
        return plain(1 / (scenario.node_rate_per_h * scenario.mode_exposure(n_nodes).sum(axis=-1)))


def shortest_interval_min(scenario: Scenario) -> float:
    """The shortest interval that a plan considers: a second, the write, or the interval of the tier below. [min]"""
    return float(before_interval(scenario).interval_ends[0]) * MIN_PER_H


def longest_h(run: JobInHours) -> np.ndarray:
    """The longest interval that a plan considers, at each point. [h]

    The whole work; with maintenance, the longest of those for which the exact form has an answer: a stop waits for the
    next checkpoint, so with longer intervals requests would pile up.
    """
    return _answered(run, *run.interval_ends)[0]


def _stops(run: JobInHours) -> bool:
    return bool(np.any(np.asarray(run.stops_per_h) > 0))


def _searched_h(run: JobInHours, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """The minimum of the exact steady-state cost. [h]"""
    steady = without_ends(run)

    def cost(tau: np.ndarray) -> np.ndarray:
        return np.asarray(1 / _ettr_of(steady, tau))

    if run.prediction is None:
        return lowest(cost, low, high)
    # shorter intervals than this use no alarm, so that there may be a minimum on either side
    heed = np.clip(np.asarray(run.prediction.action) / run.prediction.precision, low, high)
    if np.all(heed <= low) or np.all(heed >= high):
        return lowest(cost, low, high)
    minima = [lowest(cost, low, heed), lowest(cost, heed, high)]
    costs = [np.nan_to_num(cost(tau[None])[0], nan=np.inf) for tau in minima]
    return np.where(costs[0] < costs[1], *minima)


def without_ends(run: JobInHours) -> JobInHours:
    """The steady state of a run, maintenance aside."""
    return replace(run, include_start=False, stops_per_h=0.0)


def _ettr_of(run: JobInHours, tau: Any) -> np.ndarray:
    """Exact ETTR with these intervals; in an array, NaN where there is no answer."""
    return np.asarray(quiet_budget(replace(run, tau=tau)).ettr)


def _answered(run: JobInHours, low: np.ndarray, wanted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The wanted intervals and their ETTR, NaN where the exact form has no answer.

    With maintenance, the longest shorter interval for which it has one. [h]
    """
    ettr = _ettr_of(run, wanted[None])[0]  # so that a single point is NaN as well
    none = ~np.isfinite(ettr)
    if not none.any() or not _stops(run):
        return wanted, ettr
    # nothing to choose where no interval has an answer; without maintenance, one between two ends needs one at an end
    none &= np.isfinite(_ettr_of(replace(run, stops_per_h=0.0), np.array([low, wanted]))).any(axis=0)
    points = run.at_points(none)
    least, left, right, some = low[none], np.log(low[none]), np.log(wanted[none]), np.arange(none.sum())
    steps = np.linspace(0.0, 1.0, 33)[:, None]
    for _ in range(3):
        if not some.size:
            return wanted, ettr
        grid = left + (right - left) * steps
        good = np.isfinite(_ettr_of(points.at_points(some), np.exp(grid)))
        answered = good.any(axis=0)
        some, grid, good = some[answered], grid[:, answered], good[:, answered]
        last = good.shape[0] - 1 - good[::-1].argmax(axis=0)[None]
        left = np.take_along_axis(grid, last, axis=0)[0]
        right = np.take_along_axis(grid, np.minimum(last + 1, good.shape[0] - 1), axis=0)[0]
    interval, ettr, where = wanted.copy(), np.array(ettr), np.flatnonzero(none)[some]
    interval.flat[where] = np.maximum(np.exp(left) / _HAIR, least[some])  # a hair below, for the logarithm's rounding
    ettr.flat[where] = _ettr_of(points.at_points(some), interval.flat[where])
    return interval, ettr


def whole_interval_min(run: Scenario, interval_min: float) -> float:
    """The interval nearest to one that is wanted, of those that a simulation takes with the run's faster tiers. [min]

    Parameters
    ----------
    run : Scenario
        Whose faster tiers are kept as they are.
    interval_min : float
        What is wanted. [min]

    Returns
    -------
    float
        A whole number of the slowest tier's intervals, and no longer than the work. [min]

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
    least = math.ceil(run.least_interval_min / step_min * (1 - LAST_DIGITS))
    return max(round(interval_min / step_min), least, 1) * step_min


def flat_band(
    scenario: Scenario | JobInHours, points: float = BAND_POINTS, at: Mapping[str, Any] | None = None
) -> BestInterval:
    """Intervals whose steady-state ETTR is within ``points`` of the best.

    Parameters
    ----------
    scenario : Scenario
        The run.
    points : float
        Allowed loss of ETTR, as a fraction in (0, 1).
    at : mapping, optional
        Dotted path (one of :func:`ettr.budget.swept`, none of ``maintenance``) to an array in the field's unit, each of
        shape ``(n,)``: the band then holds arrays.

    Returns
    -------
    BestInterval
        Best interval and the ends of the range, each within 0.1%.

    Raises
    ------
    InputError
        ``points`` outside (0, 1).
    OutsideValidity
        The run has no steady state, or has none at one of the points.

    Examples
    --------
    >>> from ettr import Scenario, budget
    >>> band = budget.flat_band(Scenario.load("llama3-405b"), at={"cluster.n_gpus": [16_384, 100_000]})
    >>> band.low_min.round(1).tolist(), band.high_min.round(1).tolist()
    ([4.6, 2.1], [12.7, 4.5])
    """
    if not 0 < points < 1:
        raise InputError(f"points must be between 0 and 1, got {points:g}")
    if at and INTERVAL in at:
        raise InputError(f"{INTERVAL} is what is looked for: leave it out of at")
    run = any_interval(scenario, at)
    best, _ = best_h(run)
    # maintenance scales the ETTR of every interval alike, so it moves neither the best nor, visibly, the band
    steady = without_ends(run)
    highest = _ettr_of(steady, best)
    if np.isnan(highest).any():
        raise OutsideValidity(f"budget.flat_band holds only for {ENDS}")

    def loss(tau: np.ndarray) -> np.ndarray:
        return np.asarray(highest - np.nan_to_num(_ettr_of(steady, tau), nan=-1.0))

    def end_h(farthest_h: Any) -> Any:
        """Where the loss passes ``points`` on the way from the best interval."""
        start, end = np.broadcast_arrays(*np.atleast_1d(best, farthest_h))
        # where the loss only grows on the way, it need not be known at each step
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
    """Where a loss first passes a limit between a start and an end, on a logarithmic grid; the end where it does not.

    The grid is gone along in strides, and then step by step inside the one in which the limit is passed.
    """
    there, last = start == end, _GRID_POINTS - 1
    grid = np.geomspace(start, np.where(there, 2 * start, end), _GRID_POINTS)
    rows = np.append(np.arange(0, last, stride), last)
    above = loss(grid[rows]) > limit
    rows = rows[np.maximum(above.argmax(axis=0) - 1, 0)] + np.arange(stride + 1)[:, None]
    near = np.take_along_axis(grid, np.minimum(rows, last), axis=0)
    lost = loss(near)
    first, columns = np.maximum((lost > limit).argmax(axis=0), 1), np.arange(start.size)
    (left, right), (less, more) = ((table[first - 1, columns], table[first, columns]) for table in (near, lost))
    with np.errstate(divide="ignore", invalid="ignore"):  # where the limit is passed nowhere
        passed = (right - left) / (more - less) * (limit - less) + left
    return np.where(there | ~above.any(axis=0), end, passed)
