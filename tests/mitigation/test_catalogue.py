"""The catalogue holds every mechanism that the sources name, with evidence that is what it is called."""

from __future__ import annotations

import itertools
import re

import pytest

from ettr import evidence, mitigation
from ettr_book import validation


@pytest.fixture(scope="module")
def entries():
    return mitigation.catalogue()


def test_every_source_is_in_the_bibliography(entries):
    keys = set(evidence.bibliography()["key"])
    for entry in entries:
        cited = [*entry.changes, *entry.before, *entry.published, entry.price]
        assert {item.source for item in cited if item.source} | set(entry.asked_by) <= keys, entry.id


def test_the_table_has_a_row_a_mitigation(entries):
    table = entries.to_frame()
    assert table["id"].tolist() == list(entries.ids)
    kinds = table.set_index("id")["evidence"]
    assert kinds["optical-network"] == mitigation.NOT_MODELLED
    assert kinds["flight-recorder"] == kinds["self-healing"] == mitigation.NO_EVIDENCE
    assert kinds["lemon-removal"] == mitigation.PUBLISHED
    assert (table["mechanism"].str.endswith(".") & (table["mechanism"].str.count(r"\. ") == 0)).all()
    assert table["title"].is_unique and (table["title"].str.split().str.len() <= 8).all()


@pytest.mark.parametrize(
    ("name", "basis"),
    [
        ("lemon-removal", mitigation.PUBLISHED),  # 0.15 of the lemons remain, by a secondary source
        ("replica-recovery", mitigation.PARTLY),  # a published restart, an assumed tier
        ("warm-standby", mitigation.ASSUMED),
        ("optical-network", ""),  # it changes nothing
    ],
)
def test_an_effect_has_a_source_for_all_a_part_or_none_of_its_changes(entries, name, basis):
    assert mitigation.effect_basis(entries[name].changes) == basis


def test_a_person_month_has_one_price(entries):
    for entry in entries:
        months = re.search(r"(\d+) person-months?", entry.price.note or "")
        assert entry.price.usd == (25_000 * int(months[1]) if months else 0), entry.id


def test_nothing_makes_training_faster_by_decree(entries):
    for entry in entries:
        for change in [*entry.changes, *entry.before]:
            if change.path == "job.throughput_factor":
                assert change.op == "scale" and change.value <= 1, entry.id
            assert change.path not in ("job.tokens", "job.productive_h"), entry.id


def test_derived_values_of_the_text(entries):
    assert entries["fast-group-init"].before[0].value == pytest.approx(361 / 2.048, abs=0.5)
    assert entries["scalable-collectives"].changes[0].value == pytest.approx(265 / 96 / 11, rel=0.01)
    growth = entries.assumptions[[row.path for row in entries.assumptions].index("recovery.init_s_per_1000_gpus")].value
    slower, longer = entries["fast-group-init"].before
    assert longer.value == pytest.approx((slower.value - growth) / 1000 / 60, rel=1e-3)
    assert longer.of == "observed_gpus"
    recall = 0.904 * 0.893 / (2 * 0.904 - 0.893)
    for change in entries["faulty-machine-detection"].changes:
        assert change.value == pytest.approx(1 - recall, abs=1e-3)
    assert entries["pre-launch-checks"].changes[0].value == pytest.approx(1 - 0.1036 / 0.15, abs=1e-3)
    assert entries["battery-storage"].price.usd_per_gpu == pytest.approx(290 * (0.696 - 0.0725), rel=0.01)
    assert entries["burn-in"].price.usd_per_gpu == 72 * 2
    assert entries["async-checkpoint"].before[0].value == 10 + 60


def test_verdicts_are_those_of_the_table_of_validation(entries):
    claimed = {row: published.verdict for entry in entries for published in entry.published for row in published.rows}
    results = evidence.table("validation").set_index("result_id", drop=False).loc[list({*claimed, "fthsdp-3min-away"})]
    verdicts = validation.run(results).set_index("result_id")["verdict"]
    assert {verdicts[row] for row, verdict in claimed.items() if verdict == "consistent"} == {"fitted"}
    follows = {verdicts[row] for row, verdict in claimed.items() if verdict == "reproduced"}
    assert follows <= {"reproduced", "bound met", "follows from the same input"}


def test_every_conflict_is_declared_once(entries):
    for first, second in itertools.combinations(entries.ids, 2):
        if why := entries.conflict(first, second):
            declared = entries[first].conflicts.get(second), entries[second].conflicts.get(first)
            assert sorted(declared, key=bool) == [None, why], f"{first} and {second}: {why}"
            assert entries.conflict(second, first) == why
    assert entries.conflict("peer-checkpoint", "peer-checkpoint") == ""
