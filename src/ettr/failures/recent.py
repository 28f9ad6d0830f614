"""The part of a log that a forecast should use: all of it, unless the rate has changed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ettr.core.units import H_PER_DAY
from ettr.failures.dispersion import MIN_EVENTS, N_BLOCKS, local_dispersion, over_dispersion, widening
from ettr.failures.window import checked_level, checked_starts

SHARES = (1.0, 1 / 2, 1 / 4, 1 / 8)
"""Last parts of the window that are tried, as shares of the window."""
MIN_GAIN = 5.0
"""Gain in log-likelihood over the whole window that a part must reach to be used. [nats]"""
_BLOCKS, _FEWEST_BLOCKS = 200, 20
_FIRST = 1 / 3
"""Share of the window at which the backtest starts."""


@dataclass(frozen=True)
class Recent:
    """The last part of a log that a forecast uses.

    Attributes
    ----------
    window_h : float
        Length of the part, up to the end of the log. [h]
    n_events : int
        Failures in the part. [count]
    share : float
        Length as a share of the window.
    gain : float
        Gain in log-likelihood of the log's counts over forecasts from the whole window; 0 for the whole window. [nats]
    index : float
        Index of dispersion, at least 1, widened for its own uncertainty.
    """

    window_h: float
    n_events: int
    share: float
    gain: float
    index: float

    @property
    def is_whole(self) -> bool:
        """Whether the part is the whole log."""
        return self.share == 1.0


def recent_past(start_h: Any, window_h: float, horizon_h: float, level: float = 0.95) -> Recent:
    r"""Find the last part of a log that forecasts should use, by a backtest on the log itself.

    Parameters
    ----------
    start_h : array of float
        Starts of failures since the start of the window, in order. [h]
    window_h : float
        Length of the window. [h]
    horizon_h : float
        Length of the forecasts. [h]
    level : float
        Coverage of the intervals for which the index is widened.

    Returns
    -------
    Recent
        The whole window below ten failures (``MIN_EVENTS``), with index 1.

    Raises
    ------
    InputError
        Times out of order or outside the window, a level outside (0, 1).

    Notes
    -----
    From a third of the window on, the count of each of 200 blocks is forecast from the time before it: from all of it,
    and from the last half, quarter and eighth of a window. The part with the largest likelihood of the counts is used
    if its log-likelihood exceeds that of the whole window by ``MIN_GAIN``. The likelihood is that of Poisson counts,
    with the log-likelihood divided by the index of dispersion of neighbouring blocks, so that a burst does not count as
    a change of the rate. At a constant rate the whole window is best, because it gives the most precise rate. A part
    must contain ``MIN_EVENTS`` failures.

    The index is that of equal blocks of the window. If a part is used, it is the larger of that of neighbouring blocks
    and the mean squared error of past forecasts over its expectation for independent failures. The uncertainty of an
    index from few blocks widens it by Student's t, unless the test finds no overdispersion.

    Examples
    --------
    >>> rising = 8400 * ((np.arange(560) + 0.5) / 560) ** (1 / 1.8)
    >>> recent_past(rising, 8400.0, 720.0).share, recent_past(np.linspace(0, 8400, 560), 8400.0, 720.0).share
    (0.125, 1.0)
    """
    start, window = checked_starts(start_h, window_h)
    checked_level(level)
    return recent_of(start, window, horizon_h, level)


def recent_of(start: np.ndarray, window: float, horizon: float, level: float) -> Recent:
    """Return the part to use for times that are already checked, see `recent_past`."""
    if start.size < MIN_EVENTS:
        return Recent(window, start.size, 1.0, 0.0, 1.0)
    share, gain = _best_share(start, window)
    if share == 1.0:
        return Recent(window, start.size, 1.0, 0.0, over_dispersion(start, window).paid(level))
    part = share * window
    n = start.size - int(np.searchsorted(start, window - part))
    index = max(_scatter_beside(start, window, level), _error_index(start, window, part, horizon))
    return Recent(part, n, share, gain, index)


def _best_share(start: np.ndarray, window: float) -> tuple[float, float]:
    """Share of the window with the best forecasts, and its gain in log-likelihood over the whole window."""
    n_blocks = int(np.clip(window / H_PER_DAY, _FEWEST_BLOCKS, _BLOCKS))
    passed = np.searchsorted(start, np.linspace(0, window, n_blocks + 1))
    passed[-1] = start.size  # the end of the window belongs to the last block
    counts, block = np.diff(passed), np.arange(int(_FIRST * n_blocks), n_blocks)
    scatter = local_dispersion(start, window).index
    gains = {}
    for share in SHARES:
        length = round(share * n_blocks)
        first = np.maximum(block - length, 0)
        mean = (passed[block] - passed[first] + 0.5) / (block - first)
        if start.size - passed[n_blocks - length] >= MIN_EVENTS:
            # Poisson log-likelihood without its constant, divided by the index of dispersion
            gains[share] = float((counts[block] * np.log(mean) - mean).sum()) / scatter
    best = max(gains, key=lambda share: gains[share])
    gain = gains[best] - gains[1.0]
    return (best, gain) if gain >= MIN_GAIN else (1.0, 0.0)


def _scatter_beside(start: np.ndarray, window: float, level: float) -> float:
    """Index of dispersion of neighbouring blocks, each pair at its own rate, widened for its own uncertainty."""
    passed = np.searchsorted(start, np.linspace(0, window, N_BLOCKS + 1))
    passed[-1] = start.size
    counts = np.diff(passed)
    both = counts[1:] + counts[:-1]
    # the squared difference of two Poisson counts of one rate has the mean of their sum
    squares = np.diff(counts)[both > 0] ** 2 / both[both > 0]
    steps = squares.size
    dof = 2 * steps**2 / (3 * steps - 1)  # as for von Neumann's ratio: neighbouring pairs share a block
    return max(1.0, float(squares.mean())) * widening(dof, level) ** 2


def _error_index(start: np.ndarray, window: float, part: float, horizon: float) -> float:
    """Mean squared error of past non-overlapping forecasts over its expectation for independent failures."""
    origins = np.arange(window - horizon, max(_FIRST * window, part / 2), -horizon)
    if origins.size < 2:
        return 1.0
    begin = np.maximum(origins - part, 0)
    before, at, after = (np.searchsorted(start, times) for times in (begin, origins, origins + horizon))
    ahead = horizon / (origins - begin)
    mean = (at - before + 0.5) * ahead
    return float(((after - at - mean) ** 2 / (mean * (1 + ahead))).mean())
