"""The ETTR that a run achieved, from the times at which it reached its steps.

A diary or a training log has the time at which each step was reached. Steps times the time of one step are productive
hours, whatever else was recorded, so their share of the wall clock is the ETTR of the run.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ettr.core.errors import InputError
from ettr.core.units import S_PER_H
from ettr.core.validity import above_zero, at_least_zero

_HOUR = pd.Timedelta(hours=1)


@dataclass(frozen=True)
class RealisedETTR:
    """The ETTR that a run really had.

    Attributes
    ----------
    ettr, low, high : float
        Productive over wall-clock hours, and its ends from the resolution of the time stamps. Above 1 the steps do not
        fit into the time: a stamp or the time of a step is wrong.
    wall_h : float
        From the first stamp to the last. [h]
    productive_h : float
        Steps times the time of one. [h]
    n_steps : int
        Steps between the first and the last stamp.
    first, last : Timestamp
        The two stamps.
    segments : DataFrame
        A row a pair of neighbouring stamps: ``start``, ``end``, ``steps``, ``wall_h`` [h], ``ettr``, ``low``, ``high``.
    """

    ettr: float
    low: float
    high: float
    wall_h: float
    productive_h: float
    n_steps: int
    first: pd.Timestamp
    last: pd.Timestamp
    segments: pd.DataFrame

    @property
    def lost_h(self) -> float:
        """Wall clock that is not productive. [h]"""
        return self.wall_h - self.productive_h


def realised_ettr(time: Any, step: Any, step_s: float, resolution_h: float = 0.0) -> RealisedETTR:
    r"""The ETTR that a run really had, from the steps that it reached.

    Parameters
    ----------
    time : sequence of str or Timestamp
        When each step was reached, in order.
    step : sequence of int
        The step, or the one from which the run went on after a stop. [count]
    step_s : float
        Time of one step while training. [s]
    resolution_h : float
        Step of the time stamps, e.g. 24 for dates. [h]

    Returns
    -------
    RealisedETTR
        With one row a pair of stamps.

    Raises
    ------
    InputError
        Fewer than two stamps, times that do not rise or are no times, steps that fall, or a number out of range.

    Notes
    -----
    :math:`(s_n - s_0)\,\Delta / (t_n - t_0)`. Each stamp may be up to its resolution early, so the length between two
    is known to plus or minus the resolution. It holds for one time of a step; a larger batch or fewer GPUs need a
    stretch of their own.

    Examples
    --------
    >>> done = realised_ettr(["2022-03-01", "2022-03-02", "2022-03-04"], [0, 900, 2500], 90.0)
    >>> round(done.ettr, 3), done.segments["ettr"].round(3).tolist()
    (0.868, [0.938, 0.833])
    """
    stamps, steps = _stamps(time, step)
    seconds = float(above_zero("step_s", step_s, unit="s"))
    resolution = float(at_least_zero("resolution_h", resolution_h, unit="h"))
    wall_h = np.asarray((stamps[1:] - stamps[:-1]) / _HOUR, dtype=float)
    segments = pd.DataFrame({"start": stamps[:-1], "end": stamps[1:], "steps": np.diff(steps), "wall_h": wall_h})
    productive_h = segments["steps"].to_numpy() * seconds / S_PER_H
    for column, ends in zip(("ettr", "low", "high"), _ratio(productive_h, wall_h, resolution), strict=True):
        segments[column] = ends
    ettr, low, high = _ratio(productive_h.sum(keepdims=True), wall_h.sum(keepdims=True), resolution)
    return RealisedETTR(
        ettr=float(ettr[0]),
        low=float(low[0]),
        high=float(high[0]),
        wall_h=float(wall_h.sum()),
        productive_h=float(productive_h.sum()),
        n_steps=int(steps[-1] - steps[0]),
        first=stamps[0],
        last=stamps[-1],
        segments=segments,
    )


def _stamps(time: Any, step: Any) -> tuple[pd.DatetimeIndex, np.ndarray]:
    """Times and steps, checked: equally many, and both in order."""
    times = pd.Series(time).reset_index(drop=True)
    if pd.api.types.is_numeric_dtype(times):
        raise InputError(f"time must hold dates or times, got the number {times.iloc[0] if len(times) else 'of none'}")
    try:
        stamps = pd.DatetimeIndex(pd.to_datetime(times))
        steps = np.asarray(step, dtype=float)
    except (ValueError, TypeError) as error:
        raise InputError(f"time and step must hold times of one zone and numbers: {error}") from None
    if stamps.size != steps.size or stamps.size < 2:
        raise InputError(f"time and step must be at least 2 and as many, got {stamps.size} and {steps.size}")
    if stamps.hasnans or not np.isfinite(steps).all():
        raise InputError("time and step must be known in every row; leave out rows where one is missing")
    for i in range(1, steps.size):
        if stamps[i] <= stamps[i - 1]:
            raise InputError(f"time must rise, got {stamps[i]} after {stamps[i - 1]} (row {i + 1})")
        if steps[i] < steps[i - 1]:
            raise InputError(
                f"step must not fall, got {steps[i]:g} after {steps[i - 1]:g} (row {i + 1}); give the step from which "
                f"the run went on, not the one at which it stopped"
            )
    if (steps % 1 != 0).any():
        raise InputError(f"step must be a whole number, got {steps[steps % 1 != 0][0]:g}")
    return stamps, steps.astype("int64")


def _ratio(
    productive_h: np.ndarray, wall_h: np.ndarray, resolution_h: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """ETTR with its ends; the high end is infinite where the stamps may be one instant."""
    shortest = wall_h - resolution_h
    with np.errstate(divide="ignore", invalid="ignore"):
        high = np.where(shortest > 0, productive_h / np.where(shortest > 0, shortest, 1), np.inf)
    return productive_h / wall_h, productive_h / (wall_h + resolution_h), high
