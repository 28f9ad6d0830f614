"""Break-even, and what is uncertain."""

from __future__ import annotations

import math
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from ettr import Scenario, failures, mitigation, recommendation
from ettr.recommendation import break_even
from ettr.scenario.paths import N_GPUS, RATE
from refusals import refusal

TWO = ["faster-restart", "shorter-stall"]


def test_at_the_break_even_price_a_mitigation_earns_what_it_costs(study):
    for row in recommendation.at_prices(study, TWO).itertuples():
        priced = study.scenario.override({"cost": {"usd_per_gpu_h": row.break_even_usd_per_gpu_h, "usd_per_kwh": 0.08}})
        again = recommendation.study(priced, study.n_runs, study.seed, of=study.catalogue)
        earned = recommendation.gain(again.runs(), again.runs([row.id]), "usd").mean
        assert earned == pytest.approx(0, abs=1e-6 * again.runs().mean("usd"))


def test_one_that_costs_nothing_pays_at_any_price_and_one_that_loses_at_none(study):
    prices = recommendation.at_prices(study, ["other-stall", "slower-training"]).set_index("id")
    assert prices["pays"].tolist() == ["at any price", "at none"]
    assert prices["break_even_usd_per_gpu_h"].isna().all()


def test_gains_grow_with_the_size_and_the_rate(study):
    sizes = recommendation.along(study, TWO, N_GPUS, [2048, 16_384, 65_536])
    rates = recommendation.along(study, TWO, RATE, [1, 4, 16])
    for table in (sizes, rates):
        for _, group in table.groupby("id"):
            assert group["saved"].is_monotonic_increasing
            assert ((group["low"] <= group["saved"]) & (group["saved"] <= group["high"])).all()


@pytest.mark.parametrize(("field", "values"), [(N_GPUS, [1024, 16_384, 262_144]), (RATE, [0.5, 3.79, 20])])
def test_a_pool_stays_as_often_enough(field, values):
    """Against the quantile of the nodes in repair, which the assumed pool was made by."""
    study = recommendation.study(Scenario.load("llama3-405b"), 2).together(["spare-pool"])
    for value in values:
        run = break_even._at(study, field, value)
        assert run.spares.n_nodes == pytest.approx(mitigation.pool(run, 0.999), rel=0.04, abs=1.5), value


def test_at_the_scenario_itself_it_is_the_gain_of_the_whole_run(study):
    """The steady state without the start, told for the whole work: nearly the same share of time."""
    row = recommendation.along(study, ["faster-restart"], N_GPUS, [16_384]).iloc[0]
    gain = recommendation.gain(study.runs(), study.runs(["faster-restart"]), "days")
    assert row["saved"] == pytest.approx(gain.mean / study.runs().mean("days"), rel=0.15)
    assert row["saved_usd"] == pytest.approx(
        recommendation.gain(study.runs(), study.runs(["faster-restart"]), "usd").mean, rel=0.3
    )


def test_each_is_followed_from_the_scenario_with_what_it_acts_on(study):
    """Beside one alone, and beside slow nodes that are written down."""
    study = recommendation.study(study.scenario, 2)
    both = recommendation.along(study, ["peer-checkpoint", "straggler-removal"], RATE, [8], n_runs=4).set_index("id")
    slow = {"slow_nodes": {"per_1000_node_days": 0.05, "loss": 0.06, "detection_h": 24}}
    for name, values in {"peer-checkpoint": {}, "straggler-removal": slow}.items():
        by_hand = recommendation.study(study.scenario.override(values), 2, as_given=True)
        alone = recommendation.along(by_hand, [name], RATE, [8], n_runs=4).iloc[0]
        assert both.loc[name, ["ettr_before", "saved"]].tolist() == pytest.approx(
            alone[["ettr_before", "saved"]].tolist()
        )
    assert both["ettr_before"].nunique() == 2


def test_a_job_that_does_not_get_on_has_no_worth(study):
    row = recommendation.along(study, ["faster-restart"], RATE, [5000]).iloc[0]
    assert row["state"] == "no progress" and "practically never gets on" in row["why"]
    assert math.isnan(row["saved"])


def test_a_size_that_does_not_fit_says_why(known):
    study = recommendation.study(Scenario.load("llama3-405b-tokens"), 2, of=known)
    row = recommendation.along(study, ["faster-restart"], N_GPUS, [8]).iloc[0]
    assert row["state"] == "does not fit" and "does not fit" in row["why"]


def test_break_evens_lie_where_the_worth_changes_its_sign():
    table = pd.DataFrame(
        {
            "id": ["a"] * 3 + ["b"] * 3 + ["c"] * 3 + ["d"] * 3,
            "title": ["A"] * 3 + ["B"] * 3 + ["C"] * 3 + ["D"] * 3,
            "value": [1.0, 100.0, 10_000.0] * 4,
            "saved_usd": [-1.0, 1.0, 5.0, 1.0, 1.0, 1.0, -1.0, -2.0, np.nan, -1.0, 1.0, -1.0],
            "state": ["costs more", "within the error"] + ["pays"] * 10,
        }
    )
    evens = recommendation.break_evens(table).set_index("id")
    assert evens.loc["a", "break_even"] == pytest.approx(10)  # half-way between 1 and 100 on the logarithmic axis
    assert evens["pays"].tolist() == ["from there on", "everywhere", "nowhere", "here and there"]
    assert evens.loc["b", "break_even"] == 1
    assert evens["known_to"].tolist() == [10_000, 10_000, 100, 10_000]
    assert evens["sure"].tolist() == [False, True, True, True]
    assert evens["break_even"].isna().tolist() == [False, False, True, True]


def test_bad_grids_are_refused(study):
    assert "field must be cluster.n_gpus or failures" in refusal(recommendation.along, study, TWO, "checkpoint.stall_s")
    assert "values of cluster.n_gpus must be > 0" in refusal(recommendation.along, study, TWO, N_GPUS, [-8, 16])


def test_ranges_go_by_how_a_value_is_known():
    run = Scenario.load("llama3-405b").override({"heat": {"mean_c": 20}})
    inputs = {one.field: one for one in recommendation.uncertain(run)}
    assert (inputs["checkpoint.stall_s"].low, inputs["checkpoint.stall_s"].high) == (5, 20)
    assert (inputs["maintenance.per_day"].low, inputs["maintenance.per_day"].high) == pytest.approx((0.696, 1.0875))
    assert (inputs["heat.mean_c"].low, inputs["heat.mean_c"].high) == (15, 25)
    rate = inputs[RATE]
    ends = failures.gamma_interval(419.5, 110_592)
    assert (rate.low, rate.high) == pytest.approx((ends.low, ends.high), rel=1e-3)
    assert not {"checkpoint.interval_min", "cluster.n_gpus", "spares.n_nodes"} & set(inputs)
    assert not [name for name in inputs if name.startswith(("cost", "power"))]
    priced = {one.field for one in recommendation.uncertain(run.override({"cost": {"usd_per_gpu_h": 3}}), "usd")}
    assert "cost.usd_per_gpu_h" in priced


def test_ranges_stay_within_their_rules():
    repair = {"manual_h": 1, "replacement_h": 9, "manual_success": 0.8}
    run = Scenario.load("llama3-405b").override({"spares": {"n_nodes": 4}, "repair": repair})
    one = {one_input.field: one_input for one_input in recommendation.uncertain(run)}["repair.manual_success"]
    assert one.high == 1.0
    assert "recovery.restart" in refusal(recommendation.uncertain, run, fields=["recovery.restart"])


def test_values_of_modes_move_together():
    modes = [{"name": "hang", "share": 0.2, "detection_min": 10}, {"name": "crash", "share": 0.5, "detection_min": 2}]
    run = Scenario.load("llama3-405b").override({"failures.modes": modes})
    one = {one_input.field: one_input for one_input in recommendation.uncertain(run)}["failures.modes.*.detection_min"]
    moved = run.override(one.changes(run, 0.5))
    assert [mode.detection_min for mode in moved.failures.modes] == [5, 1]


@pytest.mark.parametrize("n_runs", [20, pytest.param(200, marks=pytest.mark.slow)])
def test_sobol_indices_tell_which_input_decides(study, n_runs):
    """What a restart takes decides what a faster one is worth, and what a stall takes nearly nothing of it."""
    inputs = recommendation.uncertain(study.baseline, fields=["checkpoint.stall_s", "recovery.restart_min"])
    sobol = recommendation.sobol(replace(study, n_runs=n_runs), TWO, inputs, n=32)
    total = sobol.indices.set_index(["of", "input"])["total"]
    assert total[("faster-restart", "recovery.restart_min")] > 0.9
    assert total[("faster-restart", "checkpoint.stall_s")] < 0.1
    assert total[("shorter-stall", "checkpoint.stall_s")] > 0.9
    assert sobol.best["share"].sum() == pytest.approx(1)
    assert len(sobol.samples) == 32 * 4
    assert sobol.samples["recovery.restart_min"].between(2.5, 10).all()


def test_sobol_refuses_what_it_cannot_do(study):
    inputs = recommendation.uncertain(study.baseline, fields=["checkpoint.stall_s", "recovery.restart_min"])
    assert "n must be a power of 2 and >= 8, got 12" in refusal(recommendation.sobol, study, TWO, inputs, n=12)
    assert "at least two inputs" in refusal(recommendation.sobol, study, TWO, inputs[:1], n=8)
    wild = [recommendation.Input(RATE, 4, 4, 1e5, "", "assumed"), inputs[0]]
    message = refusal(recommendation.sobol, study, TWO, wild, n=8)
    assert re.search("there is no answer at failures.*practically never gets on", message)
