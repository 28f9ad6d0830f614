"""Several mitigations: Shapley values, pairs, portfolios, and what to do next."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from ettr import recommendation
from refusals import refusal

THREE = ["faster-restart", "shorter-stall", "slower-training"]


def worth(study, ids, measure="days"):
    return recommendation.gain(study.runs(), study.runs(ids), measure).mean


def test_shapley_values_are_means_over_all_orders(study):
    """The definition itself, order by order."""
    values = recommendation.shapley(study, THREE).frame.set_index("id")["value"]
    added = {name: [] for name in THREE}
    for order in itertools.permutations(THREE):
        for place, name in enumerate(order):
            added[name].append(worth(study, order[: place + 1]) - worth(study, order[:place]))
    for name in THREE:
        assert values[name] == pytest.approx(np.mean(added[name]), rel=1e-9)


def test_shapley_values_sum_up_to_the_common_gain(study):
    shared = recommendation.shapley(study, THREE, measure="usd")
    assert shared.frame["value"].sum() == pytest.approx(shared.together)
    assert shared.together == pytest.approx(worth(study, THREE, "usd"))
    assert shared.method == "exact" and shared.n_scenarios == 8
    assert ((shared.frame["low"] <= shared.frame["value"]) & (shared.frame["value"] <= shared.frame["high"])).all()


@pytest.mark.parametrize("measure", ["days", "ettr", "gpu_h", "mwh"])
def test_a_single_one_gets_all(study, measure):
    shared = recommendation.shapley(study, ["faster-restart"], measure)
    assert shared.frame["value"].iloc[0] == pytest.approx(shared.together) == worth(study, ["faster-restart"], measure)


def test_drawn_orders_come_near_the_exact_values(study):
    exact = recommendation.shapley(study, THREE).frame.set_index("id")
    drawn = recommendation.shapley(study, THREE, n_orders=60)
    assert drawn.method == "sampled"
    assert drawn.frame["value"].sum() == pytest.approx(drawn.together)
    for row in drawn.frame.itertuples():
        assert row.low <= exact.loc[row.id, "value"] <= row.high
        assert row.high - row.low > 0.9 * (exact.loc[row.id, "high"] - exact.loc[row.id, "low"])


def test_more_than_twelve_are_drawn(study, monkeypatch):
    monkeypatch.setattr("ettr.recommendation.attribution.MOST_EXACT", 2)
    assert recommendation.shapley(study, THREE).method == "sampled"


def test_pairs_gain_what_they_gain_beyond_both(study):
    table = recommendation.interactions(study, ["faster-restart", "shorter-stall", "other-stall"])
    pairs = table.set_index(["first", "second"])
    beyond = worth(study, ["faster-restart", "shorter-stall"]) - sum(worth(study, [n]) for n in THREE[:2])
    assert pairs.loc[("faster-restart", "shorter-stall"), "beyond"] == pytest.approx(beyond)
    assert pairs.loc[("shorter-stall", "faster-restart"), "beyond"] == pytest.approx(beyond)
    clash = pairs.loc[("shorter-stall", "other-stall")]
    assert clash["why"] == "both change the stall" and math.isnan(clash["beyond"])


ACTING = ["lemon-removal", "straggler-removal", "peer-checkpoint"]
FOR_THEM = {
    "failures.lemons": {"share": 0.15, "factor": 5},
    "slow_nodes": {"per_1000_node_days": 0.05, "loss": 0.06, "detection_h": 24},
}


@pytest.fixture(scope="module")
def assuming(run):
    """With the project's own catalogue, and the same written down by hand."""
    long = run.override({"job.productive_h": 1000})
    return recommendation.study(long, 30), recommendation.study(long.override(FOR_THEM), 30, as_given=True)


def test_sets_are_compared_from_one_scenario_with_what_all_of_them_act_on(assuming):
    study, by_hand = assuming
    for ask in (recommendation.shapley, recommendation.portfolio):
        one, other = (ask(each, ACTING).frame for each in (study, by_hand))
        numbers = one.select_dtypes("number").columns
        assert one[numbers].to_numpy() == pytest.approx(other[numbers].to_numpy(), rel=1e-9, abs=1e-9)
    pairs, others = (recommendation.interactions(each, ACTING)["beyond"] for each in assuming)
    assert pairs.tolist() == pytest.approx(others.tolist())


def test_a_portfolio_says_from_which_ettr_it_starts_if_that_is_another(assuming):
    study, by_hand = assuming
    best = recommendation.portfolio(study, ACTING)
    assert best.ettr_assumed == pytest.approx(by_hand.runs().ettr)
    assert f"starts from {100 * by_hand.runs().ettr:.1f}%" in str(best.report())
    assert recommendation.portfolio(study, ["peer-checkpoint"]).ettr_assumed is None
    assert recommendation.portfolio(by_hand, ACTING).ettr_assumed is None


def test_advice_tells_its_steps_on_one_scenario(run):
    """Their gains add up on what is assumed for all of them; before any is the scenario as it is."""
    long = run.override({"job.productive_h": 5000})
    study = recommendation.study(long, 20)
    advice = recommendation.advise(study, 3, ids=ACTING)
    assert {"lemon-removal", "peer-checkpoint"} <= set(advice.frame["id"])
    by_hand = recommendation.study(long.override({path: FOR_THEM[path] for path in advice.together.assumed_of_run}), 20)
    before, after = by_hand.runs(), by_hand.together(()).runs(advice.frame["id"])
    assert advice.frame["added"].sum() == pytest.approx(recommendation.gain(before, after, "days").mean)
    assert advice.frame["ettr"].iloc[-1] == pytest.approx(after.ettr)
    assert advice.ettr == recommendation.study(long, 20, as_given=True).runs().ettr != before.ettr


ALL = [*THREE, "other-stall"]


def best_by_hand(study, budget_usd, measure):
    """Every subset, one by one."""
    rows = []
    for size in range(1, 5):
        for ids in itertools.combinations(ALL, size):
            if not {"shorter-stall", "other-stall"} <= set(ids):
                cost = recommendation.cost_usd(study.runs(), study.runs(ids))
                rows.append((worth(study, ids, measure), ids, cost))
    return max((row for row in rows if row[2] <= budget_usd), key=lambda row: row[0])


@pytest.mark.parametrize("measure", ["days", "usd"])
@pytest.mark.parametrize("budget_usd", [0, 200_000, 1_100_000, None])
def test_the_best_portfolio_is_that_of_all_subsets(study, budget_usd, measure):
    best = recommendation.portfolio(study, ALL, budget_usd, measure)
    most, ids, cost = best_by_hand(study, math.inf if budget_usd is None else budget_usd, measure)
    if most <= 0:
        assert best.ids == () and best.best is None
        return
    assert set(best.ids) == set(ids)
    assert best.best["gain"] == pytest.approx(most)
    assert best.best["cost_usd"] == pytest.approx(cost)


@pytest.mark.parametrize("method", [recommendation.EXACT, recommendation.GREEDY])
@pytest.mark.parametrize("budget_usd", [0, 1_100_000, None])
def test_the_set_that_pays_saves_most_money(long, method, budget_usd):
    best = recommendation.portfolio(long, ALL, budget_usd, method=method, paying=True)
    row, frame = best.most_saved, best.frame
    assert row["saved_usd"] > 0 and row["affordable"]
    assert row["saved_usd"] == frame.loc[frame["affordable"], "saved_usd"].max()
    assert best.to_dict()["paying"]["ids"] == row["ids"]


def test_where_no_set_pays_none_is_told(study):
    best = recommendation.portfolio(study, ["faster-restart"], paying=True)
    assert best.best is not None and best.paying == () and best.most_saved is None
    assert recommendation.portfolio(study, ["faster-restart"]).to_dict()["paying"] is None


def test_greedy_takes_what_adds_most(study):
    greedy = recommendation.portfolio(study, ALL, method=recommendation.GREEDY)
    alone = {name: worth(study, [name]) for name in ALL}
    assert greedy.ids[0] == max(alone, key=alone.get)
    assert "slower-training" not in greedy.ids
    assert set(greedy.ids) == set(recommendation.portfolio(study, ALL).ids)


def test_the_front_rises_in_cost_and_ettr(study):
    front = recommendation.portfolio(study, ALL).front
    assert len(front) >= 2
    assert front["cost_usd"].is_monotonic_increasing and front["effective_ettr"].is_monotonic_increasing
    rest = recommendation.portfolio(study, ALL).frame
    for row in rest[~rest["pareto"]].itertuples():
        better = (front["cost_usd"] <= row.cost_usd) & (front["effective_ettr"] >= row.effective_ettr)
        assert better.any()


@pytest.mark.parametrize("more", [{"spares.n_nodes": 6}, {"spares.n_cold": 2}])
def test_spares_beyond_those_that_are_held_cost_money(run, more):
    study = recommendation.study(run.override({"spares": {"n_nodes": 4}, "repair": {"manual_h": 24}}), n_runs=20)
    before = study.runs()
    after = study.simulated(study.baseline.override(more))
    assert recommendation.cost_usd(before, after) == pytest.approx(2 * 8 * 2.0 * after.total_h.mean())
    assert recommendation.cost_usd(after, before) == 0


BAD = {
    "no mitigation to choose from": ([], {}),
    "method must be exact or greedy, got 'best'": (THREE, {"method": "best"}),
    "budget_usd must be >= 0 USD, got -5": (THREE, {"budget_usd": -5}),
    "a budget of 100 USD buys nothing: the cheapest, shorter-stall, costs 163,840 USD": (
        ["faster-restart", "shorter-stall"],
        {"budget_usd": 100},
    ),
    "unknown mitigation": (["faster"], {}),
}


@pytest.mark.parametrize("words", BAD)
def test_bad_input_is_refused_in_words(study, words):
    ids, more = BAD[words]
    assert words in refusal(recommendation.portfolio, study, ids, **more)


def test_too_many_for_all_subsets_are_refused(study, monkeypatch):
    monkeypatch.setattr("ettr.recommendation.portfolios.MOST_TOGETHER", 2)
    assert "all subsets of 3 mitigations are too many, the limit is 2" in refusal(
        recommendation.portfolio, study, THREE
    )


def test_those_that_do_not_go_together_are_refused(study):
    message = refusal(recommendation.shapley, study, ["shorter-stall", "other-stall"])
    assert "shorter-stall and other-stall do not go together: both change the stall" in message


@pytest.fixture(scope="module")
def long(run, known):
    """A job that is long enough for each of them to earn its price."""
    return recommendation.study(run.override({"job.productive_h": 20_000}), n_runs=20, of=known)


def test_advice_is_what_adds_most_step_by_step(long):
    steps = recommendation.advise(long, 3, ids=ALL).frame
    assert steps["id"].tolist() == list(recommendation.portfolio(long, ALL, method=recommendation.GREEDY).ids)
    assert (steps["low"] > 0).all() and (steps["saved_usd"] > 0).all()
    assert steps["added"].sum() == pytest.approx(worth(long, steps["id"]))
    assert steps["ettr"].is_monotonic_increasing
    assert steps["cost_usd"].sum() == pytest.approx(1_163_840)


def test_advice_keeps_to_its_budget_and_to_what_helps(long):
    assert "faster-restart" not in recommendation.advise(long, 3, ids=ALL, budget_usd=500_000).frame["id"].tolist()
    assert recommendation.advise(long, 3, ids=["slower-training"]).frame.empty


def test_what_helps_at_a_loss_is_no_step_but_is_told(study):
    """In a job of five days neither a shorter stall nor a faster restart earns its price."""
    advice = recommendation.advise(study, 3, ids=ALL)
    assert "faster-restart" not in advice.frame["id"].tolist()
    assert advice.at_a_loss["id"] == "shorter-stall" and advice.at_a_loss["saved_usd"] < 0
    assert advice.to_dict()["at_a_loss"]["added"] > 0
