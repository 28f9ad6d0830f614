"""The GPU's make as a recording names it, held against the base GPU."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from ettr.core.errors import InputError

if TYPE_CHECKING:
    from ettr.scenario.gpu import Gpu
    from ettr.telemetry.format import Telemetry

_KNOWN = re.compile(r"(?<![A-Z0-9])(GB300|GB200|B200|H200|H100|A100)(?![0-9])")
_INSTANT = "a100"
"""The GPU whose power is that of an instant, where others since Ampere give a mean."""
OF_NVML = ("nvidia-smi", "dcgm")
"""Formats whose power is as NVML gives it."""
_MOST_SHOWN = 6


def preset_of(text: str) -> str:
    """The preset that a name of a GPU is of; empty if of none."""
    match = _KNOWN.search(text.upper())
    return match[1].lower() if match else ""


def base_of(gpu: Gpu) -> str:
    """The preset that a GPU is, or was made from by its name or title; empty if that cannot be said."""
    return preset_of(gpu.name) or preset_of(gpu.title)


def check_one(models: Mapping[str, str], source: str) -> None:
    """Refuse GPUs of several makes: their mean is of none.

    Raises
    ------
    InputError
        More than one model; the message says which GPUs are which.
    """
    names = list(dict.fromkeys(models.values()))
    if len(names) < 2:
        return
    listed = "; ".join(f"{name}: {_some([gpu for gpu in models if models[gpu] == name])}" for name in names)
    raise InputError(
        f"{source} holds {len(names)} models of GPU, and a fit is of one: name one GPU with --gpu ({listed})"
    )


def notes(models: Mapping[str, str], base: Gpu) -> list[str]:
    """The recorded model, and that the base GPU is another."""
    name = next(iter(models.values()), "")
    if not name:
        return []
    own, theirs = base_of(base), preset_of(name)
    if theirs and own and theirs != own:
        return [f"the file says {name}, and the base GPU is {base.title}: give --part {theirs}"]
    known = "" if theirs else ", which no preset describes"
    return [f"the file says {name}{known}"]


def window_s(telemetry: Telemetry, models: Mapping[str, str], base: Gpu) -> float:
    """What a reading of power is the mean of, by the format and by the make of the GPU [s]."""
    make = preset_of(next(iter(models.values()), "")) or base_of(base)
    return 0.0 if telemetry.format in OF_NVML and make == _INSTANT else telemetry.power_window_s


def _some(gpus: list[str]) -> str:
    more = f" and {len(gpus) - _MOST_SHOWN} more" if len(gpus) > _MOST_SHOWN else ""
    return ", ".join(gpus[:_MOST_SHOWN]) + more
