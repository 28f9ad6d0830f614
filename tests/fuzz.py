"""Inputs that nobody meant, for everything that reads: each is read and keeps what it promises, or is refused in words.

``tests/test_fuzz.py`` tries some of each. ``make check`` has libFuzzer look for more, guided by the branches that an
input takes, for a minute each: ``python tests/fuzz.py [SECONDS [NAME...]]``. An input that breaks a promise is kept in
``_build/fuzz``.
"""

from __future__ import annotations

import math
import os
import re
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import NamedTuple

DATA = Path(__file__).parents[1] / "data"
FOUND = Path(__file__).parents[1] / "_build" / "fuzz"

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
RECORDINGS["wide"] = "t_s,GPU0,GPU1,gpu0_temp\n0,500,400,60\n1,510,410,61\n"
LIVES = (
    "serial,age_h,failed\nu1,100,yes\nu2,200,no\nu3,300,1\n",
    "unit,installed,removed,vendor\nu1,2024-01-01,2024-05-01,X\nu2,2024-01-01,,Y\n",
    "unit,time,event\nu1,2024-01-01,insert\nu1,2024-05-01,remove\nu2,2024-01-01,insert\n",
)
INVENTORIES = (
    "node,in,out\nn1,2024-01-01,\nn2,2024-02-01,2024-06-01\n",
    "host,installed\nn1,2024-01-01\nn2,2024-05-01\n",
)
GRIDS = (
    "n_gpus: [1024, 2048]\ninterval_min: {from: 1, to: 60, count: 7, scale: log}\n",
    "product: {n_gpus: {from: 8, to: 64, step: 8, multiple_of: 16}}\nzip: {a: [1, 2], b: [x, y]}\n",
    "points:\n  small: {n_gpus: 8, name: a}\n  large: {n_gpus: 1e5, name: true}\n",
    "- {a: 1}\n- {a: [1, 2]}\n- {a: {b: 2024-05-01}}\n",
)
SETTINGS = (
    "cluster.n_gpus=100000",
    "checkpoint.interval_min = 12.5",
    "failures.modes=[{name: hang, share: 0.5, detection_min: 30}]",
    "maintenance=null",
    "checkpoint.tiers=[{name: memory, interval_s: 60, survives: {GPU: 0.5, other: 1}}]",
    "failures.modes.Faulty GPU.factor=2",
    "recovery.detection_cv=1.5",
)


class Target(NamedTuple):
    """Something that reads what people write."""

    read: Callable[[bytes, Path], None]
    """Reads bytes, written to the path where it reads files; lets through whatever breaks a promise."""
    seeds: Callable[[], Iterator[bytes]]
    """Inputs that are valid, to begin with."""
    rooms: tuple[str, ...]
    """Packages whose branches guide the search."""


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
    """The first byte chooses the format, the rest is the file."""
    from ettr import logs
    from ettr.logs.training.runs import FORMATS

    names = [None, *FORMATS]
    path.write_bytes(data[1:])
    run = logs.read_training(path, names[data[0] % len(names)] if data else None, step_s=data[:1] < b"\x80" or None)
    assert run.wall_h > 0 and run.step_s > 0, "no time passed"
    assert math.isclose(sum(run.hours.values()), run.wall_h, rel_tol=1e-6, abs_tol=1e-6), "hours do not add up"
    assert (run.stops[["rework_h", "down_h"]] >= 0).all(axis=None), "a stop that took less than no time"


def valid_training() -> Iterator[bytes]:
    from ettr.logs.training.runs import FORMATS

    yield from (b"\0" + one.sample.encode() for one in FORMATS.values())


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
    from ettr.core.temperatures import AIR_C
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


def scenario(data: bytes, _: Path) -> None:
    """A scenario is the same when written and read again, and the closed form answers or says why not."""
    from ettr import Scenario

    check_scenario(Scenario.parse(data.decode("utf-8", "replace")))


def check_scenario(run) -> None:
    from ettr import Scenario, budget

    assert Scenario.parse(run.to_yaml()) == run, "written and read again it is another"
    assert 0 <= budget.exact(run).ettr <= 1, "no share"


def gpu(data: bytes, _: Path) -> None:
    from ettr import Gpu

    read = Gpu.parse(data.decode("utf-8", "replace"))
    assert Gpu.parse(read.to_yaml()) == read, "written and read again it is another"


def grid(data: bytes, path: Path) -> None:
    from ettr.sweep import grid

    path.write_bytes(data)
    read = grid.load(path, 1000)
    points = list(read.points())
    assert len(points) == read.n_points <= 1000
    assert len({grid.key(point.parameters) for point in points}) == len(points), "a point comes twice"


def catalogue(data: bytes, path: Path) -> None:
    from ettr import mitigation

    path.write_bytes(data)
    read = mitigation.catalogue(path)
    assert len(set(read.ids)) == len(read) > 0


def setting(data: bytes, _: Path) -> None:
    from ettr.cli.options import changed

    check_scenario(changed("llama3-405b", [data.decode("utf-8", "replace")])[0])


def valid_catalogues() -> Iterator[bytes]:
    """A few entries: all of them take a third of a second to parse."""
    import yaml

    entries = yaml.safe_load((DATA / "mitigations.yml").read_text(encoding="utf-8"))
    alone = [entry for entry in entries["mitigations"] if not entry.get("conflicts")]
    for part in (alone[:2], alone[-3:]):
        text = yaml.safe_dump({"assumptions": entries["assumptions"][:3], "mitigations": part}, allow_unicode=True)
        yield text.encode()


def files(folder: str) -> Callable[[], Iterator[bytes]]:
    return lambda: (path.read_bytes() for path in sorted((DATA / folder).glob("*.yml")))


TARGETS = {
    "failure logs": Target(log, valid_logs, ("logs", "files")),
    "training logs": Target(training, valid_training, ("logs", "files")),
    "lifetimes": Target(lifetimes, lambda: (text.encode() for text in LIVES), ("logs", "files")),
    "inventories": Target(inventory, lambda: (text.encode() for text in INVENTORIES), ("logs", "files")),
    "recordings": Target(recording, valid_recordings, ("telemetry", "files")),
    "weather": Target(weather, valid_weather, ("files",)),
    "scenarios": Target(scenario, files("scenarios"), ("scenario",)),
    "GPUs": Target(gpu, files("gpus"), ("scenario",)),
    "grids": Target(grid, lambda: (text.encode() for text in GRIDS), ("sweep.grid", "scenario.loader")),
    "catalogues": Target(catalogue, valid_catalogues, ("mitigation", "scenario")),
    "--set": Target(setting, lambda: (text.encode() for text in SETTINGS), ("cli.options", "scenario")),
}


@cache
def _path() -> Path:
    return Path(tempfile.mkdtemp()) / "input.yml"


def hold(name: str, data: bytes) -> bool:
    """Whether an input is read; False if it is refused in words. Anything else raises."""
    from ettr.core.errors import EttrError

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            TARGETS[name].read(data, _path())
    except EttrError as error:
        if not str(error).strip():
            raise AssertionError("refused without a word") from error
        return False
    return True


def fuzz(name: str, *options: str) -> None:
    """Let libFuzzer look for an input that breaks a promise; does not return."""
    import atheris

    with atheris.instrument_imports(include=[f"ettr.{room}" for room in TARGETS[name].rooms]):
        seeds = Path(tempfile.mkdtemp())
        for number, seed in enumerate(TARGETS[name].seeds()):
            (seeds / str(number)).write_bytes(seed)
            hold(name, seed)  # all that is imported late is imported here
    atheris.Setup([sys.argv[0], *options, str(seeds)], lambda data: hold(name, data))
    atheris.Fuzz()


def report(name: str, seconds: int) -> bool:
    """Fuzz in a process of its own and print what was found; whether nothing was."""
    FOUND.mkdir(parents=True, exist_ok=True)
    kept = FOUND / re.sub(r"\W+", "-", name).strip("-")
    options = [f"-max_total_time={seconds}", "-timeout=60", "-print_final_stats=1", f"-artifact_prefix={kept}-"]
    done = subprocess.run(
        [sys.executable, __file__, "--one", name, *options], capture_output=True, text=True, check=False
    )
    tried = re.search(r"number_of_executed_units: (\d+)", done.stderr)
    count = f"{int(tried[1]):,} inputs in {seconds} s" if tried else "stopped"
    if done.returncode == 0:
        print(f"{name}: {count}, nothing found", flush=True)
        return True
    where = re.findall(r"Test unit written to .*|ERROR: libFuzzer: (?:timeout|out-of-memory).*", done.stderr)
    lines = [*done.stdout.splitlines()[-40:], *(where or done.stderr.splitlines()[-40:])]
    print(f"{name}: {count}, found:", *(f"    {line}" for line in lines), sep="\n", flush=True)
    return False


def main(seconds: int = 60, *names: str) -> int:
    """Fuzz every target, or those named, as many at a time as there are cores."""
    try:
        import atheris  # noqa: F401
    except ImportError:
        print("the fuzzer atheris has no build for this machine: nothing was fuzzed")
        return 0
    with ThreadPoolExecutor(os.cpu_count()) as workers:
        return int(not all(list(workers.map(lambda name: report(name, seconds), names or TARGETS))))


if __name__ == "__main__":
    if "--one" in sys.argv:
        fuzz(*sys.argv[2:])
    sys.exit(main(*map(int, sys.argv[1:2]), *sys.argv[2:]))
