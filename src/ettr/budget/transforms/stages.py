"""A run with one kind of checkpoint: a product of stages, with maintenance between them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ettr.budget.training import Stages, stages_of
from ettr.budget.transforms.recoveries import Exposure, Kind, kinds_of, loss, planned_restart, whole_intervals, widened
from ettr.scenario import JobInHours

Of = Callable[[Exposure], Any]
Square = tuple[Any, Any, Any, Any]
"""A matrix of two rows: from one durable checkpoint to the next, by whether a request for maintenance waits."""


@dataclass(frozen=True)
class Quiet:
    """What a run does if nothing strikes and nothing is asked for: probability, hours, and those exposed. [1, h, h]"""

    probability: Any
    hours: Any
    exposed_h: Any


@dataclass(frozen=True, eq=False)
class Transforms:
    """Transforms of the parts of a run, at values of s."""

    run: JobInHours
    kinds: list[Kind]
    at: Exposure

    @functools.cached_property
    def loss(self) -> Any:
        """What a failure adds to a stage, g."""
        return loss(self.run, self.kinds, self.at)

    @functools.cached_property
    def restart(self) -> Any:
        """A planned restart."""
        return planned_restart(self.run, self.loss, self.at)

    @property
    def begin(self) -> Any:
        """The first queue and restart."""
        return np.exp(-self.at.down * self.run.first_queue) * self.restart

    @property
    def stop(self) -> Any:
        """Maintenance, and the restart after it."""
        return np.exp(-self.at.down * self.run.stop) * self.restart

    def log_stage(self, first_h: Any, again_h: Any) -> Any:
        r"""Logarithm of the transform of a stage.

        With :math:`E(y) = e^{(\lambda+s)y} - 1` it is :math:`(1 + gE(B-x))/(1 + gE(B))`, for x hours at the first try
        and B after a recovery.
        """
        g, ends = self.loss, self.at.ends
        return np.log1p(g * np.expm1(ends * (again_h - first_h))) - np.log1p(g * np.expm1(ends * again_h))

    def stage(self, first_h: Any, again_h: Any) -> Any:
        """Transform of a stage."""
        return np.exp(self.log_stage(first_h, again_h))

    def unasked(self) -> Transforms:
        """The same where no maintenance is asked for meanwhile."""
        return Transforms(self.run, self.kinds, self.at.later(self.run.stops_per_h))


def log_cycle(run: JobInHours, kinds: list[Kind], at: Exposure) -> Any:
    """Logarithm of the transform of one checkpoint cycle in the long run."""
    of, again_h = Transforms(run, kinds, at), run.tau + run.stall + run.persist
    if not np.any(run.stops_per_h):
        return of.log_stage(run.cycle, again_h)
    return log_larger(_served(of, of.unasked(), run.cycle, again_h))


def whole(run: JobInHours, starts: bool) -> Of:
    """Transform of a run from submission to its end, or of its steady state."""
    kinds, run = kinds_of(run), widened(run)
    asked, stages = bool(np.any(run.stops_per_h)), stages_of(run)
    if not run.include_start:
        return lambda at: _steady(run, kinds, at, asked)

    def finite(at: Exposure) -> Any:
        of = Transforms(run, kinds, at)
        return _served_to_end(of, stages, starts) if asked else _to_end(of, stages, starts)

    return finite


def quiet(run: JobInHours, starts: bool) -> Quiet:
    """A run in which nothing strikes and nothing is asked for."""
    if not run.include_start:
        whole_n = whole_intervals(run)
        asked_h = run.persist + (whole_n - 1) * run.cycle
        exposed_h = whole_n * run.cycle
        return Quiet(
            np.exp(-run.rate * exposed_h - run.stops_per_h * asked_h), run.work / run.tau * run.cycle, exposed_h
        )
    of = stages_of(run)
    start_h = run.start if starts else 0.0
    queue_h = run.first_queue if starts else 0.0
    to_last_h = start_h + of.first_h + of.n_middle * run.cycle
    end_h = to_last_h + np.where(of.only_stage, 0.0, of.last_first_h)
    asked_h = np.where(of.only_stage, 0.0, queue_h + to_last_h)
    chance = np.exp(-run.rate * end_h - run.stops_per_h * asked_h)
    return Quiet(chance * (run.restart_cv == 0 or not starts), queue_h + end_h, end_h)


def _to_end(of: Transforms, stages: Stages, starts: bool) -> Any:
    """The product of all stages."""
    middle = np.where(stages.n_middle > 0, of.log_stage(of.run.cycle, stages.again_h), 0.0)
    last = np.where(stages.only_stage, 0.0, of.log_stage(stages.last_first_h, stages.last_again_h))
    log = of.log_stage(stages.first_h, stages.first_h) + stages.n_middle * middle + last
    return np.exp(log) * of.begin if starts else np.exp(log)


def _served_to_end(of: Transforms, stages: Stages, starts: bool) -> Any:
    """The same with maintenance at each durable checkpoint."""
    unasked = of.unasked()
    first, quiet_first = (
        each.stage(stages.first_h, stages.first_h) * (each.begin if starts else 1.0) for each in (of, unasked)
    )
    ends = [of.log_stage(first_h, stages.last_again_h) for first_h in (stages.last_first_h, stages.last_again_h)]
    last, after_stop = (np.exp(np.where(stages.only_stage, 0.0, end)) for end in ends)
    step = _served(of, unasked, of.run.cycle, stages.again_h)
    goes_on, stops = through(step, stages.n_middle, last, of.stop * after_stop)
    return np.where(stages.only_stage, first, quiet_first * goes_on + (first - quiet_first) * stops)


def _steady(run: JobInHours, kinds: list[Kind], at: Exposure, asked: bool) -> Any:
    """Whole intervals from one checkpoint to another, scaled to the work."""
    whole_n, of = whole_intervals(run), Transforms(run, kinds, at.of_whole_intervals(run))
    segment_h = run.tau + run.stall
    again_h = segment_h + run.persist
    if not asked:
        return np.exp(whole_n * of.log_stage(run.cycle, again_h))
    unasked = of.unasked()
    first, quiet_first = (each.stage(run.persist, again_h) for each in (of, unasked))
    last, after_stop = (of.stage(first_h, segment_h) for first_h in (segment_h - run.head, segment_h))
    step = _served(of, unasked, run.cycle, again_h)
    goes_on, stops = through(step, whole_n - 1, last, of.stop * after_stop)
    return quiet_first * goes_on + (first - quiet_first) * stops


def _served(of: Transforms, unasked: Transforms, first_h: Any, again_h: Any) -> Square:
    """From one durable checkpoint to the next: whether a request waits there, by whether one waited before."""
    goes_on, quiet_on = of.stage(first_h, again_h), unasked.stage(first_h, again_h)
    stops, quiet_stops = (each.stop * each.stage(again_h, again_h) for each in (of, unasked))
    return quiet_on, goes_on - quiet_on, quiet_stops, stops - quiet_stops


def log_larger(step: Square) -> Any:
    """Logarithm of the larger eigenvalue: what a step comes to in the long run."""
    trace, product = step[0] + step[3], step[0] * step[3] - step[1] * step[2]
    root = np.sqrt(trace * trace - 4 * product)
    larger = np.where(np.abs(trace + root) >= np.abs(trace - root), trace + root, trace - root)
    return np.log(larger / 2)


def through(step: Square, n: Any, *end: Any) -> tuple[Any, Any]:
    """What lies ahead in each row of a matrix, n steps before the end."""
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
