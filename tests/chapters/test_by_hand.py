"""What a reader can do on paper lands near what the package computes."""

from __future__ import annotations

from functools import cache

import pytest

from ettr import Scenario, budget, plan, recommendation
from ettr_book.chapters import finishing_date, one_by_one, scale
from ettr_book.chapters.common.runs import affordable, followed, for_timeline, of_failures, shortened

PRESETS = ("llama3-405b", "opt-175b", "h100-100k")


@cache
def run(name: str = "llama3-405b") -> Scenario:
    return Scenario.load(name)


@cache
def compared() -> recommendation.Comparison:
    return recommendation.mitigations(run().override({"job.productive_h": 120.0}), n_runs=20, measure="usd")


@pytest.mark.parametrize(
    ("name", "apart"),
    [
        ("llama3-405b", 0.02),
        ("opt-175b", 0.02),
        ("h100-100k", 0.05),  # with 40% lost, the terms of second order are no longer small
    ],
)
def test_scale_by_hand(name, apart):
    hand = scale.tables.by_hand(plan.make(run(name)), run(name).cluster.n_gpus)
    assert hand["ettr"] == pytest.approx(hand["exact"], abs=apart)


@pytest.mark.parametrize("name", PRESETS)
def test_the_date_by_hand(name):
    dates = finishing_date.tables.finishing_dates(run(name), 50)
    assert finishing_date.tables.by_hand(dates).mean_h == pytest.approx(dates.ends_h[1], rel=0.03)


def test_what_no_closed_form_follows_is_named_in_the_title():
    pooled = run().override({"spares": {"n_nodes": 8}, "repair": {"manual_h": 24}})
    simpler = followed(pooled)
    assert simpler.title == f"{run().title}, without spares that run out (spares, repair)"
    assert budget.exact(simpler).ettr == pytest.approx(budget.exact(run()).ettr)
    assert followed(run()) == run()


def test_a_run_of_many_failures_is_simulated_less():
    large = run().override({"cluster.n_gpus": 1_000_000, "recovery.init_s_per_1000_gpus": 0})
    assert affordable(run(), 300) == 300 and affordable(large, 300) < 30
    assert of_failures(run(), 1e5) == run() and of_failures(large, 1e5).productive_h < run().productive_h
    assert shortened(run(), 0.5).productive_h == run().productive_h / 2


def test_a_timeline_is_of_as_many_checkpoints_as_it_can_hold():
    free = {"checkpoint.interval_min": 1 / 60, "checkpoint.stall_s": 0, "checkpoint.persist_s": 0}
    often = run().override({**free, "job.productive_h": 2000})
    assert for_timeline(run()) == run()
    assert for_timeline(often).productive_h / often.interval_h == pytest.approx(1e6)


def test_the_ranking_has_each_that_may_save_best_first():
    ranking = one_by_one.tables.ranking(compared())
    assert len(ranking) and ranking["id"].is_unique
    for _, group in ranking.groupby("effect", sort=False):
        assert group["musd"].is_monotonic_decreasing or len(group) == 1
    assert (ranking["low"] <= ranking["musd"]).all() and (ranking["musd"] <= ranking["high"]).all()
