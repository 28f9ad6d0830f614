"""How much of the past a forecast should rest on: all of it, unless the rate has changed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ettr.core.units import H_PER_DAY
from ettr.failures.dispersion import MIN_EVENTS, N_BLOCKS, local_dispersion, over_dispersion, widening
from ettr.failures.window import checked_level, checked_starts

SHARES = (1.0, 1 / 2, 1 / 4, 1 / 8)
"""Parts of the window, up to its end, that are tried."""
LEAST_GAIN = 5.0
"""A part must make the log's own counts this much more probable than the whole does. [nats]"""
_BLOCKS, _FEWEST_BLOCKS = 200, 20
_FIRST = 1 / 3
"""From this share of the window on past forecasts are made."""


@dataclass(frozen=True)
class Recent:
    """The part of the past that a forecast rests on.

    Attributes
    ----------
    window_h : float
        Its length, up to the end of the log. [h]
    n_events : int
        Failures in it. [count]
    share : float
        Its share of the whole window.
    gain : float
        By how much it made the log's own counts more probable than the whole window did; 0 for that. [nats]
    index : float
        Index of dispersion to allow for, at least 1, with what is uncertain of it.
    """

    window_h: float
    n_events: int
    share: float
    gain: float
    index: float

    @property
    def is_whole(self) -> bool:
        """Whether it is all that the log has."""
        return self.share == 1.0


def recent_past(start_h: Any, window_h: float, horizon_h: float, level: float = 0.95) -> Recent:
    r"""Find how much of the past forecasts of a log should rest on, from how they did on the log itself.

    Parameters
    ----------
    start_h : array of float
        Starts of failures since the start of the window, in order. [h]
    window_h : float
        Length of the window. [h]
    horizon_h : float
        Time ahead. [h]
    level : float
        Coverage of the intervals for which the index is made right.

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
    From a third of the window on the count of each of 200 blocks is forecast from the time before it: from all of it,
    and from the last half, quarter and eighth of a window. The part whose forecasts make the counts most probable is
    taken if that is by ``LEAST_GAIN`` more than the whole does, with a likelihood of Poisson counts divided by the
    index of dispersion of neighbouring blocks, so that a burst is no change of the rate. Where nothing changes the
    whole is best, as it knows the rate best. A part must hold ``MIN_EVENTS`` failures.

    The index is that of equal blocks of the window, or where a part is taken the larger of that of neighbouring blocks
    and the mean square error of past forecasts of a horizon over what independent failures would give. What so few
    blocks leave uncertain is paid for by Student's t, except where counts scatter no more than by chance.

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
    """As `recent_past`, for times that are known to be in order and in the window."""
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
    """The part of the window to rest on, and its gain over the whole."""
    n_blocks = int(np.clip(window / H_PER_DAY, _FEWEST_BLOCKS, _BLOCKS))
    passed = np.searchsorted(start, np.linspace(0, window, n_blocks + 1))
    passed[-1] = start.size  # the end of the window is in it
    counts, block = np.diff(passed), np.arange(int(_FIRST * n_blocks), n_blocks)
    scatter = local_dispersion(start, window).index
    gains = {}
    for share in SHARES:
        length = round(share * n_blocks)
        first = np.maximum(block - length, 0)
        mean = (passed[block] - passed[first] + 0.5) / (block - first)
        if start.size - passed[n_blocks - length] >= MIN_EVENTS:
            gains[share] = float((counts[block] * np.log(mean) - mean).sum()) / scatter
    best = max(gains, key=lambda share: gains[share])
    gain = gains[best] - gains[1.0]
    return (best, gain) if gain >= LEAST_GAIN else (1.0, 0.0)


def _scatter_beside(start: np.ndarray, window: float, level: float) -> float:
    """Index of dispersion of neighbouring blocks, each pair at its own rate, with what is uncertain of it."""
    passed = np.searchsorted(start, np.linspace(0, window, N_BLOCKS + 1))
    passed[-1] = start.size
    counts = np.diff(passed)
    both = counts[1:] + counts[:-1]
    squares = np.diff(counts)[both > 0] ** 2 / both[both > 0]
    steps = squares.size
    dof = 2 * steps**2 / (3 * steps - 1)  # as of von Neumann's ratio: neighbouring pairs share a block
    return max(1.0, float(squares.mean())) * widening(dof, level) ** 2


def _error_index(start: np.ndarray, window: float, part: float, horizon: float) -> float:
    """Mean square error of past forecasts, side by side, over the variance that independent failures would give."""
    origins = np.arange(window - horizon, max(_FIRST * window, part / 2), -horizon)
    if origins.size < 2:
        return 1.0
    begin = np.maximum(origins - part, 0)
    before, at, after = (np.searchsorted(start, times) for times in (begin, origins, origins + horizon))
    ahead = horizon / (origins - begin)
    mean = (at - before + 0.5) * ahead
    return float(((after - at - mean) ** 2 / (mean * (1 + ahead))).mean())
