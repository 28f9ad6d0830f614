"""Compiled loops over the bins of a series, where what comes next depends on what was."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from ettr.core import extras

with extras.needed("simulate"):
    from numba import njit

Loop = Callable[..., Any]


def compiled(function: Loop) -> Loop:
    """A loop as machine code, kept for the next process in a folder where there is one that can be written."""
    options = {"nogil": True, "error_model": "numpy"}
    try:
        return njit(function, cache=True, **options)
    except RuntimeError:
        warnings.warn(
            "compiled code cannot be kept, so that each process compiles for some seconds: set NUMBA_CACHE_DIR to a "
            "folder that can be written",
            RuntimeWarning,
            stacklevel=2,
        )
        return njit(function, **options)


@compiled
def floored(
    demand: np.ndarray, floor: float, busy: float, up: float, down: float, hold_bins: int, out: np.ndarray
) -> None:
    """A floor that is kept for a while after the load has gone; below it power moves by at most up and down a bin."""
    now, idle, engaged = demand[0], 0, demand[0] >= busy
    for k in range(demand.size):
        p = demand[k]
        if p >= busy:
            engaged, idle = True, 0
        else:
            idle += 1
        target = p
        if engaged and p < floor:
            if idle <= hold_bins:
                target = floor
            elif now <= p:
                engaged = False
        if target > now:
            now = target if now >= floor else min(target, now + up)
        elif target < floor:
            now = max(target, min(now, floor) - down)
        else:
            now = target
        out[k] = now


@compiled
def filled(
    demand: np.ndarray,
    level: float,
    busy: float,
    cap: float,
    delay_bins: int,
    hold_bins: int,
    step_bins: int,
    n_steps: int,
    out: np.ndarray,
) -> None:
    """A second load that fills up to a level, as the first was some bins ago, and steps down where it stays away."""
    away = hold_bins + step_bins * n_steps + 1  # nothing to fill before the first load has come
    for k in range(demand.size):
        seen = demand[max(k - delay_bins, 0)]
        away = 0 if seen >= busy else away + 1
        fill = 0.0
        if away > 0 or seen < level:
            late = away - hold_bins
            n_down = 0 if late <= 0 else min(n_steps, (late + step_bins - 1) // step_bins)
            fill = max(0.0, level * (n_steps - n_down) / n_steps - seen)
        out[k] = demand[k] + max(0.0, min(fill, cap - demand[k]))


@compiled
def raised_ahead(power: np.ndarray, level: float, up: float) -> None:
    """Power that rises by at most so much a bin up to a level, because what comes is known; in place."""
    for k in range(power.size - 2, -1, -1):
        before = min(power[k + 1], level) - up
        power[k] = max(power[k], before)


@compiled
def buffered(
    power: np.ndarray,
    step_h: float,
    tau_h: float,
    level_mw: float,
    most_mw: float,
    empty_mwh: float,
    full_mwh: float,
    start_mwh: float,
    one_way: float,
    out: np.ndarray,
    stored: np.ndarray,
) -> float:
    """A store that makes the grid see a filter of first order, as far as its power and energy reach; answers losses.

    Its charge is the memory of the filter: the grid is to see a level, less the charge over the time constant. So what
    is lost, or could not be taken, makes the grid give more until the charge is back.
    """
    energy, lost = start_mwh, 0.0
    share = -math.expm1(-step_h / tau_h)
    mean = share * tau_h / step_h  # of what the filter still lacks, over a bin
    for k in range(power.size):
        flow = mean * (level_mw - energy / tau_h - power[k])
        flow = min(max(flow, -most_mw), most_mw)
        if flow > 0.0:
            flow = min(flow, (full_mwh - energy) / (one_way * step_h))
            flow = max(flow, 0.0)
            energy += one_way * flow * step_h
            lost += (1.0 - one_way) * flow * step_h
        else:
            flow = max(flow, (empty_mwh - energy) * one_way / step_h)
            energy += flow * step_h / one_way
            lost -= (1.0 / one_way - 1.0) * flow * step_h
        out[k] = power[k] + flow
        stored[k] = energy
    return lost
