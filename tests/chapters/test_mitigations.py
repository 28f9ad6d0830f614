"""Charts and tables of the chapters on mitigations: one by one, together, and the catalogue."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from computed import mitigations
from computed.mitigations import comparison, recommended
from ettr import Scenario, budget, evidence, mitigation, plan, plots, recommendation
from ettr.core.errors import NotModelled
from ettr.plots.ranking import ranking_data
from ettr.plots.theme import NoChart
from ettr.recommendation.best_set import Sets
from ettr_book.chapters import catalogue, one_by_one, portfolio, what_if
from ettr_book.chapters.common.runs import loaded

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


@pytest.fixture(scope="module")
def compared():
    return comparison()


# ------------------------------------------------------------------ one by one


@pytest.mark.parametrize("measure", recommendation.UNITS)
def test_a_ranking_is_best_first_with_each_value_in_its_range(compared, measure, check_chart):
    ranked = recommendation.Comparison(compared.study, measure, compared.frame)
    frame = ranking_data(ranked)
    assert frame["gain"].is_monotonic_decreasing and frame["id"].is_unique and len(frame)
    assert (frame["low"] <= frame["gain"]).all() and (frame["gain"] <= frame["high"]).all()
    chart = plots.mitigations(ranked).to_dict()
    check_chart(chart, compared.study.scenario.title)
    assert frame["title"].iloc[0] in chart["title"]["text"]


def test_shares_by_size_have_the_jobs_own_and_whole_nodes(compared):
    table = one_by_one.worth_by_size(compared.study, ["faster-restart"], [1000, 65_536], n_runs=4)
    assert sorted(set(table["value"])) == [1000.0, 16384.0, 65_536.0]
    assert table.set_index("value")["saved"].is_monotonic_increasing
    assert one_by_one.worth_by_size(compared.study, [], [1024]).empty


def test_the_hours_of_the_parts_add_up_to_the_saving(compared):
    parts = one_by_one.hours_by_part(compared, ["faster-restart", "shorter-stall"])
    saved_d = compared.frame.set_index("id")["days_gain"]
    for name, hours in parts.groupby("id")["hours"].sum().items():
        assert hours / 24 == pytest.approx(saved_d[name], rel=0.02)


# ------------------------------------------------------------------ together


@pytest.mark.parametrize("name", PRESETS)
def test_the_chapter_a_plan_and_a_page_recommend_the_same_set(name):
    best_set, planned = recommended(name), plan.make(Scenario.load(name), simulate=False).recommendation
    page = what_if.tables.ALL["portfolio"](budget.simplified(loaded(name)).scenario)["steps"]
    titles = [step.title for step in best_set.steps]
    assert best_set.ids == planned.ids
    assert page["what"].tolist()[1:] == portfolio.steps(best_set).index.tolist() == titles


@pytest.mark.parametrize("name", PRESETS)
def test_a_waterfall_leads_from_the_hours_lost_before_to_those_lost_after(name):
    best_set = recommended(name)
    table = portfolio.lost_by_part(best_set).set_index("part")
    if not best_set.steps:
        assert table.empty
        return
    before, after = (table.loc[part] for part in (portfolio.BEFORE, portfolio.AFTER))
    parts = table.drop([portfolio.BEFORE, portfolio.AFTER])
    assert parts["end"].iloc[-1] == pytest.approx(after["end"], abs=0.3)  # parts that hardly move are left out
    assert (parts["end"] - parts["start"]).to_numpy() == pytest.approx(parts["hours"].to_numpy())
    faster = any(
        change.path.startswith("network") for name in best_set.ids for change in mitigation.catalogue()[name].changes
    )
    if not faster:  # all of the saving is of lost hours
        assert before["hours"] - after["hours"] == pytest.approx(best_set.saved_h, rel=1e-6)


def test_a_step_saves_alone_what_the_engine_saves_with_it_only():
    best_set = recommended()
    for step in best_set.steps:
        only = recommendation.recommend(best_set.scenario, only=[step.id])
        assert not only.steps or step.alone_h == pytest.approx(only.saved_h)
        assert step.saved_h <= best_set.saved_h


@pytest.mark.parametrize("name", ["llama3-405b", "opt-175b"])
def test_hours_saved_diminish_with_each_mitigation_of_the_set(name):
    best_set = recommended(name)
    sets = Sets(best_set.scenario)
    for step in best_set.steps:
        others = [other for other in best_set.ids if other != step.id]
        on_top = [
            sets.saved_h([*others[:n], step.id]) - (sets.saved_h(others[:n]) if n else 0.0)
            for n in range(len(others) + 1)
        ]
        assert on_top[-1] == pytest.approx(step.saved_h)
        assert on_top == sorted(on_top, reverse=True)


def test_each_end_of_a_range_is_a_recommendation_of_its_own():
    best_set, table = recommended(), mitigations.ends().set_index("input")
    row = table.loc["recovery.restart_min"]
    run = best_set.scenario.override({"recovery.restart_min": row["high_value"]})
    assert set(row["ids_high"]) == set(recommendation.recommend(run, 1e9).ids)
    assert row["net_high"] == pytest.approx(Sets(run).net_usd(best_set.ids) / 1e6)
    assert row["net_low"] < row["net"] < row["net_high"]
    assert table["swing"].is_monotonic_decreasing and (table["regret"] >= 0).all()


def test_an_assumption_that_leaves_a_step_nothing_to_save_takes_it_out_of_the_set():
    """Where failures are noticed within seconds, faster detection does not pay."""
    row = mitigations.ends().set_index("input").loc["recovery.detection_min"]
    assert row["changes_set"] and "faulty-machine-detection" not in row["ids_low"]
    best = Sets(recommended().scenario.override({"recovery.detection_min": row["low_value"]})).net_usd(row["ids_low"])
    assert row["regret"] == pytest.approx(best / 1e6 - row["net_low"])


def test_the_simulated_set_agrees_with_the_model():
    best_set = recommended("opt-175b")
    said = portfolio.simulated(loaded("opt-175b"), best_set, 40).text
    shares = [float(word.strip(".;(")[:-1]) / 100 for word in said.split() if word.strip(".;(").endswith("%")]
    before, after = shares[0], shares[1]
    assert before == pytest.approx(best_set.ettr, abs=0.01) and after == pytest.approx(best_set.ettr_with_all, abs=0.01)


def test_a_run_without_a_recommendation_has_a_reason():
    assert plan.make(QUIET, simulate=False).recommend(1e9) is None
    assert "no failures" in portfolio.answer(None).text
    with pytest.raises(NotModelled, match="no failures"):
        portfolio.with_answer(None)


@pytest.mark.parametrize("steps", [True, False])
@pytest.mark.parametrize("run", [ENDLESS, UNPRICED], ids=["endless", "unpriced"])
def test_every_part_has_an_answer_where_nothing_pays_or_nothing_ends(run, steps):
    best_set = plan.make(run, simulate=False).recommend(1e9)
    best_set = best_set if steps else replace(best_set, steps=())
    for said in (portfolio.answer(best_set), portfolio.simulated(run, best_set, 4)):
        assert said.title and said.text and "nan" not in said.text and "inf " not in said.text
    for chart in (portfolio.lost_hours(best_set), portfolio.overlap(best_set), portfolio.decisive(best_set, [])):
        assert isinstance(chart, NoChart) == (not steps)
    assert len(portfolio.steps(best_set)) == len(best_set.steps)


# ------------------------------------------------------------------ the catalogue


def test_assumptions_are_listed_field_by_field(compared):
    table = catalogue.assumed_values(compared.study).set_index("field")
    assert table["value"].to_dict() == {
        "cost.usd_per_gpu_h": "2",
        "cost.usd_per_kwh": "0.08",
        "recovery.person_share": "0.01",
    }
    assert table.loc["recovery.person_share", ["status", "source"]].tolist() == ["secondary", "dubey2024"]


def test_an_assumed_pool_is_listed_in_nodes():
    study = recommendation.study(Scenario.load("rsc-1"), n_runs=2)
    row = catalogue.assumed_values(study).set_index("field").loc["spares.n_nodes"]
    assert row["value"] == str(study.together(["spare-pool"]).baseline.spares.n_nodes) and row["unit"] == "nodes"


def test_published_pairs_stand_beside_what_is_computed(compared):
    assert catalogue.rows_to_compute(compared.study.catalogue)["result_id"].tolist() == ["bloom-stall"]
    table = catalogue.published_pairs(compared)
    assert len(table) == sum(len(entry.published) for entry in compared.study.catalogue)
    (reproduced,) = table[table["verdict"] == "reproduced"].itertuples()
    assert reproduced.computed == "0.003704 for 0.0037" and table["holds"].all()
    untried = table.set_index("id").loc["not-a-field"]
    assert np.isnan(untried["days"]) and untried["before"] == 2


def test_every_mitigation_has_a_place(compared):
    assert catalogue.places(compared).set_index("id")["place"].to_dict() == {
        "shorter-stall": "1",
        "faster-restart": "2",
        "other-stall": "3",
        "slower-training": "4",
        "in-place": "in place",
        "unknown-worth": "no rank: no published evidence",
        "needs-spares": "not applicable",
        "not-a-field": "not modelled",
    }
    assert catalogue.places(comparison("tiny")).set_index("id").loc["other-stall", "place"] == "3 (2 to 3)"
