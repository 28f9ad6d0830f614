"""Several mitigations: what simulation adds to a set, and what each is worth at other sizes."""

from __future__ import annotations

import math

import pytest

from ettr import Scenario, mitigation, recommendation
from ettr.recommendation import break_even
from refusals import refusal

# --------------------------------------------------------------------------- what simulation adds to a set


@pytest.fixture(scope="module")
def long(run, catalogue):
    """A job that is long enough for each of them to earn its price."""
    return recommendation.study(run.override({"job.productive_h": 20_000}), n_runs=20, of=catalogue)


def test_what_is_added_certainly_saves_more_than_its_price(long):
    added = recommendation.additions(long, ["shorter-stall"], ["faster-restart", "slower-training", "other-stall"])
    assert [extra.id for extra in added] == ["faster-restart"]  # one slows training, and one conflicts with the set
    gained = recommendation.gain(long.runs(["shorter-stall"]), long.runs(["shorter-stall", "faster-restart"]), "usd")
    assert added[0].gained == gained and gained.mean > 2 * gained.error > 0
    assert added[0].ettr == long.runs(["shorter-stall", "faster-restart"]).ettr


def test_nothing_is_added_whose_saving_does_not_exceed_two_errors(study):
    """In a job of five days neither a shorter stall nor a faster restart earns its price."""
    assert recommendation.additions(study, [], ["faster-restart", "slower-training"]) == ()


def test_additions_keep_to_the_budget_together_with_the_set(long):
    price = long.price_usd(long.catalogue["faster-restart"]) + long.price_usd(long.catalogue["shorter-stall"])
    ask = long, ["shorter-stall"], ["faster-restart"]
    assert recommendation.additions(*ask, budget_usd=price) and not recommendation.additions(*ask, budget_usd=price - 1)


def test_what_is_assumed_for_an_addition_is_named(run):
    study = recommendation.study(run.override({"job.productive_h": 5000}), 20)
    (added,) = recommendation.additions(study, ["peer-checkpoint"], ["lemon-removal"])
    assert added.assumed == ("failures.lemons",) and added.effect == "published"


# --------------------------------------------------------------------------- at other sizes of the job

TWO = ["faster-restart", "shorter-stall"]


def test_gains_grow_with_the_size(study):
    for _, group in recommendation.along(study, TWO, [2048, 16_384, 65_536]).groupby("id"):
        assert group["saved"].is_monotonic_increasing
        assert ((group["low"] <= group["saved"]) & (group["saved"] <= group["high"])).all()


@pytest.mark.parametrize("size", [1024, 16_384, 262_144])
def test_a_pool_stays_as_often_enough(size):
    """Against the quantile of the nodes in repair, which the assumed pool was made by."""
    base = recommendation.study(Scenario.load("llama3-405b"), 2).together(["spare-pool"]).baseline
    run = break_even._at(base, size)
    assert run.spares.n_nodes == pytest.approx(mitigation.pool(run, 0.999), rel=0.04, abs=1.5)


def test_at_the_scenario_itself_it_is_the_gain_of_the_whole_run(study):
    """The steady state without the start, told for the whole work: nearly the same share of time."""
    row = recommendation.along(study, ["faster-restart"], [16_384]).iloc[0]
    gain = recommendation.gain(study.runs(), study.runs(["faster-restart"]), "days")
    assert row["saved"] == pytest.approx(gain.mean / study.runs().mean("days"), rel=0.15)
    assert row["saved_usd"] == pytest.approx(
        recommendation.gain(study.runs(), study.runs(["faster-restart"]), "usd").mean, rel=0.3
    )


def test_each_is_followed_from_the_scenario_with_what_it_acts_on(study):
    """Beside one alone, and beside slow nodes that are written down."""
    study = recommendation.study(study.scenario, 2)
    both = recommendation.along(study, ["peer-checkpoint", "straggler-removal"], [32_768], n_runs=4).set_index("id")
    slow = {"slow_nodes": {"per_1000_node_days": 0.05, "loss": 0.06, "detection_h": 24}}
    for name, values in {"peer-checkpoint": {}, "straggler-removal": slow}.items():
        by_hand = recommendation.study(study.scenario.override(values), 2, as_given=True)
        alone = recommendation.along(by_hand, [name], [32_768], n_runs=4).iloc[0]
        assert both.loc[name, ["ettr_before", "saved"]].tolist() == pytest.approx(
            alone[["ettr_before", "saved"]].tolist()
        )
    assert both["ettr_before"].nunique() == 2


def test_a_job_that_does_not_get_on_has_no_worth(study):
    row = recommendation.along(study, ["faster-restart"], [2**25]).iloc[0]
    assert row["state"] == "no progress" and "makes practically no progress" in row["why"]
    assert math.isnan(row["saved"])


def test_a_size_that_does_not_fit_says_why(catalogue):
    study = recommendation.study(Scenario.load("llama3-405b-tokens"), 2, of=catalogue)
    row = recommendation.along(study, ["faster-restart"], [8]).iloc[0]
    assert row["state"] == "does not fit" and "does not fit" in row["why"]


def test_sizes_below_a_gpu_are_refused(study):
    assert "sizes must be > 0 GPUs" in refusal(recommendation.along, study, TWO, [-8, 16])
