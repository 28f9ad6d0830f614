"""How uneven a power series is, in the measures that grids use."""

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
    "swing_mw": ("MW", "highest less lowest bin"),
    "swing_1s_mw": ("MW", "largest swing within 1 s"),
    "swing_10s_mw": ("MW", "largest swing within 10 s"),
    "ramp_up_1s_mw_per_s": ("MW/s", "largest rise from one second to the next"),
    "ramp_down_1s_mw_per_s": ("MW/s", "largest fall from one second to the next"),
    "ramp_up_1min_mw_per_min": ("MW/min", "largest rise from one minute to the next"),
    "ramp_down_1min_mw_per_min": ("MW/min", "largest fall from one minute to the next"),
    "range_share": ("1", "swing over the rated power of the GPUs"),
}
UNITS = {name: unit for name, (unit, _) in _MEASURES.items()}
"""Unit of each measure."""


@dataclass(frozen=True, repr=False)
class Metrics(Answer):
    """Measures of one series; what its bins or its length cannot show is None, and ``notes`` gives the reason.

    Attributes
    ----------
    mean_mw, peak_mw, lowest_mw : float
        Mean, highest and lowest bin. [MW]
    swing_mw : float
        Highest less lowest bin. [MW]
    swing_1s_mw, swing_10s_mw : float or None
        The largest swing between bins whose middles lie at most so far apart. [MW]
    ramp_up_1s_mw_per_s, ramp_down_1s_mw_per_s : float or None
        The largest rise and fall from the mean of a second to that of the next, wherever it begins. [MW/s]
    ramp_up_1min_mw_per_min, ramp_down_1min_mw_per_min : float or None
        The same of minutes. [MW/min]
    range_share : float or None
        Swing over the rated power of the GPUs; of a series without profile not known.
    notes : tuple of str
        What is not known, and why.
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
        """A row a measure: ``metric``, ``meaning``, ``value`` (missing where not known), ``unit``."""
        rows = [(name, meaning, getattr(self, name), unit) for name, (unit, meaning) in _MEASURES.items()]
        return pd.DataFrame(rows, columns=["metric", "meaning", "value", "unit"]).astype({"value": float})

    def to_dict(self) -> dict[str, Any]:
        """The measures by name, for JSON."""
        return {name: getattr(self, name) for name in UNITS}

    @property
    def headline(self) -> str:
        """Mean and swing."""
        return f"{megawatts(self.mean_mw)} on average, swings by {megawatts(self.swing_mw)}"

    def report(self) -> Report:
        """A row a measure that is known, and why others are not."""
        rows = [
            (row.meaning, number(row.value), "" if row.unit == "1" else row.unit)
            for row in self.to_frame().dropna(subset="value").itertuples()
        ]
        table = Table(("at the grid, in seconds", "value", "unit"), rows, words=("unit",))
        return [table, *(Note(note, dim=True) for note in self.notes)]


def metrics(series: PowerSeries) -> Metrics:
    """Mean, extremes, swings and ramps of a power series [MW].

    Parameters
    ----------
    series : PowerSeries
        As from :func:`ettr.power.series`.

    Returns
    -------
    Metrics
        A swing or ramp over a time that the bins cannot show is None, with a note.

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
        notes.append("the rated power of the GPUs is not known, so neither is the range over it")
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
    """The largest swing between bins whose middles lie at most so far apart [MW].

    Parameters
    ----------
    series : PowerSeries
        The series.
    window_s : float
        The time, at least a bin. [s]

    Raises
    ------
    InputError
        Bins longer than the window.
    """
    from scipy.ndimage import maximum_filter1d, minimum_filter1d

    window_s = float(above_zero("window_s", window_s, unit="s"))
    if series.step_s > window_s * (1 + ROUNDING):
        raise InputError(f"bins of {series.step_s:g} s cannot show a swing within {window_s:g} s")
    n = min(int(window_s / series.step_s + ROUNDING) + 1, series.n)
    middle = slice(n // 2, series.n - (n - 1) // 2)  # where the filter's window lies within the series
    high = maximum_filter1d(series.power_mw, n, mode="nearest")[middle]
    high -= minimum_filter1d(series.power_mw, n, mode="nearest")[middle]
    return float(high.max())


def _swing(series: PowerSeries, window_s: float, notes: list[str]) -> float | None:
    try:
        return largest_swing_mw(series, window_s)
    except InputError as error:
        notes.append(str(error))
        return None


def _ramps(series: PowerSeries, window_s: float, name: str, notes: list[str]) -> tuple[float | None, float | None]:
    """Largest rise and fall between the means of two windows that follow each other; per window."""
    n = round(window_s / series.step_s)
    if n < 1 or abs(n * series.step_s - window_s) > 1e-6 * window_s:
        notes.append(f"{name} is no whole number of bins of {series.step_s:g} s, so ramps over it are not known")
        return None, None
    if series.n < 2 * n:
        notes.append(
            f"a ramp over {name} needs a series of twice that, and this one has {series.n * series.step_s:g} s"
        )
        return None, None
    energy = np.concatenate(([0.0], np.cumsum(series.power_mw - series.power_mw[0])))
    change = energy[2 * n :] + energy[: -2 * n]
    change -= 2 * energy[n:-n]
    change /= n
    return max(float(change.max()), 0.0), max(float(-change.min()), 0.0)
