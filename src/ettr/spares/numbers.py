"""What the functions of this room accept."""

from __future__ import annotations

from typing import Any

import numpy as np

from ettr.core.errors import InputError

MOST_NODES = 1e9
"""More than any cluster will have; pools are looked for among fewer."""


def counts(name: str, values: Any, least: int = 0) -> np.ndarray:
    """Check for whole numbers from ``least`` on, and return them as float64."""
    array = _numbers(name, values)
    bad = (array < least) | (array != np.round(array)) | (array > MOST_NODES)
    if bad.any():
        raise InputError(f"{name} must be a whole number from {least} to {MOST_NODES:.0e}, got {array[bad].flat[0]:g}")
    return array


def fraction(name: str, values: Any) -> np.ndarray:
    """Check for fractions from 0 to below 1, and return them as float64."""
    array = _numbers(name, values)
    bad = (array < 0) | (array >= 1)
    if bad.any():
        raise InputError(f"{name} must be >= 0 and < 1, got {array[bad].flat[0]:g}")
    return array


def _numbers(name: str, values: Any) -> np.ndarray:
    try:
        array = np.asarray(values, dtype=float)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} must be a number or an array of numbers, got {values!r}") from error
    if not np.isfinite(array).all():
        raise InputError(f"{name} must be finite, got {array[~np.isfinite(array)].flat[0]:g}")
    return array
