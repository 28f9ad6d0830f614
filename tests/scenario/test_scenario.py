"""A scenario is overridden, turned into hours, shown and written; presets say where each number comes from."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from ettr import Scenario, budget, evidence
from ettr.core.errors import InputError
from ettr.scenario import paths
from ettr.scenario.sections import Recovery
from refusals import refusal

PRESETS = evidence.scenario_names()
# --------------------------------------------------------------------------- presets


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_loads_under_its_own_name_and_is_written_as_it_is_read(name, tmp_path):
    scenario = Scenario.load(name)
    assert scenario.name == name
    assert 0.5 < budget.exact(budget.simplified(scenario).scenario).ettr < 1
    path = tmp_path / "written.yml"
    path.write_text(scenario.to_yaml(), encoding="utf-8")
    assert Scenario.load(path) == scenario
    assert f"gpus_per_node: {scenario.cluster.gpus_per_node}" in scenario.to_yaml()


@pytest.fixture(scope="module")
def sources() -> set[str]:
    return set(evidence.bibliography()["key"])


@pytest.mark.parametrize("name", PRESETS)
def test_every_number_of_a_preset_has_an_origin_and_every_origin_a_source_that_exists(name, sources):
    raw = yaml.safe_load(evidence.scenario_text(name))
    written = {section: raw[section] for section in raw if isinstance(raw[section], dict) and section != "evidence"}
    numbers = {path for path, value in paths.leaves(written) if not isinstance(value, str)}
    assert len(numbers) >= 9
    assert not numbers - set(raw["evidence"])
    assert ("failures.modes" in raw["evidence"]) == ("modes" in raw["failures"])
    named = {origin.get("source") for origin in raw["evidence"].values()} - {None}
    assert named | set(raw["sources"]) <= sources
    for path, origin in raw["evidence"].items():
        # what is not read in a source says why, what is read says where
        assert origin.get("note") if origin["status"] == "assumed" else origin.get("source"), path


def test_llama3_is_what_the_paper_counted(llama3):
    """Dubey et al. (2024), Table 5: 419 unexpected interruptions in 54 days; 2,048 servers assumed."""
    assert llama3.n_nodes == 2048
    assert llama3.failures.node_days == 2048 * 54
    assert llama3.failure_rate == pytest.approx(3.789, abs=5e-4)
    assert sum(mode.n_events for mode in llama3.failures.modes) == 419
    assert llama3.mode_weights[-1] == pytest.approx(0, abs=1e-12)


# --------------------------------------------------------------------------- hours


def test_every_field_is_converted_to_hours_once(plain_run):
    run = plain_run.override(
        {
            "checkpoint.persist_s": 90,
            "checkpoint.persist_slowdown": 0.2,
            "recovery.detection_min": 3,
            "recovery.queue_min": 6,
            "maintenance": {"per_day": 12, "duration_min": 30},
        }
    )
    assert run.n_nodes == 1000
    assert run.node_rate_per_h == pytest.approx(6 / 24_000)
    assert run.job_rate_per_h == pytest.approx(0.25)
    assert run.job_mttf_h == pytest.approx(4)
    assert (run.interval_h, run.stall_h, run.persist_h) == pytest.approx((1, 1 / 12, 1 / 40))
    assert run.in_hours().head == pytest.approx(0.8 / 40)
    assert (run.detection_h, run.queue_h, run.first_queue_h, run.restart_h) == pytest.approx((0.05, 0.1, 0.1, 1 / 6))
    assert (run.maintenance_rate_per_h, run.maintenance_h) == pytest.approx((0.5, 0.5))


def test_without_failures_the_time_to_failure_is_infinite(plain_run):
    still = plain_run.override({"failures.rate_per_1000_node_days": 0})
    assert still.job_rate_per_h == 0 and math.isinf(still.job_mttf_h)
    assert still.mode_weights.tolist() == [1.0]


def test_mean_recovery_times_are_weighted_by_mode(plain_run):
    """Half the failures take 30 min to notice at factor 2, the rest 1 min: (1.0 x 30 + 0.5 x 1) / 1.5."""
    run = plain_run.override(
        {
            "recovery.detection_min": 1,
            "failures.modes": [{"name": "hang", "share": 0.5, "factor": 2, "detection_min": 30}],
        }
    )
    assert run.mode_names == ("hang", "other")
    assert run.mode_weights == pytest.approx([2 / 3, 1 / 3])
    assert run.detection_h == pytest.approx((30 + 0.5) / 1.5 / 60)
    assert run.job_rate_per_h == pytest.approx(1.5 * plain_run.job_rate_per_h)
    assert run.in_hours().modes.detection == pytest.approx([30 / 60, 1 / 60])


# --------------------------------------------------------------------------- overrides


def test_override_returns_a_copy_and_changes_nothing_else(llama3):
    other = llama3.override({"checkpoint.interval_min": 5})
    assert (llama3.checkpoint.interval_min, other.checkpoint.interval_min) == (10, 5)
    assert other.override({"checkpoint.interval_min": 10, "measured": llama3.measured}).flat() == llama3.flat()
    assert llama3.override({}) == llama3


@pytest.mark.parametrize("path", ["name", "cluster.n_gpus"])
def test_a_scenario_is_frozen(llama3, path):
    section = llama3.cluster if "." in path else llama3
    with pytest.raises(InputError, match=re.escape(f"override({{'{path}': 'x'}})")):
        setattr(section, path.rpartition(".")[2], "x")


def test_an_override_by_keyword_names_the_path(llama3):
    with pytest.raises(InputError, match=re.escape("override({'cluster.n_gpus': 5})")):
        llama3.override(n_gpus=5)
    with pytest.raises(InputError, match="mapping of dotted paths"):
        llama3.override("cluster.n_gpus")


def test_completion_offers_fields_and_methods_of_this_package_only(llama3):
    for scenario in (llama3, Scenario):
        assert {"cluster", "failures", "override", "job_mttf_h"} <= set(dir(scenario))
        assert not [name for name in dir(scenario) if name.startswith(("model_", "parse_", "schema"))]
    assert "n_gpus" in dir(llama3.cluster)


def test_a_rate_replaces_a_count_and_keeps_the_shares(llama3):
    run = llama3.override({"failures.rate_per_1000_node_days": 5})
    assert run.failures.n_events is run.failures.node_days is run.failures.posterior is None
    assert run.failure_rate == 5
    assert run.mode_weights == pytest.approx(llama3.mode_weights)
    assert not {"failures.n_events", "failures.node_days"} & set(run.evidence)


def test_a_count_replaces_a_rate():
    run = Scenario.load("rsc-1").override({"failures.n_events": 13, "failures.node_days": 2000})
    assert run.failure_rate == 6.5
    assert run.failures.posterior.shape == 13.5
    assert "failures.rate_per_1000_node_days" not in run.evidence
    message = refusal(Scenario.load("rsc-1").override, {"failures.n_events": 13})
    assert message == "failures needs n_events and node_days together (failures.n_events=13)"


def test_maintenance_can_be_dropped_and_added(llama3):
    none = llama3.override({"maintenance": None})
    assert none.maintenance is None and none.maintenance_rate_per_h == none.maintenance_h == 0
    added = none.override({"maintenance.per_day": 1, "maintenance.duration_min": 30})
    assert added.maintenance_h == 0.5
    assert refusal(none.override, {"maintenance.per_day": 1}).startswith(
        "maintenance.duration_min is missing [min]: duration"
    )


def test_a_field_that_is_set_to_none_has_its_default_again():
    llama3 = Scenario.load("llama3-405b")
    unset = llama3.override(
        {"checkpoint.persist_s": None, "recovery.restart_min": None, "checkpoint.interval_min": None}
    )
    assert (unset.checkpoint.persist_s, unset.recovery.restart_min, unset.checkpoint.interval_min) == (0, 10, "best")
    assert not {"persist_s", "interval_min"} & unset.checkpoint.model_fields_set
    assert "checkpoint.persist_s" not in unset.evidence and unset.checkpoint.stall_s == llama3.checkpoint.stall_s
    assert llama3.override({"recovery": None}).recovery == Recovery()
    factor = "failures.modes.Faulty GPU.factor"
    assert llama3.override({factor: 3}).override({factor: None}).failures == llama3.failures
    assert llama3.override({"checkpoint.store.write_gb_s": None}).checkpoint.store is None


def test_a_new_value_has_no_origin_and_its_neighbours_keep_theirs(plain_run):
    raw = plain_run.override({"checkpoint.persist_s": 60, "checkpoint.persist_slowdown": 0.1}).model_dump()
    raw["evidence"] = {
        "checkpoint.persist_s": {"status": "primary", "source": "dubey2024"},
        "checkpoint.persist_slowdown": {"status": "secondary", "source": "dubey2024"},
    }
    run = Scenario.of(raw).override({"checkpoint.persist_s": 30})
    status = run.to_frame().set_index("field")["status"]
    assert status["checkpoint.persist_s"] == "given"
    assert status["checkpoint.persist_slowdown"] == "secondary"


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (
            {"cluster.gpus": 8},
            "unknown field 'cluster.gpus'; did you mean 'cluster.n_gpus'? Near it: cluster.n_gpus, "
            "cluster.gpus_per_node, cost.usd_per_gpu_h, rack.n_gpus, measured.n_gpus",
        ),
        (
            {"cluster": 8, "cluster.n_gpus": 8},
            "cluster must be a section with its fields, got 8, so cluster.n_gpus has no place",
        ),
        (
            {"failures.modes.NIC.factor": -1},
            "failures.modes.7.factor must be >= 0, got -1 (failures.modes.NIC.factor=-1)",
        ),
        (
            {"failures.modes.NIC.fact": 1},
            "unknown field of a failure mode 'fact' (failures.modes.NIC.fact); did you mean 'factor'?",
        ),
        (
            {"failures.modes.NIC": 1},
            "failures.modes.NIC must end in a field of the mode, e.g. failures.modes.NIC.factor",
        ),
        (
            {"failures": {"rate_per_1000_node_days": 3}, "failures.modes.NIC.factor": 2},
            "the scenario names no failure modes, so it has no failures.modes.NIC.factor",
        ),
        (
            {"checkpoint.interval_min": np.bool_(True)},
            "checkpoint.interval_min must be a number, got True (checkpoint.interval_min=True)",
        ),
    ],
)
def test_a_bad_override_is_refused(llama3, values, message):
    assert refusal(llama3.override, values) == message


# --------------------------------------------------------------------------- the two tables


def test_every_value_in_force_has_a_status(llama3):
    table = llama3.override({"checkpoint.stall_s": 12, "checkpoint.load_s": 4}).to_frame().set_index("field")
    assert table.loc["cluster.gpus_per_node", "status"] == "primary"
    assert table.loc["failures.node_days", "status"] == "derived"
    assert table.loc["recovery.restart_min", "status"] == "assumed"
    assert table.loc["checkpoint.persist_slowdown", ["status", "note"]].tolist() == ["assumed", "default"]
    assert table.loc["checkpoint.stall_s", ["value", "unit", "status", "source"]].tolist() == [12, "s", "given", ""]
    assert table.loc["checkpoint.load_s", "status"] == "given"
    assert table.loc["failures.exposed_share", ["status", "note"]].tolist() == [
        "derived",
        "computed from the scenario as first written",
    ]
    assert "failures.rate_per_1000_node_days" not in table.index
    assert Scenario.load("rsc-1").to_frame().set_index("field").loc["cluster.n_gpus", "source"] == "kokolis2025"


def test_the_dictionary_covers_every_field_with_unit_rule_and_meaning():
    table = Scenario.dictionary().set_index("field")
    assert set(paths.paths_of(Scenario)) - {*paths.LISTS, "evidence"} <= set(table.index)
    assert (table["meaning"].str.len() > 8).all()
    assert table.index.is_unique
    assert table.loc["checkpoint.interval_min"].tolist()[:3] == ["min", ">= 0.0001, <= 1e+11", "best"]
    assert table.loc["evidence.<*>.status", "meaning"].startswith("primary")
    # an assumed default says so
    for field in ("cluster.gpus_per_node", "checkpoint.persist_slowdown", "failures.rate_clock"):
        assert "assumed" in table.loc[field, "meaning"]


@pytest.mark.parametrize("name", ["rsc-1", "llama3-405b-tokens"])
def test_what_does_nothing_is_neither_written_nor_shown(name):
    run = Scenario.load(name)
    added = "spares repair elastic slow_nodes heat layout sync tiers store load_s n_kept prediction burn_in lifetime"
    added += " lemons latency_cv throughput_factor person_share person_min"
    added += " false_alarms_per_day init_s_per_1000_gpus"
    parts = {part for field in run.to_frame()["field"] for part in field.split(".")}
    assert not [word for word in added.split() if word in parts or f"{word}:" in run.to_yaml()]
    assert run.checkpoint.tiers == () and run.load_h == 0 and run.survival() == []


# --------------------------------------------------------------------------- written


@given(
    st.from_regex(r"[-+]?[0-9_]{0,3}[.:]?[0-9_]{1,3}([eE][-+]?[0-9]{1,3})?", fullmatch=True)
    | st.sampled_from(["null", "yes", "off", "False", "NaN", "-.inf", "2025-01-01"])
    | st.text("0123456789eE.:+-_ abnull~yesfalseNaN", min_size=1, max_size=12)
)
@settings(max_examples=40)
def test_text_that_looks_like_a_number_is_read_back_as_text(text):
    run = Scenario.load("rsc-1")
    try:
        run = run.override({"title": text, "failures.modes": [{"name": text, "share": 0.5}]})
    except InputError:
        return  # no title at all
    assert Scenario.parse(run.to_yaml()) == run
