"""The command line: what it answers, and how it refuses."""

from __future__ import annotations

import json
import math
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from ettr import Scenario, __version__, budget, evidence, plan
from ettr.core.sentences import duration

REPOSITORY = str(Path(__file__).parents[2])


# --------------------------------------------------------------------------- answers


def test_plan_answers_in_words(ettr):
    status, out, err = ettr("plan", "--quick", "llama3-405b", "--set", "cluster.n_gpus=100000")
    answer = plan.make(Scenario.load("llama3-405b").override({"cluster.n_gpus": 100_000}))
    assert (status, err) == (0, "")
    assert out.startswith("Llama 3 405B on 16,384 H100\n  cluster.n_gpus = 100000\n")
    assert f"ETTR: {100 * answer.budget.ettr:.1f}% at the best interval" in out
    assert f"{answer.budget.total_h:,.1f} h" in out and "Time to failure of the job: 30 min" in out
    assert "Assumed, because no source gives them" in out
    for row in answer.bands.itertuples():
        if row.unit == "":
            assert f"{row.low_50:.1%} to {row.high_50:.1%}" in out and f"{row.low_95:.1%} to {row.high_95:.1%}" in out
    assert len(answer.bands) == 5 and f"The bands come {answer.band_source}." in out
    assert "failures.n_events = 419" in answer.band_source
    for part in ("productive", "checkpoint", "rework", "detection", "restart", "maintenance", "total"):
        assert re.search(rf"^ *{part} ", out, re.M), part
    assert not re.search(r"^ *(degraded|slowdown) ", out, re.M)


def test_plan_answers_machines_with_the_same(ettr):
    status, out, err = ettr("plan", "--quick", "llama3-405b", "--set", "cluster.n_gpus=100000", "--json")
    assert (status, err) == (0, "")
    record = json.loads(out, parse_constant=pytest.fail)
    assert record.pop("changes") == {"cluster.n_gpus": 100_000}
    asked_for_more = {name: record.pop(name) for name in ("target_ettr", "requirements", "sizing", "advice")}
    assert asked_for_more == {"target_ettr": None, "requirements": [], "sizing": None, "advice": None}
    assert record == plan.make(Scenario.load("llama3-405b").override({"cluster.n_gpus": 100_000})).to_dict()


def test_plan_takes_a_file(ettr, tmp_path):
    path = tmp_path / "mine.yml"
    path.write_text(evidence.scenario_text("rsc-2"), encoding="utf-8")
    assert json.loads(ettr("plan", "--quick", str(path), "--json")[1])["scenario"] == "rsc-2"


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
    status, out, err = ettr("plan", "--quick", "llama3-405b", "--set", given, "--json")
    if changes is None:  # not a character of titles, but it was read whole
        assert status == 2 and "got 'A = B'" in err
    else:
        assert status == 0, err
        assert json.loads(out)["changes"] == changes


def test_several_changes(ettr):
    out = ettr("plan", "--quick", "rsc-1", "--set", "cluster.n_gpus=8000", "--set", "recovery.queue_min=9", "--json")[1]
    assert json.loads(out)["changes"] == {"cluster.n_gpus": 8000, "recovery.queue_min": 9}


@pytest.mark.parametrize("name", evidence.scenario_names())
@pytest.mark.parametrize("change", ["cluster.n_gpus=8", "failures.rate_per_1000_node_days=0"])
def test_every_preset_has_a_plan_in_words(ettr, name, change):
    if name.endswith("-tokens") and "n_gpus" in change:
        change = "cluster.n_gpus=128"  # the model does not fit 8
    status, out, err = ettr("plan", "--quick", name, "--set", change)
    assert (status, err) == (0, "")
    assert not re.search(r"\b(nan|inf|None|ever)\b", out)


def test_a_rate_that_nobody_counted_has_no_bands_and_says_what_would_give_them(ettr):
    out = ettr("plan", "--quick", "rsc-1", "--set", "failures.rate_per_1000_node_days=6")[1]
    assert "How sure: the scenario does not say how well its failure rate is known" in out
    assert "failures.rate_gamma" in out and "95%" not in out


def test_a_band_that_reaches_runs_without_end_says_so(ettr):
    """Nothing but a rough rate: at its upper end the job never gets to its first checkpoint."""
    rough = (
        "--set",
        "failures.rate_per_1000_node_days=100",
        "--set",
        "failures.rate_gamma={shape: 0.3, node_days: 0.1}",
    )
    out = ettr("plan", "--quick", "rsc-1", *rough)[1]
    assert "where a low end is 0 the job would practically never end" in out
    assert re.search(r"^ETTR at the best interval .* 0.0% to ", out, re.M)


# --------------------------------------------------------------------------- tiers and silent failures

TIERS = "[{name: peer memory, interval_s: 60, stall_s: 0.5, load_s: 5, copies: 2}]"


def test_tiers_are_shown_with_their_best_intervals(ettr):
    status, out, err = ettr("plan", "--quick", "llama3-405b", "--set", f"checkpoint.tiers={TIERS}")
    assert (status, err) == (0, "")
    run = Scenario.load("llama3-405b").override({"checkpoint.tiers": yaml.safe_load(TIERS)})
    best = plan.best_tiers(run)
    survives = float(run.mode_weights @ run.survival()[0])
    at_best = duration(best.checkpoint.tiers[0].interval_s / 3600)
    assert re.search(rf"^peer memory +{survives:.1%} +1 min +{re.escape(at_best)}$", out, re.M)
    assert re.search(rf"^store +100.0% +10 min +{re.escape(duration(best.interval_h))}$", out, re.M)


def test_tiers_are_told_to_machines(ettr):
    record = json.loads(ettr("plan", "--quick", "llama3-405b", "--set", f"checkpoint.tiers={TIERS}", "--json")[1])
    peer, store = record["tiers"]
    assert (peer["name"], peer["interval_s"], store["name"], store["interval_s"]) == ("peer memory", 60, "store", 600)
    assert (store["best_interval_s"] / peer["best_interval_s"]) % 1 == pytest.approx(0, abs=1e-9)
    assert store["survives"] == 1


def test_silent_failures_are_answered_with_the_checkpoints_to_keep(ettr):
    """Found after 6 h, checkpoints about 30 min apart: 6 h hold 12 of them, and one before."""
    silent = ("--set", "failures.modes=[{name: SDC, share: 1, latency_h: 6}]")
    record = json.loads(ettr("plan", "--quick", "rsc-1", *silent, "--json")[1])
    between_h = record["interval_min"] / 60 + 300 / 3600
    assert record["checkpoints_to_keep"] == math.ceil(6 / between_h) + 1
    assert (
        f"Keep the newest {record['checkpoints_to_keep']} checkpoints: silent failures"
        in ettr("plan", "--quick", "rsc-1", *silent)[1]
    )


# --------------------------------------------------------------------------- what a target takes

SLOW = "recovery.detection_min"
AT_24K = ("plan", "llama3-405b", "--set", "cluster.n_gpus=24000")
ROW = re.compile(
    r"^([a-z_0-9.]+) +(none|any|<= [\d.,e+-]+|>= [\d.,e+-]+|[\d.,]+ to [\d.,]+) +([\d.,]+) .* ([\d.]+)%$", re.M
)


def test_what_is_needed_is_enough_when_put_back_and_a_little_less_is_not(ettr):
    status, out, err = ettr(*AT_24K, "--target", "0.88")
    assert (status, err) == (0, "")
    run = Scenario.load("llama3-405b").override({"cluster.n_gpus": 24_000})
    rows = {field: needed for field, needed, _, _ in ROW.findall(out.partition("For an ETTR of 0.88")[2])}
    assert {"checkpoint.stall_s", "recovery.restart_min", "failures.rate_per_1000_node_days"} < rows.keys()
    for field, needed in rows.items():
        if needed.startswith("<= ") and field != "cluster.n_gpus":
            value = float(needed.removeprefix("<= ").replace(",", ""))
            assert plan.ettr_at_best(run.override({field: value})) >= 0.88, field
            assert plan.ettr_at_best(run.override({field: value * 1.02})) < 0.88, field


def test_an_interval_has_two_ends(ettr):
    out = ettr(*AT_24K, "--target", "0.88", "--field", "checkpoint.interval_min")[1]
    low, high = (float(end) for end in re.search(r"([\d.]+) to ([\d.]+) +10 +min", out).groups())
    run = Scenario.load("llama3-405b").override({"cluster.n_gpus": 24_000})
    ettrs = budget.exact(run, {"checkpoint.interval_min": [low * 0.98, low, high, high * 1.02]}).ettr
    assert (ettrs >= 0.88).tolist() == [False, True, True, False]


def test_a_field_can_be_asked_for_alone_and_twice_is_once(ettr):
    asked = ("--field", "recovery.restart_min", "--field", "checkpoint.stall_s", "--field", "recovery.restart_min")
    record = json.loads(ettr(*AT_24K, "--target", "0.9", *asked, "--json")[1])
    assert [need["field"] for need in record["requirements"]] == ["recovery.restart_min", "checkpoint.stall_s"]
    assert record["target_ettr"] == 0.9
    run = Scenario.load("llama3-405b").override({"cluster.n_gpus": 24_000})
    first = record["requirements"][0]
    assert first["value"] == plan.required(run, "recovery.restart_min", 0.9).value
    assert (first["reached"], first["sense"], first["unit"], first["given"]) == (True, "at most", "min", 5)


def test_all_fields_are_asked_and_those_that_can_do_it_come_first(ettr):
    record = json.loads(ettr(*AT_24K, "--target", "0.9", "--json")[1])
    run = Scenario.load("llama3-405b").override({"cluster.n_gpus": 24_000})
    assert {need["field"] for need in record["requirements"]} == set(plan.solvable(run))
    reached = [need["reached"] for need in record["requirements"]]
    assert reached == sorted(reached, reverse=True) and 0 < sum(reached) < len(reached)


def test_what_no_value_reaches_is_answered_with_what_is_possible_and_what_stands_in_the_way(ettr):
    asked = (*AT_24K, "--target", "0.9", "--field", "recovery.detection_min")
    status, out, err = ettr(*asked)
    assert (status, err) == (0, "")
    need = json.loads(ettr(*asked, "--json")[1])["requirements"][0]
    assert (need["value"], need["reached"], need["blocker"]) == (None, False, "checkpoint.stall_s")
    assert re.search(rf"^recovery.detection_min +none +1 +min +{need['best_ettr']:.1%}$", out, re.M)
    with_both = need["blocking"][0]["ettr"]
    text = "checkpoint.stall_s stands in the way of recovery.detection_min: ideal together they would leave"
    assert f"{text} {with_both:.1%}." in out


def test_a_target_beyond_any_two_fields_is_an_answer_too(ettr):
    status, out, err = ettr("plan", "--quick", "llama3-405b", "--target", "0.9999", "--field", "recovery.restart_min")
    assert (status, err) == (0, "")
    assert "No second field is enough for recovery.restart_min: " in out
    needs = json.loads(ettr("plan", "--quick", "llama3-405b", "--target", "0.9999", "--json")[1])["requirements"]
    assert {need["reached"] for need in needs} == {False}


def test_several_fields_that_share_what_stands_in_the_way_share_its_sentence(ettr):
    fields = ("recovery.detection_min", "recovery.queue_min")
    out = ettr(*AT_24K, "--target", "0.9", *(word for field in fields for word in ("--field", field)))[1]
    assert "checkpoint.stall_s stands in the way of all that have none: " in out


def test_where_nothing_else_is_enough_fewer_failures_are_named(ettr):
    out = ettr("plan", "--quick", "llama3-405b", "--set", "cluster.n_gpus=100000", "--target", "0.95", "--field", SLOW)[
        1
    ]
    assert f"Beside {SLOW} only fewer failures would be enough: without any, " in out


def test_what_stands_in_the_way_is_named_where_it_is_enough(ettr):
    large = ("plan", "llama3-405b", "--set", "cluster.n_gpus=100000", "--target", "0.9", "--field")
    assert "checkpoint.stall_s stands in the way of recovery.restart_min: " in ettr(*large, "recovery.restart_min")[1]


def test_a_rate_that_changes_is_planned_for_at_its_mean(ettr):
    young = ("plan", "llama3-405b", "--set", "failures.burn_in={factor: 5, decay_days: 7}")
    status, out, err = ettr(*young)
    assert (status, err) == (0, "") and "The failure rate changes during the run" in out
    record = json.loads(ettr(*young, "--json")[1])
    assert record["over_time"]["ettr"] == pytest.approx(record["ettr"], abs=0.003)


def test_a_field_that_cannot_matter_may_be_anything(ettr):
    still = ("plan", "rsc-1", "--set", "failures.rate_per_1000_node_days=0", "--target", "0.5", "--field")
    status, out, _ = ettr(*still, "recovery.detection_min")
    assert status == 0 and re.search(r"^recovery.detection_min +any +", out, re.M)
    needs = json.loads(ettr(*still, "recovery.detection_min", "--json")[1], parse_constant=pytest.fail)["requirements"]
    assert (needs[0]["value"], needs[0]["reached"]) == (None, True)


@pytest.mark.parametrize("field", ["prediction.recall", "prediction.precision"])
def test_a_benefit_is_needed_from_below(ettr, field):
    ahead = "prediction={recall: 0.5, precision: 0.8, lead_s: 60, action_s: 20}"
    run = Scenario.load("llama3-405b").override({"prediction": yaml.safe_load(ahead.partition("=")[2])})
    out = ettr("plan", "--quick", "llama3-405b", "--set", ahead, "--target", "0.92", "--field", field)[1]
    value = float(re.search(rf"^{field} +>= ([\d.]+) ", out, re.M).group(1))
    assert (
        plan.ettr_at_best(run.override({field: value})) >= 0.92 > plan.ettr_at_best(run.override({field: value * 0.98}))
    )


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
    explained = " ".join(ettr("plan", "--help")[1].split())
    assert "--target" in explained and "--field" in explained and "which second field stands in the way" in explained
    assert "--set" in explained and "--scenario" in ettr("book", "--help")[1]


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
    "unknown field to solve for": (
        ["plan", "rsc-1", "--target", "0.9", "--field", "recovery.restart"],
        "ettr: unknown field to solve for 'recovery.restart'; did you mean 'recovery.restart_min'?",
    ),
    "field of a section that is not there": (
        ["plan", "rsc-1", "--target", "0.9", "--field", "prediction.recall"],
        "ettr: the scenario has no prediction, so there is no prediction.recall to solve for",
    ),
    "field without a target": (
        ["plan", "rsc-1", "--field", "recovery.restart_min"],
        "ettr: --field recovery.restart_min needs --target, the ETTR to reach, e.g. --target 0.9",
    ),
    "target in per cent": (
        ["plan", "rsc-1", "--target", "90"],
        "ettr: --target must be between 0 and 1, e.g. 0.9, got 90",
    ),
    "target of 0": (["plan", "rsc-1", "--target", "0"], "ettr: --target must be between 0 and 1, e.g. 0.9, got 0"),
    "target of 1": (["plan", "rsc-1", "--target", "1"], "ettr: --target must be between 0 and 1, e.g. 0.9, got 1"),
    "negative target": (
        ["plan", "rsc-1", "--target", "-0.5"],
        "ettr: --target must be between 0 and 1, e.g. 0.9, got -0.5",
    ),
    "target that is none": (
        ["plan", "rsc-1", "--target", "nan"],
        "ettr: --target must be between 0 and 1, e.g. 0.9, got nan",
    ),
    "a target for a rate that changes": (
        ["plan", "rsc-1", "--set", "failures.lifetime={shape: 0.7, start: new}", "--target", "0.9"],
        "ettr: --target has no answer for a failure rate that changes: leave failures.burn_in and ",
    ),
    "silent and noticed": (
        ["plan", "rsc-1", "--set", "failures.modes=[{name: SDC, share: 0.1, latency_h: 6}]"],
        "ettr: budget.exact has no form for silent failures (latency_h) together with failures that are noticed: ",
    ),
    "unknown tier": (
        [
            "plan",
            "rsc-1",
            "--set",
            f"checkpoint.tiers={TIERS}",
            "--target",
            "0.9",
            "--field",
            "checkpoint.tiers.peer.load_s",
        ],
        "ettr: unknown field to solve for 'checkpoint.tiers.peer.load_s'; did you mean ",
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
        status, out, err = ettr("plan", "--quick", "rsc-1", "--set", f"{field}={text}")
        assert (status, out) == (2, "")
        assert err.startswith(f"ettr: {field} must be {kind}, got {NO_NUMBERS[text]}") and err.count("\n") == 1


@pytest.mark.parametrize("text", [".inf", "-.inf", ".nan", ".Inf", ".NAN", "1e400"])
def test_what_is_not_finite_is_refused_on_the_command_line(ettr, text):
    for field in ("checkpoint.stall_s", "cluster.n_gpus"):
        status, out, err = ettr("plan", "--quick", "rsc-1", "--set", f"{field}={text}")
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
    assert len(ettr("plan", "--quick", "rsc-1", "--set", f"cluster.n_gpus={'9' * 5000}")[2]) < 200


@pytest.mark.parametrize("where", [0, 1, 2])
def test_debug_shows_the_traceback_wherever_it_stands(ettr, where):
    arguments = ["plan", "llama3"]
    arguments.insert(where, "--debug")
    status, _, err = ettr(*arguments)
    assert status == 2
    assert "Traceback (most recent call last)" in err and "UnknownName" in err
    assert err.splitlines()[-1].startswith("ettr: unknown scenario 'llama3'")


@pytest.mark.parametrize(
    "arguments",
    [
        ["plans"],
        ["plan"],
        ["plan", "rsc-1", "--sett", "a=1"],
        ["plan", "rsc-1", "x"],
        ["plan", "rsc-1", "--target", "high"],
    ],
)
def test_a_wrong_command_is_answered_with_the_usage(ettr, arguments):
    status, _, err = ettr(*arguments)
    assert status == 2 and "Usage: ettr" in err and "Traceback" not in err


def test_broken_yaml_is_answered_with_line_and_column(ettr, tmp_path):
    path = tmp_path / "mine.yml"
    path.write_text("name: mine\ncluster: {n_gpus: [8\n", encoding="utf-8")
    status, _, err = ettr("plan", "--quick", str(path))
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


def test_gpus_are_listed_with_what_is_assumed_of_them(ettr):
    status, out, err = ettr("gpus")
    assert (status, err) == (0, "")
    assert ettr("parts") == (0, out, "ettr: `ettr parts` is now `ettr gpus`; the old name goes with version 0.3\n")
    assert re.search(r"^gb300 +NVIDIA GB300, per GPU +1,400 W +145 W +cold_plate +\d+ of \d+$", out, re.M)
    gpus = json.loads(ettr("gpus", "--json")[1])
    assert [row["name"] for row in gpus] == list(evidence.gpu_names())
    assert gpus[4]["limit_w"] == 700


def test_a_plan_in_the_heat_tells_speed_temperatures_and_failures(ettr):
    gpu = "failures.modes=[{name: GPU, category: GPU, share: 0.64, heat_share: 0.5}]"
    hot = ("--set", "heat.mean_c=24", "--set", "heat.swing_k=8", "--set", gpu)
    out = ettr("plan", "--quick", "llama3-405b", *hot)[1]
    run = Scenario.load("llama3-405b").override(
        {"heat": {"mean_c": 24, "swing_k": 8}, "failures.modes": yaml.safe_load(gpu.partition("=")[2])}
    )
    assert f"training at {100 * run.speed:.1f}% of full speed" in out
    assert f"failures at {run.heat_rate_factor:.2f} times the observed rate" in out
    assert f"hottest die {run.heat_response.hours['hottest_c'].max():.1f} °C" in out
    assert "(25.0 °C at full speed)" in out
    record = json.loads(ettr("plan", "--quick", "llama3-405b", *hot, "--json")[1])
    assert record["effective_throughput"] == pytest.approx(record["ettr"] * record["speed"])
    assert "Heat" not in ettr("plan", "--quick", "llama3-405b")[1]
    slow = ettr("plan", "--quick", "llama3-405b", "--set", "job.throughput_factor=0.9")[1]
    assert "training at 90.0% of full speed" in slow and "Heat" not in slow
