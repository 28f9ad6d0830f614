"""Each mitigation alone: gains, their intervals, ranks, and those without an answer."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from computed.mitigations import CATALOGUE
from ettr import Scenario, budget, mitigation, plan, power, recommendation, simulate
from ettr.recommendation import measures
from refusals import refusal

FOUR = 4
"""Standard errors that a mean may be off; seeds are fixed."""


@pytest.fixture(scope="module")
def compared(run, catalogue):
    return recommendation.mitigations(run, n_runs=400, of=catalogue, interval="given")


def row(compared, name):
    return compared.frame.set_index("id").loc[name]


@pytest.mark.parametrize("name", ["faster-restart", "shorter-stall"])
def test_gains_are_those_of_the_closed_form(compared, name):
    """Both hold here: exponential failures, constant times, spares that never run out."""
    result = row(compared, name)
    error = (result["ettr_high"] - result["ettr_low"]) / (2 * 1.966)
    assert result["ettr_gain"] == pytest.approx(result["closed_ettr_gain"], abs=FOUR * error + 2e-5)
    before, after = (
        budget.exact(scenario) for scenario in (compared.baseline.scenario, compared.study.runs([name]).scenario)
    )
    assert result["days_gain"] == pytest.approx((before.total_h - after.total_h) / 24, rel=0.05)


def test_what_costs_throughput_loses_it(compared):
    """1% less throughput takes 1/0.99 of the training, and so of nearly everything."""
    result = row(compared, "slower-training")
    assert result["days_high"] < 0
    assert result["days_gain"] == pytest.approx(-compared.baseline.mean("days") / 99, rel=0.02)
    assert result["usd_gain"] < 0 < -result["mwh_gain"]


def test_a_price_counts_in_money_only(compared, run):
    result = row(compared, "shorter-stall")
    assert result["own_usd"] == 10 * run.cluster.n_gpus
    study = compared.study
    free = study.simulated(study.runs(["shorter-stall"]).scenario)
    assert result["usd_gain"] == pytest.approx(recommendation.gain(study.runs(), free, "usd").mean - result["own_usd"])
    assert result["days_gain"] == pytest.approx(recommendation.gain(study.runs(), free, "days").mean)


def test_states_and_reasons(run, catalogue):
    compared = recommendation.mitigations(run, n_runs=2, of=catalogue, as_given=True)
    states = compared.frame.set_index("id")["state"]
    assert states["in-place"] == recommendation.IN_PLACE
    assert states["faster-restart"] == recommendation.TRIED
    assert states["needs-spares"] == "not applicable"
    assert row(compared, "needs-spares")["why"] == "needs spares"
    assert states["not-a-field"] == "not modelled"
    assert row(compared, "not-a-field")["why"] == "no field of a scenario stands for it"
    ranked = {"faster-restart", "shorter-stall", "slower-training", "other-stall", "in-place"}
    assert set(compared.ranked["id"]) == ranked


def test_one_in_place_is_worth_what_taking_it_away_costs(compared):
    study, result = compared.study, row(compared, "in-place")
    without = study.simulated(study.baseline.override({"recovery.detection_min": 30}))
    assert result["days_gain"] == pytest.approx(without.mean("days") - study.runs().mean("days"))
    assert result["ettr"] == study.runs().ettr


def test_ranks_are_by_the_measure_and_say_how_sure_they_are(run, catalogue):
    compared = recommendation.mitigations(run, n_runs=50, of=catalogue, measure="usd")
    for state, ranked in compared.ranked.groupby("state"):
        assert state in recommendation.COMPARED
        assert ranked["usd_gain"].is_monotonic_decreasing
        assert (ranked["rank"] == np.arange(1, len(ranked) + 1)).all()
        assert ((ranked["rank_low"] <= ranked["rank"]) & (ranked["rank"] <= ranked["rank_high"])).all()
    assert compared.ranked["state"].tolist() == ["tried"] * 4 + ["in place"]
    assert row(compared, "unknown-worth")["state"] == recommendation.TRIED
    assert math.isnan(row(compared, "unknown-worth")["rank"])


def test_what_is_known_and_what_is_assumed_are_ranked_apart(run, catalogue):
    compared = recommendation.mitigations(run, n_runs=50, of=catalogue, measure="usd")
    assert compared.published["id"].tolist() == ["shorter-stall"]
    assert set(compared.assumed["id"]) == {"faster-restart", "slower-training", "other-stall"}
    for rows in (compared.published, compared.assumed):
        assert rows["usd_gain"].is_monotonic_decreasing
    assert (compared.published["effect"] != "assumed").all() and (compared.assumed["effect"] == "assumed").all()
    assert compared.headline.endswith("Shorter stall ranks first by money")


def test_effects_are_sorted_by_the_status_of_what_changes():
    """Cold plates have a published resistance; how many failures heat activates nobody has published."""
    compared = recommendation.mitigations(Scenario.load("llama3-405b").override({"job.productive_h": 24}), n_runs=2)
    catalogue = compared.study.catalogue
    for row in compared.frame[compared.frame["state"] == recommendation.TRIED].itertuples():
        assumed = [change.status == "assumed" for change in catalogue[row.id].changes]
        assert row.effect == ("assumed" if all(assumed) else "published in part" if any(assumed) else "published")
    assert "cold-plate-cooling" in set(compared.assumed["id"])
    straw = compared.frame[compared.frame["straw_man"] != ""]
    assert straw["id"].tolist() == ["fast-group-init"] and straw["rank"].isna().all()


def test_a_straw_man_says_what_it_stands_against(tmp_path):
    path = tmp_path / "own.yml"
    path.write_text(CATALOGUE.replace("title: Faster restart\n", "title: Faster restart\n    straw_man: untuned\n"))
    assert "faster-restart needs before, because straw_man" in refusal(mitigation.catalogue, path)


@pytest.mark.parametrize("measure", ["days", "usd", "ettr"])
def test_ranges_hold_the_gain(compared, measure):
    compared = recommendation.Comparison(compared.study, measure, compared.frame)
    ranges = compared.ranges.set_index("id")
    assert set(ranges.index) == {*compared.published["id"], *compared.assumed["id"]}
    assert not ranges["only_simulated"].any()
    study = compared.study
    for row in ranges.itertuples():
        gained = measures.gains(study.runs(), study.runs([row.Index]), measure)
        assert row.low <= gained.mean() <= row.high


def test_what_the_analytical_model_does_not_cover_has_the_interval_of_its_mean(run, catalogue):
    slow = run.override({"failures.modes": [{"name": "hang", "share": 0.2, "latency_h": 1}]})
    compared = recommendation.mitigations(slow, ["faster-restart"], n_runs=20, of=catalogue)
    frame = compared.frame.assign(closed_ettr_gain=np.nan)
    row = recommendation.Comparison(compared.study, "days", frame).ranges.iloc[0]
    gained = recommendation.gain(compared.study.runs(), compared.study.runs(["faster-restart"]), "days")
    assert row["only_simulated"] and (row["low"], row["high"]) == (gained.low, gained.high)


def test_assumptions_that_contradict_what_was_measured_leave_no_range(run, catalogue):
    never = run.override({"measured": {"ettr_above": 0.9999}})
    compared = recommendation.mitigations(never, ["faster-restart"], n_runs=5, of=catalogue)
    assert compared.ranges["only_simulated"].all()


def test_the_interval_of_the_mean_holds_the_difference_of_independent_runs(compared):
    study = compared.study
    other = recommendation.study(study.scenario, 4000, seed=77, interval="given", of=study.catalogue)
    exact = recommendation.gain(other.runs(), other.runs(["faster-restart"]), "days")
    result = row(compared, "faster-restart")
    assert abs(result["days_gain"] - exact.mean) < 2 * (result["days_high"] - result["days_low"])


def test_the_interval_over_runs_is_student_s():
    after, before = np.random.default_rng(0).normal(1, 1, (2, 12))
    gained = recommendation.difference(after, before)
    limits = stats.ttest_rel(after, before).confidence_interval(0.95)
    assert (gained.low, gained.high) == pytest.approx((limits.low, limits.high), rel=1e-12)


def test_the_ettr_of_each_run_adds_up_to_the_ratio_of_sums(study):
    runs = study.runs()
    assert runs.values("ettr").mean() == pytest.approx(runs.ettr, rel=1e-12)
    plain = simulate(runs.scenario, 200, control_variates=False)
    assert runs.values("ettr").std(ddof=1) / math.sqrt(200) == pytest.approx(plain.ettr_error, rel=0.01)


def test_energy_and_money_are_those_of_the_bill(study):
    runs = study.runs()
    bill = power.bill(runs.budget, power.profile(runs.scenario), runs.scenario)
    idle = runs.held_gpus - runs.scenario.cluster.n_gpus
    spare_h = idle * float(runs.total_h.mean())
    spare_mwh = spare_h * 1.1 * (72.5 + 354) / 1e6
    assert runs.mean("mwh") == pytest.approx(bill["facility_mwh"].sum() + spare_mwh)
    usd = bill["electricity_usd"].sum() + bill["gpu_usd"].sum() + 2.0 * spare_h + 80 * spare_mwh
    assert runs.mean("usd") == pytest.approx(usd)


BAD = {
    "unknown mitigation 'faster-restrt'; did you mean 'faster-restart'": {"ids": ["faster-restrt"]},
    "ids must name at least one mitigation": {"ids": []},
    "unknown measure 'dollars'": {"measure": "dollars"},
    "interval must be best or given, got 'own'": {"interval": "own"},
}


@pytest.mark.parametrize("words", BAD)
def test_bad_input_is_refused_in_words(run, catalogue, words):
    assert words in refusal(recommendation.mitigations, run, **({"of": catalogue, "n_runs": 10} | BAD[words]))


def test_the_baseline_is_the_scenario_as_it_is_at_the_prices_that_are_assumed():
    run = Scenario.load("llama3-405b")
    study = recommendation.study(run, 5)
    assert study.assumed == ["power", "cost"]
    assert study.baseline.override({"cost": None, "power": None, "evidence": {}}) == run.override({"evidence": {}})
    assert study.runs().values("days") == pytest.approx(study.simulated(run).values("days"), rel=1e-12)
    assert study.together(study.catalogue.ids).baseline == mitigation.with_assumptions(run).scenario


def test_the_one_before_any_remedy_is_that_of_the_plan():
    """By the closed form, which knows nothing of what is assumed for mitigations."""
    for name in ("llama3-405b", "rsc-1"):
        run = Scenario.load(name)
        runs = recommendation.study(run, 200).runs()
        error = runs.values("ettr").std(ddof=1) / math.sqrt(200)
        assert runs.ettr == pytest.approx(float(plan.make(run).budget.ettr), abs=FOUR * error)


BY_HAND = {
    "lemon-removal": {"failures.lemons": {"share": 0.15, "factor": 5}},
    "straggler-removal": {"slow_nodes": {"per_1000_node_days": 0.05, "loss": 0.06, "detection_h": 24}},
    "peer-checkpoint": {},
}


def test_each_is_compared_from_the_scenario_with_what_it_acts_on_and_no_more(run):
    """Beside the same written down by hand, with nothing assumed."""
    compared = recommendation.mitigations(run, BY_HAND, n_runs=20)
    for name, values in BY_HAND.items():
        by_hand = recommendation.study(run.override(values), 20, as_given=True)
        before, after = by_hand.runs(), by_hand.runs([name])
        assert row(compared, name)["days_gain"] == pytest.approx(
            recommendation.gain(before, after, "days").mean, rel=1e-12
        )
        assert row(compared, name)["assumed"] == ", ".join(values)
        assert compared.study.before([name]).ettr == pytest.approx(before.ettr, rel=1e-12)
    assert compared.completed.assumed_of_run == ["failures.lemons", "slow_nodes"]


def test_a_mitigation_has_one_label_in_every_answer():
    """Of replica recovery the restart is published and the tier is assumed, with and without what a run leaves open."""
    run = Scenario.load("llama3-405b").override({"job.productive_h": 240})
    ids = ["replica-recovery", "lemon-removal", "sdc-checks"]
    compared = recommendation.mitigations(run, ids, n_runs=2)
    labels = dict(zip(compared.frame["id"], compared.frame["effect"], strict=True))
    assert labels == {
        "replica-recovery": "published in part",
        "lemon-removal": "published",
        "sdc-checks": "published in part",
    }
    best_set = recommendation.recommend(Scenario.load("rsc-1"))
    effects = {step.id: step.effect for step in best_set.steps} | {
        other.id: other.effect for other in best_set.alternatives
    }
    assert effects["replica-recovery"] == labels["replica-recovery"]
    assert all(
        effect == mitigation.effect_basis(mitigation.catalogue()[name].changes) for name, effect in effects.items()
    )
