"""Several mitigations: Shapley values, pairs, and what simulation adds to a set."""

from __future__ import annotations

import itertools

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
    shared = recommendation.shapley(study, THREE)
    assert shared.frame["value"].sum() == pytest.approx(shared.together)
    assert shared.together == pytest.approx(worth(study, THREE))
    assert ((shared.frame["low"] <= shared.frame["value"]) & (shared.frame["value"] <= shared.frame["high"])).all()


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
    one, other = (recommendation.shapley(each, ACTING).frame for each in (study, by_hand))
    numbers = one.select_dtypes("number").columns
    assert one[numbers].to_numpy() == pytest.approx(other[numbers].to_numpy(), rel=1e-9, abs=1e-9)


def test_those_that_do_not_go_together_are_refused(study):
    message = refusal(recommendation.shapley, study, ["shorter-stall", "other-stall"])
    assert "shorter-stall and other-stall do not go together: both change the stall" in message


# --------------------------------------------------------------------------- what simulation adds to a set

ALL = [*THREE, "other-stall"]


@pytest.fixture(scope="module")
def long(run, known):
    """A job that is long enough for each of them to earn its price."""
    return recommendation.study(run.override({"job.productive_h": 20_000}), n_runs=20, of=known)


def test_what_is_added_certainly_saves_more_than_its_price(long):
    added = recommendation.additions(long, ["shorter-stall"], ["faster-restart", "slower-training", "other-stall"])
    assert [one.id for one in added] == ["faster-restart"]  # one slows training, and one conflicts with the set
    gained = recommendation.gain(long.runs(["shorter-stall"]), long.runs(["shorter-stall", "faster-restart"]), "usd")
    assert added[0].gained == gained and gained.mean > 2 * gained.error > 0
    assert added[0].ettr == long.runs(["shorter-stall", "faster-restart"]).ettr


def test_nothing_is_added_whose_saving_does_not_exceed_two_errors(study):
    """In a job of five days neither a shorter stall nor a faster restart earns its price."""
    assert recommendation.additions(study, [], ["faster-restart", "slower-training"]) == ()


def test_additions_keep_to_the_budget_together_with_the_set(long):
    price = long.own_usd(long.catalogue["faster-restart"]) + long.own_usd(long.catalogue["shorter-stall"])
    ask = long, ["shorter-stall"], ["faster-restart"]
    assert recommendation.additions(*ask, budget_usd=price) and not recommendation.additions(*ask, budget_usd=price - 1)


def test_what_is_assumed_for_an_addition_is_named(run):
    study = recommendation.study(run.override({"job.productive_h": 5000}), 20)
    (added,) = recommendation.additions(study, ["peer-checkpoint"], ["lemon-removal"])
    assert added.assumed == ("failures.lemons",) and added.effect == "published"
