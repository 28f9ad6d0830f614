"""Rates that change while the job runs: against a solver of differential equations, and by itself."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from grids import DEAD, WRITE, burn_in, lifetime
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp

from agreement import same
from ettr import budget
from ettr.checkpoint import exact_interval
from ettr.core.errors import NotModelled, OutsideValidity
from ettr.core.results import PARTS
from written_scenarios import zero_or_up_to

YOUNG = {
    "slow decay": burn_in(5, 20),
    "fast decay": burn_in(5, 1),
    "some age": burn_in(8, 5, age_days=6),
    "fewer at first": burn_in(0.1, 3),
    "none at first": burn_in(0, 3),
    "very many at first": burn_in(30, 0.2, work_h=30),
}


@pytest.mark.parametrize("name", YOUNG)
def test_burn_in_is_the_solution_of_its_differential_equation(plain_run, name):
    """Work, stalls, failures and restarts as functions of exposed time, by formulas of the steady state."""
    run = plain_run.override(YOUNG[name] | DEAD)
    young, settled = run.failures.burn_in, run.job_rate_per_h
    segment, restart = run.interval_h + run.stall_h, run.restart_h

    def growth_of(t: float, _: np.ndarray) -> list[float]:
        excess = (young.factor - 1) * math.exp(-(t / 24 + young.age_days) / young.decay_days)
        rate = max(settled * (1 + excess), 1e-12)
        trained = math.expm1(rate * segment) / rate
        exposed = trained * math.exp(rate * restart)
        return [run.interval_h / exposed, run.stall_h / exposed, rate, 1 - trained / exposed]

    def work_left(_: float, parts: np.ndarray) -> float:
        return run.job.productive_h - parts[0]

    work_left.terminal = True
    solved = solve_ivp(growth_of, (0, 1e5), np.zeros(4), events=work_left, rtol=1e-10, atol=1e-10, max_step=5)
    form, (work, stalls, n_failures, restarts) = budget.over_time(run), solved.y[:, -1]
    assert form.productive_h == pytest.approx(work, rel=1e-12)
    # the steps of over_time are a hundredth apart
    assert form.checkpoint_h == pytest.approx(stalls, rel=2e-5)
    assert form.n_failures == pytest.approx(n_failures, rel=2e-5)
    assert form.restart_h == pytest.approx(restarts, rel=2e-5)
    assert form.rework_h == pytest.approx(solved.t[-1] - work - stalls - restarts, rel=2e-4)
    assert form.detection_h == pytest.approx(n_failures / 15, rel=2e-5)
    assert form.queue_h == pytest.approx(n_failures / 10, rel=2e-5)


TIERS = {
    "checkpoint.tiers": [{"name": "memory", "interval_s": 300, "stall_s": 3, "write_s": 40, "survives": 0.7}],
    "checkpoint.persist_s": 900,
}
STEADY = {
    "plain": DEAD,
    "write": DEAD | WRITE,
    "tiers": DEAD | TIERS,
    "predicted": WRITE | {"prediction": {"recall": 0.6, "precision": 0.5, "lead_s": 90, "action_s": 60}},
    "silent": DEAD | {"failures.modes": [{"name": "sdc", "share": 1, "latency_h": 2}]},
    "no failures": {"failures.rate_per_1000_node_days": 0},
}
NO_CHANGE = {
    "as settled": {"failures.burn_in": {"factor": 1, "decay_days": 3}},
    "long settled": {"failures.burn_in": {"factor": 9, "decay_days": 1, "age_days": 1e4}},
    "without a memory": {"failures.lifetime": {"shape": 1, "start": "new"}},
    "in the middle of their lives": {"failures.lifetime": {"shape": 0.7, "start": "stationary"}},
    "nothing said": {},
}


@pytest.mark.parametrize(
    ("name", "change"),
    [
        pytest.param(name, change, marks=() if name == "write" or change == "as settled" else pytest.mark.slow)
        for name, change in itertools.product(STEADY, NO_CHANGE)
    ],
)
def test_a_rate_that_does_not_change_is_the_steady_state(plain_run, name, change):
    run = plain_run.override(STEADY[name])
    same(budget.over_time(run.override(NO_CHANGE[change])), budget.exact(run), rounding_h=1e-12)


_FIXED = settings(
    max_examples=25, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@_FIXED
@given(
    factor=zero_or_up_to(10),
    decay_days=st.floats(0.01, 100),
    age_days=zero_or_up_to(100),
    rate=st.floats(0.1, 20),
    name=st.sampled_from(sorted(set(STEADY) - {"no failures"})),
)
def test_the_run_lies_between_those_at_its_lowest_and_highest_rate(plain_run, factor, decay_days, age_days, rate, name):
    run = plain_run.override(STEADY[name] | {"failures.rate_per_1000_node_days": rate})
    at_first = rate * (1 + (factor - 1) * math.exp(-age_days / decay_days))
    lowest, highest = budget.exact(run, {"failures.rate_per_1000_node_days": sorted((rate, at_first))}).total_h
    form = budget.over_time(run.override(burn_in(factor, decay_days, age_days, work_h=40)))
    assert lowest * (1 - 1e-9) <= form.total_h <= highest * (1 + 1e-9)
    assert sum(getattr(form, part) for part in PARTS) == pytest.approx(form.total_h, rel=1e-12)
    assert form.productive_h == pytest.approx(40, rel=1e-12)


def test_a_start_adds_its_queue_and_a_restart(plain_run):
    run = plain_run.override(burn_in(4, 5e4) | DEAD)
    steady, started = budget.over_time(run), budget.over_time(run.override({"job.include_start": True}))
    rate, restart = 4 * run.job_rate_per_h, run.restart_h  # of the first moment
    n_more = math.expm1(rate * restart)
    for part, more in {
        "n_failures": n_more,
        "restart_h": n_more / rate,
        "detection_h": n_more / 15,
        "queue_h": 0.1 + n_more / 10,
        "rework_h": 0,
        "checkpoint_h": 0,
    }.items():
        assert getattr(started, part) - getattr(steady, part) == pytest.approx(more, rel=1e-3, abs=1e-4), part


def test_an_interval_that_follows_the_rate_beats_any_that_stays(plain_run):
    run = plain_run.override(burn_in(20, 2) | DEAD)
    moving = budget.over_time(run, lambda rate_per_h: 60 * exact_interval(run.stall_h, 1 / rate_per_h))
    fixed = [
        budget.over_time(run.override({"checkpoint.interval_min": minutes})).total_h for minutes in range(10, 90, 5)
    ]
    assert 0.9 * min(fixed) < moving.total_h < min(fixed)
    hourly = budget.over_time(run, lambda rate_per_h: np.full_like(rate_per_h, 60.0))
    same(hourly, budget.over_time(run), rounding_h=1e-12)


@pytest.mark.parametrize("formula", budget.FORMULAS.values(), ids=budget.FORMULAS)
@pytest.mark.parametrize(
    ("changes", "field"),
    [
        (burn_in(5, 4), "failures.burn_in"),
        (lifetime(0.7), "failures.lifetime"),
        (lifetime(0.7, start="stationary"), "failures.lifetime"),
    ],
)
def test_forms_of_a_steady_rate_refuse_one_that_changes(plain_run, formula, changes, field):
    with pytest.raises(NotModelled, match=rf"{field}.*budget\.over_time"):
        formula(plain_run.override(changes))


def test_what_it_has_no_answer_for_is_refused(plain_run):
    both = burn_in(5, 4) | lifetime(0.7)
    with pytest.raises(NotModelled, match=r"burn_in.*lifetime"):
        budget.over_time(plain_run.override(both))
    with pytest.raises(OutsideValidity, match=r"budget\.over_time"):
        budget.over_time(plain_run.override(burn_in(5, 4) | {"cluster.n_gpus": 8_000_000_000}))
    with pytest.raises(NotModelled, match="prediction"):
        budget.over_time(plain_run.override(STEADY["predicted"] | TIERS | {"checkpoint.persist_slowdown": 0}))


def test_at_the_mean_rate_a_run_has_as_many_failures_and_nearly_the_same_ettr(llama3):
    """What a plan for a changing rate rests on: the loss is nearly linear in the rate."""
    young = llama3.override({"failures.burn_in": {"factor": 5, "decay_days": 7}, "job.include_start": False})
    steady = budget.at_mean_rate(young)
    whole = budget.over_time(young)
    assert not budget.changes(steady) and budget.changes(young)
    assert steady.failure_rate > llama3.failure_rate
    assert budget.exact(steady).n_failures == pytest.approx(whole.n_failures, rel=0.005)
    assert budget.exact(steady).ettr == pytest.approx(whole.ettr, abs=0.002)
    assert budget.at_mean_rate(llama3) is llama3


RICH = {
    "tiers": {"checkpoint.tiers": [{"name": "peer", "interval_s": 60, "survives": 0.9}], "checkpoint.load_s": 3600},
    "silent": {"failures.modes": [{"name": "s", "share": 1.0, "latency_h": 2}], "checkpoint.persist_s": 0},
    "prediction": {"prediction": {"recall": 0.5, "precision": 0.8, "lead_s": 60, "action_s": 30}},
}


@pytest.mark.parametrize("name", RICH)
def test_the_start_is_that_of_the_exact_form(llama3, name):
    """A steady rate that goes through the integral must come out as it went in, with the first restart."""
    base = {"failures.modes": [], "failures.rate_per_1000_node_days": 5, "job.productive_h": 10, "maintenance": None}
    run = llama3.override({**base, **RICH[name]})
    flat = run.override({"failures.burn_in": {"factor": 1, "decay_days": 10}})
    integrated, closed = budget.over_time(flat), budget.exact(run)
    for part in (*PARTS, "n_failures"):
        assert getattr(integrated, part) == pytest.approx(getattr(closed, part), rel=1e-6, abs=1e-12), part


def test_a_count_of_new_nodes_comes_back_from_nodes_as_new(llama3):
    """Of a rate in the long run, many more come."""
    new = llama3.override({"failures.lifetime": {"shape": 0.7, "start": "new"}})
    # not exactly: the run is a little shorter than the 54 days in which they were counted
    memoryless = budget.over_time(llama3).n_failures
    assert budget.over_time(new).n_failures == pytest.approx(memoryless, rel=0.01)
    long_run = new.override({"failures.rate_per_1000_node_days": llama3.failure_rate})
    assert budget.over_time(long_run).n_failures > 1.9 * memoryless
