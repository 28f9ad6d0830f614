r"""A run in which alarms are answered: its checkpoints come when they come, so its transform is per hour of work.

The value of a run with w hours of work left is taken as :math:`e^{-\kappa w}`, as where w is long. The states are those
of the mean: fresh (nothing at risk), writing, and written (the write has ended, with the training done meanwhile at
risk). A value is then a sum over what ends each, and κ is where these sums agree.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ettr.budget.transforms.recoveries import Exposure, Kind, kinds_of, loss, planned_restart, widened
from ettr.budget.transforms.stages import Of, Quiet, log_stage
from ettr.checkpoint import alarm_rate_per_h, heed_threshold_h
from ettr.core.units import ROUNDING
from ettr.scenario import JobInHours

_STEPS, _ENOUGH, _NEAR, _LONGEST = 60, 1e-14, 1e-3, 0.5


def whole(run: JobInHours, starts: bool) -> Of:
    """Transform of a run with alarms; to the interval that its end cuts short, as the mean has it."""
    kinds, run = kinds_of(run), widened(run)

    def of(at: Exposure) -> Any:
        begun = 1.0
        if starts and run.include_start:
            begun = np.exp(-at.down * run.first_queue) * planned_restart(run, loss(run, kinds, at), at)
        per_cycle = log_cycle(run, kinds, at)
        # a transform is never above 1, and this one knows nothing of what happens within an interval
        blurred = np.abs(at.s) * run.cycle > np.pi * (1 + ROUNDING)
        log = np.where(blurred, 0.0, per_cycle - np.maximum(per_cycle.real, 0.0)) * (run.work / run.tau)
        return begun * np.where(blurred, 0.0, np.exp(log))

    return of


def log_cycle(run: JobInHours, kinds: list[Kind], at: Exposure) -> Any:
    """Logarithm of the transform of an interval's worth of work in the long run, -κτ."""
    states = _States(run, kinds, at)
    # a run that nobody warns is not far from it, on the branch of the logarithm that begins at 0
    unwarned = log_stage(at, states.loss, run.cycle, run.tau + run.stall + run.persist)
    now = np.log(np.exp(unwarned + at.s * run.cycle)) - at.s * run.cycle
    before = now * (1 + _NEAR)
    was = states.balance(before)
    for _ in range(_STEPS):
        value = states.balance(now)
        rise = value - was
        step = np.where(rise == 0, 0.0, value * (now - before) / np.where(rise == 0, 1.0, rise))
        step = step * np.minimum(1.0, _LONGEST / np.maximum(np.abs(step), _LONGEST))
        before, was, now = now, value, now - step
        if np.all(np.abs(step) <= _ENOUGH * np.abs(now)):
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
    chance = np.exp(-ends - run.rate * start_h) * (run.restart_cv == 0 or not counts)
    return Quiet(chance, queue_h + start_h + n * run.cycle)


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


class _States:
    """What ends each state, at values of s."""

    def __init__(self, run: JobInHours, kinds: list[Kind], at: Exposure) -> None:
        assert run.prediction is not None
        self.run, self.at, self.alarms = run, at, _Alarms.of(run)
        self.loss = loss(run, kinds, at)
        self.recovery = 1 - (self.loss * at.ends - at.s) / at.rate
        self.answered = at.survives(run.prediction.action)
        self.forestalled = at.strikes(run.prediction.action) * self.recovery
        precision = run.prediction.precision
        self.secured = self.answered * (precision * self.recovery + 1 - precision)
        self.any_end = self.alarms.rate + self.alarms.unannounced + at.s

    def balance(self, per_cycle: Any) -> Any:
        """Zero where a run with the value e^(-κw) keeps it; takes -κτ."""
        run, per_h = self.run, -per_cycle / self.run.tau
        lost_fresh, secured_fresh, on_fresh = self._stretch(0.0, per_h)
        lost_written, secured_written, on_written = self._stretch(run.head, per_h)
        lost_writing, alarm_writing = self._watched(run.persist, per_h * (1 - run.slowdown))
        by_interval = np.exp(per_h * run.tau)
        through = np.exp(-self.any_end * run.persist) * by_interval
        # writing = a + through * written, written = b + on_written * writing, fresh = 1
        a, b = lost_writing + alarm_writing * by_interval, lost_written + secured_written
        writing = (a + through * b) / (1 - through * on_written)
        return 1 - lost_fresh - secured_fresh - on_fresh * writing

    def _stretch(self, at_risk_h: Any, per_h: Any) -> tuple[Any, Any, Any]:
        """Training from some hours at risk to the next checkpoint: lost, secured by an alarm, and come to its write."""
        run, at = self.run, self.at
        heeded_from = np.maximum(at_risk_h, self.alarms.heeded_from_h)
        heeded_h = run.tau - heeded_from
        early = at.survives(heeded_from - at_risk_h)
        lost, secured = self._watched(heeded_h, per_h)
        reached = early * np.exp(-self.any_end * heeded_h)
        lost = (at.strikes(heeded_from - at_risk_h) + reached * at.strikes(run.stall)) * self.recovery + early * lost
        return lost, early * secured * np.exp(per_h * heeded_from), reached * at.survives(run.stall)

    def _watched(self, hours: Any, per_h: Any) -> tuple[Any, Any]:
        """Hours in which alarms are answered: lost, and secured with the work done by then."""
        lost = self.alarms.unannounced * self.recovery + self.alarms.rate * self.forestalled
        return lost * _mean(self.any_end, hours), self.alarms.rate * self.secured * _mean(self.any_end - per_h, hours)


def _mean(rate: Any, hours: Any) -> Any:
    """(1 - e^(-ax))/a, also where a is small."""
    exponent = rate * hours
    small = np.abs(exponent) < 1e-8
    return np.where(small, hours * (1 - exponent / 2), -np.expm1(-exponent) / np.where(small, 1.0, rate))
