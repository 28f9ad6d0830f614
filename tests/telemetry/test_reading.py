"""Each format of telemetry as its tool writes it."""

from __future__ import annotations

import json

import pandas as pd
import pytest

from ettr.core.errors import InputError, UnknownName

HEADER = "timestamp, index, power.draw [W], temperature.gpu, temperature.memory, clocks.current.sm [MHz]"
HEADER += ", utilization.gpu [%]"
SMI = f"""{HEADER}
2025/07/27 00:22:27.858, 0, 71.85 W, 31, [N/A], 345 MHz, 0 %
2025/07/27 00:22:27.862, 1, 72.02 W, 30, [N/A], 345 MHz, 0 %
2025/07/27 00:22:28.858, 0, 512.40 W, 44, [N/A], 1980 MHz, 100 %
2025/07/27 00:22:28.862, 1, [Not Supported], 45, [N/A], 1980 MHz, 98 %
"""
BARE = "\n".join(
    line.replace(" W", "").replace(" MHz", "").replace(" %", "") if i else line
    for i, line in enumerate(SMI.splitlines())
)
T0 = 1_753_575_747


# --------------------------------------------------------------------------- nvidia-smi


@pytest.mark.parametrize("text", [SMI, BARE, SMI.replace("\n", "\r\n").replace(", ", ",")])
def test_nvidia_smi_with_and_without_units(read, count, text):
    recording = read(text)
    assert (recording.format, recording.n_gpus, recording.gpus) == ("nvidia-smi", 2, ("0", "1"))
    first = recording.of("0")
    assert first["power_w"].tolist() == [71.85, 512.4] and first["clock_mhz"].tolist() == [345, 1980]
    assert first["utilisation"].tolist() == [0, 1] and first["temperature_c"].tolist() == [31, 44]
    assert recording.of("1")["power_w"].isna().tolist() == [False, True]
    assert recording.step_s == pytest.approx(1.0) and recording.start == pd.Timestamp("2025-07-27T00:22:27.858Z")
    assert count(recording, "dropped", "temperature.memory: no value") == 4
    assert count(recording, "dropped", "power.draw [W]: no value") == 1
    assert recording.power_window_s == 1.0 and any("UTC" in note for note in recording.notes)


def test_an_unknown_unit_is_counted_and_not_guessed(read, count):
    recording = read(SMI.replace("512.40 W", "512.40 BTU"))
    assert count(recording, "not parsed", "unknown unit 'btu'") == 1
    assert recording.of("0")["power_w"].isna().tolist() == [False, True]
    assert (
        count(read(SMI + "soon, 0, 71.85 W, 31, [N/A], 345 MHz, 0 %\n"), "not parsed", "time stamp is not a time") == 1
    )


def test_a_zone_moves_the_start_and_nothing_else(read):
    plain, berlin = read(SMI), read(SMI, zone="Europe/Berlin")
    assert plain.start - berlin.start == pd.Timedelta(hours=2)
    pd.testing.assert_frame_equal(plain.samples, berlin.samples)
    with pytest.raises(UnknownName, match="did you mean 'Europe/Berlin'"):
        read(SMI, zone="Europe/Berln")


def test_instant_power_is_preferred_to_the_average(read):
    text = "timestamp, index, power.draw [W], power.draw.instant [W]\n2025/07/27 00:00:00.000, 0, 1 W, 2 W\n"
    recording = read(text)
    assert recording.samples["power_w"].tolist() == [2] and recording.power_window_s == 0


def test_appended_recordings_begin_with_a_header_again(read, count):
    again = SMI.replace("00:22", "00:23")
    recording = read(SMI + again)
    assert len(recording.samples) == 8 and count(recording, "dropped", "repeated header") == 1
    assert recording.gaps.n == 2 and recording.gaps.longest_s == pytest.approx(59)


def unnamed(sizes, step_s=1.0, within_s=0.004):
    rows = ["timestamp, power.draw [W], temperature.gpu"]
    for i, size in enumerate(sizes):
        for gpu in range(size):
            at = pd.Timestamp("2025-07-27") + pd.Timedelta(seconds=i * step_s + gpu * within_s)
            rows.append(f"{at:%Y/%m/%d %H:%M:%S.}{at.microsecond // 1000:03d}, {100 * (gpu + 1)}.00 W, 40")
    return "\n".join(rows)


@pytest.mark.parametrize("within_s", [0.0, 0.004])
@pytest.mark.parametrize("n_gpus", [2, 4])
def test_several_gpus_without_a_name_are_refused(read, n_gpus, within_s):
    with pytest.raises(InputError, match="several rows at the same time"):
        read(unnamed([n_gpus] * 30, within_s=within_s))


def test_one_gpu_needs_no_name(read):
    assert read(unnamed([1] * 30)).gpus == ("0",)


# --------------------------------------------------------------------------- DCGM


def text_of(values, metric="DCGM_FI_DEV_POWER_USAGE", gpu=0):
    labels = f'gpu="{gpu}",UUID="GPU-{gpu}",Hostname="n1"'
    return "\n".join(f"{metric}{{{labels}}} {value} {1000 * (T0 + i)}" for i, value in enumerate(values))


def matrix(series):
    rows = [{"metric": labels, "values": [[T0 + i, str(v)] for i, v in points]} for labels, points in series]
    return json.dumps({"status": "success", "data": {"resultType": "matrix", "result": rows}})


def test_dcgm_text_joins_the_metrics_of_an_instant(read, count):
    text = "# HELP x\n" + "\n".join(
        [text_of([70.5, 690.1]), text_of([31, 60], "DCGM_FI_DEV_GPU_TEMP"), text_of([5, 5], "DCGM_FI_DEV_FB_USED")]
    )
    recording = read(text, "scrapes.prom")
    assert (recording.format, recording.n_gpus, len(recording.samples)) == ("dcgm", 1, 2)
    assert recording.samples["power_w"].tolist() == [70.5, 690.1] and recording.samples["temperature_c"].tolist() == [
        31,
        60,
    ]
    assert count(recording, "dropped", "another metric") == 2 and recording.start == pd.Timestamp(
        T0, unit="s", tz="UTC"
    )


def test_dcgm_range_query(read):
    metrics = [("POWER_USAGE", "a", [(0, 70), (1, 71)]), ("POWER_USAGE", "b", [(0, 80)]), ("GPU_UTIL", "a", [(0, 50)])]
    metrics += [("SM_CLOCK", "a", [(0, 1980)])]
    series = [
        ({"__name__": f"DCGM_FI_DEV_{name}", "gpu": "0", "Hostname": host}, points) for name, host, points in metrics
    ]
    recording = read(matrix(series), "answer.json")
    assert recording.gpus == ("a/0", "b/0")
    assert recording.of("a/0").loc[0, ["utilisation", "clock_mhz"]].tolist() == [0.5, 1980]


def answer(*series):
    """A range query of power: labels beside gpu="0", and a value for each second."""
    power = {"__name__": "DCGM_FI_DEV_POWER_USAGE", "gpu": "0"}
    return matrix([(power | labels, enumerate(values, first)) for labels, first, values in series])


@pytest.mark.parametrize(
    ("labels", "gpus"),
    [
        ([{"instance": "a:9400"}, {"instance": "b:9400"}], ("a:9400/0", "b:9400/0")),
        ([{"GPU_I_ID": "1"}, {"GPU_I_ID": "2"}], ("0/instance 1", "0/instance 2")),
        ([{"UUID": "GPU-a"}, {"UUID": "GPU-b"}], ("0/GPU-a", "0/GPU-b")),
        ([{"pod": "a"}, {"pod": "b"}], ("0",)),
    ],
)
def test_dcgm_series_stay_apart_where_a_label_of_the_gpu_differs(read, labels, gpus):
    apart = len(gpus) > 1
    recording = read(answer((labels[0], 0, [500] * 40), (labels[1], 0 if apart else 40, [90] * 40)), "answer.json")
    assert recording.gpus == gpus and len(recording.samples) == 80
    assert sorted(recording.samples["power_w"].unique()) == [90, 500]


def test_names_of_models_are_read(read):
    smi = "timestamp, index, name, power.draw [W]\n2025/07/27 00:22:27.858, 3, NVIDIA L4, 71 W\n"
    assert read(smi).models == {"3": "NVIDIA L4"}
    assert read(answer(({"modelName": "NVIDIA H100"}, 0, [500] * 5)), "answer.json").models == {"0": "NVIDIA H100"}


def test_dcgm_series_that_no_label_tells_apart_are_refused(read, count):
    with pytest.raises(InputError, match=r"several series of .*POWER_USAGE for GPU 0 .*\(they differ in job\)"):
        read(answer(({"job": "a"}, 0, [500] * 40), ({"job": "b"}, 0, [90] * 40)), "answer.json")
    twice = read(answer(({}, 0, [500] * 40), ({}, 30, [500] * 20)), "answer.json")
    assert len(twice.samples) == 50 and count(twice, "merged", "the same sample twice") == 10
    late = read(answer(({"pod": "a"}, 0, [500] * 40), ({"pod": "b"}, 39, [90] * 40)), "answer.json")
    assert len(late.samples) == 79 and count(late, "dropped", "another value of the same GPU at the same time") == 1


@pytest.mark.parametrize("blank", [2147483632, 9223372036854775794, "NaN"])
def test_blanks_of_dcgm_are_counted(read, count, blank):
    recording = read(text_of([70, blank, 72]))
    assert recording.samples["power_w"].tolist() == [70, 72]
    assert count(recording, "dropped") == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('DCGM_FI_DEV_POWER_USAGE{gpu="0"} 70', "1 samples have no time stamp"),
        (text_of([1], "DCGM_FI_DEV_FB_USED"), "has no power or temperature of a GPU"),
        (
            '{"status":"error","errorType":"bad_data","error":"oops"}',
            "Prometheus must be data, got the error bad_data: oops",
        ),
        (
            '{"status":"success","data":{"resultType":"vector","result":[]}}',
            "must be that of a range query",
        ),
    ],
)
def test_what_dcgm_cannot_answer_is_refused(read, text, message):
    with pytest.raises(InputError, match=message):
        read(text, "answer.json")


# --------------------------------------------------------------------------- plain


@pytest.mark.parametrize(
    ("header", "row"),
    [
        ("t_s,power_w,temperature_c,clock_mhz,gpu", "{t},500,60,1900,0"),
        ("time_ms\tpower_mw\ttemperature\tclock_ghz\tindex", "{ms}\t500000\t60\t1.9\t0"),
        ("timestamp,power [kW],temp_c,clock_mhz,gpu_id", "2025-01-01T00:00:{t:02d}Z,0.5,60 C,1900 MHz,0"),
    ],
)
def test_plain_tables_in_many_spellings(read, header, row):
    recording = read("\n".join([header, *(row.format(t=t, ms=1000 * t) for t in range(5))]))
    assert recording.format == "csv" and recording.step_s == 1
    means = recording.samples[["power_w", "temperature_c", "clock_mhz"]].mean()
    assert means.tolist() == pytest.approx([500, 60, 1900])


LONG = "timestamp,gpu,power_w,temperature_c\n" + "".join(
    f"2025-07-27T00:00:{s:02d}Z,{gpu},{100 * (gpu + 1) + s},{40 + gpu}\n" for s in range(30) for gpu in (0, 1)
)


def test_columns_under_other_names_are_mapped(read):
    names = {"timestamp": "When (UTC)", "gpu": "Card", "power_w": "Draw", "temperature_c": "Hot spot"}
    renamed = LONG
    for ours, theirs in names.items():
        renamed = renamed.replace(ours, theirs, 1)
    with pytest.raises(InputError, match="A table needs a header with a time and a power"):
        read(renamed)
    mapped = read(renamed, columns={"time": "When", "gpu": "card", "power": "draw", "temperature": "Hot spot"})
    pd.testing.assert_frame_equal(mapped.samples, read(LONG).samples)


def test_what_cannot_be_mapped_is_said(read):
    with pytest.raises(InputError, match=r"telemetry.csv has no column 'volts' for power\. .*power_w"):
        read(LONG, columns={"power": "volts"})
    with pytest.raises(UnknownName, match="unknown quantity 'watts'"):
        read(LONG, columns={"watts": "power_w"})
    with pytest.raises(InputError, match="columns can be mapped only in tables"):
        read(LONG, format="dcgm", columns={"power": "power_w"})
