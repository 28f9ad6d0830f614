"""Checks shared by all failure statistics: sorted failure times inside one window, and a confidence level."""

from __future__ import annotations

from typing import Any

import numpy as np

from ettr.core.errors import InputError
from ettr.core.validity import above_zero, at_least_zero

SIGNIFICANT = 0.05
"""Level of every verdict: a p-value below this rejects chance."""

MIN_VERDICT_EVENTS = 20
"""Failures below which there is no verdict on distribution, trend or nodes. [count]"""


def checked_starts(start_h: Any, window_h: float) -> tuple[np.ndarray, float]:
    """Return failure times and their window as floats, after checking both.

    Parameters
    ----------
    start_h : array of float
        Starts of failures since the start of the window, in order. [h]
    window_h : float
        Length of the window. [h]

    Raises
    ------
    InputError
        Times that are not numbers, not in order or outside the window, or a window that is not positive.
    """
    window = float(above_zero("window_h", window_h, unit="h"))
    start = in_order(start_h)
    if start.size and start[-1] > window:
        raise InputError(
            f"start_h must be <= window_h = {window:g} h, got {start[-1]:g}: cut the log or widen the window"
        )
    return start, window


def in_order(start_h: Any) -> np.ndarray:
    """Return failure times as floats, after checking that they are numbers from 0 h on, in order. [h]"""
    start = np.atleast_1d(at_least_zero("start_h", start_h, unit="h"))
    if start.ndim != 1:
        raise InputError(f"start_h must be a list of times, got an array of shape {start.shape}")
    steps_back = np.flatnonzero(np.diff(start) < 0)
    if steps_back.size:
        before, after = start[steps_back[0] : steps_back[0] + 2]
        raise InputError(f"start_h must be in order, got {after:g} h after {before:g} h: sort it")
    return start


def checked_level(level: float) -> float:
    """Return a confidence level, after checking that it lies inside (0, 1)."""
    if not 0 < level < 1:
        raise InputError(f"level must be between 0 and 1, got {level:g}")
    return float(level)
