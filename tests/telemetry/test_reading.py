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


AMD = {
    "monitor of the first versions": ("timestamp,gpu,power,gpu_t,mem_t,gfx_clk,gfx", "{t},0,500,60,70,2100,50"),
    "monitor": (
        "timestamp,gpu,xcp,power_usage,max_power,hotspot_temperature,memory_temperature,gfx_clk,gfx,mem",
        "{t},0,0,500,750,60,70,2100,50,5",
    ),
    "metric": (
        "timestamp,gpu,gfx_activity,umc_activity,socket_power,gfx_0_clk,mem_0_clk,edge,hotspot,mem",
        "{t},0,50,5,500,2100,900,N/A,60,70",
    ),
    "rocm-smi with a time": (
        "timestamp,device,Temperature (Sensor edge) (C),Temperature (Sensor junction) (C),"
        "Temperature (Sensor memory) (C),Average Graphics Package Power (W),GPU use (%),gfx_clk",
        "{t},card0,55.0,60.0,70.0,500.0,50,2100",
    ),
}


def rows_of(header, row, n=5):
    return "\n".join([header, *(row.format(t=T0 + t) for t in range(n))])


@pytest.mark.parametrize("tool", AMD)
def test_amd_tools_are_read_and_not_taken_for_the_base_gpu(read, tool):
    recording = read(rows_of(*AMD[tool]))
    values = recording.samples[["power_w", "temperature_c", "memory_c", "clock_mhz", "utilisation"]]
    assert values.drop_duplicates().to_numpy().tolist() == [[500, 60, 70, 2100, 0.5]]
    assert any("no preset is an AMD GPU" in note for note in recording.notes) and recording.start is not None


def test_a_load_of_the_memory_is_no_temperature(read):
    recording = read(rows_of("timestamp,gpu,power_usage,gfx_clk,gfx,mem", "{t},0,500,2100,50,45"))
    assert recording.samples["memory_c"].isna().all() and "'mem'" in recording.notes[0]


def test_columns_that_are_not_read_are_named_with_the_mapping_of_those_alike(read):
    recording = read(rows_of("t_s,power_w,die (C),core freq,hbm temp,load,fan", "{t},500,60,1900,70,0.5,30"))
    assert recording.notes[0].startswith("columns that are not read: 'die (C)', 'core freq', 'hbm temp', 'load', 'fan'")
    mapping = {"memory": "hbm_temp", "temperature": "die", "clock": "core_freq", "utilisation": "load"}
    assert f"`columns={mapping!r}`" in recording.notes[0]
    assert recording.to_dict()["notes"][0] == recording.notes[0]
    assert any("columns={" in section.text for section in recording.report())
    mapped = read(rows_of("t_s,power_w,die (C),core freq", "{t},500,60,1900"), columns=dict(list(mapping.items())[1:3]))
    assert mapped.samples["temperature_c"].tolist() == [60] * 5 and mapped.samples["clock_mhz"].tolist() == [1900] * 5
    assert not any("not read" in note for note in mapped.notes)


def test_a_unit_in_the_heading_that_no_temperature_has_is_counted(read, count):
    recording = read(rows_of("t_s,power_w,temperature (V)", "{t},500,60"))
    assert count(recording, "not parsed", "temperature (V): unknown unit 'v'") == 5


def test_a_header_again_may_have_another_order(read, count):
    text = rows_of("t_s,power_w,temp_c", "{t},500,60") + "\n" + "t_s,temp_c,power_w\n" + f"{T0 + 9},60,500"
    recording = read(text)
    assert recording.samples["power_w"].tolist() == [500] * 6 and count(recording, "dropped", "repeated header") == 1


def test_decimal_commas_are_read_between_semicolons_and_nowhere_else(read, count):
    semicolons = "timestamp;index;power.draw [W];clocks.sm [MHz]\n2025/06/01 10:00:00,500;0;1.114,68 W;1755,5 MHz"
    recording = read(semicolons)
    assert recording.samples.loc[0, ["power_w", "clock_mhz"]].tolist() == [1114.68, 1755.5]
    assert any("decimal sign" in note for note in recording.notes)
    whole = read(semicolons.replace("1755,5", "1.980"))
    assert whole.samples["clock_mhz"].tolist() == [1980] and whole.start == recording.start
    points = read("t_s;power_w\n0;1.125\n1;1.125")
    assert points.samples["power_w"].tolist() == [1.125] * 2 and not any("comma" in note for note in points.notes)
    with pytest.raises(InputError, match=r"5 x power_w: no number such as 114.68; the first in line 2, '1,980'"):
        read(rows_of("t_s\tpower_w", "{t}\t1,980"))
    with pytest.raises(InputError, match="5 x row has more cells than the header, as with decimal commas"):
        read(rows_of("t_s,power_w", "{t},500,5"))


DMON = """\
#Date       Time        gpu    pwr  gtemp  mtemp     sm    mem   mclk   pclk
#YYYYMMDD   HH:MM:SS    Idx      W      C      C      %      %    MHz    MHz
 20250601   10:00:00      0    500     60      -     50      5   2619   1980
 20250601   10:00:01      0    502     61      -     51      5   2619   1980
"""


@pytest.mark.parametrize("text", [DMON + DMON.replace("10:00", "10:01"), DMON.replace("    ", ", ")])
def test_dmon_with_dates_is_read(read, count, text):
    recording = read(text)
    assert recording.start == pd.Timestamp("2025-06-01T10:00:00Z") and recording.step_s == 1
    first = recording.samples.loc[0, ["power_w", "temperature_c", "clock_mhz", "utilisation"]]
    assert first.tolist() == [500, 60, 1980, 0.5] and recording.power_window_s == 1
    assert count(recording, "dropped", "mtemp: no value") == len(recording.samples)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (DMON.replace("Date       Time", " ").replace("20250601   10:00:00", ""), "without dates and times; .*-o DT"),
        (DMON.replace("Date", "").replace("20250601", ""), "without dates and times"),
        ("# gpu  pid  type  sm  command\n  0  77  C  98  python\n", "nvidia-smi pmon, which has no power"),
        ("#Entity   TMPTR   POWER\nID        C       W\nGPU 0     45      57.4\n", "dcgmi dmon, which has no times"),
        ("Sun Jun  1 10:00:00 2025\n+------+\n| NVIDIA-SMI 550.54  CUDA 12.4 |\n", "a screen with one moment"),
        ("\n======NVSMI LOG======\n\nAttached GPUs : 1\n", "a screen with one moment"),
        ("2025/06/01 10:00:00.000, 0, 500.00 W, 60\n", "has no header"),
        ("index, power.draw [W], temperature.gpu\n0, 500.00 W, 60\n", "must have the column timestamp"),
        ("device,Temperature (Sensor edge) (C),Average Graphics Package Power (W)\ncard0,45,112\n", "must have times"),
        ("TIMESTAMP  GPU  POWER   GPU_T\n1748772000    0  123 W   38 C\n", "screen of amd-smi, not its CSV"),
        ("# TYPE DCGM_EXP_CLOCK_EVENTS_COUNT gauge\n", "no power or temperature of a GPU. Use the range query"),
    ],
)
def test_output_without_times_or_power_is_refused_with_the_command_to_record(read, text, message):
    with pytest.raises(InputError, match=message) as refused:
        read(text)
    assert any(command in str(refused.value) for command in ("nvidia-smi --query-gpu=timestamp", "curl -G"))


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
