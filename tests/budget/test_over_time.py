"""Rates that change while the job runs: against a solver of differential equations, a simulation, and by itself."""

from __future__ import annotations

import heapq
import math
import random

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp

import monte_carlo
from ettr import budget
from ettr.checkpoint import exact_interval
from ettr.core.errors import NotModelled, OutsideValidity
from ettr.core.results import PARTS

DEAD = {"recovery.detection_min": 4, "recovery.queue_min": 6}
WRITE = {"checkpoint.persist_s": 1200, "checkpoint.persist_slowdown": 0.2}


def _burn_in(factor: float, decay_days: float, age_days: float = 0.0, work_h: float = 200.0) -> dict:
    return {
        "failures.burn_in": {"factor": factor, "decay_days": decay_days, "age_days": age_days},
        "job.productive_h": work_h,
    }


def _lifetime(shape: float, start: str = "new", work_h: float = 200.0) -> dict:
    return {"failures.lifetime": {"shape": shape, "start": start}, "job.productive_h": work_h}


def _agree(ours, expected, rel: float = 1e-12) -> None:
    for part in (*PARTS, "n_failures", "total_h"):
        assert getattr(ours, part) == pytest.approx(getattr(expected, part), rel=rel, abs=1e-12), part


YOUNG = {
    "slow decay": _burn_in(5, 20),
    "fast decay": _burn_in(5, 1),
    "some age": _burn_in(8, 5, age_days=6),
    "fewer at first": _burn_in(0.1, 3),
    "none at first": _burn_in(0, 3),
    "very many at first": _burn_in(30, 0.2, work_h=30),
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


class _Changing(monte_carlo.Run):
    """A run whose failures know how many exposed hours went by."""

    def simulate(self) -> dict[str, float]:
        self.exposed_h = 0.0
        return super().simulate()

    def _exposed(self, hours: float) -> tuple[float, bool]:
        lived, failed = super()._exposed(hours)
        self.exposed_h += lived
        return lived, failed


class _Young(_Changing):
    """Failures of a rate that falls are drawn at the rate of now, and thinned to that of then."""

    def rate_at(self, hours: float) -> float:
        young = self.burn_in
        return self.rate * (1 + (young.factor - 1) * math.exp(-(hours / 24 + young.age_days) / young.decay_days))

    def _new_failure(self) -> None:
        highest = max(self.rate_at(self.exposed_h), self.rate)
        hours = self.exposed_h
        while True:
            hours += self.random.expovariate(highest)
            if self.random.random() < self.rate_at(hours) / highest:
                self.to_failure = hours - self.exposed_h
                return


class _NewNodes(_Changing):
    """Nodes with Weibull lifetimes, all new at the start, each new again after a failure."""

    def simulate(self) -> dict[str, float]:
        self.nodes: list[float] = []
        return super().simulate()

    def _new_failure(self) -> None:
        if self.nodes:
            heapq.heapreplace(self.nodes, self.exposed_h + self._lifetime())
        else:
            self.nodes = [self._lifetime() for _ in range(self.n_nodes)]
            heapq.heapify(self.nodes)
        self.to_failure = self.nodes[0] - self.exposed_h

    def _lifetime(self) -> float:
        mean_h = self.n_nodes / self.rate
        return self.random.weibullvariate(mean_h / math.gamma(1 + 1 / self.shape), self.shape)


SIMULATED = {
    "young": (_Young, _burn_in(5, 4, work_h=100) | DEAD),
    "young, with writes": (_Young, _burn_in(4, 4, age_days=1, work_h=100) | DEAD | WRITE),
    "young, fewer at first": (_Young, _burn_in(0.2, 4, work_h=200) | DEAD),
    "new nodes": (_NewNodes, _lifetime(0.7, work_h=100) | DEAD),
    "new nodes that wear": (_NewNodes, _lifetime(1.4, work_h=400) | DEAD | {"failures.rate_per_1000_node_days": 20}),
}


@pytest.mark.parametrize("name", SIMULATED)
def test_every_part_agrees_with_the_simulation(plain_run, name):
    kind, changes = SIMULATED[name]
    run = plain_run.override(changes)
    form = budget.over_time(run)
    rules = monte_carlo.rules_of(run) | {"first_queue": 0.0, "restart": 0.0}
    source, rows = random.Random(len(name)), []
    for _ in range(300):
        one = kind(**rules, random=source)
        one.burn_in, one.n_nodes = run.failures.burn_in, run.n_nodes
        one.shape = run.failures.lifetime.shape if run.failures.lifetime else 1.0
        rows.append(one.simulate())
    for part in (*PARTS, "n_failures"):
        if part not in rows[0]:
            assert getattr(form, part) == 0, part
            continue
        hours = np.array([row[part] for row in rows])
        if part == "checkpoint_h":
            hours += run.stall_h  # the last segment of a simulated run takes no checkpoint
        error = hours.std(ddof=1) / hours.size**0.5
        # four standard errors, and half a per cent for the ends of a run, which are no steady state
        allowed = 4 * error + 0.005 * getattr(form, part) + 1e-9
        assert getattr(form, part) == pytest.approx(hours.mean(), abs=allowed), part
        assert error <= 0.015 * hours.mean() + 1e-9, part


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


@pytest.mark.parametrize("same", NO_CHANGE)
@pytest.mark.parametrize("name", STEADY)
def test_a_rate_that_does_not_change_is_the_steady_state(plain_run, name, same):
    run = plain_run.override(STEADY[name])
    _agree(budget.over_time(run.override(NO_CHANGE[same])), budget.exact(run))


_FIXED = settings(
    max_examples=40, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@_FIXED
@given(
    factor=st.floats(0, 10),
    decay_days=st.floats(0.01, 100),
    age_days=st.floats(0, 100),
    rate=st.floats(0.1, 20),
    name=st.sampled_from(sorted(set(STEADY) - {"no failures"})),
)
def test_the_run_lies_between_those_at_its_lowest_and_highest_rate(plain_run, factor, decay_days, age_days, rate, name):
    run = plain_run.override(STEADY[name] | {"failures.rate_per_1000_node_days": rate})
    at_first = rate * (1 + (factor - 1) * math.exp(-age_days / decay_days))
    lowest, highest = budget.exact(run, {"failures.rate_per_1000_node_days": sorted((rate, at_first))}).total_h
    form = budget.over_time(run.override(_burn_in(factor, decay_days, age_days, work_h=40)))
    assert lowest * (1 - 1e-9) <= form.total_h <= highest * (1 + 1e-9)
    assert sum(getattr(form, part) for part in PARTS) == pytest.approx(form.total_h, rel=1e-12)
    assert form.productive_h == pytest.approx(40, rel=1e-12)


def test_a_longer_burn_in_is_worse_and_age_helps(plain_run):
    run = plain_run.override(_burn_in(5, 4) | DEAD)
    for path, better in {
        "failures.burn_in.factor": (10, 5, 2, 1, 0.5),
        "failures.burn_in.decay_days": (20, 4, 1, 0.1),
        "failures.burn_in.age_days": (0, 2, 8, 40),
    }.items():
        ettrs = [budget.over_time(run.override({path: value})).ettr for value in better]
        assert (np.diff(ettrs) > 0).all(), path


def test_only_ratios_of_times_matter(plain_run):
    run = plain_run.override(_burn_in(5, 4, age_days=1) | DEAD | WRITE)
    paths = ["failures.burn_in.decay_days", "failures.burn_in.age_days", "job.productive_h", *DEAD]
    paths += ["recovery.restart_min", "checkpoint.interval_min", "checkpoint.stall_s", "checkpoint.persist_s"]
    values = run.flat()
    changes = {path: 3 * values[path] for path in paths} | {"failures.rate_per_1000_node_days": 2.0}
    longer, expected = budget.over_time(run.override(changes)), budget.over_time(run)
    assert longer.n_failures == pytest.approx(expected.n_failures, rel=1e-11)
    for part in PARTS:
        assert getattr(longer, part) == pytest.approx(3 * getattr(expected, part), rel=1e-11, abs=1e-12), part


def test_a_count_of_new_nodes_is_met_again(llama3):
    """Of 419 failures, on nodes that are read as new, 419 are expected again; of a rate in the long run, many more."""
    memoryless = budget.over_time(llama3)
    new = llama3.override({"failures.lifetime": {"shape": 0.7, "start": "new"}})
    # not exactly: the run is a little shorter than the 54 days in which they were counted
    assert budget.over_time(new).n_failures == pytest.approx(memoryless.n_failures, rel=0.01)
    long_run = new.override({"failures.rate_per_1000_node_days": llama3.failures.rate})
    assert budget.over_time(long_run).n_failures > 1.9 * memoryless.n_failures


def test_the_rate_over_time_gives_the_failures(plain_run):
    for changes in (_burn_in(5, 4), _lifetime(0.7), _lifetime(1.4)):
        run = plain_run.override(changes | DEAD)
        form, table = budget.over_time(run), budget.rate_over_time(run)
        exposed_h = form.total_h - form.detection_h - form.queue_h
        reached = np.interp(exposed_h, [0, *table["exposed_h"]], [0, *table["n_failures"]])
        assert form.n_failures == pytest.approx(reached, rel=1e-4)
        slopes = np.diff(table["n_failures"]) / np.diff(table["exposed_h"])
        assert slopes == pytest.approx(table["rate_per_h"].to_numpy()[1:], rel=1e-9)


def test_a_start_adds_its_queue_and_a_restart(plain_run):
    run = plain_run.override(_burn_in(4, 5e4) | DEAD | {"job.first_queue_min": 90})
    steady, started = budget.over_time(run), budget.over_time(run.override({"job.include_start": True}))
    rate, restart = 4 * run.job_rate_per_h, run.restart_h  # of the first moment
    n_more = math.expm1(rate * restart)
    for part, more in {
        "n_failures": n_more,
        "restart_h": n_more / rate,
        "detection_h": n_more / 15,
        "queue_h": 1.5 + n_more / 10,
        "rework_h": 0,
        "checkpoint_h": 0,
    }.items():
        assert getattr(started, part) - getattr(steady, part) == pytest.approx(more, rel=1e-3, abs=1e-4), part


def test_an_interval_that_follows_the_rate_beats_any_that_stays(plain_run):
    run = plain_run.override(_burn_in(20, 2) | DEAD)
    moving = budget.over_time(run, lambda rate_per_h: 60 * exact_interval(run.stall_h, 1 / rate_per_h))
    fixed = [
        budget.over_time(run.override({"checkpoint.interval_min": minutes})).total_h for minutes in range(10, 90, 5)
    ]
    assert 0.9 * min(fixed) < moving.total_h < min(fixed)
    same = budget.over_time(run, lambda rate_per_h: np.full_like(rate_per_h, 60.0))
    _agree(same, budget.over_time(run))


@pytest.mark.parametrize("formula", budget.FORMULAS.values(), ids=budget.FORMULAS)
@pytest.mark.parametrize(
    ("changes", "field"),
    [
        (_burn_in(5, 4), "failures.burn_in"),
        (_lifetime(0.7), "failures.lifetime"),
        (_lifetime(0.7, start="stationary"), "failures.lifetime"),
    ],
)
def test_forms_of_a_steady_rate_refuse_one_that_changes(plain_run, formula, changes, field):
    with pytest.raises(NotModelled, match=rf"{field}.*budget\.over_time"):
        formula(plain_run.override(changes))


def test_what_it_has_no_answer_for_is_refused(plain_run):
    both = _burn_in(5, 4) | _lifetime(0.7)
    with pytest.raises(NotModelled, match=r"burn_in.*lifetime"):
        budget.over_time(plain_run.override(both))
    with pytest.raises(OutsideValidity, match=r"budget\.over_time"):
        budget.over_time(plain_run.override(_burn_in(5, 4) | {"cluster.n_gpus": 8_000_000_000}))
    with pytest.raises(NotModelled, match="prediction"):
        budget.over_time(plain_run.override(STEADY["predicted"] | TIERS | {"checkpoint.persist_slowdown": 0}))


def test_at_the_mean_rate_a_run_has_as_many_failures_and_nearly_the_same_ettr(llama3):
    """What a plan for a changing rate rests on: the loss is nearly linear in the rate."""
    young = llama3.override({"failures.burn_in": {"factor": 5, "decay_days": 7}, "job.include_start": False})
    steady = budget.at_mean_rate(young)
    whole = budget.over_time(young)
    assert not budget.changes(steady) and budget.changes(young)
    assert steady.failures.rate > llama3.failures.rate
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
    whole, closed = budget.over_time(flat), budget.exact(run)
    for part in (*PARTS, "n_failures"):
        assert getattr(whole, part) == pytest.approx(getattr(closed, part), rel=1e-6, abs=1e-12), part


def test_the_mean_rate_of_silent_failures_is_that_of_the_hours_at_risk(llama3):
    base = {"failures.modes": [], "failures.rate_per_1000_node_days": 0.5, "maintenance": None}
    quiet = llama3.override({**base, **RICH["silent"], "checkpoint.interval_min": 60})
    nearly = quiet.override({"failures.burn_in": {"factor": 1.001, "decay_days": 20}})
    assert budget.at_mean_rate(nearly).failures.rate == pytest.approx(0.5, rel=1.1e-3)


def test_what_is_known_of_a_rate_stays_known_at_its_mean(llama3):
    steady = budget.at_mean_rate(llama3.override({"failures.burn_in": {"factor": 3, "decay_days": 20}}))
    known = steady.failures.posterior
    assert known.shape == 419.5
    assert 1000 * known.shape / known.node_days == pytest.approx(steady.failures.rate, rel=2e-3)


def test_a_count_of_new_nodes_comes_back_from_nodes_as_new(llama3):
    """Whatever the size of the job and the clock of the count."""
    new = llama3.override({"failures.lifetime": {"shape": 0.7, "start": "new"}})
    table = budget.rate_over_time(new)
    window_h = 54 * 24 * new.failures.exposed_share
    assert np.interp(window_h, table["exposed_h"], table["n_failures"]) == pytest.approx(419, rel=2e-3)
    half = new.override({"cluster.n_gpus": 8192})
    table = budget.rate_over_time(half)
    assert np.interp(window_h, table["exposed_h"], table["n_failures"]) == pytest.approx(419 / 2, rel=2e-3)


def test_stationary_nodes_have_a_steady_rate(llama3):
    old = llama3.override({"failures.lifetime": {"shape": 0.7}})
    assert not budget.changes(old) and budget.at_mean_rate(old) == llama3
