"""Hours of training of a run with one kind of checkpoint, recoveries aside; failures detected at once or silent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ettr.checkpoint import growth
from ettr.core.units import ROUNDING
from ettr.scenario import JobInHours


@dataclass(frozen=True)
class Training:
    """Expected hours of training of a run, without its recoveries.

    Attributes
    ----------
    exposed_h : float or ndarray
        Hours of training, stalls and lost work. [h]
    risk_h : float or ndarray
        Hours at risk: λ times these is the number of failures in training. [h]
    last_h : float or ndarray
        Part of ``exposed_h`` after the last durable checkpoint, in which no maintenance is served. [h]
    rework_h, slowdown_h, checkpoint_h : float or ndarray
        Parts of ``exposed_h``; the rest is productive. [h]
    n_durable : float or ndarray
        Number of checkpoints that become durable in the store.
    largest_exponent : float or ndarray
        Largest exponent in the formulas, which overflows if the run would practically never end.
    redo_share : float or ndarray
        Share of failures that undo the work repeated after a planned stop.
    """

    exposed_h: Any
    risk_h: Any
    last_h: Any
    rework_h: Any
    slowdown_h: Any
    checkpoint_h: Any
    n_durable: Any
    largest_exponent: Any
    redo_share: Any = 1.0


def recover(run: JobInHours, risk_h: Any, n_planned: Any) -> tuple[Any, Any]:
    """Failures and hours of restarts, for a stretch of training with planned restarts.

    Restarts are exposed to failures too: of n attempts a share ``survive_restart`` ends well.
    """
    planned_h = n_planned * run.planned_restart_h
    at_risk_h = risk_h + planned_h
    survive = run.survive_restart
    return run.rate * at_risk_h / survive, planned_h + at_risk_h * run.cut_restart / survive


def plain(run: JobInHours) -> Training:
    """Training of a run with its start and end, or in the steady state."""
    return _finite_run(run) if run.include_start else _steady_state(run)


def _stage(rate: Any, first_h: Any, again_h: Any) -> tuple[Any, Any]:
    """Exposed hours of a stage, (1 - e^{-λx}) e^{λB}/λ with x = first_h and B = again_h, and their excess over x.

    The excess is computed on its own, so that it keeps its digits where failures are rare.
    """
    repeat = np.expm1(rate * (again_h - first_h))
    excess = _excess(rate, first_h) * (1 + repeat) + first_h * repeat
    return first_h + excess, excess


def _excess(rate: Any, duration_h: Any) -> Any:
    """(e^{λx} - 1)/λ - x, by its series where λx is small and the difference would lose digits. [h]"""
    exponent = np.asarray(rate * duration_h)
    difference = growth(rate, duration_h) - duration_h
    small = exponent < 0.01
    if not small.any():
        return difference
    series = (
        duration_h * exponent / 2 * (1 + exponent / 3 * (1 + exponent / 4 * (1 + exponent / 5 * (1 + exponent / 6))))
    )
    return np.where(small, series, difference)


def _steady_state(run: JobInHours) -> Training:
    """Steady state: work / τ segments, each from one durable checkpoint to the next."""
    n = run.work / run.tau
    again = run.tau + run.stall + run.persist
    exposed, excess = _stage(run.rate, run.cycle, again)
    # the slowdown of a write is rework if a failure strikes before the next checkpoint is durable
    write = run.slowdown * run.persist
    kept = np.exp(-run.rate * run.cycle)
    return Training(
        exposed_h=n * exposed,
        risk_h=n * exposed,
        last_h=0.0,
        rework_h=n * (excess + write * (1 - kept)),
        slowdown_h=n * write * kept,
        checkpoint_h=n * run.stall,
        n_durable=n,
        largest_exponent=run.rate * again,
    )


@dataclass(frozen=True)
class Stages:
    """A run as a sequence of stages, each ending with a durable checkpoint, and the last with the work.

    A stage needs a number of exposed hours without failure, at the first attempt and after a recovery.

    Attributes
    ----------
    first_h : float or ndarray
        Hours of the first stage, at each attempt. [h]
    n_middle : float or ndarray
        Number of stages between the first and the last: a cycle at the first attempt, ``again_h`` after a recovery.
    again_h : float or ndarray
        Hours from a loaded checkpoint to the next durable one. [h]
    last_first_h, last_again_h : float or ndarray
        Hours of the last stage, at its first attempt and after a recovery. [h]
    only_stage : bool or ndarray
        Whether the first stage is the last.
    n : float or ndarray
        Number of checkpoints taken.
    ends_in_write : bool or ndarray
        Whether the work is done before the last checkpoint is durable.
    end_h, rest_h : float or ndarray
        Wall clock and work after the last checkpoint, if the work ends during its write. [h]
    """

    first_h: Any
    n_middle: Any
    again_h: Any
    last_first_h: Any
    last_again_h: Any
    only_stage: Any
    n: Any
    ends_in_write: Any
    end_h: Any
    rest_h: Any

    @property
    def n_durable(self) -> Any:
        """Number of checkpoints that become durable."""
        return self.n - self.ends_in_write


def stages_of(run: JobInHours) -> Stages:
    """Stages of a run from its start to its end; the last segment takes no checkpoint."""
    tau, head = run.tau, run.head
    n = np.maximum(np.ceil(run.work / tau - ROUNDING) - 1, 0)
    rest = np.clip(run.work - n * tau, 0.0, tau)
    ends_in_write = (n > 0) & (rest < head)
    end_h = rest / (1 - run.slowdown)
    again = tau + run.stall + run.persist
    again_to_end = tau + run.stall + end_h
    only_stage = (n == 0) | (ends_in_write & (n == 1))
    return Stages(
        first_h=np.where(n == 0, run.work, np.where(only_stage, again_to_end, again)),
        n_middle=np.where(only_stage, 0, np.where(ends_in_write, n - 2, n - 1)),
        again_h=again,
        last_first_h=np.where(ends_in_write, again_to_end - head, rest - head),
        last_again_h=np.where(ends_in_write, again_to_end, rest),
        only_stage=only_stage,
        n=n,
        ends_in_write=ends_in_write,
        end_h=end_h,
        rest_h=rest,
    )


def _finite_run(run: JobInHours) -> Training:
    """Training from submission to the last productive hour: the sum over the first, middle and last stages."""
    rate, write, stages = run.rate, run.slowdown * run.persist, stages_of(run)
    first_h, first_excess = _stage(rate, stages.first_h, stages.first_h)
    # where there are no middle stages, their length may overflow and must not count
    middle_h, middle_excess = (
        np.where(stages.n_middle > 0, hours, 0.0) for hours in _stage(rate, run.cycle, stages.again_h)
    )
    last_h, last_excess = _stage(rate, stages.last_first_h, stages.last_again_h)
    last_h, last_excess = np.where(stages.only_stage, 0.0, last_h), np.where(stages.only_stage, 0.0, last_excess)

    # the slowdown of a write counts if no failure strikes before the next checkpoint is durable; else it is rework
    kept_middle = np.exp(-rate * run.cycle)
    kept_last = np.where(stages.only_stage, 0.0, np.exp(-rate * stages.last_first_h))
    lost_last = np.where(stages.only_stage, 0.0, -np.expm1(-rate * stages.last_first_h))
    slowdown = write * (stages.n_middle * kept_middle + kept_last)
    slowdown = slowdown + np.where(stages.ends_in_write, stages.end_h - stages.rest_h, 0.0)
    rework = first_excess + stages.n_middle * (middle_excess - write * np.expm1(-rate * run.cycle)) + last_excess
    exposed = first_h + stages.n_middle * middle_h + last_h
    return Training(
        exposed_h=exposed,
        risk_h=exposed,
        last_h=np.where(stages.only_stage, first_h, last_h),
        rework_h=rework + write * lost_last,
        slowdown_h=slowdown,
        checkpoint_h=stages.n * run.stall,
        n_durable=stages.n_durable,
        largest_exponent=rate * np.maximum(stages.first_h, np.where(stages.only_stage, 0.0, stages.again_h)),
    )


def silent(run: JobInHours) -> Training:
    """Training of a run whose failures are all silent, in the steady state: all work since they struck is lost."""
    n, segment = run.work / run.tau, run.tau + run.stall
    risk = growth(run.rate, segment)
    exposed = risk * (1 + run.rate * run.latency)
    return Training(
        exposed_h=n * exposed,
        risk_h=n * risk,
        last_h=0.0,
        rework_h=n * (exposed - segment),
        slowdown_h=0.0,
        checkpoint_h=n * run.stall,
        n_durable=n,
        largest_exponent=run.rate * segment,
    )


def recover_silent(run: JobInHours, risk_h: Any, n_planned: Any) -> tuple[Any, Any]:
    """Silent failures and hours of restarts, during which no failure corrupts anything."""
    n_failures = run.rate * risk_h
    return n_failures, n_failures * run.restart_after + n_planned * run.start * np.ones_like(n_failures)
