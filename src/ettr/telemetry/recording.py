"""Recording the GPUs of this machine while they run through a plan."""

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
"""The header of what is written; the format ``csv`` of ``telemetry.read`` reads it."""

SHORTEST_S, LONGEST_S = 0.02, 60.0
"""Between two samples: NVML answers in some milliseconds."""


@dataclass(frozen=True)
class Recording:
    """What was written.

    Attributes
    ----------
    path : Path
        The file.
    n_samples : int
        Rows in it.
    length_s : float
        From the first to the last. [s]
    whole : bool
        Whether the plan came to its end; False after Ctrl-C.
    gpus : tuple of str
        Index and name of each GPU.
    """

    path: Path
    n_samples: int
    length_s: float
    whole: bool
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
    """Record power, temperature and clock of this machine's NVIDIA GPUs into a file that ``telemetry.read`` reads.

    The load multiplies matrices for a share of the time that the plan gives, in a process of its own. No setting of
    the GPU is changed: clocks and limits stay as they are. Rows are written as they come, and Ctrl-C keeps them.

    Parameters
    ----------
    path : str or path
        A file that is not there yet.
    steps : sequence of Step or None
        The plan; that of ``telemetry.schedule()`` if not given.
    load : str or object
        ``torch``, or ``none``, which runs nothing and watches what runs anyway; or an object with the methods
        ``duty(share)`` and ``close()``.
    gpu : int or None
        The GPU by its index in nvidia-smi. If not given: the first with a load, all without one.
    interval_s : float
        Time between samples, from 0.02 to 60. [s]
    progress : callable or None
        Called with the step's name, the seconds done and all of them.
    nvml : module or None
        In place of ``pynvml``.
    clock, rest : callable
        The time, and how to wait. [s]

    Returns
    -------
    Recording

    Raises
    ------
    InputError
        A file that is there already, a plan or interval that cannot be, no driver, no such GPU, or no library for the
        load.
    LoadFailed
        The load ended by itself; what was written until then is kept.

    Notes
    -----
    Power is that of an instant where the driver gives it, else NVML's mean of the last second; the column
    ``power_window_s`` says which. The columns are ``timestamp`` (UTC), ``t_s``, ``gpu``, ``power_w``,
    ``temperature_c``, ``memory_c``, ``clock_mhz``, ``utilisation`` (a fraction), ``power_window_s`` and ``step``.
    """
    chosen = tuple(schedule() if steps is None else steps)
    check_steps(chosen)
    target = _target(path)
    if not SHORTEST_S <= interval_s <= LONGEST_S:
        raise InputError(f"interval_s must be from {SHORTEST_S:g} to {LONGEST_S:g} s, got {interval_s:g}")
    named = loads.checked(load) if isinstance(load, str) else "given"
    driver = _library(nvml)
    driven: loads.Load | None = None
    try:
        gpus = _gpus(driver, gpu, named)
        driven = _load(load, named, gpus)
        try:
            with target.open("x", encoding="utf-8", newline="\n") as file:
                run = _Run(file, gpus, driven, interval_s, progress, clock, rest)
                whole = run.through(chosen)
        except OSError as error:
            raise InputError(f"cannot write {target}: {error.strerror or error}") from error
        names = tuple(f"{each.index} {each.name}" for each in gpus)
        return Recording(target, run.n, run.last_s, whole, names)
    finally:
        if driven is not None:
            driven.close()
        with suppress(driver.NVMLError):
            driver.nvmlShutdown()


def _target(path: str | Path) -> Path:
    target = Path(path)
    if target.exists():
        raise InputError(f"a recording is not written over: {target} is there already")
    if not target.parent.is_dir():
        raise InputError(f"cannot write {target}: No such file or directory")
    return target


def _gpus(nvml: Any, gpu: int | None, load: str) -> list[_NvmlGpu]:
    if gpu is not None:
        return [_NvmlGpu(nvml, gpu)]
    n = int(nvml.nvmlDeviceGetCount())
    if n < 1:
        raise InputError("recording needs an NVIDIA GPU; NVML finds none")
    return [_NvmlGpu(nvml, index) for index in range(n if load == "none" else 1)]


def _load(load: str | loads.Load, named: str, gpus: list[_NvmlGpu]) -> loads.Load | None:
    if not isinstance(load, str):
        return load
    if named == "none":
        return None
    if os.environ.get("CUDA_VISIBLE_DEVICES"):
        raise InputError(
            "with a load CUDA_VISIBLE_DEVICES must not be set, as it numbers GPUs otherwise than --gpu; unset it"
        )
    os.environ.setdefault("CUDA_DEVICE_ORDER", "PCI_BUS_ID")  # the order of nvidia-smi, for the child
    return loads.ProcessLoad(gpus[0].index)


@dataclass
class _Run:
    """One way through a plan."""

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
        """Write rows, and say whether the plan came to its end."""
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
                    # samples that were missed are a gap, not a burst
                    due = max(
                        due + self.interval_s, math.floor((self.clock() - begin) / self.interval_s) * self.interval_s
                    )
                self.file.flush()
        except KeyboardInterrupt:
            return False
        return True

    def _sample(self, t_s: float, step: str) -> None:
        for gpu in self.gpus:
            at = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
            written = ",".join("" if math.isnan(value) else f"{value:.6g}" for value in gpu.read().values())
            self.file.write(f"{at},{t_s:.3f},{gpu.index},{written},{harmless(step)}\n")
            self.n += 1
        self.last_s = t_s


def _library(given: Any) -> Any:
    """The module ``pynvml`` of the package nvidia-ml-py, with a driver."""
    with extras.needed("record"):
        nvml = given or importlib.import_module("pynvml")
    try:
        nvml.nvmlInit()
    except nvml.NVMLError as error:
        raise InputError(f"recording needs an NVIDIA GPU and its driver; NVML says: {error}") from error
    return nvml


class _NvmlGpu:
    """One GPU by its index in nvidia-smi, as NVIDIA's library sees it. Nothing here changes a setting."""

    def __init__(self, nvml: Any, index: int) -> None:
        n = int(nvml.nvmlDeviceGetCount())
        if not 0 <= index < n:
            raise InputError(f"--gpu must be from 0 to {n - 1}, as this machine has {n}, got {index}")
        self._nvml, self.index = nvml, index
        self._handle = nvml.nvmlDeviceGetHandleByIndex(index)

    @property
    def name(self) -> str:
        """What the maker calls it."""
        name = self._nvml.nvmlDeviceGetName(self._handle)
        return name.decode() if isinstance(name, bytes) else str(name)

    def read(self) -> dict[str, float]:
        """All of it, now; NaN where it does not answer.

        Returns
        -------
        dict of str to float
            ``power_w`` [W], ``temperature_c`` of the die and ``memory_c`` [°C], ``clock_mhz`` of the streaming
            multiprocessors [MHz], ``utilisation`` (share of time with a kernel), and ``power_window_s``, what power is
            the mean of; 0 for an instant [s].
        """
        nvml, handle = self._nvml, self._handle
        instant = self._field("NVML_FI_DEV_POWER_INSTANT")
        averaged = math.isnan(instant)
        power_mw = self._ask(lambda: nvml.nvmlDeviceGetPowerUsage(handle)) if averaged else instant
        return {
            "power_w": power_mw / 1000,
            "temperature_c": self._ask(lambda: nvml.nvmlDeviceGetTemperature(handle, nvml.NVML_TEMPERATURE_GPU)),
            "memory_c": self._field("NVML_FI_DEV_MEMORY_TEMP"),
            "clock_mhz": self._ask(lambda: nvml.nvmlDeviceGetClockInfo(handle, nvml.NVML_CLOCK_SM)),
            "utilisation": self._ask(lambda: nvml.nvmlDeviceGetUtilizationRates(handle).gpu) / 100,
            "power_window_s": AVERAGED_S if averaged else 0.0,
        }

    def _ask(self, question: Callable[[], Any]) -> float:
        try:
            return float(question())
        except self._nvml.NVMLError:
            return math.nan

    def _field(self, name: str) -> float:
        """One of the library's numbered fields; NaN if it, the driver or the GPU does not have it."""
        number = getattr(self._nvml, name, None)
        if number is None:
            return math.nan
        try:
            (value,) = self._nvml.nvmlDeviceGetFieldValues(self._handle, [number])
        except (self._nvml.NVMLError, AttributeError, ValueError):
            return math.nan
        return float(value.value.uiVal) if value.nvmlReturn == 0 and value.value.uiVal else math.nan
