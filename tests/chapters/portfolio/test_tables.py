"""Tables on the recommended set."""

from __future__ import annotations

from dataclasses import replace

import pytest

from computed.mitigations import decisive, recommended
from ettr import Scenario, budget, evidence, mitigation, plan, recommendation
from ettr.recommendation.best_set import Sets
from ettr_book.chapters import portfolio, what_if
from ettr_book.chapters.common.runs import loaded
from ettr_book.chapters.portfolio.tables import AFTER, BEFORE

PRESETS = evidence.scenario_names()
SMALL = {"cluster": {"n_gpus": 1024}, "job": {"productive_h": 500.0}, "checkpoint": {"stall_s": 60}}
QUIET = Scenario.of({**SMALL, "failures": {"rate_per_1000_node_days": 0.0}})
ENDLESS = Scenario.of(
    {
        "cluster": {"n_gpus": 4096},
        "job": {"productive_h": None},
        "failures": {"job_mttf_h": 9},
        "checkpoint": {"stall_s": 90},
    }
)
UNPRICED = ENDLESS.override({"cost": {"usd_per_gpu_h": 0.0}})


@pytest.mark.parametrize("name", PRESETS)
def test_the_chapter_a_plan_and_a_page_recommend_the_same_set(name):
    best_set, planned = recommended(name), plan.make(Scenario.load(name), simulate=False).recommendation
    page = what_if.tables.ALL["portfolio"](budget.simplified(loaded(name)).scenario)["steps"]
    titles = [step.title for step in best_set.steps]
    assert best_set.ids == planned.ids
    assert page["what"].tolist()[1:] == titles
    assert portfolio.tables.steps(best_set)["title"].tolist() == titles


@pytest.mark.parametrize("name", PRESETS)
def test_a_waterfall_leads_from_what_is_lost_before_to_what_is_lost_after(name):
    best_set = recommended(name)
    table = portfolio.tables.lost_hours(best_set).set_index("part")
    if not best_set.steps:
        assert table.empty
        return
    steps = table.drop([BEFORE, AFTER])
    assert steps["end"].iloc[-1] == pytest.approx(
        table.loc[AFTER, "end"], abs=0.3
    )  # parts that hardly move are left out
    assert (steps["end"] - steps["start"]).to_numpy() == pytest.approx(steps["hours"].to_numpy())
    assert (steps["after"] - steps["before"]).to_numpy() == pytest.approx(steps["hours"].to_numpy())
    faster = any(
        change.path.startswith("network") for name in best_set.ids for change in mitigation.catalogue()[name].changes
    )
    if not faster:  # all of the saving is of lost hours
        assert table.loc[BEFORE, "hours"] - table.loc[AFTER, "hours"] == pytest.approx(best_set.saved_h, rel=1e-6)


def test_a_step_saves_alone_what_the_engine_saves_with_it_only():
    best_set = recommended()
    for step in best_set.steps:
        only = recommendation.recommend(best_set.scenario, only=[step.id])
        assert not only.steps or step.alone_h == pytest.approx(only.saved_h)
        assert step.saved_h <= best_set.saved_h
    assert best_set.steps[0].alone_h == pytest.approx(best_set.steps[0].total_h)


def test_each_end_of_a_range_is_a_recommendation_of_its_own():
    best_set, table = recommended(), decisive().set_index("input")
    row = table.loc["recovery.restart_min"]
    run = best_set.scenario.override({"recovery.restart_min": row["high_value"]})
    at_end = recommendation.recommend(run, 1e9)
    assert set(row["ids_high"]) == set(at_end.ids)
    assert row["net_high"] == pytest.approx(Sets(run).net_usd(best_set.ids) / 1e6)
    assert row["net_low"] < row["net"] < row["net_high"]
    assert row["net"] == pytest.approx(Sets(best_set.scenario).net_usd(best_set.ids) / 1e6)
    assert table["swing"].is_monotonic_decreasing


def test_an_assumption_that_leaves_a_step_nothing_to_save_takes_it_out_of_the_set():
    """Where failures are noticed within seconds, faster detection does not pay."""
    row = decisive().set_index("input").loc["recovery.detection_min"]
    assert row["changes_set"] and "faulty-machine-detection" not in row["ids_low"]
    assert "faulty-machine-detection" in row["ids_high"]
    assert "without" in portfolio.words.decisive(decisive(), recommended()).text


def test_the_simulated_set_agrees_with_the_model():
    best_set = recommended("opt-175b")
    before, after = portfolio.tables.simulated(loaded("opt-175b"), best_set, 40)
    assert before.ettr == pytest.approx(best_set.ettr, abs=0.01)
    assert after.ettr == pytest.approx(best_set.ettr_with_all, abs=0.01)


@pytest.mark.parametrize("run", [QUIET, ENDLESS, UNPRICED, None], ids=["quiet", "endless", "unpriced", "none"])
def test_every_part_speaks_where_nothing_is_recommended_or_nothing_ends(run):
    best_set = plan.make(run, simulate=False).recommend(1e9) if run else None
    if run is ENDLESS:
        best_set = replace(best_set, steps=())
    lost, steps = portfolio.tables.lost_hours(best_set), portfolio.tables.steps(best_set)
    moved = portfolio.tables.decisive(best_set, [])
    words = portfolio.words
    spoken = [
        words.answer(best_set),
        words.by_hand(best_set),
        words.lost_hours(lost, best_set),
        words.steps(best_set),
        words.simulated(None, best_set),
        words.decisive(moved, best_set),
        words.exercises(best_set, 1e9),
    ]
    assert all(finding.title and finding.text for finding in spoken)
    assert not any("nan" in finding.text or "inf " in finding.text for finding in spoken)
    for chart in (
        portfolio.charts.lost_hours(lost, "lost"),
        portfolio.charts.steps(steps, "steps"),
        portfolio.charts.decisive(moved, "decides"),
    ):
        assert chart is not None
