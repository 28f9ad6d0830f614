"""A store of energy between load and grid, limited in energy and power: what rack storage and batteries share."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ettr.core.units import S_PER_H
from ettr.power.binning import PowerSeries

STEERED_BACK = 20.0
"""Time constants of the filter in which the store is steered back to where it started."""


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
        A store of infinite energy counts from 0 and may go below. Any other begins half full.
    """
    from ettr.power.smoothing.recursions import buffered

    one_way, endless = math.sqrt(efficiency), math.isinf(energy_mwh)
    base = float(np.ptp(series.power_mw)) * 100 + 1.0 if endless else 0.0
    start_mwh = base if endless else energy_mwh / 2
    room_mwh = 2 * base if endless else energy_mwh
    after, stored = np.empty_like(series.power_mw), np.empty_like(series.power_mw)
    lost = buffered(
        series.power_mw,
        series.step_s / S_PER_H,
        tau_s / S_PER_H,
        STEERED_BACK * tau_s / S_PER_H,
        power_mw,
        room_mwh,
        start_mwh,
        one_way,
        after,
        stored,
    )
    return Buffered(after, stored - base, start_mwh - base, float(lost))
