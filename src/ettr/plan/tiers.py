"""Jointly optimal checkpoint intervals of all tiers."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from ettr.budget.closed_forms import quiet_budget
from ettr.budget.intervals import longest_h, without_ends
from ettr.budget.search import lowest
from ettr.core.errors import OutsideValidity
from ettr.core.units import MIN_PER_H, ROUNDING, S_PER_H
from ettr.core.validity import ENDS
from ettr.scenario import JobInHours, Scenario
from ettr.scenario.job_in_hours import SHORTEST_MIN

_SWEEPS = 40
_SETTLED = 1e-7
_HAIR = 1 + ROUNDING
"""Factor that keeps an interval above its write time in spite of rounding."""


@dataclass(frozen=True)
class TierPlan:
    """One checkpoint tier of a run, or the store.

    Attributes
    ----------
    name : str
        Name of the tier; ``store`` for the store.
    survives : float
        Share of all failures that its checkpoints survive.
    interval_s : float
        Current interval. [s]
    best_interval_s : float
        Interval in the jointly optimal set. [s]
    """

    name: str
    survives: float
    interval_s: float
    best_interval_s: float


def tier_plans(scenario: Scenario, run: JobInHours, best_h: np.ndarray) -> tuple[TierPlan, ...]:
    """Return the tiers of a run, fastest first and the store last; ``best_h`` comes from :func:`best_tiers_h`."""
    names = [*(tier.name for tier in scenario.checkpoint.tiers), "store"]
    survives = np.cumsum(run.severity)
    rows = zip(names, survives, run.taus, best_h, strict=True)
    return tuple(
        TierPlan(name, float(share), float(current_h * S_PER_H), float(tier_best_h * S_PER_H))
        for name, share, current_h, tier_best_h in rows
    )


def best_tiers_h(run: JobInHours) -> np.ndarray:
    """Return the intervals of all tiers that together give the highest steady-state ETTR, the store last. [h]

    Each is an integer multiple of the one before.

    Raises
    ------
    OutsideValidity
        The run would practically never end.

    Notes
    -----
    Coordinate descent on the exact cost: each interval in turn between its neighbours, and each ratio of two
    neighbours together with all slower intervals. Then every combination of ratios rounded down and up is tried, with
    the fastest interval solved for again, and the best is returned. Maintenance and the start are ignored.
    """
    search = _Search(run)
    return search.with_integer_ratios(search.descend(search.current_h()))


class _Search:
    """Search over the intervals of the tiers in hours, fastest first, the store last."""

    def __init__(self, run: JobInHours) -> None:
        self.steady = without_ends(run)
        self.shortest_h = np.maximum(run.writes, SHORTEST_MIN / MIN_PER_H) * _HAIR
        self.longest_h = float(longest_h(run))

    def current_h(self) -> np.ndarray:
        """Return the current intervals, moved into the valid range."""
        increasing_h = np.maximum.accumulate(np.maximum(self.steady.taus, self.shortest_h))
        return np.minimum(increasing_h, self.longest_h)

    def cost(self, tau_h: np.ndarray) -> np.ndarray:
        """Return wall-clock over productive hours, tiers on the last axis."""
        return np.asarray(1 / quiet_budget(self.steady.with_intervals(tuple(np.moveaxis(tau_h, -1, 0)))).ettr)

    def descend(self, tau_h: np.ndarray) -> np.ndarray:
        """Minimise the cost along one interval at a time, or along all from one tier on together."""
        n = tau_h.size
        directions = [np.arange(n) == i for i in range(n)] + [np.arange(n) >= i for i in range(n - 1)]
        for _ in range(_SWEEPS):
            before = tau_h
            for moves in directions:
                tau_h = self._along(tau_h, moves)
            if np.max(np.abs(np.log(tau_h / before))) < _SETTLED:
                break
        return tau_h

    def _along(self, tau_h: np.ndarray, moves: np.ndarray) -> np.ndarray:
        """Scale some intervals by the factor with the lowest cost."""
        first, last = np.flatnonzero(moves)[[0, -1]]
        smallest = np.max(self.shortest_h[moves] / tau_h[moves])
        if first > 0:
            smallest = max(smallest, tau_h[first - 1] / tau_h[first])
        largest = (tau_h[last + 1] if last + 1 < tau_h.size else self.longest_h) / tau_h[last]
        if largest <= smallest:
            return tau_h

        def scaled(factor: np.ndarray) -> np.ndarray:
            return np.where(moves, tau_h * factor[..., None], tau_h)

        ends = np.array([smallest]), np.array([largest])
        factor = lowest(lambda factors: self.cost(scaled(factors)), *ends)
        better = self.cost(scaled(factor))[0] <= self.cost(tau_h[None])[0]
        return np.asarray(scaled(factor)[0] if better else tau_h)

    def with_integer_ratios(self, tau_h: np.ndarray) -> np.ndarray:
        """Return the best intervals whose ratios are the integers next to these."""
        ratios = tau_h[1:] / tau_h[:-1]
        near = [sorted({max(1.0, np.floor(ratio)), np.ceil(ratio)}) for ratio in ratios]
        chosen = np.array(list(itertools.product(*near)))
        multiples = np.concatenate([np.ones((len(chosen), 1)), np.cumprod(chosen, axis=1)], axis=1)
        smallest = np.max(self.shortest_h / multiples, axis=1)
        largest = np.maximum(self.longest_h / multiples[:, -1], smallest)
        fastest = lowest(lambda first: self.cost(first[..., None] * multiples), smallest, largest)
        intervals_h = fastest[:, None] * multiples
        cost = self.cost(intervals_h)
        if np.isnan(cost).all():
            raise OutsideValidity(f"the jointly best intervals of all tiers are defined only for {ENDS}")
        return np.asarray(intervals_h[np.nanargmin(cost)])
