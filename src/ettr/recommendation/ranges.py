"""Plausible ranges of savings, across the ranges of the assumed inputs and of the effects."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from ettr import budget, mitigation, ranges
from ettr.budget.closed_forms import quiet_budget
from ettr.budget.intervals import any_interval, best_h
from ettr.core.errors import InputError, NotModelled, OutsideValidity
from ettr.core.seeds import Seed, seed_of
from ettr.mitigation import Catalogue, Mitigation
from ettr.scenario import Scenario
from ettr.scenario.fields import given_at
from ettr.scenario.paths import SLOWDOWN

if TYPE_CHECKING:
    from ettr.recommendation.measures import Interval

FACTORS = MappingProxyType({"assumed": 2.0, "secondary": 1.5, "derived": 1.25, "primary": 1.25})
"""Factor by which an effect may be weaker or stronger, by the status of its least certain change (assumed)."""
_DRAWS, _MOST, _FEWEST = 4096, 320, 32
"""Draws of the assumed inputs, the number used of those that agree with a measured ETTR, and the fewest for a range."""
_NO_ANSWER = (InputError, NotModelled, OutsideValidity)


def strength_factor(entry: Mitigation) -> float:
    """Return the factor by which a mitigation may plausibly act weaker or stronger."""
    return FACTORS[mitigation.weakest_status(entry.changes) or "assumed"]


@dataclass(frozen=True, eq=False)
class Savings:
    """The saving of a set of mitigations at draws of the assumed inputs, by the analytical model.

    Attributes
    ----------
    scenario : Scenario
        The run.
    ids : tuple of str
        Ids of the set.
    catalogue : Catalogue
        Catalogue of mitigations.
    interval : {"best", "given"}
        Whether each run checkpoints at its best or at its current interval.
    seed : int
        Seed of the draws.

    Notes
    -----
    Each mitigation may save less or more than the model calculates, by an independent factor of up to
    :func:`strength_factor` in either direction. For a set these factors are weighted by the saving of each mitigation
    alone. No draw saves more than its run loses.

    Examples
    --------
    >>> saved = Savings(Scenario.load("llama3-405b"), ("peer-checkpoint",), mitigation.catalogue())
    >>> saved.range[0] < saved.share < saved.range[1]
    True
    """

    scenario: Scenario
    ids: tuple[str, ...]
    catalogue: Catalogue
    interval: Interval = "best"
    seed: int = 0

    @cached_property
    def share(self) -> float:
        """Saved share of the wall clock at the assumed values."""
        return float(1 - self._after[0][0] / self._before[0][0])

    @cached_property
    def shares(self) -> np.ndarray:
        """Saved share at each draw, relative to the wall clock at the assumed values."""
        (before, ettr), (after, _) = self._before, self._after
        saved = np.minimum((before - after) * self._strengths, before * (1 - ettr))[1:] / before[0]
        return np.asarray(saved[np.isfinite(saved)])

    @cached_property
    def ettr_gain(self) -> float:
        """Gain of ETTR at the assumed values."""
        return float(self._after[1][0] - self._before[1][0])

    @cached_property
    def ettr_gains(self) -> np.ndarray:
        """Gain of ETTR at each draw."""
        before, after = self._before[1], self._after[1]
        gained = np.minimum((after - before) * self._strengths, 1 - before)[1:]
        return np.asarray(gained[np.isfinite(gained)])

    @property
    def range(self) -> tuple[float, float] | None:
        """Plausible range of the saved share of the wall clock; None without enough draws."""
        return None if self.shares.size < _FEWEST else ranges.range_of(self.shares, self.share)

    @cached_property
    def _covered(self) -> Scenario:
        """The run as far as the analytical model covers it."""
        covered = budget.simplified(budget.with_immediate_detection(self.scenario)).scenario
        return covered.override({"measured": self.scenario.measured})

    @cached_property
    def _bare(self) -> Scenario:
        """The covered run without the origins of its values, which makes changes faster."""
        return self._covered.override({"evidence": {}}) if self._covered.evidence else self._covered

    @cached_property
    def _goal(self) -> Scenario:
        """The run with the set."""
        return mitigation.apply(self._bare, self.ids, self.catalogue)

    @cached_property
    def _at(self) -> Mapping[str, np.ndarray]:
        """Values of the assumed inputs by path, the assumed value first, then the draws."""
        drawn = dict(ranges.draws(self._covered, _DRAWS, self.seed).at)
        if self._goal.checkpoint.tiers:  # the analytical model has no slowdown beside faster tiers
            drawn.pop(SLOWDOWN, None)
        return {path: np.append(float(given_at(self._covered, path)), values[:_MOST]) for path, values in drawn.items()}

    @cached_property
    def _strengths(self) -> np.ndarray:
        """Factors on the saving of the set: 1 first, then one per draw."""
        n = max((values.size for values in self._at.values()), default=1)
        alone = [self._saved_alone(name) for name in self.ids]
        factors = np.array([strength_factor(self.catalogue[name]) for name in self.ids])
        u = ranges.even_points(n, len(self.ids), self.seed + 1)
        drawn = factors ** (2 * u - 1) @ weights(alone)
        drawn[0] = 1.0
        return np.asarray(drawn)

    def _saved_alone(self, name: str) -> float:
        """Return the relative wall clock saved by a mitigation alone, at the assumed values; 0 without an answer."""
        try:
            changed = mitigation.apply(self._bare, name, self.catalogue)
            return float(self._costs(self._bare, {})[0][0] - self._costs(changed, {})[0][0])
        except _NO_ANSWER:
            return 0.0

    @cached_property
    def _before(self) -> tuple[np.ndarray, np.ndarray]:
        """Relative wall clock and ETTR without the set, at each draw."""
        return self._costs(self._bare, self._at)

    @cached_property
    def _after(self) -> tuple[np.ndarray, np.ndarray]:
        """Relative wall clock and ETTR with the set, at each draw."""
        moved = {}
        for path, drawn in self._at.items():
            before, after = given_at(self._bare, path), given_at(self._goal, path)
            if after == before:
                moved[path] = drawn
            elif op := self._change_of(path):
                moved[path] = _changed(op, drawn, float(before), float(after))
        return self._costs(self._goal, moved)

    def _change_of(self, path: str) -> str:
        """Return the operation by which the set changes a field; empty where it creates the section."""
        changes = (change for name in self.ids for change in self.catalogue[name].changes)
        return next((change.op for change in changes if change.path == path), "")

    def _costs(self, run: Scenario, at: Mapping[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """Return the relative wall clock of the work, and the ETTR, at points; NaN without an answer."""
        covered = budget.simplified(run).scenario
        points = any_interval(covered, {path: values for path, values in at.items() if path in covered.swept})
        tau_h = best_h(points)[0] if self.interval == "best" else np.maximum(np.atleast_1d(points.tau), points.head)
        ettr = np.atleast_1d(quiet_budget(replace(points, tau=np.atleast_1d(tau_h))).ettr)
        n = max((values.size for values in at.values()), default=1)
        ettr = np.broadcast_to(ettr, n)
        work = covered.productive_h if covered.job.tokens is not None else 1.0
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(ettr > 0, work / (covered.speed * ettr), np.nan), ettr


def weights(alone: Sequence[float]) -> np.ndarray:
    """Return the weight of each mitigation of a set, in proportion to its saving alone.

    Examples
    --------
    >>> weights([3.0, 1.0, -1.0]).tolist(), weights([0.0, 0.0]).tolist()
    ([0.75, 0.25, 0.0], [0.5, 0.5])
    """
    saved = np.maximum(alone, 0.0)
    return np.asarray(saved / saved.sum() if saved.any() else np.full(saved.size, 1 / saved.size))


def _changed(op: str, drawn: np.ndarray, before: float, after: float) -> np.ndarray:
    """Return drawn values of a field, changed in the way that the mitigation changes ``before`` into ``after``."""
    if op == "scale":
        return np.asarray(drawn * (after / before))
    if op == "add":
        return np.asarray(drawn + (after - before))
    if op == "cap":
        return np.asarray(np.minimum(drawn, after))
    return np.asarray(np.maximum(drawn, after) if op == "floor" else np.full_like(drawn, after))


def savings(
    scenario: Scenario,
    ids: Iterable[str],
    of: Catalogue | None = None,
    interval: Interval = "best",
    seed: Seed = 0,
) -> Savings | None:
    """Return the plausible savings of a set of mitigations; None where the analytical model has no answer.

    Parameters
    ----------
    scenario : Scenario
        The run.
    ids : iterable of str
        Ids of the set.
    of : Catalogue, optional
        Catalogue of mitigations; that of the project by default.
    interval, seed
        As in :class:`Savings`.

    Examples
    --------
    >>> saved = savings(Scenario.load("llama3-405b"), ["peer-checkpoint"])
    >>> low, high = saved.range
    >>> low < saved.share < high
    True
    """
    saved = Savings(scenario, tuple(ids), of or mitigation.catalogue(), interval, seed_of(seed))
    try:
        return saved if saved.shares.size >= _FEWEST else None
    except _NO_ANSWER:
        return None
