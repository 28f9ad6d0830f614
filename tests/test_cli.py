"""The command line: what it answers, and how it refuses."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from ettr import Scenario, __version__, evidence, plan

REPOSITORY = str(Path(__file__).parents[1])


# --------------------------------------------------------------------------- answers


def test_plan_answers_in_words(ettr):
    status, out, err = ettr("plan", "llama3-405b", "--set", "cluster.n_gpus=100000")
    told = plan.make(Scenario.load("llama3-405b").override({"cluster.n_gpus": 100_000}))
    assert (status, err) == (0, "")
    assert out.startswith("Llama 3 405B on 16,384 H100\n  cluster.n_gpus = 100000\n")
    assert f"ETTR: {100 * told.budget.ettr:.1f}% at the best interval" in out
    assert f"{told.budget.total_h:,.1f} h" in out and "Time to failure of the job: 30 min" in out
    assert "Assumed, because no source gives them" in out
    for part in ("productive", "checkpoint", "rework", "detection", "restart", "maintenance", "total"):
        assert re.search(rf"^ *{part} ", out, re.M), part
    assert not re.search(r"^ *(degraded|slowdown) ", out, re.M)


def test_plan_answers_machines_with_the_same(ettr):
    status, out, err = ettr("plan", "llama3-405b", "--set", "cluster.n_gpus=100000", "--json")
    assert (status, err) == (0, "")
    told = json.loads(out, parse_constant=pytest.fail)
    assert told.pop("changes") == {"cluster.n_gpus": 100_000}
    assert told == plan.make(Scenario.load("llama3-405b").override({"cluster.n_gpus": 100_000})).to_dict()


def test_plan_takes_a_file(ettr, tmp_path):
    path = tmp_path / "mine.yml"
    path.write_text(evidence.scenario_text("rsc-2"), encoding="utf-8")
    assert json.loads(ettr("plan", str(path), "--json")[1])["scenario"] == "rsc-2"


@pytest.mark.parametrize(
    ("given", "changes"),
    [
        ("cluster.n_gpus=1e5", {"cluster.n_gpus": 1e5}),
        ("cluster.n_gpus=100_000", {"cluster.n_gpus": 100_000}),
        (" checkpoint.stall_s = 2.5 ", {"checkpoint.stall_s": 2.5}),
        ("job.include_start=false", {"job.include_start": False}),
        ("maintenance=null", {"maintenance": None}),
        ("maintenance={per_day: 1, duration_min: 5}", {"maintenance": {"per_day": 1, "duration_min": 5}}),
        ("failures.modes.Faulty GPU.factor=0.5", {"failures.modes.Faulty GPU.factor": 0.5}),
        ("title=A = B", None),
    ],
)
def test_values_are_read_as_they_are_meant(ettr, given, changes):
    status, out, err = ettr("plan", "llama3-405b", "--set", given, "--json")
    if changes is None:  # not a character of titles, but it was read whole
        assert status == 2 and "got 'A = B'" in err
    else:
        assert status == 0, err
        assert json.loads(out)["changes"] == changes


def test_several_changes(ettr):
    out = ettr("plan", "rsc-1", "--set", "cluster.n_gpus=8000", "--set", "recovery.queue_min=9", "--json")[1]
    assert json.loads(out)["changes"] == {"cluster.n_gpus": 8000, "recovery.queue_min": 9}


@pytest.mark.parametrize("name", evidence.scenario_names())
@pytest.mark.parametrize("change", ["cluster.n_gpus=8", "failures.rate_per_1000_node_days=0"])
def test_every_preset_has_a_plan_in_words(ettr, name, change):
    status, out, err = ettr("plan", name, "--set", change)
    assert (status, err) == (0, "")
    assert not re.search(r"\b(nan|inf|None|ever)\b", out)


def test_scenarios_lists_the_presets(ettr):
    status, out, err = ettr("scenarios")
    assert (status, err) == (0, "")
    assert [line.split()[0] for line in out.splitlines()[1:]] == list(evidence.scenario_names())
    rows = json.loads(ettr("scenarios", "--json")[1])
    assert [row["name"] for row in rows] == list(evidence.scenario_names())
    assert rows[3]["ettr"] == plan.presets().set_index("name").loc[rows[3]["name"], "ettr"]


def test_help_and_version(ettr):
    assert ettr("--version")[:2] == (0, f"ettr {__version__}\n")
    status, out, _ = ettr("--help")
    assert status == 0
    for command in ("plan", "scenarios", "book"):
        assert command in out
        status, text, _ = ettr(command, "--help")
        assert status == 0 and f"Usage: ettr {command}" in text
        assert ettr(command, "-h")[0] == 0
    assert "--set" in ettr("plan", "--help")[1] and "--scenario" in ettr("book", "--help")[1]


# --------------------------------------------------------------------------- refusals

BAD = {
    "unknown preset": (
        ["plan", "llama3"],
        "ettr: unknown scenario 'llama3' (or give a file ending in .yml); did you mean 'llama3-405b'? Valid: ",
    ),
    "unknown field": (
        ["plan", "rsc-1", "--set", "cluster.gpus=8"],
        "ettr: unknown field 'cluster.gpus'; did you mean 'cluster.n_gpus'?",
    ),
    "out of range": (
        ["plan", "rsc-1", "--set", "checkpoint.interval_min=-5"],
        "ettr: checkpoint.interval_min must be > 0 min, got -5 (checkpoint.interval_min=-5)",
    ),
    "text": (
        ["plan", "rsc-1", "--set", "checkpoint.interval_min=ten"],
        "ettr: checkpoint.interval_min must be a number [min], got 'ten'",
    ),
    "no number": (["plan", "rsc-1", "--set", "cluster.n_gpus=.nan"], "ettr: cluster.n_gpus must be finite, got nan"),
    "a word": (
        ["plan", "rsc-1", "--set", "cluster.n_gpus=nan"],
        "ettr: cluster.n_gpus must be a whole number [GPUs], got 'nan'",
    ),
    "infinite": (["plan", "rsc-1", "--set", "job.productive_h=inf"], "ettr: job.productive_h must be finite, got inf"),
    "nothing": (
        ["plan", "rsc-1", "--set", "cluster.n_gpus="],
        "ettr: cluster.n_gpus must be a whole number [GPUs], got None",
    ),
    "endless": (
        ["plan", "rsc-1", "--set", f"cluster.n_gpus={'9' * 5000}"],
        "ettr: --set cannot read the value '9999999999",
    ),
    "beyond a float": (
        ["plan", "rsc-1", "--set", f"cluster.n_gpus={'9' * 400}"],
        "ettr: cluster.n_gpus must be <= 1e+12 GPUs, got 9999999999",
    ),
    "no value": (["plan", "rsc-1", "--set", "cluster.n_gpus"], "ettr: --set takes FIELD=VALUE, got 'cluster.n_gpus'"),
    "no field": (["plan", "rsc-1", "--set", "=8"], "ettr: --set takes FIELD=VALUE, got '=8'"),
    "broken value": (["plan", "rsc-1", "--set", "failures.modes=[{"], "ettr: --set cannot read the value '[{'"),
    "no file": (["plan", "none.yml"], "ettr: cannot read scenario none.yml: No such file or directory"),
    "never ends": (
        ["plan", "rsc-1", "--set", "cluster.n_gpus=8000000000"],
        "ettr: budget.exact holds only for runs that practically end, in a time that a float can hold",
    ),
    "book of no scenario": (
        ["book", "--scenario", "rsc-3", "--root", REPOSITORY],
        "ettr: unknown scenario 'rsc-3' (or give a file ending in .yml); did you mean 'rsc-",
    ),
}


@pytest.mark.parametrize("fault", BAD)
def test_bad_input_is_one_message_and_status_2(ettr, fault):
    arguments, message = BAD[fault]
    status, out, err = ettr(*arguments)
    assert status == 2 and out == ""
    assert err.startswith(message) and err.count("\n") == 1
    assert "Traceback" not in err


NO_NUMBERS = {"1:30": "'1:30'", "010": "'010'", "0x10": "'0x10'", "1e": "'1e'", "2024-01-01": "'2024-01-01'"}


@pytest.mark.parametrize("text", NO_NUMBERS)
def test_what_is_no_number_in_a_file_is_none_on_the_command_line(ettr, text):
    for field, kind in (("checkpoint.stall_s", "a number [s]"), ("cluster.n_gpus", "a whole number [GPUs]")):
        status, out, err = ettr("plan", "rsc-1", "--set", f"{field}={text}")
        assert (status, out) == (2, "")
        assert err.startswith(f"ettr: {field} must be {kind}, got {NO_NUMBERS[text]}") and err.count("\n") == 1


@pytest.mark.parametrize("text", [".inf", "-.inf", ".nan", ".Inf", ".NAN", "1e400"])
def test_what_is_not_finite_is_refused_on_the_command_line(ettr, text):
    for field in ("checkpoint.stall_s", "cluster.n_gpus"):
        status, out, err = ettr("plan", "rsc-1", "--set", f"{field}={text}")
        assert (status, out) == (2, "")
        assert err.startswith(f"ettr: {field} must be finite, got ") and err.count("\n") == 1


HOPELESS = {
    "a restart of two billion years": ["plan", "rsc-1", "--set", "recovery.restart_min=1e15"],
    "a run that never ends": ["plan", "opt-175b", "--set", "cluster.n_gpus=80000000"],
}


@pytest.mark.parametrize("as_json", [[], ["--json"]], ids=["words", "json"])
@pytest.mark.parametrize("case", HOPELESS)
def test_a_hopeless_run_is_one_message_and_status_2(ettr, recwarn, case, as_json):
    status, out, err = ettr(*HOPELESS[case], *as_json)
    assert (status, out) == (2, "")
    assert re.fullmatch(r"ettr: budget.exact holds only for .* a float can hold\n", err)
    assert not recwarn.list


def test_a_message_on_an_endless_value_is_short(ettr):
    assert len(ettr("plan", "rsc-1", "--set", f"cluster.n_gpus={'9' * 5000}")[2]) < 200


@pytest.mark.parametrize("where", [0, 1, 2])
def test_debug_shows_the_traceback_wherever_it_stands(ettr, where):
    arguments = ["plan", "llama3"]
    arguments.insert(where, "--debug")
    status, _, err = ettr(*arguments)
    assert status == 2
    assert "Traceback (most recent call last)" in err and "UnknownName" in err
    assert err.splitlines()[-1].startswith("ettr: unknown scenario 'llama3'")


@pytest.mark.parametrize("arguments", [["plans"], ["plan"], ["plan", "rsc-1", "--sett", "a=1"], ["plan", "rsc-1", "x"]])
def test_a_wrong_command_is_answered_with_the_usage(ettr, arguments):
    status, _, err = ettr(*arguments)
    assert status == 2 and "Usage: ettr" in err and "Traceback" not in err


def test_broken_yaml_is_answered_with_line_and_column(ettr, tmp_path):
    path = tmp_path / "mine.yml"
    path.write_text("name: mine\ncluster: {n_gpus: [8\n", encoding="utf-8")
    status, _, err = ettr("plan", str(path))
    assert status == 2 and err.startswith(f"ettr: {path}: line 3, column 1: broken YAML, ")


def test_a_bad_scenario_of_a_book_is_refused_before_anything_runs(ettr, tmp_path, monkeypatch):
    bad = tmp_path / "bad.yml"
    bad.write_text(evidence.scenario_text("rsc-1").replace("stall_s: 300", "stall_s: -300"), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    status, out, err = ettr("book", "--scenario", str(bad), "--out", "site", "--root", REPOSITORY)
    assert (status, out) == (2, "")
    assert err == f"ettr: checkpoint.stall_s must be >= 0 s, got -300 ({bad})\n"
    assert [path.name for path in tmp_path.iterdir()] == ["bad.yml"]


def test_the_installed_command_is_this_one(tmp_path):
    """As a user calls it, from an empty folder: answer, refusal, and a reader who goes away early."""
    command = [os.path.join(os.path.dirname(sys.executable), "ettr")]
    done = subprocess.run([*command, "plan", "rsc-9"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.startswith("ettr: unknown scenario 'rsc-9'") and done.stderr.count("\n") == 1
    piped = subprocess.run(
        f"{command[0]} scenarios | head -1", shell=True, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert piped.returncode == 0 and piped.stderr == "" and piped.stdout.startswith("preset")
