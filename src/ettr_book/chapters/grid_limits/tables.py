"""The spectrum of a job's power, and published limits beside it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from ettr import power
from ettr.core.units import ROUNDING
from ettr.power import PowerSeries, Profile
from ettr_book.chapters.power.tables import Window, within

AS_GIVEN, TOGETHER = "as given", "all nodes at once"

_BANDS = 240
_LOWEST_HZ = 0.02
_FINE_S = 0.01


def spectra(timeline: pd.DataFrame, profile: Profile, window: Window, resolution_s: float = _FINE_S) -> pd.DataFrame:
    """Spectrum at the grid about the failure of a window, with the jitter as given and with none.

    Parameters
    ----------
    timeline : DataFrame
        Stretches of one run.
    profile : Profile
        As from :func:`ettr.power.profile`.
    window : Window
        As from :func:`day_of_run`; an hour of it is taken.
    resolution_s : float
        Bins. [s]

    Returns
    -------
    DataFrame
        ``nodes`` (``as given``, and ``all nodes at once`` where the profile has jitter), ``frequency_hz`` [Hz],
        ``psd_mw2_per_hz`` (the highest density in each of 240 steps of frequency) [MW²/Hz], and ``band_share``: of the
        whole line, the share of its fluctuation from 0.1 to 20 Hz.
    """
    still = replace(profile, waveform=replace(profile.waveform, jitter_s=0.0))
    lines = [(AS_GIVEN, profile)] + ([(TOGETHER, still)] if profile.waveform.jitter_s > 0 else [])
    frames = []
    for name, own in lines:
        series = within(timeline, own, window, resolution_s, "grid")
        density = power.spectrum(series)
        density = density[density["frequency_hz"] >= _LOWEST_HZ]
        edges = np.geomspace(_LOWEST_HZ, density["frequency_hz"].iloc[-1] * (1 + ROUNDING), _BANDS + 1)
        step = np.clip(np.searchsorted(edges, density["frequency_hz"], side="right") - 1, 0, _BANDS - 1)
        highest = density.loc[density.groupby(step)["psd_mw2_per_hz"].idxmax()]
        frames.append(highest.assign(nodes=name, band_share=power.band_share(series)))
    columns = ["nodes", "frequency_hz", "psd_mw2_per_hz", "band_share"]
    return pd.concat(frames, ignore_index=True)[columns]


def limits_kept(timeline: pd.DataFrame, profile: Profile, window: Window, day: PowerSeries) -> pd.DataFrame:
    """A run against every specification: shares of a band in an hour of fine bins, all other rules by the day.

    Parameters
    ----------
    timeline : DataFrame
        Stretches of one run.
    profile : Profile
        As from :func:`ettr.power.profile`.
    window : Window
        As from :func:`day_of_run`.
    day : PowerSeries
        The window in whole seconds.

    Returns
    -------
    DataFrame
        ``specification`` and the columns of :func:`ettr.power.check`.
    """
    fine = within(timeline, profile, window, _FINE_S, "grid")
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
