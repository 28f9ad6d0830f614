"""ETTR of a run over time: by hour, day or week, and in a rolling window."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from ettr.core.errors import UnknownName
from ettr.core.units import S_PER_H
from ettr.core.validity import above_zero
from ettr.logs.training.steps import Process

PERIODS = {"hour": pd.Timedelta(hours=1), "day": pd.Timedelta(days=1), "week": pd.Timedelta(days=7)}
"""Lengths of the periods by name. Days start at midnight UTC, weeks on Monday."""
_MONDAY = pd.Timestamp("2024-01-01", tz="UTC")
_POINTS = 500
"""Points of a rolling window."""
_HOUR = pd.Timedelta(hours=1)


def kept_hours(
    processes: Sequence[Process], begun: Sequence[float], from_steps: Sequence[int], step_s: float
) -> pd.DataFrame:
    """Return the productive hours up to each step line: those of steps that no restart lost.

    Parameters
    ----------
    processes : sequence of Process
        Processes of the run, in order.
    begun : sequence of float
        Start of the first step of each process. [s since 1970 UTC]
    from_steps : sequence of int
        Step from which each process resumed. [count]
    step_s : float
        Time of a step. [s]

    Returns
    -------
    DataFrame
        ``time`` (UTC, rising) and ``productive_h`` (rising) [h].
    """
    times, kept = [np.array([begun[0]])], [np.zeros(1)]
    # a step is kept if no later process resumed from before it; steps before the start of the log are no progress
    last_kept = np.minimum.accumulate([np.inf, *from_steps[:0:-1]])[::-1]
    for process, start, from_step, resumed, highest in zip(
        processes, begun, from_steps, [*from_steps[1:], 0], last_kept, strict=True
    ):
        n_unlogged = max(resumed - process.step[-1], 0)  # done before the stop, but without a line
        done = [from_step, *process.step, process.step[-1] + n_unlogged]
        steps = np.clip(done, from_steps[0], max(highest, from_steps[0]))
        times.append(np.array([start, *process.time_s, process.time_s[-1] + n_unlogged * step_s]))
        kept.append(np.concatenate([[0.0], np.maximum(np.diff(steps), 0.0)]))
    time_s = np.maximum.accumulate(np.concatenate(times))
    productive_h = np.cumsum(np.concatenate(kept)) * step_s / S_PER_H
    return pd.DataFrame({"time": pd.to_datetime(time_s, unit="s", utc=True), "productive_h": productive_h})


def by_period(
    progress: pd.DataFrame, stops: pd.DataFrame, start: pd.Timestamp, end: pd.Timestamp, period: str
) -> pd.DataFrame:
    """Return the ETTR in each period of a run.

    Parameters
    ----------
    progress : DataFrame
        From `kept_hours`.
    stops : DataFrame
        Stops of the run, with their ``time``.
    start, end : Timestamp
        First and last time of the log.
    period : str
        ``"hour"``, ``"day"`` or ``"week"``.

    Returns
    -------
    DataFrame
        One row per period: ``start``, ``end``, ``wall_h`` and ``productive_h`` [h], ``ettr`` and ``n_stops`` [count].
        The first and the last period are as long as the log covers them.

    Raises
    ------
    UnknownName
        No period of that name.
    """
    if period not in PERIODS:
        raise UnknownName("period", period, PERIODS, "`by`")
    length = PERIODS[period]
    first = start - (start - _MONDAY) % length
    inner = pd.date_range(first, end, freq=length)[1:]
    edges = pd.DatetimeIndex([start, *inner[inner < end], end])
    wall_h = np.asarray(np.diff(edges) / _HOUR, dtype=float)
    productive_h = np.diff(_at(progress, edges))
    n_stops = np.histogram(_seconds(pd.DatetimeIndex(stops["time"])), _seconds(edges))[0]
    return pd.DataFrame(
        {
            "start": edges[:-1],
            "end": edges[1:],
            "wall_h": wall_h,
            "productive_h": productive_h,
            "ettr": np.minimum(productive_h / wall_h, 1.0),
            "n_stops": n_stops,
        }
    )


def rolling(progress: pd.DataFrame, start: pd.Timestamp, end: pd.Timestamp, window_h: float) -> pd.DataFrame:
    """Return the ETTR in the hours up to each time: ``time`` and ``ettr``, at up to 500 times.

    A log that is shorter than the window gives its only value, at its end.
    """
    window = pd.Timedelta(hours=float(above_zero("window_h", window_h, unit="h")))
    first = min(start + window, end)
    times = pd.date_range(first, end, periods=_POINTS if first < end else 1)
    begin = (times - window).where(times - window > start, start)
    ettr = (_at(progress, times) - _at(progress, begin)) / np.asarray((times - begin) / _HOUR, dtype=float)
    return pd.DataFrame({"time": times, "ettr": np.minimum(ettr, 1.0)})


def _at(progress: pd.DataFrame, times: pd.DatetimeIndex) -> np.ndarray:
    """Productive hours up to each time; between two lines they grow evenly. [h]"""
    hours: np.ndarray = np.interp(
        _seconds(times), _seconds(pd.DatetimeIndex(progress["time"])), progress["productive_h"].to_numpy()
    )
    return hours


def _seconds(times: pd.DatetimeIndex) -> np.ndarray:
    """Times since 1970 UTC. [s]"""
    return np.asarray((times - pd.Timestamp(0, tz="UTC")) / pd.Timedelta(seconds=1), dtype=float)
