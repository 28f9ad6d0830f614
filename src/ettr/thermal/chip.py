"""Operating point of a chip: power, temperature, leakage and clock, which depend on each other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ettr.core.errors import InputError
from ettr.core.validity import above_zero, at_least_zero, machine_c, plain, valid_only

CLOCK, POWER, HEAT, MEMORY = "clock", "power", "heat", "memory"
"""The limit that holds the clock: highest clock, power limit, die temperature, or memory temperature."""


@dataclass(frozen=True)
class Chip:
    """Electrical and thermal properties of a chip that set its operating point.

    Attributes
    ----------
    limit_w : float
        Power limit. [W]
    throttle_c : float
        Die temperature at which the clock is throttled. [°C]
    memory_c : float
        Memory temperature at which the clock is throttled; infinite if unknown. [°C]
    resistance_k_per_w : float
        Thermal resistance from die to inlet. [K/W]
    memory_resistance_k_per_w : float
        Thermal resistance from memory to inlet, per watt of the whole GPU; 0 if unknown. [K/W]
    highest_mhz, sustained_mhz : float
        Highest clock, and clock of dense compute at the power limit with the die at ``leakage_at_c``. [MHz]
    exponent : float
        k in dynamic power = a clock^k.
    leakage_w, leakage_at_c, leakage_rise_k : float
        Leakage at a reference temperature, that temperature, and the rise that multiplies leakage by e.
        [W], [°C], [K]
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
    """Steady state of a chip; every field has the shape of the inlet temperatures.

    Attributes
    ----------
    power_w : float or ndarray
        Mean power in dense compute. [W]
    die_c, memory_c : float or ndarray
        Die and memory temperature; the memory is at inlet temperature if its resistance is unknown. [°C]
    leakage_w : float or ndarray
        Leakage, the part of the power that does no computing. [W]
    clock_mhz : float or ndarray
        Clock. [MHz]
    limited_by : str or ndarray of str
        The limit that holds the clock: ``clock``, ``power``, ``heat`` or ``memory``.
    """

    power_w: Any
    die_c: Any
    memory_c: Any
    leakage_w: Any
    clock_mhz: Any
    limited_by: Any


def operating_point(inlet_c: Any, chip: Chip, resistance_factor: Any = 1.0) -> OperatingPoint:
    r"""Return the steady state of a chip in dense compute, at the highest clock that all limits allow.

    Parameters
    ----------
    inlet_c : float or ndarray
        Temperature of the air or liquid entering the GPU. [°C]
    chip : Chip
        The chip.
    resistance_factor : float or ndarray
        Thermal resistances relative to the mean chip.

    Returns
    -------
    OperatingPoint
        Broadcast shape of ``inlet_c`` and ``resistance_factor``.

    Raises
    ------
    InputError
        If a temperature is outside the range of machines, or a factor is not positive.
    OutsideValidity
        If a single inlet is so warm that leakage takes all the power. In an array that element is NaN, with one
        warning.

    Notes
    -----
    Allowed power: :math:`P = \min(P_{max}, (T_{max} - T_{in})/R, (T_{mem} - T_{in})/R_{mem})`, and never beyond
    thermal runaway: above :math:`P_l(T) = T_s/R` each extra watt raises leakage by more than a watt, so no clock is
    stable. The power left after leakage sets the clock, :math:`P - P_l(T) = a f^k`. If that exceeds the highest clock,
    the GPU draws less than allowed: at that clock with dynamic power A, :math:`P = A + P_l(T_{in} + R P)` has a closed
    form in Lambert's W, whose principal branch is the stable solution. A cooler chip leaks less and clocks higher at
    the same power limit: this is how heat costs throughput long before a GPU throttles.

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
    resistance, memory_resistance = factor * chip.resistance_k_per_w, factor * chip.memory_resistance_k_per_w
    # Allowed power: the smallest of the power limit and (T_max - T_in)/R of the die and the memory.
    with np.errstate(divide="ignore", invalid="ignore"):
        memory_limit_w = np.where(memory_resistance > 0, (chip.memory_c - inlet) / memory_resistance, np.inf)
    hottest_c = np.minimum(chip.throttle_c, _runaway_c(resistance, chip))
    limits_w = np.stack([np.full(inlet.shape, chip.limit_w), (hottest_c - inlet) / resistance, memory_limit_w])
    power, lowest = limits_w.min(axis=0), limits_w.argmin(axis=0)
    # Clock from dynamic power: P - P_l(T) = a f^k, with a from the sustained clock at the power limit.
    coefficient = (chip.limit_w - chip.leakage_w) / chip.sustained_mhz**chip.exponent
    dynamic = power - _leakage(inlet + resistance * power, chip)
    no_power = dynamic <= 0
    clock = (np.maximum(dynamic, 0.0) / coefficient) ** (1 / chip.exponent)
    # At the highest clock the power is no longer set by a limit: solve P = A + P_l(T_in + R P) with A = a f_max^k.
    at_highest = clock >= chip.highest_mhz
    highest_dynamic_w = coefficient * chip.highest_mhz**chip.exponent
    power = np.where(at_highest, _power_at(highest_dynamic_w, inlet, resistance, chip), power)
    clock = np.where(at_highest, chip.highest_mhz, clock)
    die = inlet + resistance * power
    limited_by = np.where(at_highest, CLOCK, np.array([POWER, HEAT, MEMORY])[lowest])

    def checked(values: Any) -> Any:
        return valid_only("the operating point", "an inlet that leaves power to compute with", values, no_power)

    return OperatingPoint(
        power_w=checked(power),
        die_c=_nan_where(no_power, die),
        memory_c=_nan_where(no_power, inlet + memory_resistance * power),
        leakage_w=_nan_where(no_power, _leakage(die, chip)),
        clock_mhz=_nan_where(no_power, clock),
        limited_by=str(limited_by) if limited_by.ndim == 0 else limited_by,
    )


def speed(clock: Any, reference: Any, compute_share: Any) -> Any:
    r"""Return throughput at a clock, relative to throughput at a reference clock.

    Parameters
    ----------
    clock, reference : float or ndarray
        Clock and reference clock. [MHz]
    compute_share : float or ndarray
        Share of a step that is compute at the reference clock, and so scales with the clock; the rest is memory and
        network.

    Returns
    -------
    float or ndarray
        Broadcast shape.

    Raises
    ------
    InputError
        If a clock is not positive and finite, or the share is outside [0, 1].

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
    slowdown = above_zero("reference", reference, unit="MHz") / above_zero("clock", clock, unit="MHz")
    return plain(1 / (share * slowdown + 1 - share))


def _leakage(die: np.ndarray, chip: Chip) -> np.ndarray:
    """Leakage at a die temperature, P_l(T) = P_0 exp((T - T_0)/T_s). [W]"""
    return np.asarray(chip.leakage_w * np.exp((die - chip.leakage_at_c) / chip.leakage_rise_k))


def _runaway_c(resistance: np.ndarray, chip: Chip) -> np.ndarray:
    """Die temperature at thermal runaway, where R dP_l/dT = 1: T = T_0 + T_s ln(T_s / (R P_0)). [°C]"""
    if chip.leakage_w == 0:
        return np.full(np.shape(resistance), np.inf)
    steepness = chip.leakage_rise_k / (resistance * chip.leakage_w)
    return np.asarray(chip.leakage_at_c + chip.leakage_rise_k * np.log(steepness))


def _power_at(dynamic_w: float, inlet: np.ndarray, resistance: np.ndarray, chip: Chip) -> np.ndarray:
    """Power at a constant dynamic power, leakage included: P = A - (T_s/R) W(-R P_l(T_in + R A) / T_s). [W]"""
    from scipy.special import lambertw  # imported here because a scenario without heat does not need SciPy

    rise = chip.leakage_rise_k
    with np.errstate(over="ignore"):  # an infinite argument is cut in the next line
        argument = resistance * _leakage(inlet + resistance * dynamic_w, chip) / rise
    branch = np.minimum(argument, np.exp(-1))  # no steady state beyond 1/e; the caller ignores the result
    return np.asarray(dynamic_w - rise / resistance * lambertw(-branch).real)


def _nan_where(outside: np.ndarray, values: np.ndarray) -> Any:
    """Values with NaN where no steady state exists."""
    return plain(np.where(outside, np.nan, values) if np.any(outside) else values)
