"""The catalogue holds every mechanism that the sources name, with evidence that is what it is called."""

from __future__ import annotations

import itertools
import re

import pytest
import yaml

from ettr import evidence, mitigation, validation
from ettr.scenario import Scenario

BY_ROW = {
    "faster start": {"fast-group-init", "scalable-collectives"},
    "faster checkpoint": {"parallel-checkpoint"},
    "asynchronous": {"async-checkpoint"},
    "in memory": {"peer-checkpoint"},
    "multi-level": {"multi-level-checkpoint"},
    "just in time": {"just-in-time-checkpoint", "replica-recovery"},
    "incremental, quantised": {"incremental-checkpoint", "quantised-checkpoint"},
    "spares, standby": {"spare-pool", "warm-standby"},
    "elastic": {"elastic-shrink", "replica-drop", "replica-rerouting", "redundant-computation"},
    "loose exchange": {"local-sgd", "asynchronous-replicas"},
    "compression": {"gradient-compression"},
    "lemons": {"lemon-removal"},
    "repeat offenders": {"repeat-offender-retirement"},
    "prediction": {"failure-prediction"},
    "rolling maintenance": {"rolling-maintenance"},
    "diagnosis": {"short-timeout", "flight-recorder", "collective-monitoring", "faulty-machine-detection"},
    "collectives": {"scalable-collectives"},
    "stragglers": {"straggler-removal", "straggler-rebalancing"},
    "burn-in": {"burn-in"},
    "health checks": {"pre-launch-checks"},
    "silent corruption": {"sdc-checks"},
    "network": {"topology-placement", "adaptive-routing", "dual-switch", "optical-network"},
    "memory": {"memory-protection"},
    "cooling": {"cold-plate-cooling", "immersion-cooling", "microfluidic-cooling"},
    "racks": {"rack-spares"},
    "power smoothing": {"software-power-floor", "gpu-power-floor", "rack-energy-storage", "battery-storage"},
    "power limit": {"power-cap"},
}
"""Kinds of mitigations, each with entries of the catalogue."""

NAMED = {
    "ainewsllama31": {
        "shorter start": "fast-group-init",
        "shorter checkpoints": "async-checkpoint",
        "diagnostic tools": "faulty-machine-detection",
        "flight recorder": "flight-recorder",
        "automation": "restart-automation",
        "temperature by day and night": "cold-plate-cooling",
        "power swings": "gpu-power-floor",
    },
    "beeastsummit": {
        "memory with correction": "memory-protection",
        "two-phase immersion": "immersion-cooling",
        "microfluidic cooling": "microfluidic-cooling",
        "heterogeneous offload": "other-processors",
        "fault tolerant frameworks": "elastic-shrink",
        "intelligent checkpoints": "checkpoint-interval",
        "adaptive recovery": "replica-recovery",
        "diagnosis by AI": "ai-diagnosis",
        "anomaly detection": "faulty-machine-detection",
        "tuning by reinforcement learning": "parallelism-tuning",
        "robust optimisers": "local-sgd",
        "optical switching, silicon photonics": "optical-network",
        "traffic management by AI": "ai-traffic-control",
        "compressed gradients": "gradient-compression",
        "predictive maintenance": "failure-prediction",
        "rolling maintenance": "rolling-maintenance",
        "administration by AI": "ai-administration",
        "neuromorphic, quantum-inspired": "other-processors",
        "self-adaptive, meta-learning": "self-healing",
        "gossip": "asynchronous-replicas",
        "federated": "local-sgd",
        "self-healing": "self-healing",
    },
    "tomshardwarecopy": {
        "shorter start": "fast-group-init",
        "shorter checkpoints": "async-checkpoint",
        "diagnostic tools": "faulty-machine-detection",
        "flight recorder": "flight-recorder",
        "NCCLX": "scalable-collectives",
        "automatic time-out": "short-timeout",
        "stragglers": "straggler-removal",
        "automation": "restart-automation",
        "mid-day temperature": "cold-plate-cooling",
        "power swings": "battery-storage",
    },
    "metaengineering2024": {
        "testing and quality control": "burn-in",
        "validation": "pre-launch-checks",
        "detection and remediation": "restart-automation",
        "re-scheduling": "fast-rescheduling",
        "re-initialisation": "fast-group-init",
        "saving the state": "async-checkpoint",
        "storage": "checkpoint-storage",
        "training data": "data-loading",
        "algorithms of training": "local-sgd",
        "memory of the GPU": "memory-protection",
        "layout of the hall": "data-hall-layout",
        "spare capacity": "spare-pool",
        "preventive measures": "failure-prediction",
        "repeat offenders": "repeat-offender-retirement",
        "robust network": "dual-switch",
        "parallelism on the topology": "topology-placement",
        "load balancing": "adaptive-routing",
    },
    "threeabstracts": {"parallelisation strategy": "parallelism-tuning", "software mitigations": "checkpoint-interval"},
}
"""What each source document asks for, and the entry for it."""


@pytest.fixture(scope="module")
def entries():
    return mitigation.catalogue()


def test_every_kind_of_mitigation_has_an_entry(entries):
    assert len(entries) >= 45 and len(BY_ROW) == 27
    assert set().union(*BY_ROW.values()) <= set(entries.ids)


@pytest.mark.parametrize(
    ("document", "item", "name"), [(key, item, name) for key, items in NAMED.items() for item, name in items.items()]
)
def test_what_a_source_document_names_has_an_entry(entries, document, item, name):
    assert document in entries[name].asked_by, item


def test_every_source_is_in_the_bibliography(entries):
    known = set(evidence.bibliography()["key"])
    for one in entries:
        cited = [*one.changes, *one.before, *one.published, one.price]
        assert {item.source for item in cited if item.source} | set(one.asked_by) <= known, one.id


def test_the_table_has_a_row_a_mitigation(entries):
    table = entries.to_frame()
    assert table["id"].tolist() == list(entries.ids)
    kinds = table.set_index("id")["evidence"]
    assert kinds["optical-network"] == mitigation.NOT_MODELLED
    assert kinds["flight-recorder"] == kinds["self-healing"] == mitigation.NO_EVIDENCE
    assert kinds["lemon-removal"] == mitigation.PUBLISHED
    assert (table["mechanism"].str.endswith(".") & (table["mechanism"].str.count(r"\. ") == 0)).all()
    assert table["title"].is_unique and (table["title"].str.split().str.len() <= 8).all()


def test_nothing_big_is_free(entries):
    free = [one.id for one in entries if one.price.usd == one.price.usd_per_gpu == 0]
    assert free == ["spare-pool"]  # the GPUs that it holds are counted as such
    assert all(one.price.note for one in entries)


def test_a_person_month_has_one_price(entries):
    for one in entries:
        months = re.search(r"(\d+) person-months?", one.price.note or "")
        assert one.price.usd == (25_000 * int(months[1]) if months else 0), one.id


def test_nothing_makes_training_faster_by_decree(entries):
    for one in entries:
        for change in [*one.changes, *one.before]:
            if change.path == "job.throughput_factor":
                assert change.op == "scale" and change.value <= 1, one.id
            assert change.path not in ("scaling.kernel_efficiency", "job.tokens", "job.productive_h"), one.id


def test_derived_values_of_the_text(entries):
    assert entries["fast-group-init"].before[0].value == pytest.approx(361 / 2.048, abs=0.5)
    assert entries["scalable-collectives"].changes[0].value == pytest.approx(265 / 96 / 11, rel=0.01)
    recall = 0.904 * 0.893 / (2 * 0.904 - 0.893)
    for change in entries["faulty-machine-detection"].changes:
        assert change.value == pytest.approx(1 - recall, abs=1e-3)
    assert entries["pre-launch-checks"].changes[0].value == pytest.approx(1 - 0.1036 / 0.15, abs=1e-3)
    assert entries["battery-storage"].price.usd_per_gpu == pytest.approx(290 * (0.696 - 0.0725), rel=0.01)
    assert entries["burn-in"].price.usd_per_gpu == 72 * 2
    assert entries["async-checkpoint"].before[0].value == 10 + 60


def test_verdicts_are_those_of_the_table_of_validation(entries):
    verdicts = validation.run().set_index("result_id")["verdict"]
    claimed = {row: published.verdict for one in entries for published in one.published for row in published.rows}
    assert set(claimed) <= set(verdicts.index)
    off = {row for row, verdict in claimed.items() if verdict != verdicts[row]}
    # a pair is called by its weaker part: the stall before follows, that after it only with replicas that are away
    assert off == {"fthsdp-10min"} and claimed["fthsdp-10min"] == "consistent"
    assert verdicts["fthsdp-3min-away"] == "consistent" and verdicts["fthsdp-10min"] == "reproduced"


def test_every_other_published_figure_says_what_is_missing(entries):
    for one in entries:
        for published in one.published:
            assert (published.verdict == "not derivable") == (not published.rows)
            assert len(published.why) > 10, published.quantity


def test_every_conflict_is_declared(entries):
    for first, second in itertools.combinations(entries.ids, 2):
        if why := entries.conflict(first, second):
            declared = entries[first].conflicts.get(second) or entries[second].conflicts.get(first)
            assert declared == why, f"{first} and {second}: {why}"
            assert entries.conflict(second, first) == why
    assert entries.conflict("peer-checkpoint", "peer-checkpoint") == ""


def test_nobody_declares_a_conflict_twice(entries):
    for first, second in itertools.combinations(entries, 2):
        assert not (second.id in first.conflicts and first.id in second.conflicts), (first.id, second.id)


def test_stars_and_lists_are_found_to_clash(entries):
    change = entries["collective-monitoring"].changes[0]
    assert change.path == "failures.modes.*.detection_min"
    assert entries.conflict("short-timeout", "collective-monitoring") == ""  # both are caps
    assert "time-out" in entries.conflict("short-timeout", "faulty-machine-detection")


def test_the_file_is_the_catalogue(tmp_path, entries):
    own = tmp_path / "copy.yml"
    own.write_text(evidence.mitigations_text(), encoding="utf-8")
    assert mitigation.catalogue(own) == entries
    assert len(yaml.safe_load(evidence.mitigations_text())["mitigations"]) == len(entries)


def test_assumptions_are_few_and_not_of_what_an_entry_must_find_itself(entries):
    paths = [assumption.path for assumption in entries.assumptions]
    assert len(paths) == len(set(paths)) <= 25
    assert not {"failures.burn_in", "checkpoint.tiers", "elastic", "prediction"} & set(paths)
    assert {path for path in paths if path in Scenario.model_fields} == {
        "slow_nodes",
        "heat",
        "power",
        "network",
        "sync",
        "cost",
    }
