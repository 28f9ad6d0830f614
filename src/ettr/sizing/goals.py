"""The best size of a job for a goal, within limits."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np

from ettr.core.errors import InputError, UnknownName
from ettr.scenario import Scenario
from ettr.sizing.bands import TAILS, SizingDraws, yields_of_draws
from ettr.sizing.next_gpu import range_gpus
from ettr.sizing.yields import Yields, throughput_of, yields

FASTEST, CHEAPEST, GREENEST = "fastest", "cheapest", "greenest"
GOALS = {FASTEST: "days", CHEAPEST: "usd", GREENEST: "t_co2"}
"""Goals, and the quantity that each minimises."""
_LIMITED = {
    "power_mw": ("power_mw", "MW"),
    "budget_usd": ("usd", "USD"),
    "deadline_days": ("days", "days"),
    "most_gpus": ("n_gpus", "GPUs"),
}
"""The quantity that each limit applies to, and its unit."""
_SIZES, _SIZES_OF_DRAWS = 400, 120


@dataclass(frozen=True)
class SizingLimits:
    """Limits of the size of a job; None for no limit.

    Attributes
    ----------
    power_mw : float, optional
        Power of the facility during training. [MW]
    budget_usd : float, optional
        Cost of the entire job. [USD]
    deadline_days : float, optional
        Duration of the job. [d]
    most_gpus : float, optional
        Available GPUs. [GPUs]

    Examples
    --------
    >>> SizingLimits(power_mw=30).active
    {'power_mw': 30}
    """

    power_mw: float | None = None
    budget_usd: float | None = None
    deadline_days: float | None = None
    most_gpus: float | None = None

    def __post_init__(self) -> None:
        for name, value in self.active.items():
            if not (math.isfinite(value) and value > 0):
                raise InputError(f"{name} must be > 0 {_LIMITED[name][1]} and finite, got {value:g}")

    @property
    def active(self) -> dict[str, float]:
        """The limits that are set."""
        return {name: value for name, value in vars(self).items() if value is not None}

    def met(self, at: Yields) -> np.ndarray:
        """Return which sizes meet all limits and make progress."""
        met = np.isfinite(at.days) & (at.useful_tokens_per_day > 0)
        for name, limit in self.active.items():
            met &= _limited(at, name) <= limit
        return np.asarray(met)


def _limited(at: Yields, name: str) -> np.ndarray:
    return np.asarray(getattr(at, _LIMITED[name][0]))


@dataclass(frozen=True)
class BestSize:
    """The best size for a goal.

    Attributes
    ----------
    goal : str
        ``fastest``, ``cheapest`` or ``greenest``.
    n_gpus : int
        Best size, in whole nodes and replicas. [GPUs]
    n_gpus_low, n_gpus_high : float
        90% interval of the best size. [GPUs]
    layout : str
        Parallel layout in words.
    yields : Yields
        Throughput and costs at that size, single values.
    low, high : Yields
        90% intervals of the same.

    Examples
    --------
    >>> run = Scenario.load("llama3-405b-tokens")
    >>> from ettr.sizing import draws
    >>> size = best(run, "fastest", SizingLimits(power_mw=30), draws(run))
    >>> bool(size.n_gpus_low <= size.n_gpus <= size.n_gpus_high)
    True
    """

    goal: str
    n_gpus: int
    n_gpus_low: float
    n_gpus_high: float
    layout: str
    yields: Yields
    low: Yields
    high: Yields


def best(scenario: Scenario, goal: str, limits: SizingLimits, drawn: SizingDraws) -> BestSize:
    """Return the best size for a goal.

    Parameters
    ----------
    scenario : Scenario
        A job given by its tokens.
    goal : str
        ``fastest`` (fewest days), ``cheapest`` (least cost) or ``greenest`` (least carbon).
    limits : SizingLimits
        Limits of the size.
    drawn : SizingDraws
        Draws for the 90% intervals.

    Returns
    -------
    BestSize
        A number of GPUs in whole nodes and replicas.

    Raises
    ------
    InputError
        No size meets the limits (the message names the nearest one), or all sizes cost the same.
    UnknownName
        An unknown goal.

    Examples
    --------
    >>> run = Scenario.load("llama3-405b-tokens")
    >>> from ettr.sizing import draws
    >>> bool(best(run, "fastest", SizingLimits(most_gpus=8192), draws(run)).n_gpus <= 8192)
    True
    """
    if goal not in GOALS:
        raise UnknownName("goal", goal, GOALS)
    column = GOALS[goal]
    sizes = _sizes(scenario, limits)
    at = yields(scenario, sizes)
    if goal != FASTEST and not (np.asarray(getattr(at, column)) > 0).any():
        price = "cost.usd_per_gpu_h" if goal == CHEAPEST else "power.g_per_kwh"
        raise InputError(f"{price} must be > 0 to find the {goal} size, got 0; or choose another goal")
    met = limits.met(at)
    if not met.any():
        raise InputError(_why_none(at, limits))
    near = _smallest(at, column, met)
    finer = np.linspace(sizes[max(near - 1, 0)], sizes[min(near + 1, sizes.size - 1)], _SIZES)
    finer = np.append(finer, sizes[near])
    at = yields(scenario, finer)
    ideal = float(finer[_smallest(at, column, limits.met(at))])
    size = _whole(scenario, ideal, column, limits)
    layout = throughput_of(scenario).fastest_dividing(size)
    exact = yields(scenario, np.array([float(size)]), layout.one_axis())
    of_draws = yields_of_draws(scenario, np.geomspace(*range_gpus(scenario), _SIZES_OF_DRAWS), drawn)
    low, high = np.quantile(_best_of_each(of_draws, column, limits), TAILS)
    at_size = yields_of_draws(scenario, np.array([float(size)]), drawn)
    at_best = exact.each(lambda values: values[0])
    ends = [at_size.each(functools.partial(np.quantile, q=tail, method="nearest")) for tail in TAILS]
    return BestSize(goal, size, min(low, size), max(high, size), str(layout), at_best, *ends)


def _smallest(at: Yields, column: str, met: np.ndarray) -> int:
    """Return the place of the smallest value among sizes that meet the limits."""
    return int(np.where(met, getattr(at, column), np.inf).argmin())


def _best_of_each(at: Yields, column: str, limits: SizingLimits) -> np.ndarray:
    """Return the best size of each draw; draws that cannot meet the limits are left out, unless all cannot."""
    values = np.where(limits.met(at), getattr(at, column), np.inf)
    meets = np.isfinite(values).any(axis=1)
    best_of = np.take_along_axis(at.n_gpus, values.argmin(axis=1)[:, None], axis=1)[:, 0]
    return np.asarray(best_of[meets] if meets.any() else best_of)


def _sizes(scenario: Scenario, limits: SizingLimits) -> np.ndarray:
    """Return a logarithmic grid of sizes with the current one, finer where a limit starts or stops to bind."""
    low, high = range_gpus(scenario)
    sizes = np.geomspace(low, high, _SIZES)
    current = float(scenario.cluster.n_gpus)
    sizes = np.unique(np.append(sizes, current) if low <= current <= high else sizes)
    at, grids = yields(scenario, sizes), [sizes]
    for name, limit in limits.active.items():
        within = _limited(at, name) <= limit
        for i in np.flatnonzero(within[1:] != within[:-1]):
            grids.append(np.linspace(sizes[i], sizes[i + 1], _SIZES))
    return np.unique(np.concatenate(grids))


def _whole(scenario: Scenario, ideal: float, column: str, limits: SizingLimits) -> int:
    """Return the best size near an ideal one that has whole nodes and replicas."""
    through = throughput_of(scenario)
    sizes, layouts = through.divisible_sizes(ideal)
    at = yields(scenario, sizes, layouts)
    met = limits.met(at)
    if not met.any():
        raise InputError(f"no size in whole nodes and replicas near {ideal:,.0f} GPUs meets all limits")
    return int(sizes[_smallest(at, column, met)])


def _why_none(at: Yields, limits: SizingLimits) -> str:
    """Return why no size meets the limits."""
    if not np.isfinite(at.days).any():
        return "at no size does the job make progress; it needs a lower failure rate or a shorter recovery"
    reasons = []
    for name, limit in limits.active.items():
        unit, smallest = _LIMITED[name][1], float(_limited(at, name).min())
        if smallest > limit:
            reasons.append(f"{name} must be at least {smallest:,.4g} {unit}, got {limit:,.6g} {unit}")
    return "no size meets the limits: " + ("; ".join(reasons) or _conflict(at, limits))


def _conflict(at: Yields, limits: SizingLimits) -> str:
    """Return by how much limits conflict that can be met one at a time but not together."""
    *others, last = limits.active
    met = SizingLimits(**{name: limits.active[name] for name in others}).met(at)
    if not met.any():
        return "each can be met alone, but not all together"
    smallest = float(_limited(at, last)[met].min())
    which = f"{' and '.join(others)} {'is' if len(others) == 1 else 'are'}"
    text = f"each can be met alone, but not all together: where {which} met, {last} is"
    return f"{text} at least {smallest:,.4g} {_LIMITED[last][1]}, not {limits.active[last]:,.6g}"
