"""Temperatures that air and machines can have; others are slips or sentinels."""

from __future__ import annotations

from typing import Any

import numpy as np

from ettr.core.errors import InputError

AIR_C = -90.0, 60.0
"""Beyond what was ever measured outdoors. [°C]"""
MACHINE_C = -60.0, 150.0
"""Outside these no machine works. [°C]"""
_ZERO_C_IN_K = 273.15


def air_c(name: str, values: Any) -> np.ndarray:
    """Check for temperatures of outdoor air and return them as float64. [°C]"""
    return _between(name, values, *AIR_C)


def machine_c(name: str, values: Any) -> np.ndarray:
    """Check for temperatures of a working machine and return them as float64. [°C]"""
    return _between(name, values, *MACHINE_C)


def machine_k(name: str, values: Any) -> np.ndarray:
    """Check for temperatures of a working machine in °C and return them in kelvins. [K]"""
    return np.asarray(machine_c(name, values) + _ZERO_C_IN_K)


def _between(name: str, values: Any, low: float, high: float) -> np.ndarray:
    try:
        array = np.asarray(values, dtype=float)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} must be a number or an array of numbers, got {values!r}") from error
    bad = ~((array >= low) & (array <= high))
    if bad.any():
        raise InputError(f"{name} must be from {low:g} to {high:g} °C, got {array[bad].flat[0]:g}")
    return array
