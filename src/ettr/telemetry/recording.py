"""Recording of the GPUs of this machine while they run a plan of loads."""

from __future__ import annotations

import importlib
import math
import os
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TextIO

from ettr.core import extras
from ettr.core.errors import InputError
from ettr.files.spreadsheet import harmless
from ettr.telemetry import loads
from ettr.telemetry.format import AVERAGED_S
from ettr.telemetry.plans import Step, check_steps, schedule

COLUMNS = "timestamp,t_s,gpu,power_w,temperature_c,memory_c,clock_mhz,utilisation,power_window_s,step"
"""Header of a recording, in the format ``csv`` of ``telemetry.read``."""

SHORTEST_S, LONGEST_S = 0.02, 60.0
"""Shortest and longest sampling interval: NVML responds within milliseconds. [s]"""


@dataclass(frozen=True)
class Recording:
    """Summary of a recorded file.

    Attributes
    ----------
    path : Path
        File.
    n_samples : int
        Number of rows.
    length_s : float
        Time from the first sample to the last. [s]
    completed : bool
        True if the plan was completed; False after Ctrl-C.
    gpus : tuple of str
        Index and name of each GPU.
    """

    path: Path
    n_samples: int
    length_s: float
    completed: bool
    gpus: tuple[str, ...]


def record(
    path: str | Path,
    steps: Sequence[Step] | None = None,
    *,
    load: str | loads.Load = "torch",
    gpu: int | None = None,
    interval_s: float = 0.1,
    progress: Callable[[str, float, float], None] | None = None,
    nvml: Any = None,
    clock: Callable[[], float] = time.monotonic,
    rest: Callable[[float], None] = time.sleep,
) -> Recording:
    """Record power, temperature and clock of this machine's NVIDIA GPUs to a file for ``telemetry.read``.

    The load multiplies matrices with the duty cycle of the plan, in a separate process. Clocks, limits and other
    settings of the GPU are not changed. Rows are written as they are sampled, and Ctrl-C keeps them.

    Parameters
    ----------
    path : str or path
        New file.
    steps : sequence of Step or None
        Plan; by default ``telemetry.schedule()``.
    load : str or object
        ``torch``, or ``none`` to record without adding a load; or an object with the methods ``duty(share)`` and
        ``close()``.
    gpu : int or None
        Index of the GPU in nvidia-smi. By default the first with a load, all without one.
    interval_s : float
        Time between samples, from 0.02 to 60. [s]
    progress : callable or None
        Called with the name of the step, the seconds done and the total.
    nvml : module or None
        Replacement for ``pynvml``.
    clock, rest : callable
        Functions that return the time and that wait. [s]

    Returns
    -------
    Recording

    Raises
    ------
    InputError
        If the file exists, the plan or interval is invalid, or there is no driver, no such GPU, or no library for the
        load.
    LoadFailed
        If the load process ends during the recording; the rows written so far are kept.

    Notes
    -----
    Power is instantaneous if the driver supports it, otherwise NVML's mean of the last second; the column
    ``power_window_s`` records which. The columns are ``timestamp`` (UTC), ``t_s``, ``gpu``, ``power_w``,
    ``temperature_c``, ``memory_c``, ``clock_mhz``, ``utilisation`` (a fraction), ``power_window_s`` and ``step``.

    Examples
    --------
    >>> from ettr import telemetry
    >>> done = telemetry.record("h100.csv", telemetry.schedule(minutes=10), gpu=0)  # doctest: +SKIP
    >>> telemetry.fit(telemetry.read(done.path)).resistance.value  # doctest: +SKIP
    0.071
    """
    plan = tuple(schedule() if steps is None else steps)
    check_steps(plan)
    target = _target(path)
    if not SHORTEST_S <= interval_s <= LONGEST_S:
        raise InputError(f"interval_s must be from {SHORTEST_S:g} to {LONGEST_S:g} s, got {interval_s:g}")
    load_name = loads.checked(load) if isinstance(load, str) else ""
    driver = _library(nvml)
    running: loads.Load | None = None
    try:
        gpus = _gpus(driver, gpu, load_name)
        running = _load(load, gpus)
        try:
            with target.open("x", encoding="utf-8", newline="\n") as file:
                run = _Run(file, gpus, running, interval_s, progress, clock, rest)
                completed = run.through(plan)
        except OSError as error:
            raise InputError(f"cannot write {target}: {error.strerror or error}") from error
        names = tuple(f"{device.index} {device.name}" for device in gpus)
        return Recording(target, run.n, run.last_s, completed, names)
    finally:
        if running is not None:
            running.close()
        with suppress(driver.NVMLError):
            driver.nvmlShutdown()


def _target(path: str | Path) -> Path:
    """Path of a new file in an existing folder."""
    target = Path(path)
    if target.exists():
        raise InputError(f"{target} exists, and recordings are not overwritten: choose another file")
    if not target.parent.is_dir():
        raise InputError(f"cannot write {target}: No such file or directory")
    return target


def _gpus(nvml: Any, gpu: int | None, load: str) -> list[_NvmlGpu]:
    """The chosen GPU, or all without a load, or the first."""
    if gpu is not None:
        return [_NvmlGpu(nvml, gpu)]
    n = int(nvml.nvmlDeviceGetCount())
    if n < 1:
        raise InputError("recording needs an NVIDIA GPU; NVML finds none")
    return [_NvmlGpu(nvml, index) for index in range(n if load == "none" else 1)]


def _load(load: str | loads.Load, gpus: list[_NvmlGpu]) -> loads.Load | None:
    """Load to run; None to record without one."""
    if not isinstance(load, str):
        return load
    if load == "none":
        return None
    if os.environ.get("CUDA_VISIBLE_DEVICES"):
        raise InputError(
            "unset CUDA_VISIBLE_DEVICES to record with a load: it renumbers GPUs, so that gpu would name another one"
        )
    os.environ.setdefault("CUDA_DEVICE_ORDER", "PCI_BUS_ID")  # the order of nvidia-smi, for the child
    return loads.ProcessLoad(gpus[0].index)


@dataclass
class _Run:
    """State of a recording in progress."""

    file: TextIO
    gpus: list[_NvmlGpu]
    load: loads.Load | None
    interval_s: float
    progress: Callable[[str, float, float], None] | None
    clock: Callable[[], float]
    rest: Callable[[float], None]
    n: int = 0
    last_s: float = 0.0

    def through(self, steps: tuple[Step, ...]) -> bool:
        """Write rows, and return True if the plan was completed."""
        self.file.write(COLUMNS + "\n")
        total = sum(step.seconds for step in steps)
        begin, due = self.clock(), 0.0
        try:
            end = 0.0
            for step in steps:
                if self.load is not None:
                    self.load.duty(step.duty)
                end = max(end + step.seconds, due)
                while due < end:
                    self.rest(max(begin + due - self.clock(), 0.0))
                    self._sample(self.clock() - begin, step.name)
                    if self.progress:
                        self.progress(step.name, due, total)
                    # missed samples leave a gap instead of a burst
                    due = max(
                        due + self.interval_s, math.floor((self.clock() - begin) / self.interval_s) * self.interval_s
                    )
                self.file.flush()
        except KeyboardInterrupt:
            return False
        return True

    def _sample(self, t_s: float, step: str) -> None:
        """Write a row per GPU."""
        for gpu in self.gpus:
            at = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
            written = ",".join("" if math.isnan(value) else f"{value:.6g}" for value in gpu.read().values())
            self.file.write(f"{at},{t_s:.3f},{gpu.index},{written},{harmless(step)}\n")
            self.n += 1
        self.last_s = t_s


def _library(nvml: Any) -> Any:
    """Initialised ``pynvml`` of the package nvidia-ml-py, or its replacement."""
    with extras.needed("record"):
        nvml = nvml or importlib.import_module("pynvml")
    try:
        nvml.nvmlInit()
    except nvml.NVMLError as error:
        raise InputError(f"recording needs an NVIDIA GPU and its driver; error of NVML: {error}") from error
    return nvml


class _NvmlGpu:
    """GPU by its index in nvidia-smi, read through NVML without changing any setting."""

    def __init__(self, nvml: Any, index: int) -> None:
        n = int(nvml.nvmlDeviceGetCount())
        if not 0 <= index < n:
            raise InputError(f"gpu must be from 0 to {n - 1} (this machine has {n}), got {index}")
        self._nvml, self.index = nvml, index
        self._handle = nvml.nvmlDeviceGetHandleByIndex(index)

    @property
    def name(self) -> str:
        """Model name."""
        name = self._nvml.nvmlDeviceGetName(self._handle)
        return name.decode() if isinstance(name, bytes) else str(name)

    def read(self) -> dict[str, float]:
        """Return the current values; NaN for those the GPU does not report.

        Returns
        -------
        dict of str to float
            ``power_w`` [W], ``temperature_c`` of the die and ``memory_c`` [°C], ``clock_mhz`` of the streaming
            multiprocessors [MHz], ``utilisation`` (share of time with a kernel), and ``power_window_s``, the averaging
            time of power, 0 if instantaneous [s].
        """
        nvml, handle = self._nvml, self._handle
        instant = self._field("NVML_FI_DEV_POWER_INSTANT")
        averaged = math.isnan(instant)
        power_mw = self._query(lambda: nvml.nvmlDeviceGetPowerUsage(handle)) if averaged else instant
        return {
            "power_w": power_mw / 1000,
            "temperature_c": self._query(lambda: nvml.nvmlDeviceGetTemperature(handle, nvml.NVML_TEMPERATURE_GPU)),
            "memory_c": self._field("NVML_FI_DEV_MEMORY_TEMP"),
            "clock_mhz": self._query(lambda: nvml.nvmlDeviceGetClockInfo(handle, nvml.NVML_CLOCK_SM)),
            "utilisation": self._query(lambda: nvml.nvmlDeviceGetUtilizationRates(handle).gpu) / 100,
            "power_window_s": AVERAGED_S if averaged else 0.0,
        }

    def _query(self, call: Callable[[], Any]) -> float:
        """Value of a call to NVML; NaN if it fails."""
        try:
            return float(call())
        except self._nvml.NVMLError:
            return math.nan

    def _field(self, name: str) -> float:
        """Value of an NVML field; NaN if the library, the driver or the GPU does not support it."""
        number = getattr(self._nvml, name, None)
        if number is None:
            return math.nan
        try:
            (value,) = self._nvml.nvmlDeviceGetFieldValues(self._handle, [number])
        except (self._nvml.NVMLError, AttributeError, ValueError):
            return math.nan
        return float(value.value.uiVal) if value.nvmlReturn == 0 and value.value.uiVal else math.nan
