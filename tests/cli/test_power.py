"""`ettr power`: the answer, its JSON, the series it writes, and what it refuses."""

from __future__ import annotations

import pandas as pd
import pytest

from ettr import Scenario, power, simulate

SHORT = ("--set", "job.productive_h=6")


def test_it_answers_with_power_and_a_bill(in_words):
    out = in_words("power", "llama3-405b", *SHORT)
    assert "16,384 x NVIDIA H100 SXM" in out and "seed 0" in out
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
    assert [row["verdict"] for row in record["limits"]] == ["exceeded", "exceeded"]
    assert record["changes"] == {"job.productive_h": 6} and record["part"] == "NVIDIA H100 SXM"


def test_the_series_is_written(in_words, tmp_path):
    path = tmp_path / "out.csv"
    assert "The series is at" in in_words("power", "llama3-405b", *SHORT, "--series", str(path))
    rows = pd.read_csv(path)
    assert len(rows) > 360 and rows["power_mw"].between(1, 30).all()
    assert rows["time_h"].iloc[[0, 59]].round(4).tolist() == [0.0083, 0.9917]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--part", "h1000"), "unknown part 'h1000'"),
        (("--set", "power.pue=0.5"), "power.pue must be >= 1, got 0.5"),
        (("--series", "/no/folder/out.csv"), "/no/folder"),
    ],
)
def test_what_cannot_be_is_refused_in_a_line(refused, arguments, message):
    assert message in refused("power", "llama3-405b", *SHORT, *arguments)


def test_a_limit_that_seconds_cannot_show_is_said(in_words, tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text("rule,metric,limit,unit,low_hz,high_hz\nfast,band_share,0.1,1,0.1,40\n")
    out = in_words("power", "llama3-405b", *SHORT, "--limits", str(path))
    assert "fast" in out and "exceeded" in out
