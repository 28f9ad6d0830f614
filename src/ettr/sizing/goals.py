"""The best size for a goal, within limits."""

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
"""Goals, and the column that each makes least."""
_LIMITED = {
    "power_mw": ("power_mw", "MW"),
    "budget_usd": ("usd", "USD"),
    "deadline_days": ("days", "days"),
    "most_gpus": ("n_gpus", "GPUs"),
}
"""What each limit is a limit of, and its unit."""
_SIZES, _SIZES_OF_DRAWS = 400, 120


@dataclass(frozen=True)
class SizingLimits:
    """What a size has to keep; None: no limit.

    Attributes
    ----------
    power_mw : float, optional
        Power of the facility while it trains. [MW]
    budget_usd : float, optional
        Cost of the whole job. [USD]
    deadline_days : float, optional
        Until all tokens are trained on. [d]
    most_gpus : float, optional
        GPUs that can be had. [GPUs]
    """

    power_mw: float | None = None
    budget_usd: float | None = None
    deadline_days: float | None = None
    most_gpus: float | None = None

    def __post_init__(self) -> None:
        for name, value in self.given.items():
            if not (math.isfinite(value) and value > 0):
                raise InputError(f"{name} must be > 0 {_LIMITED[name][1]} and finite, got {value:g}")

    @property
    def given(self) -> dict[str, float]:
        """The limits that are set."""
        return {name: value for name, value in vars(self).items() if value is not None}

    def kept(self, at: Yields) -> np.ndarray:
        """Whether each size keeps them all, and yields anything."""
        good = np.isfinite(at.days) & (at.useful_tokens_per_day > 0)
        for name, limit in self.given.items():
            good &= _limited(at, name) <= limit
        return np.asarray(good)


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
        A size that a layout divides. [GPUs]
    n_gpus_low, n_gpus_high : float
        Where the best size lies with 90%. [GPUs]
    layout : str
        The cut of the model in words.
    yields : Yields
        At that size, single values.
    low, high : Yields
        Ends of the same with 90%.
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
    """The best size for a goal.

    Parameters
    ----------
    scenario : Scenario
        A job given by its tokens.
    goal : str
        ``fastest`` (fewest days), ``cheapest`` (least cost) or ``greenest`` (least carbon).
    limits : SizingLimits
        What it has to keep.
    drawn : SizingDraws
        For the bands.

    Returns
    -------
    BestSize
        A number of GPUs in whole nodes and replicas.

    Raises
    ------
    InputError
        No size keeps the limits (the message says what the nearest takes), or every size costs nothing.
    UnknownName
        No such goal.
    """
    if goal not in GOALS:
        raise UnknownName("goal", goal, GOALS)
    column = GOALS[goal]
    sizes = _sizes(scenario, limits)
    at = yields(scenario, sizes)
    if goal != FASTEST and not (np.asarray(getattr(at, column)) > 0).any():
        price = "cost.usd_per_gpu_h" if goal == CHEAPEST else "power.g_per_kwh"
        raise InputError(f"where nothing has a price every size is the {goal}: give {price} > 0, or take another goal")
    kept = limits.kept(at)
    if not kept.any():
        raise InputError(_none_keeps(at, limits))
    near = _least(at, column, kept)
    finer = np.linspace(sizes[max(near - 1, 0)], sizes[min(near + 1, sizes.size - 1)], _SIZES)
    finer = np.append(finer, sizes[near])
    at = yields(scenario, finer)
    ideal = float(finer[_least(at, column, limits.kept(at))])
    size = _whole(scenario, ideal, column, limits)
    layout = throughput_of(scenario).fastest_dividing(size)
    exact = yields(scenario, np.array([float(size)]), layout.one_axis())
    of_draws = yields_of_draws(scenario, np.geomspace(*range_gpus(scenario), _SIZES_OF_DRAWS), drawn)
    low, high = np.quantile(_best_of_each(of_draws, column, limits), TAILS)
    at_size = yields_of_draws(scenario, np.array([float(size)]), drawn)
    own = exact.each(lambda values: values[0])
    ends = [at_size.each(functools.partial(np.quantile, q=tail, method="nearest")) for tail in TAILS]
    return BestSize(goal, size, min(low, size), max(high, size), str(layout), own, *ends)


def _least(at: Yields, column: str, kept: np.ndarray) -> int:
    return int(np.where(kept, getattr(at, column), np.inf).argmin())


def _best_of_each(at: Yields, column: str, limits: SizingLimits) -> np.ndarray:
    """The best size of each draw; draws that keep no limit are left out, unless none does."""
    values = np.where(limits.kept(at), getattr(at, column), np.inf)
    some = np.isfinite(values).any(axis=1)
    best_of = np.take_along_axis(at.n_gpus, values.argmin(axis=1)[:, None], axis=1)[:, 0]
    return np.asarray(best_of[some] if some.any() else best_of)


def _sizes(scenario: Scenario, limits: SizingLimits) -> np.ndarray:
    """A logarithmic grid of sizes, the job's own, and finer steps where a limit begins or ceases to bind."""
    low, high = range_gpus(scenario)
    sizes = np.geomspace(low, high, _SIZES)
    own = float(scenario.cluster.n_gpus)
    sizes = np.unique(np.append(sizes, own) if low <= own <= high else sizes)
    at, more = yields(scenario, sizes), [sizes]
    for name, limit in limits.given.items():
        keeps = _limited(at, name) <= limit
        for i in np.flatnonzero(keeps[1:] != keeps[:-1]):
            more.append(np.linspace(sizes[i], sizes[i + 1], _SIZES))
    return np.unique(np.concatenate(more))


def _whole(scenario: Scenario, ideal: float, column: str, limits: SizingLimits) -> int:
    """The best size near an ideal one that some layout divides; near the job's own, that too."""
    through = throughput_of(scenario)
    sizes, layouts = through.divisible_sizes(ideal)
    at = yields(scenario, sizes, layouts)
    kept = limits.kept(at)
    if not kept.any():
        raise InputError(f"no whole number of nodes and replicas near {ideal:,.0f} GPUs keeps all limits")
    return int(sizes[_least(at, column, kept)])


def _none_keeps(at: Yields, limits: SizingLimits) -> str:
    if not np.isfinite(at.days).any():
        return "no size ever ends: failures leave no time to train; take a lower failure rate or shorter recovery"
    reasons = []
    for name, limit in limits.given.items():
        unit, least = _LIMITED[name][1], float(_limited(at, name).min())
        if least > limit:
            reasons.append(f"{name} of {limit:,.6g} {unit} is below the least of all sizes, {least:,.4g} {unit}")
    return "no size keeps the limits: " + ("; ".join(reasons) or _apart(at, limits))


def _apart(at: Yields, limits: SizingLimits) -> str:
    """Each limit can be kept, but not all of them: say how far the last is off where the others are kept."""
    *others, last = limits.given
    kept = SizingLimits(**{name: limits.given[name] for name in others}).kept(at)
    if not kept.any():
        return "each can be kept, but not all together"
    least = float(_limited(at, last)[kept].min())
    which = f"{' and '.join(others)} {'is' if len(others) == 1 else 'are'}"
    text = f"each can be kept, but not all together: where {which} kept, {last} is"
    return f"{text} at least {least:,.4g} {_LIMITED[last][1]}, not {limits.given[last]:,.6g}"
