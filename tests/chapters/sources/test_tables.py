"""The audit reaches the verdicts that follow from the published counts, and no other."""

from __future__ import annotations

import pytest

from ettr_book.chapters import sources

TABLES = sources.tables
VERDICTS = {
    "disagrees": "P1 P2 P3 P5 P6a D01 D04 D05 D06 D07 D08 D18a D18c D24",
    "agrees": (
        "P4 P6b P7 P9a P9b D02a D02b D03a D03b D09a D09b D10 D11 D12 D13 D14a D14b D16 D17a D17b D17c D18b "
        "D22a D22b D22c D22e D23 D25a D25b D28a D28b"
    ),
    "imprecise": "P8 D19a D19b",
    "unsupported": "D15",
    "wrong framing": "D20a D20b",
    "incomplete": "D21",
    "consistent": "D22d D25c D26 D27",
    "irrelevant": "D29",
}


def test_every_claim_gets_its_verdict():
    verdicts = TABLES.audit().set_index("claim_id")["verdict"].to_dict()
    assert verdicts == {claim: verdict for verdict, ids in VERDICTS.items() for claim in ids.split()}


def test_a_computed_verdict_shows_its_number_and_a_judgement_its_reason():
    claims = TABLES.audit()
    computed, verdicts = claims["quantity"] != "", {TABLES.AGREES, TABLES.DISAGREES}
    assert claims.loc[computed, ["stated_value", "implied_value", "tolerance"]].notna().all(axis=None)
    assert (claims.loc[computed, "tolerance_reason"] != "").all()
    assert set(claims.loc[computed, "verdict"]) == verdicts
    assert claims.loc[~computed, "implied_value"].isna().all()
    assert not set(claims.loc[~computed, "verdict"]) & {*verdicts, ""}
    assert (claims["comment"].str.len() > 0).all()
    assert not claims["comment"].str.contains("[{}]").any()
    units = TABLES.quantities().set_index("quantity")["unit"]
    assert claims.loc[computed, "unit"].tolist() == units[claims.loc[computed, "quantity"]].tolist()
    assert ((claims["judgement"] != "") == ~computed).all()


def test_only_the_first_row_of_the_table_disagrees_with_itself():
    rows = TABLES.interruption_shares()
    assert rows.loc[~rows["agrees"], "component"].tolist() == ["Faulty GPU"]
    assert rows["implied_pct"].sum() == pytest.approx(100.0)
    assert rows.loc[0, "implied_pct"] == pytest.approx(35.32, abs=0.005)  # rounded


@pytest.mark.parametrize(
    ("name", "value"),
    [  # worked by hand from the counts, 54 days and 16,384 GPUs
        ("faulty_gpu_share_pct", 35.32),
        ("gpu_share_pct", 63.96),
        ("printed_gpu_share_pct", 58.7),
        ("printed_total_pct", 94.9),
        ("hardware_share_pct", 76.6),
        ("hardware_with_network_share_pct", 85.0),
        ("hardware_without_maintenance_share_pct", 77.3),
        ("hardware_with_unknown_share_pct", 78.3),
        ("four_gpu_rows_printed_pct", 55.9),
        ("four_gpu_rows_share_pct", 61.1),
        ("mtbi_unexpected_h", 3.093),
        ("mtbi_all_h", 2.781),
        ("unexpected_per_day", 7.76),
        ("rate_per_1000_node_days", 3.789),
        ("max_loss_min", 18.56),
        ("mfu_16k_gpus_pct", 40.4),
        ("training_days_at_16k", 78.4),
        ("xai_failures_per_day", 47.4),
        ("xai_mtbi_min", 30.4),
        ("rsc_n_jobs", 3.88e6),
        ("rsc_gpu_h", 1.61e8),
    ],
)
def test_quantities(name, value):
    quantities = TABLES.quantities().set_index("quantity")["value"]
    assert quantities[name] == pytest.approx(value, rel=3e-3)  # expected values have three digits


def test_every_quantity_has_a_number_and_a_meaning():
    quantities = TABLES.quantities()
    assert quantities["value"].notna().all()
    assert quantities["quantity"].is_unique
    assert (quantities["unit"] != "").all()
