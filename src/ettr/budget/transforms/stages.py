"""Transform of a run with one kind of checkpoint: a product of stages, with maintenance between them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ettr.budget.training import Stages, stages_of
from ettr.budget.transforms.recoveries import (
    Exposure,
    Kind,
    kinds_of,
    log_one_plus,
    loss,
    missing_restart,
    together,
    whole_intervals,
    widened,
)
from ettr.scenario import JobInHours

Of = Callable[[Exposure], Any]


@dataclass(frozen=True)
class Quiet:
    """Probability that a run meets no failure and no request for maintenance, and its hours then. [1, h]"""

    probability: Any
    hours: Any


@dataclass(frozen=True, eq=False)
class Transforms:
    """Transforms of the parts of a run, at values of s."""

    run: JobInHours
    kinds: list[Kind]
    at: Exposure

    @functools.cached_property
    def loss(self) -> Any:
        """g = 1 - λρ/(λ+s), with ρ the transform of a recovery."""
        return loss(self.run, self.kinds, self.at)

    @functools.cached_property
    def missing_restart(self) -> Any:
        """One minus the transform of a planned restart, with failures during it."""
        return self.loss * missing_restart(self.run.restart, self.run.load, self.at.ends)

    @property
    def begin(self) -> Any:
        """Transform of the first queue and restart."""
        return np.exp(-self.at.s * self.run.first_queue) * (1 - self.missing_restart)

    @property
    def missing_stop(self) -> Any:
        """One minus the transform of a maintenance stop and the restart after it."""
        return together((-np.expm1(-self.at.s * self.run.stop), self.missing_restart))

    def log_stage(self, first_h: Any, again_h: Any) -> Any:
        r"""Logarithm of the transform of a stage.

        With :math:`E(y) = e^{(\lambda+s)y} - 1` the transform is :math:`(1 + gE(B-x))/(1 + gE(B))`, for x hours at the
        first attempt and B hours after a recovery.
        """
        g, ends = self.loss, self.at.ends
        return log_one_plus(g * np.expm1(ends * (again_h - first_h))) - log_one_plus(g * np.expm1(ends * again_h))

    def stage(self, first_h: Any, again_h: Any) -> Any:
        """Transform of a stage."""
        return np.exp(self.log_stage(first_h, again_h))

    def without_requests(self) -> Transforms:
        """Transforms on the event that no maintenance is requested meanwhile."""
        return Transforms(self.run, self.kinds, self.at.without_events(self.run.stops_per_h))


def whole(run: JobInHours, starts: bool) -> Of:
    """Transform of a run from submission to its end, or in its steady state."""
    kinds, run = kinds_of(run), widened(run)
    maintained, stages = bool(np.any(run.stops_per_h)), stages_of(run)
    if not run.include_start:
        return lambda at: _steady(run, kinds, at, maintained)

    def finite(at: Exposure) -> Any:
        transforms = Transforms(run, kinds, at)
        return _served_to_end(transforms, stages, starts) if maintained else _to_end(transforms, stages, starts)

    return finite


def quiet(run: JobInHours, starts: bool) -> Quiet:
    """Probability and hours of a run without failures and without requests for maintenance."""
    # request_h: hours in which a request would still be served, up to the last durable checkpoint
    if not run.include_start:
        n = whole_intervals(run)
        request_h = run.persist + (n - 1) * run.cycle
        exposed_h = n * run.cycle
        return Quiet(np.exp(-run.rate * exposed_h - run.stops_per_h * request_h), run.work / run.tau * run.cycle)
    stages = stages_of(run)
    start_h = run.start if starts else 0.0
    queue_h = run.first_queue if starts else 0.0
    to_last_h = start_h + stages.first_h + stages.n_middle * run.cycle
    end_h = to_last_h + np.where(stages.only_stage, 0.0, stages.last_first_h)
    request_h = np.where(stages.only_stage, 0.0, queue_h + to_last_h)
    probability = np.exp(-run.rate * end_h - run.stops_per_h * request_h)
    return Quiet(probability, queue_h + end_h)


def _to_end(transforms: Transforms, stages: Stages, starts: bool) -> Any:
    """Transform of a run without maintenance: the product over its stages."""
    middle = np.where(stages.n_middle > 0, transforms.log_stage(transforms.run.cycle, stages.again_h), 0.0)
    last = np.where(stages.only_stage, 0.0, transforms.log_stage(stages.last_first_h, stages.last_again_h))
    log = transforms.log_stage(stages.first_h, stages.first_h) + stages.n_middle * middle + last
    return np.exp(log) * transforms.begin if starts else np.exp(log)


def _served_to_end(transforms: Transforms, stages: Stages, starts: bool) -> Any:
    """Transform of a run with maintenance, served at the next durable checkpoint."""
    quiet_case = transforms.without_requests()
    # the first stage, in all and without a request; then the last stage, after a stage or after a stop
    first, quiet_first = (
        case.stage(stages.first_h, stages.first_h) * (case.begin if starts else 1.0)
        for case in (transforms, quiet_case)
    )
    ends = [
        transforms.log_stage(first_h, stages.last_again_h) for first_h in (stages.last_first_h, stages.last_again_h)
    ]
    last, after_stop = (np.exp(np.where(stages.only_stage, 0.0, end)) for end in ends)
    step = _served(transforms, quiet_case, transforms.run.cycle, stages.again_h)
    goes_on, stops = step.through(stages.n_middle, last, (1 - transforms.missing_stop) * after_stop)
    return np.where(stages.only_stage, first, quiet_first * goes_on + (first - quiet_first) * stops)


def _steady(run: JobInHours, kinds: list[Kind], at: Exposure, maintained: bool) -> Any:
    """Transform of the steady state: whole intervals from one durable checkpoint to another, scaled to the work."""
    n, transforms = whole_intervals(run), Transforms(run, kinds, at.of_whole_intervals(run))
    segment_h = run.tau + run.stall
    again_h = segment_h + run.persist
    if not maintained:
        return np.exp(n * transforms.log_stage(run.cycle, again_h))
    quiet_case = transforms.without_requests()
    first, quiet_first = (case.stage(run.persist, again_h) for case in (transforms, quiet_case))
    last, after_stop = (transforms.stage(first_h, segment_h) for first_h in (segment_h - run.head, segment_h))
    step = _served(transforms, quiet_case, run.cycle, again_h)
    goes_on, stops = step.through(n - 1, last, (1 - transforms.missing_stop) * after_stop)
    return quiet_first * goes_on + (first - quiet_first) * stops


@dataclass(frozen=True)
class _Served:
    r"""Matrix from one durable checkpoint to the next, by whether a request for maintenance is waiting at either.

    ``quiet`` and ``requested`` are the transforms of a stage without and with a request, ``quiet_stop`` that of a
    stop and a stage without a request; ``missing`` and ``missing_stop`` are one minus the transform of a stage, and of
    a stop and a stage. The larger eigenvalue of the matrix, :math:`1 + \delta`, is near 1: δ is the small root of
    :math:`\delta^2 + b\delta + c`, with b and c from the missing parts, so that it keeps its digits.
    """

    quiet: Any
    requested: Any
    quiet_stop: Any
    missing: Any
    missing_stop: Any

    @functools.cached_property
    def larger(self) -> Any:
        """The larger eigenvalue minus 1."""
        # both roots without cancellation: the larger sum of b and the root for one, c over it for the other
        c = self.missing * self.missing_stop + self.missing * self.quiet_stop + self.requested * self.missing_stop
        root = np.sqrt(self._b * self._b - 4 * c)
        sign = np.where(np.abs(self._b + root) >= np.abs(self._b - root), 1.0, -1.0)
        small, other = -2 * c / (self._b + sign * root), -(self._b + sign * root) / 2
        return np.where(np.abs(1 + small) >= np.abs(1 + other), small, other)

    @property
    def _b(self) -> Any:
        return self.missing + self.requested + self.missing_stop + self.quiet_stop

    def through(self, n: Any, goes_on: Any, stops: Any) -> tuple[Any, Any]:
        """Transforms of the time ahead, n steps before the end: without and with a waiting request.

        The n-th power of the matrix is applied to ``(goes_on, stops)`` through its two eigenvalues.
        """
        large, small = 1 + self.larger, 1 - self._b - self.larger
        large_n, small_n = np.exp(n * log_one_plus(self.larger)), small ** np.asarray(n, dtype=float)
        ahead = (
            self.quiet * goes_on + self.requested * stops,
            self.quiet_stop * goes_on + (1 - self.missing_stop - self.quiet_stop) * stops,
        )
        on, stopped = (
            (large_n * (next_ - small * now) - small_n * (next_ - large * now)) / (large - small)
            for next_, now in zip(ahead, (goes_on, stops), strict=True)
        )
        return on, stopped


def _served(transforms: Transforms, quiet_case: Transforms, first_h: Any, again_h: Any) -> _Served:
    """Matrix from one durable checkpoint to the next."""
    goes_on, quiet = transforms.log_stage(first_h, again_h), quiet_case.log_stage(first_h, again_h)
    return _Served(
        quiet=np.exp(quiet),
        requested=np.exp(quiet) * np.expm1(goes_on - quiet),
        quiet_stop=(1 - quiet_case.missing_stop) * quiet_case.stage(again_h, again_h),
        missing=-np.expm1(goes_on),
        missing_stop=together((transforms.missing_stop, -np.expm1(transforms.log_stage(again_h, again_h)))),
    )
