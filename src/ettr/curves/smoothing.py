"""What smoothing does about a failure, and which steps a floor costs how much."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from ettr import power
from ettr.curves.power import FAILURE, Window, about, moments_of
from ettr.power import Profile, Sized

BARE = "no smoothing"
_POINTS = 80
_LEAD_S = 600.0


def sized_options(series: power.PowerSeries, target: power.Target) -> dict[str, Sized]:
    """Every option sized for a target, by name."""
    return {name: power.size(series, name, target) for name in power.options()}


def smoothed_moment(
    timeline: pd.DataFrame, profile: Profile, window: Window, found: Mapping[str, Sized], seconds: float = 30.0
) -> pd.DataFrame:
    """Power of the computers about a failure, bare and with each option as sized.

    Parameters
    ----------
    timeline : DataFrame
        Stretches of one run.
    profile : Profile
        As from :func:`ettr.power.profile`.
    window : Window
        As from :func:`ettr.curves.day_of_run`.
    found : mapping of str to Sized
        As from :func:`sized_options`; those that cannot be set at all are left out.
    seconds : float
        Shown before and after. [s]

    Returns
    -------
    DataFrame
        ``option``, ``reached``, ``since_s`` (since the moment) [s], ``power_mw`` [MW], in about 300 bins a line.
    """
    moment, at_h = moments_of(timeline, window)[0]
    span_s = seconds + (_LEAD_S if moment == FAILURE else 0.0)
    step_s = min(profile.waveform.shortest_s / 5, seconds / 100)
    around = about(timeline, profile, at_h, span_s, "computers", step_s)
    lines = {BARE: around.power_mw} | {
        name: power.smooth(around, sized.setting).after.power_mw for name, sized in found.items() if sized.setting
    }
    since_s = (around.to_frame()["time_h"].to_numpy() - at_h) * 3600
    shown = np.abs(since_s) <= seconds
    per = max(1, int(np.count_nonzero(shown) // 300))
    frames = []
    for name, power_mw in lines.items():
        first = np.arange(0, np.count_nonzero(shown) // per * per, per)
        means = np.add.reduceat(power_mw[shown], first)[: first.size] / per
        reached = name == BARE or found[name].reached
        frame = {"option": name, "reached": reached, "since_s": since_s[shown][first], "power_mw": means}
        frames.append(pd.DataFrame(frame).iloc[: first.size - 1])
    return pd.concat(frames, ignore_index=True)


def floor_pairs(floor: float, overhead: float, peak: float = 1.0) -> pd.DataFrame:
    """Steps on which a floor costs a given share of energy.

    Parameters
    ----------
    floor : float
        Over the rated power.
    overhead : float
        Energy added, over the energy without.
    peak : float
        Power of the compute phase, over the rated power.

    Returns
    -------
    DataFrame
        ``trough`` (power of the rest of the step, over the rated power), ``compute_share``; only pairs that exist.

    Examples
    --------
    >>> pairs = floor_pairs(0.9, 0.105)
    >>> round(float(pairs.loc[pairs["trough"].sub(0.45).abs().idxmin(), "compute_share"]), 2)
    0.79
    """
    trough = np.linspace(0.0, min(floor, peak), _POINTS, endpoint=False)
    share = power.compute_share_of_overhead(trough, floor, overhead, peak)
    found = pd.DataFrame({"trough": trough, "compute_share": share})
    return found[np.isfinite(found["compute_share"])].reset_index(drop=True)


def own_step(profile: Profile, floor: float) -> pd.DataFrame:
    """A profile's own step and the steps seen on A100, with what a floor costs each.

    Parameters
    ----------
    profile : Profile
        As from :func:`ettr.power.profile`.
    floor : float
        Over the rated power, at most the highest phase.

    Returns
    -------
    DataFrame
        ``step`` (name), ``trough``, ``compute_share``, ``overhead`` (energy added, over that of the GPUs).
    """
    phases = [phase for phase in profile.waveform.phases if phase.share > 0]
    high, low = max(p.gpu_w for p in phases) / profile.rated_w, min(p.gpu_w for p in phases) / profile.rated_w
    share = sum(phase.share for phase in phases if phase.gpu_w / profile.rated_w == high)
    cost = power.floor_overhead(share, low, min(floor, high), high)
    return pd.DataFrame([{"step": "this step", "trough": low, "compute_share": share, "overhead": cost}])
