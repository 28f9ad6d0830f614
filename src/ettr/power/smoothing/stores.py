"""Energy stores between load and grid: storage in each rack, or a battery for the job."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ettr.core.errors import InputError
from ettr.core.units import H_PER_YEAR, KWH_PER_MWH, LAST_DIGITS, S_PER_H, W_PER_MW
from ettr.core.validity import above_zero
from ettr.power.bills import J_PER_MWH
from ettr.power.binning import PowerSeries
from ettr.power.smoothing.option import ENOUGH, Option, Sized, Smoothed, Target, in_three_digits, option_figure

_LONGEST_S, _CLOSE = 86_400.0, 1e-3
_SMALLEST = 1e-9
"""Size of a store for a load that needs none."""
_PASSES = 4
"""Iterations for the initial charge: one is exact without losses, each further one gains a factor of ten."""


class EnergyStore(Option):
    """Option that absorbs swings in an energy store.

    Attributes
    ----------
    efficiency : float
        Round-trip efficiency, in (0, 1].
    tau_s : float or None
        Time constant of the filter at the grid; by default the one at which the store absorbs the largest swing. [s]
    """

    efficiency: float
    tau_s: float | None

    def __post_init__(self) -> None:
        above_zero("efficiency", self.efficiency)
        if self.efficiency > 1:
            raise InputError(f"efficiency must be <= 1, got {self.efficiency:g}")

    def _between(self, series: PowerSeries, power_mw: float, energy_mwh: float, **costs: Any) -> Smoothed:
        """The series behind the store; the grid sees the bare load while the store is full or empty."""
        tau_s = self.tau_s or _filter_for(series, energy_mwh)
        store = behind_store(series, tau_s, power_mw, energy_mwh, self.efficiency)
        return Smoothed(
            self.name,
            series,
            series.with_power(store.after_mw),
            store.lost_mwh,
            stored_mwh=float(store.stored_mwh[-1]) - store.start_mwh,
            full_cycles_per_year=store.delivered_mwh / energy_mwh / (series.duration_h / H_PER_YEAR),
            **costs,
        )


@dataclass(frozen=True)
class RackStorage(EnergyStore):
    """Energy storage in the power supplies or the racks.

    Attributes
    ----------
    energy_j : float
        Energy per GPU. [J]
    power_w : float
        Maximum charge and discharge power per GPU. [W]
    efficiency : float
        Round-trip efficiency, in (0, 1].
    tau_s : float or None
        Time constant of the filter at the grid; by default the one at which the store absorbs the largest swing. [s]

    Examples
    --------
    >>> RackStorage.published(rated_w=700.0).energy_j
    65.0
    """

    name, unit = "rack storage", "J/GPU"
    energy_j: float
    power_w: float
    efficiency: float
    tau_s: float | None = None

    @classmethod
    def published(cls, rated_w: float) -> RackStorage:
        """Return the option with its published figures, for a GPU of a rated power."""
        return cls(
            energy_j=option_figure("rack_storage", "energy_j"),
            power_w=option_figure("rack_storage", "power_share") * rated_w,
            efficiency=option_figure("rack_storage", "efficiency"),
        )

    @property
    def size(self) -> float:
        """Energy per GPU. [J]"""
        return self.energy_j

    def smooth(self, series: PowerSeries) -> Smoothed:
        """Put a store between each GPU and the grid; its price is not published."""
        n_gpus = self.profile_of(series).n_gpus
        return self._between(
            series,
            self.power_w * n_gpus / W_PER_MW,
            self.energy_j * n_gpus / J_PER_MWH,
            life_years=option_figure("rack_storage", "life_years"),
            notes=("its price is not published; power and efficiency are assumed",),
        )

    @classmethod
    def sized(cls, series: PowerSeries, target: Target) -> Sized:
        """Return the energy and power of the shortest filter that meets a target."""
        profile = cls.profile_of(series)
        published = cls.published(profile.rated_w)
        tau_s, store = _shortest_filter(series, target, published.efficiency)
        if store is None:
            return _no_filter(cls.name, series, target)
        power_w = _power_mw(store, series) / profile.n_gpus * W_PER_MW
        needed_j = _capacity_mwh(store) / profile.n_gpus * J_PER_MWH
        smoothing = profile.smoothing
        available_j = smoothing.storage_j if smoothing and smoothing.storage_j else published.energy_j
        why = ""
        if power_w > published.power_w * ENOUGH:
            why = f"it needs {in_three_digits(power_w)} W per GPU, and {published.power_w:g} W per GPU are assumed"
        elif needed_j > available_j * ENOUGH:
            why = f"it needs {in_three_digits(needed_j)} J per GPU, and racks store {available_j:g} J per GPU"
        return replace(published, energy_j=max(needed_j, _SMALLEST), tau_s=tau_s).against(series, target, why=why)


@dataclass(frozen=True)
class Battery(EnergyStore):
    """Battery with its converter, for the job as a whole.

    Attributes
    ----------
    power_mw, energy_mwh : float
        Maximum charge and discharge power, and capacity. [MW], [MWh]
    efficiency : float
        Round-trip efficiency, in (0, 1].
    c_rate_per_h : float
        Maximum power divided by capacity. [1/h]
    usd_per_kwh : float
        Price. [USD/kWh]
    tau_s : float or None
        Time constant of the filter at the grid; by default the one at which the battery absorbs the largest swing. [s]

    Raises
    ------
    InputError
        If the capacity is too small for the power at the C-rate.

    Examples
    --------
    >>> Battery.published(power_mw=4.0).energy_mwh  # the smallest capacity at 1 C
    4.0
    """

    name, unit = "battery", "MWh"
    power_mw: float
    energy_mwh: float
    efficiency: float
    c_rate_per_h: float
    usd_per_kwh: float
    tau_s: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.power_mw > self.c_rate_per_h * self.energy_mwh * (1 + LAST_DIGITS):
            raise InputError(
                f"energy_mwh must be >= {self.power_mw / self.c_rate_per_h:g} MWh for {self.power_mw:g} MW at "
                f"c_rate_per_h {self.c_rate_per_h:g}, got {self.energy_mwh:g}"
            )

    @classmethod
    def published(cls, power_mw: float, energy_mwh: float | None = None) -> Battery:
        """Return a battery with the published figures; by default with the smallest capacity for its power."""
        rate = option_figure("battery", "c_rate_per_h")
        return cls(
            power_mw=power_mw,
            energy_mwh=power_mw / rate if energy_mwh is None else energy_mwh,
            efficiency=option_figure("battery", "efficiency"),
            c_rate_per_h=rate,
            usd_per_kwh=option_figure("battery", "cost_usd_per_kwh"),
        )

    @property
    def size(self) -> float:
        """Capacity. [MWh]"""
        return self.energy_mwh

    def smooth(self, series: PowerSeries) -> Smoothed:
        """Put a battery between load and grid; its life ends with its cycles or its age, whichever is first."""
        smoothed = self._between(
            series,
            self.power_mw,
            self.energy_mwh,
            capital_usd=self.energy_mwh * KWH_PER_MWH * self.usd_per_kwh,
            life_years=option_figure("battery", "life_years"),
            notes=("efficiency, C-rate and life are assumed",),
        )
        cycles = smoothed.full_cycles_per_year
        if not cycles or smoothed.life_years is None:
            return smoothed
        cycle_life_years = option_figure("battery", "full_cycles") / cycles
        return replace(smoothed, life_years=min(smoothed.life_years, cycle_life_years))

    @classmethod
    def sized(cls, series: PowerSeries, target: Target) -> Sized:
        """Return the power and capacity of the shortest filter that meets a target."""
        tau_s, store = _shortest_filter(series, target, option_figure("battery", "efficiency"))
        if store is None:
            return _no_filter(cls.name, series, target)
        battery = cls.published(max(_power_mw(store, series), _SMALLEST))  # the capacity that its C-rate needs
        energy_mwh = max(battery.energy_mwh, _capacity_mwh(store))
        return replace(battery, energy_mwh=energy_mwh, tau_s=tau_s).against(series, target)


def _filter_for(series: PowerSeries, energy_mwh: float) -> float:
    """Time constant at which a store absorbs the largest swing of a series: a filter stores tau times the swing. [s]"""
    swing_mw = float(np.ptp(series.power_mw))
    return energy_mwh / swing_mw * S_PER_H if swing_mw > 0 else series.step_s


def _power_mw(store: Buffered, series: PowerSeries) -> float:
    """Highest charge or discharge power of a store. [MW]"""
    return float(np.abs(store.after_mw - series.power_mw).max())


def _capacity_mwh(store: Buffered) -> float:
    """Range of a store's charge, the capacity at which it is never full or empty. [MWh]"""
    return float(np.ptp(np.append(store.stored_mwh, store.start_mwh))) * ENOUGH


def _no_filter(name: str, series: PowerSeries, target: Target) -> Sized:
    """Result if no time constant meets the target."""
    why = f"even a filter of {_LONGEST_S / S_PER_H:g} h does not meet the target"
    return Sized(name, False, None, None, target.load(series), why)


def _shortest_filter(series: PowerSeries, target: Target, efficiency: float) -> tuple[float, Buffered | None]:
    """The shortest time constant that meets a target with unlimited power and energy, by bisection of log tau."""

    def store_if_met(tau_s: float) -> Buffered | None:
        store = behind_store(series, tau_s, efficiency=efficiency)
        return store if target.load(series.with_power(store.after_mw)) <= 1 else None

    low, high = series.step_s / 100, _LONGEST_S
    best = store_if_met(high)
    if best is None:
        return high, None
    while high / low > 1 + _CLOSE:
        middle = float(np.sqrt(low * high))
        store = store_if_met(middle)
        if store is None:
            low = middle
        else:
            high, best = middle, store
    return high, best


@dataclass(frozen=True)
class Buffered:
    """Power series behind an energy store.

    Attributes
    ----------
    after_mw : ndarray
        Power at the grid. [MW]
    stored_mwh : ndarray
        Energy in the store at the end of each bin. [MWh]
    start_mwh : float
        Energy in the store at the start. [MWh]
    lost_mwh : float
        Losses of charging and discharging. [MWh]
    """

    after_mw: np.ndarray
    stored_mwh: np.ndarray
    start_mwh: float
    lost_mwh: float

    @property
    def delivered_mwh(self) -> float:
        """Energy discharged from the store. [MWh]"""
        change = np.diff(self.stored_mwh, prepend=self.start_mwh)
        return float(-change[change < 0].sum())


def behind_store(
    series: PowerSeries, tau_s: float, power_mw: float = math.inf, energy_mwh: float = math.inf, efficiency: float = 1.0
) -> Buffered:
    """Return a series behind an energy store that acts as a first-order filter, within the limits of the store.

    Parameters
    ----------
    series : PowerSeries
        Power of the load.
    tau_s : float
        Time constant of the filter. [s]
    power_mw, energy_mwh : float
        Power and capacity of the store; infinite for no limit. [MW], [MWh]
    efficiency : float
        Round-trip efficiency, with equal losses of charging and discharging.

    Returns
    -------
    Buffered
        Periodic steady state: the load repeats like the series, so that the result does not depend on where in a step
        the series starts, and losses are replaced. The charge of an unlimited store counts from 0; a limited store is
        centred on the range of the unlimited one.

    Notes
    -----
    Without limits and losses, the charge is the time constant times the difference of the filtered load from its mean:
    for a square wave filtered to a share x of its swing, the store needs x times swing times time constant.
    """
    from ettr.power.smoothing.recursions import buffered

    one_way, tau_h, step_h = math.sqrt(efficiency), tau_s / S_PER_H, series.step_s / S_PER_H
    after, stored = np.empty_like(series.power_mw), np.empty_like(series.power_mw)

    def run(start_mwh: float, empty_mwh: float = -math.inf, full_mwh: float = math.inf) -> float:
        level_mw = float(series.power_mw.mean())
        limits = (power_mw, empty_mwh, full_mwh)
        return float(buffered(series.power_mw, step_h, tau_h, level_mw, *limits, start_mwh, one_way, after, stored))

    start_mwh = lost_mwh = empty_mwh = 0.0
    # Periodic state: an initial charge decays by exp(-T/tau) over the series; solve for the one that returns.
    for _ in range(_PASSES):
        lost_mwh = run(start_mwh)
        start_mwh += float((stored[-1] - start_mwh) / -np.expm1(-series.duration_h / tau_h))
    lowest, highest = min(start_mwh, stored.min()), max(start_mwh, stored.max())
    if math.isfinite(energy_mwh):
        empty_mwh = (lowest + highest - energy_mwh) / 2
        start_mwh = min(max(start_mwh, empty_mwh), empty_mwh + energy_mwh)
        lost_mwh = run(start_mwh, empty_mwh, empty_mwh + energy_mwh)
    return Buffered(after, stored - empty_mwh, start_mwh - empty_mwh, lost_mwh)
