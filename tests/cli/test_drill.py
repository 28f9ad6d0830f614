"""``ettr drill`` from the command line: a short one, and what it refuses."""

from __future__ import annotations

import json

import pytest

from ettr import Scenario
from ettr.drill.settings import DISK_S, KINDS, SLOW_FACTOR, SLOW_S, Settings

SHORT = ("--work", "1.5", "--interval", "0.5", "--write", "0.03", "--workers", "2")


def test_a_short_drill(in_words, as_json, tmp_path):
    folder = tmp_path / "drill"
    command = ("drill", str(folder), *SHORT, "--fault", "crash=3", "--seed", "2")
    said = in_words(*command)
    assert "bit for bit those of a run without faults" in said
    assert "No restart lost a step" in said
    answer = as_json(*command)  # it is done: the same again, at once
    took = answer["took"]
    parts = [took[part] for part in took if part.endswith("_h") and part not in ("total_h", "spare_gpu_h")]
    assert sum(parts) == pytest.approx(took["total_h"])
    assert f"Done in {3600 * took['total_h']:.1f} s" in said
    assert answer["band"]["way"] == "exact model" and answer["is_same"] and answer["n_lost_steps"] == 0
    planned = Scenario.load(str(folder / "scenario.yml"))
    assert planned.job_mttf_h == pytest.approx(3 / 3600)
    assert planned.restart_h == pytest.approx(answer["calibration"]["restart_s"] / 3600)
    events = (folder / "events.jsonl").read_text().splitlines()
    assert all(json.loads(line)["at_s"] > 0 for line in events)


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (("--fault", "crash"), "--fault takes KIND=SECONDS, e.g. crash=5, got 'crash'"),
        (("--background", "--interval", "0.1", "--write", "0.2"), "interval_s must be > 0.2 s"),
    ],
)
def test_what_cannot_be_is_said_in_a_sentence(refused, tmp_path, more, says):
    assert says in refused("drill", str(tmp_path / "drill"), *more)
    assert not (tmp_path / "drill").exists()


def test_the_help_names_every_fault_and_says_how_long(in_words):
    said = " ".join(in_words("drill", "--help").split())
    usual = Settings()
    assert [kind for kind in KINDS if f"{kind}, " not in said and f"{kind} (" not in said] == []
    assert SLOW_FACTOR == 2.0 and f"half speed for {SLOW_S:g} s" in said and f"for {DISK_S:g} s" in said
    assert f"each step of {1000 * usual.step_s:g} ms" in said


def test_a_folder_of_something_else_is_left_alone(refused, tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    assert f"{tmp_path} contains notes.txt and no drill; use a new folder" in refused("drill", str(tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]
