"""Tables on single mitigations."""

from __future__ import annotations

import numpy as np
import pytest

from computed import mitigations
from computed.mitigations import comparison
from ettr import Scenario, recommendation
from ettr_book.chapters import one_by_one
from ettr_book.chapters.catalogue import tables


@pytest.fixture(scope="module")
def compared():
    return comparison()


def test_shares_by_size_have_the_jobs_own_and_whole_nodes(compared):
    table = one_by_one.tables.worth_by_size(compared.study, ["faster-restart"], [1000, 65_536], n_runs=4)
    assert sorted(set(table["value"])) == [1000.0, 16384.0, 65_536.0]
    shares = table.set_index("value")["saved"]
    assert shares.is_monotonic_increasing
    assert one_by_one.tables.worth_by_size(compared.study, [], [1024]).empty


def test_assumptions_are_listed_field_by_field(compared):
    table = tables.assumed_values(compared.study).set_index("field")
    assert table["value"].to_dict() == {
        "cost.usd_per_gpu_h": "2",
        "cost.usd_per_kwh": "0.08",
        "recovery.person_share": "0.01",
    }
    assert table.loc["recovery.person_share", ["status", "source"]].tolist() == ["secondary", "dubey2024"]


def test_published_pairs_stand_beside_what_is_computed(compared):
    rows = tables.rows_to_compute(compared.study.catalogue)
    assert rows["result_id"].tolist() == ["bloom-stall"]
    table = mitigations.published_pairs()
    assert len(table) == sum(len(mitigation.published) for mitigation in compared.study.catalogue)
    (reproduced,) = table[table["verdict"] == "reproduced"].itertuples()
    assert reproduced.computed == "0.003704 for 0.0037" and reproduced.holds
    assert table["holds"].all()
    untried = table.set_index("id").loc["not-a-field"]
    assert np.isnan(untried["days"]) and untried["before"] == 2


def test_every_mitigation_has_a_place(compared):
    table = tables.places(compared)
    assert set(table["id"]) == set(compared.study.catalogue.ids)
    assert table.set_index("id")["place"].to_dict() == {
        "shorter-stall": "1",
        "faster-restart": "2",
        "other-stall": "3",
        "slower-training": "4",
        "in-place": "in place",
        "unknown-worth": "no rank: no published evidence",
        "needs-spares": "not applicable",
        "not-a-field": "not modelled",
    }
    tiny = tables.places(comparison("tiny")).set_index("id")
    assert tiny.loc["other-stall", "place"] == "3 (2 to 3)"


def test_an_assumed_pool_is_listed_in_nodes():
    study = recommendation.study(Scenario.load("rsc-1"), n_runs=2)
    row = tables.assumed_values(study).set_index("field").loc["spares.n_nodes"]
    assert row["value"] == str(study.together(["spare-pool"]).baseline.spares.n_nodes) and row["unit"] == "nodes"
