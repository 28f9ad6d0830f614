"""Scenario quantities for formulas and the simulator: numbers or arrays, with all times in hours."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Self

import numpy as np

from ettr.checkpoint.intervals import daly_interval, exact_interval, young_interval
from ettr.checkpoint.waiting import mean_until
from ettr.core.errors import NotModelled
from ettr.core.units import LAST_DIGITS, MIN_PER_H
from ettr.core.validity import plain
from ettr.scenario.bounds import of_unit

SHORTEST_MIN = 1 / 60
"""Shortest interval: one second, even if a checkpoint is free."""
LONGEST_MIN = of_unit("checkpoint.interval_min")[1]
_HAIR = 1 + LAST_DIGITS
"""Factor above a limit, so that rounding does not put an interval below it."""


@dataclass(frozen=True, eq=False)
class _Numbers:
    """A record of floats and arrays that broadcast against each other."""

    def arrays(self) -> Iterator[np.ndarray]:
        """Yield all arrays."""
        yield from _arrays(self)

    @functools.cached_property
    def shape(self) -> tuple[int, ...]:
        """Shape that the arrays broadcast to; () for floats alone."""
        return np.broadcast_shapes(*{array.shape for array in self.arrays()})

    def map(self, function: Callable[[np.ndarray], Any]) -> Self:
        """Return the record with a function applied to each array."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        changed = {name: _mapped(value, function) for name, value in values.items()}
        return replace(self, **{name: value for name, value in changed.items() if value is not values[name]})


def _arrays(value: Any) -> Iterator[np.ndarray]:
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, tuple):
        for item in value:
            yield from _arrays(item)
    elif isinstance(value, _Numbers):
        for field in fields(value):
            yield from _arrays(getattr(value, field.name))


def _mapped(value: Any, function: Callable[[np.ndarray], Any]) -> Any:
    if isinstance(value, np.ndarray):
        return function(value) if value.ndim else value
    if isinstance(value, tuple):
        items = tuple(_mapped(item, function) for item in value)
        return value if all(new is old for new, old in zip(items, value, strict=True)) else items
    return value.map(function) if isinstance(value, _Numbers) else value


@dataclass(frozen=True, eq=False)
class ModesInHours:
    """Failure modes on the first axis, ``other`` last; modes without their own time have the general one.

    ``restart`` excludes loading. ``latency`` is NaN for detected failures, ``repair`` for nodes with the general repair
    stages. ``n_out`` is the number of nodes that leave the job.
    """

    weight: np.ndarray
    detection: np.ndarray
    restart: np.ndarray
    latency: np.ndarray
    repair: np.ndarray
    n_out: np.ndarray

    @property
    def latencies(self) -> np.ndarray:
        """Distinct latencies of the silent modes that occur. [h]"""
        return np.unique(self.latency[(self.weight > 0) & ~np.isnan(self.latency)])


@dataclass(frozen=True, eq=False)
class RestartInHours(_Numbers):
    """A restart time of modes without loading, and the share of failures with it."""

    share: Any
    restart: Any


@dataclass(frozen=True, eq=False)
class TierInHours(_Numbers):
    """A faster tier; ``kept`` is the share of all failures that it survives, by restart time as in ``restarts``."""

    tau: Any
    stall: Any
    persist: Any
    load: Any
    kept: tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class PredictionInHours(_Numbers):
    """Quality and cost of failure predictions; ``recall`` is 0 if their lead time is too short."""

    recall: Any
    precision: Any
    action: Any


@dataclass(frozen=True)
class AgeingInHours:
    """Change of the failure rate: burn-in of the fleet, or Weibull lifetimes of nodes.

    ``long_run`` is the long-run rate relative to the stated one, which may have been counted on new nodes.
    """

    factor: float
    decay: float
    age: float
    shape: float
    starts_new: bool
    long_run: float

    @property
    def changes(self) -> bool:
        """True if the failure rate changes during the job."""
        return self.factor != 1 or (self.starts_new and self.shape != 1)


@dataclass(frozen=True, eq=False)
class JobInHours(_Numbers):
    """A scenario in hours; fields are floats or arrays that broadcast, with symbols as on the methods page.

    Quantities that depend on the failure rate or on an interval are derived, so that ``dataclasses.replace`` gives the
    same run with another rate or interval. ``detection`` and ``queue`` are means over all failures, including the wait
    for a person; ``first_queue`` excludes it. ``restart`` is the general restart time, ``restarts`` are those of
    failures; each start adds ``load``. ``latency`` is the mean over all failures, ``silent`` the share of silent ones.
    ``tiers`` are the faster tiers. Analytical models use the fields up to ``person``, the simulator every field; a time
    is 0 for a missing stage, and ``retire_window`` is infinite without one.

    Examples
    --------
    >>> from ettr import Scenario
    >>> job = Scenario.load("llama3-405b").in_hours()
    >>> round(float(job.mttf), 2), round(60 * float(job.stall), 3)
    (3.05, 0.167)
    """

    n_nodes: Any
    work: Any
    tau: Any
    stall: Any
    persist: Any
    slowdown: Any
    load: Any
    rate: Any
    detection: Any
    queue: Any
    first_queue: Any
    restart: Any
    restarts: tuple[RestartInHours, ...]
    stops_per_h: Any
    stop: Any
    silent: float
    latency: float
    include_start: bool
    tiers: tuple[TierInHours, ...]
    prediction: PredictionInHours | None
    modes: ModesInHours
    ageing: AgeingInHours | None
    person_share: float
    person: float
    false_alarms_per_h: float
    preempt: float
    select: float
    retire_window: float

    @property
    def mttf(self) -> Any:
        """Mean time to failure of the job; infinite without failures. [h]"""
        with np.errstate(divide="ignore", over="ignore"):
            return 1 / np.asarray(self.rate, dtype=float)

    @property
    def cycle(self) -> Any:
        """Wall clock of a cycle without failure, L = τ + w + s p. [h]"""
        return self.tau + self.stall + self.slowdown * self.persist

    @property
    def head(self) -> Any:
        """Training done while a background write lasts, (1 - s) p. [h]"""
        return (1 - self.slowdown) * self.persist

    @property
    def downtime(self) -> Any:
        """Detection and queue of a failure, D. [h]"""
        return self.detection + self.queue

    @property
    def start(self) -> Any:
        """Restart and load of a planned start, from the store. [h]"""
        return self.restart + self.load

    @property
    def restart_after(self) -> Any:
        """Mean restart and load time after a failure if no other one occurs, from the store. [h]"""
        return sum(group.share * group.restart for group in self.restarts) + self.load

    @property
    def recovery(self) -> Any:
        """Mean time from a failure to the next training if none strikes meanwhile, from the store. [h]"""
        return self.downtime + self.restart_after

    @functools.cached_property
    def survive_restart(self) -> Any:
        """Probability that none strikes in the restart and load after a failure, from the store."""
        return sum(group.share * self.survives_restart(group.restart, self.load) for group in self.restarts)

    @functools.cached_property
    def cut_restart(self) -> Any:
        """Complement of the survival probability, computed without cancellation."""
        return sum(-group.share * np.expm1(-self.rate * (group.restart + self.load)) for group in self.restarts)

    def survives_restart(self, restart_h: Any, load_h: Any) -> Any:
        """Return the probability that no failure occurs during a restart with its load."""
        return np.exp(-self.rate * (restart_h + load_h))

    def until_struck_h(self, restart_h: Any, load_h: Any) -> Any:
        """Return the mean time in such a restart until a failure or its end, whichever is first. [h]"""
        return mean_until(self.rate, restart_h + load_h)

    @property
    def planned_restart_h(self) -> Any:
        """Mean time in a planned restart until a failure strikes or it is done, whichever is first. [h]"""
        return self.until_struck_h(self.restart, self.load)

    @property
    def taus(self) -> tuple[Any, ...]:
        """Interval of each tier, fastest first and the store last. [h]"""
        return (*(tier.tau for tier in self.tiers), self.tau)

    @property
    def stalls(self) -> tuple[Any, ...]:
        """Stall of each tier, the store last. [h]"""
        return (*(tier.stall for tier in self.tiers), self.stall)

    @property
    def writes(self) -> tuple[Any, ...]:
        """Background write of each tier, the store last. [h]"""
        return (*(tier.persist for tier in self.tiers), self.persist)

    @property
    def loads(self) -> tuple[Any, ...]:
        """Loading from each tier, the store last. [h]"""
        return (*(tier.load for tier in self.tiers), self.load)

    @property
    def severity(self) -> tuple[Any, ...]:
        """Probability that a tier is the fastest one that survives a failure, the store last."""
        kept = [0.0, *(sum(tier.kept) for tier in self.tiers), sum(group.share for group in self.restarts)]
        return tuple(more - less for less, more in itertools.pairwise(kept))

    @property
    def has_interval_rule(self) -> bool:
        """True if the best interval follows from a formula: with the store alone and failures all silent or all
        detected.
        """
        alike = self.silent == 0 or self.silent > 1 - LAST_DIGITS
        return alike and not self.tiers and self.prediction is None

    @property
    def interval_ends(self) -> tuple[np.ndarray, np.ndarray]:
        """Shortest and longest reasonable interval, at each point. [h]"""
        low = np.maximum(np.asarray(self.head) * _HAIR, SHORTEST_MIN / MIN_PER_H)
        if self.tiers:
            low = np.maximum(low, np.asarray(self.tiers[-1].tau) * _HAIR)
        with np.errstate(divide="ignore"):
            high = np.minimum(self.work, 0.5 / np.asarray(self.stops_per_h, dtype=float))
        low = np.minimum(low, LONGEST_MIN / MIN_PER_H)
        high = np.clip(high, low, LONGEST_MIN / MIN_PER_H)
        return np.broadcast_to(low, self.shape), np.broadcast_to(high, self.shape)

    def interval_by(self, rule: str) -> Any:
        """Return the interval of a rule, within :attr:`interval_ends`. [h]

        Raises
        ------
        NotModelled
            There is no formula with faster tiers, predictions, or a mix of silent and detected failures.
        """
        if not self.has_interval_rule:
            beside = (
                "tiers" if self.tiers else "prediction" if self.prediction else "a mix of silent and detected failures"
            )
            instead = "such as those of `ettr plan`" if rule == "best" else "or best, which a plan computes"
            raise NotModelled(f"checkpoint.interval_min: {rule} has no formula for {beside}; enter minutes, {instead}")
        rules = {
            "best": lambda: exact_interval(self.stall, self.mttf, self.persist, self.slowdown),
            "young": lambda: young_interval(self.stall, self.mttf),
            "daly": lambda: daly_interval(self.stall, self.mttf),
        }
        return plain(np.clip(rules[rule](), *self.interval_ends))

    @property
    def kind(self) -> tuple[Any, ...]:
        """What the formulas of a run depend on besides its numbers; equal for runs that :func:`stacked` takes."""
        has_stops = bool(np.any(np.asarray(self.stops_per_h) > 0))
        parts = len(self.tiers), len(self.restarts), self.prediction is None
        return *parts, self.silent, self.include_start, has_stops

    def with_intervals(self, taus: tuple[Any, ...]) -> JobInHours:
        """Return the job with other intervals of all tiers, the store last. [h]"""
        tiers = tuple(replace(tier, tau=tau) for tier, tau in zip(self.tiers, taus[:-1], strict=True))
        return replace(self, tiers=tiers, tau=taus[-1])

    def at_points(self, where: Any) -> JobInHours:
        """Return the job at some points, selected by an index into arrays of its :attr:`shape`."""
        shape = self.shape
        return self.map(lambda array: np.broadcast_to(array, shape)[where])


def stacked(runs: Sequence[JobInHours]) -> JobInHours:
    """Return runs of one kind as one run, for the analytical models: its arrays have a point per run.

    Numbers that all runs share stay single numbers.
    """
    run: JobInHours = _stacked(runs)
    return run


def _stacked(values: Sequence[Any]) -> Any:
    first = values[0]
    if isinstance(first, _Numbers):
        parts = {field.name: _stacked([getattr(value, field.name) for value in values]) for field in fields(first)}
        return replace(first, **parts)
    if isinstance(first, tuple):
        return tuple(_stacked(items) for items in zip(*values, strict=True))
    if not isinstance(first, (int, float, np.ndarray, np.generic)) or all(value == first for value in values):
        return first
    return np.array(values, dtype=float)
