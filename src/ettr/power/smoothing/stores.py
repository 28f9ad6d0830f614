"""Stores of energy between load and grid: beside each GPU, or a battery for the whole job."""

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
_LEAST = 1e-9
"""Of a store for a load that needs none."""
_PASSES = 4
"""One for a store without losses, and each further one makes the charge at the start ten times as exact."""


class EnergyStore(Option):
    """Energy that is taken and given back.

    Attributes
    ----------
    efficiency : float
        Energy given back over energy taken, in (0, 1].
    tau_s : float or None
        Time constant of the filter that the grid sees; by default so that the store takes up the load's largest
        swing. [s]
    """

    efficiency: float
    tau_s: float | None

    def __post_init__(self) -> None:
        above_zero("efficiency", self.efficiency)
        if self.efficiency > 1:
            raise InputError(f"efficiency must be <= 1, got {self.efficiency:g}")

    def _between(self, series: PowerSeries, power_mw: float, energy_mwh: float, **costs: Any) -> Smoothed:
        """The series behind the store: where it is full or empty the grid sees the bare load."""
        tau_s = self.tau_s or _filter_for(series, energy_mwh)
        store = behind_store(series, tau_s, power_mw, energy_mwh, self.efficiency)
        return Smoothed(
            self.name,
            series,
            series.with_power(store.after_mw),
            store.lost_mwh,
            stored_mwh=float(store.stored_mwh[-1]) - store.start_mwh,
            full_cycles_per_year=store.given_mwh / energy_mwh / (series.duration_h / H_PER_YEAR),
            **costs,
        )


@dataclass(frozen=True)
class RackStorage(EnergyStore):
    """A store for each GPU, in its power supply or its rack.

    Attributes
    ----------
    energy_j : float
        For each GPU. [J]
    power_w : float
        That it gives or takes at most, for each GPU. [W]
    efficiency : float
        Energy given back over energy taken, in (0, 1].
    tau_s : float or None
        Time constant of the filter that the grid sees; by default so that the store takes up the load's largest
        swing. [s]
    """

    name, unit = "rack storage", "J/GPU"
    energy_j: float
    power_w: float
    efficiency: float
    tau_s: float | None = None

    @classmethod
    def published(cls, rated_w: float) -> RackStorage:
        """With the figures of the table of options, for a GPU of a rated power."""
        return cls(
            energy_j=option_figure("rack_storage", "energy_j"),
            power_w=option_figure("rack_storage", "power_share") * rated_w,
            efficiency=option_figure("rack_storage", "efficiency"),
        )

    @property
    def size(self) -> float:
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
        own = cls.profile_of(series)
        usual = cls.published(own.rated_w)
        tau_s, store = _slightest_filter(series, target, usual.efficiency)
        if store is None:
            return _no_filter(cls.name, series, target)
        power_w = _most_mw(store, series) / own.n_gpus * W_PER_MW
        needed_j = _room_mwh(store) / own.n_gpus * J_PER_MWH
        has_j = own.smoothing.storage_j if own.smoothing and own.smoothing.storage_j else usual.energy_j
        why = ""
        if power_w > usual.power_w * ENOUGH:
            why = f"it would give or take {in_three_digits(power_w)} W for each GPU, and is taken to do "
            why += f"{usual.power_w:g}"
        elif needed_j > has_j * ENOUGH:
            why = f"it takes {in_three_digits(needed_j)} J for each GPU, and a rack holds {has_j:g}"
        return replace(usual, energy_j=max(needed_j, _LEAST), tau_s=tau_s).against(series, target, why=why)


@dataclass(frozen=True)
class Battery(EnergyStore):
    """A battery with its converter, for the whole job.

    Attributes
    ----------
    power_mw, energy_mwh : float
        That it gives or takes at most, and holds. [MW], [MWh]
    efficiency : float
        Energy given back over energy taken, in (0, 1].
    c_rate_per_h : float
        Highest power over energy. [1/h]
    usd_per_kwh : float
        Price. [USD/kWh]
    tau_s : float or None
        Time constant of the filter that the grid sees; by default so that the battery takes up the load's
        largest swing. [s]

    Raises
    ------
    InputError
        A battery smaller than its rate allows for its power.
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
                f"energy_mwh must be >= {self.power_mw / self.c_rate_per_h:g} MWh, which {self.power_mw:g} MW need at "
                f"{self.c_rate_per_h:g} 1/h, got {self.energy_mwh:g}"
            )

    @classmethod
    def published(cls, power_mw: float, energy_mwh: float | None = None) -> Battery:
        """With the figures of the table of options; of the least energy that its rate allows, if none is given."""
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
        return self.energy_mwh

    def smooth(self, series: PowerSeries) -> Smoothed:
        """Put a battery between a load and the grid; it lasts for its cycles or its age, whichever ends first."""
        smoothed = self._between(
            series,
            self.power_mw,
            self.energy_mwh,
            capital_usd=self.energy_mwh * KWH_PER_MWH * self.usd_per_kwh,
            life_years=option_figure("battery", "life_years"),
            notes=("efficiency, rate and life are assumed",),
        )
        cycles = smoothed.full_cycles_per_year
        if not cycles or smoothed.life_years is None:
            return smoothed
        worn = option_figure("battery", "full_cycles") / cycles
        return replace(smoothed, life_years=min(smoothed.life_years, worn))

    @classmethod
    def sized(cls, series: PowerSeries, target: Target) -> Sized:
        tau_s, store = _slightest_filter(series, target, option_figure("battery", "efficiency"))
        if store is None:
            return _no_filter(cls.name, series, target)
        least = cls.published(max(_most_mw(store, series), _LEAST))
        energy_mwh = max(least.energy_mwh, _room_mwh(store))
        return replace(least, energy_mwh=energy_mwh, tau_s=tau_s).against(series, target)


def _filter_for(series: PowerSeries, energy_mwh: float) -> float:
    """Time constant at which a store takes up the largest swing of a series [s].

    A filter of first order stores its time constant times the swing of what it lets through.
    """
    swing_mw = float(np.ptp(series.power_mw))
    return energy_mwh / swing_mw * S_PER_H if swing_mw > 0 else series.step_s


def _most_mw(store: Buffered, series: PowerSeries) -> float:
    """Most that a store gives or takes."""
    return float(np.abs(store.after_mw - series.power_mw).max())


def _room_mwh(store: Buffered) -> float:
    """Energy of a store that is never full or empty."""
    return float(np.ptp(np.append(store.stored_mwh, store.start_mwh))) * ENOUGH


def _no_filter(name: str, series: PowerSeries, target: Target) -> Sized:
    why = f"not even a filter of {_LONGEST_S / S_PER_H:g} h is enough"
    return Sized(name, False, None, None, target.load(series), why)


def _slightest_filter(series: PowerSeries, target: Target, efficiency: float) -> tuple[float, Buffered | None]:
    """The shortest time constant that reaches a target, without limits on power and energy."""

    def enough(tau_s: float) -> Buffered | None:
        store = behind_store(series, tau_s, efficiency=efficiency)
        return store if target.load(series.with_power(store.after_mw)) <= 1 else None

    low, high = series.step_s / 100, _LONGEST_S
    best = enough(high)
    if best is None:
        return high, None
    while high / low > 1 + _CLOSE:
        middle = float(np.sqrt(low * high))
        store = enough(middle)
        if store is None:
            low = middle
        else:
            high, best = middle, store
    return high, best


@dataclass(frozen=True)
class Buffered:
    """A series behind a store.

    Attributes
    ----------
    after_mw : ndarray
        Power that the grid sees. [MW]
    stored_mwh : ndarray
        Energy in the store at the end of each bin. [MWh]
    start_mwh : float
        And at the beginning. [MWh]
    lost_mwh : float
        Lost on the way in and out. [MWh]
    """

    after_mw: np.ndarray
    stored_mwh: np.ndarray
    start_mwh: float
    lost_mwh: float

    @property
    def given_mwh(self) -> float:
        """Energy that left the store. [MWh]"""
        change = np.diff(self.stored_mwh, prepend=self.start_mwh)
        return float(-change[change < 0].sum())


def behind_store(
    series: PowerSeries, tau_s: float, power_mw: float = math.inf, energy_mwh: float = math.inf, efficiency: float = 1.0
) -> Buffered:
    """Let the grid see a series through a filter of first order, as far as a store reaches.

    Parameters
    ----------
    series : PowerSeries
        The load.
    tau_s : float
        Time constant of the filter. [s]
    power_mw, energy_mwh : float
        Limits of the store; none if infinite. [MW], [MWh]
    efficiency : float
        Energy given back over energy taken, half of the loss on either way.

    Returns
    -------
    Buffered
        Of a load that has gone on like the series for long, and will: so it does not matter where in a step the series
        begins, and losses are made up for. A store of infinite energy counts from 0; of any other the middle is where
        that store would be halfway between its least and its most.

    Notes
    -----
    Without limits and losses the store's charge is the time constant times what the filtered load is below its mean: a
    square wave that keeps a share x of its swing takes a store of x times swing times time constant.
    """
    from ettr.power.smoothing.recursions import buffered

    one_way, tau_h, step_h = math.sqrt(efficiency), tau_s / S_PER_H, series.step_s / S_PER_H
    after, stored = np.empty_like(series.power_mw), np.empty_like(series.power_mw)

    def run(start_mwh: float, empty_mwh: float = -math.inf, full_mwh: float = math.inf) -> float:
        level_mw = float(series.power_mw.mean())
        limits = (power_mw, empty_mwh, full_mwh)
        return float(buffered(series.power_mw, step_h, tau_h, level_mw, *limits, start_mwh, one_way, after, stored))

    start_mwh = lost_mwh = empty_mwh = 0.0
    for _ in range(_PASSES):  # to where the series ends at what it began with
        lost_mwh = run(start_mwh)
        start_mwh += float((stored[-1] - start_mwh) / -np.expm1(-series.duration_h / tau_h))
    least, most = min(start_mwh, stored.min()), max(start_mwh, stored.max())
    if math.isfinite(energy_mwh):
        empty_mwh = (least + most - energy_mwh) / 2
        start_mwh = min(max(start_mwh, empty_mwh), empty_mwh + energy_mwh)
        lost_mwh = run(start_mwh, empty_mwh, empty_mwh + energy_mwh)
    return Buffered(after, stored - empty_mwh, start_mwh - empty_mwh, lost_mwh)
