"""A scenario is read from YAML: numbers as people mean them, and every fault named with its place."""

from __future__ import annotations

import json

import pytest

from ettr import Scenario
from refusals import refusal

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
    "name, title, sources, cluster, job, failures, checkpoint, recovery, measured, maintenance, prediction, rack, "
    "spares, repair, elastic, slow_nodes, heat, power, cost, model, layout, network, scaling, sync, evidence"
)


ODD_TITLES = ['<b>A</b> "run"', "[x](y)", "`x` {x}", "$x^2$", "a|b *c*", "# 1", "- yes", "%", "{{ x }}", "no", "12"]


def changed(old: str, new: str) -> str:
    assert PLAIN.count(old) == 1
    return PLAIN.replace(old, new)


def refused(text: str) -> str:
    return refusal(Scenario.parse, text, "mine.yml")


# --------------------------------------------------------------------------- presets and files


@pytest.mark.parametrize(
    ("name", "hint"),
    [("llama3", "'llama3-405b'"), ("RSC-1", "'rsc-1'")],
)
def test_an_unknown_preset_is_answered_with_the_nearest(name, hint):
    assert refusal(Scenario.load, name).startswith(
        f"unknown scenario {name!r} (or give a file ending in .yml); did you mean {hint}? Valid: bloom-176b, "
    )


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
        assert refusal(Scenario.load, path) == f"cannot read scenario {path}: {reason}"


# --------------------------------------------------------------------------- YAML


@pytest.mark.parametrize(
    ("text", "got"), [("", "is empty"), ("- a\n- b\n", "got a list"), ("hello", "got the value 'hello'"), ("3", "'3'")]
)
def test_a_file_that_is_no_mapping_is_refused(text, got):
    assert refused(text).startswith("mine.yml") and got in refused(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "name: x\ncluster: {n_gpus: [8\njob: 3",
            "mine.yml: line 3, column 4: broken YAML, did not find expected ',' or ']'",
        ),
        (
            changed("n_gpus: 8000", "n_gpus: 8000, n_gpus: 9"),
            "mine.yml: line 4, column 25: broken YAML, the key 'n_gpus' is repeated",
        ),
        (changed("{n_gpus: 8000}", "*x"), "mine.yml: line 4, column 10: broken YAML, found undefined alias 'x'"),
        (
            changed("8000", "!!python/object:os.system 3"),
            "mine.yml: line 4, column 19: broken YAML, the tag !!python/object:os.system is not read: write the value "
            "without it",
        ),
        (
            "a: " + "[" * 900,  # LibYAML refuses 1000
            "mine.yml: line 1, column 53: broken YAML, nested more than 50 deep; write it flatter",
        ),
        (PLAIN + "qqqq: 2024-13-45\n", f"unknown field qqqq. Valid: {SECTIONS} (mine.yml)"),  # text: no date is read
        ("name: x\x00", "mine.yml: broken YAML, unacceptable character #x0000: control characters are not allowed"),
    ],
    ids=str,
)
def test_broken_yaml_is_answered_with_line_and_column(text, message):
    assert refused(text) == message


# --------------------------------------------------------------------------- numbers

ONE = ["100_000", "1e5", "1.e+5", "+100000", "100000.0", '"100000"']
"""Ways to write one number."""


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        *((text, 1e5) for text in ONE),
        ("0.1", 0.1),
        (".5", 0.5),
        ("1e-3", 1e-3),
        ("1_000.5", 1000.5),
        ("0.0", 0.0),
        ("4k", 4000),
    ],
)
def test_a_number_is_what_people_mean_by_it(written, meant):
    assert Scenario.parse(changed("stall_s: 300", f"stall_s: {written}")).checkpoint.stall_s == meant
    if meant == 1e5:
        assert Scenario.parse(changed("8000", written)).cluster.n_gpus == 100_000


@pytest.mark.parametrize("nothing", ["", "null"])
def test_a_field_that_holds_nothing_has_its_default(nothing):
    plain = Scenario.parse(changed("interval_min: 60", f"interval_min: {nothing}"))
    assert plain.checkpoint.interval_min == "best"


NO_NUMBERS = [
    "1:30",  # YAML 1.1 reads 90, in sixties
    "010",  # YAML 1.1 reads 8
    *("0x10", "1e", "3,5", "12 m"),
    "2024-01-01",  # YAML reads a date
]


@pytest.mark.parametrize("written", NO_NUMBERS)
def test_what_only_seems_a_number_is_refused_with_what_was_written(written):
    text = f"'{written}'" if "," in written else written
    message = refused(changed("stall_s: 300", f"stall_s: {text}"))
    assert message.startswith("checkpoint.stall_s must be a number of seconds") and f"got {written!r}" in message
    assert message.endswith("(mine.yml)")
    message = refused(changed("8000", text))
    assert message.startswith("cluster.n_gpus must be a whole number of GPUs") and f"got {written!r}" in message
    assert message.endswith("(mine.yml)")


@pytest.mark.parametrize(("written", "seconds"), [("12 min", 720), ("250ms", 0.25), ("300 s", 300)])
def test_a_number_may_carry_its_unit_or_another_of_its_dimension(written, seconds):
    assert Scenario.parse(changed("stall_s: 300", f"stall_s: {written}")).checkpoint.stall_s == seconds


@pytest.mark.parametrize("digits", ["\uff11\uff12", "\u0663", "\uff11.5e\uff12"])
def test_digits_of_another_script_are_no_number(digits):
    for written in (digits, f"'{digits}'"):
        for before in ("8000", "300"):
            assert "must be written with the digits 0 to 9, got" in refused(changed(before, written))


# --------------------------------------------------------------------------- fields


FAULTS = {
    "unknown section": (
        PLAIN + "maintenence: {}\n",
        f"unknown field maintenence; did you mean 'maintenance'? Valid: {SECTIONS} (mine.yml)",
    ),
    "misspelt": (
        changed("interval_min", "intervall_min"),
        "unknown field checkpoint.intervall_min; did you mean 'interval_min'? Valid: interval_min, stall_s, "
        "persist_s, persist_slowdown, load_s, store, tiers, n_kept (mine.yml)",
    ),
    "nothing where something is needed": (
        changed("8000", ""),
        "cluster.n_gpus is missing [GPUs]: GPUs of the job, or other accelerators, such as TPU chips (mine.yml)",
    ),
    "number for a switch": (
        changed("include_start: false", "include_start: 7"),
        "job.include_start must be true or false, got 7 (mine.yml)",
    ),
    "number for text": (changed("A plain run", "7"), "title must be text, got 7 (mine.yml)"),
    "text for a list": (PLAIN + "sources: abc\n", "sources must be a list, got 'abc' (mine.yml)"),
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
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_answered_with_path_rule_unit_value_and_place(fault):
    text, message = FAULTS[fault]
    assert refused(text).startswith(message)


WAYS = (
    "needs exactly one of n_events with node_days, rate_per_1000_node_days, job_mttf_h, node_mttf_h or gpu_mttf_h; got"
)
FAILURES = {
    "{}": f"{WAYS} none",
    "{n_events: 3, node_days: 3, rate_per_1000_node_days: 6}": (
        f"{WAYS} n_events with node_days and rate_per_1000_node_days"
    ),
    "{job_mttf_h: 9, rate_gamma: {shape: 1, node_days: 1}}": (
        "takes rate_gamma only with rate_per_1000_node_days; a count has its own"
    ),
    "{n_events: 3}": "needs n_events and node_days together",
    "{rate_per_1000_node_days: 6, exposed_share: 0.5}": "takes exposed_share only with rate_clock: wall",
    "{rate_per_1000_node_days: 6, modes: [{name: a, share: 0.7}, {name: b, share: 0.4}]}": (
        "has modes whose shares sum to 1.1; at most 1"
    ),
    "{n_events: 0, node_days: 9, modes: [{name: a, n_events: 1}]}": (
        "mode 'a' counts 1 events, but failures.n_events is 0"
    ),
    "{rate_per_1000_node_days: 6, modes: [{name: a, share: 0.7}, {name: a, share: 0.2}]}": "has two modes named 'a'",
    "{rate_per_1000_node_days: 6, modes: [{name: a}]}": "mode 'a' needs exactly one of n_events or share",
    "{rate_per_1000_node_days: 6, modes: [{name: a, n_events: 3}]}": (
        "mode 'a' counts events, but failures.n_events is not given"
    ),
}


@pytest.mark.parametrize("failures", FAILURES)
def test_failures_are_given_in_exactly_one_way(failures):
    assert refused(changed(RATE, failures)) == f"failures {FAILURES[failures]} (mine.yml)"


@pytest.mark.parametrize(
    "name",
    ["../x", "<b>x</b>", "Plain", "a b", ".hidden", "a" * 65, "plain\\n", "é"],
)
def test_names_that_are_paths_or_markup_are_refused(name):
    message = refused(changed("name: plain", f'name: "{name}"'))
    assert message.startswith("name has characters that are not allowed, got ")
    assert message.endswith("a name has a-z, 0-9, dot, dash and underscore, and at most 64 of them (mine.yml)")


@pytest.mark.parametrize("title", ["a\\nb", "a\\x1b[31m", "a\\u2028b"])
def test_titles_of_more_than_a_line_or_of_what_is_not_printed_are_refused(title):
    message = refused(changed("A plain run", f'"{title}"'))
    assert message.startswith("title has characters that are not allowed, got ")
    assert message.endswith("; a title is one line of characters that can be printed (mine.yml)")


@pytest.mark.parametrize("title", ["Größe: 100% (B–C), D's & 2.5 + #3", *ODD_TITLES])
def test_titles_are_read_and_written_as_they_stand(title):
    run = Scenario.parse(changed("A plain run", json.dumps(title)))
    assert run.title == Scenario.parse(run.to_yaml()).title == title
