"""Announced failures: the closed form by itself."""

from __future__ import annotations

import math

import numpy as np
import pytest
from grids import DEAD, MODES, WRITE, alarms
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agreement import same
from ettr import budget
from ettr.core.results import PARTS
from written_scenarios import zero_or_up_to


@pytest.mark.parametrize("write", [{}, WRITE, WRITE | MODES], ids=["no write", "write", "write and modes"])
@pytest.mark.parametrize(
    "useless",
    [
        alarms(1e-15, 0.5, 30),
        alarms(0.9, 0.9, 60, lead_s=59),
        alarms(0.9, 0.01, 60),
    ],
    ids=["recall near 0", "too late", "threshold beyond the interval"],
)
def test_a_predictor_of_no_use_is_none(plain_run, write, useless):
    run = plain_run.override(DEAD | write)
    same(budget.exact(run.override(useless)), budget.exact(run))


def test_a_perfect_predictor_at_no_cost_loses_no_work(plain_run):
    """All failures strike just after a checkpoint that took no time; what is left is the restart of each."""
    free = alarms(1, 1, 0) | {"checkpoint.stall_s": 0} | DEAD
    run = plain_run.override(free)
    form, rate = budget.exact(run), run.job_rate_per_h
    assert form.rework_h == pytest.approx(0, abs=1e-12) and form.checkpoint_h == 0
    n_failures = 40 * rate * math.exp(rate / 6)
    assert form.n_failures == pytest.approx(n_failures, rel=1e-12)
    assert form.total_h == pytest.approx(40 * math.exp(rate / 6) + n_failures / 6, rel=1e-12)


def test_a_worked_value(plain_run):
    """No write, no stall, mean time to failure 1 h, all announced, half of it true; answered from 0.5 h on.

    Failures lose the work of the first half hour, alarms at 2 per hour end the second.
    """
    rate = {"failures.rate_per_1000_node_days": 24.0, "recovery.restart_min": 0, "checkpoint.stall_s": 0}
    form = budget.exact(plain_run.override(alarms(1, 0.5, 900) | rate))
    early_h, into = 1 - math.exp(-0.5), math.exp(-0.5)  # hours at risk before 0.5 h; probability of reaching it
    heeded_h, through = (1 - math.exp(-1)) / 2, math.exp(-1)  # up to an alarm or the checkpoint at 1 h
    action_h, answered = 1 - math.exp(-0.25), math.exp(-0.25)
    # work secured: that at the alarm, 0.5 h and what was trained since, or the whole interval
    at_alarm = 0.5 * (1 - through) + _after(2, 0.5)
    secured = into * (answered * at_alarm + through)
    exposed = early_h + into * (heeded_h + (1 - through) * action_h)
    n_failures = (1 - into) + into * (1 - through) * (1 - answered + answered * 0.5)
    assert form.n_failures == pytest.approx(40 * n_failures / secured, rel=1e-12)
    assert form.total_h == pytest.approx(40 * exposed / secured, rel=1e-12)
    assert form.checkpoint_h == pytest.approx(40 * into * (1 - through) * answered * 0.25 / secured, rel=1e-12)


def _after(rate: float, length: float) -> float:
    """Mean time to an alarm within a length, times its probability."""
    return (1 - math.exp(-rate * length) * (1 + rate * length)) / rate


_FIXED = settings(
    max_examples=60, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
_SHARE = st.floats(0.01, 1)
_RUNS = st.fixed_dictionaries(
    {
        "failures.rate_per_1000_node_days": st.floats(0.1, 40),
        "checkpoint.stall_s": zero_or_up_to(600),
        "checkpoint.persist_s": zero_or_up_to(3600),
        "checkpoint.persist_slowdown": zero_or_up_to(0.5),
        "recovery.restart_min": zero_or_up_to(30),
        "recovery.detection_min": zero_or_up_to(30),
    }
)


@_FIXED
@given(changes=_RUNS, recall=_SHARE, precision=_SHARE, more=st.floats(0.01, 1))
def test_answers_at_no_cost_never_hurt(plain_run, changes, recall, precision, more):
    run = plain_run.override(changes)
    higher = recall + more * (1 - recall)
    none, some, most = (
        budget.exact(case).ettr
        for case in (
            run,
            run.override(alarms(recall, precision, 0)),
            run.override(alarms(higher, precision, 0)),
        )
    )
    assert none <= some * (1 + 1e-12) and some <= most * (1 + 1e-12)
    assert most > none


@_FIXED
@given(changes=_RUNS, recall=_SHARE, precision=_SHARE, action_s=zero_or_up_to(3600))
def test_parts_are_sound_in_any_run(plain_run, changes, recall, precision, action_s):
    run = plain_run.override(changes | alarms(recall, precision, action_s))
    form = budget.exact(run)
    for part in (*PARTS, "n_failures"):
        assert getattr(form, part) >= -1e-12 * form.total_h, part
    assert sum(getattr(form, part) for part in PARTS) == pytest.approx(form.total_h, rel=1e-12)
    exposed_h = form.total_h - form.detection_h - form.queue_h
    # an announced failure comes to nothing where another one strikes during the action
    void = math.exp(-run.job_rate_per_h * action_s / 3600)
    assert void * (1 - 1e-9) <= form.n_failures / (run.job_rate_per_h * exposed_h) <= 1 + 1e-9


def test_the_first_order_is_the_limit_of_rare_failures(plain_run):
    """With 16 times fewer failures, and the interval that suits them, the difference falls by more than the loss."""
    run = plain_run.override(alarms(0.6, 0.85, 30) | DEAD | {"checkpoint.stall_s": 30, "job.productive_h": 1e6})
    rates = np.array([0.5, 0.5 / 16, 0.5 / 256])
    at = {
        "failures.rate_per_1000_node_days": rates,
        "checkpoint.interval_min": 60 * np.sqrt(0.5 / rates),
    }
    exact, first = budget.exact(run, at).ettr, budget.first_order(run, at).ettr
    error = np.abs(exact - first) / (1 - exact)
    assert (error[1:] < error[:-1] / 3).all()
    assert error[-1] < 1e-3
