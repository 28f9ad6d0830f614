"""A GPU as NVIDIA's management library sees it. Nothing here changes a setting."""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable
from types import ModuleType
from typing import Any

from ettr.core import extras
from ettr.core.errors import InputError
from ettr.telemetry.format import AVERAGED_S

NAN = float("nan")


def library(given: ModuleType | None = None) -> Any:
    """The module ``pynvml`` of the package nvidia-ml-py.

    Raises
    ------
    MissingExtra
        It is not installed.
    InputError
        It finds no driver.
    """
    with extras.needed("record"):
        nvml = given or importlib.import_module("pynvml")
    try:
        nvml.nvmlInit()
    except nvml.NVMLError as error:
        raise InputError(f"recording needs an NVIDIA GPU and its driver; NVML says: {error}") from error
    return nvml


class NvmlGpu:
    """One GPU by its index.

    Parameters
    ----------
    nvml : module
        As ``library`` gives it.
    index : int
        As in nvidia-smi.

    Raises
    ------
    InputError
        No such GPU.
    """

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
            return NAN

    def _field(self, name: str) -> float:
        """One of the library's numbered fields; NaN if it, the driver or the GPU does not have it."""
        number = getattr(self._nvml, name, None)
        if number is None:
            return NAN
        try:
            (value,) = self._nvml.nvmlDeviceGetFieldValues(self._handle, [number])
        except (self._nvml.NVMLError, AttributeError, ValueError):
            return NAN
        return float(value.value.uiVal) if value.nvmlReturn == 0 and value.value.uiVal else NAN
