"""A run with one kind of checkpoint: a product of stages, with maintenance between them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ettr.budget.training import stages_of
from ettr.budget.transforms.recoveries import Exposure, Kind, kinds_of, loss, planned_restart, widened
from ettr.core.units import ROUNDING
from ettr.scenario import JobInHours

Of = Callable[[Exposure], Any]
Square = tuple[Any, Any, Any, Any]
"""A matrix of two rows: from one durable checkpoint to the next, by whether a request for maintenance waits."""


@dataclass(frozen=True)
class Quiet:
    """What a run does if nothing strikes: probability, and hours. [1, h]"""

    probability: Any
    hours: Any


def log_stage(at: Exposure, g: Any, first_h: Any, again_h: Any) -> Any:
    r"""Logarithm of the transform of a stage.

    With :math:`E(y) = e^{(\lambda+s)y} - 1` it is :math:`(1 + gE(B-x))/(1 + gE(B))`, for x hours at the first try and
    B after a recovery.
    """
    return np.log1p(g * np.expm1(at.ends * (again_h - first_h))) - np.log1p(g * np.expm1(at.ends * again_h))


def log_cycle(run: JobInHours, kinds: list[Kind], at: Exposure) -> Any:
    """Logarithm of the transform of one checkpoint cycle in the long run."""
    of_stage = _stages_at(run, kinds)
    again_h = run.tau + run.stall + run.persist
    if not np.any(run.stops_per_h):
        return of_stage(at, run.cycle, again_h)[0]
    return log_larger(_served(run, of_stage, run.cycle, again_h)(at))


def log_larger(step: Square) -> Any:
    """Logarithm of the larger eigenvalue: what a step comes to in the long run."""
    trace, product = step[0] + step[3], step[0] * step[3] - step[1] * step[2]
    root = np.sqrt(trace * trace - 4 * product)
    larger = np.where(np.abs(trace + root) >= np.abs(trace - root), trace + root, trace - root)
    return np.log(larger / 2)


def whole(run: JobInHours, starts: bool) -> Of:
    """Transform of a run from submission to its end, or of its steady state."""
    kinds, run = kinds_of(run), widened(run)
    return _finite(run, kinds, starts) if run.include_start else _steady(run, kinds)


def quiet(run: JobInHours, starts: bool) -> Quiet:
    """A run in which nothing strikes and nothing is asked for."""
    if not run.include_start:
        n = run.work / run.tau
        whole_n = np.ceil(n - ROUNDING)
        asked_h = run.persist + (whole_n - 1) * run.cycle
        return Quiet(np.exp(-run.rate * whole_n * run.cycle - run.stops_per_h * asked_h), n * run.cycle)
    of = stages_of(run)
    start_h = run.start if starts else 0.0
    queue_h = run.first_queue if starts else 0.0
    to_last_h = start_h + of.first_h + of.n_middle * run.cycle
    end_h = to_last_h + np.where(of.only_stage, 0.0, of.last_first_h)
    asked_h = np.where(of.only_stage, 0.0, queue_h + to_last_h)
    chance = np.exp(-run.rate * end_h - run.stops_per_h * asked_h)
    return Quiet(chance * (run.restart_cv == 0 or not starts), queue_h + end_h)


def _stages_at(run: JobInHours, kinds: list[Kind]) -> Callable[..., tuple[Any, Any]]:
    def of_stage(at: Exposure, first_h: Any, again_h: Any) -> tuple[Any, Any]:
        """Logarithm of a stage, and the loss of a failure there."""
        g = loss(run, kinds, at)
        return log_stage(at, g, first_h, again_h), g

    return of_stage


def _finite(run: JobInHours, kinds: list[Kind], starts: bool) -> Of:
    of, asked = stages_of(run), np.any(run.stops_per_h)

    def first(at: Exposure) -> Any:
        g = loss(run, kinds, at)
        begun = planned_restart(run, g, at) * np.exp(-at.s * run.first_queue) if starts else 1.0
        return begun * np.exp(log_stage(at, g, of.first_h, of.first_h))

    def product(at: Exposure) -> Any:
        g = loss(run, kinds, at)
        middle = np.where(of.n_middle > 0, log_stage(at, g, run.cycle, of.again_h), 0.0)
        last = np.where(of.only_stage, 0.0, log_stage(at, g, of.last_first_h, of.last_again_h))
        begun = planned_restart(run, g, at) * np.exp(-at.s * run.first_queue) if starts else 1.0
        return begun * np.exp(log_stage(at, g, of.first_h, of.first_h) + of.n_middle * middle + last)

    if not asked:
        return product

    def last(at: Exposure, stopped: bool) -> Any:
        g = loss(run, kinds, at)
        hours = of.last_again_h if stopped else of.last_first_h
        return np.exp(np.where(of.only_stage, 0.0, log_stage(at, g, hours, of.last_again_h)))

    step = _served(run, _stages_at(run, kinds), run.cycle, of.again_h)

    def served(at: Exposure) -> Any:
        unasked, asked = first(at.later(run.stops_per_h)), first(at)
        goes_on, stops = through(step(at), of.n_middle, last(at, False), _stop(run, kinds, at) * last(at, True))
        return np.where(of.only_stage, asked, unasked * goes_on + (asked - unasked) * stops)

    return served


def _steady(run: JobInHours, kinds: list[Kind]) -> Of:
    """Whole intervals from one checkpoint to another, scaled to the work."""
    n = run.work / run.tau
    whole_n = np.ceil(n - ROUNDING)
    of_stage, again_h = _stages_at(run, kinds), run.tau + run.stall + run.persist

    def scaled(of: Of) -> Of:
        return lambda at: of(Exposure(at.rate, at.s * n / whole_n, at.down * n / whole_n))

    if not np.any(run.stops_per_h):
        return scaled(lambda at: np.exp(whole_n * of_stage(at, run.cycle, again_h)[0]))
    step, segment_h = _served(run, of_stage, run.cycle, again_h), run.tau + run.stall

    def served(at: Exposure) -> Any:
        asked, unasked = (np.exp(of_stage(each, run.persist, again_h)[0]) for each in (at, at.later(run.stops_per_h)))
        ends = [np.exp(of_stage(at, first_h, segment_h)[0]) for first_h in (segment_h - run.head, segment_h)]
        goes_on, stops = through(step(at), whole_n - 1, ends[0], _stop(run, kinds, at) * ends[1])
        return unasked * goes_on + (asked - unasked) * stops

    return scaled(served)


def _stop(run: JobInHours, kinds: list[Kind], at: Exposure) -> Any:
    """Maintenance, and the restart after it."""
    return np.exp(-at.down * run.stop) * planned_restart(run, loss(run, kinds, at), at)


def _served(
    run: JobInHours, of_stage: Callable[..., tuple[Any, Any]], first_h: Any, again_h: Any
) -> Callable[[Exposure], Square]:
    """From one durable checkpoint to the next: whether a request waits there, by whether one waited before."""

    def step(at: Exposure) -> Square:
        (goes_on, again, stop), (quiet_on, quiet_again, quiet_stop) = (
            _tries(run, of_stage, each, first_h, again_h) for each in (at, at.later(run.stops_per_h))
        )
        return (
            quiet_on,
            goes_on - quiet_on,
            quiet_stop * quiet_again,
            stop * again - quiet_stop * quiet_again,
        )

    return step


def _tries(run: JobInHours, of_stage: Any, at: Exposure, first_h: Any, again_h: Any) -> tuple[Any, Any, Any]:
    """A stage that goes on, one after a stop, and the stop."""
    goes_on, g = of_stage(at, first_h, again_h)
    again = log_stage(at, g, again_h, again_h)
    return np.exp(goes_on), np.exp(again), np.exp(-at.down * run.stop) * planned_restart(run, g, at)


def through(step: Square, n: Any, *end: Any) -> tuple[Any, Any]:
    """What lies ahead of a run that goes on, and of one that stops, n stages before the end."""
    ahead, power = end, step
    left = np.asarray(n, dtype=np.int64)
    while np.any(left > 0):
        odd = left % 2 == 1
        moved = power[0] * ahead[0] + power[1] * ahead[1], power[2] * ahead[0] + power[3] * ahead[1]
        ahead = tuple(np.where(odd, new, old) for new, old in zip(moved, ahead, strict=True))
        power = _times(power, power)
        left = left // 2
    return ahead[0], ahead[1]


def _times(a: Square, b: Square) -> Square:
    return (
        a[0] * b[0] + a[1] * b[2],
        a[0] * b[1] + a[1] * b[3],
        a[2] * b[0] + a[3] * b[2],
        a[2] * b[1] + a[3] * b[3],
    )
