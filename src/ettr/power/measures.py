"""Mean, swings and ramps of a power series, in the measures that grid operators use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ettr.core.errors import InputError
from ettr.core.report import Answer, Note, Report, Table
from ettr.core.sentences import megawatts, number
from ettr.core.units import ROUNDING
from ettr.core.validity import above_zero
from ettr.power.binning import PowerSeries

_MEASURES = {
    "mean_mw": ("MW", "mean"),
    "peak_mw": ("MW", "highest bin"),
    "lowest_mw": ("MW", "lowest bin"),
    "swing_mw": ("MW", "highest minus lowest bin"),
    "swing_1s_mw": ("MW", "largest swing within 1 s"),
    "swing_10s_mw": ("MW", "largest swing within 10 s"),
    "ramp_up_1s_mw_per_s": ("MW/s", "largest rise from one second to the next"),
    "ramp_down_1s_mw_per_s": ("MW/s", "largest fall from one second to the next"),
    "ramp_up_1min_mw_per_min": ("MW/min", "largest rise from one minute to the next"),
    "ramp_down_1min_mw_per_min": ("MW/min", "largest fall from one minute to the next"),
    "range_share": ("1", "swing / rated power of the GPUs"),
}
UNITS = {name: unit for name, (unit, _) in _MEASURES.items()}
"""Unit of each measure."""


@dataclass(frozen=True, repr=False)
class Metrics(Answer):
    """Measures of a power series; None for a measure that its bins or length do not resolve, explained in ``notes``.

    Attributes
    ----------
    mean_mw, peak_mw, lowest_mw : float
        Mean, highest and lowest bin. [MW]
    swing_mw : float
        Highest minus lowest bin. [MW]
    swing_1s_mw, swing_10s_mw : float or None
        Largest swing between bins whose centres are at most 1 s or 10 s apart. [MW]
    ramp_up_1s_mw_per_s, ramp_down_1s_mw_per_s : float or None
        Largest rise and fall between the means of two consecutive seconds, at any offset. [MW/s]
    ramp_up_1min_mw_per_min, ramp_down_1min_mw_per_min : float or None
        Largest rise and fall between the means of two consecutive minutes. [MW/min]
    range_share : float or None
        Swing divided by the rated power of the GPUs; None without a profile.
    notes : tuple of str
        Reasons for measures that are None.
    """

    mean_mw: float
    peak_mw: float
    lowest_mw: float
    swing_mw: float
    swing_1s_mw: float | None
    swing_10s_mw: float | None
    ramp_up_1s_mw_per_s: float | None
    ramp_down_1s_mw_per_s: float | None
    ramp_up_1min_mw_per_min: float | None
    ramp_down_1min_mw_per_min: float | None
    range_share: float | None
    notes: tuple[str, ...] = ()

    def to_frame(self) -> pd.DataFrame:
        """Return one row per measure: ``metric``, ``meaning``, ``value`` (missing if unknown), ``unit``."""
        rows = [(name, meaning, getattr(self, name), unit) for name, (unit, meaning) in _MEASURES.items()]
        return pd.DataFrame(rows, columns=["metric", "meaning", "value", "unit"]).astype({"value": float})

    def to_dict(self) -> dict[str, Any]:
        """Return the measures by name, for JSON."""
        return {name: getattr(self, name) for name in UNITS}

    @property
    def headline(self) -> str:
        """Mean and swing in a sentence."""
        return f"{megawatts(self.mean_mw)} on average, swings by {megawatts(self.swing_mw)}"

    def report(self) -> Report:
        """Return a table of the resolved measures, and notes on the others."""
        rows = [
            (row.meaning, number(row.value), "" if row.unit == "1" else row.unit)
            for row in self.to_frame().dropna(subset="value").itertuples()
        ]
        table = Table(("Power at the grid (1 s bins)", "value", "unit"), rows, words=("unit",))
        return [table, *(Note(note, dim=True) for note in self.notes)]


def metrics(series: PowerSeries) -> Metrics:
    """Return mean, extremes, swings and ramps of a power series. [MW]

    Parameters
    ----------
    series : PowerSeries
        Power over time, as from :func:`ettr.power.series`.

    Returns
    -------
    Metrics
        A swing or ramp that the bins do not resolve is None, with a note.

    Examples
    --------
    >>> import numpy as np
    >>> from ettr.power import PowerSeries
    >>> measured = metrics(PowerSeries(0.0, 0.5, np.array([10.0, 10.0, 10.0, 10.0, 4.0, 4.0, 4.0, 4.0])))
    >>> measured.swing_mw, measured.swing_1s_mw, measured.ramp_down_1s_mw_per_s, measured.ramp_up_1s_mw_per_s
    (6.0, 6.0, 6.0, 0.0)
    """
    notes: list[str] = []
    ups, downs = {}, {}
    for name, window_s in (("1 s", 1.0), ("1 min", 60.0)):
        ups[name], downs[name] = _ramps(series, window_s, name, notes)
    swing_1s_mw, swing_10s_mw = (_swing(series, window_s, notes) for window_s in (1.0, 10.0))
    peak, lowest = float(series.power_mw.max()), float(series.power_mw.min())
    if series.profile is None:
        notes.append("range_share is unknown, because a series without profile has no rated power")
    return Metrics(
        mean_mw=series.mean_mw,
        peak_mw=peak,
        lowest_mw=lowest,
        swing_mw=peak - lowest,
        swing_1s_mw=swing_1s_mw,
        swing_10s_mw=swing_10s_mw,
        ramp_up_1s_mw_per_s=ups["1 s"],
        ramp_down_1s_mw_per_s=downs["1 s"],
        ramp_up_1min_mw_per_min=ups["1 min"],
        ramp_down_1min_mw_per_min=downs["1 min"],
        range_share=(peak - lowest) / series.profile.rated_mw if series.profile else None,
        notes=tuple(notes),
    )


def largest_swing_mw(series: PowerSeries, window_s: float) -> float:
    """Return the largest swing between bins whose centres are at most a window apart. [MW]

    Parameters
    ----------
    series : PowerSeries
        Power over time.
    window_s : float
        Window, at least one bin. [s]

    Raises
    ------
    InputError
        If the bins are longer than the window.

    Examples
    --------
    >>> import numpy as np
    >>> load = PowerSeries(0.0, 1.0, np.array([10.0, 8.0, 6.0, 6.0]))
    >>> largest_swing_mw(load, 1.0), largest_swing_mw(load, 2.0)
    (2.0, 4.0)
    """
    from scipy.ndimage import maximum_filter1d, minimum_filter1d

    window_s = float(above_zero("window_s", window_s, unit="s"))
    if series.step_s > window_s * (1 + ROUNDING):
        raise InputError(f"bins of {series.step_s:g} s cannot show a swing within {window_s:g} s")
    n = min(int(window_s / series.step_s + ROUNDING) + 1, series.n)
    # Swing of a sliding window: its running maximum minus its running minimum, where the window fits the series.
    middle = slice(n // 2, series.n - (n - 1) // 2)
    high = maximum_filter1d(series.power_mw, n, mode="nearest")[middle]
    high -= minimum_filter1d(series.power_mw, n, mode="nearest")[middle]
    return float(high.max())


def _swing(series: PowerSeries, window_s: float, notes: list[str]) -> float | None:
    """Largest swing, or None with a note."""
    try:
        return largest_swing_mw(series, window_s)
    except InputError as error:
        notes.append(str(error))
        return None


def _ramps(series: PowerSeries, window_s: float, name: str, notes: list[str]) -> tuple[float | None, float | None]:
    """Largest rise and fall between the means of two consecutive windows, per window; None with a note."""
    n = round(window_s / series.step_s)
    if n < 1 or abs(n * series.step_s - window_s) > 1e-6 * window_s:
        notes.append(f"ramps over {name} are unknown: it is no whole number of bins of {series.step_s:g} s")
        return None, None
    if series.n < 2 * n:
        notes.append(f"ramps over {name} are unknown: the series has {series.n * series.step_s:g} s, and they need two")
        return None, None
    # With E the running sum of power, consecutive window means differ by (E[k+2n] - 2 E[k+n] + E[k]) / n.
    energy = np.concatenate(([0.0], np.cumsum(series.power_mw - series.power_mw[0])))
    change = energy[2 * n :] + energy[: -2 * n]
    change -= 2 * energy[n:-n]
    change /= n
    return max(float(change.max()), 0.0), max(float(-change.min()), 0.0)
