"""What every way to smooth has in common: what it takes, what it gives, and what a target asks of it."""

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

_BINS_A_PHASE = 4
_NEARLY = 0.999
ENOUGH = 1 + 1e-6
"""How much of a target's limits may be used: 1, but for rounding."""


def option_figure(option: str, key: str) -> float:
    """One figure of an option from ``data/smoothing_options.csv``, in the unit that the table gives.

    Raises
    ------
    UnknownName
        An option or figure that the table does not have.

    Examples
    --------
    >>> option_figure("rack_storage", "energy_j")
    65.0
    """
    rows = evidence.table("smoothing_options")
    own = rows[rows["option"] == option]
    if own.empty:
        raise UnknownName("option", option, rows["option"].unique())
    if key not in set(own["key"]):
        raise UnknownName("figure", key, own["key"], option)
    return float(own.set_index("key").loc[key, "value"])


@dataclass(frozen=True)
class Target:
    """Limits that a smoothed series must keep.

    Attributes
    ----------
    range_share : float
        Largest swing within ``window_s``, over the rated power of the GPUs.
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
        """How much of its limits a series uses; it keeps them up to 1.

        Raises
        ------
        InputError
            A series whose rated power or swing is not known.
        """
        if series.profile is None:
            raise InputError("a target is a share of the rated power, which a series without profile does not have")
        return largest_swing_mw(series, self.window_s) / (self.range_share * series.profile.rated_mw)


class Option(ABC):
    """A way to smooth with its settings.

    Attributes
    ----------
    name : str
        As tables and sentences call it.
    unit : str
        Of its size.
    """

    name: ClassVar[str]
    unit: ClassVar[str]

    @property
    @abstractmethod
    def size(self) -> float:
        """The setting that a target decides: a floor, or the energy stored."""

    @abstractmethod
    def smooth(self, series: PowerSeries) -> Smoothed:
        """Lay it on a series of the computers; see :func:`ettr.power.smooth`."""

    @classmethod
    @abstractmethod
    def sized(cls, series: PowerSeries, target: Target) -> Sized:
        """The smallest of its settings that reaches a target; see :func:`ettr.power.size`."""

    def against(self, series: PowerSeries, target: Target, least: float = 0.0, why: str = "") -> Sized:
        """This setting against a target, of whose limits at least so much is used; it is missed if there is a why."""
        smoothed = self.smooth(series)
        used = max(target.load(smoothed.after), least)
        return Sized(self.name, used <= ENOUGH and not why, self, smoothed, used, why)

    @classmethod
    def profile_of(cls, series: PowerSeries) -> Profile:
        """The profile of a series that this can be laid on.

        Raises
        ------
        InputError
            A series at the grid or without a profile, or bins that do not show the phases of a step.
        """
        if series.profile is None or series.at != "computers":
            raise InputError(f"{cls.name} acts on the GPUs: it takes power.series(..., at='computers')")
        shortest_s = series.profile.waveform.shortest_s
        if series.step_s * _BINS_A_PHASE > shortest_s * (1 + ROUNDING) and series.profile.waveform.swing_w > 0:
            raise InputError(
                f"bins of {series.step_s:g} s blur phases of {shortest_s:g} s: {cls.name} needs resolution_s <= "
                f"{shortest_s / _BINS_A_PHASE:g}"
            )
        return series.profile


@dataclass(frozen=True)
class Smoothed:
    """A series after an option, with what it cost.

    Attributes
    ----------
    option : str
        Name of the option.
    before, after : PowerSeries
        Power of the load, and power with the option.
    wasted_mwh : float
        Energy that did no work: burnt, or lost in a store. [MWh]
    unserved_mwh : float
        Energy that the load wanted and did not get. [MWh]
    stored_mwh : float
        Energy in the store at the end, less that at the beginning. [MWh]
    throughput_loss : float
        Share of the training that is lost.
    capital_usd : float or None
        Price where one is known. [USD]
    life_years : float or None
        Years until it is worn or written off.
    full_cycles_per_year : float or None
        Energy given in a year, over what the store holds.
    notes : tuple of str
        What is not known, or assumed.
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
        """Energy wasted, over the energy of the load."""
        return self.wasted_mwh / self.before.energy_mwh


@dataclass(frozen=True)
class Sized:
    """What an option needs for a target.

    Attributes
    ----------
    option : str
        Name of the option.
    reached : bool
        Whether any of its settings reaches the target.
    setting : Option or None
        The smallest that does, or the best that it can do; none if it cannot be set at all.
    smoothed : Smoothed or None
        The series with it.
    used : float
        How much of the target's limits that takes: 1 at most if reached, and 2 for twice the swing allowed.
    why : str
        What stands in the way; empty if reached.
    """

    option: str
    reached: bool
    setting: Option | None
    smoothed: Smoothed | None
    used: float
    why: str = ""

    @property
    def size(self) -> float | None:
        """The floor over the rated power, or the energy stored. [1], [J] for each GPU, [MWh]"""
        return self.setting.size if self.setting else None


def busy_mw(profile: Profile) -> float:
    """Power of the GPUs from which the job counts as there: the highest phase of its step, but for rounding. [MW]"""
    highest_w = max(phase.gpu_w for phase in profile.waveform.phases if phase.share > 0)
    return profile.n_gpus * highest_w / W_PER_MW * _NEARLY


def burnt(series: PowerSeries, after_mw: np.ndarray) -> tuple[float, float]:
    """Energy above and below the load's own. [MWh]"""
    more = after_mw - series.power_mw
    step_h = series.step_s / S_PER_H
    return float(np.maximum(more, 0).sum()) * step_h, float(np.maximum(-more, 0).sum()) * step_h


def in_three_digits(value: float) -> str:
    """Without an exponent."""
    return f"{float(f'{value:.3g}'):,.10g}"
