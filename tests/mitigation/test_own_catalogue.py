"""A catalogue of one's own: read, and every kind of mistake named with its place."""

from __future__ import annotations

import pytest

from ettr import mitigation
from ettr.core.errors import InputError

GOOD = """
mitigations:
  - id: mine
    title: Mine
    group: restart
    mechanism: It restarts sooner.
    changes:
      - {path: recovery.restart_min, op: scale, value: 0.5, status: assumed, note: halved}
    published:
      - {quantity: restart, after: 2, unit: min, status: primary, source: dubey2024, why: it was seen}
"""


@pytest.fixture
def read(tmp_path):
    def of(old: str = "", new: str = ""):
        assert old in GOOD
        path = tmp_path / "mine.yml"
        path.write_text(GOOD.replace(old, new, 1) if old else GOOD, encoding="utf-8")
        return mitigation.catalogue(path)

    return of


def test_an_own_catalogue_is_applied(read, llama3):
    catalogue = read()
    assert catalogue.ids == ("mine",) and catalogue["mine"].has_evidence and catalogue.assumptions == ()
    run = mitigation.apply(llama3, "mine", catalogue)
    assert run.recovery.restart_min == llama3.recovery.restart_min / 2
    assert mitigation.with_assumptions(llama3, catalogue) == mitigation.WithAssumptions(llama3, ())


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("restart_min,", "restrat_min,", r"mine\.changes\.0\.path .*did you mean 'recovery\.restart_min'"),
        ("recovery.restart_min", "failures.modes.GPU.restart", "field of a failure mode"),
        ("value: 0.5", "value: half", r"mine\.changes\.0 scale takes a number, got 'half' for recovery\.restart_min"),
        ("value: 0.5", "value: -1", "scale must be >= 0, got -1"),
        ("op: scale, value: 0.5", "op: add, value: {a: 1}", "add takes an item with its fields for a list"),
        ("op: scale", "op: halve", "must be 'set', 'scale', 'add', 'cap' or 'floor', got 'halve'"),
        (
            "status: assumed, ",
            "of: gpus, status: assumed, ",
            "must be 'nodes', 'replicas', 'observed_gpus', 'stall_s', 'rated_w' or 'pool', got 'gpus'",
        ),
        (", source: dubey2024", "", r"mine\.published\.0 needs a source: restart"),
        ("after: 2", "after: 2, rows: [mine]", "not derivable must have no rows of validation"),
        ("id: mine", "id: Mine One", "an id has a-z, 0-9 and dash"),
        ("    changes:", "    unmodelled: It is not.\n    changes:", "needs either changes or unmodelled"),
        ("mitigations:", "mitigation:", "unknown field mitigation; did you mean 'mitigations'"),
        (GOOD, "mitigations: []", "needs at least one mitigation"),
        (GOOD, GOOD + GOOD.split("\n", 2)[2], "has two mitigations with the id 'mine'"),
    ],
)
def test_a_mistake_is_named(read, old, new, message):
    with pytest.raises(InputError, match=message) as caught:
        read(old, new)
    assert "mine.yml" in str(caught.value)
    assert str(caught.value).count("\n") <= 1


def test_a_conflict_with_nobody(read):
    second = GOOD.split("\n", 2)[2].replace("id: mine", "id: other")
    with pytest.raises(InputError, match=r"unknown mitigation in conflicts 'othr' \(of mine\); did you mean 'other'"):
        read(GOOD, GOOD.replace("    published:", "    conflicts: {othr: both}\n    published:") + second)


def test_changes_that_clash_without_a_word_are_found(read, llama3):
    second = GOOD.split("\n", 2)[2].replace("id: mine", "id: other").replace("op: scale", "op: cap")
    catalogue = read(GOOD, GOOD + second)
    assert catalogue.conflict("mine", "other").startswith("on recovery.restart_min it matters whether scale or cap")
    with pytest.raises(InputError, match="mine and other do not go together"):
        mitigation.apply(llama3, ["mine", "other"], catalogue)
