"""What a drill should take: by the rules of a run with the faults as they struck, and by the package's own forms."""

from __future__ import annotations

import bisect
import itertools
import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any

import numpy as np

from ettr import budget
from ettr.core.errors import NoProgress, NotModelled
from ettr.core.units import MIN_PER_H, S_PER_H
from ettr.drill.measured import Account, MeasuredDrill, Strike
from ettr.drill.settings import (
    CORRUPT,
    CRASH,
    DISK,
    DISK_S,
    FLIP,
    HANG,
    SLOW,
    SLOW_FACTOR,
    SLOW_S,
    STOPPING,
    SUPERVISOR,
    Fault,
    Settings,
)
from ettr.scenario import Scenario

N_DRAWS = 400
"""Plans that are drawn where no other form knows the faults."""
_LEVEL = 0.95
_NOISE = 0.01
"""Two runs without a fault differ by less, relative: the lower end is such a run's time, if many meet none."""
_MOST = 100
"""A drawn plan that takes so many times the work is hopeless."""
Faults = Callable[[int, float], list[tuple[float, str]]]
"""From an attempt's number and the exposure before it to its faults: seconds since it began, and kind."""


@dataclass(frozen=True)
class DrillCalibration:
    """What a short drill measured of the machine.

    Attributes
    ----------
    step_s, writing_step_s : float
        A step, and one beside a write in the background. [s]
    stall_s, write_s, restart_s : float
        A stall, a write and a start. [s]
    detection_s : mapping of str to float
        From a fault until the next start, by kind. [s]
    """

    step_s: float
    writing_step_s: float
    stall_s: float
    write_s: float
    restart_s: float
    detection_s: dict[str, float]

    @property
    def slowdown(self) -> float:
        """Share of throughput that a write in the background takes."""
        return max(0.0, 1.0 - self.step_s / self.writing_step_s)


def calibrating(settings: Settings, patience: float = 1.0) -> Settings:
    """The short drill that measures: some undisturbed writes, then stops of each kind, each before the next write.

    Between two stops lies the time that workers take to start, as often as its patience says.
    """
    each_s = patience * (0.5 + 0.3 * max(1.0, settings.n_workers / (os.cpu_count() or 1)))
    interval_s = max(1.1 * each_s, 2 * settings.write_s)
    begin_s = each_s + 3 * (interval_s + settings.write_s)
    kinds = [CRASH] * 3 + [HANG] * 2 + [SUPERVISOR] * 2
    plan = tuple(Fault(begin_s + i * each_s, kind, i % settings.n_workers) for i, kind in enumerate(kinds))
    changes: dict[str, Any] = {"work_s": begin_s + each_s, "interval_s": interval_s, "faults": {}, "plan": plan}
    return replace(settings, **changes, check_steps=0, seed=0)


def calibration_of(found: MeasuredDrill) -> DrillCalibration | None:
    """What the short drill measured; None if its workers were still starting whenever a fault of some kind came."""
    if not set(STOPPING) <= set(found.detection_s):
        return None
    step_s = fmean(found.free_step_s)
    detection_s = {kind: fmean(found.detection_s[kind]) for kind in STOPPING}
    return DrillCalibration(
        step_s=step_s,
        writing_step_s=fmean(found.writing_step_s or [step_s]),
        stall_s=fmean(found.stall_s),
        write_s=fmean(found.write_s),
        restart_s=fmean(found.restart_s),
        detection_s=detection_s | {FLIP: detection_s[CRASH]},
    )


def replayed(settings: Settings, known: DrillCalibration, strikes: Sequence[Strike]) -> Account:
    """Seconds by where they go, by the rules of a run, if faults strike as they did."""
    struck: dict[int, list[tuple[float, str]]] = {}
    for strike in strikes:
        # a start takes its mean, so that one cut off must fall within it, and training begins after it
        at_s = min(strike.into_s, 0.999 * known.restart_s) if strike.in_start else known.restart_s + strike.into_s
        struck.setdefault(strike.attempt, []).append((at_s, strike.kind))
    return _Run(settings, known).through(lambda attempt, _: struck.get(attempt, []))


def drawn(settings: Settings, known: DrillCalibration, draw: int) -> Account:
    """The same for another plan of faults."""
    horizon_s = 2 * _MOST * settings.work_s
    plan = list(itertools.takewhile(lambda fault: fault.at_s < horizon_s, settings.planned(draw)))
    times = [fault.at_s for fault in plan]
    return _Run(settings, known).through(
        lambda _, exposed_s: [(one.at_s - exposed_s, one.kind) for one in plan[bisect.bisect(times, exposed_s) :]]
    )


class _Run:
    """Goes through a drill by the rules, step by step; times are seconds since an attempt began, but for the clock."""

    def __init__(self, settings: Settings, known: DrillCalibration) -> None:
        self._settings, self._known = settings, known
        self._account = Account()
        self._whole = {0: True}
        """Checkpoints that are durable, and whether they can be read."""
        self._sound = 0
        """The step up to which parameters are known to be right."""
        self._clock_s = self._exposed_s = 0.0
        self._full_until_s = self._slow_until_s = -math.inf
        self._is_flipped = False
        self._writing: tuple[float, int] | None = None
        """When the write on its way ends, and its step."""

    def through(self, faults_of: Faults) -> Account:
        """To the last step."""
        for attempt in itertools.count():
            if self._exposed_s > _MOST * self._settings.work_s:
                raise NoProgress(f"such a drill does not end in {_MOST} times its work")
            start = max(step for step, whole in self._whole.items() if whole and step <= self._sound)
            self._whole = {step: whole for step, whole in self._whole.items() if step <= start}
            self._sound, self._is_flipped, self._slow_until_s, self._writing = start, False, -math.inf, None
            self._account.undo(start)
            faults = faults_of(attempt, self._exposed_s)
            stop_s, stop = next(((at_s, kind) for at_s, kind in faults if kind in STOPPING), (math.inf, ""))
            others = [fault for fault in faults if fault[1] not in STOPPING and fault[0] < stop_s]
            restart_s = min(self._known.restart_s, stop_s)
            self._account.restart_s += restart_s
            self._strike(others, restart_s, is_start=True)
            if restart_s == stop_s:
                self._stopped(stop_s, stop, is_start=True)
                continue
            end_s = self._trained(start, stop_s, others)
            if self._account.step_s and max(self._account.step_s) == self._settings.n_steps and not self._is_flipped:
                return self._account
            self._stopped(end_s, FLIP if end_s < stop_s else stop)
        raise AssertionError

    def _trained(self, start: int, stop_s: float, others: list[tuple[float, str]]) -> float:
        """Train until the last step, a stop, or a comparison that finds a flipped bit; return when."""
        given, account, now_s = self._settings, self._account, self._known.restart_s
        for step in range(start + 1, given.n_steps + 1):
            self._strike(others, now_s)
            step_s = self._known.writing_step_s if self._writing else self._known.step_s
            step_s += (SLOW_FACTOR - 1) * given.step_s if self._slow_until_s > now_s else 0.0
            if now_s + step_s > stop_s:
                break
            now_s += step_s
            self._settle(now_s)
            account.step_s[step] = step_s
            is_last = step == given.n_steps
            if given.check_steps == 0 or step % given.check_steps == 0 or is_last:
                if self._is_flipped:
                    return now_s
                self._sound = step
            if is_last:
                return now_s
            if step % given.interval_steps == 0:
                is_full = self._clock_s + now_s < self._full_until_s
                stall_s = 0.0 if is_full else self._known.stall_s
                if now_s + stall_s > stop_s:
                    break
                now_s += stall_s
                account.stall_s[step] = stall_s
                self._writing = None if is_full else (now_s + given.background * self._known.write_s, step)
                self._settle(now_s)
        self._settle(stop_s)
        account.rework_s += stop_s - now_s
        return stop_s

    def _strike(self, waiting: list[tuple[float, str]], now_s: float, is_start: bool = False) -> None:
        """Let what has struck by now have its effect; most find nothing to spoil in a start."""
        while waiting and waiting[0][0] <= now_s:
            at_s, kind = waiting.pop(0)
            if kind == DISK:
                self._full_until_s = self._clock_s + at_s + DISK_S
            elif is_start:
                continue
            elif kind == FLIP:
                self._is_flipped = True
            elif kind == CORRUPT and max(self._whole):
                self._whole[max(self._whole)] = False
            elif kind == SLOW and self._slow_until_s <= at_s:
                self._slow_until_s = at_s + SLOW_S

    def _settle(self, now_s: float) -> None:
        """Let a write that has ended count."""
        if self._writing and self._writing[0] <= now_s:
            self._whole[self._writing[1]] = True
            self._writing = None

    def _stopped(self, at_s: float, kind: str, is_start: bool = False) -> None:
        """Nobody trains any more; it is noticed, and the workers can be started again."""
        detection_s = self._known.detection_s[kind]
        if kind == HANG and is_start:
            detection_s = self._settings.start_timeout_s - at_s
        if kind == SUPERVISOR:  # a new one frees the disk
            self._full_until_s = -math.inf
        self._account.detection_s += detection_s
        self._account.n_stops += 1
        self._exposed_s += at_s
        self._clock_s += at_s + detection_s


def scenario_of(settings: Settings, known: DrillCalibration) -> Scenario:
    """The same run as a scenario, a node a worker.

    Raises
    ------
    NotModelled
        A kind of fault that a scenario has no field for. Flipped bits are among them: a comparison before each write
        keeps them out of every checkpoint, which no latency says.
    """
    unknown = sorted(settings.kinds - {*STOPPING})
    if unknown or not settings.faults:
        raise NotModelled(f"no field of a scenario expresses {' and '.join(unknown) or 'faults at given times'}")
    rates = {kind: 1 / mean_s for kind, mean_s in settings.faults.items()}
    in_start = -math.expm1(-sum(rates.values()) * known.restart_s)
    detection_s = dict(known.detection_s)
    if HANG in rates:
        late_s = settings.start_timeout_s - known.restart_s / 2
        detection_s[HANG] += in_start * (late_s - detection_s[HANG])
    modes = [
        {"name": kind, "share": rate / sum(rates.values()), "detection_min": detection_s[kind] / S_PER_H * MIN_PER_H}
        for kind, rate in rates.items()
    ]
    interval_s = settings.interval_steps * known.step_s
    writes = {"persist_s": known.write_s, "persist_slowdown": known.slowdown} if settings.background else {}
    return Scenario.of(
        {
            "name": "drill",
            "cluster": {"n_gpus": settings.n_workers, "gpus_per_node": 1},
            "job": {"productive_h": settings.n_steps * known.step_s / S_PER_H},
            "failures": {"job_mttf_h": 1 / sum(rates.values()) / S_PER_H, "rate_clock": "exposed", "modes": modes},
            "checkpoint": {"interval_min": interval_s / S_PER_H * MIN_PER_H, "stall_s": known.stall_s, **writes},
            "recovery": {
                "detection_min": 0,
                "queue_min": 0,
                "restart_min": known.restart_s / S_PER_H * MIN_PER_H,
            },
        }
    )


@dataclass(frozen=True)
class PredictedBand:
    """Where the finishing time should lie, if nobody knows when faults strike.

    Attributes
    ----------
    low_s, median_s, high_s : float
        Ends of 95 of 100 runs, and the middle. [s]
    ettr : float
        Productive over all seconds, both expected.
    way : str
        By which it was found: ``exact form``, or ``drawn plans`` where no field of a scenario expresses a fault.
    """

    low_s: float
    median_s: float
    high_s: float
    ettr: float
    way: str

    def holds(self, took_s: float) -> bool:
        """Whether a run ended within, give or take what two runs without a fault differ by. [s]"""
        return bool(self.low_s * (1 - _NOISE) <= took_s <= self.high_s * (1 + _NOISE))


def band(settings: Settings, known: DrillCalibration) -> PredictedBand:
    """Where the finishing time should lie, by the exact form where it knows the faults."""
    levels = (1 - _LEVEL) / 2, 0.5, (1 + _LEVEL) / 2
    try:
        scenario = scenario_of(settings, known)
    except NotModelled:
        accounts = [drawn(settings, known, draw + 1).budget(known.step_s) for draw in range(N_DRAWS)]
        total_s = [S_PER_H * account.total_h for account in accounts]
        productive_s = fmean(S_PER_H * account.productive_h for account in accounts)
        low_s, median_s, high_s = np.quantile(total_s, levels).tolist()
        return PredictedBand(low_s, median_s, high_s, productive_s / fmean(total_s), "drawn plans")
    finishing, hours = budget.finishing(scenario), budget.exact(scenario)
    low_s, median_s, high_s = (S_PER_H * float(finishing.quantile(level)) for level in levels)
    return PredictedBand(low_s, median_s, high_s, float(hours.ettr), "exact form")
