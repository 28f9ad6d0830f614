"""Power over time as means over bins of equal length."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

from ettr.core.errors import InputError, UnknownName
from ettr.core.units import ROUNDING, S_PER_H, W_PER_MW
from ettr.core.validity import above_zero
from ettr.power.profiles import Profile
from ettr.power.segments import Stretches, stretches_of

Place = Literal["grid", "computers"]
PLACES: tuple[Place, ...] = ("grid", "computers")
"""Where power is measured: at the grid's meter, with losses and cooling, or at the computers."""

MOST_BINS = 50_000_000
"""0.4 GB of powers."""
_BLOCK = 1 << 18
"""Bins computed at a time, so that intermediate arrays stay small."""


@dataclass(frozen=True)
class PowerSeries:
    """Mean power in bins of equal length.

    Attributes
    ----------
    start_h : float
        Beginning of the first bin, since submission. [h]
    step_s : float
        Length of a bin. [s]
    power_mw : ndarray
        Mean power in each. [MW]
    at : {"grid", "computers"}
        Where it is measured.
    profile : Profile or None
        What it was computed from; none of a measured series.
    """

    start_h: float
    step_s: float
    power_mw: np.ndarray
    at: Place = "grid"
    profile: Profile | None = None

    def __post_init__(self) -> None:
        above_zero("step_s", self.step_s, unit="s")
        if np.ndim(self.power_mw) != 1 or np.size(self.power_mw) == 0 or not np.isfinite(self.power_mw).all():
            raise InputError("power_mw must be one or more finite numbers in a row")
        if self.at not in PLACES:
            raise UnknownName("place", self.at, PLACES)

    @property
    def n(self) -> int:
        """Bins."""
        return int(self.power_mw.size)

    @property
    def duration_h(self) -> float:
        """Length of the whole. [h]"""
        return self.n * self.step_s / S_PER_H

    @property
    def end_h(self) -> float:
        """End of the last bin. [h]"""
        return self.start_h + self.duration_h

    @property
    def energy_mwh(self) -> float:
        """Energy of the whole. [MWh]"""
        return float(np.sum(self.power_mw)) * self.step_s / S_PER_H

    @property
    def mean_mw(self) -> float:
        """Mean power. [MW]"""
        return float(np.mean(self.power_mw))

    def with_power(self, power_mw: np.ndarray) -> PowerSeries:
        """Another power in the same bins."""
        return PowerSeries(self.start_h, self.step_s, power_mw, self.at, self.profile)

    def to_frame(self) -> pd.DataFrame:
        """A row a bin: ``time_h`` (its middle, since submission) [h], ``power_mw`` [MW]."""
        middle_s = (np.arange(self.n) + 0.5) * self.step_s
        return pd.DataFrame({"time_h": self.start_h + middle_s / S_PER_H, "power_mw": self.power_mw})

    def aggregate(self, n_bins: int) -> pd.DataFrame:
        """Lowest, mean and highest power in longer bins, for charts.

        Parameters
        ----------
        n_bins : int
            Rows at most; a bin holds whole bins of the series, and the last may hold fewer.

        Returns
        -------
        DataFrame
            ``time_h`` (middle) [h], ``low_mw``, ``mean_mw``, ``high_mw`` [MW].
        """
        if n_bins < 1:
            raise InputError(f"n_bins must be >= 1, got {n_bins}")
        per = math.ceil(self.n / n_bins)
        first = np.arange(0, self.n, per)
        count = np.diff(np.append(first, self.n))
        return pd.DataFrame(
            {
                "time_h": self.start_h + (first + count / 2) * self.step_s / S_PER_H,
                "low_mw": np.minimum.reduceat(self.power_mw, first),
                "mean_mw": np.add.reduceat(self.power_mw, first) / count,
                "high_mw": np.maximum.reduceat(self.power_mw, first),
            }
        )


def series(
    timeline: pd.DataFrame,
    profile: Profile,
    resolution_s: float = 1.0,
    start_h: float | None = None,
    end_h: float | None = None,
    at: Place = "grid",
) -> PowerSeries:
    r"""Power of one run over time, as means over bins [MW].

    Parameters
    ----------
    timeline : DataFrame
        Stretches as from ``simulate(..., timeline=[0]).timeline``: ``start_h``, ``end_h``, ``state``, of one
        run.
    profile : Profile
        As from :func:`profile`.
    resolution_s : float
        Length of a bin. [s]
    start_h, end_h : float, optional
        Window, by default the whole run; it ends with the last whole bin. [h]
    at : {"grid", "computers"}
        Where power is measured.

    Returns
    -------
    PowerSeries
        Its energy is that of :func:`energy` over the same window, up to rounding, whatever the resolution.

    Raises
    ------
    InputError
        A window outside of the run or shorter than a bin, more than 50 million bins, or a broken timeline.

    Notes
    -----
    A bin's mean is a difference of the energy up to its ends, which is known in closed form. Steps begin anew with each
    stretch of training. At the grid, power is :math:`(1 + \ell) P + k\,C`: the losses :math:`\ell` follow the power
    :math:`P` of the computers at once, and the cooling, :math:`k = \mathrm{PUE} - 1 - \ell`, follows the mean of each
    stretch with the coolant's time constant. So the mean is PUE times the computers', but for the heat that the coolant
    holds at the ends.

    Examples
    --------
    >>> import pandas as pd
    >>> from ettr import Scenario, power
    >>> day = pd.DataFrame({"start_h": [0.0, 1.0], "end_h": [1.0, 1.5], "state": ["training", "detection"]})
    >>> load = power.series(day, power.profile(Scenario.load("llama3-405b")), 60.0, at="computers")
    >>> load.n, load.power_mw[[0, -1]].round(2).tolist()
    (90, [16.07, 9.9])
    """
    if at not in PLACES:
        raise UnknownName("place", at, PLACES)
    step_s = float(above_zero("resolution_s", resolution_s, unit="s"))
    laid = stretches_of(timeline, profile)
    from_s, to_s = window_s(laid, start_h, end_h)
    n = math.floor((to_s - from_s) / step_s * (1 + ROUNDING) + ROUNDING)
    if n < 1:
        raise InputError(f"the window of {to_s - from_s:g} s must hold at least one bin of resolution_s = {step_s:g} s")
    if n > MOST_BINS:
        raise InputError(f"{n:,} bins are more than {MOST_BINS:,}: shorten the window, or lengthen resolution_s")
    power_mw = np.empty(n)
    for first in range(0, n, _BLOCK):
        last = min(first + _BLOCK, n)
        edge_s = np.minimum(from_s + np.arange(first, last + 1) * step_s, laid.edge_s[-1])
        power_mw[first:last] = _bin_means_mw(laid, edge_s, step_s, at)
    return PowerSeries(from_s / S_PER_H, step_s, power_mw, at, laid.profile)


def window_s(laid: Stretches, start_h: float | None, end_h: float | None) -> tuple[float, float]:
    """A window in seconds, the whole run by default.

    Raises
    ------
    InputError
        A window that does not lie in the run.
    """
    first_s, last_s = float(laid.edge_s[0]), float(laid.edge_s[-1])
    from_s = first_s if start_h is None else start_h * S_PER_H
    to_s = last_s if end_h is None else end_h * S_PER_H
    room_s = ROUNDING * max(1.0, last_s)
    if not first_s - room_s <= from_s < to_s <= last_s + room_s:
        raise InputError(
            f"start_h and end_h must lie in order within the run, {first_s / S_PER_H:g} to {last_s / S_PER_H:.6g} h, "
            f"got {from_s / S_PER_H:g} and {to_s / S_PER_H:g}"
        )
    return max(from_s, first_s), min(to_s, last_s)


def _bin_means_mw(laid: Stretches, edge_s: np.ndarray, step_s: float, at: Place) -> np.ndarray:
    """Means between neighbouring edges. Within a stretch only its own energy enters, so nothing large cancels."""
    own = laid.profile
    i = laid.index(edge_s)
    gpu_j = np.diff(laid.gpu_j(edge_s, i)) + np.diff(laid.before_j[i])
    it_w = gpu_j / step_s + own.other_w
    if at == "grid":
        cooled_w = (np.diff(laid.cooled_j(edge_s, i)) + np.diff(laid.cooled_before_j[i])) / step_s
        it_w = (1 + own.loss_share) * it_w + own.cooling_share * cooled_w
    return np.asarray(it_w * (own.n_gpus / W_PER_MW))
