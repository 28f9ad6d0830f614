"""Recording with a library and a load that only pretend, and reading back what was written."""

from __future__ import annotations

import re
import resource
import sys
import textwrap
from types import SimpleNamespace

import pytest

from ettr import telemetry
from ettr.core.errors import InputError
from ettr.core.extras import MissingExtra
from ettr.telemetry import Step, loads


class NVMLError(Exception):
    """As in pynvml."""


class Machine:
    """A clock that only moves when somebody waits, a load, and a library that answers by both."""

    def __init__(self, n_gpus=1, silent=()):
        self.now_s, self.share, self.closed, self.duties, self.stop_at = 0.0, None, False, [], None
        self.nvml = SimpleNamespace(
            NVMLError=NVMLError,
            NVML_TEMPERATURE_GPU=0,
            NVML_CLOCK_SM=1,
            NVML_FI_DEV_MEMORY_TEMP=82,
            NVML_FI_DEV_POWER_INSTANT=186,
            nvmlInit=lambda: None,
            nvmlShutdown=self._shutdown,
            nvmlDeviceGetCount=lambda: n_gpus,
            nvmlDeviceGetHandleByIndex=lambda index: index,
            nvmlDeviceGetName=lambda handle: b"Pretended GPU",
            nvmlDeviceGetPowerUsage=lambda handle: 71_850 + round(600_000 * (self.share or 0)),
            nvmlDeviceGetTemperature=lambda handle, sensor: 31 + 40 * (self.share or 0),
            nvmlDeviceGetClockInfo=lambda handle, which: 1980 if self.share is not None else 345,
            nvmlDeviceGetUtilizationRates=lambda handle: SimpleNamespace(gpu=round(100 * (self.share or 0))),
            nvmlDeviceGetFieldValues=lambda handle, ids: [self._field(ids[0])],
        )
        for name in silent:
            setattr(self.nvml, name, self._refuse)
        self.was_shut = False

    def _shutdown(self):
        self.was_shut = True

    def _refuse(self, *_):
        raise NVMLError("Not Supported")

    def _field(self, number):
        is_supported = number == 186
        milliwatts = 70_000 + round(600_000 * (self.share or 0))
        return SimpleNamespace(nvmlReturn=0 if is_supported else 3, value=SimpleNamespace(uiVal=milliwatts))

    def clock(self):
        return self.now_s

    def rest(self, seconds):
        if self.stop_at is not None and self.now_s >= self.stop_at:
            raise KeyboardInterrupt
        self.now_s += seconds

    def duty(self, share):
        self.share = share
        self.duties.append(share)

    def close(self):
        self.closed = True

    def record(self, path, steps, **options):
        arguments = {
            "load": self,
            "nvml": self.nvml,
            "clock": self.clock,
            "rest": self.rest,
            "interval_s": 0.5,
            **options,
        }
        return telemetry.record(path, steps, **arguments)


STEPS = (Step("idle", None, 10), Step("compute", 1.0, 20), Step("stall", 0.0, 10))


def test_what_is_recorded_is_read_back(tmp_path):
    machine, path = Machine(), tmp_path / "mine.csv"
    done = machine.record(path, STEPS)
    assert (done.n_samples, done.completed, done.gpus) == (80, True, ("0 Pretended GPU",))
    assert machine.duties == [None, 1.0, 0.0] and machine.closed and machine.was_shut
    read = telemetry.read(path)
    assert (read.format, read.n_gpus, read.step_s, read.gaps.n) == ("csv", 1, 0.5, 0)
    assert read.power_window_s == 0 and read.start is not None and len(read.ledger) == 1  # memory is silent
    means = read.samples.groupby("step", sort=False)[["power_w", "temperature_c", "clock_mhz", "utilisation"]].mean()
    assert means.loc["compute"].tolist() == [670, 71, 1980, 1] and means.loc["idle"].tolist() == [70, 31, 345, 0]
    assert read.samples["step"].value_counts().to_dict() == {"compute": 40, "idle": 20, "stall": 20}
    levels = {level.phase: level.mean.value for level in telemetry.fit(read).levels}
    assert levels == {"compute": 670, "checkpoint": 70, "idle": 70}


def test_a_gpu_that_does_not_answer_leaves_blanks(tmp_path):
    silent = ("nvmlDeviceGetTemperature", "nvmlDeviceGetUtilizationRates", "nvmlDeviceGetFieldValues")
    Machine(silent=silent).record(tmp_path / "mine.csv", STEPS)
    read = telemetry.read(tmp_path / "mine.csv")
    seen = read.samples[["temperature_c", "utilisation", "clock_mhz"]].notna().any()
    assert seen.tolist() == [False, False, True] and read.power_window_s == 1  # power is then a mean


def test_ctrl_c_keeps_what_was_written(tmp_path):
    machine = Machine()
    machine.stop_at = 15
    done = machine.record(tmp_path / "mine.csv", STEPS)
    assert not done.completed and 28 <= done.n_samples <= 31 and machine.closed and machine.was_shut
    assert len(telemetry.read(tmp_path / "mine.csv").samples) == done.n_samples


def test_a_disk_that_fills_up_is_said_with_the_file_and_keeps_what_was_written(tmp_path):
    path = tmp_path / "mine.csv"
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (3000, hard))  # a write beyond it fails, as on a full disk
    try:
        with pytest.raises(InputError, match=f"cannot write {re.escape(str(path))}: File too large"):
            Machine().record(path, STEPS)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert path.stat().st_size > 1000


def test_all_gpus_are_watched_without_a_load(tmp_path):
    machine = Machine(n_gpus=3)
    done = machine.record(tmp_path / "mine.csv", [Step("watched", None, 5)], load="none")
    assert len(done.gpus) == 3 and machine.duties == []
    assert telemetry.read(tmp_path / "mine.csv").gpus == ("0", "1", "2")
    recording = machine.record(tmp_path / "one.csv", [Step("watched", None, 5)], load="none", gpu=2)
    assert recording.gpus == ("2 Pretended GPU",)


def test_a_pause_of_the_machine_is_a_gap_and_no_burst(tmp_path):
    machine = Machine()
    rest = machine.rest

    def slow(seconds):
        rest(seconds + (5 if 9.9 < machine.now_s < 10.1 else 0))

    machine.record(tmp_path / "mine.csv", [Step("duty 50%", 0.5, 30)], rest=slow)
    read = telemetry.read(tmp_path / "mine.csv")
    assert read.gaps.n == 1 and read.gaps.longest_s == pytest.approx(5.5, abs=0.6)
    assert read.samples["t_s"].diff().dropna().min() > 0.2


def test_a_load_that_dies_is_told_and_rows_are_kept(tmp_path):
    machine = Machine()

    def duty(share):
        if share == 1.0:
            raise loads.LoadFailed("the load ended by itself, with status 1")

    machine.duty = duty
    with pytest.raises(loads.LoadFailed, match="ended"):
        machine.record(tmp_path / "mine.csv", STEPS)
    assert len(telemetry.read(tmp_path / "mine.csv").samples) == 20 and machine.closed


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"interval_s": 0.001}, "interval_s must be from 0.02 to 60 s, got 0.001"),
        ({"gpu": 4}, r"gpu must be from 0 to 0 \(this machine has 1\), got 4"),
        ({"load": "tourch"}, "unknown load 'tourch'.*did you mean 'torch'"),
        ({"load": "torch"}, "load torch needs torch, which is not installed; use load none"),
    ],
)
def test_what_cannot_be_recorded_is_refused_before_a_file_is_made(tmp_path, options, message, monkeypatch):
    monkeypatch.setattr(loads.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(InputError, match=message):
        Machine().record(tmp_path / "mine.csv", STEPS, **options)
    assert not list(tmp_path.iterdir())


def test_a_recording_is_never_written_over(tmp_path):
    (tmp_path / "mine.csv").write_text("precious", encoding="utf-8")
    with pytest.raises(InputError, match="mine.csv exists, and recordings are not overwritten"):
        Machine().record(tmp_path / "mine.csv", STEPS)
    with pytest.raises(InputError, match="cannot write .*none/mine.csv: No such file"):
        Machine().record(tmp_path / "none" / "mine.csv", STEPS)


def test_without_the_library_or_a_driver_the_remedy_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pynvml", None)
    with pytest.raises(
        MissingExtra, match=r"recording a GPU needs pynvml, which is not installed: pip install 'ettr\[record\]'$"
    ):
        telemetry.record(tmp_path / "mine.csv", load="none")
    machine = Machine()
    machine.nvml.nvmlInit = machine._refuse
    with pytest.raises(InputError, match="recording needs an NVIDIA GPU and its driver; error of NVML: Not Supported"):
        machine.record(tmp_path / "mine.csv", STEPS)


# --------------------------------------------------------------------------- the load


class Worker:
    """Work of a length that is known, on a clock that only it and rests move."""

    def __init__(self, length_s):
        self.now_s, self.length_s, self.busy_s = 0.0, length_s, 0.0

    def work(self):
        self.now_s += self.length_s
        self.busy_s += self.length_s

    def rest(self, seconds):
        self.now_s += seconds


@pytest.mark.parametrize(("duty", "length_s"), [(0.0, 0.001), (0.25, 0.0137), (0.5, 0.2), (1.0, 0.001)])
def test_the_duty_is_kept_whatever_a_piece_of_work_takes(duty, length_s):
    worker = Worker(length_s)
    loads.cycle(worker.work, [duty] * 200 + [None] + [1.0] * 50, lambda: worker.now_s, worker.rest)
    assert worker.busy_s / worker.now_s == pytest.approx(duty, abs=1e-9)


CHILD = """
import sys
print("ready", flush=True)
with open(sys.argv[1], "a") as file:
    for line in sys.stdin:
        file.write(line)
        file.flush()
    file.write("left")
"""


def program(tmp_path, text):
    path = tmp_path / "child.py"
    path.write_text(textwrap.dedent(text), encoding="utf-8")
    return [sys.executable, str(path), str(tmp_path / "said.txt")]


def test_the_process_is_told_duties_and_ends_when_the_gpu_is_left(tmp_path):
    load = loads.ProcessLoad(0, program(tmp_path, CHILD))
    load.duty(None)  # nothing runs yet
    assert not (tmp_path / "said.txt").exists()
    load.duty(0.5)
    load.duty(1.0)
    load.duty(None)
    assert (tmp_path / "said.txt").read_text().split() == ["0.500000", "1.000000", "left"]
    load.duty(0.25)
    load.close()
    load.close()
    assert (tmp_path / "said.txt").read_text().endswith("left0.250000\nleft")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("raise SystemExit(3)", "did not start; it ended with status 3"),
        ('print("ready", flush=True)', "ended unexpectedly"),
    ],
)
def test_a_process_that_dies_is_noticed(tmp_path, text, message):
    load = loads.ProcessLoad(0, program(tmp_path, text))

    def tell():
        for _ in range(10_000):
            load.duty(0.5)

    with pytest.raises(loads.LoadFailed, match=message):
        tell()
    load.close()
