"""What a recording's rows mean: visits, names of levels, GPUs in turn, and columns under other names."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ettr import telemetry
from ettr.core.errors import InputError, UnknownName
from ettr.scenario import Gpu
from ettr.telemetry import Step, plateaus
from ettr.telemetry.phases import Seen, phases_of

H100 = Gpu.load("h100")


def bare(job, **options):
    """A simulated recording of power alone."""
    recording = telemetry.simulate(H100, job, step_s=1.0, seed=3, **options)
    return replace(recording, samples=recording.samples.assign(step="", utilisation=np.nan))


# --------------------------------------------------------------------------- visits


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(2, 9)), min_size=1, max_size=30),
    st.lists(st.integers(0, 300), max_size=20),
)
def test_samples_on_their_way_end_no_visit(stays, silent):
    label = np.concatenate([np.full(length, level) for level, length in stays])
    true = [level for i, (level, _) in enumerate(stays) if i == 0 or level != stays[i - 1][0]]
    at = np.sort([i for i in silent if i < label.size]).astype(int)
    between = np.insert(label, at, -1)
    assert plateaus.visits(np.arange(float(between.size)), between)["level"].tolist() == true


@pytest.mark.parametrize("window_s", [0.0, 1.0, 5.0])
def test_visits_are_as_many_as_the_job_makes(window_s):
    job = [Step("compute", 1.0, 200), Step("stall", 0.0, 60)] * 4 + [Step("compute", 1.0, 200)]
    fit = telemetry.fit(bare(job, power_window_s=window_s))
    assert [level.n_visits for level in fit.levels] == [5, 4]


def test_visits_as_short_as_the_time_between_samples_count():
    label = np.array([0, 0, 1] * 5)
    came = plateaus.visits(np.arange(15.0), label)
    assert came["level"].tolist() == [0, 1] * 5
    assert came.loc[2, ["from_s", "to_s"]].tolist() == [3.0, 4.0]


# --------------------------------------------------------------------------- names


def seen(power_w, load=np.nan, *, step="", every_s=np.nan, only_first=False):
    return Seen(step, power_w, load, every_s, only_first)


@pytest.mark.parametrize(
    ("levels", "phases"),
    [
        ([seen(120.0), seen(690.0)], ["", ""]),  # power alone names nothing
        ([seen(120.0, every_s=1800.0), seen(690.0)], ["checkpoint", "compute"]),
        ([seen(120.0, every_s=6.0), seen(690.0)], ["", ""]),  # within a step: waiting for whatever
        ([seen(120.0, 0.0), seen(690.0, 0.98)], ["idle", "compute"]),
        ([seen(120.0, 0.0, every_s=1800.0), seen(690.0, 0.98)], ["checkpoint", "compute"]),
        ([seen(300.0, 0.99), seen(690.0, 0.99)], ["communication", "compute"]),
        ([seen(300.0, 0.4, every_s=4.0), seen(690.0, 0.99)], ["communication", "compute"]),
        ([seen(300.0, 0.4), seen(690.0, 0.99)], ["", "compute"]),
        ([seen(650.0, 0.99), seen(690.0, 0.99)], ["", "compute"]),
        ([seen(120.0, 0.0, only_first=True), seen(690.0, 0.99)], ["start-up", "compute"]),
        ([seen(70.0, 0.0), seen(120.0, 0.0), seen(690.0, 0.99)], ["idle", "", "compute"]),
        ([seen(200.0, 0.6), seen(300.0, 0.9), seen(690.0, 0.99)], ["", "", "compute"]),  # which of them, nobody says
        ([seen(120.0, step="Checkpoint"), seen(690.0, step="forward")], ["checkpoint", ""]),
        ([seen(690.0, 0.1)], [""]),
    ],
)
def test_a_level_is_named_only_as_far_as_the_recording_says(levels, phases):
    assert phases_of(levels) == phases


def test_what_has_no_name_does_not_enter_the_gpu():
    stays = [70, 400, 31, 90, 250, 610]
    job = [step for s in stays for step in (Step("compute", 1.0, s), Step("stall", 0.0, 1.7 * s % 97 + 20))]
    fit = telemetry.fit(bare(job))
    assert {level.phase for level in fit.levels} == {""}
    assert any("gives no name: 2" in note for note in fit.notes)
    assert fit.to_part("mine").levels == H100.levels


def test_the_start_is_no_checkpoint():
    job = [Step("stall", 0.0, 240), *([Step("compute", 1.0, 900)] * 3)]
    fit = telemetry.fit(bare(job))
    assert [level.phase for level in fit.levels] == ["", "start-up"]
    assert fit.level("start-up") is None and any("is start-up" in note for note in fit.notes)


# --------------------------------------------------------------------------- GPUs in turn


def in_turn(rounds, late_s=0.0):
    """Rows of nvidia-smi without an index: power says which GPU it was; a late round is torn in two."""
    rows = ["timestamp, power.draw [W], temperature.gpu"]
    for i, gpus in enumerate(rounds):
        for gpu in gpus:
            late = late_s if gpu >= 5 and i % 10 == 7 else 0.0
            at = pd.Timestamp("2025-07-27") + pd.Timedelta(seconds=i + 0.004 * gpu + late)
            rows.append(f"{at:%Y/%m/%d %H:%M:%S.}{at.microsecond // 1000:03d}, {100 + gpu}.00 W, 40")
    return "\n".join(rows)


@pytest.mark.parametrize("late_s", [0.0, 0.4])
def test_rounds_that_stutter_are_left_out_and_the_others_stay_right(read, count, late_s):
    whole = list(range(8))
    rounds = [whole] * 20 + [whole[:5]] + [whole] * 20 + [whole[2:]] + [whole] * 20
    recording = read(in_turn(rounds, late_s), gpus_in_turn=8)
    assert [recording.of(gpu)["power_w"].unique().tolist() for gpu in recording.gpus] == [[100 + i] for i in range(8)]
    torn = 8 * sum(i % 10 == 7 for i in range(60)) if late_s else 0
    assert count(recording, "dropped", "a round of other than 8 rows") == 5 + 6 + torn


@pytest.mark.parametrize(
    ("n", "message"),
    [
        (5, r"--gpus-in-turn 5 must fit most rounds; in telemetry.csv 320 of 320 rows"),
        (0, "--gpus-in-turn must be from 1 to 1024, got 0"),
    ],
)
def test_a_number_of_gpus_that_does_not_fit_is_refused(read, n, message):
    with pytest.raises(InputError, match=message):
        read(in_turn([list(range(8))] * 40), gpus_in_turn=n)


def test_rounds_that_stutter_name_the_remedy(read):
    with pytest.raises(InputError, match="or give --gpus-in-turn 8"):
        read(in_turn([list(range(8))] * 10 + [[0, 1]] + [list(range(8))] * 10))


# --------------------------------------------------------------------------- columns

LONG = "timestamp,gpu,power_w,temperature_c\n" + "".join(
    f"2025-07-27T00:00:{s:02d}Z,{gpu},{100 * (gpu + 1) + s},{40 + gpu}\n" for s in range(30) for gpu in (0, 1)
)


@pytest.mark.parametrize(
    ("header", "cells"),
    [
        ("timestamp,GPU0,GPU1", "{0},{1}"),
        ("timestamp,gpu 0 [W],gpu 1 [W]", "{0},{1}"),
        ("timestamp;gpu0_power_w;gpu1_power_w", "{0};{1}"),
        ("timestamp,GPU 0 power (W),GPU 1 power (W)", "{0},{1}"),
    ],
)
def test_wide_tables_are_as_long_ones(read, header, cells):
    comma = ";" if ";" in header else ","
    rows = [f"2025-07-27T00:00:{s:02d}Z{comma}{cells.format(100 + s, 200 + s)}" for s in range(30)]
    wide, long = read("\n".join([header, *rows])), read(LONG)
    assert wide.format == "wide" and wide.start == long.start
    for gpu in ("0", "1"):
        assert wide.of(gpu)["power_w"].tolist() == long.of(gpu)["power_w"].tolist()


def test_wide_tables_hold_other_quantities(read):
    rows = [f"{s},{100_000 + s},55,{200_000 + s},60" for s in range(30)]
    recording = read("\n".join(["t_s,gpu0_power_mw,gpu0_temp,gpu1_power_mw,gpu1_temp", *rows]))
    assert recording.of("1")["power_w"].iloc[0] == pytest.approx(200.0)
    assert recording.of("1")["temperature_c"].unique().tolist() == [60.0]


@pytest.mark.parametrize("time", ["t_s", "t_ms", "t [ms]", "elapsed"])
def test_times_of_wide_tables_have_a_unit(read, time):
    step = 1000 if "ms" in time else 1
    recording = read("\n".join([f"{time},GPU0,GPU1", *(f"{step * s},100,200" for s in range(30))]))
    assert (recording.format, recording.step_s) == ("wide", pytest.approx(1.0))


def test_columns_under_other_names_are_mapped(read):
    names = {"timestamp": "When (UTC)", "gpu": "Card", "power_w": "Draw", "temperature_c": "Hot spot"}
    renamed = LONG
    for ours, theirs in names.items():
        renamed = renamed.replace(ours, theirs, 1)
    with pytest.raises(InputError, match="A table needs a header with a time and a power"):
        read(renamed)
    mapped = read(renamed, columns={"time": "When", "gpu": "card", "power": "draw", "temperature": "Hot spot"})
    pd.testing.assert_frame_equal(mapped.samples, read(LONG).samples)


@pytest.mark.parametrize(
    ("columns", "error", "message"),
    [
        ({"power": "volts"}, InputError, r"--map power=volts: telemetry.csv has no column 'volts'\. .*power_w"),
        ({"watts": "power_w"}, UnknownName, "unknown quantity 'watts'"),
    ],
)
def test_what_cannot_be_mapped_is_said(read, columns, error, message):
    with pytest.raises(error, match=message):
        read(LONG, columns=columns)


def test_options_of_another_format_are_refused(read):
    with pytest.raises(InputError, match="--map is for tables"):
        read(LONG, format="dcgm", columns={"power": "power_w"})
    with pytest.raises(InputError, match="--gpus-in-turn is for nvidia-smi and csv; telemetry.csv is read as wide"):
        read("t_s,GPU0,GPU1\n0,1,2\n1,2,3\n", gpus_in_turn=2)
