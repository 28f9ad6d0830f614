"""Tables on single mitigations."""

from __future__ import annotations

import numpy as np
import pytest

from computed import mitigations
from computed.mitigations import CASES, comparison, known, leading
from ettr import Scenario, compare, evidence, validation
from ettr.chapters.one_by_one import evidence_tables, tables
from ettr.chapters.one_by_one.tables import COSTS_TIME, SAME, SAVES
from ettr.compare import RATE
from ettr.core.errors import UnknownName


@pytest.fixture(scope="module")
def compared():
    return comparison()


@pytest.fixture(scope="module")
def worth(compared):
    return mitigations.worth()


def test_the_worth_of_each_is_that_of_the_comparison_most_first(compared, worth):
    assert worth["id"].tolist()[:3] == ["in-place", "shorter-stall", "faster-restart"]
    assert worth["days"].is_monotonic_decreasing
    rows = compared.frame.set_index("id")
    assert worth["days"].to_numpy() == pytest.approx(rows.loc[worth["id"], "days_gain"].to_numpy())
    assert (worth["low"] <= worth["days"]).all() and (worth["days"] <= worth["high"]).all()


def test_ranks_leave_out_what_is_in_place_and_what_has_no_evidence(worth):
    ranks = worth.set_index("id")["rank"]
    assert ranks[["shorter-stall", "faster-restart", "other-stall", "slower-training"]].tolist() == [1, 2, 3, 4]
    assert ranks[["in-place", "unknown-worth"]].isna().all()


def test_a_rank_that_chance_may_change_has_ends():
    tiny = mitigations.worth("tiny").set_index("id")
    assert tiny.loc[["shorter-stall", "other-stall"], "rank_low"].tolist() == [2, 2]
    assert tiny.loc[["shorter-stall", "other-stall"], "rank_high"].tolist() == [3, 3]
    assert tiny.loc["faster-restart", ["rank_low", "rank_high"]].tolist() == [1, 1]


@pytest.mark.parametrize("case", CASES)
def test_effects_follow_from_the_intervals_and_split_the_table(case):
    worth = mitigations.worth(case)
    for row in worth.itertuples():
        assert row.effect == (SAVES if row.low > 0 else COSTS_TIME if row.high < 0 else SAME)
    saving, others = tables.savers(worth), tables.other_worth(worth)
    assert set(saving["id"]) | set(others["id"]) <= set(worth["id"])
    assert not set(saving["id"]) & set(others["id"])
    assert {"in-place", "slower-training"} <= set(others["id"])


def test_the_leading_ones_have_evidence_save_time_and_can_be_named_instead(compared):
    assert tables.leading(compared, 2) == ("shorter-stall", "faster-restart")
    assert tables.leading(compared, 9) == ("shorter-stall", "faster-restart", "other-stall")
    assert tables.leading(compared, 1, ["unknown-worth", "unknown-worth"]) == ("unknown-worth",)
    with pytest.raises(UnknownName, match="mitigation"):
        tables.leading(compared, 1, ["faster"])


def test_a_comparison_without_answers_gives_empty_tables():
    run = Scenario.load("llama3-405b").override(CASES["usual"])
    none = compare.mitigations(run, ["needs-spares", "not-a-field"], n_runs=2, of=known())
    assert tables.worth_in_days(none).empty and tables.leading(none, 3) == ()
    assert tables.beside_closed_form(none).empty and tables.costs_and_savings(none).empty
    assert evidence_tables.places(none)["place"].tolist() == ["not applicable", "not modelled"]


def test_the_closed_form_agrees_on_a_plain_run(compared):
    table = tables.beside_closed_form(compared)
    assert "slower-training" not in set(table["id"])
    assert table["apart"].abs().max() < 2e-3
    assert table["agrees"].tolist() == table["closed"].between(table["low"], table["high"]).tolist()


def test_savings_less_costs_are_what_is_left_over(compared):
    table = tables.costs_and_savings(compared).set_index("id")
    assert (table["saved_usd"] - table["cost_usd"]).to_numpy() == pytest.approx(table["net_usd"].to_numpy())
    assert table.loc["shorter-stall", "cost_usd"] == 100 * 16384
    assert table["pays"].to_dict() == {
        "other-stall": "yes",
        "unknown-worth": "yes",
        "faster-restart": "no",
        "slower-training": "no",
        "shorter-stall": "no",
    }
    days = compared.frame.set_index("id").loc["faster-restart", "days_gain"]
    assert table.loc["faster-restart", "saved_usd"] == pytest.approx(days * 24 * 16384 * 2, rel=0.03)  # and electricity


def test_hours_that_are_given_back_sum_to_what_is_saved(compared, worth):
    table = tables.hours_given_back(compared, leading())
    days = worth.set_index("id")["days"]
    for name, group in table.groupby("id"):
        assert group["hours"].sum() == pytest.approx(24 * days[name], abs=1e-4)
    own = table[table["id"] == "faster-restart"]
    assert own.loc[own["hours"].idxmax(), "part"] == "restart"
    assert "slowdown" not in set(table["part"])
    assert tables.hours_given_back(compared, ()).empty


def test_shares_by_size_have_the_jobs_own_and_whole_nodes(compared):
    table = tables.worth_by_size(compared.study, ["faster-restart"], [1000, 65_536], n_runs=4)
    assert sorted(set(table["value"])) == [1000.0, 16384.0, 65_536.0]
    shares = table.set_index("value")["saved"]
    assert shares.is_monotonic_increasing
    assert tables.worth_by_size(compared.study, [], [1024]).empty


def test_break_even_values_are_those_of_their_tables(compared):
    ids = ["faster-restart", "other-stall"]
    by_size = tables.worth_by_size(compared.study, ids, [1024, 16_384, 131_072], n_runs=4)
    table = tables.break_even_values(compared.study, ids, by_size, [0.25, 1, 4, 16], n_runs=4).set_index("id")
    prices = compare.at_prices(compared.study, ids).set_index("id")["break_even_usd_per_gpu_h"]
    assert table["usd_per_gpu_h"].to_numpy() == pytest.approx(prices.to_numpy())
    given = compared.study.baseline.failure_rate
    moved = compare.along(compared.study, ids, RATE, [given * factor for factor in (0.25, 1, 4, 16)], 4)
    rates = compare.break_evens(moved).set_index("id")["break_even"]
    assert table["rate"].to_numpy() == pytest.approx(rates.to_numpy(), nan_ok=True)
    assert table.loc["faster-restart", "rate"] > given  # it does not pay as it is


def test_without_failures_no_rate_is_looked_for():
    study = comparison("quiet").study
    by_size = tables.worth_by_size(study, ["faster-restart"], [], n_runs=3)
    table = tables.break_even_values(study, ["faster-restart"], by_size, n_runs=3)
    assert table["rate_pays"].tolist() == ["no failures"] and np.isnan(table["rate"]).all()
    assert tables.break_even_values(study, [], by_size).empty


def test_assumptions_are_listed_field_by_field(compared):
    table = evidence_tables.assumed_values(compared.study).set_index("field")
    assert table["value"].to_dict() == {
        "cost.usd_per_gpu_h": "2",
        "cost.usd_per_kwh": "0.08",
        "recovery.person_share": "0.01",
    }
    assert table.loc["recovery.person_share", ["status", "source"]].tolist() == ["secondary", "dubey2024"]


def test_published_pairs_stand_beside_what_is_computed(compared):
    rows = evidence_tables.rows_to_compute(compared.study.catalogue)
    assert rows["result_id"].tolist() == ["bloom-stall"]
    table = mitigations.published_pairs()
    assert len(table) == sum(len(one.published) for one in compared.study.catalogue)
    (own,) = table[table["verdict"] == "reproduced"].itertuples()
    assert own.computed == "0.003704 for 0.0037" and own.holds
    assert table["holds"].all()
    untried = table.set_index("id").loc["not-a-field"]
    assert np.isnan(untried["days"]) and untried["before"] == 2


def test_a_verdict_that_the_computation_does_not_bear_out_is_marked(compared):
    rows = evidence_tables.rows_to_compute(compared.study.catalogue)
    computed = validation.run(rows).assign(verdict="consistent")
    table = evidence_tables.published_pairs(compared, computed).set_index("id")
    assert not table.loc["shorter-stall", "holds"]
    table = evidence_tables.published_pairs(compared, computed.iloc[:0]).set_index("id")
    assert not table.loc["shorter-stall", "holds"]


def test_every_mitigation_has_a_place(compared):
    table = evidence_tables.places(compared)
    assert set(table["id"]) == set(compared.study.catalogue.ids)
    assert table.set_index("id")["place"].to_dict() == {
        "shorter-stall": "1",
        "faster-restart": "2",
        "other-stall": "3",
        "slower-training": "4",
        "in-place": "in place",
        "unknown-worth": "no rank: nothing published",
        "needs-spares": "not applicable",
        "not-a-field": "not modelled",
    }
    tiny = evidence_tables.places(comparison("tiny")).set_index("id")
    assert tiny.loc["other-stall", "place"] == "3 (2 to 3)"


def test_documents_ask_for_what_the_catalogue_says(compared):
    table = evidence_tables.by_document(evidence_tables.places(compared))
    asked = {(row.key, row.id) for row in table.itertuples()}
    assert asked == {
        ("dubey2024", "faster-restart"),
        ("kokolis2025", "faster-restart"),
        ("kokolis2025", "shorter-stall"),
    }
    titles = evidence.bibliography().set_index("key")["title"]
    assert table["document"].tolist() == [titles[key] for key in table["key"]]


def test_an_assumed_pool_is_listed_in_nodes():
    study = compare.study(Scenario.load("rsc-1"), n_runs=2)
    row = evidence_tables.assumed_values(study).set_index("field").loc["spares.n_nodes"]
    assert row["value"] == str(study.together(["spare-pool"]).baseline.spares.n_nodes) and row["unit"] == "nodes"
