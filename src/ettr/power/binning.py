"""Power over time, as means over bins of equal length."""

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
from ettr.power.segments import Segments, segments_of

Place = Literal["grid", "computers"]
PLACES: tuple[Place, ...] = ("grid", "computers")
"""Measuring points: the grid meter, with losses and cooling, or the IT equipment (``computers``)."""

MOST_BINS = 50_000_000
"""Largest number of bins, 0.4 GB of floats."""
_BLOCK = 1 << 18
"""Bins computed at once, to keep intermediate arrays small."""


@dataclass(frozen=True)
class PowerSeries:
    """Mean power in bins of equal length.

    Attributes
    ----------
    start_h : float
        Start of the first bin, since submission. [h]
    step_s : float
        Length of a bin. [s]
    power_mw : ndarray
        Mean power in each bin. [MW]
    at : {"grid", "computers"}
        Measuring point.
    profile : Profile or None
        Profile that the series was computed from; None for a measured series.

    Examples
    --------
    >>> import numpy as np
    >>> load = PowerSeries(0.0, 60.0, np.array([10.0, 16.0, 16.0]))
    >>> load.mean_mw, load.energy_mwh
    (14.0, 0.7)
    """

    start_h: float
    step_s: float
    power_mw: np.ndarray
    at: Place = "grid"
    profile: Profile | None = None

    def __post_init__(self) -> None:
        above_zero("step_s", self.step_s, unit="s")
        if np.ndim(self.power_mw) != 1 or np.size(self.power_mw) == 0 or not np.isfinite(self.power_mw).all():
            raise InputError("power_mw must be a one-dimensional array of finite numbers, not empty")
        if self.at not in PLACES:
            raise UnknownName("place", self.at, PLACES)

    @property
    def n(self) -> int:
        """Number of bins."""
        return int(self.power_mw.size)

    @property
    def duration_h(self) -> float:
        """Length of the series. [h]"""
        return self.n * self.step_s / S_PER_H

    @property
    def end_h(self) -> float:
        """End of the last bin. [h]"""
        return self.start_h + self.duration_h

    @property
    def energy_mwh(self) -> float:
        """Energy of the series. [MWh]"""
        return float(np.sum(self.power_mw)) * self.step_s / S_PER_H

    @property
    def mean_mw(self) -> float:
        """Mean power. [MW]"""
        return float(np.mean(self.power_mw))

    def with_power(self, power_mw: np.ndarray) -> PowerSeries:
        """Return a series with other powers in the same bins."""
        return PowerSeries(self.start_h, self.step_s, power_mw, self.at, self.profile)

    def to_frame(self) -> pd.DataFrame:
        """Return one row per bin: ``time_h`` (middle of the bin, since submission) [h], ``power_mw`` [MW]."""
        middle_s = (np.arange(self.n) + 0.5) * self.step_s
        return pd.DataFrame({"time_h": self.start_h + middle_s / S_PER_H, "power_mw": self.power_mw})

    def aggregate(self, n_bins: int) -> pd.DataFrame:
        """Return lowest, mean and highest power in longer bins, for charts.

        Parameters
        ----------
        n_bins : int
            Most rows to return. Each row covers an equal number of bins; the last may cover fewer.

        Returns
        -------
        DataFrame
            ``time_h`` (middle) [h], ``low_mw``, ``mean_mw``, ``high_mw`` [MW].
        """
        if n_bins < 1:
            raise InputError(f"n_bins must be >= 1, got {n_bins}")
        bins_per_row = math.ceil(self.n / n_bins)
        first = np.arange(0, self.n, bins_per_row)
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
    r"""Return the power of a run over time, as means over bins. [MW]

    Parameters
    ----------
    timeline : DataFrame
        Timeline of one run, as from ``simulate(..., timeline=[0]).timeline``: ``start_h``, ``end_h``, ``state``.
    profile : Profile
        Power by state, as from :func:`profile`.
    resolution_s : float
        Length of a bin. [s]
    start_h, end_h : float, optional
        Window, by default the complete run; it ends with the last complete bin. [h]
    at : {"grid", "computers"}
        Measuring point.

    Returns
    -------
    PowerSeries
        Its energy equals :func:`energy` over the same window up to rounding, at any resolution.

    Raises
    ------
    InputError
        If the window is outside the run or shorter than a bin, there are more than 50 million bins, or the timeline is
        not valid.

    Notes
    -----
    The mean of a bin is the difference of the energy integral between its ends, for which there is an exact formula.
    Training steps restart with each training segment. At the grid, power is :math:`(1 + \ell) P + k\,C`: the losses
    :math:`\ell` follow the IT power :math:`P` at once, and the cooling, with :math:`k = \mathrm{PUE} - 1 - \ell`,
    follows the mean power of each segment with the time constant of the coolant. The mean is therefore PUE times IT
    power, except for the heat stored in the coolant at the ends.

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
    segments = segments_of(timeline, profile)
    from_s, to_s = window_s(segments, start_h, end_h)
    n = math.floor((to_s - from_s) / step_s * (1 + ROUNDING) + ROUNDING)
    if n < 1:
        raise InputError(f"resolution_s must be <= {to_s - from_s:g} s, the length of the window, got {step_s:g}")
    if n > MOST_BINS:
        raise InputError(f"bins must be <= {MOST_BINS:,}, got {n:,}: shorten the window, or lengthen resolution_s")
    power_mw = np.empty(n)
    for first in range(0, n, _BLOCK):
        last = min(first + _BLOCK, n)
        edge_s = np.minimum(from_s + np.arange(first, last + 1) * step_s, segments.edge_s[-1])
        power_mw[first:last] = _bin_means_mw(segments, edge_s, step_s, at)
    return PowerSeries(from_s / S_PER_H, step_s, power_mw, at, segments.profile)


def window_s(segments: Segments, start_h: float | None, end_h: float | None) -> tuple[float, float]:
    """Return a window in seconds, by default the complete run.

    Raises
    ------
    InputError
        If the window is not within the run.
    """
    first_s, last_s = float(segments.edge_s[0]), float(segments.edge_s[-1])
    from_s = first_s if start_h is None else start_h * S_PER_H
    to_s = last_s if end_h is None else end_h * S_PER_H
    tolerance_s = ROUNDING * max(1.0, last_s)
    if not first_s - tolerance_s <= from_s < to_s <= last_s + tolerance_s:
        raise InputError(
            f"start_h and end_h must lie in order within the run, {first_s / S_PER_H:g} to {last_s / S_PER_H:.6g} h, "
            f"got {from_s / S_PER_H:g} and {to_s / S_PER_H:g}"
        )
    return max(from_s, first_s), min(to_s, last_s)


def _bin_means_mw(segments: Segments, edge_s: np.ndarray, step_s: float, at: Place) -> np.ndarray:
    """Mean power between neighbouring edges. [MW]

    Energy counts from the start of its segment, so that no large numbers cancel within a segment.
    """
    profile = segments.profile
    i = segments.index(edge_s)
    gpu_j = np.diff(segments.gpu_j(edge_s, i)) + np.diff(segments.before_j[i])
    power_w = gpu_j / step_s + profile.other_w
    if at == "grid":  # (1 + l) P + k C
        cooled_w = (np.diff(segments.cooled_j(edge_s, i)) + np.diff(segments.cooled_before_j[i])) / step_s
        power_w = (1 + profile.loss_share) * power_w + profile.cooling_share * cooled_w
    return np.asarray(power_w * (profile.n_gpus / W_PER_MW))
