"""Predicted failures: an alarm is answered by an immediate checkpoint.

The steady state of a job in three states: fresh (nothing at risk), writing (a checkpoint was just taken and its
background write begins), and written (the write has ended, and the training done meanwhile is at risk). All counts are
per checkpoint that was begun.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ettr.budget.training import Training
from ettr.checkpoint import alarm_rate_per_h, heed_threshold_h, mean_until
from ettr.scenario import JobInHours


@dataclass(frozen=True)
class _Alarms:
    """Rates of alarms and of failures without one [1/h], share of failures with one, and the answer to an alarm.

    ``answer_h`` are the mean hours of an answer until it ends or a failure strikes, ``answered`` is the probability
    that none strikes, and ``heed_from_h`` the work at risk from which an alarm is answered.
    """

    rate: Any
    unannounced: Any
    true: Any
    answer_h: Any
    answered: Any
    heed_from_h: Any

    @property
    def ends(self) -> Any:
        """Rate of alarms and unannounced failures together, which end a stretch of training. [1/h]"""
        return self.rate + self.unannounced


@dataclass(frozen=True)
class _Stretch:
    """Training from some hours at risk to the next checkpoint, per visit: hours, and probabilities of its end.

    ``early_h`` are the hours in which alarms are ignored, ``heeded_h`` those in which they are answered, and
    ``secured_h`` the integral of the work at risk over the latter.
    """

    early_h: Any
    heeded_h: Any
    secured_h: Any
    reaches_stall: Any
    reaches_write: Any


def predicted(run: JobInHours) -> Training:
    """Training of a run with alarms, in the steady state."""
    alarms = _alarms(run)
    # a visit to each state: its hours and the probabilities to leave it for the stall, the write, or an answer
    survive_stall = np.exp(-run.rate * run.stall)
    fresh, written = (_stretch(run, alarms, at_risk, survive_stall) for at_risk in (0.0, run.head))
    write_h = mean_until(alarms.ends, run.persist)
    write_ends = np.exp(-alarms.ends * run.persist)
    in_write_h = _first_moment(alarms.ends, run.persist, write_h, write_ends)
    answered_in_write = alarms.rate * alarms.answered * write_h

    # visits per begun checkpoint: the balance of the flux into writing, which is 1
    n_written = write_ends
    n_fresh = (1 - write_ends * written.reaches_write) / fresh.reaches_write
    heeded_h = n_fresh * fresh.heeded_h + n_written * written.heeded_h + write_h
    early_h = n_fresh * fresh.early_h + n_written * written.early_h
    stalls_h = (n_fresh * fresh.reaches_stall + n_written * written.reaches_stall) * mean_until(run.rate, run.stall)
    answers_h = alarms.rate * heeded_h * alarms.answer_h
    # work that becomes durable per begun checkpoint: by answers to alarms, and by writes that end
    secured = alarms.rate * alarms.answered * (n_fresh * fresh.secured_h + n_written * written.secured_h)
    secured = secured + write_ends * run.tau + answered_in_write * run.tau
    secured = secured + alarms.rate * alarms.answered * (1 - run.slowdown) * in_write_h

    kept = write_ends + answered_in_write  # checkpoints that become durable, or are replaced by an answer
    after_write = alarms.rate * alarms.answered * written.heeded_h + written.reaches_write * kept
    slow = run.slowdown * (run.persist * write_ends * after_write + alarms.rate * alarms.answered * in_write_h)
    action = run.prediction.action if run.prediction else 0.0
    checkpoint = kept * run.stall + alarms.rate * alarms.answered * heeded_h * action
    exposed = early_h + heeded_h + stalls_h + answers_h
    risk = early_h + stalls_h + answers_h + (1 - alarms.true) * heeded_h + alarms.true * alarms.answered * heeded_h
    n = run.work / secured  # begun checkpoints
    return Training(
        exposed_h=n * exposed,
        risk_h=n * risk,
        last_h=0.0,
        rework_h=n * np.maximum(exposed - secured - checkpoint - slow, 0.0),  # rounding, where nothing fails
        slowdown_h=n * slow,
        checkpoint_h=n * checkpoint,
        n_durable=n * kept,
        largest_exponent=-np.log(fresh.reaches_write * write_ends),
    )


def _alarms(run: JobInHours) -> _Alarms:
    """Alarms of a run; none if its interval is too short for an answer to pay."""
    assert run.prediction is not None
    heed_from = heed_threshold_h(run.prediction.action, run.prediction.precision)
    recall = np.where(heed_from <= run.tau, run.prediction.recall, 0.0)
    return _Alarms(
        rate=alarm_rate_per_h(run.rate, recall, run.prediction.precision),
        unannounced=run.rate * (1 - recall),
        true=recall,
        answer_h=mean_until(run.rate, run.prediction.action),
        answered=np.exp(-run.rate * run.prediction.action),
        heed_from_h=heed_from,
    )


def _stretch(run: JobInHours, alarms: _Alarms, at_risk_h: Any, survive_stall: Any) -> _Stretch:
    """Stretch from some hours at risk on: alarms are ignored until enough work is at risk, then answered."""
    heed_from = np.maximum(at_risk_h, np.minimum(alarms.heed_from_h, run.tau))
    early, heeded = heed_from - at_risk_h, run.tau - heed_from
    into_heeded = np.exp(-run.rate * early)
    heeded_h, to_stall = mean_until(alarms.ends, heeded), np.exp(-alarms.ends * heeded)
    secured_h = heed_from * heeded_h + _first_moment(alarms.ends, heeded, heeded_h, to_stall)
    return _Stretch(
        early_h=mean_until(run.rate, early),
        heeded_h=into_heeded * heeded_h,
        secured_h=into_heeded * secured_h,
        reaches_stall=into_heeded * to_stall,
        reaches_write=into_heeded * to_stall * survive_stall,
    )


def _first_moment(rate: Any, length_h: Any, mean_h: Any, survives: Any) -> Any:
    """Integral of v e^(-rate v) from 0 to a length; by its series where the difference would lose digits. [h2]"""
    exponent = np.asarray(rate * length_h, dtype=float)
    small = exponent < 1e-3
    series = np.square(length_h) * (1 / 2 - exponent * (1 / 3 - exponent * (1 / 8 - exponent / 30)))
    closed = (mean_h - length_h * survives) / np.where(small, 1.0, rate)
    return np.where(small, series, closed)
