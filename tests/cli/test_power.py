"""`ettr power`: the answer, its JSON, the series it writes, and what it refuses."""

from __future__ import annotations

import time

import pandas as pd
import pytest

from ettr import Scenario, power, simulate
from ettr.power import report

SHORT = ("--set", "job.productive_h=6")


def test_it_answers_with_power_and_a_bill(in_words):
    out = in_words("power", "llama3-405b", *SHORT)
    assert "16,384 GPUs powered as NVIDIA H100 SXM, one run with seed 0:" in out
    for words in ("largest swing within 10 s", "largest fall from one minute to the next", "lost", "total", "t CO2"):
        assert words in out
    assert "job.productive_h = 6" in out


def test_json_holds_the_same_numbers(as_json):
    record = as_json("power", "llama3-405b", *SHORT, "--limits", "utility-example")
    run = Scenario.load("llama3-405b").override({"job.productive_h": 6})
    timeline = simulate(run, 1, timeline=[0]).timeline
    series = power.series(timeline, power.profile(run), 1.0)
    assert record["metrics"] == pytest.approx(power.metrics(series).to_dict())
    bill = power.bill(timeline, power.profile(run))
    assert sum(row["facility_mwh"] for row in record["bill"]) == pytest.approx(bill["facility_mwh"].sum())
    assert [row["verdict"] for row in record["limits"]] == ["broken", "broken"]
    assert record["changes"] == {"job.productive_h": 6} and record["part"] == "NVIDIA H100 SXM"


def test_another_part_and_seed_are_another_run(as_json):
    h100, a100, other = (
        as_json("power", "llama3-405b", *SHORT, *more) for more in ((), ("--part", "a100"), ("--seed", "3"))
    )
    assert h100["metrics"]["peak_mw"] > 1.3 * a100["metrics"]["peak_mw"]
    assert other["measured_h"] != h100["measured_h"]


def test_the_series_is_written(in_words, tmp_path):
    path = tmp_path / "out.csv"
    asked = ("--series", str(path), "--resolution", "30", "--from", "1", "--to", "2")
    assert "The series is at" in in_words("power", "llama3-405b", *SHORT, *asked)
    rows = pd.read_csv(path)
    assert len(rows) == 120
    assert rows["time_h"].iloc[[0, -1]].round(4).tolist() == [1.0042, 1.9958]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--part", "h1000"), "unknown part 'h1000'"),
        (("--limits", "slow"), "unknown specification 'slow'"),
        (("--seed", "-1"), "seed"),
        (("--set", "power.pue=0.5"), "power.pue must be >= 1, got 0.5"),
        (("--series", "FILE", "--resolution", "0"), "resolution_s must be > 0 s"),
        (("--series", "FILE", "--resolution", "0.001"), "are more than 10,000,000: a longer --resolution"),
        (("--series", "FILE", "--from", "99"), "start_h and end_h must lie in order within the run"),
        (("--series", "/no/folder/out.csv"), "/no/folder"),
    ],
)
def test_what_cannot_be_is_refused_in_a_line(refused, tmp_path, arguments, message):
    given = [str(tmp_path / "out.csv") if word == "FILE" else word for word in arguments]
    assert message in refused("power", "llama3-405b", *SHORT, *given)
    assert not (tmp_path / "out.csv").exists()


def test_a_limit_that_seconds_cannot_show_is_said(in_words, tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text("rule,metric,limit,unit,low_hz,high_hz\nfast,band_share,0.1,1,0.1,40\n")
    out = in_words("power", "llama3-405b", *SHORT, "--limits", str(path))
    assert "fast" in out and "broken" in out


def test_a_slow_answer_is_not_said_to_be_compiled(in_words, monkeypatch):
    def slowly(*arguments):
        time.sleep(2.2)
        return report.drawn(*arguments)

    in_words("power", "llama3-405b", *SHORT)  # compiles what is not yet
    monkeypatch.setattr(power, "drawn", slowly)
    assert "powered as" in in_words("power", "llama3-405b", *SHORT)
