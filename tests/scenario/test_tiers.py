"""Tiers, the store, predictions and changing rates in a scenario: read, checked, found by name, written back."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ettr import Scenario
from ettr.checkpoint.placement import peer_survival
from refusals import refusal
from written_scenarios import zero_or_up_to

TIERED = """
name: tiered
title: A run with tiers
cluster: {n_gpus: 8000}
job: {productive_h: 400}
failures:
  rate_per_1000_node_days: 6
  modes:
    - {name: Software, category: code, share: 0.4, n_lost_nodes: 0}
    - {name: Rack, category: hardware, share: 0.1, n_lost_nodes: 16}
    - {name: GPU v1.2, category: hardware, share: 0.3}
  burn_in: {factor: 5, decay_days: 20}
  lifetime: {shape: 0.7, start: new}
checkpoint:
  interval_min: 60
  stall_s: 30
  store: {n_parameters: 405e9, write_gb_s: 200, read_gb_s: 400, node_gb_s: 0.25}
  tiers:
    - {name: peer memory, interval_s: 60, stall_s: 0.5, write_s: 2, load_s: 5, copies: 2}
    - {name: disk 1.5, interval_s: 600, write_s: 20, load_s: 30, survives: {hardware: 1, Software: 1, other: 1}}
recovery: {detection_min: 2, restart_min: 5}
prediction: {recall: 0.6, precision: 0.85, lead_s: 120, action_s: 30}
"""
PEER, DISK = "checkpoint.tiers.peer memory", "checkpoint.tiers.disk 1.5"


@pytest.fixture(scope="module")
def tiered() -> Scenario:
    return Scenario.parse(TIERED)


# --------------------------------------------------------------------------- read and written


def test_everything_is_written_as_it_is_read(tiered, tmp_path):
    path = tmp_path / "tiered.yml"
    path.write_text(tiered.to_yaml(), encoding="utf-8")
    assert Scenario.load(path) == tiered
    lines = tiered.to_yaml().splitlines()
    assert "    - {name: peer memory, interval_s: 60, stall_s: 0.5, write_s: 2, load_s: 5, copies: 2}" in lines
    assert "prediction: {recall: 0.6, precision: 0.85, lead_s: 120, action_s: 30}" in lines
    assert "  burn_in: {factor: 5, decay_days: 20}" in lines


survival = st.one_of(
    st.fixed_dictionaries({"copies": st.integers(1, 9), "placement": st.sampled_from(["group", "ring"])}),
    st.fixed_dictionaries({"survives": zero_or_up_to(1)}),
    st.fixed_dictionaries(
        {"survives": st.dictionaries(st.sampled_from(["Rack", "code", "other"]), zero_or_up_to(1), min_size=1)}
    ),
)
tier = st.fixed_dictionaries(
    {"name": st.sampled_from(["host", "no", "1e3", "a.b", "x: y"]), "interval_s": st.floats(20, 3600)},
    optional={"stall_s": zero_or_up_to(60), "write_s": zero_or_up_to(20), "load_s": zero_or_up_to(900)},
)


@given(tier=tier, survival=survival)
@settings(max_examples=25)
def test_any_tier_is_written_as_it_is_read(tier, survival):
    run = Scenario.parse(TIERED).override({"checkpoint.tiers": [{**tier, **survival}]})
    assert Scenario.parse(run.to_yaml()) == run


# --------------------------------------------------------------------------- sizes and hours


def test_the_store_gives_write_and_load(tiered):
    """4.86 TB: written at 200 GB/s in 24.3 s; read at 1,000 nodes x 0.25 GB/s in 19.44 s."""
    assert tiered.persist_h * 3600 == pytest.approx(24.3)
    assert tiered.load_h * 3600 == pytest.approx(19.44)
    assert tiered.least_interval_min == pytest.approx(24.3 / 60)
    smaller = tiered.override({"checkpoint.store.changed_share": 0.9, "checkpoint.store.compression_ratio": 1.05})
    assert smaller.persist_h * 3600 == pytest.approx(24.3 * 0.9 / 1.05)
    assert smaller.load_h * 3600 == pytest.approx(19.44 / 1.05)  # the whole state is loaded, whatever was written


def test_loading_counts_in_the_mean_recovery(tiered):
    assert tiered.recovery_h * 60 == pytest.approx(2 + 5 + 19.44 / 60)
    given_load = tiered.override({"checkpoint.store.read_gb_s": None, "checkpoint.load_s": 90})
    assert given_load.recovery_h * 60 == pytest.approx(2 + 5 + 1.5)


# --------------------------------------------------------------------------- who survives


def test_copies_survive_by_the_nodes_that_a_mode_loses(tiered):
    peer, disk = tiered.survival()
    assert tiered.mode_names == ("Software", "Rack", "GPU v1.2", "other")
    assert peer.tolist() == [1.0, peer_survival(1000, 16, 2), 1.0, 1.0]
    assert 0.8 < peer[1] < 0.9  # 16 of 1,000 nodes: 120 pairs, of which 1 in 999 is a group
    assert disk.tolist() == [1.0] * 4


@pytest.mark.parametrize(
    ("survives", "shares"),
    [
        (0.25, [0.25, 0.25, 0.25, 0.25]),
        ({"all": 0.25, "hardware": 0.5}, [0.25, 0.5, 0.5, 0.25]),
        ({"hardware": 0.5, "Rack": 0.75}, [0.0, 0.75, 0.5, 0.0]),
        ({"code": 1, "other": 0.5}, [1.0, 0.0, 0.0, 0.5]),
    ],
)
def test_the_most_specific_share_holds(tiered, survives, shares):
    """A mode's own, else its category's, else that of all, else none."""
    alone = tiered.override({"checkpoint.tiers": [{"name": "host", "interval_s": 60, "survives": survives}]})
    assert alone.survival()[0].tolist() == shares


def test_survival_follows_the_size_of_the_job(tiered):
    nodes = np.array([100.0, 1000.0, 10_000.0])
    peer, disk = tiered.survival(nodes)
    assert peer[1].tolist() == [peer_survival(n, 16, 2) for n in (100, 1000, 10_000)]
    assert np.all(np.diff(peer[1]) > 0) and np.all(disk == 1)


def test_shares_are_compared_mode_by_mode_at_as_many_sizes_as_modes(tiered):
    sizes = np.array([100.0, 1000.0, 10_000.0, 20_000.0])
    fewer = tiered.override({f"{DISK}.survives": {"all": 1, "Rack": 0.9}})
    assert re.search(r"of failures 'Rack' .* must survive >= 0.98\d*, .* got 0.9$", refusal(fewer.survival, sizes))


def test_a_share_in_an_array_may_not_fall_below_the_faster_tier(tiered):
    message = refusal(tiered.survival, replaced={"disk 1.5": np.array([1.0, 0.999])})
    assert re.search(r"'disk 1.5' must survive >= 1, the share of 'peer memory' .* got 0.999$", message)


# --------------------------------------------------------------------------- by name


def test_a_tier_is_found_by_its_name_even_with_dots(tiered):
    changed = tiered.override({f"{DISK}.load_s": 45, f"{PEER}.copies": 3, f"{PEER}.placement": "ring"})
    peer, disk = changed.checkpoint.tiers
    assert (disk.load_s, disk.write_s) == (45, 20)
    assert (peer.copies, peer.placement, peer.load_s) == (3, "ring", 5)
    assert tiered.checkpoint.tiers[1].load_s == 30


FAULTS = {
    "unknown tier": (
        {"checkpoint.tiers.peer memry.write_s": 5},
        "unknown tier 'peer memry' (checkpoint.tiers.peer memry.write_s); did you mean 'peer memory'?",
    ),
    "more copies than nodes": ({f"{PEER}.copies": 2000}, f"{PEER}.copies must be <= 1000, the nodes of the job"),
    "no survival": ({f"{PEER}.copies": None}, "needs exactly one of survives or copies"),
    "unknown kind of failure": (
        {f"{DISK}.survives": {"Softwar": 1}},
        f"unknown kind of failure 'Softwar' ({DISK}.survives); did you mean 'Software'?",
    ),
    "share above 1": ({f"{DISK}.survives": 1.5}, "survives.all must be <= 1, got 1.5"),
    "interval above the next": (
        {f"{PEER}.interval_s": 700},
        "interval_s of 'disk 1.5' must be >= 700 s, that of 'peer memory' before it, got 600",
    ),
    "interval below the write": ({f"{PEER}.interval_s": 1}, "interval_s must be >= 2 s, the write of 'peer memory'"),
    "safer in name only": (
        {f"{DISK}.survives": {"hardware": 0.9, "Software": 1, "other": 1}},
        "of failures 'GPU v1.2' the tier 'disk 1.5' must survive >= 1, the share of 'peer memory' before it, got 0.9",
    ),
    "a tier named store": (
        {"checkpoint.tiers": [{"name": "store", "interval_s": 1, "copies": 1}]},
        "tiers must have different names, none of them 'store', got 'store'",
    ),
    "store below the tier": (
        {"checkpoint.interval_min": 9},
        "checkpoint.interval_min must be >= 10 min, the interval of the faster tier 'disk 1.5', got 9",
    ),
    "write time twice": ({"checkpoint.persist_s": 9}, "checkpoint takes persist_s only without store"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_one_line_that_names_field_rule_and_value(tiered, fault):
    values, message = FAULTS[fault]
    text = refusal(tiered.override, values)
    assert message in text
    assert "\n" not in text


@pytest.mark.parametrize("seconds", [59.4140625, 0.1 * 3 * 100, 7.7 * 60])
def test_limits_that_are_just_met_are_met(seconds):
    """Two ways from minutes and seconds to the same number differ in the last digit."""
    run = Scenario.parse(TIERED).override(
        {
            "checkpoint.store": None,
            "checkpoint.persist_s": seconds,
            "checkpoint.interval_min": seconds / 60,
            "checkpoint.tiers": [{"name": "host", "interval_s": seconds, "write_s": seconds, "copies": 2}],
        }
    )
    assert run.checkpoint.tiers[0].interval_s == seconds


# --------------------------------------------------------------------------- shown


def test_the_table_shows_every_tier_with_its_status(tiered):
    table = tiered.to_frame().set_index("field")
    assert table.loc[f"{PEER}.copies", ["value", "status"]].tolist() == [2, "given"]
    assert table.loc[f"{PEER}.placement", ["value", "status"]].tolist() == ["group", "assumed"]
    assert table.loc[f"{DISK}.stall_s", ["value", "unit", "status"]].tolist() == [0.0, "s", "assumed"]
    assert table.loc[f"{DISK}.survives.hardware", "value"] == 1
    assert f"{DISK}.placement" not in table.index and f"{PEER}.survives" not in table.index
    assert table.loc["checkpoint.store.write_gb_s", "unit"] == "GB/s"
    assert table.loc["failures.burn_in.decay_days", "unit"] == "days"
    assert table.loc["prediction.recall", "unit"] == ""
    # what follows from the store is no input
    assert "checkpoint.persist_s" not in table.index and "checkpoint.load_s" not in table.index


def test_an_origin_of_the_list_or_of_one_field_of_a_tier_is_shown(tiered):
    origin = {"status": "assumed", "note": "as published for another run"}
    listed = Scenario.of({**tiered.model_dump(), "evidence": {"checkpoint.tiers": origin}})
    rows = listed.to_frame().set_index("field")
    assert rows.loc[f"{PEER}.load_s", ["status", "note"]].tolist() == ["assumed", "as published for another run"]
    table = Scenario.of({**tiered.model_dump(), "evidence": {f"{PEER}.load_s": origin}}).to_frame().set_index("field")
    assert table.loc[[f"{PEER}.load_s", f"{PEER}.write_s"], "status"].tolist() == ["assumed", "given"]
    misspelt = {**tiered.model_dump(), "evidence": {f"{PEER}.lod_s": origin}}
    assert "did you mean 'load_s'" in refusal(Scenario.of, misspelt)
