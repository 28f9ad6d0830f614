"""Base class of the smoothing options, the target to size them for, and their results."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ettr import evidence
from ettr.core.errors import InputError, UnknownName
from ettr.core.units import ROUNDING, S_PER_H, W_PER_MW
from ettr.core.validity import above_zero
from ettr.power.binning import PowerSeries
from ettr.power.measures import largest_swing_mw
from ettr.power.profiles import Profile

_BINS_PER_PHASE = 4
_NEARLY = 0.999
ENOUGH = 1 + 1e-6
"""Largest use of a target's limits that counts as met: 1, with a tolerance for rounding."""


def option_figure(option: str, key: str) -> float:
    """Return a figure of an option from ``data/smoothing_options.csv``, in the unit of that table.

    Raises
    ------
    UnknownName
        If the table has no such option or figure.

    Examples
    --------
    >>> option_figure("rack_storage", "energy_j")
    65.0
    """
    rows = evidence.table("smoothing_options")
    figures = rows[rows["option"] == option]
    if figures.empty:
        raise UnknownName("option", option, rows["option"].unique())
    if key not in set(figures["key"]):
        raise UnknownName("figure", key, figures["key"], option)
    return float(figures.set_index("key").loc[key, "value"])


@dataclass(frozen=True)
class Target:
    """Limit on the swing of a smoothed series.

    Attributes
    ----------
    range_share : float
        Largest allowed swing within ``window_s``, relative to the rated power of the GPUs.
    window_s : float
        Time within which a swing counts. [s]

    Examples
    --------
    >>> Target(0.2).range_share
    0.2
    """

    range_share: float
    window_s: float = 10.0

    def __post_init__(self) -> None:
        above_zero("range_share", self.range_share)
        above_zero("window_s", self.window_s, unit="s")

    def load(self, series: PowerSeries) -> float:
        """Return the swing of a series relative to the limit; the series meets the target up to 1.

        Raises
        ------
        InputError
            If the rated power of the series is unknown, or its bins do not resolve the swing.
        """
        if series.profile is None:
            raise InputError("a target is a share of rated power, which a series without profile does not have")
        return largest_swing_mw(series, self.window_s) / (self.range_share * series.profile.rated_mw)


class Option(ABC):
    """Smoothing option with its settings.

    Attributes
    ----------
    name : str
        Name in tables and sentences.
    unit : str
        Unit of the size.
    """

    name: ClassVar[str]
    unit: ClassVar[str]

    @property
    @abstractmethod
    def size(self) -> float:
        """Setting that a target determines: the floor, or the stored energy."""

    @abstractmethod
    def smooth(self, series: PowerSeries) -> Smoothed:
        """Apply the option to a series of IT power; see :func:`ettr.power.smooth`."""

    @classmethod
    @abstractmethod
    def sized(cls, series: PowerSeries, target: Target) -> Sized:
        """Return the smallest setting that meets a target; see :func:`ettr.power.size`."""

    def against(self, series: PowerSeries, target: Target, lowest_use: float = 0.0, why: str = "") -> Sized:
        """Check this setting against a target; ``lowest_use`` is a lower bound, and a reason ``why`` means missed."""
        smoothed = self.smooth(series)
        used = max(target.load(smoothed.after), lowest_use)
        return Sized(self.name, used <= ENOUGH and not why, self, smoothed, used, why)

    @classmethod
    def profile_of(cls, series: PowerSeries) -> Profile:
        """Return the profile of a series that the option can be applied to.

        Raises
        ------
        InputError
            If the series is at the grid or has no profile, or its bins do not resolve the phases of a step.
        """
        if series.profile is None or series.at != "computers":
            raise InputError(f"{cls.name} acts on the GPUs: use power.series(..., at='computers')")
        shortest_s = series.profile.waveform.shortest_s
        if series.step_s * _BINS_PER_PHASE > shortest_s * (1 + ROUNDING) and series.profile.waveform.swing_w > 0:
            raise InputError(
                f"bins of {series.step_s:g} s blur phases of {shortest_s:g} s: {cls.name} needs resolution_s <= "
                f"{shortest_s / _BINS_PER_PHASE:g}"
            )
        return series.profile


@dataclass(frozen=True)
class Smoothed:
    """Series after smoothing, with the cost of the option.

    Attributes
    ----------
    option : str
        Name of the option.
    before, after : PowerSeries
        Power before and after smoothing.
    wasted_mwh : float
        Energy burnt for smoothing, or lost in a store. [MWh]
    unserved_mwh : float
        Demand of the load that was not met. [MWh]
    stored_mwh : float
        Energy in the store at the end, minus that at the start. [MWh]
    throughput_loss : float
        Share of training throughput that is lost.
    capital_usd : float or None
        Price, if published. [USD]
    life_years : float or None
        Years until it is worn out or written off.
    full_cycles_per_year : float or None
        Energy delivered per year, divided by the capacity of the store.
    notes : tuple of str
        Unknown and assumed inputs.
    """

    option: str
    before: PowerSeries
    after: PowerSeries
    wasted_mwh: float
    unserved_mwh: float = 0.0
    stored_mwh: float = 0.0
    throughput_loss: float = 0.0
    capital_usd: float | None = None
    life_years: float | None = None
    full_cycles_per_year: float | None = None
    notes: tuple[str, ...] = ()

    @property
    def added_share(self) -> float:
        """Wasted energy relative to the energy of the load."""
        return self.wasted_mwh / self.before.energy_mwh


@dataclass(frozen=True)
class Sized:
    """Option sized for a target.

    Attributes
    ----------
    option : str
        Name of the option.
    reached : bool
        True if a setting meets the target.
    setting : Option or None
        Smallest setting that meets the target, or else the closest; None if there is none.
    smoothed : Smoothed or None
        Series with that setting.
    used : float
        Swing relative to the limit: at most 1 if reached, 2 for twice the allowed swing.
    why : str
        Reason why the target is missed; empty if reached.
    """

    option: str
    reached: bool
    setting: Option | None
    smoothed: Smoothed | None
    used: float
    why: str = ""

    @property
    def size(self) -> float | None:
        """Floor relative to rated power, or stored energy. [1], [J/GPU], [MWh]"""
        return self.setting.size if self.setting else None


def busy_mw(profile: Profile) -> float:
    """Return the power from which the job counts as running: the highest phase of its step, less rounding. [MW]"""
    highest_w = max(phase.gpu_w for phase in profile.waveform.phases if phase.share > 0)
    return profile.n_gpus * highest_w / W_PER_MW * _NEARLY


def wasted_and_unserved(series: PowerSeries, after_mw: np.ndarray) -> tuple[float, float]:
    """Return the energy above the load, which is wasted, and the energy below it, which is unserved. [MWh]"""
    added_mw = after_mw - series.power_mw
    step_h = series.step_s / S_PER_H
    return float(np.maximum(added_mw, 0).sum()) * step_h, float(np.maximum(-added_mw, 0).sum()) * step_h


def in_three_digits(value: float) -> str:
    """Return a number in three digits without an exponent."""
    return f"{float(f'{value:.3g}'):,.10g}"
