"""What cannot be, what is set aside, and what is refused."""

from __future__ import annotations

import gzip
import pickle

import pytest

from ettr import Gpu, telemetry
from ettr.core.errors import InputError


def table(rows, header="t_s,power_w,temperature_c"):
    return "\n".join([header, *(",".join(map(str, row)) for row in rows)])


GOOD = [(t, 500, 60) for t in range(40)]


@pytest.mark.parametrize(
    ("row", "reason", "column"),
    [
        ((50, 0, 60), "power is 0 W", "power_w"),
        ((50, 2147483.632e6, 60), "power is above 10,000 W", "power_w"),
        ((50, 500, 2147483632), "temperature outside -60 to 150 °C", "temperature_c"),
        ((50, 500, -1), "temperature is -1: a blank", "temperature_c"),
    ],
)
def test_a_value_that_cannot_be_is_set_aside_and_counted(read, count, row, reason, column):
    recorded = read(table([*GOOD, row]))
    assert count(recorded, "dropped", reason) == 1
    assert len(recorded.samples) == 41 and recorded.samples[column].isna().sum() == 1


def test_other_columns_that_cannot_be(read, count):
    rows = [(*row, 0, 1980, 50) for row in GOOD] + [(50, 500, 0, 0, -1, 500)]
    recorded = read(table(rows, "t_s,power_w,temperature_c,memory_c,clock_mhz,util_pct"))
    assert count(recorded, "dropped", "clock is impossible") == count(recorded, "dropped", "utilisation outside") == 1
    # a sensor that is not there reads nought throughout; one that does once may be right
    assert recorded.samples["temperature_c"].notna().all()
    assert recorded.samples["memory_c"].isna().all() and count(recorded, "dropped", "no sensor") == 41


def test_time_that_stands_still_or_goes_back(read, count):
    rows = [*GOOD, (39, 500, 60), (39, 400, 60), (20, 300, 60), (40, 500, 60)]
    recorded = read(table(rows))
    assert count(recorded, "merged", "the same sample twice") == 1
    assert count(recorded, "dropped", "repeated time stamp") == 1
    assert count(recorded, "dropped", "time goes backwards") == 1
    assert recorded.samples["t_s"].is_monotonic_increasing and len(recorded.samples) == 41


def test_a_file_from_newest_to_oldest_is_sorted(read):
    recorded = read(table([(t, 100 + t, 60) for t in reversed(range(40))]))
    assert recorded.samples["power_w"].tolist() == [100 + t for t in range(40)]
    assert recorded.notes[0].startswith("samples were not in order of time")
    ahead = read(table([(1e6, 500, 60), *GOOD]))  # one stamp from the future does not cost the rest
    assert len(ahead.samples) == 41 and ahead.gaps.n == 1


def test_rows_that_are_cut_or_spoilt_are_counted(read, count):
    recorded = read(table(GOOD) + "\n50\nsoon,500,60\n51,much,60\n52,\x00500,60\n")
    assert count(recorded, "not parsed", "row is too short") == 1
    assert count(recorded, "not parsed", "time is neither a number") == 1
    assert count(recorded, "not parsed", "power_w: no number") == 1
    assert any("NUL" in note for note in recorded.notes)


BAD = {
    "all too hot": (
        table([(t, 500, 333) for t in range(9)]),
        "temperature must be from -60 to 150 °C; all 9 in .*333",
    ),
    "partly too hot": (
        table([(t, 500, 130 + 2 * t) for t in range(20)]),
        "9 of 20 in .* are outside, e.g. 152. Are they in Fahrenheit or Kelvin",
    ),
    "by its name": (
        table(GOOD, "t_s,power_w,temperature_f"),
        "temperatures must be in °C, got the column 'temperature_f'",
    ),
    "no power": (table([(t, 60) for t in range(9)], "t_s,temperature_c"), "must have power: .*'temperature_c'"),
    "no time": (table([(60, 500)], "index,power_w"), "must have times: .*nvidia-smi --query-gpu.*amd-smi monitor"),
    "power silent": (table([(t, "[N/A]", 60) for t in range(9)]), "has no power of a GPU.*9 x power_w: no value"),
    "foreign": ("hello\nworld\n", "it starts with 'hello'. Name it with `format`: dcgm, nvidia-smi, csv"),
    "pickle": (pickle.dumps([1, 2]), "is a Python pickle, which is never loaded"),
    "two clocks": (
        "timestamp,power_w\n5,500\n2025-01-01T00:00:00Z,500\n",
        "times must be either all dates or all numbers",
    ),
}


@pytest.mark.parametrize("fault", BAD)
def test_what_is_no_recording_is_refused(read, fault):
    content, message = BAD[fault]
    with pytest.raises(InputError, match=message):
        read(content)


def test_a_truncated_file_is_read_as_far_as_it_goes(read):
    packed = gzip.compress(table([(t, 500 + t % 90, 60) for t in range(20_000)]).encode())
    recorded = read(packed[: len(packed) // 2], "cut.csv.gz")
    assert 100 < len(recorded.samples) < 20_000 and "the rest of the recording is missing" in recorded.notes[0]


# --------------------------------------------------------------------------- fits and simulations


@pytest.fixture(scope="module")
def recording():
    return telemetry.simulate(Gpu.load("h100"), telemetry.schedule(2), step_s=1.0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"medium": "water"}, "h100 has no figures for cooling by 'water'"),
        ({"gpu": "7"}, "unknown GPU '7'"),
        ({"power_window_s": -1.0}, "power_window_s must be from 0 to 3600 s, got -1"),
    ],
)
def test_a_fit_that_cannot_be_is_refused(recording, options, message):
    with pytest.raises(InputError, match=message):
        telemetry.fit(recording, **options)


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        ([], "steps must have at least one Step"),
        ([telemetry.Step("a", 1.2, 10)], r"duty must be between 0 and 1, or None, got 1.2 \(step 1, 'a'\)"),
        ([telemetry.Step("a", 0.2, 0)], "seconds must be > 0 and <= 86400 s, got 0"),
        ([telemetry.Step("a,b", 0.2, 5)], "name must be a word without commas"),
    ],
)
def test_a_plan_that_cannot_be_is_refused(steps, message):
    with pytest.raises(InputError, match=message):
        telemetry.simulate(Gpu.load("h100"), steps)
