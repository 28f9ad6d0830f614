r"""A run in which alarms are answered: its checkpoints come when they come, so its transform is per hour of work.

The value of a run with w hours of work left is taken as :math:`e^{-\kappa w}`, as where w is long. The states are those
of the mean: fresh (nothing at risk), writing, and written (the write has ended, with the training done meanwhile at
risk). A value is then a sum over what ends each, and κ is where these sums agree.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ettr.budget.transforms import stages
from ettr.budget.transforms.recoveries import Exposure, Kind, kinds_of, loss, planned_restart, widened
from ettr.budget.transforms.stages import Of, Quiet
from ettr.checkpoint import alarm_rate_per_h, heed_threshold_h
from ettr.core.units import ROUNDING
from ettr.scenario import JobInHours

_STEPS, _ENOUGH, _ROUND, _NEAR, _LONGEST = 60, 1e-13, 5e-16, 1e-3, 0.5
_NOTHING = 60.0
"""A transform of less than e to minus this is none."""
_WAYPOINTS = 8
"""Parts of s, at which roots are looked for one after the other, so that none is lost on the way."""


def whole(run: JobInHours, starts: bool) -> Of:
    """Transform of a run with alarms; to the interval that its end cuts short, as the mean has it."""
    kinds, run = kinds_of(run), widened(run)

    def of(at: Exposure) -> Any:
        # it knows nothing of what happens within an interval
        blurred = np.abs(at.s) * run.cycle > np.pi * (1 + ROUNDING)
        seen = np.where(blurred, 1j * ROUNDING / run.cycle, at.s)
        at = Exposure(at.rate, seen, seen)
        begun = 1.0
        if starts and run.include_start:
            begun = np.exp(-at.down * run.first_queue) * planned_restart(run, loss(run, kinds, at), at)
        cycles = run.work / run.tau
        log = _within(log_cycle(run, kinds, at)) * cycles
        if np.any(run.stops_per_h):
            # what is asked for after the last durable checkpoint, half an interval before the end, is not served
            unserved = np.minimum((run.tau / 2 + run.head) / run.tau, cycles)
            unasked = log_cycle(replace(run, stops_per_h=0.0), kinds, at)
            log = log * (1 - unserved / cycles) + _within(unasked) * unserved
        return begun * np.where(blurred, 0.0, np.exp(np.where(blurred, 0.0, log)))

    return of


def _above(log: Any, least: Any) -> Any:
    """A logarithm whose real part is no less than that."""
    return log + np.maximum(least - log.real, 0.0)


def _within(log: Any) -> Any:
    """A logarithm of a transform, which is never above 1; also where no root was found."""
    return log - np.maximum(log.real, 0.0)


def log_cycle(run: JobInHours, kinds: list[Kind], at: Exposure) -> Any:
    """Logarithm of the transform of an interval's worth of work in the long run, -κτ."""
    least = -_NOTHING * run.tau / run.work
    n = _WAYPOINTS if np.max(np.abs(at.s) * run.cycle) > 1 else 1
    roots: list[Any] = [0.0]
    for share in (np.arange(n) + 1) / n:
        part = Exposure(at.rate, at.s * share, at.down * share)
        if len(roots) < 3:
            # a run that nobody warns is not far from it, on the branch of the logarithm that begins at 0
            unwarned = stages.log_cycle(run, kinds, part)
            guess = np.log(np.exp(unwarned + part.s * run.cycle)) - part.s * run.cycle
        else:  # as a square from the last three
            guess = 3 * (roots[-1] - roots[-2]) + roots[-3]
        roots.append(_root(_balance(run, kinds, part), guess, least))
    return roots[-1]


def _balance(run: JobInHours, kinds: list[Kind], at: Exposure) -> Callable[[Any], Any]:
    states = _States(run, kinds, at)
    return _Served(states, _States(run, kinds, at.later(run.stops_per_h))) if np.any(run.stops_per_h) else states


def _root(balance: Callable[[Any], Any], guess: Any, least: Any) -> Any:
    """Where a function is zero, from a guess on, by secants; what is less than ``least`` does not matter."""
    now = _above(guess, least)
    before, found = now * (1 + _NEAR), np.zeros(np.shape(now), dtype=bool)
    was = balance(before)
    for _ in range(_STEPS):
        value = balance(now)
        rise = value - was
        step = np.where(rise == 0, 0.0, value * (now - before) / np.where(rise == 0, 1.0, rise))
        step = step * np.minimum(1.0, _LONGEST / np.maximum(np.abs(step), _LONGEST))
        step = np.where(found, 0.0, step)  # what is found stays, and is not kicked by what rounding leaves of its slope
        found = found | (np.abs(step) <= _ENOUGH * np.abs(now) + _ROUND)
        before, was, now = np.where(found, before, now), np.where(found, was, value), _above(now - step, least)
        found = found | (now.real <= least)
        if np.all(found):
            break
    return now


def quiet(run: JobInHours, starts: bool) -> Quiet:
    """A run in which nothing strikes and no alarm is given."""
    alarms = _Alarms.of(run)
    n = run.work / run.tau
    early_h = np.maximum(alarms.heeded_from_h - run.head, 0.0)
    watched_h = run.tau - run.head - early_h + run.persist
    ends = n * (run.rate * (early_h + run.stall) + (alarms.unannounced + alarms.rate) * watched_h)
    counts = starts and run.include_start
    start_h, queue_h = (run.start, run.first_queue) if counts else (0.0, 0.0)
    hours = queue_h + start_h + n * run.cycle
    chance = np.exp(-ends - run.rate * start_h - run.stops_per_h * hours) * (run.restart_cv == 0 or not counts)
    return Quiet(chance, hours, hours - queue_h)


@dataclass(frozen=True)
class _Alarms:
    """Alarms per hour, failures per hour that still come unannounced, and from what work at risk on they are heeded."""

    rate: Any
    unannounced: Any
    heeded_from_h: Any

    @classmethod
    def of(cls, run: JobInHours) -> _Alarms:
        """Those of a run; none that would cost more than they save."""
        assert run.prediction is not None
        heeded_from = heed_threshold_h(run.prediction.action, run.prediction.precision)
        recall = np.where(heeded_from <= run.tau, run.prediction.recall, 0.0)
        rate = alarm_rate_per_h(run.rate, recall, run.prediction.precision)
        return cls(rate, run.rate * (1 - recall), np.minimum(heeded_from, run.tau))


@dataclass(frozen=True)
class _Ends:
    """What ends a state: all is lost; an alarm secures it, which comes true or not; it goes on to the next."""

    lost: Any
    true: Any
    false: Any
    on: Any

    @property
    def begins_anew(self) -> Any:
        """The run is fresh after it, where nothing waits for a durable checkpoint."""
        return self.lost + self.true + self.false


class _States:
    """What ends each state, at values of s."""

    def __init__(self, run: JobInHours, kinds: list[Kind], at: Exposure) -> None:
        assert run.prediction is not None
        self.run, self.at, self.alarms = run, at, _Alarms.of(run)
        self.loss = loss(run, kinds, at)
        self.recovery = 1 - (self.loss * at.ends - at.s) / at.rate
        answered, precision = at.survives(run.prediction.action), run.prediction.precision
        self.true, self.false = answered * precision * self.recovery, answered * (1 - precision)
        self.forestalled = at.strikes(run.prediction.action) * self.recovery
        self.any_end = self.alarms.rate + self.alarms.unannounced + at.s

    @property
    def stop(self) -> Any:
        """Maintenance, and the restart after it."""
        return np.exp(-self.at.down * self.run.stop) * planned_restart(self.run, self.loss, self.at)

    def __call__(self, per_cycle: Any) -> Any:
        """Zero where a run with the value e^(-κw) keeps it; takes -κτ."""
        fresh, writing, written = self.at_value(per_cycle)
        # in writing = begins anew + on * written, written = begins anew + on * writing, and fresh = 1
        in_writing = (writing.begins_anew + writing.on * written.begins_anew) / (1 - writing.on * written.on)
        return 1 - fresh.begins_anew - fresh.on * in_writing

    def at_value(self, per_cycle: Any) -> tuple[_Ends, _Ends, _Ends]:
        """Ends of the states fresh, writing and written, each with the work that is secured by then."""
        run, per_h = self.run, -per_cycle / self.run.tau
        by_interval = np.exp(per_h * run.tau)
        lost, alarm = self._watched(run.persist, per_h * (1 - run.slowdown))
        alarm = alarm * by_interval
        on = np.exp(-self.any_end * run.persist) * by_interval
        writing = _Ends(lost, alarm * self.true, alarm * self.false, on)
        return self._stretch(0.0, per_h), writing, self._stretch(run.head, per_h)

    def _stretch(self, at_risk_h: Any, per_h: Any) -> _Ends:
        """Training from some hours at risk to the next checkpoint, and its stall."""
        run, at = self.run, self.at
        heeded_from = np.maximum(at_risk_h, self.alarms.heeded_from_h)
        heeded_h = run.tau - heeded_from
        early = at.survives(heeded_from - at_risk_h)
        lost, alarm = self._watched(heeded_h, per_h)
        reached = early * np.exp(-self.any_end * heeded_h)
        lost = (at.strikes(heeded_from - at_risk_h) + reached * at.strikes(run.stall)) * self.recovery + early * lost
        alarm = early * alarm * np.exp(per_h * heeded_from)
        return _Ends(lost, alarm * self.true, alarm * self.false, reached * at.survives(run.stall))

    def _watched(self, hours: Any, per_h: Any) -> tuple[Any, Any]:
        """Hours in which alarms are answered: lost, and an alarm, with the work done by then."""
        lost = self.alarms.unannounced * self.recovery + self.alarms.rate * self.forestalled
        return lost * _mean(self.any_end, hours), self.alarms.rate * _mean(self.any_end - per_h, hours)


class _Served:
    """The same with maintenance, served when a checkpoint is durable and the job goes on.

    Values are those where a request waits, and by how much they differ where none does; these at s + μ.
    """

    def __init__(self, states: _States, quiet: _States) -> None:
        self.states, self.quiet = states, quiet

    def __call__(self, per_cycle: Any) -> Any:
        """Zero where a run with the value e^(-κw) keeps it; takes -κτ."""
        fresh, writing, written = self.states.at_value(per_cycle)
        quiet_fresh, quiet_writing, quiet_written = self.quiet.at_value(per_cycle)
        stop, quiet_stop = self.states.stop, self.quiet.stop
        # each value as a row over fresh with a request, and how much more fresh is without one
        waits, differs = np.array([1.0, 0.0]), np.array([0.0, 1.0])

        def row(on_waits: Any, on_differs: Any) -> np.ndarray:
            return np.stack(np.broadcast_arrays(on_waits, on_differs))

        def of(value: Any, of_row: np.ndarray) -> np.ndarray:
            return np.stack([value * one for one in of_row])

        stopped = row(stop, quiet_stop)
        spared = row(1.0, 1.0 - 0.0 * stop) - stopped
        in_writing = of(writing.lost + writing.true, waits) + of(writing.false + writing.on, stopped)
        # written = known + on * (differs in writing), differs in writing = known + on * (written - stopped)
        in_written = (
            of(written.lost + written.true, waits)
            + of(quiet_written.lost + quiet_written.true, differs)
            + of(written.false, stopped)
            + of(quiet_written.false, spared)
            + of(written.on, in_writing)
        )
        more = of(quiet_writing.lost + quiet_writing.true, differs) + of(quiet_writing.false, spared)
        more = of(1 / (1 - quiet_writing.on * quiet_written.on), more + of(quiet_writing.on, in_written - stopped))
        first = of(fresh.lost + fresh.true, waits) + of(fresh.false, stopped) + of(fresh.on, in_writing)
        second = of(quiet_fresh.lost + quiet_fresh.true, differs) + of(quiet_fresh.false, spared)
        second = second + of(quiet_fresh.on, more)
        return (1 - first[0]) * (1 - second[1]) - first[1] * second[0]


def _mean(rate: Any, hours: Any) -> Any:
    """(1 - e^(-ax))/a, also where a is small."""
    exponent = rate * hours
    small = np.abs(exponent) < 1e-8
    return np.where(small, hours * (1 - exponent / 2), -np.expm1(-exponent) / np.where(small, 1.0, rate))
