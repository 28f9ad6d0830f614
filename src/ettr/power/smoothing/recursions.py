"""Compiled loops over the bins of a series, where each bin depends on the previous ones."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ettr.core.compiled import cached

Loop = Callable[..., Any]


def compiled(function: Loop) -> Loop:
    """Compile a loop to machine code, and cache it on disk if a writable folder exists."""
    return cached(function, nogil=True, error_model="numpy")


@compiled
def floored(
    demand: np.ndarray, floor: float, busy: float, up: float, down: float, hold_bins: int, out: np.ndarray
) -> None:
    """Apply a floor that holds for some bins after the load stops; below it power moves by up or down per bin."""
    power, idle, engaged = demand[0], 0, demand[0] >= busy
    for k in range(demand.size):
        p = demand[k]
        # The floor engages with a busy bin, and disengages after the hold once power has ramped down to the demand.
        if p >= busy:
            engaged, idle = True, 0
        else:
            idle += 1
        target = p
        if engaged and p < floor:
            if idle <= hold_bins:
                target = floor
            elif power <= p:
                engaged = False
        # Power follows the target at once above the floor, and along the ramps below it.
        if target > power:
            power = target if power >= floor else min(target, power + up)
        elif target < floor:
            power = max(target, min(power, floor) - down)
        else:
            power = target
        out[k] = power


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
    """Add a secondary load that fills up to a level after a delay, and steps down if the job stays away."""
    away = hold_bins + step_bins * n_steps + 1  # nothing to fill before the job has started
    for k in range(demand.size):
        measured = demand[max(k - delay_bins, 0)]
        away = 0 if measured >= busy else away + 1
        fill = 0.0
        if away > 0 or measured < level:
            overdue = away - hold_bins
            n_down = 0 if overdue <= 0 else min(n_steps, (overdue + step_bins - 1) // step_bins)
            fill = max(0.0, level * (n_steps - n_down) / n_steps - measured)
        out[k] = demand[k] + max(0.0, min(fill, cap - demand[k]))


@compiled
def raised_ahead(power: np.ndarray, level: float, up: float) -> None:
    """Raise power ahead of announced starts, so that it rises by at most up per bin below a level; in place."""
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
    """Apply a store that acts as a first-order filter, within its power and energy; return the losses. [MWh]

    The charge E is the state of the filter: the grid supplies level - E/tau. After losses, or if the store could not
    absorb all, the grid therefore supplies more until the charge has recovered.
    """
    energy, lost = start_mwh, 0.0
    share = -math.expm1(-step_h / tau_h)
    mean = share * tau_h / step_h  # mean over a bin of the filter's exponential response, (1 - exp(-dt/tau)) tau/dt
    for k in range(power.size):
        # Flow into the store, limited by its power, and by the room or the charge that it has.
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
