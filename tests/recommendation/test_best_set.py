"""The recommended set: against an exhaustive search, and by what must hold of every set."""

from __future__ import annotations

import itertools
import math

import pytest

from ettr import Scenario, evidence, mitigation, plan
from ettr.core.errors import InputError, NotModelled, OutsideValidity
from ettr.mitigation import Catalogue
from ettr.recommendation import recommend
from ettr.recommendation.best_set import LEAST_SHARE, Sets, at_best_interval, at_best_intervals

STORY = {
    "cluster": {"n_gpus": 4096},
    "failures": {"job_mttf_h": 9},
    "checkpoint": {"stall_s": 90},
    "recovery": {"restart_min": 12},
}
STALLS = {
    "cluster": {"n_gpus": 2048},
    "failures": {"job_mttf_h": 20},
    "checkpoint": {"stall_s": 200},
    "cost": {"usd_per_gpu_h": 4},
}
ENDS = {"cluster": {"n_gpus": 32_768}, "failures": {"job_mttf_h": 2}, "job": {"productive_h": 400}}
MINE = {"story": STORY, "stalls": STALLS, "ends": ENDS}
QUICK = ("llama3-405b", "megascale", "rsc-1")
NAMES = [*evidence.scenario_names(), *MINE]
EVERY = [name if name == "llama3-405b" else pytest.param(name, marks=pytest.mark.slow) for name in NAMES]
MOST = 12
"""Candidates of an exhaustive search."""


PEER = {"name": "peer", "interval_s": 60, "stall_s": 0.1, "survives": 0.9}
DISK = {"name": "disk", "interval_s": 240, "stall_s": 1, "survives": 0.95}
KINDS = [
    {},
    {"checkpoint.tiers": [PEER]},
    {"checkpoint.tiers": [PEER, DISK]},
    {"prediction": {"recall": 0.6, "precision": 0.7, "lead_s": 600, "action_s": 30}},
    {"failures.modes": [{"name": "sdc", "share": 1, "latency_h": 0.5}]},
    {"maintenance": {"per_day": 0.5, "duration_min": 30}},
    {"job.include_start": True},
    {"slow_nodes": {"per_1000_node_days": 0.1, "loss": 0.2, "detection_h": 4}},  # no answer: not modelled
    {"failures.job_mttf_h": 0.5, "recovery.restart_min": 1200},  # no answer: it practically never ends
]


def named(name: str) -> Scenario:
    return Scenario.of(MINE[name]) if name in MINE else plan.make(name, simulate=False).scenario


@pytest.fixture
def first() -> Scenario:
    return Scenario.of(STORY)


def searching(run: Scenario, budget_usd: float = math.inf, only: list[str] | None = None) -> Sets:
    return Sets(run, budget_usd, only=only)


@pytest.mark.parametrize("name", EVERY)
def test_no_set_of_the_best_candidates_has_a_larger_net_saving(name):
    run = named(name)
    best_set, search = recommend(run), searching(run)
    best = sorted(search.candidates, key=lambda candidate: -search.value(frozenset([candidate])))[:MOST]
    best = sorted({*best, *best_set.ids})
    sets = (frozenset(ids) for size in range(len(best) + 1) for ids in itertools.combinations(best, size))
    most = max(search.value(ids) for ids in sets if search.go_together(ids))
    assert search.value(frozenset(best_set.ids)) == pytest.approx(most, abs=2e-9)


@pytest.mark.parametrize("name", [*QUICK, *MINE])
def test_each_step_pays_for_itself_with_all_the_others_in_place(name):
    run = named(name)
    best_set = recommend(run)
    assert best_set.steps
    for step in best_set.steps:
        rest = mitigation.apply(run, [other for other in best_set.ids if other != step.id])
        whole = mitigation.apply(run, best_set.ids)
        hours = [float(plan.make(scenario, simulate=False).budget.ettr) for scenario in (rest, whole)]
        start = float(plan.make(run, simulate=False).budget.ettr)
        saved = start * (1 / hours[0] - 1 / hours[1])
        assert step.saved_h == pytest.approx(730.5 * saved, rel=1e-4, abs=1e-4)
        assert step.saved_usd * best_set.months > step.price_usd and 0 <= step.needed_share < 1
    assert [step.ettr for step in best_set.steps] == sorted(step.ettr for step in best_set.steps)
    assert best_set.ettr_with_all == pytest.approx(hours[1], rel=1e-6)


def test_the_order_of_the_catalogue_changes_nothing(first):
    default = mitigation.catalogue()
    best_set, other = recommend(first), recommend(first, of=Catalogue(default.mitigations[::-1], default.assumptions))
    assert best_set.steps == other.steps and best_set.alternatives == other.alternatives


def test_a_step_that_a_better_one_makes_redundant_is_an_alternative_and_no_step(first):
    best_set = recommend(first)
    assert "async-checkpoint" not in best_set.ids  # it saves hardly anything once a faster tier holds the state
    search, chosen = searching(first), frozenset(best_set.ids)
    for other in best_set.alternatives:
        others = chosen - {*other.replaces}
        assert search.value(others | {other.id}) > search.value(others)
        assert other.saved_h == pytest.approx(730.5 * search.saved_share(others | {other.id}, others))
        assert other.is_cheaper == (other.price_usd < search.price_usd(other.replaces))
        assert search.value(others | {other.id}) <= search.value(chosen) + 1e-9
    assert any(other.is_cheaper for other in best_set.alternatives)


def test_within_a_budget_it_is_the_best_set_that_the_money_buys(first):
    free = recommend(first)
    assert recommend(first, free.price_usd).ids == free.ids
    less = recommend(first, free.price_usd - 1)
    assert less.price_usd < free.price_usd and less.net_usd < free.net_usd
    search = searching(first, free.price_usd - 1)
    pairs = (frozenset(ids) for n in (1, 2) for ids in itertools.combinations(search.candidates, n))
    assert (
        search.value(frozenset(less.ids)) >= max(search.value(ids) for ids in pairs if search.go_together(ids)) - 1e-9
    )
    assert "over the budget" in less.unlisted.values()


def test_a_cheaper_mitigation_may_leave_room_for_another():
    """Just-in-time checkpoints are the best single ones for 245,000 USD, and two others together are better."""
    run = Scenario.load("llama3-405b")
    best_set, search = recommend(run, 245_000), searching(run, 245_000)
    affordable = [name for name in search.candidates if search.prices[name] <= 245_000]
    small = (frozenset(ids) for n in (1, 2, 3) for ids in itertools.combinations(affordable, n))
    most = max(search.value(ids) for ids in small if search.go_together(ids))
    assert len(best_set.ids) == 2 and search.value(frozenset(best_set.ids)) == pytest.approx(most, abs=2e-9)


def test_a_weaker_effect_saves_its_part_and_a_stronger_one_no_more_than_the_run_loses(first):
    plain, name = Sets(first), "in-process-restart"
    weak, strong = (Sets(first).with_strengths({name: strength}) for strength in (0.5, 1e6))
    assert weak.saved_h([name]) == pytest.approx(plain.saved_h([name]) / 2)
    assert strong.saved_h([name]) == pytest.approx(730.5 * (1 - plain.before.ettr))
    both = ("faulty-machine-detection", name)
    assert plain.saved_h(both) / 2 < weak.saved_h(both) < plain.saved_h(both)
    assert weak.saved_h(both[:1]) == plain.saved_h(both[:1])
    assert name not in Sets(first).with_strengths({name: 1e-6}).best()


@pytest.mark.parametrize("budget_usd", [-1, math.nan])
def test_a_budget_that_is_none_is_refused(first, budget_usd):
    with pytest.raises(InputError, match="budget_usd must be >= 0 USD, got"):
        recommend(first, budget_usd)


def test_a_horizon_shorter_than_any_payback_is_said_in_a_sentence(first):
    best_set = recommend(first.override({"job.productive_h": 24}))
    assert best_set.months < 0.05 and not best_set.steps
    text = best_set.report()[0].text
    assert "No mitigation pays" in text and best_set.catalogue[best_set.quickest[0]].title in text


def test_the_horizon_is_the_run_a_year_or_what_the_scenario_asks_for(first):
    assert recommend(first).months == 12
    assert recommend(first.override({"cost.payback_months": 36})).months == 36
    ends = first.override({"job.productive_h": 1000})
    assert recommend(ends).months == pytest.approx(float(plan.make(ends).budget.total_h) / 730.5, rel=1e-6)


def test_prices_decide(first):
    assert not recommend(first.override({"cost.usd_per_gpu_h": 0.001})).steps
    dear = recommend(first.override({"cost.usd_per_gpu_h": 10}))
    assert dear.saved_usd == pytest.approx(10 * 4096 * dear.saved_h)


def test_without_a_price_it_saves_the_most_hours(first):
    best_set = recommend(first.override({"cost.usd_per_gpu_h": 0}))
    assert not best_set.has_price and best_set.saved_h >= recommend(first).saved_h - 1e-9
    assert all(step.saved_h > LEAST_SHARE * 730.5 for step in best_set.steps)
    assert "USD" not in " ".join(best_set.report()[0].columns).replace("price", "")


def test_of_mitigations_that_all_conflict_it_is_the_best_one(first):
    only = ["replica-recovery", "peer-checkpoint", "just-in-time-checkpoint"]
    search = searching(first, only=only)
    assert not any(search.go_together(pair) for pair in itertools.combinations(only, 2))
    best_set = recommend(first, only=only)
    assert best_set.ids == (max(only, key=lambda name: search.value(frozenset([name]))),)
    assert set(best_set.unlisted) == {*only} - {*best_set.ids}
    assert all(reason.startswith("not compatible with") for reason in best_set.unlisted.values())


def test_what_the_scenario_does_not_describe_is_named_and_not_in_the_set(first):
    best_set = recommend(first)
    assert "lemon-removal" in best_set.undescribed
    assert not {*best_set.ids, *best_set.unlisted} & {*best_set.undescribed, *best_set.simulated}
    fleet = first.override({"failures.lemons": {"share": 0.15, "factor": 5}})
    assert "lemon-removal" not in recommend(fleet).undescribed


def test_what_only_simulation_follows_is_named_in_one_line(first):
    tiers = {"checkpoint.tiers": [{"name": "peer", "interval_s": 60, "stall_s": 0.5, "load_s": 5, "survives": 0.9}]}
    best_set = recommend(first.override(tiers))
    assert "failure-prediction" in best_set.simulated
    assert (
        best_set.catalogue["failure-prediction"].title in best_set.elsewhere and "`ettr compare`" in best_set.elsewhere
    )


def test_what_changes_the_speed_is_valued_by_what_it_saves():
    """A lower power limit raises the ETTR, as it cools, and loses time all the same."""
    hot = {"mean_c": 38, "swing_k": 8, "cooling": "air_economiser", "reference_inlet_c": 20.2}
    best_set = recommend(Scenario.load("llama3-405b").override({"heat": hot}))
    assert "power-cap" not in best_set.ids and all(step.saved_h > 0 for step in best_set.steps)


def test_an_unknown_mitigation_is_refused_with_the_nearest(first):
    with pytest.raises(InputError, match="peer-checkpoint"):
        recommend(first, only=["peer-checkpont"])


def test_runs_answered_together_are_answered_as_alone(first):
    """Of all kinds mixed, each with several failure rates and stalls."""
    runs = [
        first.override({"failures.job_mttf_h": mttf_h, "checkpoint.stall_s": stall_s} | kind)
        for kind in KINDS
        for mttf_h, stall_s in ((9, 90), (2, 90), (40, 5))
    ]
    answered = 0
    for run, together in zip(runs, at_best_intervals(runs), strict=True):
        try:
            alone = at_best_interval(run)
        except (NotModelled, OutsideValidity):
            assert together is None, run
        else:
            answered += 1
            # tiers have no single interval; an array may be rounded otherwise than a number
            numbers, expected = ([number or 0.0 for number in answer] for answer in (together, alone))
            assert numbers == pytest.approx(expected, rel=1e-12), run
    assert answered == 3 * 7
