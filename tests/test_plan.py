"""The plan against a search over the closed form, and what it says of runs at the edges."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ettr import Scenario, budget, evidence, plan
from ettr.errors import InputError, OutsideValidity, UnknownName

PRESETS = evidence.scenario_names()


def steady(scenario: Scenario) -> Scenario:
    return scenario.override({"job.include_start": False, "maintenance": None})


def loss_at(scenario: Scenario, minutes: float, best_min: float) -> float:
    ettr = budget.exact(steady(scenario), {"checkpoint.interval_min": np.array([best_min, minutes])}).ettr
    return float(ettr[0] - ettr[1])


@pytest.mark.parametrize("name", PRESETS)
def test_the_best_interval_has_the_highest_ettr_of_all(name):
    scenario = Scenario.load(name)
    found = plan.best_interval_min(scenario)
    grid = found * np.geomspace(0.2, 5, 2001)
    grid = grid[grid >= scenario.checkpoint.persist_s / 60]
    ettr = budget.exact(steady(scenario), {"checkpoint.interval_min": grid}).ettr
    # the grid's step is 0.16%
    assert grid[ettr.argmax()] == pytest.approx(found, rel=2e-3)


@pytest.mark.parametrize("name", PRESETS)
def test_the_ends_of_the_band_lose_half_a_point_and_its_inside_less(name):
    scenario = Scenario.load(name)
    band = plan.flat_band(scenario)
    assert band.low_min < band.interval_min < band.high_min and not band.ends_job
    for end, other in ((band.low_min, 0.99), (band.high_min, 1.01)):
        loss = loss_at(scenario, end, band.interval_min)
        if end > max(plan.SHORTEST_MIN, scenario.checkpoint.persist_s / 60) * 1.001:
            assert loss == pytest.approx(0.005, abs=2e-5)
            assert loss_at(scenario, end * other, band.interval_min) > 0.005
        assert loss_at(scenario, end / other, band.interval_min) < 0.005


def test_a_wider_band_holds_a_narrower_one(llama3):
    bands = [plan.flat_band(llama3, points) for points in (0.001, 0.005, 0.02, 0.3)]
    assert (np.diff([band.low_min for band in bands]) < 0)[:2].all()
    assert (np.diff([band.high_min for band in bands]) > 0).all()
    assert len({band.interval_min for band in bands}) == 1


@pytest.mark.parametrize("points", [0, 1, -0.1, math.nan])
def test_a_band_of_no_width_is_refused(llama3, points):
    with pytest.raises(InputError, match=f"points must be between 0 and 1, got {points:g}"):
        plan.flat_band(llama3, points)


@pytest.mark.parametrize("name", PRESETS)
def test_a_plan_is_the_budget_at_both_intervals(name):
    scenario = Scenario.load(name)
    answer = plan.make(scenario)
    assert answer.scenario == scenario
    assert answer.best == scenario.override({"checkpoint.interval_min": answer.band.interval_min})
    assert answer.budget == budget.exact(answer.best)
    assert answer.budget_as_given == budget.exact(scenario)
    assert answer.budget.ettr >= answer.budget_as_given.ettr
    assert answer.failures_per_day * answer.job_mttf_h < 24  # fewer than if failures struck at all times


def test_what_is_known_of_the_rate_is_known_of_the_time_to_failure(llama3):
    """Gamma with shape 419.5: relative ends 0.906 and 1.099, so 3.05 h becomes 2.77 to 3.36 h."""
    low, high = plan.mttf_interval_h(llama3)
    assert (low, high) == pytest.approx((2.774, 3.360), abs=2e-3)
    narrow = plan.mttf_interval_h(llama3, 0.5)
    assert low < narrow[0] < llama3.job_mttf_h < narrow[1] < high
    assert plan.mttf_interval_h(Scenario.load("rsc-1")) is None


def test_what_is_hardly_known_has_no_upper_end():
    vague = Scenario.load("rsc-1").override({"failures.rate_gamma": {"shape": 0.001, "node_days": 1}})
    low, high = plan.mttf_interval_h(vague)
    assert low > 0 and math.isinf(high)
    assert plan.make(vague).to_dict()["job_mttf_95_h"] == [low, None]


# --------------------------------------------------------------------------- the edges


def test_without_failures_one_checkpoint_at_the_end_is_best(plan_free_of_failures):
    answer = plan.make(plan_free_of_failures)
    assert answer.band.ends_job
    assert answer.band.interval_min == answer.band.high_min == 40 * 60
    assert answer.failures_per_day == 0 and math.isinf(answer.job_mttf_h) and answer.job_mttf_95_h is None
    assert answer.budget.checkpoint_h == 0
    # a stall of 5 min costs half a point each 16.6 h: w/(τ + w) - w/(40 h + w) = 0.005
    low_h = answer.band.low_min / 60
    loss = (1 / 12) / (low_h + 1 / 12) - (1 / 12) / (40 + 1 / 12)
    assert loss == pytest.approx(0.005, rel=1e-3)


@pytest.fixture
def plan_free_of_failures(plain_run):
    return plain_run.override({"failures.rate_per_1000_node_days": 0, "job.include_start": True})


def test_a_free_checkpoint_is_taken_each_second(plain_run):
    answer = plan.make(plain_run.override({"checkpoint.stall_s": 0}))
    assert answer.band.interval_min == answer.band.low_min == pytest.approx(1 / 60)
    assert answer.budget.checkpoint_h == 0
    assert loss_at(answer.scenario, answer.band.high_min, answer.band.interval_min) == pytest.approx(0.005, rel=1e-3)


def test_a_background_write_is_never_outrun(plain_run):
    slow = plain_run.override({"checkpoint.persist_s": 3599, "checkpoint.persist_slowdown": 0.0})
    answer = plan.make(slow.override({"checkpoint.stall_s": 1}))
    assert answer.band.interval_min == pytest.approx(3599 / 60, rel=1e-9)
    assert answer.band.interval_min >= 3599 / 60
    assert answer.band.low_min == pytest.approx(3599 / 60, rel=1e-9)


@pytest.mark.parametrize("rate", [0, 1e-6, 1e-3])
def test_rare_failures_with_daily_maintenance_still_have_a_plan(llama3, rate):
    """A stop waits for the next checkpoint, so a plan checkpoints more often than stops are requested."""
    run = llama3.override({"failures.rate_per_1000_node_days": rate, "checkpoint.stall_s": 300})
    answer = plan.make(run)
    longest_min = plan.longest_interval_min(run)
    assert answer.band.interval_min <= longest_min <= 0.5 / 0.87 * 24 * 60 * (1 + 1e-9)
    assert budget.exact(run.override({"checkpoint.interval_min": longest_min})).ettr > 0
    assert answer.band.low_min <= answer.band.interval_min <= answer.band.high_min
    assert answer.budget.maintenance_h == pytest.approx(1166.4 / 24 * 0.87 * 0.25, rel=0.05)


def test_a_run_that_practically_never_ends_has_no_plan(plain_run):
    with pytest.raises(OutsideValidity, match="a float can hold"):
        plan.make(plain_run.override({"cluster.n_gpus": 8_000_000_000}))


changes = st.fixed_dictionaries(
    {
        "cluster.n_gpus": st.integers(1, 10_000).map(lambda nodes: 8 * nodes),
        "job.productive_h": st.floats(0.5, 5000),
        "failures.rate_per_1000_node_days": st.floats(0, 30),
        "checkpoint.stall_s": st.floats(0, 600),
        "checkpoint.persist_s": st.floats(0, 3000),
        "checkpoint.persist_slowdown": st.floats(0, 0.5),
        "recovery.restart_min": st.floats(0, 30),
        "maintenance": st.none() | st.just({"per_day": 0.5, "duration_min": 20}),
    }
)


@settings(max_examples=40, deadline=None)
@given(values=changes)
def test_any_plan_is_plain_numbers_in_range(values):
    scenario = Scenario.load("rsc-2").override(values)
    try:
        answer = plan.make(scenario)
    except OutsideValidity:
        return
    band = answer.band
    assert 0 < band.low_min <= band.interval_min <= band.high_min
    assert band.high_min <= max(scenario.job.productive_h * 60, band.interval_min)
    told = json.loads(json.dumps(answer.to_dict(), allow_nan=False))
    assert 0 < told["ettr"] <= 1
    assert told["time_budget"]["ettr"] == told["ettr"]


def test_the_answer_for_machines_is_stable(llama3):
    told = plan.make(llama3).to_dict()
    assert json.dumps(told, allow_nan=False) == json.dumps(plan.make(llama3).to_dict(), allow_nan=False)
    assert list(told) == [
        "scenario",
        "n_gpus",
        "job_mttf_h",
        "job_mttf_95_h",
        "failures_per_day",
        "interval_min",
        "band_min",
        "band_points",
        "ettr",
        "time_budget",
        "as_given",
        "assumed",
    ]
    assert told["assumed"] == plan.assumed_fields(llama3) and "recovery.restart_min" in told["assumed"]
    assert "cluster.gpus_per_node" not in told["assumed"]
    parts = [
        value
        for part, value in told["time_budget"].items()
        if part.endswith("_h") and part not in ("total_h", "spare_gpu_h")
    ]
    assert sum(parts) == pytest.approx(told["time_budget"]["total_h"])


# --------------------------------------------------------------------------- requirements


@pytest.mark.parametrize("field", plan.SOLVABLE)
@pytest.mark.parametrize("target", [0.75, 0.9])
def test_a_required_value_reaches_the_target_and_a_larger_one_does_not(field, target):
    scenario = Scenario.load("h100-100k")
    found = plan.required(scenario, field, target)
    assert found.field == field and found.target_ettr == target
    assert found.best_ettr == pytest.approx(plan.ettr_at_best(scenario.override({field: 0})))
    if found.value is None:
        assert found.best_ettr < target
        return
    assert plan.ettr_at_best(scenario.override({field: found.value})) == pytest.approx(target, abs=1e-6)
    assert plan.ettr_at_best(scenario.override({field: found.value * 1.001})) < target
    section, name = field.split(".")
    given = scenario.failures.rate if section == "failures" else getattr(getattr(scenario, section), name)
    assert found.given == given


def test_of_the_two_targets_one_can_be_reached_by_faster_recovery():
    """0.9 on 100,000 GPUs needs fewer failures; 0.75 is reached by faster restarts as well."""
    scenario = Scenario.load("h100-100k")
    reached = {
        target: {need.field for need in plan.requirements(scenario, target) if need.value is not None}
        for target in (0.75, 0.9)
    }
    assert reached[0.9] == {"failures.rate_per_1000_node_days"}
    assert {"failures.rate_per_1000_node_days", "recovery.restart_min"} <= reached[0.75]


def test_where_the_target_is_reached_already_there_is_room(llama3):
    for need in plan.requirements(llama3, 0.9):
        assert need.value > need.given


def test_what_does_not_matter_has_no_limit(plain_run):
    """Without failures, and in the steady state, no detection time is too long."""
    still = plain_run.override({"failures.rate_per_1000_node_days": 0})
    assert math.isinf(plan.required(still, "recovery.detection_min", 0.9).value)


def test_an_impossible_target_says_how_far_it_gets(plain_run):
    lost = plain_run.override({"cluster.n_gpus": 800_000, "recovery.detection_min": 60})
    found = plan.required(lost, "recovery.restart_min", 0.9)
    assert found.value is None and 0 < found.best_ettr < 0.1


@pytest.mark.parametrize("target", [0, 1, -1, 90, math.nan])
def test_a_target_that_is_no_ratio_is_refused(llama3, target):
    with pytest.raises(InputError, match=f"target_ettr must be between 0 and 1, got {target:g}"):
        plan.required(llama3, "recovery.restart_min", target)


def test_a_field_that_cannot_be_solved_for_is_refused(llama3):
    with pytest.raises(UnknownName, match=r"'recovery.restart'; did you mean 'recovery.restart_min'\?"):
        plan.required(llama3, "recovery.restart", 0.9)
