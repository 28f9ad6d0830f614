"""Rates that change: the curves are the hazards, and the cost of one interval is a difference of two budgets."""

from __future__ import annotations

import numpy as np
import pytest

from computed.chapters import changing_cases, changing_rates, one_interval, one_interval_by_factor
from ettr import Scenario, budget, plan
from ettr.chapters.checkpoint_interval import changing_rate_tables as tables

FACTOR, DECAY_D, SHAPE = 5.0, 20.0, 0.7


@pytest.fixture
def runs() -> dict[str, Scenario]:
    return changing_cases("llama3-405b")


def test_the_rate_is_the_hazard_at_each_moment(llama3):
    frame = changing_rates("llama3-405b")
    assert set(frame["case"]) == {"settled", "burn-in", "new nodes"}
    settled = 24 * llama3.job_rate_per_h
    rows = frame.set_index("case")
    assert rows.loc["settled", "per_day"].to_numpy() == pytest.approx(settled)
    young = rows.loc["burn-in"]
    excess = 1 + (FACTOR - 1) * np.exp(-young["exposed_d"] / DECAY_D)
    assert young["per_day"].to_numpy() == pytest.approx(settled * excess.to_numpy(), rel=0.01)  # means of steps
    new = rows.loc["new nodes"]
    slope = np.diff(np.log(new["per_day"])) / np.diff(np.log(new["exposed_d"]))
    assert slope == pytest.approx(SHAPE - 1, abs=0.04)  # a fifth of the nodes fail, few of them twice


def test_the_interval_is_the_best_one_for_the_rate_of_the_moment(llama3):
    frame = changing_rates("llama3-405b")
    for row in frame.itertuples():
        rate = llama3.failure_rate * row.per_day / 24 / llama3.job_rate_per_h
        same = llama3.override({"failures.rate_per_1000_node_days": rate})
        assert row.interval_min == pytest.approx(plan.best_interval_min(same), rel=1e-6)


def test_the_cost_is_the_difference_of_two_budgets(runs):
    table = one_interval("llama3-405b").set_index(["case", "kept"])
    young = runs["burn-in"]
    kept = table.loc[("burn-in", "settled rate")]
    assert kept["interval_min"] == pytest.approx(plan.best_interval_min(runs["settled"]))
    fixed = budget.over_time(young.override({"checkpoint.interval_min": kept["interval_min"]}))
    following = budget.over_time(young, tables.interval_of(young))
    assert kept["loss_points"] == pytest.approx(100 * (following.ettr - fixed.ettr))
    assert (table["loss_points"] > -1e-9).all()
    assert table.loc[("settled", "mean rate"), "loss_points"] == pytest.approx(0, abs=1e-9)
    mean = table.loc[("burn-in", "mean rate")]
    exposed_h = following.total_h - following.detection_h - following.queue_h - following.maintenance_h
    rate = young.failure_rate * following.n_failures / exposed_h / young.job_rate_per_h
    same = runs["settled"].override({"failures.rate_per_1000_node_days": rate})
    assert mean["interval_min"] == pytest.approx(plan.best_interval_min(same), rel=1e-6)


def test_no_fixed_interval_beats_the_one_that_follows(runs):
    kept = one_interval("llama3-405b").set_index(["case", "kept"])
    following = kept.loc[("burn-in", "mean rate"), "following"]
    for interval in np.geomspace(2.5, 12, 12):
        assert budget.over_time(runs["burn-in"].override({"checkpoint.interval_min": interval})).ettr < following


def test_over_the_factor_it_begins_at_nothing_and_grows():
    table = one_interval_by_factor("glm-130b")
    settled = table[table["kept"] == "settled rate"]["loss_points"].to_numpy()
    assert settled[0] == pytest.approx(0, abs=1e-9) and (np.diff(settled) > 0).all()
    one = tables.one_interval(tables.changing_cases(Scenario.load("glm-130b"), 30.0, DECAY_D, 1.0))
    losses = one[(one["case"] == "burn-in") & (one["kept"] == "settled rate")]["loss_points"].item()
    assert settled[-1] == pytest.approx(losses)


def test_a_run_that_makes_no_progress_is_left_out():
    fast = Scenario.load("h100-100k")
    table = tables.one_interval(tables.changing_cases(fast, 60.0, 20.0, 0.7))
    assert set(table["case"]) == {"settled"}
    assert tables.one_interval_by_factor(fast, 20.0, 6)["factor"].max() < 30


def test_without_failures_nothing_changes_and_nothing_is_lost():
    frame = changing_rates("llama3-405b", "no failures")
    assert (frame["per_day"] == 0).all() and frame["interval_min"].nunique() == 1
    assert one_interval("llama3-405b", "no failures")["loss_points"].to_numpy() == pytest.approx(0)


def test_what_the_scenario_says_itself_is_replaced(runs, llama3):
    own = llama3.override({"failures.burn_in": {"factor": 9, "decay_days": 3}})
    assert tables.changing_cases(own, FACTOR, DECAY_D, SHAPE) == runs
