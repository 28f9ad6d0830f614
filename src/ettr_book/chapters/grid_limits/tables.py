"""The spectrum of a job's power, and published limits beside it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from ettr import power
from ettr.core.units import ROUNDING
from ettr.power import PowerSeries, Profile
from ettr_book.chapters.power.tables import Window

AS_GIVEN, TOGETHER = "as given", "all nodes at once"

_BANDS = 240
_LOWEST_HZ = 0.02
_FINE_S = 0.01


def spectra(window: Window, profile: Profile, resolution_s: float = _FINE_S) -> pd.DataFrame:
    """Spectrum at the grid about the failure of a window, with the jitter as assumed and with none.

    Parameters
    ----------
    window : Window
        As from ``power.tables.day_of_run``; an hour of it is taken.
    profile : Profile
        As from :func:`ettr.power.profile`.
    resolution_s : float
        Bins. [s]

    Returns
    -------
    DataFrame
        ``nodes`` (``as given`` and ``all nodes at once``), ``frequency_hz`` [Hz], ``psd_mw2_per_hz`` (the highest
        density in each of 240 steps of frequency) [MW²/Hz], and ``band_share``: of the whole line, the share of its
        fluctuation from 0.1 to 20 Hz.
    """
    still = replace(profile, waveform=replace(profile.waveform, jitter_s=0.0))
    frames = []
    for name, own in ((AS_GIVEN, profile), (TOGETHER, still)):
        series = window.series(own, resolution_s, "grid")
        density = power.spectrum(series)
        density = density[density["frequency_hz"] >= _LOWEST_HZ]
        edges = np.geomspace(_LOWEST_HZ, density["frequency_hz"].iloc[-1] * (1 + ROUNDING), _BANDS + 1)
        step = np.clip(np.searchsorted(edges, density["frequency_hz"], side="right") - 1, 0, _BANDS - 1)
        highest = density.loc[density.groupby(step)["psd_mw2_per_hz"].idxmax()]
        frames.append(highest.assign(nodes=name, band_share=power.band_share(series)))
    columns = ["nodes", "frequency_hz", "psd_mw2_per_hz", "band_share"]
    return pd.concat(frames, ignore_index=True)[columns]


def limits_kept(window: Window, profile: Profile, day: PowerSeries) -> pd.DataFrame:
    """A run against every specification: shares of a band in an hour of fine bins, all other rules by the day.

    Parameters
    ----------
    window : Window
        As from ``power.tables.day_of_run``.
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
