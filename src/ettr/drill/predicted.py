"""Predicted time budget of a drill, from the actual fault times, and its prediction interval without them."""

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
"""Fault plans to simulate if the exact model does not cover the faults."""
_LEVEL = 0.95
_NOISE = 0.01
"""Relative difference between runs without faults, a tolerance on the ends of the interval."""
_MOST = 100
"""Run time, in multiples of the work, from which a drill makes no progress."""
Faults = Callable[[int, float], list[tuple[float, str]]]
"""Function from the number of an attempt and the exposed time before it to its faults: seconds since start, kind."""


@dataclass(frozen=True)
class DrillCalibration:
    """Mean durations measured on this machine by a short drill.

    Attributes
    ----------
    step_s, writing_step_s : float
        Step time without and during a background write. [s]
    stall_s, write_s, restart_s : float
        Checkpoint stall, checkpoint write and restart. [s]
    detection_s : mapping of str to float
        Time from a fault until the next start, by kind. [s]

    Examples
    --------
    >>> calibration = DrillCalibration(0.020, 0.025, 0.1, 0.1, 0.8, {"crash": 0.05})
    >>> round(calibration.slowdown, 3)
    0.2
    """

    step_s: float
    writing_step_s: float
    stall_s: float
    write_s: float
    restart_s: float
    detection_s: dict[str, float]

    @property
    def slowdown(self) -> float:
        """Share of throughput lost during a background write."""
        return max(0.0, 1.0 - self.step_s / self.writing_step_s)


def calibrating(settings: Settings, patience: float = 1.0) -> Settings:
    """Return the settings of a calibration: some undisturbed writes, then stops of each kind before the next write.

    The time between two stops is the expected start-up time of the workers times ``patience``.
    """
    each_s = patience * (0.5 + 0.3 * max(1.0, settings.n_workers / (os.cpu_count() or 1)))
    interval_s = max(1.1 * each_s, 2 * settings.write_s)
    begin_s = each_s + 3 * (interval_s + settings.write_s)
    kinds = [CRASH] * 3 + [HANG] * 2 + [SUPERVISOR] * 2
    plan = tuple(Fault(begin_s + i * each_s, kind, i % settings.n_workers) for i, kind in enumerate(kinds))
    changes: dict[str, Any] = {"work_s": begin_s + each_s, "interval_s": interval_s, "faults": {}, "plan": plan}
    return replace(settings, **changes, check_steps=0, seed=0)


def calibration_of(log: MeasuredDrill) -> DrillCalibration | None:
    """Return the mean durations of a calibration; None if the workers were still starting at every fault of a kind."""
    if not set(STOPPING) <= set(log.detection_s):
        return None
    step_s = fmean(log.free_step_s)
    detection_s = {kind: fmean(log.detection_s[kind]) for kind in STOPPING}
    return DrillCalibration(
        step_s=step_s,
        writing_step_s=fmean(log.writing_step_s or [step_s]),
        stall_s=fmean(log.stall_s),
        write_s=fmean(log.write_s),
        restart_s=fmean(log.restart_s),
        detection_s=detection_s | {FLIP: detection_s[CRASH]},
    )


def replayed(settings: Settings, calibration: DrillCalibration, strikes: Sequence[Strike]) -> Account:
    """Return the predicted seconds by part, with faults at the times when they struck.

    Examples
    --------
    >>> detection_s = {"crash": 0.1, "hang": 0.6, "supervisor": 0.2}
    >>> calibration = DrillCalibration(0.02, 0.02, 0.1, 0.1, 0.8, detection_s)
    >>> account = replayed(Settings(work_s=4.0), calibration, [Strike(0, 1.7, "crash")])
    >>> account.n_stops, account.detection_s, account.restart_s  # a crash, and two starts
    (1, 0.1, 1.6)
    """
    faults: dict[int, list[tuple[float, str]]] = {}
    for strike in strikes:
        # Restarts have their mean duration, so a fault during a restart must fall within it.
        restart_s = calibration.restart_s
        at_s = min(strike.into_s, 0.999 * restart_s) if strike.in_start else restart_s + strike.into_s
        faults.setdefault(strike.attempt, []).append((at_s, strike.kind))
    return _Run(settings, calibration).through(lambda attempt, _: faults.get(attempt, []))


def drawn(settings: Settings, calibration: DrillCalibration, draw: int) -> Account:
    """Return the predicted seconds by part for a random plan of faults."""
    horizon_s = 2 * _MOST * settings.work_s
    plan = list(itertools.takewhile(lambda fault: fault.at_s < horizon_s, settings.planned(draw)))
    times = [fault.at_s for fault in plan]
    return _Run(settings, calibration).through(
        lambda _, exposed_s: [(fault.at_s - exposed_s, fault.kind) for fault in plan[bisect.bisect(times, exposed_s) :]]
    )


class _Run:
    """Step-by-step model of a drill; times are seconds since the start of an attempt, except the clock."""

    def __init__(self, settings: Settings, calibration: DrillCalibration) -> None:
        self._settings, self._calibration = settings, calibration
        self._account = Account()
        self._readable = {0: True}
        """Durable checkpoints, each True if it can be read."""
        self._verified = 0
        """Last step with verified parameters."""
        self._clock_s = self._exposed_s = 0.0
        self._full_until_s = self._slow_until_s = -math.inf
        self._is_flipped = False
        self._writing: tuple[float, int] | None = None
        """End and step of the current background write."""

    def through(self, faults_of: Faults) -> Account:
        """Run to the last step."""
        for attempt in itertools.count():
            if self._exposed_s > _MOST * self._settings.work_s:
                raise NoProgress(f"the drill does not end within {_MOST} times its work")
            # Restart from the newest readable checkpoint with verified parameters; later steps are lost.
            start = max(step for step, readable in self._readable.items() if readable and step <= self._verified)
            self._readable = {step: readable for step, readable in self._readable.items() if step <= start}
            self._verified, self._is_flipped, self._slow_until_s, self._writing = start, False, -math.inf, None
            self._account.undo(start)
            faults = faults_of(attempt, self._exposed_s)
            stop_s, stop = next(((at_s, kind) for at_s, kind in faults if kind in STOPPING), (math.inf, ""))
            others = [fault for fault in faults if fault[1] not in STOPPING and fault[0] < stop_s]
            restart_s = min(self._calibration.restart_s, stop_s)
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
        """Train until the last step, a stop, or the detection of a flipped bit; return the time."""
        settings, calibration, account = self._settings, self._calibration, self._account
        now_s = calibration.restart_s
        for step in range(start + 1, settings.n_steps + 1):
            self._strike(others, now_s)
            step_s = calibration.writing_step_s if self._writing else calibration.step_s
            step_s += (SLOW_FACTOR - 1) * settings.step_s if self._slow_until_s > now_s else 0.0
            if now_s + step_s > stop_s:
                break
            now_s += step_s
            self._settle(now_s)
            account.step_s[step] = step_s
            is_last = step == settings.n_steps
            if settings.check_steps == 0 or step % settings.check_steps == 0 or is_last:
                if self._is_flipped:
                    return now_s
                self._verified = step
            if is_last:
                return now_s
            if step % settings.interval_steps == 0:
                is_full = self._clock_s + now_s < self._full_until_s
                stall_s = 0.0 if is_full else calibration.stall_s
                if now_s + stall_s > stop_s:
                    break
                now_s += stall_s
                account.stall_s[step] = stall_s
                self._writing = None if is_full else (now_s + settings.background * calibration.write_s, step)
                self._settle(now_s)
        self._settle(stop_s)
        account.rework_s += stop_s - now_s
        return stop_s

    def _strike(self, waiting: list[tuple[float, str]], now_s: float, is_start: bool = False) -> None:
        """Apply the faults up to now; most have no effect during a restart."""
        while waiting and waiting[0][0] <= now_s:
            at_s, kind = waiting.pop(0)
            if kind == DISK:
                self._full_until_s = self._clock_s + at_s + DISK_S
            elif is_start:
                continue
            elif kind == FLIP:
                self._is_flipped = True
            elif kind == CORRUPT and max(self._readable):
                self._readable[max(self._readable)] = False
            elif kind == SLOW and self._slow_until_s <= at_s:
                self._slow_until_s = at_s + SLOW_S

    def _settle(self, now_s: float) -> None:
        """Count a write that has ended as durable."""
        if self._writing and self._writing[0] <= now_s:
            self._readable[self._writing[1]] = True
            self._writing = None

    def _stopped(self, at_s: float, kind: str, is_start: bool = False) -> None:
        """Add the detection of a stop, after which the workers are restarted."""
        detection_s = self._calibration.detection_s[kind]
        if kind == HANG and is_start:
            detection_s = self._settings.start_timeout_s - at_s
        if kind == SUPERVISOR:  # a new supervisor frees the disk
            self._full_until_s = -math.inf
        self._account.detection_s += detection_s
        self._account.n_stops += 1
        self._exposed_s += at_s
        self._clock_s += at_s + detection_s


def scenario_of(settings: Settings, calibration: DrillCalibration) -> Scenario:
    """Return the drill as a scenario, with a node per worker.

    Raises
    ------
    NotModelled
        If a scenario has no field for a kind of fault. That includes flipped bits: the workers compare parameters
        before each write, which keeps flipped bits out of every checkpoint, and no detection latency expresses that.

    Examples
    --------
    >>> calibration = DrillCalibration(0.02, 0.02, 0.1, 0.1, 0.8, {"crash": 0.1})
    >>> run = scenario_of(Settings(n_workers=4, faults={"crash": 5.0}), calibration)
    >>> round(run.failures.job_mttf_h * 3600, 9), run.cluster.n_nodes
    (5.0, 4)
    """
    not_modelled = sorted(settings.kinds - {*STOPPING})
    if not_modelled or not settings.faults:
        raise NotModelled(f"a scenario cannot express {' and '.join(not_modelled) or 'faults at fixed times'}")
    rates = {kind: 1 / mean_s for kind, mean_s in settings.faults.items()}
    # A hang during a restart is detected by the start timeout; weight it by the probability of a fault in a restart.
    in_start = -math.expm1(-sum(rates.values()) * calibration.restart_s)
    detection_s = dict(calibration.detection_s)
    if HANG in rates:
        late_s = settings.start_timeout_s - calibration.restart_s / 2
        detection_s[HANG] += in_start * (late_s - detection_s[HANG])
    modes = [
        {"name": kind, "share": rate / sum(rates.values()), "detection_min": detection_s[kind] / S_PER_H * MIN_PER_H}
        for kind, rate in rates.items()
    ]
    interval_s = settings.interval_steps * calibration.step_s
    background = {"persist_s": calibration.write_s, "persist_slowdown": calibration.slowdown}
    writes = background if settings.background else {}
    return Scenario.of(
        {
            "name": "drill",
            "cluster": {"n_gpus": settings.n_workers, "gpus_per_node": 1},
            "job": {"productive_h": settings.n_steps * calibration.step_s / S_PER_H},
            "failures": {"job_mttf_h": 1 / sum(rates.values()) / S_PER_H, "rate_clock": "exposed", "modes": modes},
            "checkpoint": {"interval_min": interval_s / S_PER_H * MIN_PER_H, "stall_s": calibration.stall_s, **writes},
            "recovery": {
                "detection_min": 0,
                "queue_min": 0,
                "restart_min": calibration.restart_s / S_PER_H * MIN_PER_H,
            },
        }
    )


@dataclass(frozen=True)
class PredictedBand:
    """95% prediction interval of the run time of a drill, without knowledge of the fault times.

    Attributes
    ----------
    low_s, median_s, high_s : float
        Ends of the 95% prediction interval, and the median. [s]
    ettr : float
        Expected productive time divided by expected run time.
    way : str
        Method: ``exact model``, or ``simulated fault plans`` if a scenario cannot express a fault.

    Examples
    --------
    >>> PredictedBand(22.0, 25.0, 31.0, 0.8, "exact model").holds(30.0)
    True
    """

    low_s: float
    median_s: float
    high_s: float
    ettr: float
    way: str

    def holds(self, took_s: float) -> bool:
        """Return True if a run time is within the interval, with a tolerance of 1%. [s]"""
        return bool(self.low_s * (1 - _NOISE) <= took_s <= self.high_s * (1 + _NOISE))


def band(settings: Settings, calibration: DrillCalibration) -> PredictedBand:
    """Return the 95% prediction interval of the run time, by the exact model if it covers the faults.

    Examples
    --------
    >>> calibration = DrillCalibration(0.02, 0.02, 0.1, 0.1, 0.8, {"crash": 0.1})
    >>> predicted = band(Settings(work_s=20.0, faults={"crash": 5.0}), calibration)
    >>> predicted.way, 20.0 < predicted.low_s < predicted.median_s < predicted.high_s
    ('exact model', True)
    """
    levels = (1 - _LEVEL) / 2, 0.5, (1 + _LEVEL) / 2
    try:
        scenario = scenario_of(settings, calibration)
    except NotModelled:
        accounts = [drawn(settings, calibration, draw + 1).budget(calibration.step_s) for draw in range(N_DRAWS)]
        total_s = [S_PER_H * account.total_h for account in accounts]
        productive_s = fmean(S_PER_H * account.productive_h for account in accounts)
        low_s, median_s, high_s = np.quantile(total_s, levels).tolist()
        return PredictedBand(low_s, median_s, high_s, productive_s / fmean(total_s), "simulated fault plans")
    finishing, hours = budget.finishing(scenario), budget.exact(scenario)
    low_s, median_s, high_s = (S_PER_H * float(finishing.quantile(level)) for level in levels)
    return PredictedBand(low_s, median_s, high_s, float(hours.ettr), "exact model")
