"""Power of one run at the grid: a day, the moment of a failure, and smoothing options."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from ettr import power
from ettr.core.units import H_PER_DAY, H_PER_YEAR, S_PER_H, W_PER_MW
from ettr.power import Place, PowerSeries, Profile, Sized

_DOWN = ("detection", "queue", "restart")
_WORKING = ("training", "rework", "checkpoint")
_ROWS_OF_DAY = 360
_MOST_BINS = 500_000
_BINS_A_PHASE = 5
_FINE_S = 0.01


@dataclass(frozen=True, eq=False)
class Window:
    """Part of a run.

    Attributes
    ----------
    timeline : DataFrame
        Stretches of the full run.
    start_h, end_h : float
        Start and end since submission. [h]
    failure_h : float or None
        Time of the first failure inside, if any. [h]
    """

    timeline: pd.DataFrame
    start_h: float
    end_h: float
    failure_h: float | None = None

    def series(self, profile: Profile, step_s: float, at: Place, longest_h: float = 1.0) -> PowerSeries:
        """Return the power in the window, or in the longest possible part around its failure. [MW]"""
        start_h, end_h = self.start_h, self.end_h
        if end_h - start_h > longest_h:
            middle_h = (start_h + end_h) / 2 if self.failure_h is None else self.failure_h
            start_h = min(max(middle_h - longest_h / 2, start_h), end_h - longest_h)
            end_h = start_h + longest_h
        return power.series(self.timeline, profile, step_s, start_h, end_h, at=at)


def failures_of(timeline: pd.DataFrame) -> np.ndarray:
    """Return the stops of a run: when it is in detection, queue or restart. [h]"""
    state = timeline["state"].astype(str)
    down, worked = state.isin(_DOWN), state.shift().isin(_WORKING)
    return np.asarray(timeline.loc[down & worked, "start_h"], dtype=float)


def day_of_run(timeline: pd.DataFrame) -> Window:
    """Return the day with a failure whose stops are nearest to the daily mean; the whole run if it is shorter."""
    end_h = float(timeline["end_h"].iloc[-1])
    failures_h = failures_of(timeline)
    if end_h < 2 * H_PER_DAY:
        inside = failures_h[failures_h > 0]
        return Window(timeline, 0.0, end_h, float(inside[0]) if inside.size else None)
    days = np.arange(1, int(end_h // H_PER_DAY))
    failed, planned = (_by_day(hours, end_h)[days] for hours in (failures_h, _planned_h(timeline)))
    off = np.abs(failed - failed.mean()) + np.abs(planned - planned.mean())
    off = np.where((failed > 0) | (failed.max() == 0), off, np.inf)
    start_h = float(days[np.argmin(off)] * H_PER_DAY)
    of_day = failures_h[(failures_h >= start_h) & (failures_h < start_h + H_PER_DAY)]
    return Window(timeline, start_h, start_h + H_PER_DAY, float(of_day[0]) if of_day.size else None)


def _by_day(hours: np.ndarray, end_h: float) -> np.ndarray:
    return np.bincount((hours // H_PER_DAY).astype(int), minlength=int(end_h // H_PER_DAY) + 1)


def _planned_h(timeline: pd.DataFrame) -> np.ndarray:
    planned = timeline["state"].astype(str) == "maintenance"
    return np.asarray(timeline.loc[planned, "start_h"], dtype=float)


def a_year(bill: pd.DataFrame) -> pd.DataFrame:
    """Return the bill of a run's mean hours, as from :func:`ettr.power.bill`, scaled to a year."""
    scale = H_PER_YEAR / float(bill["hours"].sum())
    amounts = [name for name in bill.columns if name not in ("part", "wasted")]
    return bill.assign(**{name: bill[name] * scale for name in amounts})


def by_hand(profile: Profile) -> dict[str, float]:
    """Return the mean power while training and the drop at a failure, in three lines of arithmetic.

    Returns
    -------
    dict
        ``busy_w``: mean power of a GPU in a step, ``other_w``: its share of other components, ``both_w`` [W],
        ``n_gpus``, ``pue``, ``training_mw`` [MW], ``waiting_w``: power of a GPU after a failure, ``less_w`` [W],
        ``fall_mw`` [MW].
    """
    wave, waiting_w = profile.waveform, profile.levels_w["detection"]
    busy_w = sum(phase.gpu_w * phase.share for phase in wave.phases)
    both_w = busy_w + profile.other_w
    return {
        "busy_w": busy_w,
        "other_w": profile.other_w,
        "both_w": both_w,
        "n_gpus": profile.n_gpus,
        "pue": profile.pue,
        "training_mw": profile.n_gpus * both_w * profile.pue / W_PER_MW,
        "waiting_w": waiting_w,
        "less_w": busy_w - waiting_w,
        "fall_mw": profile.n_gpus * (busy_w - waiting_w) / W_PER_MW,
    }


def power_of_day(series: PowerSeries) -> pd.DataFrame:
    """Return the power over a day at a chart's resolution.

    Parameters
    ----------
    series : PowerSeries
        Power over the day.

    Returns
    -------
    DataFrame
        At most 360 rows: ``hour`` (since the beginning of the series) [h], ``low_mw``, ``mean_mw``, ``high_mw`` [MW].
    """
    rows = series.aggregate(_ROWS_OF_DAY)
    rows.insert(0, "hour", rows["time_h"] - series.start_h)
    return rows.drop(columns="time_h")


def stops_of_day(window: Window) -> pd.DataFrame:
    """Return the stops of a run within a window.

    Parameters
    ----------
    window : Window
        As from :func:`day_of_run`.

    Returns
    -------
    DataFrame
        ``hour`` (since the beginning of the window) [h], ``what`` (``failure`` or ``maintenance``), in their order.
    """
    planned = _planned_h(window.timeline)
    failed = failures_of(window.timeline)
    at_h = np.concatenate((failed, planned))
    what = np.repeat(["failure", "maintenance"], [failed.size, planned.size])
    inside = (at_h >= window.start_h) & (at_h < window.end_h)
    rows = pd.DataFrame({"hour": at_h[inside] - window.start_h, "what": what[inside]})
    return rows.sort_values("hour", ignore_index=True)


def moment_h(window: Window) -> float:
    """Return an instructive moment of a window: a failure, else a checkpoint, else the start. [h]"""
    if window.failure_h is not None:
        return window.failure_h
    timeline = window.timeline
    saved = timeline[(timeline["start_h"] >= window.start_h) & (timeline["state"] == "checkpoint")]
    trains = timeline[timeline["state"].isin(["training", "rework"])]
    return float((saved if len(saved) else trains)["start_h"].iloc[0])


def fine_series(window: Window, profile: Profile) -> PowerSeries:
    """Return the power of the computers in bins that resolve the phases of a step.

    A window with too many bins is limited to half a million around its failure.
    """
    step_s = min(profile.waveform.shortest_s / _BINS_A_PHASE, 1.0)
    return window.series(profile, step_s, "computers", _MOST_BINS * step_s / S_PER_H)


BARE = "no smoothing"
_LEAD_S = 600.0


def sized_options(series: power.PowerSeries, target: power.Target) -> dict[str, Sized]:
    """Return every option sized for a target, by name."""
    return {name: power.size(series, name, target) for name in power.options()}


def smoothed_moment(
    window: Window, profile: Profile, options: Mapping[str, Sized], seconds: float = 30.0
) -> pd.DataFrame:
    """Return the power around a failure, without smoothing and with each option as sized.

    Parameters
    ----------
    window : Window
        As from :func:`day_of_run`.
    profile : Profile
        As from :func:`ettr.power.profile`.
    options : mapping of str to Sized
        As from :func:`sized_options`; options without a setting are left out.
    seconds : float
        Time before and after the event. [s]

    Returns
    -------
    DataFrame
        ``option``, ``since_s`` (time from the event) [s], ``power_mw`` [MW], in about 300 bins per line.
    """
    at_h = moment_h(window)
    span_h = (seconds + _LEAD_S) / S_PER_H
    step_s = min(profile.waveform.shortest_s / 5, seconds / 100)
    first_h, last_h = float(window.timeline["start_h"].iloc[0]), float(window.timeline["end_h"].iloc[-1])
    start_h, end_h = max(at_h - span_h, first_h), min(at_h + span_h, last_h)
    around = power.series(window.timeline, profile, step_s, start_h, end_h, at="computers")
    lines = {BARE: around.power_mw} | {
        name: power.smooth(around, sized.setting).after.power_mw for name, sized in options.items() if sized.setting
    }
    since_s = (around.to_frame()["time_h"].to_numpy() - at_h) * S_PER_H
    inside = np.abs(since_s) <= seconds
    n_shown = int(np.count_nonzero(inside))
    per = max(1, n_shown // 300)
    n_kept = (n_shown // per - 1) * per
    frames = [
        pd.DataFrame(
            {
                "option": name,
                "since_s": since_s[inside][:n_kept:per],
                "power_mw": power_mw[inside][:n_kept].reshape(-1, per).mean(axis=1),
            }
        )
        for name, power_mw in lines.items()
    ]
    return pd.concat(frames, ignore_index=True)


def limits_kept(window: Window, profile: Profile, day: PowerSeries) -> pd.DataFrame:
    """Return a run against every specification: bands in an hour of fine bins, all other rules over the day.

    Parameters
    ----------
    window : Window
        As from :func:`day_of_run`.
    profile : Profile
        As from :func:`ettr.power.profile`.
    day : PowerSeries
        The window in whole seconds.

    Returns
    -------
    DataFrame
        ``specification`` and the columns of :func:`ettr.power.check`.
    """
    fine = window.series(profile, _FINE_S, "grid")
    frames = []
    for name in power.specifications():
        rules = power.specification(name)
        in_band = rules["metric"] == "band_share"
        for series, applicable in ((fine, rules[in_band]), (day, rules[~in_band])):
            if len(applicable):
                kept = power.check(series, applicable)
                kept.insert(0, "specification", name)
                frames.append(kept)
    return pd.concat(frames, ignore_index=True)
