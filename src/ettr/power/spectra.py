"""Spectrum of a power series, and the share of its fluctuation within a frequency band."""

from __future__ import annotations

import numpy as np
import pandas as pd

from ettr.core.errors import InputError
from ettr.core.units import ROUNDING
from ettr.core.validity import at_least_zero
from ettr.power.binning import PowerSeries

CRITICAL_HZ = 0.1, 20.0
"""Band in which grids and turbines resonate, from the example of a utility. [Hz]"""

_PERIODS = 20
"""Length of a segment in periods of the lowest frequency."""
_FEWEST_BINS = 16


def spectrum(series: PowerSeries, lowest_hz: float = CRITICAL_HZ[0]) -> pd.DataFrame:
    """Return the power spectral density of the fluctuation, by Welch's method. [MW²/Hz]

    Parameters
    ----------
    series : PowerSeries
        Series at least two periods of ``lowest_hz`` long.
    lowest_hz : float
        Lowest frequency to resolve: segments are twenty of its periods long, or the length of the series. [Hz]

    Returns
    -------
    DataFrame
        ``frequency_hz`` [Hz] from above 0 to the Nyquist frequency, ``psd_mw2_per_hz`` [MW²/Hz]. Its integral over
        frequency is the variance within segments.

    Raises
    ------
    InputError
        If the series is too short for the lowest frequency.

    Notes
    -----
    Segments overlap by half, are detrended and weighted by a Hann window. Averaging over bins of length
    :math:`\\Delta` attenuates the density at frequency f by :math:`(\\sin(\\pi f \\Delta)/(\\pi f \\Delta))^2`,
    which is 0.41 at the Nyquist frequency; this is not corrected.

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
    if series.n < _FEWEST_BINS or length_s * lowest < 2 - ROUNDING:
        raise InputError(
            f"a spectrum from {lowest:g} Hz needs two of its periods and {_FEWEST_BINS} bins, got a series of "
            f"{length_s:g} s in {series.n} bins"
        )
    segment_bins = _PERIODS / lowest / series.step_s if lowest else series.n
    segment_bins = int(min(series.n, max(segment_bins, _FEWEST_BINS)))
    frequency, density = welch(series.power_mw, 1 / series.step_s, nperseg=segment_bins, detrend="linear")
    return pd.DataFrame({"frequency_hz": frequency[1:], "psd_mw2_per_hz": density[1:]})


def band_share(series: PowerSeries, low_hz: float = CRITICAL_HZ[0], high_hz: float = CRITICAL_HZ[1]) -> float:
    """Return the share of the fluctuation between two frequencies.

    Parameters
    ----------
    series : PowerSeries
        Series whose bins resolve the upper frequency.
    low_hz, high_hz : float
        Frequency band. [Hz]

    Returns
    -------
    float
        Share in [0, 1] of the variance within segments of twenty periods of the lower frequency, as in
        :func:`spectrum`. Slower changes, such as failures, do not count.

    Raises
    ------
    InputError
        If bins are longer than half a period of the upper frequency (Nyquist), the series does not fluctuate, or the
        band is empty.

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
            f"bins of {series.step_s:g} s resolve frequencies up to {0.5 / series.step_s:g} Hz, not up to {high:g} Hz: "
            f"compute the series with resolution_s <= {0.5 / high:g}"
        )
    density = spectrum(series, low)
    total = float(density["psd_mw2_per_hz"].sum())
    if total <= 1e-20 * max(series.mean_mw**2, 1e-300):
        raise InputError("the series does not fluctuate, so the share of a band is undefined")
    inside = density["frequency_hz"].between(low * (1 - ROUNDING), high * (1 + ROUNDING))
    return float(np.clip(density.loc[inside, "psd_mw2_per_hz"].sum() / total, 0, 1))
