"""Inputs for all that reads logs, lifetimes, recordings and weather, and what each promises."""

from __future__ import annotations

import gzip
import io
import lzma
import math
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

from fuzz_yaml import Target

LOGS = {
    "csv": "start,end,node,cause\n2024-05-02 10:00:00,2024-05-02 11:00:00,n1,Xid 79\n"
    '2024-05-03 10:00:00,,n2,"a, b"\n2024-05-04 10:00:00,unknown,n1,x\n',
    "events": '[{"node": "a", "time": 1.5, "event": "start", "fault_type": {"Class": "GPU", "Desc": "x"}},\n'
    ' {"node": "a", "time": 2.5, "event": "end", "fault_type": {"Class": "GPU", "Desc": "x"}}]',
    "json lines": '{"host": "a", "start": "2024-05-02T10:00:00Z", "end": null}\n'
    '{"host": "b", "start": "2024-05-03T10:00:00Z"}\n',
    "slurm": "JobID|State|Start|End|NodeList|NNodes\n"
    "1|NODE_FAIL|2024-05-02T10:00:00|2024-05-02T11:00:00|n[1-2]|2\n1.batch|CANCELLED|2024-05-02T10:00:00|Unknown|n1|1\n"
    "2|COMPLETED|2024-05-02T10:00:00|2024-05-03T11:00:00|n3|1\n",
    "xid": "[Thu May  2 10:00:00 2024] NVRM: Xid (PCI:0000:3b:00): 79, pid=7, GPU has fallen off the bus.\n"
    "2024-05-03T10:00:00+00:00 n1 kernel: NVRM: Xid (0000:3b:00): 48, pid='<unknown>', DBE\n"
    "May  4 10:00:00 n1 kernel: [123.4] usb 1-1: new device\n",
    "torchrun": "[2024-05-02 10:00:00,123] torch.distributed.elastic.agent: [INFO] Starting worker group\n"
    "E0502 12:07:20.086000 139 torch/distributed/elastic/api.py:123] Worker group FAILED. 3/3 attempts left\n"
    "ERROR:torch.distributed.elastic:failed (exitcode: -9) local_rank: 3 (pid: 77)\n",
    "dcgm": '{"status": "success", "data": {"resultType": "matrix", "result": [{"metric": {"__name__": '
    '"DCGM_FI_DEV_XID_ERRORS", "gpu": "0", "Hostname": "n1"}, "values": [[1714644000, "0"], [1714644060, "79"]]}]}}',
    "prometheus": 'DCGM_FI_DEV_XID_ERRORS{gpu="0",Hostname="n1"} 0 1714644000000\n'
    'DCGM_FI_DEV_XID_ERRORS{gpu="0",Hostname="n1"} 79 1714644060000\n',
}
"""A valid log of each format; the last two are the second form of ``events`` and ``dcgm``."""
LOG_OPTIONS = (
    {"n_nodes": 16, "window": "2024-05-01/2024-06-01", "year": 2024},
    {"n_nodes": 16, "window": "0..30"},
    {"n_nodes": 16, "year": 2024, "zone": "Europe/Berlin", "planned": "x"},
    {},
    {"n_nodes": 16, "window": "2023-01-01/2026-01-01"},
)
RECORDINGS = {
    "csv": "t_s,power_w,temperature_c,memory_c,clock_mhz\n0,500,60,0,1980\n1,510,61,0,1980\n2,[N/A],62,0,1980\n",
    "nvidia-smi": "timestamp, index, power.draw [W], temperature.gpu\n"
    "2025/07/27 00:00:00.000, 0, 71.85 W, 33\n2025/07/27 00:00:01.000, 0, 72.10 W, 33\n",
    "dcgm": '{"status": "success", "data": {"resultType": "matrix", "result": [{"metric": {"__name__": '
    '"DCGM_FI_DEV_POWER_USAGE", "gpu": "0", "Hostname": "n1"}, "values": [[1714644000, "71"], [1714644060, "79"]]}]}}',
    "zeus": "start_time,window_name,elapsed_time,gpu0_energy\n1714644000.5,a,10.0,5000\n1714644010.5,b,10.0,6000\n",
    "codecarbon": "timestamp,duration,gpu_energy,gpu_power\n2024-05-02T10:00:00,15,0.001,240\n"
    "2024-05-02T10:00:15,30,0.002,240\n",
}
"""A valid recording of each format."""
LIVES = (
    "serial,age_h,failed\nu1,100,yes\nu2,200,no\nu3,300,1\n",
    "unit,installed,removed,vendor\nu1,2024-01-01,2024-05-01,X\nu2,2024-01-01,,Y\n",
    "unit,time,event\nu1,2024-01-01,insert\nu1,2024-05-01,remove\nu2,2024-01-01,insert\n",
)
INVENTORIES = (
    "node,in,out\nn1,2024-01-01,\nn2,2024-02-01,2024-06-01\n",
    "host,installed\nn1,2024-01-01\nn2,2024-05-01\n",
)
LIMITS = (
    "rule,metric,limit,unit,low_hz,high_hz\nramps,ramp_up_1min_mw_per_min,5,MW/min,,\nband,band_share,0.2,1,0.1,20\n"
)
STEPS = "time,step\n2027-01-20 00:00:00,40\n2027-01-21 00:00:00,80\n"


def log(data: bytes, path: Path) -> None:
    """The first byte chooses format and options, the rest is the file."""
    from ettr import logs
    from ettr.logs.reading import FORMATS

    names, choice = [None, *FORMATS], data[0] if data else 0
    path.write_bytes(data[1:])
    options = LOG_OPTIONS[choice // len(names) % len(LOG_OPTIONS)]
    read = logs.read(path, format=names[choice % len(names)], **options)
    assert read.n_records == len(read.events) + read.ledger["n"].sum(), "records do not add up"
    assert read.events["start"].between(*read.window).all(), "an event lies outside the window"
    assert read.events["node"].nunique() <= read.n_nodes, "more nodes failed than were watched"
    assert read.node_days >= 0, "nodes were watched for less than no time"


def valid_logs() -> Iterator[bytes]:
    from ettr.logs.reading import FORMATS

    names = [None, *FORMATS]
    for name, text in LOGS.items():
        place = names.index({"json lines": "events", "prometheus": "dcgm"}.get(name, name))
        options = {"events": 1, "xid": 2}.get(name, 0) * len(names)
        yield from (bytes([first + options]) + text.encode() for first in (0, place))
    watched = (len(LOG_OPTIONS) - 1) * len(names)
    yield from (bytes([names.index(name) + watched]) + one.sample.encode() for name, one in FORMATS.items())


def training(data: bytes, path: Path) -> None:
    """The first byte chooses the format, and whether a step is told to take a second; the rest is the file."""
    from ettr import logs
    from ettr.logs.training.runs import FORMATS

    names, first = [None, *FORMATS], data[0] if data else 0
    path.write_bytes(data[1:])
    run = logs.read_training(path, names[first // 2 % len(names)], step_s=None if first % 2 else 1.0)
    assert run.wall_h > 0 and run.step_s > 0, "no time passed"
    assert math.isclose(sum(run.hours.values()), run.wall_h, rel_tol=1e-6, abs_tol=1e-6), "hours do not add up"
    assert min(run.hours.values()) >= 0 and 0 <= run.ettr <= 1, "a part is less than nothing, or more than all"
    assert (run.stops[["rework_h", "down_h"]] >= 0).all(axis=None), "a stop that took less than no time"


def valid_training() -> Iterator[bytes]:
    from ettr.logs.training.runs import FORMATS

    yield from (bytes([first]) + one.sample.encode() for one in FORMATS.values() for first in (0, 1))


def lifetimes(data: bytes, path: Path) -> None:
    """The file is one of lifetimes."""
    from ettr import failures, logs

    path.write_bytes(data)
    lives = failures.unit_lifetimes(logs.read_lifetimes(path, until="2024-12-31"))
    assert 0 <= lives.whole.n_failed <= lives.whole.n, "more units failed than there are"


def inventory(data: bytes, path: Path) -> None:
    """The file is an inventory, of a log that is valid."""
    from ettr import logs

    listed = path.with_name("inventory.csv")
    listed.write_bytes(data)
    path.write_text(LOGS["csv"])
    read = logs.read(path, window="2024-05-01/2024-06-01", inventory=listed)
    assert read.node_days >= 0, "nodes were watched for less than no time"


def recording(data: bytes, path: Path) -> None:
    """The first byte chooses the format, the rest is the file."""
    from ettr import telemetry
    from ettr.telemetry.reading import FORMATS

    names = [None, *FORMATS]
    path.write_bytes(data[1:])
    read = telemetry.read(path, names[data[0] % len(names)] if data else None)
    assert read.samples["power_w"].notna().any(), "a recording without power"
    assert read.samples.groupby("gpu", observed=True)["t_s"].apply(lambda t: t.is_monotonic_increasing).all(), (
        "unsorted"
    )


def valid_recordings() -> Iterator[bytes]:
    from ettr.telemetry.reading import FORMATS

    for name, text in RECORDINGS.items():
        yield from (bytes([first]) + text.encode() for first in (0, 1 + list(FORMATS).index(name)))


def weather(data: bytes, path: Path) -> None:
    from ettr.core.validity import AIR_C
    from ettr.files import weather

    path.write_bytes(data)
    ambient_c = weather.read(path).ambient_c
    assert ambient_c.size == weather.HOURS
    assert all(math.isnan(value) or AIR_C[0] <= value <= AIR_C[1] for value in ambient_c), "no such air"


def valid_weather() -> Iterator[bytes]:
    hours = [(month, day, hour) for month in range(1, 13) for day in range(1, 29) for hour in range(24)]
    rows = "".join(f"2023-{m:02}-{d:02}T{h:02}:00,{h - m}.5\n" for m, d, h in hours[:500])
    yield f"time,temperature\n{rows}".encode()
    header = "LOCATION,Ams,-,NLD,IWEC,062400,52.30,4.77,1.0,-2.0\n" + "X\n" * 7
    epw = "".join(f"2001,{m},{d},{h + 1},60,A,{h - m}.5,3.0\n" for m, d, h in hours[:500])
    yield (header + epw).encode()


def packed(data: bytes, path: Path) -> None:
    """A file, which may be packed, and each of its lines."""
    from ettr.files.ledger import Ledger
    from ettr.files.opening import LONGEST_LINE, Source

    path.write_bytes(data)
    for number, line in Source(path).lines(Ledger()):
        assert number > 0 and len(line) <= LONGEST_LINE, "a line that is too long"


def valid_packed() -> Iterator[bytes]:
    text = LOGS["csv"].encode()
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as whole:
        whole.writestr("log.csv", text)
    bundle = io.BytesIO()
    with tarfile.open(fileobj=bundle, mode="w") as whole:
        (member := tarfile.TarInfo("log.csv")).size = len(text)
        whole.addfile(member, io.BytesIO(text))
    plain = (text, text.decode().encode("utf-16"), archive.getvalue(), bundle.getvalue())
    yield from (*plain, gzip.compress(text, mtime=0), lzma.compress(text), gzip.compress(bundle.getvalue(), mtime=0))


def limits(data: bytes, path: Path) -> None:
    from ettr import power

    table = path.with_suffix(".csv")
    table.write_bytes(data)
    rules = power.specification(table)
    assert (rules["limit"] >= 0).all() and len(rules), "no limit"


def steps(data: bytes, path: Path) -> None:
    """The file is a table of steps, of a run that has a deadline."""
    from ettr.plan.calendar import calendar_of

    table = path.with_name("steps.csv")
    table.write_bytes(data)
    assert 0 <= calendar_of(None, "2099-12-31", None, str(table), 100.0).done < 1, "no share"


NESTED = b'{"a":' * 100_000
LONG = b'[{"host": "a", "start": %b},\n{"host": "b", "start": 1}]'
FEW = b"start,end,node\n2024-05-02,2024-05-03,n1\n"
QUERY = LOGS["dcgm"].encode()
HALVES = b"time,node,event\n%b,n1,start\n1.5,n1,end\n2.5,n2,start\n3.5,n2,end\n"
LASTED = b"start,duration_h,node\n2024-05-02,%b,n1\n2024-05-03,3,n2\n"
ODD_LOGS = (
    NESTED,
    b"[" * 100_000,
    LONG % (b"9" * 5000),
    LONG % (b"9" * 400),
    QUERY.replace(b"1714644060", b"9" * 400),
    QUERY.replace(b'"79"', b"9" * 5000),
    HALVES % (b"9" * 130),
    HALVES % (b"9" * 400),
    HALVES % b"1e308",
    LASTED % (b"9" * 130),
    LASTED % (b"9" * 400),
    LASTED % b"1e308",
    FEW.replace(b"2024", b"1000000000"),
    FEW.replace(b"2", "\uff12".encode()),
    FEW + b'"' + b"x\n" * 5000,
    b"start,node" + b",c" * 20_000 + b"\n",
    b"start" + b"[(" * 50_000 + b"\n1,2\n",
    b'{"__REALTIME_TIMESTAMP": 1e999, "MESSAGE": "x"}\n',
)
TABLE = b"t_s,power_w,length_s\n0,500,1\n%b,510,%b\n2,500,1\n"
ODD_RECORDINGS = (
    TABLE % (b"1e308", b"1"),
    TABLE % (b"1", b"1e308"),
    TABLE % (b"9" * 400, b"9" * 400),
    TABLE % ("\uff11".encode(), "\uff11".encode()),
    RECORDINGS["zeus"].encode().replace(b"10.0", b"1e308"),
    RECORDINGS["zeus"].encode().replace(b"1714644000.5", b"1e308"),
    RECORDINGS["codecarbon"].encode().replace(b"15", b"1e308"),
    RECORDINGS["dcgm"].encode().replace(b"1714644060", b"9" * 400),
    RECORDINGS["dcgm"].encode().replace(b"1714644060", b"1e40099999999999999999999"),
    b'{"device_instant": {"0": [[1, 5], [%b, 7], [3, %b]]}}' % (b"9" * 400, b"9" * 400),
    b'{"device_instant": {"0": ' + b"[" * 100_000,
)


def behind(first: int, inputs: tuple[bytes, ...]) -> tuple[bytes, ...]:
    """The same with the byte before them that chooses format and options."""
    return tuple(bytes([first]) + one for one in inputs)


def many(size: int) -> bytes:
    """A file that unpacks to so many bytes of nothing."""
    return gzip.compress(bytes(size), compresslevel=1, mtime=0)


STEP_LINE = b"Training epoch 0, iteration 97/99 | global_step: %d | train_step_timing in s: 12.22"
ODD_STEPS = (
    b"time,step\n2024-05-02 00:00:00,1e308\n",
    b'{"step_count": %b, "step_start_time": 1}' % (b"9" * 400),
    b"[2025-11-20T14:55:23+08:00] " + b"\n".join(STEP_LINE % n for n in (97, 98, 10**10, 98, 99)),
    b"time,step\n2024-05-02 00:00:00,0\n2024-05-02 00:00:00,100\n2024-05-02 00:00:01,101\n",
)


def broken_archives() -> Iterator[bytes]:
    """Each valid one with a byte in its middle changed, and without its end."""
    for whole in valid_packed():
        middle = len(whole) // 2
        yield whole[:middle] + bytes([whole[middle] ^ 0xFF]) + whole[middle + 1 :]
        yield whole[:middle]


WEATHER = b"time,temperature\n2023-01-01T00:00,1.5\n2023-01-01T01:00,%b\n"
TARGETS = {
    "failure logs": Target(log, valid_logs, behind(0, ODD_LOGS)),
    "training logs": Target(training, valid_training, behind(0, ODD_STEPS) + behind(1, ODD_STEPS)),
    "lifetimes": Target(lifetimes, lambda: (text.encode() for text in LIVES), ODD_LOGS),
    "inventories": Target(inventory, lambda: (text.encode() for text in INVENTORIES), ODD_LOGS),
    "recordings": Target(recording, valid_recordings, behind(0, ODD_RECORDINGS)),
    "weather": Target(
        weather,
        valid_weather,
        (WEATHER % b"\r2", WEATHER % b"1e308", WEATHER % "\uff11".encode(), b"time\r,temperature\n" + b"\r" * 5),
    ),
    "packed files": Target(packed, valid_packed, (many(1 << 28), *broken_archives())),
    "limits of a grid": Target(
        limits,
        lambda: iter((LIMITS.encode(),)),
        (*ODD_LOGS, LIMITS.replace(",,\n", ",\5,\n").encode()),
    ),
    "steps done": Target(steps, lambda: iter((STEPS.encode(),)), ODD_LOGS),
}
