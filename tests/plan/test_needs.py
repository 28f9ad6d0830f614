"""What a field would have to be, against a scenario a value and a root finder, and what blocks a target."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ettr import Scenario, budget, plan, simulate, spares
from ettr.core.errors import InputError, NotModelled, UnknownName
from ettr.plan.fields import field_of
from ettr.plan.needs import bottlenecks
from ettr.scenario.job_in_hours import SHORTEST_MIN
from ettr.scenario.paths import INTERVAL, RATE
from mechanisms import DISK, PEER, WARNED

STORE = {"n_parameters": 405e9, "write_gb_s": 100, "read_gb_s": 100, "node_gb_s": 1}


def large(name: str) -> Scenario:
    """A run of each mechanism, on 100,000 GPUs, in the steady state, whose starts are as observed on fewer."""
    steady = {"maintenance": None, "job.include_start": False, "checkpoint.load_s": 0, INTERVAL: 60}
    run = Scenario.load("h100-100k").override({**steady, "recovery.init_s_per_1000_gpus": 0})
    changes = {
        "plain": {},
        "tiers": {"checkpoint.tiers": [PEER, DISK]},
        "prediction": {"prediction": WARNED},
        "store": {"checkpoint.persist_s": 0, "checkpoint.store": STORE},
    }
    return run.override(changes[name])


def put_back(run: Scenario, field: str, value: float) -> float:
    """ETTR at the best interval of a scenario with that value."""
    at = run.override({field: int(value) if field == "cluster.n_gpus" else value})
    return float(budget.exact(at.override({INTERVAL: budget.best_interval_min(at)})).ettr)


# --------------------------------------------------------------------------- the value


@pytest.mark.parametrize("field", ["failures.rate_per_1000_node_days", "recovery.restart_min"])
def test_with_start_and_maintenance_a_required_value_reaches_the_target_and_a_larger_one_does_not(field):
    scenario = Scenario.load("h100-100k").override({"recovery.init_s_per_1000_gpus": 0})
    need = plan.required(scenario, field, 0.75)
    assert (need.field, need.target_ettr, need.sense) == (field, 0.75, "at most")
    assert need.best_ettr == pytest.approx(plan.ettr_at_best(scenario.override({field: 0})))
    assert plan.ettr_at_best(scenario.override({field: need.value})) == pytest.approx(0.75, abs=1e-6)
    assert plan.ettr_at_best(scenario.override({field: need.value * 1.001})) < 0.75
    assert need.given == {RATE: scenario.failure_rate}.get(field, scenario.recovery.restart_min)


SOLVED = [
    ("plain", "cluster.n_gpus", 0.9),
    ("plain", "checkpoint.persist_s", 0.71),
    ("plain", "checkpoint.persist_slowdown", 0.69),
    ("tiers", "checkpoint.stall_s", 0.75),
    ("prediction", "prediction.recall", 0.76),
    ("prediction", "prediction.action_s", 0.735),
    ("store", "checkpoint.store.write_gb_s", 0.7),
    ("store", "checkpoint.store.node_gb_s", 0.65),
]


@pytest.mark.parametrize(("name", "field", "target"), SOLVED)
def test_a_value_put_back_gives_the_target_and_the_next_one_does_not(name, field, target):
    run = large(name)
    need = plan.required(run, field, target)
    step = 8 / need.value if field == "cluster.n_gpus" else 1e-5
    worse = need.value * (1 + step if need.sense == "at most" else 1 - step)
    # whole nodes leave a little room
    room = 1e-4 if field == "cluster.n_gpus" else 1e-6
    assert target <= put_back(run, field, need.value) + 1e-12
    assert put_back(run, field, need.value) == pytest.approx(target, abs=room)
    assert put_back(run, field, worse) < target
    assert need.best_ettr > target and need.blocking == ()


@settings(max_examples=10, deadline=None)
@given(target=st.floats(0.2, 0.95), field=st.sampled_from(plan.SOLVABLE), n_nodes=st.integers(100, 20_000))
def test_any_answer_is_on_the_right_side(target, field, n_nodes):
    run = large("plain").override({"cluster.n_gpus": 8 * n_nodes})
    need = plan.required(run, field, target)
    if need.value is None:
        assert need.best_ettr < target and need.blocking
    elif math.isfinite(need.value):
        assert plan.ettr_at_best(run.override({field: need.value})) >= target - 1e-12
        assert plan.ettr_at_best(run.override({field: need.value * 1.0001})) < target


def test_where_the_target_is_reached_already_there_is_room(llama3):
    for need in plan.requirements(llama3, 0.9):
        assert need.value > need.given


# --------------------------------------------------------------------------- what cannot matter, and what cannot be


def test_what_does_not_matter_has_no_limit(plain_run):
    """Without failures, and in the steady state, no detection time is too long."""
    still = plain_run.override({"failures.rate_per_1000_node_days": 0})
    assert math.isinf(plan.required(still, "recovery.detection_min", 0.9).value)
    assert math.isinf(plan.required(still, "cluster.n_gpus", 0.9).value)
    warned = still.override({"prediction": WARNED})
    assert plan.required(warned, "prediction.recall", 0.9).value < 1e-8  # any recall does


def test_a_limit_of_the_rule_is_the_answer_where_all_values_reach():
    """A share has an end, which is no infinity."""
    run = large("store").override({"cluster.n_gpus": 800})
    assert plan.required(run, "checkpoint.store.changed_share", 0.9).value == 1
    assert plan.required(run, "checkpoint.store.compression_ratio", 0.9).value == 1


def test_an_impossible_target_says_how_far_it_gets(plain_run):
    lost = plain_run.override({"cluster.n_gpus": 160_000, "recovery.detection_min": 60})
    need = plan.required(lost, "recovery.restart_min", 0.9)
    assert need.value is None and 0 < need.best_ettr < 0.2


@pytest.mark.parametrize("name", ["prediction", "store"])
def test_what_blocks_is_each_other_field_at_its_ideal(name):
    run = large(name)
    need = plan.required(run, "recovery.queue_min", 0.95)
    assert need.value is None
    *others, rate = need.blocking
    assert rate.field == "failures.rate_per_1000_node_days"
    assert [other.ettr for other in others] == sorted((other.ettr for other in others), reverse=True)
    ranges = {field for field in plan.solvable(run) if field_of(run, field).sense == "between"}
    rest = {*plan.solvable(run), *ranges} - ranges - {"recovery.queue_min", "cluster.n_gpus", "job.productive_h"}
    assert {other.field for other in need.blocking} == rest
    for other in need.blocking:
        ideal = field_of(run, other.field).ideal
        alone = run.override({"recovery.queue_min": 0, other.field: ideal})
        assert other.ettr == pytest.approx(plan.ettr_at_best(alone), abs=1e-9), other.field
        assert other.ettr >= need.best_ettr - 1e-9


def test_the_blocker_is_the_first_that_would_be_enough():
    need = plan.required(large("plain"), "recovery.restart_min", 0.9)
    assert need.blocker == need.blocking[0] and need.blocker.ettr >= 0.9
    assert plan.required(large("plain"), "failures.rate_per_1000_node_days", 0.9).blocker is None


def test_where_no_second_field_is_enough_the_nearest_is_named():
    """A start of 10 minutes for a run of 10 hours: neither failures nor stalls alone are all of it."""
    run = large("plain").override(
        {"job.include_start": True, "job.productive_h": 0.5, "recovery.queue_min": 10, "recovery.restart_min": 5}
    )
    need = plan.required(run, "checkpoint.stall_s", 0.9)
    assert need.value is None and need.blocker is None
    assert need.blocking[0].ettr < 0.9


# --------------------------------------------------------------------------- intervals


@pytest.mark.parametrize("name", ["store", "prediction"])
def test_the_ends_of_the_interval_are_where_the_target_is_passed(name):
    run = large(name)
    best = plan.ettr_at_best(run)
    target = round(best - 0.03, 3)
    need = plan.required(run, INTERVAL, target)
    assert need.sense == "between" and need.unit == "min"
    assert need.value == pytest.approx(budget.best_interval_min(run)) and need.best_ettr == pytest.approx(best)
    at = np.array([need.low * 0.9999, need.low, need.value, need.high, need.high * 1.0001])
    ettr = budget.exact(run, {INTERVAL: at}).ettr
    assert ettr[[1, 3]] == pytest.approx(target, abs=1e-6)
    assert (ettr[[0, 4]] < target).all() and ettr[2] > target


def test_an_interval_may_be_free_on_either_side(plain_run):
    still = plain_run.override({"failures.rate_per_1000_node_days": 0})
    need = plan.required(still, INTERVAL, 0.9)
    assert need.low == pytest.approx(45, rel=1e-6) and math.isinf(need.high)  # 5 min of 50
    free = plan.required(plain_run.override({"checkpoint.stall_s": 0}), INTERVAL, 0.9)
    assert free.low == pytest.approx(SHORTEST_MIN)


def test_the_interval_of_the_store_ends_at_the_tier_below_it():
    run = large("tiers")
    need = plan.required(run, INTERVAL, 0.7)
    assert need.low == pytest.approx(3, rel=1e-9)
    assert budget.exact(run.override({INTERVAL: need.high})).ettr == pytest.approx(0.7, abs=1e-6)


def test_no_interval_reaches_what_is_out_of_reach():
    run = large("plain")
    need = plan.required(run, INTERVAL, 0.9)
    assert need.value is None and need.low is None and need.high is None
    assert need.best_ettr == pytest.approx(plan.ettr_at_best(run), rel=1e-9) and need.blocker


# --------------------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("field", "target", "message"),
    [
        *[
            ("recovery.restart_min", target, f"target_ettr must be between 0 and 1, got {target:g}")
            for target in (0, 1)
        ],
        ("recovery.restart", 0.9, r"'recovery.restart'; did you mean 'recovery.restart_min'\?"),
        ("prediction.recall", 0.9, "prediction.recall cannot be solved for, .* no prediction"),
        ("checkpoint.store.write_gb_s", 0.9, "write_gb_s cannot be solved for, .* no checkpoint.store"),
        ("maintenance.per_day", 0.9, "the scenario has no maintenance"),
    ],
)
def test_what_cannot_be_solved_for_is_refused(field, target, message):
    with pytest.raises(InputError, match=message):
        plan.required(large("plain"), field, target)


def test_what_no_closed_form_holds_for_is_not_solvable():
    beside_tiers, alone = (plan.solvable(large(name)) for name in ("tiers", "store"))
    assert "checkpoint.persist_slowdown" in alone and "checkpoint.store.write_gb_s" in alone
    assert not [path for path in beside_tiers if path.startswith(("checkpoint.persist", "checkpoint.tiers"))]
    both = large("tiers").override({"prediction": WARNED})
    with pytest.raises(NotModelled, match="checkpoint.tiers together with prediction"):
        plan.required(both, "recovery.restart_min", 0.9)
    young = large("plain").override({"failures.burn_in": {"factor": 5, "decay_days": 20}})
    with pytest.raises(NotModelled, match=r"failures.burn_in.*budget.over_time"):
        plan.required(young, "recovery.restart_min", 0.9)


@pytest.mark.parametrize("name", ["prediction", "store"])
def test_every_field_that_can_be_swept_is_better_in_one_direction(name):
    """And its ends are values that a scenario may hold."""
    run = large(name)
    for path in plan.solvable(run):
        field = field_of(run, path)
        assert (field.sense == "between") == ("interval" in path)
        steps = field.steps()
        assert steps.min() >= field.low and steps.max() <= field.top
        assert (np.diff(steps) > 0).all() or (np.diff(steps) < 0).all()
        lowest, highest = sorted((steps[0], steps[-1]))
        ettr = plan.ettr_at_best(run, {path: np.array([lowest, field.given, highest])})
        if field.sense == "at most":
            assert ettr[0] >= ettr[1] - 1e-12 and ettr[1] >= ettr[2] - 1e-12
        if field.sense == "at least":
            assert ettr[0] <= ettr[1] + 1e-12 and ettr[1] <= ettr[2] + 1e-12


def test_a_size_that_is_too_small_to_write_fast_does_not_hide_one_that_reaches(llama3):
    """One node writes and loads slowly, so the ETTR has a peak over the size."""
    store = {"n_parameters": 405e9, "write_gb_s": 2000, "read_gb_s": 2000, "node_gb_s": 1}
    run = llama3.override(
        {"maintenance": None, "checkpoint.persist_s": 0, "checkpoint.store": store, "job.productive_h": 24}
    )
    need = plan.required(run, "cluster.n_gpus", 0.95)
    assert need.value > 8000
    assert plan.ettr_at_best(run.override({"cluster.n_gpus": int(need.value)})) >= 0.95


@pytest.mark.parametrize("failures", [{"job_mttf_h": 9}, {"rate_per_1000_node_days": 5}])
def test_the_size_that_a_target_allows_is_the_same_from_every_size(failures):
    """An MTBF is that of the size it was given for; other sizes have the rate of its nodes."""
    run = Scenario.of({"cluster": {"n_gpus": 4096}, "failures": failures})
    reach = plan.required(run, "cluster.n_gpus", 0.9).value
    assert reach is not None and 4096 < reach < 65_536
    for n_gpus in (1024, 16_384):
        grown = run.override({"cluster.n_gpus": n_gpus})
        assert plan.required(grown, "cluster.n_gpus", 0.9).value == reach


def need(field: str, *blocking: tuple[str, float]) -> plan.Requirement:
    return plan.Requirement(field, 0.9, None, 1.0, 0.5, blocking=tuple(plan.Blocker(*other) for other in blocking))


def test_fields_are_grouped_by_what_stands_in_their_way():
    needs = [need("a", ("x", 0.95)), need("b", ("y", 0.8)), need("c", ("x", 0.91))]
    assert list(bottlenecks(needs)) == [
        "x is the bottleneck for a, c: with both at their best values the ETTR is 91.0-95.0%.",
        "No second field is enough for b. y comes closest: with both at their best values the ETTR is 80.0%.",
    ]


# --------------------------------------------------------------------------- the fewest hot spares for a target

FIELD = "spares.n_nodes"
RUN = Scenario.load("llama3-405b").override({"spares": {"n_nodes": 4}, "repair": {"manual_h": 24.0}})


@pytest.fixture
def run() -> Scenario:
    return RUN


@cache
def ettr_with(n_spares: int) -> float:
    return simulate(RUN.override({FIELD: n_spares}), 400, 0).ettr


@pytest.mark.parametrize(
    ("target", "tried"),
    [
        (0.3, 1),
        (0.9, 1),
        *(pytest.param(target, 26, marks=pytest.mark.slow) for target in (0.3, 0.6, 0.85, 0.9, 0.907)),
    ],
)
def test_it_is_the_first_size_that_reaches_the_target(run, target, tried):
    """Against the next smaller size; in full against all smaller ones."""
    need = plan.required(run, FIELD, target)
    assert (need.sense, need.unit, need.given) == ("at least", "nodes", 4.0)
    size = int(need.value)
    assert need.value == size and ettr_with(size) >= target
    assert max(ettr_with(n) for n in range(max(0, size - tried), size)) < target
    assert need.blocking == ()
    assert 0 < need.ettr_error < 0.005


def test_the_interval_is_the_scenario_s_own(run):
    """At 30 min no pool reaches what 8 spares do at 10."""
    target = ettr_with(17) - 0.005
    assert plan.required(run, FIELD, target).value < 17
    assert plan.required(run.override({"checkpoint.interval_min": 30}), FIELD, target).value is None


def test_where_no_pool_is_enough_the_reason_names_the_bottleneck(run):
    need = plan.required(run, FIELD, 0.92)
    assert need.value is None and need.ettr_error is None
    assert need.best_ettr == pytest.approx(ettr_with(80), abs=1e-3)
    assert need.blocker is not None and need.blocker.field == "recovery.restart_min"
    assert (need.best_ettr, need.blocker.ettr) == pytest.approx((0.9087, 0.935), abs=0.006)
    # all else as it is, the interval too: restarts in no time by the closed form at 10 min
    other = plan.required(run.override({"recovery.restart_min": 0}), FIELD, 0.92)
    assert other.value is not None
    assert other.best_ettr == pytest.approx(need.blocker.ettr, abs=2e-3)


def test_it_is_solvable_only_with_spares_and_repair(run, llama3):
    assert FIELD in plan.solvable(run)
    assert FIELD not in plan.solvable(llama3)
    with pytest.raises(InputError, match="spares.n_nodes cannot be solved for, .* no spares"):
        plan.required(llama3, FIELD, 0.9)
    with pytest.raises(UnknownName, match="field to solve for 'spares.nodes'"):
        plan.required(run, "spares.nodes", 0.9)


def test_another_seed_gives_another_ettr_and_nearly_the_same_pool(run):
    pool = spares.least_pool(run, 0.9, seed=1)
    assert pool.n_spares in (11, 12, 13)
    assert pool.ettr == simulate(run.override({FIELD: pool.n_spares}), 400, 1).ettr != ettr_with(pool.n_spares)
