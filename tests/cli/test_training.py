"""The command that reads a training log."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from ettr import Scenario
from logs import training_texts as texts

EVENTS, TRUTH = texts.run(1)


@pytest.fixture
def train(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("train.log").write_text("\n".join(texts.megatron(EVENTS)))
    return "train.log"


def test_a_training_log_is_known_by_its_lines(in_words, train):
    shown = in_words("fit", train, "--zone", "UTC")
    first = re.match(r"train\.log: ETTR (\d\d\.\d)% over 4 days on 512 GPUs\n", shown)
    assert float(first[1]) == pytest.approx(100 * TRUTH.ettr, abs=0.3)
    assert f"It stopped {TRUTH.n_stops} times" in " ".join(shown.split())
    assert "as planned" not in shown


def test_the_plan_stands_beside_the_run(in_words, as_json, train):
    assert "as planned (llama3-405b)" in in_words("fit", train, "--like", "llama3-405b")
    answer = as_json("fit", train, "--like", "llama3-405b")
    assert answer["planned"]["scenario"] == "llama3-405b"
    assert answer["ettr"] == pytest.approx(TRUTH.ettr, abs=0.003) and len(answer["stops"]) == TRUTH.n_stops
    assert answer["predicted"]["ettr_range"][0] < answer["ettr"] < answer["predicted"]["ettr_range"][1]


def test_the_scenario_of_the_run_is_written_and_planned_with(in_words, train):
    assert "The scenario is at mine.yml: ettr plan mine.yml" in in_words("fit", train, "--scenario-out", "mine.yml")
    assert Scenario.load("mine.yml").cluster.n_gpus == 512
    assert "from its training log" in in_words("plan", "mine.yml")


def test_a_training_log_may_be_piped_in(train):
    command = [sys.executable, "-m", "ettr.cli", "fit", "-"]
    piped = subprocess.run(command, input=Path(train).read_bytes(), capture_output=True, check=True)
    assert piped.stdout.decode().startswith("standard input: ETTR ")


def test_what_a_training_log_has_no_use_for_is_refused(refused, train):
    assert "--nodes is for failure logs; train.log is a training log" in refused("fit", train, "--nodes", "9")
    for option in (("--planned", "x"), ("--failure-severity", "error"), ("--down", "x"), ("--year", "2024")):
        assert f"{option[0]} is for failure logs" in refused("fit", train, *option)
    assert "step_s must be > 0" in refused("fit", train, "--step-s", "0")
    Path("faults.csv").write_text("time,node\n2025-06-01 10:00,n1\n2025-06-02 10:00,n2\n")
    assert "--step-s is for training logs" in refused("fit", "faults.csv", "--step-s", "8")
