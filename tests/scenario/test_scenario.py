"""A scenario is read, checked, overridden and turned into hours; every fault is named with its place."""

from __future__ import annotations

import math

import numpy as np
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from ettr import Scenario, budget, evidence
from ettr.core.errors import InputError, UnknownName
from ettr.core.units import unit_of
from ettr.scenario import paths

PRESETS = evidence.scenario_names()
PLAIN = """
name: plain
title: A plain run
cluster: {n_gpus: 8000}
job: {productive_h: 40, include_start: false}
failures: {rate_per_1000_node_days: 6.0}
checkpoint: {interval_min: 60, stall_s: 300}
recovery: {detection_min: 0, restart_min: 10}
"""
RATE = "{rate_per_1000_node_days: 6.0}"
SECTIONS = (
    "name, title, sources, cluster, job, failures, checkpoint, recovery, maintenance, prediction, spares, repair, "
    "elastic, slow_nodes, heat, power, cost, model, layout, network, scaling, sync, evidence"
)


def changed(old: str, new: str) -> str:
    assert PLAIN.count(old) == 1
    return PLAIN.replace(old, new)


def refusal(text: str) -> str:
    with pytest.raises(InputError) as caught:
        Scenario.parse(text, "mine.yml")
    return str(caught.value)


def refused_override(scenario: Scenario, values: dict) -> str:
    with pytest.raises(InputError) as caught:
        scenario.override(values)
    return str(caught.value)


# --------------------------------------------------------------------------- presets


def test_the_presets_are_those_of_the_data():
    published = {
        "bloom-176b",
        "byterobust",
        "glm-130b",
        "h100-100k",
        "llama3-405b",
        "llama3-405b-tokens",
        "megascale",
        "opt-175b",
        "rsc-1",
        "rsc-2",
    }
    assert published <= set(PRESETS)
    assert list(PRESETS) == sorted(path.stem for path in (evidence.DATA / "scenarios").iterdir())


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_loads_under_its_own_name(name):
    scenario = Scenario.load(name)
    assert scenario.name == name
    assert 0.5 < budget.exact(scenario).ettr < 1


@pytest.mark.parametrize("name", PRESETS)
def test_every_number_of_a_preset_has_an_origin_and_every_origin_a_source_that_exists(name):
    raw = yaml.safe_load(evidence.scenario_text(name))
    written = {section: raw[section] for section in raw if isinstance(raw[section], dict) and section != "evidence"}
    numbers = {path for path, value in paths.leaves(written) if not isinstance(value, str)}
    assert len(numbers) >= 9
    assert not numbers - set(raw["evidence"])
    assert ("failures.modes" in raw["evidence"]) == ("modes" in raw["failures"])
    keys = set(evidence.bibliography()["key"])
    named = {origin.get("source") for origin in raw["evidence"].values()} - {None}
    assert named | set(raw["sources"]) <= keys
    for path, origin in raw["evidence"].items():
        # what is not read in a source says why, what is read says where
        assert origin.get("note") if origin["status"] == "assumed" else origin.get("source"), path


def test_llama3_is_what_the_paper_counted(llama3):
    """Dubey et al. (2024), Table 5: 419 unexpected interruptions in 54 days; 2,048 servers assumed."""
    assert llama3.n_nodes == 2048
    assert llama3.failures.node_days == 2048 * 54
    assert llama3.failures.rate == pytest.approx(3.789, abs=5e-4)
    assert sum(mode.n_events for mode in llama3.failures.modes) == 419
    assert llama3.mode_weights[-1] == pytest.approx(0, abs=1e-12)


# --------------------------------------------------------------------------- hours


def test_every_field_is_converted_to_hours_once(plain_run):
    run = plain_run.override(
        {
            "checkpoint.persist_s": 90,
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
    assert (run.detection_h, run.queue_h, run.first_queue_h, run.restart_h) == pytest.approx((0.05, 0.1, 0.1, 1 / 6))
    assert (run.maintenance_rate_per_h, run.maintenance_h) == pytest.approx((0.5, 0.5))
    assert run.override({"job.first_queue_min": 0}).first_queue_h == 0


def test_without_failures_the_time_to_failure_is_infinite(plain_run):
    still = plain_run.override({"failures.rate_per_1000_node_days": 0})
    assert still.job_rate_per_h == 0 and math.isinf(still.job_mttf_h)
    assert still.mode_weights.tolist() == [1.0]


@given(nodes=st.integers(1, 10**6), rate=st.floats(1e-3, 1e3), per_node=st.integers(1, 16))
@settings(max_examples=50, deadline=None)
def test_time_to_failure_falls_as_one_over_nodes_and_rate(nodes, rate, per_node):
    run = Scenario.parse(PLAIN).override(
        {"cluster": {"n_gpus": nodes * per_node, "gpus_per_node": per_node}, "failures.rate_per_1000_node_days": rate}
    )
    assert run.job_mttf_h * nodes * rate == pytest.approx(24_000)


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


def test_a_factor_leaves_the_rates_of_other_modes(llama3):
    better = llama3.override({"failures.modes.Faulty GPU.factor": 0.5})
    before = llama3.mode_exposure() * llama3.node_rate_per_h
    after = better.mode_exposure() * better.node_rate_per_h
    assert after[0] == pytest.approx(before[0] / 2)
    assert after[1:] == pytest.approx(before[1:])


# --------------------------------------------------------------------------- the clock of a rate

WALL = "{rate_per_1000_node_days: 6.0, rate_clock: wall}"


def wall_run() -> Scenario:
    """Dead time: 0.25 failures/h of wall clock, each 12 min of detection and queue: 0.05; maintenance 0.05."""
    text = changed(RATE, WALL).replace("detection_min: 0", "detection_min: 9, queue_min: 3")
    return Scenario.parse(text + "maintenance: {per_day: 2.4, duration_min: 30}\n")


def test_a_wall_clock_rate_is_converted_by_the_time_that_is_exposed():
    run = wall_run()
    assert run.failures.exposed_share == pytest.approx(0.9)
    assert run.job_rate_per_h == pytest.approx(0.25 / 0.9)


def test_counted_failures_come_back_for_every_wall_clock_preset():
    for name in PRESETS:
        steady = Scenario.load(name).override({"job.include_start": False})
        if steady.failures.rate_clock == "wall" and steady.failures.observed_nodes is None:
            form = budget.exact(steady)
            counted = steady.failures.rate / 1000 / 24 * steady.n_nodes
            assert form.n_failures / form.total_h == pytest.approx(counted, rel=1e-9), name


@pytest.mark.parametrize(
    "values",
    [
        {"recovery.detection_min": 60},
        {"recovery.queue_min": 60},
        {"maintenance": None},
        {"cluster.n_gpus": 80_000},
        {"failures.rate_per_1000_node_days": 1},
        {"failures.n_events": 3, "failures.node_days": 500},
        {"failures.observed_nodes": 5},
    ],
)
def test_the_conversion_is_frozen_by_an_override(values):
    run = wall_run()
    assert run.override(values).failures.exposed_share == run.failures.exposed_share


@pytest.mark.parametrize("refix", [{"failures.rate_clock": "wall"}, {"failures.exposed_share": None}])
def test_naming_the_clock_again_fixes_the_conversion_anew(refix):
    run = wall_run().override({"recovery.detection_min": 21, **refix})
    assert run.failures.exposed_share == pytest.approx(1 - 0.25 * 0.4 - 0.05)


def test_another_clock_drops_the_conversion():
    run = wall_run().override({"failures.rate_clock": "exposed"})
    assert run.failures.exposed_share is None
    assert run.job_rate_per_h == pytest.approx(0.25)
    assert "failures.exposed_share" not in set(run.to_frame()["field"])


def test_a_share_can_be_given():
    run = wall_run().override({"failures.exposed_share": 0.8})
    assert run.job_rate_per_h == pytest.approx(0.25 / 0.8)


def test_a_rate_observed_on_other_nodes_is_converted_on_those():
    """h100-100k carries Llama 3's rate and conversion to another size: per node they agree."""
    carried, own = Scenario.load("h100-100k"), Scenario.load("llama3-405b")
    assert carried.failures.exposed_share == pytest.approx(own.failures.exposed_share, rel=1e-12)
    assert carried.node_rate_per_h == pytest.approx(own.node_rate_per_h, rel=1e-12)


def test_a_factor_in_the_file_and_one_by_override_are_the_same():
    """The rate was counted before the mitigation, so its conversion must not depend on the factor."""
    modes = "modes: [{name: hang, share: 0.5, detection_min: 24, factor: 1}]"
    text = changed(RATE, f"{{rate_per_1000_node_days: 6.0, rate_clock: wall, {modes}}}")
    written = Scenario.parse(text.replace("factor: 1", "factor: 0.25"))
    assert written == Scenario.parse(text).override({"failures.modes.hang.factor": 0.25})
    assert written.failures.exposed_share == pytest.approx(1 - 0.25 * 0.5 * 0.4)


def test_a_mode_of_the_job_is_converted_with_the_shares_that_were_observed():
    """Observed on 1000 nodes, half of it the job's: the size of the job now must not move the conversion."""
    modes = "modes: [{name: bug, share: 0.5, scales_with: job, detection_min: 24}]"
    text = changed(RATE, f"{{rate_per_1000_node_days: 6.0, rate_clock: wall, observed_nodes: 1000, {modes}}}")
    for n_gpus in (800, 8000, 80_000):
        run = Scenario.parse(text.replace("n_gpus: 8000", f"n_gpus: {n_gpus}"))
        assert run.failures.exposed_share == pytest.approx(1 - 0.25 * 0.5 * 0.4)


def test_a_wall_clock_without_room_for_failures_is_refused():
    text = changed(RATE, WALL) + "maintenance: {per_day: 24, duration_min: 60}\n"
    assert refusal(text) == (
        "failures.rate_clock: wall leaves no time in which failures can strike: detection, queue and maintenance take "
        "1 of each hour (mine.yml)"
    )


# --------------------------------------------------------------------------- overrides


def test_override_returns_a_copy_and_changes_nothing_else(llama3):
    other = llama3.override({"checkpoint.interval_min": 5})
    assert (llama3.checkpoint.interval_min, other.checkpoint.interval_min) == (10, 5)
    assert other.override({"checkpoint.interval_min": 10}).flat() == llama3.flat()
    assert llama3.override({}) == llama3


@pytest.mark.parametrize("path", ["name", "cluster.n_gpus"])
def test_a_scenario_is_frozen(llama3, path):
    section = llama3.cluster if "." in path else llama3
    with pytest.raises(ValidationError, match="frozen"):
        setattr(section, path.rpartition(".")[2], "x")


def test_a_rate_replaces_a_count_and_keeps_the_shares(llama3):
    run = llama3.override({"failures.rate_per_1000_node_days": 5})
    assert run.failures.n_events is run.failures.node_days is run.failures.posterior is None
    assert run.failures.rate == 5
    assert run.mode_weights == pytest.approx(llama3.mode_weights)
    assert not {"failures.n_events", "failures.node_days"} & set(run.evidence)


def test_a_count_replaces_a_rate():
    run = Scenario.load("rsc-1").override({"failures.n_events": 13, "failures.node_days": 2000})
    assert run.failures.rate == 6.5
    assert run.failures.posterior.shape == 13.5
    assert "failures.rate_per_1000_node_days" not in run.evidence


def test_half_a_count_is_not_enough():
    message = refused_override(Scenario.load("rsc-1"), {"failures.n_events": 13})
    assert message == "failures needs n_events and node_days together (failures.n_events=13)"


def test_what_is_known_of_a_rate_comes_from_its_count_or_is_given():
    known = Scenario.load("rsc-1").override({"failures.rate_gamma": {"shape": 40, "node_days": 6000}})
    assert known.failures.posterior.shape == 40
    assert Scenario.load("rsc-1").failures.posterior is None
    replaced = known.override({"failures.rate_per_1000_node_days": 1})
    assert replaced.failures.posterior is None
    opened = Scenario.load("rsc-1").override({"failures.rate_gamma.shape": 2, "failures.rate_gamma.node_days": 3})
    assert opened.failures.posterior.node_days == 3


def test_maintenance_can_be_dropped_and_added(llama3):
    none = llama3.override({"maintenance": None})
    assert none.maintenance is None and none.maintenance_rate_per_h == none.maintenance_h == 0
    added = none.override({"maintenance.per_day": 1, "maintenance.duration_min": 30})
    assert added.maintenance_h == 0.5
    assert refused_override(none, {"maintenance.per_day": 1}).startswith(
        "maintenance.duration_min is missing [min]: length of one stop, restart excluded"
    )


def test_a_whole_section_can_be_given(llama3):
    run = llama3.override({"cluster": {"n_gpus": 4096}})
    assert run.n_nodes == 512
    assert "cluster.n_gpus" not in run.evidence and "checkpoint.stall_s" in run.evidence


def test_a_new_value_has_no_origin_and_its_neighbours_keep_theirs():
    text = PLAIN.replace("stall_s: 300", "stall_s: 300, persist_s: 60, persist_slowdown: 0.1") + (
        "evidence:\n"
        "  checkpoint.persist_s: {status: primary, source: dubey2024}\n"
        "  checkpoint.persist_slowdown: {status: secondary, source: dubey2024}\n"
    )
    run = Scenario.parse(text).override({"checkpoint.persist_s": 30})
    status = run.to_frame().set_index("field")["status"]
    assert status["checkpoint.persist_s"] == "given"
    assert status["checkpoint.persist_slowdown"] == "secondary"


def test_a_mode_is_found_by_its_name_even_with_dots(plain_run):
    run = plain_run.override({"failures.modes": [{"name": "v. 1.2", "share": 0.5}, {"name": "v. 1", "share": 0.1}]})
    assert run.override({"failures.modes.v. 1.2.factor": 3}).failures.modes[0].factor == 3
    assert run.override({"failures.modes.v. 1.factor": 3}).failures.modes[1].factor == 3
    assert run.override({"failures.modes.v. 1.share": 0.4}).mode_weights == pytest.approx([0.5, 0.4, 0.1])


def test_an_override_leaves_the_values_as_they_were_given(plain_run):
    modes = [{"name": "a", "share": 0.5}]
    run = plain_run.override({"failures.modes": modes, "failures.modes.a.factor": 3})
    assert run.failures.modes[0].factor == 3
    assert modes == [{"name": "a", "share": 0.5}]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (
            {"cluster.gpus": 8},
            "unknown field 'cluster.gpus'; did you mean 'cluster.n_gpus'? Near it: cluster.n_gpus, "
            "cluster.gpus_per_node, cost.usd_per_gpu_h, network.pod_gpus, power.pue",
        ),
        (
            {"cluster.n_gpus.x": 8},
            "unknown field 'cluster.n_gpus.x'; did you mean 'cluster.n_gpus'? Near it: cluster.n_gpus, "
            "cluster.gpus_per_node, cost.usd_per_gpu_h, elastic.n_replicas, elastic.n_least",
        ),
        (
            {"checkpoint.interval_min": -5},
            "checkpoint.interval_min must be > 0 min, got -5 (checkpoint.interval_min=-5)",
        ),
        ({"cluster": 8}, "cluster must be a section with its fields, got 8 (cluster=8)"),
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
        ({"failures.modes": 3}, "failures.modes must be a list, got 3 (failures.modes=3)"),
        (
            {"failures": {"rate_per_1000_node_days": 3}, "failures.modes.NIC.factor": 2},
            "the scenario names no failure modes, so it has no failures.modes.NIC.factor",
        ),
        (
            {"failures.rate_per_1000_node_days": 3, "failures.n_events": 3},
            "failures needs exactly one of n_events with node_days, or rate_per_1000_node_days "
            "(failures.rate_per_1000_node_days=3, failures.n_events=3)",
        ),
        (
            {"failures.rate_gamma": {"shape": 3, "node_days": 4}},
            "failures takes rate_gamma only with rate_per_1000_node_days; a count has its own "
            "(failures.rate_gamma={'shape': 3, 'node_days': 4})",
        ),
        (
            {"checkpoint.interval_min": np.bool_(True)},
            "checkpoint.interval_min must be a number, got True (checkpoint.interval_min=True)",
        ),
    ],
)
def test_a_bad_override_is_refused(llama3, values, message):
    assert refused_override(llama3, values) == message


def test_an_unknown_mode_is_answered_with_the_nearest(llama3):
    with pytest.raises(UnknownName, match=r"failure mode 'Faulty' .*did you mean 'Faulty GPU'\?") as caught:
        llama3.override({"failures.modes.Faulty.factor": 0.5})
    assert caught.value.name == "Faulty" and "NIC" in caught.value.valid


def test_numpy_numbers_are_numbers(plain_run):
    run = plain_run.override({"cluster.n_gpus": np.int64(16), "checkpoint.interval_min": np.float32(7.5)})
    assert (run.n_nodes, run.checkpoint.interval_min) == (2, 7.5)


# --------------------------------------------------------------------------- files


@pytest.mark.parametrize(
    ("name", "hint"),
    [("llama3", "'llama3-405b'"), ("RSC-1", "'rsc-1'"), ("megascal", "'megascale'")],
)
def test_an_unknown_preset_is_answered_with_the_nearest(name, hint):
    with pytest.raises(UnknownName) as caught:
        Scenario.load(name)
    assert str(caught.value).startswith(
        f"unknown scenario {name!r} (or give a file ending in .yml); did you mean {hint}? Valid: bloom-176b, "
    )


@pytest.mark.parametrize("name", ["../../etc/passwd", "zzzz", "", "rsc-1.json"])
def test_what_is_like_no_preset_is_answered_with_all(name):
    with pytest.raises(UnknownName) as caught:
        Scenario.load(name)
    assert str(caught.value).endswith(f"Valid: {', '.join(PRESETS)}")


def test_a_file_is_read_from_anywhere(tmp_path, monkeypatch):
    (tmp_path / "mine.yaml").write_text(PLAIN, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert Scenario.load("mine.yaml") == Scenario.load(tmp_path / "mine.yaml") == Scenario.parse(PLAIN)


def test_unreadable_files_are_named(tmp_path):
    missing, binary, folder = tmp_path / "none.yml", tmp_path / "binary.yml", tmp_path / "folder.yml"
    binary.write_bytes(b"\xff\xfe\x00name")
    folder.mkdir()
    for path, reason in (
        (missing, "No such file or directory"),
        (binary, "it is not UTF-8 text"),
        (folder, "Is a directory"),
    ):
        with pytest.raises(InputError) as caught:
            Scenario.load(path)
        assert str(caught.value) == f"cannot read scenario {path}: {reason}"


@pytest.mark.parametrize(
    ("text", "got"),
    [("", "NoneType"), ("- a\n- b\n", "list"), ("hello", "str"), ("3", "int"), ("# only\n", "NoneType")],
)
def test_a_file_that_is_no_mapping_is_refused(text, got):
    assert refusal(text) == f"mine.yml: a scenario is a mapping of sections, got {got}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "name: x\ncluster: {n_gpus: [8\njob: 3",
            "mine.yml: line 3, column 4: broken YAML, expected ',' or ']', but got ':'",
        ),
        (
            "name: x\n\tcluster: 3",
            "mine.yml: line 2, column 1: broken YAML, found character '\\t' that cannot start any token",
        ),
        (PLAIN + "job: {productive_h: 3}\n", "mine.yml: line 9, column 1: broken YAML, key 'job' stands twice"),
        (
            changed("n_gpus: 8000", "n_gpus: 8000, n_gpus: 9"),
            "mine.yml: line 4, column 25: broken YAML, key 'n_gpus' stands twice",
        ),
        (changed("{n_gpus: 8000}", "*x"), "mine.yml: line 4, column 10: broken YAML, found undefined alias 'x'"),
        (
            changed("8000", "!!python/object:os.system 3"),
            "mine.yml: line 4, column 19: broken YAML, could not determine a constructor for the tag "
            "'tag:yaml.org,2002:python/object:os.system'",
        ),
        (PLAIN + "---\n" + PLAIN, "mine.yml: line 9, column 1: broken YAML, but found another document"),
        ("{a: 1}: 2\n", "mine.yml: line 1, column 1: broken YAML, a key must be a plain word"),
        ("a: " + "[" * 3000, "mine.yml: broken YAML, nested too deeply"),
        (PLAIN + "qqqq: 2024-13-45\n", f"unknown field qqqq. Valid: {SECTIONS} (mine.yml)"),  # text: no date is read
        ("name: x\x00", "mine.yml: broken YAML, unacceptable character #x0000: special characters are not allowed"),
        (PLAIN + "3: 4\n", "3: a field's name must be text, got 3 (mine.yml)"),
    ],
    ids=range(12),
)
def test_broken_yaml_is_answered_with_line_and_column(text, message):
    assert refusal(text) == message


def test_a_number_of_five_thousand_digits_is_refused():
    assert "broken YAML, Exceeds the limit" in refusal(changed("8000", "8" + "0" * 5000))
    message = refusal(changed("8000", "8" + "0" * 400))
    assert message.startswith("cluster.n_gpus must be <= 1e+12 GPUs, got 8000") and len(message) < 150


def test_numbers_as_people_write_them_are_read():
    for text in ("16000", "16000.0", "1.6e4", '"16000"', "16_000"):
        assert Scenario.parse(changed("8000", text)).n_nodes == 2000


def test_every_missing_section_is_named_with_its_meaning():
    lines = refusal("{}").splitlines()
    assert lines[0] == "name is missing: short name: a-z, 0-9, dot, dash (mine.yml)"
    assert [line.split()[0] for line in lines] == [
        "name",
        "title",
        "cluster",
        "job",
        "failures",
        "checkpoint",
        "recovery",
    ]


FAULTS = {
    "unknown section": (
        PLAIN + "maintenence: {}\n",
        "unknown field maintenence; did you mean 'maintenance'? Valid: name, title, sources, cluster, job, failures, "
        "checkpoint, recovery, maintenance, prediction, spares, repair, elastic, slow_nodes, heat, power, cost, "
        "model, layout, network, scaling, sync, evidence (mine.yml)",
    ),
    "unknown field, like none": (
        changed("stall_s: 300", "stall_s: 300, qqqq: 2"),
        "unknown field checkpoint.qqqq. Valid: interval_min, stall_s, persist_s, persist_slowdown, load_s, store, "
        "tiers, n_kept (mine.yml)",
    ),
    "unknown field of a mode": (
        changed(RATE, "{rate_per_1000_node_days: 6, modes: [{name: a, share: 0.3, detect_min: 3}]}"),
        "unknown field failures.modes.0.detect_min; did you mean 'detection_min'? Valid: name, category, n_events, "
        "share, factor, scales_with, detection_min, detection_cv, queue_min, restart_min, restart_cv, n_lost_nodes, "
        "latency_h, latency_cv, n_out_nodes, repair_h, heat_share, heat_law, heat_energy_ev, heat_per_k, cycle_share, "
        "cycle_exponent (mine.yml)",
    ),
    "two faults": (
        changed("n_gpus: 8000", "n_gpus: -8, gpus: 2"),
        "cluster.n_gpus must be > 0 GPUs, got -8 (mine.yml)\n"
        "unknown field cluster.gpus; did you mean 'n_gpus'? Valid: n_gpus, gpus_per_node (mine.yml)",
    ),
    "misspelt": (
        changed("interval_min", "intervall_min"),
        "checkpoint.interval_min is missing [min]: productive training between two checkpoints, stall excluded "
        "(mine.yml)\nunknown field checkpoint.intervall_min; did you mean 'interval_min'? Valid: interval_min, "
        "stall_s, persist_s, persist_slowdown, load_s, store, tiers, n_kept (mine.yml)",
    ),
    "text": (changed("8000", '"many"'), "cluster.n_gpus must be a whole number [GPUs], got 'many' (mine.yml)"),
    "no whole number": (
        changed("8000", "8000.5"),
        "cluster.n_gpus must be a whole number [GPUs], got 8000.5 (mine.yml)",
    ),
    "true for a count": (changed("8000", "true"), "cluster.n_gpus must be a number, got True (mine.yml)"),
    "yes for a number": (
        changed("interval_min: 60", "interval_min: yes"),
        "checkpoint.interval_min must be a number, got True (mine.yml)",
    ),
    "list": (
        changed("interval_min: 60", "interval_min: [1, 2]"),
        "checkpoint.interval_min must be a number [min], got [1, 2] (mine.yml)",
    ),
    "nothing": (
        changed("interval_min: 60", "interval_min:"),
        "checkpoint.interval_min must be a number [min], got None (mine.yml)",
    ),
    "number for a switch": (
        changed("include_start: false", "include_start: 7"),
        "job.include_start must be true or false, got 7 (mine.yml)",
    ),
    "number for text": (changed("A plain run", "7"), "title must be text, got 7 (mine.yml)"),
    "number for a section": (changed(RATE, "7"), "failures must be a section with its fields, got 7 (mine.yml)"),
    "text for a list": (PLAIN + "sources: abc\n", "sources must be a list, got 'abc' (mine.yml)"),
    "not a number": (
        changed("interval_min: 60", "interval_min: .nan"),
        "checkpoint.interval_min must be finite, got nan (mine.yml)",
    ),
    "infinite": (changed("stall_s: 300", "stall_s: .inf"), "checkpoint.stall_s must be finite, got inf (mine.yml)"),
    "minus infinite": (
        changed("productive_h: 40", "productive_h: -.inf"),
        "job.productive_h must be finite, got -inf (mine.yml)",
    ),
    "infinite count": (changed("8000", ".inf"), "cluster.n_gpus must be finite, got inf (mine.yml)"),
    "beyond reason": (
        changed("interval_min: 60", "interval_min: 1.0e+16"),
        "checkpoint.interval_min must be at most 1e+15, got 1e+16 (mine.yml)",
    ),
    "no multiple": (
        changed("8000", "8001"),
        "cluster.n_gpus must be a multiple of gpus_per_node, got 8001 and 8 (mine.yml)",
    ),
    "a write longer than the interval": (
        changed("stall_s: 300", "stall_s: 300, persist_s: 4000, persist_slowdown: 0.01"),
        "checkpoint.interval_min must be >= 66 min, the training done during the background write of persist_s = "
        "4000 s, got 60 (mine.yml)",
    ),
    "choice": (
        changed(RATE, "{rate_per_1000_node_days: 6, rate_clock: walls}"),
        "failures.rate_clock must be 'exposed' or 'wall', got 'walls' (mine.yml)",
    ),
    "origin of no field": (
        PLAIN + "evidence: {cluster.n_gpu: {status: primary}}\n",
        "unknown field in evidence 'cluster.n_gpu'; did you mean 'cluster.n_gpus'?",
    ),
    "origin of no kind": (
        PLAIN + "evidence: {cluster.n_gpus: {status: sure}}\n",
        "evidence.cluster.n_gpus.status must be 'primary', 'secondary', 'derived' or 'assumed', got 'sure' (mine.yml)",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_answered_with_path_rule_unit_value_and_place(fault):
    text, message = FAULTS[fault]
    assert refusal(text).startswith(message)


BOUNDS = {
    "cluster.n_gpus": ("> 0 GPUs", [8], [0, -8]),
    "cluster.gpus_per_node": ("> 0 GPUs", [1], [0]),
    "job.productive_h": ("> 0 h", [1e-9], [0, -1]),
    "job.first_queue_min": (">= 0 min", [0], [-0.1]),
    "failures.rate_per_1000_node_days": (">= 0 failures per 1000 node-days", [0], [-1e-9]),
    "failures.exposed_share": ("<= 1", [1], [1.001]),
    "failures.observed_nodes": ("> 0 nodes", [1], [0]),
    "checkpoint.interval_min": ("> 0 min", [1e-9], [0]),
    "checkpoint.stall_s": (">= 0 s", [0], [-1]),
    "checkpoint.persist_s": (">= 0 s", [0], [-1]),
    "checkpoint.persist_slowdown": ("< 1", [0, 0.999], [1]),
    "recovery.detection_min": (">= 0 min", [0], [-1]),
    "recovery.queue_min": (">= 0 min", [0], [-1]),
    "recovery.restart_min": (">= 0 min", [0], [-1]),
    "maintenance.per_day": (">= 0 1/day", [0], [-1]),
    "maintenance.duration_min": (">= 0 min", [0], [-1]),
}


@pytest.mark.parametrize("path", BOUNDS)
def test_bounds_hold_on_both_sides(plain_run, path):
    rule, good, bad = BOUNDS[path]
    start = plain_run.override({"failures.rate_clock": "wall", "maintenance": {"per_day": 1, "duration_min": 1}})
    for value in good:
        start.override({path: value})
        Scenario.check_values(path, [value])
    for value in bad:
        assert refused_override(start, {path: value}) == f"{path} must be {rule}, got {value} ({path}={value})"
        with pytest.raises(InputError, match=f"{path} must be {rule}, got {value:g}".replace("/", ".")):
            Scenario.check_values(path, [value])


FAILURES = {
    "{}": "needs exactly one of n_events with node_days, or rate_per_1000_node_days",
    "{n_events: 3, node_days: 3, rate_per_1000_node_days: 6}": (
        "needs exactly one of n_events with node_days, or rate_per_1000_node_days"
    ),
    "{n_events: 3}": "needs n_events and node_days together",
    "{node_days: 3}": "needs n_events and node_days together",
    "{n_events: 3, node_days: 3, rate_gamma: {shape: 1, node_days: 1}}": (
        "takes rate_gamma only with rate_per_1000_node_days; a count has its own"
    ),
    "{rate_per_1000_node_days: 6, exposed_share: 0.5}": "takes exposed_share only with rate_clock: wall",
    "{rate_per_1000_node_days: 6, modes: [{name: a, share: 0.7}, {name: b, share: 0.4}]}": (
        "has modes whose shares sum to 1.1; at most 1"
    ),
    "{n_events: 3, node_days: 9, modes: [{name: a, n_events: 4}]}": "has modes whose shares sum to 1.333; at most 1",
    "{n_events: 0, node_days: 9, modes: [{name: a, n_events: 1}]}": (
        "mode 'a' counts 1 events, but failures.n_events is 0"
    ),
    "{rate_per_1000_node_days: 6, modes: [{name: a, share: 0.7}, {name: a, share: 0.2}]}": "has two modes named 'a'",
    "{rate_per_1000_node_days: 6, modes: [{name: other, share: 0.7}]}": (
        "has a mode named 'other', which is the name of what the modes leave over"
    ),
    "{rate_per_1000_node_days: 6, modes: [{name: a}]}": "mode 'a' needs exactly one of n_events or share",
    "{n_events: 9, node_days: 9, modes: [{name: a, share: 0.1, n_events: 3}]}": (
        "mode 'a' needs exactly one of n_events or share"
    ),
    "{rate_per_1000_node_days: 6, modes: [{name: a, n_events: 3}]}": (
        "mode 'a' counts events, but failures.n_events is not given"
    ),
}


@pytest.mark.parametrize("failures", FAILURES)
def test_failures_are_given_in_exactly_one_way(failures):
    assert refusal(changed(RATE, failures)) == f"failures {FAILURES[failures]} (mine.yml)"


def test_a_mode_of_the_job_needs_the_nodes_it_was_observed_on():
    modes = "modes: [{name: a, share: 0.3, scales_with: job}]"
    message = refusal(changed(RATE, f"{{rate_per_1000_node_days: 6, {modes}}}"))
    assert message == "failures.observed_nodes is needed: mode 'a' scales with the job (mine.yml)"


def test_modes_that_fill_everything_leave_nothing_over():
    """Thirds do not sum to exactly 1 in floating point."""
    modes = ", ".join(f"{{name: m{i}, share: 0.33333333333333337}}" for i in range(3))
    run = Scenario.parse(changed(RATE, f"{{rate_per_1000_node_days: 6, modes: [{modes}]}}"))
    assert run.mode_weights[-1] == 0 and run.mode_weights.sum() == pytest.approx(1)


@pytest.mark.parametrize(
    "name",
    ["../x", "a/b", "a\\\\b", "<b>x</b>", "Plain", "a b", ".hidden", "-x", "a" * 65, "plain\\n", "x\\u0000", "é"],
)
def test_names_that_are_paths_or_markup_are_refused(name):
    message = refusal(changed("name: plain", f'name: "{name}"'))
    assert message.startswith("name holds characters that are not allowed, got ")
    assert message.endswith("a name has a-z, 0-9, dot, dash and underscore, and at most 64 of them (mine.yml)")


@pytest.mark.parametrize(
    "title", ["A <b>run</b>", "a\\nb", "a\\n", "[x](y)", "`x`", "{x}", "$x$", 'a\\"b', "a|b", "a*b"]
)
def test_titles_that_are_markup_are_refused(title):
    message = refusal(changed("A plain run", f'"{title}"'))
    assert message.startswith("title holds characters that are not allowed, got ")
    assert message.endswith("; letters, digits, spaces and plain punctuation are (mine.yml)")


def test_empty_and_endless_titles_are_refused():
    assert refusal(changed("A plain run", '"  "')) == "title must not be empty (mine.yml)"
    assert refusal(changed("A plain run", "x" * 201)) == "title must have at most 200 characters, got 201 (mine.yml)"
    assert Scenario.parse(changed("A plain run", '"Größe: 100% (B–C), D\'s & 2.5 + #3"')).title.startswith("Größe")


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (["five"], "must be numbers, got"),
        (["5"], "must be numbers, got"),
        ([True], "must be numbers, got"),
        ([[1, 2], [3]], "must be numbers, got"),
        ([5, math.nan], "must be finite, got nan"),
        ([5, -math.inf], "must be finite, got -inf"),
        ([5, -1, 0], "must be > 0 min, got -1"),
    ],
)
def test_arrays_are_checked_by_the_rule_of_their_field(values, words):
    with pytest.raises(InputError, match=f"checkpoint.interval_min {words}"):
        Scenario.check_values("checkpoint.interval_min", values)


def test_good_arrays_come_back_as_floats():
    sizes = Scenario.check_values("cluster.n_gpus", [[8], [12]])
    assert sizes.dtype == float and sizes.tolist() == [[8.0], [12.0]]
    with pytest.raises(UnknownName, match=r"'cluster.n_gpus'"):
        Scenario.check_values("cluster.gpus", [1])


# --------------------------------------------------------------------------- the two tables


def test_every_value_in_force_has_a_status(llama3):
    table = llama3.override({"checkpoint.stall_s": 12, "job.first_queue_min": 4}).to_frame().set_index("field")
    assert table.loc["cluster.gpus_per_node", "status"] == "primary"
    assert table.loc["failures.node_days", "status"] == "derived"
    assert table.loc["recovery.restart_min", "status"] == "assumed"
    assert table.loc["checkpoint.persist_slowdown", ["status", "note"]].tolist() == ["assumed", "default"]
    assert table.loc["checkpoint.stall_s", ["value", "unit", "status", "source"]].tolist() == [12, "s", "given", ""]
    assert table.loc["job.first_queue_min", "status"] == "given"
    assert table.loc["failures.exposed_share", ["status", "note"]].tolist() == [
        "derived",
        "computed from the scenario as first written",
    ]
    assert "failures.rate_per_1000_node_days" not in table.index
    assert Scenario.load("rsc-1").to_frame().set_index("field").loc["cluster.n_gpus", "source"] == "kokolis2025"


def test_the_dictionary_covers_every_field_with_unit_rule_and_meaning():
    table = Scenario.dictionary().set_index("field")
    assert set(paths.paths_of(Scenario)) - {"failures.modes", "checkpoint.tiers", "evidence"} <= set(table.index)
    assert set(BOUNDS) <= set(table.index)
    assert (table["meaning"].str.len() > 8).all()
    assert table.index.is_unique
    assert table.loc["checkpoint.interval_min"].tolist()[:3] == ["min", "> 0", "required"]
    assert table.loc["failures.modes.<name>.share", "rule"] == ">= 0, <= 1"
    assert table.loc["evidence.<*>.status", "meaning"] == "how it is known"
    # an assumed default says so
    for field in ("cluster.gpus_per_node", "checkpoint.persist_slowdown", "failures.rate_clock"):
        assert "assumed" in table.loc[field, "meaning"]


@pytest.mark.parametrize("path", sorted(set(BOUNDS) - {"failures.exposed_share", "checkpoint.persist_slowdown"}))
def test_every_number_has_a_unit(path):
    assert unit_of(path)


# --------------------------------------------------------------------------- written


@pytest.mark.parametrize("name", evidence.scenario_names())
def test_a_scenario_is_written_as_it_is_read(name, tmp_path):
    run = Scenario.load(name)
    path = tmp_path / "written.yml"
    path.write_text(run.to_yaml(), encoding="utf-8")
    assert Scenario.load(path) == run
    assert "gpus_per_node: 8" in run.to_yaml()


@given(st.text("0123456789eE.:+-_ abnull~yesfalseNaN", min_size=1, max_size=12))
def test_text_that_looks_like_a_number_is_read_back_as_text(text):
    run = Scenario.load("rsc-1")
    try:
        run = run.override({"title": text, "failures.modes": [{"name": text, "share": 0.5}]})
    except InputError:
        return  # no title at all
    assert Scenario.parse(run.to_yaml()) == run
