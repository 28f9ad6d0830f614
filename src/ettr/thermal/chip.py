"""One chip at work: power, temperature, leakage and clock, which depend on each other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ettr.core.errors import InputError
from ettr.core.validity import above_zero, at_least_zero, machine_c, plain, valid_only

CLOCK, POWER, HEAT, MEMORY = "clock", "power", "heat", "memory"
"""What keeps the clock from rising: its own limit, the power limit, the die's temperature, or the memory's."""


@dataclass(frozen=True)
class Chip:
    """What a chip's operating point depends on, as plain numbers.

    Attributes
    ----------
    limit_w : float
        Power limit. [W]
    throttle_c : float
        Die temperature that is kept by lower clocks. [°C]
    memory_c : float
        Memory temperature that is kept by lower clocks; infinite if unknown. [°C]
    resistance_k_per_w : float
        Warming of the die over its inlet, per watt. [K/W]
    memory_resistance_k_per_w : float
        Warming of the memory over the inlet, per watt of the GPU; 0 if unknown. [K/W]
    highest_mhz, sustained_mhz : float
        Clock never exceeded, and that of dense compute at the power limit and ``leakage_at_c``. [MHz]
    exponent : float
        k in dynamic power = a clock^k.
    leakage_w, leakage_at_c, leakage_rise_k : float
        Leakage, where it is that, and the warming after which it is e times as much. [W], [°C], [K]
    """

    limit_w: float
    throttle_c: float
    memory_c: float
    resistance_k_per_w: float
    memory_resistance_k_per_w: float
    highest_mhz: float
    sustained_mhz: float
    exponent: float
    leakage_w: float
    leakage_at_c: float
    leakage_rise_k: float

    def __post_init__(self) -> None:
        for name in ("limit_w", "resistance_k_per_w", "highest_mhz", "sustained_mhz", "exponent", "leakage_rise_k"):
            above_zero(name, getattr(self, name))
        for name in ("memory_resistance_k_per_w", "leakage_w"):
            at_least_zero(name, getattr(self, name))
        if self.leakage_w >= self.limit_w:
            raise InputError(f"leakage_w must be < {self.limit_w:g} W, the limit_w, got {self.leakage_w:g}")


@dataclass(frozen=True)
class OperatingPoint:
    """Where a chip settles; every field has the shape of the inlet temperatures.

    Attributes
    ----------
    power_w : float or ndarray
        Mean power in dense compute. [W]
    die_c, memory_c : float or ndarray
        Temperatures; the memory's is the inlet's where its resistance is unknown. [°C]
    leakage_w : float or ndarray
        Part of the power that computes nothing. [W]
    clock_mhz : float or ndarray
        Clock. [MHz]
    limited_by : str or ndarray of str
        What keeps the clock from rising: ``clock``, ``power``, ``heat`` or ``memory``.
    """

    power_w: Any
    die_c: Any
    memory_c: Any
    leakage_w: Any
    clock_mhz: Any
    limited_by: Any


def operating_point(inlet_c: Any, chip: Chip, resistance_factor: Any = 1.0) -> OperatingPoint:
    r"""Where dense compute settles: the highest clock that all limits allow.

    Parameters
    ----------
    inlet_c : float or ndarray
        Air or liquid before the GPU. [°C]
    chip : Chip
        The chip.
    resistance_factor : float or ndarray
        Thermal resistances over those of the mean chip.

    Returns
    -------
    OperatingPoint
        Broadcast shape of ``inlet_c`` and ``resistance_factor``.

    Raises
    ------
    InputError
        A temperature at which no machine works, or a factor that is not positive.
    OutsideValidity
        A single inlet so warm that no power is left to compute with. In an array that place is NaN, with one warning.

    Notes
    -----
    Allowed power: :math:`P = \min(P_{max}, (T_{max} - T_{in})/R, (T_{mem} - T_{in})/R_{mem})`, and none from which
    another watt would leak away by more than itself: above :math:`P_l(T) = T_s/R` no clock is stable, and more power
    computes less. The rest after leakage sets the clock, :math:`P - P_l(T) = a f^k`. If that is over the highest clock
    the GPU draws less than allowed: the power :math:`P = A + P_l(T_{in} + R P)` at that clock has a closed form in
    Lambert's W, whose lower branch is the stable one. A cooler chip leaks less and so clocks higher at the same power
    limit: that is how heat costs throughput long before a GPU throttles.

    Examples
    --------
    >>> chip = Chip(700, 87, 95, 0.07, 0.08, 1980, 1600, 2.6, 90, 74, 36)
    >>> point = operating_point(25.0, chip)
    >>> point.die_c, round(point.clock_mhz), point.limited_by
    (74.0, 1600, 'power')
    >>> operating_point(45.0, chip).limited_by
    'heat'
    """
    inlet, factor = np.broadcast_arrays(
        machine_c("inlet_c", inlet_c), above_zero("resistance_factor", resistance_factor)
    )
    resistance, of_memory = factor * chip.resistance_k_per_w, factor * chip.memory_resistance_k_per_w
    with np.errstate(divide="ignore", invalid="ignore"):
        by_memory = np.where(of_memory > 0, (chip.memory_c - inlet) / of_memory, np.inf)
    warmest = np.minimum(chip.throttle_c, _runaway_c(resistance, chip))
    allowed = np.stack([np.full(inlet.shape, chip.limit_w), (warmest - inlet) / resistance, by_memory])
    power, which = allowed.min(axis=0), allowed.argmin(axis=0)
    coefficient = (chip.limit_w - chip.leakage_w) / chip.sustained_mhz**chip.exponent
    dynamic = power - _leak(inlet + resistance * power, chip)
    cold = dynamic <= 0
    clock = (np.maximum(dynamic, 0.0) / coefficient) ** (1 / chip.exponent)
    full = coefficient * chip.highest_mhz**chip.exponent
    free = clock >= chip.highest_mhz
    power = np.where(free, _power_at(full, inlet, resistance, chip), power)
    clock = np.where(free, chip.highest_mhz, clock)
    die = inlet + resistance * power
    limited_by = np.where(free, CLOCK, np.array([POWER, HEAT, MEMORY])[which])

    def checked(values: Any) -> Any:
        return valid_only("the operating point", "an inlet that leaves power to compute with", values, cold)

    return OperatingPoint(
        power_w=checked(power),
        die_c=_silent(die, cold),
        memory_c=_silent(inlet + of_memory * power, cold),
        leakage_w=_silent(_leak(die, chip), cold),
        clock_mhz=_silent(clock, cold),
        limited_by=str(limited_by) if limited_by.ndim == 0 else limited_by,
    )


def speed(clock: Any, reference: Any, compute_share: Any) -> Any:
    r"""Throughput at a clock over that at another.

    Parameters
    ----------
    clock, reference : float or ndarray
        The two clocks. [MHz]
    compute_share : float or ndarray
        Share of a step, at the reference, that gets shorter as the clock rises; the rest is memory and network.

    Returns
    -------
    float or ndarray
        Broadcast shape.

    Raises
    ------
    InputError
        A clock that is not positive and finite, or a share outside [0, 1].

    Notes
    -----
    :math:`1/(\beta f_0/f + 1 - \beta)`.

    Examples
    --------
    >>> round(speed(0.9857, 1.0, 0.8), 4)
    0.9885
    """
    share = at_least_zero("compute_share", compute_share)
    if np.any(share > 1):
        raise InputError(f"compute_share must be <= 1, got {share.max():g}")
    slower = above_zero("reference", reference, unit="MHz") / above_zero("clock", clock, unit="MHz")
    return plain(1 / (share * slower + 1 - share))


def _leak(die: np.ndarray, chip: Chip) -> np.ndarray:
    return np.asarray(chip.leakage_w * np.exp((die - chip.leakage_at_c) / chip.leakage_rise_k))


def _runaway_c(resistance: np.ndarray, chip: Chip) -> np.ndarray:
    """Die temperature above which leakage grows by more than the power that warms it. [°C]"""
    if chip.leakage_w == 0:
        return np.full(np.shape(resistance), np.inf)
    steepness = chip.leakage_rise_k / (resistance * chip.leakage_w)
    return np.asarray(chip.leakage_at_c + chip.leakage_rise_k * np.log(steepness))


def _power_at(dynamic_w: float, inlet: np.ndarray, resistance: np.ndarray, chip: Chip) -> np.ndarray:
    """Power that settles at a constant dynamic power, leakage included. [W]"""
    from scipy.special import lambertw  # here, as a scenario without heat needs none of it

    rise = chip.leakage_rise_k
    with np.errstate(over="ignore"):  # infinite, and cut in the next line
        argument = resistance * _leak(inlet + resistance * dynamic_w, chip) / rise
    branch = np.minimum(argument, np.exp(-1))  # beyond it nothing settles, and the caller does not use the answer
    return np.asarray(dynamic_w - rise / resistance * lambertw(-branch).real)


def _silent(values: np.ndarray, outside: np.ndarray) -> Any:
    return plain(np.where(outside, np.nan, values) if np.any(outside) else values)
