"""Root finding for the limit of a field that reaches a target ETTR, for many runs at once."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ettr.budget.intervals import AtBest, at_best, best_interval_min
from ettr.core.validity import plain
from ettr.plan.fields import Field
from ettr.scenario import Scenario

_VALUES, _ROUNDS = 33, 4
"""Values tried per round, between the last that reaches the target and the first that does not; and rounds."""
_ASIDE = 1.05
"""Factor by which the best interval may lie outside the best intervals at the ends of a bracket."""


@dataclass(frozen=True)
class Reach:
    """The limit of a field at each point.

    ``value`` is NaN where no value reaches the target, and infinite where every one does; ``best_ettr`` is the ETTR
    with the field at its ideal.
    """

    value: np.ndarray
    best_ettr: np.ndarray


def ettr_at_best(scenario: Scenario, at: Mapping[str, Any] | None = None) -> Any:
    """Return the ETTR at the best interval; 0 for a run that would never end.

    Parameters
    ----------
    scenario : Scenario
        The run.
    at : mapping, optional
        Array by dotted path (one of :func:`ettr.budget.swept`). An interval among them replaces the best one.

    Returns
    -------
    float or ndarray
        In [0, 1].

    Examples
    --------
    >>> run = Scenario.load("llama3-405b")
    >>> ettr_at_best(run, {"recovery.restart_min": [2.0, 10.0]}).round(3).tolist()
    [0.927, 0.883]
    """
    return plain(at_best(scenario, at).ettr)


def last_reaching(scenario: Scenario, field: Field, target: float, at: Mapping[str, Any]) -> Reach:
    """Return the last value, counted from the field's ideal, that reaches the target; ``at`` has arrays ``(n,)``."""
    return _Path(scenario, field, target, dict(at)).reach(field.steps())


def range_reaching(scenario: Scenario, interval: Field, target: float) -> tuple[float, Reach, Reach]:
    """Return the best interval, and the limits below and above it that reach the target."""
    peak, path = float(best_interval_min(scenario)), _Path(scenario, interval, target, {})
    return peak, path.reach(_between(peak, max(interval.low, 1e-9))), path.reach(_between(peak, interval.top))


def _between(start: float, end: float) -> np.ndarray:
    n = 2 + int(4 * abs(np.log10(end / start)))
    return np.geomspace(start, end, n) if end != start else np.array([start])


@dataclass(frozen=True)
class _Path:
    """The values of a field away from its best one, at the points of ``at``."""

    scenario: Scenario
    field: Field
    target: float
    at: dict[str, Any]

    def reach(self, steps: np.ndarray) -> Reach:
        """Return the limit along these steps."""
        n = max([1, *(np.size(values) for values in self.at.values())])
        tried = self._try(steps[:, None], self.at)
        surplus = np.broadcast_to(tried.ettr, (steps.size, n)) - self.target
        fails = surplus < 0
        if self.field.sense == "between":
            first = np.where(fails.any(axis=0), fails.argmax(axis=0), steps.size)
        else:  # after the last one that does: a small job may fail where a larger one with faster writes succeeds
            first = np.where(fails.all(axis=0), 0, steps.size - fails[::-1].argmin(axis=0))
        value = np.where(first == steps.size, steps[-1], np.nan)
        inside = (first > 0) & (first < steps.size)
        if inside.any():
            last = first[inside] - 1
            intervals = np.broadcast_to(tried.interval_min, surplus.shape)[:, inside]
            value[inside] = self._narrowed(inside, (steps[last], steps[last + 1]), _both(intervals, last))
        if np.isinf(self.field.high) and self.field.sense != "at least":
            value[value >= self.field.top] = np.inf
        best = surplus[0] if self.field.sense == "between" else surplus.max(axis=0)
        return Reach(value, best + self.target)

    def _narrowed(self, some: np.ndarray, ends: tuple[Any, Any], intervals: tuple[Any, Any]) -> np.ndarray:
        """Return the last value that reaches the target, between one that does and one that does not."""
        good, bad = ends
        at = {path: np.broadcast_to(values, some.shape)[some] for path, values in self.at.items()}
        shares = np.linspace(0.0, 1.0, _VALUES)[:, None]
        for _ in range(_ROUNDS):
            values = good + (bad - good) * shares
            within = np.minimum(*intervals) / _ASIDE, np.maximum(*intervals) * _ASIDE
            tried = self._try(values, at, within)
            fails = tried.ettr[1:-1] < self.target
            # the last value failed in the round before; rounding may let it pass now
            last = np.where(fails.any(axis=0), fails.argmax(axis=0), _VALUES - 2)
            good, bad = _both(values, last)
            intervals = _both(tried.interval_min, last)
        return np.asarray(good)

    def _try(self, values: np.ndarray, at: dict[str, Any], within: tuple[Any, Any] = (0.0, math.inf)) -> AtBest:
        return at_best(self.scenario, {self.field.path: values, **at}, within)


def _both(table: np.ndarray, row: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return each column's value in a row and in the next."""
    columns = np.arange(row.size)
    return table[row, columns], table[row + 1, columns]
