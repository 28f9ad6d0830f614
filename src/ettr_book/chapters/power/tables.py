"""What the grid sees of one run: a day, the moment of a failure, and what smoothing it takes."""

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
        Stretches of the whole run.
    start_h, end_h : float
        Since submission. [h]
    failure_h : float or None
        Moment of the first failure in it; none without. [h]
    """

    timeline: pd.DataFrame
    start_h: float
    end_h: float
    failure_h: float | None = None

    def series(self, profile: Profile, step_s: float, at: Place, longest_h: float = 1.0) -> PowerSeries:
        """Power in the window, or in the longest part of it about its failure. [MW]"""
        start_h, end_h = self.start_h, self.end_h
        if end_h - start_h > longest_h:
            middle_h = (start_h + end_h) / 2 if self.failure_h is None else self.failure_h
            start_h = min(max(middle_h - longest_h / 2, start_h), end_h - longest_h)
            end_h = start_h + longest_h
        return power.series(self.timeline, profile, step_s, start_h, end_h, at=at)


def failures_of(timeline: pd.DataFrame) -> np.ndarray:
    """Failures of a run: when it stops working and is detected, queued or restarted. [h]"""
    state = timeline["state"].astype(str)
    down, worked = state.isin(_DOWN), state.shift().isin(_WORKING)
    return np.asarray(timeline.loc[down & worked, "start_h"], dtype=float)


def day_of_run(timeline: pd.DataFrame) -> Window:
    """The whole day with a failure whose stops are nearest to the mean of all days; all of a run that is shorter."""
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
    whole = failures_h[(failures_h >= start_h) & (failures_h < start_h + H_PER_DAY)]
    return Window(timeline, start_h, start_h + H_PER_DAY, float(whole[0]) if whole.size else None)


def _by_day(hours: np.ndarray, end_h: float) -> np.ndarray:
    return np.bincount((hours // H_PER_DAY).astype(int), minlength=int(end_h // H_PER_DAY) + 1)


def _planned_h(timeline: pd.DataFrame) -> np.ndarray:
    planned = timeline["state"].astype(str) == "maintenance"
    return np.asarray(timeline.loc[planned, "start_h"], dtype=float)


def a_year(bill: pd.DataFrame) -> pd.DataFrame:
    """The bill of a run's mean hours, as from :func:`ettr.power.bill`, for a year of such running."""
    scale = H_PER_YEAR / float(bill["hours"].sum())
    amounts = [name for name in bill.columns if name not in ("part", "wasted")]
    return bill.assign(**{name: bill[name] * scale for name in amounts})


def by_hand(profile: Profile) -> dict[str, float]:
    """Mean power while training and the fall at a failure, in three lines.

    Returns
    -------
    dict
        ``busy_w``: a GPU in the mean of a step, ``other_w`` what else runs for it, ``both_w`` [W], ``n_gpus``, ``pue``,
        ``training_mw`` [MW], ``waiting_w`` of a GPU after a failure, ``less_w`` [W], ``fall_mw`` [MW].
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
    """A day's power as a chart can hold it.

    Parameters
    ----------
    series : PowerSeries
        Of the day.

    Returns
    -------
    DataFrame
        At most 360 rows: ``hour`` (since the beginning of the series) [h], ``low_mw``, ``mean_mw``, ``high_mw`` [MW].
    """
    rows = series.aggregate(_ROWS_OF_DAY)
    rows.insert(0, "hour", rows["time_h"] - series.start_h)
    return rows.drop(columns="time_h")


def stops_of_day(window: Window) -> pd.DataFrame:
    """What stopped a run within a window.

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
    """A moment of a window that is worth a look: a failure, else a checkpoint, else the start. [h]"""
    if window.failure_h is not None:
        return window.failure_h
    timeline = window.timeline
    saved = timeline[(timeline["start_h"] >= window.start_h) & (timeline["state"] == "checkpoint")]
    trains = timeline[timeline["state"].isin(["training", "rework"])]
    return float((saved if len(saved) else trains)["start_h"].iloc[0])


def fine_series(window: Window, profile: Profile) -> PowerSeries:
    """Power of the computers in bins that show the phases of a step.

    If the window has too many of them, half a million about its failure are taken.
    """
    step_s = min(profile.waveform.shortest_s / _BINS_A_PHASE, 1.0)
    return window.series(profile, step_s, "computers", _MOST_BINS * step_s / S_PER_H)


BARE = "no smoothing"
_LEAD_S = 600.0


def sized_options(series: power.PowerSeries, target: power.Target) -> dict[str, Sized]:
    """Every option sized for a target, by name."""
    return {name: power.size(series, name, target) for name in power.options()}


def smoothed_moment(
    window: Window, profile: Profile, options: Mapping[str, Sized], seconds: float = 30.0
) -> pd.DataFrame:
    """Power of the computers about a failure, bare and with each option as sized.

    Parameters
    ----------
    window : Window
        As from :func:`day_of_run`.
    profile : Profile
        As from :func:`ettr.power.profile`.
    options : mapping of str to Sized
        As from :func:`sized_options`; those that cannot be set at all are left out.
    seconds : float
        Shown before and after. [s]

    Returns
    -------
    DataFrame
        ``option``, ``since_s`` (since the moment) [s], ``power_mw`` [MW], in about 300 bins a line.
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
    whole = (n_shown // per - 1) * per
    frames = [
        pd.DataFrame(
            {
                "option": name,
                "since_s": since_s[inside][:whole:per],
                "power_mw": power_mw[inside][:whole].reshape(-1, per).mean(axis=1),
            }
        )
        for name, power_mw in lines.items()
    ]
    return pd.concat(frames, ignore_index=True)


def limits_kept(window: Window, profile: Profile, day: PowerSeries) -> pd.DataFrame:
    """A run against every specification: shares of a band in an hour of fine bins, all other rules by the day.

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
        for series, own in ((fine, rules[in_band]), (day, rules[~in_band])):
            if len(own):
                kept = power.check(series, own)
                kept.insert(0, "specification", name)
                frames.append(kept)
    return pd.concat(frames, ignore_index=True)
