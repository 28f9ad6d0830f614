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

from ettr import Scenario, evidence, plan, sizing
from ettr.cli.options import changed
from ettr.core.results import PART_WORDS
from ettr.core.sentences import about, duration, joined_range
from ettr_book.publish import page_data

REPOSITORY = str(Path(__file__).parents[2])


# --------------------------------------------------------------------------- answers


def test_plan_answers_in_words(in_words):
    out = in_words("plan", "--details", "llama3-405b", "--set", "cluster.n_gpus=100000")
    answer = plan.make(Scenario.load("llama3-405b").override({"cluster.n_gpus": 100_000}))
    assert out.startswith(f"{answer.original.title}: 100,000 GPUs, ")
    assert out.splitlines()[1] == "  cluster.n_gpus = 100000"
    assert f"{answer.budget.total_h:,.1f} h" in out and re.search(r"^MTTF of the job .*  30 min ", out, re.M)
    assert "Assumed: " in out and re.search(r"fitted to the published ETTR on 16,384 GPUs\.", out)
    assert "not an independent prediction" in in_words("plan", "llama3-405b")
    for row in answer.bands.rows:
        if row["unit"] == "":
            assert all(
                joined_range(*(f"{row[f'{end}_{level}']:.1%}" for end in ("low", "high"))) in out for level in (50, 95)
            )
    assert len(answer.bands.rows) == 5 and f" come {answer.bands.source}." in out
    budget = out[out.index("\nTime budget") :]
    for part, words in PART_WORDS.items():
        assert (words in budget) == (getattr(answer.budget, part) > 0), part
    assert re.search(rf"^total +{answer.budget.total_h:,.1f} h", budget, re.M)


def test_plan_answers_machines_with_the_same(as_json):
    record = as_json("plan", "--quick", "llama3-405b", "--set", "cluster.n_gpus=100000")
    assert record.pop("changes") == {"cluster.n_gpus": 100_000}
    asked_for_more = {name: record.pop(name) for name in ("target_ettr", "fail_below_ettr", "requirements")}
    assert asked_for_more == {"target_ettr": None, "fail_below_ettr": None, "requirements": []}
    assert (record.pop("sizing"), record.pop("order")) == (None, None)
    assert record == plan.make(Scenario.load("llama3-405b").override({"cluster.n_gpus": 100_000})).to_dict()


@pytest.mark.parametrize(
    ("setting", "changes"),
    [
        ("cluster.n_gpus=100,000", {"cluster.n_gpus": 100_000}),
        ("recovery.person_share=3%", {"recovery.person_share": 0.03}),
        (" checkpoint.stall_s = 2.5 ", {"checkpoint.stall_s": 2.5}),
        ("job.include_start=false", {"job.include_start": False}),
        ("maintenance=null", {"maintenance": None}),
        ("failures.modes.Faulty GPU.factor=0.5", {"failures.modes.Faulty GPU.factor": 0.5}),
    ],
)
def test_values_are_read_as_they_are_meant(setting, changes):
    assert changed("llama3-405b", [setting])[1] == changes


# --------------------------------------------------------------------------- what a scenario has more

TIERS = "[{name: peer memory, interval_s: 60, stall_s: 0.5, load_s: 5, copies: 2}]"


def test_tiers_are_told_with_their_best_intervals(in_words, as_json):
    command = ("plan", "--quick", "llama3-405b", "--set", f"checkpoint.tiers={TIERS}")
    run = Scenario.load("llama3-405b").override({"checkpoint.tiers": yaml.safe_load(TIERS)})
    peer, store = as_json(*command)["tiers"]
    best = {tier["name"]: re.escape(duration(tier["best_interval_s"] / 3600)) for tier in (peer, store)}
    out = in_words(*command, "--details")
    survives = float(run.mode_weights @ run.survival()[0])
    assert re.search(rf"^peer memory +{survives:.1%} +1 min +{best['peer memory']}$", out, re.M)
    assert re.search(rf"^store +100.0% +10 min +{best['store']}$", out, re.M)
    assert (peer["name"], peer["interval_s"], store["name"], store["interval_s"]) == ("peer memory", 60, "store", 600)
    assert (store["best_interval_s"] / peer["best_interval_s"]) % 1 == pytest.approx(0, abs=1e-9)
    assert store["survives"] == 1


def test_silent_failures_are_answered_with_the_checkpoints_to_keep(in_words, as_json):
    """Found after 6 h, checkpoints about 30 min apart: 6 h hold 12 of them, and one before."""
    silent = ("plan", "--quick", "rsc-1", "--set", "failures.modes=[{name: SDC, share: 1, latency_h: 6}]")
    record = as_json(*silent)
    n_kept = math.ceil(6 / (record["interval_min"] / 60 + 300 / 3600)) + 1
    assert record["checkpoints_to_keep"] == n_kept
    assert f"Keep the newest {n_kept} checkpoints" in in_words(*silent)


def test_a_rate_that_changes_is_planned_for_at_its_mean(in_words, as_json):
    young = ("plan", "llama3-405b", "--quick", "--set", "failures.burn_in={factor: 5, decay_days: 7}")
    assert "The failure rate changes during the run" in in_words(*young)
    record = as_json(*young)
    assert record["over_time"]["ettr"] == pytest.approx(record["ettr"], abs=0.003)


# --------------------------------------------------------------------------- what a target takes

AT_24K = ("plan", "llama3-405b", "--set", "cluster.n_gpus=24000")


def at_24k() -> Scenario:
    return Scenario.load("llama3-405b").override({"cluster.n_gpus": 24_000})


def test_a_field_can_be_asked_for_alone_and_twice_is_once(as_json):
    command = ("--field", "recovery.restart_min", "--field", "checkpoint.stall_s", "--field", "recovery.restart_min")
    record = as_json(*AT_24K, "--target", "0.9", *command)
    assert [need["field"] for need in record["requirements"]] == ["recovery.restart_min", "checkpoint.stall_s"]
    assert record["target_ettr"] == 0.9
    first = record["requirements"][0]
    assert first["value"] == plan.required(at_24k(), "recovery.restart_min", 0.9).value
    assert (first["reached"], first["sense"], first["unit"], first["given"]) == (True, "at most", "min", 5)


def test_all_fields_are_asked_and_those_that_can_do_it_come_first(as_json):
    needs = as_json(*AT_24K, "--target", "0.9")["requirements"]
    assert {need["field"] for need in needs} == set(plan.solvable(at_24k()))
    reached = [need["reached"] for need in needs]
    assert reached == sorted(reached, reverse=True) and 0 < sum(reached) < len(reached)


def test_what_no_value_reaches_is_answered_with_what_is_possible_and_what_stands_in_the_way(in_words, as_json):
    command = (*AT_24K, "--target", "0.9", "--field", "recovery.detection_min")
    (need,) = as_json(*command)["requirements"]
    assert (need["value"], need["reached"], need["blocker"]) == (None, False, "checkpoint.stall_s")
    out = in_words(*command)
    assert re.search(rf"^recovery.detection_min +none +1 +min +{need['best_ettr']:.1%}$", out, re.M)
    text = re.escape("checkpoint.stall_s is the bottleneck for recovery.detection_min")
    assert re.search(rf"^{text}.* {need['blocking'][0]['ettr']:.1%}\.$", out, re.M)


# --------------------------------------------------------------------------- lists


def test_scenarios_lists_the_presets(in_words, as_json):
    names = list(evidence.scenario_names())
    assert [line.split()[0] for line in in_words("scenarios").splitlines()[1:]] == names
    rows = as_json("scenarios")
    assert [row["name"] for row in rows] == names
    assert rows[3]["ettr"] == plan.presets().set_index("name").loc[rows[3]["name"], "ettr"]


# --------------------------------------------------------------------------- refusals

NO_END = "This job practically never ends: it fails every "
BAD = {
    "unknown preset": (
        ["plan", "llama3"],
        "unknown scenario 'llama3' (or give a file ending in .yml); did you mean 'llama3-405b'? Valid: ",
    ),
    "no file": (["plan", "none.yml"], "cannot read scenario none.yml: No such file or directory"),
    "never ends": (["plan", "rsc-1", "--set", "cluster.n_gpus=8000000000"], NO_END),
    "unknown field to solve for": (
        ["plan", "rsc-1", "--target", "0.9", "--field", "recovery.restart"],
        "unknown field to solve for 'recovery.restart'; did you mean 'recovery.restart_min'?",
    ),
    "field without a target": (
        ["plan", "rsc-1", "--field", "recovery.restart_min"],
        "--field recovery.restart_min needs --target, the ETTR to reach, e.g. --target 0.9",
    ),
    "target in per cent": (
        ["plan", "rsc-1", "--target", "90"],
        "--target must be between 0 and 1, got 90: write e.g. 90%",
    ),
    "target of twice the time": (
        ["plan", "rsc-1", "--target", "2x"],
        "--target takes a share, e.g. 0.9 or 90%, got '2x'",
    ),
    "an ETTR below zero": (["plan", "rsc-1", "--fail-below", "-1"], "--fail-below must be between 0 and 1, got -1: "),
    "a field changed twice": (
        ["plan", "rsc-1", "--set", "job.productive_h=9", "--set", "job.productive_h=8"],
        "--set job.productive_h occurs twice",
    ),
    "a target for a rate that changes": (
        ["plan", "rsc-1", "--set", "failures.lifetime={shape: 0.7, start: new}", "--target", "0.9"],
        "--target needs a constant failure rate: unset failures.burn_in and failures.lifetime",
    ),
    "book of no scenario": (
        ["book", "--scenario", "rsc-3", "--root", REPOSITORY],
        "unknown scenario 'rsc-3' (or give a file ending in .yml); did you mean 'rsc-",
    ),
}


@pytest.mark.parametrize("fault", BAD)
def test_bad_input_is_one_message_and_status_2(refused, fault):
    arguments, message = BAD[fault]
    assert refused(*arguments).startswith(message)


BAD_SET = {
    "cluster.gpus=8": "unknown field 'cluster.gpus'; did you mean 'cluster.n_gpus'?",
    "checkpoint.interval_min=-5": "checkpoint.interval_min must be >= 0.0001 min, got -5 (checkpoint.interval_min=-5)",
    "checkpoint.interval_min=ten": "checkpoint.interval_min must be a number of minutes, or one of best, young, daly,",
    "name=A = B": "name has characters that are not allowed, got 'A = B'",  # read whole
    "cluster.n_gpus=": "cluster.n_gpus is missing [GPUs]: GPUs of the job",
    "checkpoint.stall_s=1:30": "checkpoint.stall_s must be a number of seconds, got '1:30'",
    "cluster.n_gpus=.nan": "cluster.n_gpus must be finite, got nan",
    f"cluster.n_gpus={'9' * 5000}": "--set cannot read the value '9999999999",
    "cluster.n_gpus": "--set takes FIELD=VALUE, e.g. cluster.n_gpus=4096, got",
    "failures.modes=[{": "--set cannot read the value '[{'",
}


@pytest.mark.parametrize("setting", BAD_SET, ids=lambda setting: setting[:40])
def test_what_cannot_be_set_is_refused_shortly(refused, setting):
    message = refused("plan", "--quick", "rsc-1", "--set", setting)
    assert message.startswith(BAD_SET[setting]) and len(message) < 500


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
        ["plan", "rsc-1", "--sett", "a=1"],
        ["plan", "rsc-1", "x"],
    ],
)
def test_a_wrong_command_is_answered_with_the_usage(ettr, arguments):
    status, _, err = ettr(*arguments)
    assert status == 2 and "Usage: ettr" in err and "Traceback" not in err


@pytest.mark.parametrize(
    ("arguments", "facts"),
    [
        (["plan", "--gpus", "4096", "--mtbf-h", "9x"], ("--mtbf-h ", " hours", "'9x'", "9h")),
        (["plan", "--gpus", "3,5", "--mtbf-h", "9"], ("--gpus ", " whole number", " GPUs", "'3,5'", "3.5")),
        (["plan", "rsc-1", "--target", "high"], ("--target ", " share", "'high'", "90%")),
        (["simulate", "rsc-1", "--seed", "1.5"], ("--seed ", " whole number", "'1.5'")),
    ],
)
def test_an_option_that_takes_a_number_refuses_other_texts_in_the_words_of_the_package(refused, arguments, facts):
    message = refused(*arguments)
    assert all(fact in message for fact in facts)


def test_options_take_numbers_as_people_write_them(as_json):
    plain = as_json("plan", "--quick", "--gpus", "4096", "--mtbf-h", "1000", "--measured-ettr", "0.9")
    spelled = as_json("plan", "--quick", "--gpus", "4,096", "--mtbf-h", "1k", "--measured-ettr", "90%")
    assert spelled == plain
    assert as_json("plan", "--quick", "rsc-1", "--target", "50%")["target_ettr"] == 0.5


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


# --------------------------------------------------------------------------- the run on the command line

STORY = ("plan", "--gpus", "4096", "--mtbf-h", "9", "--stall-s", "90", "--restart-min", "12", "--usd-per-gpu-h", "2.5")


def test_a_run_is_asked_about_in_one_line(in_words, as_json):
    out, record = in_words(*STORY), as_json(*STORY)
    assert re.match(r"Our cluster: 4,096 GPUs, .*MTBF.* 9 h .*\nCheckpoint every 39 min\. ", out)
    steps = record["recommendation"]["steps"]
    assert len(steps) > 1 and all(f"\n{i}. {step['title']} " in out for i, step in enumerate(steps, 1))
    assert f"With all {len(steps)}: ETTR" in out
    assert record["wall_mttf_h"] == pytest.approx(9, rel=2e-3)
    assert record["losses"]["total"]["usd_per_month"] == pytest.approx(763_000, rel=1e-3)
    assert record["assumptions"]["leading"] == "recovery.detection_min"


def test_the_bandwidth_of_checkpoints_is_one_command(in_words, as_json):
    command = ("plan", "--gpus", "16384", "--mtbf-h", "3", "--parameters", "405B", "--interval-min", "10")
    assert re.search(r"4\.86 TB.* 8\.1 GB/s", in_words(*command, "--quick"))
    assert "Checkpoint storage" in in_words(*command, "--details")
    assert as_json(*command)["storage"]["needed"][0]["write_gb_s"] == pytest.approx(8.1)


def test_an_order_is_the_size_of_the_plan(in_words, as_json):
    command = ("plan", "--effective-gpus", "20000", "--node-mtbf-h", "20000", "--quick")
    record = as_json(*command)
    assert record["n_gpus"] == record["order"]["n_gpus"] >= 20_000
    assert record["ettr"] == pytest.approx(record["order"]["ettr"])
    sized = as_json("plan", "--gpus", str(record["n_gpus"]), "--node-mtbf-h", "20000", "--quick")
    assert sized["order"] is None and sized["ettr"] == pytest.approx(record["ettr"])
    out = in_words(*command)
    assert out.startswith(f"Order {record['order']['n_ordered']:,} GPUs") and f"{record['n_gpus']:,} GPUs, mean" in out
    preset = as_json("plan", "llama3-405b", "--effective-gpus", "20k", "--quick")
    assert preset["changes"] == {"cluster.n_gpus": preset["order"]["n_gpus"]}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--effective-gpus", "-5", "--node-mtbf-h", "20000"), "--effective-gpus must be > 0 GPUs"),
        (("--effective-gpus", "5000", "--mtbf-h", "9"), "the size and MTBF of the job"),
        (("--effective-gpus", "5000"), "the size and MTBF of the job"),
        (("--effective-gpus", "900k", "--node-mtbf-h", "20000"), "must be <= "),
        (("--effective-gpus", "5000", "--node-mtbf-h", "20000", "--set", "cluster.gpus_per_node=0"), "gpus_per_node"),
    ],
)
def test_orders_that_cannot_be_are_refused(refused, options, words):
    assert words in refused("plan", *options)


def test_a_saved_run_is_the_same_run_with_its_words(in_words, as_json, tmp_path):
    path = tmp_path / "mine.yml"
    assert in_words(*STORY, "--save", str(path)).endswith(f"Written: {path}\n")
    text = path.read_text(encoding="utf-8")
    assert "stall_s: 90  # [s] " in text
    assert "# detection_min: 5  # [min] " in text and "plausible range 0.06 to 10 (deng2025minder" in text
    read, command = as_json("plan", str(path)), as_json(*STORY)
    assert {**read, "changes": None} == {**command, "changes": None}


@pytest.mark.parametrize("name", evidence.scenario_names())
def test_every_preset_is_saved_with_comments_and_read_again(name):
    run = Scenario.load(name)
    assert Scenario.parse(run.to_yaml(comments=True)) == run


def test_a_page_needs_nothing_else(in_words, tmp_path):
    path = tmp_path / "mine.html"
    in_words(*STORY, "--html", str(path))
    page = path.read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>") and "async-checkpoint" in page and "linear-gradient" in page
    assert not re.search(r"https?://|<script|<link|url\(", page)


OBSERVED = ("--gpus", "4096", "--mtbf-h", "9", "--observed-on-gpus")


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (
            ("--mtbf-h", "9"),
            "plan needs a preset or a scenario file, or the size and MTBF of the job, e.g. ettr plan --gpus ",
        ),
        (("--gpus", "8", "--mtbf-h", "9", "--gpu-mtbf-h", "9"), "--mtbf-h conflicts with --gpu-mtbf-h"),
        (
            ("rsc-1", "--stall-s", "9", "--set", "checkpoint.stall_s=8"),
            "--stall-s conflicts with --set checkpoint.stall_s; use one of them",
        ),
        (("--gpus", "4096", "--gpus-per-node", "0", "--mtbf-h", "9"), "cluster.gpus_per_node must be >= 1 GPUs, got 0"),
        (("--gpus", "4096", "--gpus-per-node", "0"), "cluster.gpus_per_node must be >= 1 GPUs, got 0"),
        (("--gpus", "4096", "--mtbf-h", "0"), "failures.job_mttf_h must be >= 1e-06 h, got 0"),
        (("--gpus", "8", "--failures", "3"), "--failures and --in-days go together"),
        ((*OBSERVED, "0"), "--observed-on-gpus must be > 0 GPUs, got 0"),
        ((*OBSERVED, "2049"), "--observed-on-gpus must be a multiple of the 8 GPUs per node, got 2049"),
        (
            (*OBSERVED, "8", "--set", "failures.observed_nodes=1"),
            "--observed-on-gpus conflicts with --set failures.observed_nodes",
        ),
        (("--gpus", "8", "--observed-on-gpus", "8"), "--observed-on-gpus needs the failures observed there: --mtbf-h"),
        (
            ("--gpus", "8", "--gpu-mtbf-h", "9e4", "--observed-on-gpus", "8"),
            "--observed-on-gpus needs the MTBF of a job or a count of its failures; failures.gpu_mttf_h is the same",
        ),
        (
            ("--gpus", "2048", "--mtbf-h", "22", "--set", "cluster.n_gpus=50000"),
            "--gpus conflicts with --set cluster.n_gpus; use one of them. For a failure rate observed on another "
            "number of GPUs: --gpus 50000 --observed-on-gpus 2048",
        ),
        (
            ("--gpus", "4096", "--mtbf-h", "9", "--measured-ettr", "0.99"),
            "measured.ettr must be at most 95.5%, the ETTR that the other inputs allow, got 99.0%",
        ),
        (
            ("--gpus", "8", "--mtbf-h", "9", "--html", "plan.pdf"),
            "--html must end in .html, got plan.pdf: write plan.html",
        ),
        (("faults.csv",), "a scenario is a preset or a file ending in .yml, got faults.csv; for a failure or training"),
        (("--gpus", "8", "--mtbf-h", "9", "--interval-min", "9x"), "--interval-min takes minutes, best, young or daly"),
        (("rsc-1", "--save", "mine.txt"), "--save must end in .yml, the ending of a scenario file, got mine.txt"),
    ],
)
def test_what_contradicts_itself_is_one_sentence(refused, more, message):
    words = refused("plan", *more)
    assert words.startswith(message) and "\n" not in words.strip()


def test_a_count_of_failures_is_a_rate_with_its_error(as_json):
    """Llama 3's count, by hand: 54 days of wall clock over 419."""
    record = as_json("plan", "--gpus", "16384", "--failures", "419", "--in-days", "54", "--stall-s", "10")
    assert record["wall_mttf_h"] == pytest.approx(54 * 24 / 419, rel=0.02)
    assert record["prediction_interval"]["counted"] == 419 and record["bands"]
    none = as_json("plan", "--gpus", "512", "--failures", "0", "--in-days", "30")
    assert none["is_bound"] and none["job_mttf_h"] > 24
    over = as_json("plan", "llama3-405b", "--gpus", "8192", "--failures", "100", "--in-days", "30")
    assert over["wall_mttf_h"] == pytest.approx(7.2, rel=0.02) and over["changes"]["failures.modes"] == []


def test_failures_counted_on_fewer_nodes_scale_to_the_job(as_json, refused, tmp_path):
    """195 failures in 181 days on 256 nodes; the job has 6,250 nodes, and so fails 24 times as often."""
    counted = ("--gpus", "50000", "--failures", "195", "--in-days", "181")
    elsewhere = as_json("plan", *counted, "--set", "failures.observed_nodes=256", "--save", str(tmp_path / "f.yml"))
    by_option = as_json("plan", *counted, "--observed-on-gpus", "2048")
    assert by_option["job_mttf_h"] == elsewhere["job_mttf_h"] and by_option["bands"] == elsewhere["bands"]
    mtbf_h = str(181 * 24 / 195)
    mean = as_json("plan", "--gpus", "50000", "--mtbf-h", mtbf_h, "--set", "failures.observed_nodes=256")
    assert elsewhere["wall_mttf_h"] == pytest.approx(0.99, abs=0.01)
    assert elsewhere["ettr"] == pytest.approx(mean["ettr"], abs=1e-3) == pytest.approx(0.695, abs=0.005)
    assert Scenario.load(tmp_path / "f.yml").failures.node_days == 256 * 181
    preset = as_json("plan", "llama3-405b", *counted, "--set", "failures.observed_nodes=256")
    on_the_job = as_json("plan", "llama3-405b", *counted)
    assert preset["job_mttf_h"] < 0.1 * on_the_job["job_mttf_h"]
    by_field = as_json("plan", "llama3-405b", "--set", "cluster.n_gpus=8192", "--failures", "50", "--in-days", "30")
    by_flag = as_json("plan", "llama3-405b", "--gpus", "8192", "--failures", "50", "--in-days", "30")
    assert by_field["job_mttf_h"] == by_flag["job_mttf_h"]
    assert "observed_nodes must be >= 1" in refused("plan", *counted, "--set", "failures.observed_nodes=0")


def test_a_time_between_failures_goes_with_the_size_it_was_observed_on(as_json, in_words, tmp_path):
    """22 h on 2,048 GPUs are 22 h x 2,048 / 50,000 = 54 min on 50,000, by the clock in which failures strike."""
    kept, same = tmp_path / "kept.yml", tmp_path / "same.yml"
    observed = ("--gpus", "50000", "--mtbf-h", "22", "--observed-on-gpus", "2048")
    plan = as_json("plan", *observed, "--save", str(kept))
    assert plan["observed_gpus"] == 2048 and 60 * plan["job_mttf_h"] == pytest.approx(54.07, rel=0.01)
    assert in_words("plan", *observed).splitlines()[0].endswith("failure rate observed on 2,048 GPUs)")
    at_2048 = as_json("plan", "--gpus", "2048", "--mtbf-h", "22", "--save", str(same))
    assert at_2048["observed_gpus"] is None and "observed on" not in in_words("plan", str(same)).splitlines()[0]
    assert Scenario.load(same).override({"cluster.n_gpus": 50_000}).failures == Scenario.load(kept).failures
    for size_options in (("--set", "cluster.n_gpus=50000"), ("--gpus", "50000")):
        grown = as_json("plan", str(same), *size_options, "--save", str(tmp_path / "grown.yml"))
        assert grown["job_mttf_h"] == pytest.approx(plan["job_mttf_h"], rel=1e-12)
        assert grown["ettr"] == pytest.approx(plan["ettr"], rel=1e-9)
        assert Scenario.load(tmp_path / "grown.yml").n_nodes == 6250


# --------------------------------------------------------------------------- exit status 3

AT_100K = ("plan", "--quick", "llama3-405b", "--set", "cluster.n_gpus=100000")


@pytest.mark.parametrize(("option", "as_json"), [("--target", ()), ("--fail-below", ("--json",))])
def test_an_ettr_that_is_not_reached_ends_with_status_3_after_the_answer(ettr, option, as_json):
    ettr_at_best = float(plan.make(Scenario.load("llama3-405b").override({"cluster.n_gpus": 100_000})).budget.ettr)
    status, out, err = ettr(*AT_100K, option, "0.9", *as_json)
    assert status == 3 and err == f"ettr: the ETTR at the best interval, {ettr_at_best:.4g}, is below {option} 0.9\n"
    assert out == ettr(*AT_100K, option, "90%", *as_json)[1] and (not as_json or json.loads(out)["ettr"] < 0.9)
    assert ettr(*AT_100K, option, f"{ettr_at_best - 1e-6:.9f}", *as_json)[::2] == (0, "")
    assert ettr(*AT_100K, option, f"{ettr_at_best + 1e-6:.9f}", *as_json)[0] == 3


def test_the_simulated_ettr_is_what_must_be_reached_where_the_plan_is_simulated(ettr):
    pool = ("--set", "spares={n_nodes: 0}", "--set", "repair={manual_h: 24}")
    status, out, err = ettr("plan", "--gpus", "2048", "--mtbf-h", "22", *pool, "--fail-below", "0.8", "--json")
    record = json.loads(out)
    assert record["ettr"] < 0.8 < record["analytical"]["ettr"] and status == 3 and f"{record['ettr']:.4g}" in err


# --------------------------------------------------------------------------- values far outside what is plausible


FAR = {
    ("--stall-s", "90000"): r"checkpoint\.stall_s = 90,000 s .*wan2025bytecheckpoint.*milliseconds",
    ("--gpus", "1e12"): r"cluster\.n_gpus = 1e\+12 GPUs .* 8 to 100,000 GPUs [^?]*$",
}


@pytest.mark.parametrize("options", FAR)
def test_a_value_far_outside_its_plausible_range_is_warned_of_once(ettr, options):
    size = () if "--gpus" in options else ("--gpus", "4096")
    status, out, err = ettr("plan", "--quick", *size, "--mtbf-h", "9", *options, "--json")
    assert status == 0 and err.count("\n") == 1
    assert re.match(f"ettr: warning: {FAR[options]}", err.strip())
    assert err == "".join(f"ettr: warning: {sentence}\n" for sentence in json.loads(out)["warnings"])


# --------------------------------------------------------------------------- dates

DUE = ("plan", "bloom-176b", "--start", "2027-01-15", "--deadline", "2027-04-26", "--zone", "Europe/Berlin")
ENDING = ("plan", "--gpus", "4096", "--mtbf-h", "9", "--productive-h", "1000")


def test_dates_and_deadline_stand_after_the_ettr_in_words_on_the_page_and_for_machines(in_words, as_json, tmp_path):
    page = tmp_path / "mine.html"
    lines = in_words(*DUE, "--html", str(page)).splitlines()
    (at,) = (i for i, line in enumerate(lines) if "runs finish" in line and line.startswith("90%"))
    assert lines[at - 2].startswith("ETTR ") and sum("finish" in line for line in lines) == 2
    assert re.match(r"90% .*runs finish by \d+ April 2027", lines[at])
    assert "26 April 2027" in lines[at + 1]
    written = page.read_text(encoding="utf-8")
    assert lines[at] in written and lines[at + 1] in written
    record = as_json(*DUE)
    assert record["dates"]["start"] == "2027-01-15T00:00:00+01:00"
    assert record["dates"]["deadline"] == "2027-04-27T00:00:00+02:00"
    assert record["deadline"]["hours"] == 102 * 24 - 1  # the clocks change in between
    assert 0 < record["deadline"]["probability"] < 1


def test_a_job_that_has_an_end_is_told_when_without_dates(in_words, as_json):
    out = in_words(*ENDING)
    assert len(re.findall(r"^90% of runs finish within .* days of submission, 99% within ", out, re.M)) == 1
    assert "deadline" not in out and as_json(*ENDING)["deadline"] is None
    assert "runs finish" not in in_words("plan", "--gpus", "4096", "--mtbf-h", "9")


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("--deadline", "2027-03-08"), "deadline needs a start date, got deadline 2027-03-08"),
        (("--zone", "Europe/Berlin"), "--zone Europe/Berlin needs --start"),
    ],
)
def test_dates_that_are_none_are_one_sentence(refused, more, message):
    assert refused("plan", "llama3-405b", *more).startswith(message)


def test_without_a_failure_rate_it_is_that_of_published_clusters(as_json, in_words, tmp_path):
    """The median of each cluster's rate once, with the range across them, and the way to narrow it."""
    answer = as_json("plan", "--gpus", "4096", "--save", str(tmp_path / "mine.yml"))
    rates = evidence.cluster_rates()["rate"]
    run = Scenario.load(tmp_path / "mine.yml")
    assert run.failure_rate == pytest.approx(rates.median(), rel=0.01)
    others = answer["ranges"][-1]
    assert others["label"] == "across published clusters" and others["leading"] == "failures.rate_per_1000_node_days"
    assert others["low"] < answer["ettr"] < others["high"]
    page = page_data.page_data(Scenario.load("llama3-405b"))["starts"][page_data.MINE]["written"]
    assert (page["cluster"]["n_gpus"], page["failures"]["job_mttf_h"]) == (4096, about(answer["job_mttf_h"]))
    text = " ".join(in_words("plan", "--gpus", "4096").split())
    assert "across published clusters" in text and "MTBF, or the failures counted" in text
    assert "with this node failure rate" not in text
    with_mtbf = as_json("plan", "--gpus", "4096", "--mtbf-h", "9")
    assert [entry["label"] for entry in with_mtbf["ranges"]] == ["with this node failure rate"]
    of_four = as_json("plan", "--gpus", "4096", "--gpus-per-node", "4")
    assert of_four["job_mttf_h"] == pytest.approx(answer["job_mttf_h"], rel=0.01)  # half the rate on twice the nodes


# --------------------------------------------------------------------------- how many GPUs

JOB = ("plan", "llama3-405b-tokens", "--details")
SEVENTY = ("plan", "llama3-405b", "--details", "--set", "job.tokens=2e12", "--set", "model.n_parameters=70e9")


def test_it_says_how_many_gpus(in_words):
    out = in_words(*JOB)
    run = Scenario.load(JOB[1])
    turning = sizing.turning_point(run)
    assert f"From {turning:,} GPUs on, one more GPU slows" in out
    for words in ("How many GPUs", "current", "fastest", "cheapest", "greenest", "One more GPU adds"):
        assert words in out
    assert "Layout at the current size: tensor 8, pipeline 16" in out


def test_json_holds_the_same_numbers(as_json):
    sizes = as_json(*SEVENTY, "--power-mw", "10")["sizing"]
    run = Scenario.load("llama3-405b").override({"job.tokens": 2e12, "model.n_parameters": 70e9})
    answer = sizing.make(run, sizing.SizingLimits(power_mw=10))
    assert sizes["limits"] == {"power_mw": 10}
    assert sizes["best"]["fastest"]["n_gpus"] == answer.best["fastest"].n_gpus
    assert sizes["best"]["fastest"]["power_mw"] <= 10
    assert sizes["next_gpu"]["share"] == pytest.approx(answer.next.share)
    assert sizes["turning_gpus"] == answer.turning_gpus


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (["--set", "cluster.n_gpus=100000"], ["divides 100,000 GPUs", "99,968 or 100,096 GPUs"]),
        (["--set", "cluster.n_gpus=8"], [" 8 GPUs of 80 GB", " 112 GPUs"]),
        (["--power-mw", "0.01"], ["power_mw must be at least ", "got 0.01 MW"]),
        (["--deadline-days", "35", "--power-mw", "20"], ["where power_mw is met, deadline_days is at least"]),
    ],
)
def test_what_it_refuses_it_answers_with_what_would_do(refused, changes, words):
    message = refused(*JOB, *changes)
    assert all(word in message for word in words), message


def test_limits_need_tokens(refused):
    message = refused("plan", "llama3-405b", "--most-gpus", "1000")
    assert message.startswith("--most-gpus needs the job as tokens and parameters")
