"""The spectrum of a power series, and how much of its fluctuation lies in a band."""

from __future__ import annotations

import numpy as np
import pandas as pd

from ettr.core.errors import InputError
from ettr.core.units import ROUNDING
from ettr.core.validity import at_least_zero
from ettr.power.binning import PowerSeries

CRITICAL_HZ = 0.1, 20.0
"""Band in which grids and turbines resonate, as a utility's example gives it."""

_PERIODS = 20
"""Periods of the lowest frequency of the band that a segment should hold."""
_LEAST = 16


def spectrum(series: PowerSeries, lowest_hz: float = CRITICAL_HZ[0]) -> pd.DataFrame:
    """Power spectral density of the fluctuation, by Welch's method [MW²/Hz].

    Parameters
    ----------
    series : PowerSeries
        At least two periods of ``lowest_hz`` long.
    lowest_hz : float
        Frequency that segments of the series should still resolve: they hold twenty of its periods, or as many as the
        series has. [Hz]

    Returns
    -------
    DataFrame
        ``frequency_hz`` [Hz] from above 0 to half the rate of the bins, ``psd_mw2_per_hz`` [MW²/Hz]. Summed over
        frequencies, times their distance, it is the variance within segments.

    Raises
    ------
    InputError
        A series too short for the lowest frequency.

    Notes
    -----
    Segments overlap by half, lose their trend and are weighed by a Hann window. A bin's mean dampens what is faster
    than it: at frequency f the density is :math:`(\\sin(\\pi f \\Delta)/(\\pi f \\Delta))^2` of what it would be, 0.41
    at half the rate of the bins; this is not undone.

    Examples
    --------
    >>> import numpy as np
    >>> from ettr.power import PowerSeries
    >>> t = np.arange(20_000) * 0.05
    >>> density = spectrum(PowerSeries(0.0, 0.05, 10 + np.sin(2 * np.pi * 0.5 * t)))
    >>> round(float(density["frequency_hz"][density["psd_mw2_per_hz"].idxmax()]), 2)
    0.5
    """
    from scipy.signal import welch

    lowest = float(at_least_zero("lowest_hz", lowest_hz, unit="Hz"))
    length_s = series.n * series.step_s
    if series.n < _LEAST or length_s * lowest < 2 - ROUNDING:
        raise InputError(
            f"a spectrum from {lowest:g} Hz needs two of its periods and {_LEAST} bins: the series has {length_s:g} s "
            f"in {series.n} bins"
        )
    wanted = _PERIODS / lowest / series.step_s if lowest else series.n
    frequency, density = welch(
        series.power_mw, 1 / series.step_s, nperseg=int(min(series.n, max(wanted, _LEAST))), detrend="linear"
    )
    return pd.DataFrame({"frequency_hz": frequency[1:], "psd_mw2_per_hz": density[1:]})


def band_share(series: PowerSeries, low_hz: float = CRITICAL_HZ[0], high_hz: float = CRITICAL_HZ[1]) -> float:
    """Share of the fluctuating energy between two frequencies.

    Parameters
    ----------
    series : PowerSeries
        Its bins must be short enough for the upper frequency.
    low_hz, high_hz : float
        The band. [Hz]

    Returns
    -------
    float
        In [0, 1]; of the variance within segments of twenty periods of the lower frequency, as :func:`spectrum` has it.
        Slower changes, such as failures, are not in it.

    Raises
    ------
    InputError
        Bins longer than half a period of the upper frequency (Nyquist), a series without fluctuation, or a band that is
        none.

    Examples
    --------
    >>> import numpy as np
    >>> from ettr.power import PowerSeries
    >>> t = np.arange(20_000) * 0.02
    >>> two = 10 + np.sin(2 * np.pi * 0.5 * t) + np.sin(2 * np.pi * 22.0 * t)
    >>> round(band_share(PowerSeries(0.0, 0.02, two)), 2)
    0.5
    """
    low, high = (float(at_least_zero(*pair, unit="Hz")) for pair in (("low_hz", low_hz), ("high_hz", high_hz)))
    if not 0 < low < high:
        raise InputError(f"a band needs 0 < low_hz < high_hz, got {low:g} and {high:g}")
    if high * 2 * series.step_s > 1 + ROUNDING:
        raise InputError(
            f"bins of {series.step_s:g} s hold frequencies up to {0.5 / series.step_s:g} Hz, not up to {high:g} Hz: "
            f"compute the series with resolution_s <= {0.5 / high:g}"
        )
    density = spectrum(series, low)
    total = float(density["psd_mw2_per_hz"].sum())
    if total <= 1e-20 * max(series.mean_mw**2, 1e-300):
        raise InputError("the series does not fluctuate, so no share of it lies in a band")
    inside = density["frequency_hz"].between(low * (1 - ROUNDING), high * (1 + ROUNDING))
    return float(np.clip(density.loc[inside, "psd_mw2_per_hz"].sum() / total, 0, 1))
