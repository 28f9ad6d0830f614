"""How far a saving may be off: across the plausible range of the assumed inputs, and of the effects."""

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
"""How many times weaker or stronger an effect may be, by the status of the least known change (assumed)."""
_DRAWS, _MOST, _FEWEST = 4096, 320, 32
"""Draws of the assumed inputs, how many are used of those that agree with what is known, and the fewest for a range."""
_NO_ANSWER = (InputError, NotModelled, OutsideValidity)


def strength_factor(entry: Mitigation) -> float:
    """How many times weaker or stronger a mitigation may plausibly act."""
    return FACTORS[mitigation.weakest_status(entry.changes) or "assumed"]


@dataclass(frozen=True, eq=False)
class Savings:
    """What a set of mitigations saves at draws of what is assumed, by the analytical model.

    Attributes
    ----------
    scenario : Scenario
        The run.
    ids : tuple of str
        The set.
    catalogue : Catalogue
        Where they stand.
    interval : {"best", "given"}
        Whether each run checkpoints at its best interval or at the scenario's own.
    seed : int
        Of the draws.

    Notes
    -----
    Each mitigation may save less or more than the model gives it, by a factor that is independent of the others and up
    to :func:`strength_factor` in either direction; of a set these factors are weighted by what each saves alone. No
    draw saves more than its run loses.
    """

    scenario: Scenario
    ids: tuple[str, ...]
    catalogue: Catalogue
    interval: Interval = "best"
    seed: int = 0

    @cached_property
    def share(self) -> float:
        """Share of the wall clock that is saved, with everything as assumed."""
        return float(1 - self._after[0][0] / self._before[0][0])

    @cached_property
    def shares(self) -> np.ndarray:
        """The same at each draw, over the wall clock of the run as assumed."""
        (before, ettr), (after, _) = self._before, self._after
        saved = np.minimum((before - after) * self._strengths, before * (1 - ettr))[1:] / before[0]
        return np.asarray(saved[np.isfinite(saved)])

    @cached_property
    def ettr_gain(self) -> float:
        """ETTR gained with everything as assumed."""
        return float(self._after[1][0] - self._before[1][0])

    @cached_property
    def ettr_gains(self) -> np.ndarray:
        """The same at each draw."""
        before, after = self._before[1], self._after[1]
        gained = np.minimum((after - before) * self._strengths, 1 - before)[1:]
        return np.asarray(gained[np.isfinite(gained)])

    @property
    def range(self) -> tuple[float, float] | None:
        """Shares of the wall clock that are plausibly saved; None without enough draws."""
        return None if self.shares.size < _FEWEST else ranges.range_of(self.shares, self.share)

    @cached_property
    def _plain(self) -> Scenario:
        """The run as the analytical model takes it."""
        plain = budget.simplified(budget.with_immediate_detection(self.scenario)).scenario
        return plain.override({"measured": self.scenario.measured})

    @cached_property
    def _bare(self) -> Scenario:
        """The same without the origins of its values, of which each change is quicker."""
        return self._plain.override({"evidence": {}}) if self._plain.evidence else self._plain

    @cached_property
    def _goal(self) -> Scenario:
        """The run with the set."""
        return mitigation.apply(self._bare, self.ids, self.catalogue)

    @cached_property
    def _at(self) -> Mapping[str, np.ndarray]:
        """Values of the assumed inputs by path, those of the run as assumed first."""
        drawn = dict(ranges.draws(self._plain, _DRAWS, self.seed).at)
        if self._goal.checkpoint.tiers:  # the analytical model has no slowdown beside faster tiers
            drawn.pop(SLOWDOWN, None)
        return {path: np.append(float(given_at(self._plain, path)), values[:_MOST]) for path, values in drawn.items()}

    @cached_property
    def _strengths(self) -> np.ndarray:
        """Factors of what the set saves: 1 first, and one a draw."""
        n = max((values.size for values in self._at.values()), default=1)
        alone = [self._saved_alone(name) for name in self.ids]
        factors = np.array([strength_factor(self.catalogue[name]) for name in self.ids])
        u = ranges.even_points(n, len(self.ids), self.seed + 1)
        drawn = factors ** (2 * u - 1) @ weights(alone)
        drawn[0] = 1.0
        return np.asarray(drawn)

    def _saved_alone(self, name: str) -> float:
        """Relative wall clock that a mitigation saves alone, with everything as assumed; 0 without an answer."""
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
        """The same with the set."""
        moved = {}
        for path, drawn in self._at.items():
            own, aim = given_at(self._bare, path), given_at(self._goal, path)
            if aim == own:
                moved[path] = drawn
            elif op := self._change_of(path):
                moved[path] = _changed(op, drawn, float(own), float(aim))
        return self._costs(self._goal, moved)

    def _change_of(self, path: str) -> str:
        """How the set changes a field; empty where it makes the section that holds it."""
        changes = (change for name in self.ids for change in self.catalogue[name].changes)
        return next((change.op for change in changes if change.path == path), "")

    def _costs(self, run: Scenario, at: Mapping[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """Relative wall clock of the work, and ETTR, at points; NaN without an answer."""
        plain = budget.simplified(run).scenario
        points = any_interval(plain, {path: values for path, values in at.items() if path in plain.swept})
        tau_h = best_h(points)[0] if self.interval == "best" else np.maximum(np.atleast_1d(points.tau), points.head)
        ettr = np.atleast_1d(quiet_budget(replace(points, tau=np.atleast_1d(tau_h))).ettr)
        n = max((values.size for values in at.values()), default=1)
        ettr = np.broadcast_to(ettr, n)
        work = plain.productive_h if plain.job.tokens is not None else 1.0
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(ettr > 0, work / (plain.speed * ettr), np.nan), ettr


def weights(alone: Sequence[float]) -> np.ndarray:
    """Return by how much the strength of each mitigation of a set counts: in proportion to what it saves alone.

    Examples
    --------
    >>> weights([3.0, 1.0, -1.0]).tolist(), weights([0.0, 0.0]).tolist()
    ([0.75, 0.25, 0.0], [0.5, 0.5])
    """
    saved = np.maximum(alone, 0.0)
    return np.asarray(saved / saved.sum() if saved.any() else np.full(saved.size, 1 / saved.size))


def _changed(op: str, drawn: np.ndarray, own: float, aim: float) -> np.ndarray:
    """Other values of a field, changed as the mitigation changes its own to its aim."""
    if op == "scale":
        return np.asarray(drawn * (aim / own))
    if op == "add":
        return np.asarray(drawn + (aim - own))
    if op == "cap":
        return np.asarray(np.minimum(drawn, aim))
    return np.asarray(np.maximum(drawn, aim) if op == "floor" else np.full_like(drawn, aim))


def savings(
    scenario: Scenario,
    ids: Iterable[str],
    of: Catalogue | None = None,
    interval: Interval = "best",
    seed: Seed = 0,
) -> Savings | None:
    """Return what a set of mitigations plausibly saves; None where the analytical model has no answer.

    Parameters
    ----------
    scenario : Scenario
        The run.
    ids : iterable of str
        The set.
    of : Catalogue, optional
        Where they stand; the project's own if not given.
    interval, seed
        As of :class:`Savings`.

    Examples
    --------
    >>> found = savings(Scenario.load("llama3-405b"), ["peer-checkpoint"])
    >>> low, high = found.range
    >>> low < found.share < high
    True
    """
    found = Savings(scenario, tuple(ids), of or mitigation.catalogue(), interval, seed_of(seed))
    try:
        return found if found.shares.size >= _FEWEST else None
    except _NO_ANSWER:
        return None
