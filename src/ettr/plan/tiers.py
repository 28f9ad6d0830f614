"""The intervals of all tiers together."""

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
"""Above a write by this much, so that rounding does not put an interval below it."""


@dataclass(frozen=True)
class TierPlan:
    """One tier of a run, the store among them.

    Attributes
    ----------
    name : str
        Its name; ``store`` for the store.
    survives : float
        Share of all failures that it survives.
    interval_s : float
        Its own interval. [s]
    best_interval_s : float
        Its interval in the best of all together. [s]
    """

    name: str
    survives: float
    interval_s: float
    best_interval_s: float


def tier_plans(scenario: Scenario, run: JobInHours, best_h: np.ndarray) -> tuple[TierPlan, ...]:
    """Each tier of a run, fastest first and the store last; ``best_h`` is that of :func:`best_tiers_h`."""
    names = [*(tier.name for tier in scenario.checkpoint.tiers), "store"]
    survives = np.cumsum(run.severity)
    rows = zip(names, survives, run.taus, best_h, strict=True)
    return tuple(
        TierPlan(name, float(share), float(own * S_PER_H), float(best * S_PER_H)) for name, share, own, best in rows
    )


def best_tiers_h(run: JobInHours) -> np.ndarray:
    """Return the intervals of all tiers that together give the highest steady-state ETTR, the store last. [h]

    Each is a whole multiple of the one before.

    Raises
    ------
    OutsideValidity
        The run would practically never end.

    Notes
    -----
    Coordinate descent on the exact cost: in turn each interval between its neighbours, and each ratio of two
    neighbours with all that are slower. Then the ratios are rounded, both ways each, and the fastest interval is
    solved for again; the best of these is taken. Maintenance and the start do not enter.
    """
    search = _Search(run)
    return search.with_whole_ratios(search.descend(search.given_h()))


class _Search:
    """Intervals of the tiers in hours, fastest first, the store last."""

    def __init__(self, run: JobInHours) -> None:
        self.steady = without_ends(run)
        self.least_h = np.maximum(run.writes, SHORTEST_MIN / MIN_PER_H) * _HAIR
        self.longest_h = float(longest_h(run))

    def given_h(self) -> np.ndarray:
        """The scenario's own intervals, as far as they may stay."""
        own = np.maximum.accumulate(np.maximum(self.steady.taus, self.least_h))
        return np.minimum(own, self.longest_h)

    def cost(self, tau_h: np.ndarray) -> np.ndarray:
        """Wall clock over productive hours, tiers on the last axis."""
        return np.asarray(1 / quiet_budget(self.steady.with_intervals(tuple(np.moveaxis(tau_h, -1, 0)))).ettr)

    def descend(self, tau_h: np.ndarray) -> np.ndarray:
        """One interval, or all from one on together, at a time."""
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
        """Scale some intervals by the factor that costs least."""
        first, last = np.flatnonzero(moves)[[0, -1]]
        least = np.max(self.least_h[moves] / tau_h[moves])
        if first > 0:
            least = max(least, tau_h[first - 1] / tau_h[first])
        most = (tau_h[last + 1] if last + 1 < tau_h.size else self.longest_h) / tau_h[last]
        if most <= least:
            return tau_h

        def scaled(factor: np.ndarray) -> np.ndarray:
            return np.where(moves, tau_h * factor[..., None], tau_h)

        ends = np.array([least]), np.array([most])
        factor = lowest(lambda factors: self.cost(scaled(factors)), *ends)
        better = self.cost(scaled(factor))[0] <= self.cost(tau_h[None])[0]
        return np.asarray(scaled(factor)[0] if better else tau_h)

    def with_whole_ratios(self, tau_h: np.ndarray) -> np.ndarray:
        """The best intervals whose ratios are whole numbers next to these."""
        ratios = tau_h[1:] / tau_h[:-1]
        near = [sorted({max(1.0, np.floor(ratio)), np.ceil(ratio)}) for ratio in ratios]
        chosen = np.array(list(itertools.product(*near)))
        multiples = np.concatenate([np.ones((len(chosen), 1)), np.cumprod(chosen, axis=1)], axis=1)
        least = np.max(self.least_h / multiples, axis=1)
        most = np.maximum(self.longest_h / multiples[:, -1], least)
        fastest = lowest(lambda first: self.cost(first[..., None] * multiples), least, most)
        intervals_h = fastest[:, None] * multiples
        cost = self.cost(intervals_h)
        if np.isnan(cost).all():
            raise OutsideValidity(f"the best intervals of all tiers hold only for {ENDS}")
        return np.asarray(intervals_h[np.nanargmin(cost)])
