"""Mutated inputs for all readers of user files: each is read with its guarantees kept, or refused with an error.

``make check`` tries many more of each, at random.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fuzz_yaml
from ettr import failures, logs, telemetry
from ettr.core.errors import EttrError
from ettr.core.validity import AIR_C
from ettr.files import weather
from ettr.logs.formats import FORMATS
from ettr.logs.training.runs import FORMATS as TRAINING_FORMATS
from fuzz_yaml import Target, encoded

RECORDINGS = (
    "t_s,power_w,temperature_c,memory_c,clock_mhz\n0,500,60,0,1980\n1,510,61,0,1980\n2,[N/A],62,0,1980\n",
    "timestamp, index, power.draw [W]\n2025/07/27 00:00:00.000, 0, 71.85 W\n2025/07/27 00:00:01.000, 0, 72.10 W\n",
)
LIVES = (
    "serial,age_h,failed\nu1,100,yes\nu2,200,no\nu3,300,1\n",
    "unit,installed,removed,vendor\nu1,2024-01-01,2024-05-01,X\nu2,2024-01-01,,Y\n",
)
FEW = b"start,end,node\n2024-05-02,2024-05-03,n1\n"
ODD_TABLES = (FEW.replace(b"2024", b"1000000000"), FEW.replace(b"2", "\uff12".encode()), FEW + b'"' + b"x\n" * 5000)
ODD = (
    *(b'"', b"\n", b"\r", b",", b"|", b"{", b"]", b"-", b":", b"\0", b"\\ud800", b"Z", b"[1-9999999]", b"{a: "),
    *(b"9" * 30, b"1e308", b"1e-320", b"-0.0", b"nan", b".nan", b"-.inf", b"1e400", b"10000000"),
    *(b"&a", b"*a", b"<<: *a", b"!!int", b"? ", b'{"a":', "\uff11".encode()),
)
CUTS = st.lists(
    st.tuples(st.floats(0, 1), st.integers(0, 12), st.one_of(st.binary(max_size=8), st.sampled_from(ODD))), max_size=6
)
EXAMPLES = 50 if settings.default.derandomize else 3000


def log(data: bytes, path: Path) -> None:
    """The first byte chooses the format, the rest is the file."""
    names = [None, *FORMATS]
    path.write_bytes(data[1:])
    options = {"n_nodes": 16, "window": "2023-01-01/2026-01-01", "year": 2024}
    read = logs.read(path, names[data[0] % len(names)] if data else None, **options)
    assert read.n_records == len(read.events) + read.ledger["n"].sum(), "records do not add up"
    assert read.events["start"].between(*read.window).all(), "an event lies outside the window"
    assert read.events["node"].nunique() <= read.n_nodes, "more nodes failed than were watched"
    assert read.node_days >= 0, "nodes were watched for less than no time"


def training(data: bytes, path: Path) -> None:
    """The first byte chooses the format, and whether a step is known to take a second; the rest is the file."""
    names, first = [None, *TRAINING_FORMATS], data[0] if data else 0
    path.write_bytes(data[1:])
    run = logs.read_training(path, names[first // 2 % len(names)], step_s=None if first % 2 else 1.0)
    assert run.wall_h > 0 and run.step_s > 0, "no time passed"
    assert math.isclose(sum(run.hours.values()), run.wall_h, rel_tol=1e-6, abs_tol=1e-6), "hours do not add up"
    assert min(run.hours.values()) >= 0 and 0 <= run.ettr <= 1, "a part is less than nothing, or more than all"


def samples(formats, *choices: int) -> Iterator[bytes]:
    """The sample of each format, behind the byte that leaves its recognition to the reader."""
    yield from (bytes([choice]) + form.sample.encode() for form in formats.values() for choice in choices)


def lifetimes(data: bytes, path: Path) -> None:
    path.write_bytes(data)
    lives = failures.unit_lifetimes(logs.read_lifetimes(path, until="2024-12-31"))
    assert 0 <= lives.whole.n_failed <= lives.whole.n, "more units failed than there are"


def recording(data: bytes, path: Path) -> None:
    path.write_bytes(data)
    read = telemetry.read(path).samples
    assert read["power_w"].notna().any(), "a recording without power"
    assert read.groupby("gpu", observed=True)["t_s"].apply(lambda t: t.is_monotonic_increasing).all(), "unsorted"


def air(data: bytes, path: Path) -> None:
    path.write_bytes(data)
    ambient_c = weather.read(path).ambient_c
    assert all(math.isnan(value) or AIR_C[0] <= value <= AIR_C[1] for value in ambient_c), "no such air"


def days_of_weather() -> Iterator[bytes]:
    hours = [(day, hour) for day in range(1, 3) for hour in range(24)]
    yield "".join(["time,temperature\n", *(f"2023-01-{d:02}T{h:02}:00,{h}.5\n" for d, h in hours)]).encode()
    header = "LOCATION,Ams,-,NLD,IWEC,062400,52.30,4.77,1.0,-2.0\n" + "X\n" * 7
    yield (header + "".join(f"2001,1,{d},{h + 1},60,A,{h}.5,3.0\n" for d, h in hours)).encode()


TARGETS = fuzz_yaml.TARGETS | {
    "failure logs": Target(log, lambda: samples(FORMATS, 0), tuple(b"\0" + table for table in ODD_TABLES)),
    "training logs": Target(
        training, lambda: samples(TRAINING_FORMATS, 0, 1), (b"\0time,step\n2024-05-02 00:00:00,1e308\n",)
    ),
    "lifetimes": Target(lifetimes, encoded(*LIVES), ODD_TABLES),
    "recordings": Target(recording, encoded(*RECORDINGS), (b"t_s,power_w\n0,500\n1e308,510\n2,500\n",)),
    "weather": Target(air, days_of_weather, (b"time,temperature\n2023-01-01T00:00,1e308\n",)),
}


@cache
def seeds(name: str) -> list[bytes]:
    return list(TARGETS[name].seeds())


def read(name: str, content: bytes, path: Path) -> bool:
    """Whether an input is read; False if it is refused in words. Anything else raises."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.simplefilter("error", RuntimeWarning)  # NumPy's: a number went where it does not fit
            TARGETS[name].read(content, path / "input.yml")
    except EttrError as error:
        refused = str(error)
    else:
        return True
    assert refused.strip(), "refused without a word"
    return False


@pytest.mark.parametrize("name", TARGETS)
def test_valid_inputs_are_read_and_malformed_ones_are_read_or_refused(name, tmp_path):
    assert all(read(name, seed, tmp_path) for seed in seeds(name))
    for content in TARGETS[name].regressions:
        read(name, content, tmp_path)


def changed(content: bytes, cuts: list[tuple[float, int, bytes]]) -> bytes:
    for where, length, new in cuts:
        place = int(where * len(content))
        content = content[:place] + new + content[place + length :]
    return content


@pytest.mark.parametrize("name", TARGETS)
@given(data=st.data())
@settings(max_examples=EXAMPLES)
def test_a_mutated_input_is_read_or_refused(name, data, tmp_path):
    near = st.builds(changed, st.sampled_from(seeds(name)), CUTS)
    read(name, data.draw(near | st.binary(max_size=400)), tmp_path)
