"""A store of energy between load and grid, limited in energy and power: what rack storage and batteries share."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ettr.core.units import S_PER_H
from ettr.power.binning import PowerSeries

_PASSES = 4
"""One for a store without losses, and each further one makes the charge at the start ten times as exact."""


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
