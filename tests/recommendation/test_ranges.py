"""Plausible ranges of savings: against single scenarios, and every headline within its range."""

from __future__ import annotations

import pytest

from ettr import Scenario, budget, evidence, mitigation, plan
from ettr.recommendation import recommend, savings
from ettr.recommendation.ranges import strength_factor


@pytest.mark.parametrize("name", evidence.scenario_names())
def test_every_headline_lies_within_its_range(name):
    """Each mitigation alone, and the recommended set."""
    run = plan.make(name, simulate=False).scenario
    best_set = recommend(run)
    covered = [*best_set.ids, *best_set.unlisted]
    assert len(covered) > 10
    for ids in ([name] for name in covered):
        saved = savings(run, ids)
        assert saved is None or saved.range[0] <= saved.share <= saved.range[1], ids
    if best_set.steps:
        low, high = best_set.plausible_net_usd
        assert low <= best_set.net_usd <= high and low < high


@pytest.mark.parametrize("ids", [("peer-checkpoint",), ("faulty-machine-detection", "in-process-restart")])
def test_draws_are_those_of_scenarios_with_the_same_values(ids):
    """Each draw by the vectorised form, and by overriding the scenario, at the expected strength."""
    run = Scenario.load("megascale")
    saved = savings(run, ids)

    def cost(scenario):
        plain = budget.simplified(scenario).scenario
        best = budget.best_interval_min(plain)
        return 1 / float(budget.exact(plain.override({"checkpoint.interval_min": float(best)})).ettr)

    assert saved.share == pytest.approx(1 - cost(mitigation.apply(saved._bare, ids)) / cost(saved._bare), rel=1e-6)
    (before, _), (after, _) = saved._before, saved._after
    for i in (1, 7, 100):
        drawn = saved._bare.override({path: float(values[i]) for path, values in saved._at.items()})
        assert before[i] == pytest.approx(cost(drawn), rel=1e-6)
        assert after[i] == pytest.approx(cost(mitigation.apply(drawn, ids)), rel=1e-6)


def test_the_range_of_a_published_effect_is_near_what_it_saves():
    """Detection decides nearly all of it, which MegaScale published."""
    saved = savings(Scenario.load("megascale"), ["faulty-machine-detection"])
    assert 0.7 * saved.share < saved.range[0] < saved.share < saved.range[1] < 1.4 * saved.share


def test_an_effect_of_unknown_size_has_a_wider_range():
    catalogue = mitigation.catalogue()
    assert strength_factor(catalogue["in-process-restart"]) == 2 > strength_factor(catalogue["parallel-checkpoint"]) > 1
    run = Scenario.load("opt-175b").override({"evidence": {}})
    for name in ("in-process-restart", "parallel-checkpoint"):
        saved = savings(run, [name])
        factor = strength_factor(catalogue[name])
        assert 1 < saved._strengths[1:].max() <= factor and 1 > saved._strengths[1:].min() >= 1 / factor


def test_draws_that_contradict_what_was_measured_are_left_out():
    run = Scenario.load("llama3-405b")
    free, bound = (
        savings(run.override({"measured": measured}), ["peer-checkpoint"]) for measured in (None, {"ettr_above": 0.92})
    )
    assert bound._at["recovery.restart_min"][1:].mean() < free._at["recovery.restart_min"][1:].mean()
    assert savings(run.override({"measured": {"ettr_above": 0.9999}}), ["peer-checkpoint"]) is None
