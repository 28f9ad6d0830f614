"""`ettr power`: the answer, its JSON, the series it writes, and what it refuses."""

from __future__ import annotations

import json

import pandas as pd
import pytest

from ettr import Scenario, power, simulate

SHORT = ("--set", "job.productive_h=6")


def test_it_answers_with_power_and_a_bill(ettr):
    status, out, err = ettr("power", "llama3-405b", *SHORT)
    assert (status, err) == (0, "")
    assert "16,384 GPUs powered as NVIDIA H100 SXM, one run with seed 0:" in out
    for words in ("largest swing within 10 s", "largest fall from one minute to the next", "lost", "total", "t CO2"):
        assert words in out
    assert "job.productive_h = 6" in out and " nan" not in out


def test_json_holds_the_same_numbers(ettr):
    status, out, _ = ettr("power", "llama3-405b", *SHORT, "--limits", "utility-example", "--json")
    record = json.loads(out)
    run = Scenario.load("llama3-405b").override({"job.productive_h": 6})
    timeline = simulate(run, 1, timeline=[0]).timeline
    series = power.series(timeline, power.profile(run), 1.0)
    assert status == 0 and record["metrics"] == pytest.approx(power.metrics(series).to_dict())
    bill = power.bill(timeline, power.profile(run))
    assert sum(row["facility_mwh"] for row in record["bill"]) == pytest.approx(bill["facility_mwh"].sum())
    assert [row["verdict"] for row in record["limits"]] == ["broken", "broken"]
    assert record["changes"] == {"job.productive_h": 6} and record["part"] == "NVIDIA H100 SXM"


def test_another_part_and_seed_are_another_run(ettr):
    records = [
        json.loads(ettr("power", "llama3-405b", *SHORT, "--json", *more)[1]) for more in ((), ("--part", "a100"))
    ]
    assert records[0]["metrics"]["peak_mw"] > 1.3 * records[1]["metrics"]["peak_mw"]
    other = json.loads(ettr("power", "llama3-405b", *SHORT, "--json", "--seed", "3")[1])
    assert other["measured_h"] != records[0]["measured_h"]


def test_the_series_is_written(ettr, tmp_path):
    path = tmp_path / "out.csv"
    asked = ("--series", str(path), "--resolution", "30", "--from", "1", "--to", "2")
    status, out, _ = ettr("power", "llama3-405b", *SHORT, *asked)
    rows = pd.read_csv(path)
    assert status == 0 and "The series is at" in out and len(rows) == 120
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
def test_what_cannot_be_is_refused_in_a_line(ettr, tmp_path, arguments, message):
    given = [str(tmp_path / "out.csv") if word == "FILE" else word for word in arguments]
    status, out, err = ettr("power", "llama3-405b", *SHORT, *given)
    assert status == 2 and message in err and not out
    assert not (tmp_path / "out.csv").exists()


def test_a_limit_that_seconds_cannot_show_is_said(ettr, tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text("rule,metric,limit,unit,low_hz,high_hz\nfast,band_share,0.1,1,0.1,40\n")
    status, out, _ = ettr("power", "llama3-405b", *SHORT, "--limits", str(path))
    assert status == 0 and "fast" in out and "broken" in out
