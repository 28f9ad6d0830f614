"""What an option makes of a series, and what a series must be for it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ettr.core.errors import InputError
from ettr.power.binning import PowerSeries
from ettr.power.profiles import Profile

_BINS_A_PHASE = 4
_NEARLY = 0.999


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
    peak_left_mw : float
        Range that remains because of peaks too short for a series. [MW]
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
    peak_left_mw: float = 0.0
    notes: tuple[str, ...] = ()

    @property
    def added_share(self) -> float:
        """Energy wasted, over the energy of the load."""
        return self.wasted_mwh / self.before.energy_mwh

    @property
    def imbalance_mwh(self) -> float:
        """Energy of the grid less load, waste and change of the store: rounding. [MWh]"""
        load_mwh = self.before.energy_mwh - self.unserved_mwh
        return self.after.energy_mwh - load_mwh - self.wasted_mwh - self.stored_mwh


def profile_of(series: PowerSeries, option: str) -> Profile:
    """The profile of a series that an option on the GPUs can be laid on.

    Raises
    ------
    InputError
        A series at the grid or without a profile, or bins that do not show the phases of a step.
    """
    if series.profile is None or series.at != "computers":
        raise InputError(f"{option} acts on the GPUs: it takes power.series(..., at='computers')")
    shortest_s = series.profile.waveform.shortest_s
    if series.step_s * _BINS_A_PHASE > shortest_s * (1 + 1e-9) and series.profile.waveform.swing_w > 0:
        raise InputError(
            f"bins of {series.step_s:g} s blur phases of {shortest_s:g} s: {option} needs resolution_s <= "
            f"{shortest_s / _BINS_A_PHASE:g}"
        )
    return series.profile


def busy_mw(profile: Profile) -> float:
    """Power of the GPUs from which the job counts as there: the highest phase of its step, but for rounding. [MW]"""
    highest_w = max(phase.gpu_w for phase in profile.waveform.phases if phase.share > 0)
    return profile.n_gpus * highest_w / 1e6 * _NEARLY


def burnt(series: PowerSeries, after_mw: np.ndarray) -> tuple[float, float]:
    """Energy above and below the load's own. [MWh]"""
    more = after_mw - series.power_mw
    step_h = series.step_s / 3600
    return float(np.maximum(more, 0).sum()) * step_h, float(np.maximum(-more, 0).sum()) * step_h
