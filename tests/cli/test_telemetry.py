"""The command line on recordings: `ettr telemetry FILE` and `ettr telemetry record`."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path

import pytest

from ettr import Gpu, telemetry


@cache
def text() -> str:
    """A recording of 15 minutes, as a plain table."""
    recording = telemetry.simulate(Gpu.load("h100"), telemetry.schedule(15), power_window_s=1.0, lost=0.03, seed=3)
    return recording.samples.to_csv(index=False)


@pytest.fixture
def file(tmp_path, monkeypatch) -> str:
    monkeypatch.chdir(tmp_path)
    Path("node 7.csv").write_text(text(), encoding="utf-8")
    return "node 7.csv"


def test_a_recording_is_answered_in_words(in_words, file):
    out = in_words("telemetry", file)
    lines = out.splitlines()
    assert lines[0] == "node 7.csv (csv)" and "samples of 1 GPU over 15 min, one every 1 s" in lines[1]
    assert re.search(r"^time constant +[\d.]+ s +[\d.]+ to [\d.]+ +60 s", out, re.M)
    assert re.search(r"^compute +[\d.]+ W +[\d.]+ to [\d.]+ +[\d.]+% +2 +100% +1,9\d\d MHz", out, re.M)
    assert "1 gap, " in out


def test_a_part_is_written_and_used_as_a_base(in_words, as_json, file):
    record = as_json("telemetry", file, "--part-out", "mine.yml")
    part = Gpu.load("mine.yml")
    assert part.name == "mine" and part.cooling.air.tau_s == pytest.approx(record["fit"]["tau"]["value"], rel=1e-5)
    assert part.evidence["cooling.air.tau_s"].note.startswith("fitted to node 7.csv, 95%: ")
    out = in_words("telemetry", file, "--part", "mine.yml", "--part-out", "again.yml")
    assert "The GPU is at again.yml: " in out and "the rest as in mine" in out


def test_machines_get_the_same_as_python(as_json, file):
    options = ("--gpu", "0", "--medium", "immersion", "--power-window-ms", "2000")
    record = as_json("telemetry", file, *options)
    fitted = telemetry.fit(telemetry.read(file), "h100", "immersion", gpu="0", power_window_s=2.0)
    assert record["fit"] == json.loads(json.dumps(fitted.to_dict()))
    assert record["recording"]["n_samples"] == len(telemetry.read(file).samples)
    assert record["recording"]["gaps"]["n"] > 0 and record["recording"]["format"] == "csv"


def test_nothing_in_a_file_speaks_to_the_terminal(in_words, file):
    nasty = "\x1b[31m[bold]x[/bold]"
    Path("[i]odd.csv").write_text(text().replace("duty 25%", nasty), encoding="utf-8")
    out = in_words("telemetry", "[i]odd.csv")
    assert "\x1b" not in out and "[bold]x[/bold]" in out and out.startswith("[i]odd.csv (csv)")


BAD = {
    "no file": (["none.csv"], "cannot read the telemetry file: 'none.csv' does not exist"),
    "no such part": (["FILE", "--part", "h1000"], "unknown part 'h1000'"),
    "no such medium": (["FILE", "--medium", "water"], "unknown medium 'water' (--medium)"),
    "a medium without figures": (["FILE", "--part", "gb200"], "gb200 has no figures for cooling by 'air'"),
    "no such GPU": (["FILE", "--gpu", "8"], "unknown GPU '8'"),
    "a window below zero": (
        ["FILE", "--power-window-ms", "-1"],
        "--power-window-ms must be from 0 to 60,000 ms, got -1",
    ),
    "a part of no known kind": (["FILE", "--part-out", "mine.txt"], "--part-out must end in .yml"),
    "a file that is there": (["record", "--out", "FILE"], "--out must be a new file, got node 7.csv"),
    "too short": (["record", "--out", "x.csv", "--minutes", "0"], "minutes must be from 0.1 to 1440 min, got 0"),
}


@pytest.mark.parametrize("fault", BAD)
def test_bad_input_is_one_message_and_status_2(refused, file, fault):
    arguments, message = BAD[fault]
    assert refused("telemetry", *(file if each == "FILE" else each for each in arguments)).startswith(message)
    assert [path.name for path in Path().iterdir()] == [file]


@pytest.mark.parametrize("option", [["--part", "h1000"], ["--medium", "oil"], ["--part-out", "no/x.yml"]])
def test_a_wrong_option_is_refused_before_the_file_is_read(ettr, file, monkeypatch, option):
    monkeypatch.setattr(telemetry, "read", lambda *_, **__: pytest.fail("a long file would have been read"))
    assert ettr("telemetry", file, *option)[0] == 2


@pytest.mark.parametrize("whole", [True, False])
def test_recording_hands_its_options_on(ettr, tmp_path, monkeypatch, whole):
    received = {}

    def record(path, steps, **options):
        received.update(options, path=path, steps=steps)
        options["progress"]("idle", 1.0, 60.0)
        return telemetry.Recording(path, 600, 59.9, whole, ("1 Pretended GPU",))

    monkeypatch.setattr(telemetry, "record", record)
    out_file = tmp_path / "new.csv"
    arguments = ["--minutes", "1", "--gpu", "1"]
    status, out, err = ettr("telemetry", "record", "--out", str(out_file), *arguments)
    assert status == (0 if whole else 130) and err == ""
    assert (received["gpu"], received["load"]) == (1, "torch")
    assert sum(step.seconds for step in received["steps"]) == pytest.approx(60)
    assert f"ettr telemetry {out_file}" in out and ("stopped before the end" in out) != whole
    ettr("telemetry", "record", "--out", str(out_file), "--load", "none", "--minutes", "3")
    assert [(step.name, step.duty, step.seconds) for step in received["steps"]] == [("watched", None, 180)]


def test_help_shows_the_file_and_the_recorder_with_what_to_install(ettr):
    status, out, _ = ettr("telemetry", "--help")
    assert status == 0 and "ettr telemetry record" in out
    for option in ["format", "part", "medium", "gpu", "zone", "part-out", "json", "quiet"]:
        assert f"--{option} " in out, option
    status, out, _ = ettr("telemetry", "record", "--help")
    assert status == 0 and "pip install nvidia-ml-py" in " ".join(out.split())
    for option in ["out", "load", "minutes", "gpu", "quiet"]:
        assert f"--{option} " in out, option
    assert "telemetry" in ettr("--help")[1]
