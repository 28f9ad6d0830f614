"""Forecasts of failure counts, and a backtest of such forecasts on the log itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ettr.core.probability import count_quantile
from ettr.core.units import H_PER_DAY
from ettr.core.validity import above_zero
from ettr.failures.recent import Recent, recent_of
from ettr.failures.window import checked_level, checked_starts


@dataclass(frozen=True)
class Forecast:
    """Forecast of the failures over a horizon.

    Attributes
    ----------
    horizon_d : float
        Length of the forecast. [d]
    mean : float
        Expected failures. [count]
    poisson_low, poisson_high : float
        Interval for independent failures at one constant rate, that of the whole window. [count]
    low, high : float
        Interval that allows for overdispersion and for a change of the rate. [count]
    past : Recent
        Part of the log used, and the index of dispersion.
    level : float
        Coverage of both intervals.
    """

    horizon_d: float
    mean: float
    poisson_low: float
    poisson_high: float
    low: float
    high: float
    past: Recent
    level: float


@dataclass(frozen=True)
class ForecastScore:
    """Backtest: forecasts from earlier parts of a log, compared with the outcomes.

    Attributes
    ----------
    horizon_d : float
        Length of the forecasts, shortened if the window is shorter than three horizons. [d]
    n_forecasts : int
        Number of forecasts. They overlap: see ``n_independent``.
    n_independent : int
        Number of horizons that fit side by side into the time forecast.
    poisson_coverage, over_dispersed_coverage : float
        Share of forecasts whose interval covered the outcome.
    level : float
        Nominal coverage of both intervals.
    table : DataFrame
        One row per forecast: ``origin_h`` [h], ``n_events`` (the outcome), ``mean``, ``poisson_low``, ``poisson_high``,
        ``low``, ``high`` [count], ``poisson_hit``, ``hit`` (bool).
    """

    horizon_d: float
    n_forecasts: int
    n_independent: int
    poisson_coverage: float
    over_dispersed_coverage: float
    level: float
    table: pd.DataFrame


def predict_count(start_h: Any, window_h: float, horizon_d: float = 30.0, level: float = 0.95) -> Forecast:
    r"""Forecast the failures over the time that follows the window.

    Parameters
    ----------
    start_h : array of float
        Starts of failures since the start of the window, in order. [h]
    window_h : float
        Length of the window. [h]
    horizon_d : float
        Length of the forecast. [d]
    level : float
        Coverage of the intervals.

    Raises
    ------
    InputError
        Times out of order or outside the window, a horizon that is not positive, a level outside (0, 1).

    Notes
    -----
    With n failures in the part T of the log that `recent_past` chooses, the count of the next h is negative binomial
    with mean :math:`\mu = (n + 1/2) h/T` and variance :math:`\phi \mu (1 + h/T)`: the variation to come plus the
    uncertainty of the estimated rate, with the index of dispersion :math:`\phi` of the same choice. The Poisson
    interval has :math:`\phi = 1` and uses the whole window. The forecast assumes the same nodes in the same use.

    Examples
    --------
    >>> every_half_day = np.arange(400) * 12.0
    >>> forecast = predict_count(every_half_day, 4800.0)
    >>> round(forecast.mean), forecast.poisson_low, forecast.poisson_high, forecast.past.index
    (60, 44.0, 77.0, 1.0)
    """
    start, window = checked_starts(start_h, window_h)
    horizon = float(above_zero("horizon_d", horizon_d, unit="d")) * H_PER_DAY
    checked_level(level)
    return _forecast(start, window, horizon, level)


def _forecast(start: np.ndarray, window: float, horizon: float, level: float) -> Forecast:
    """Forecast from times that are already checked, see `predict_count`."""
    past = recent_of(start, window, horizon, level)
    mean = (past.n_events + 0.5) * horizon / past.window_h
    poisson = _count_interval((start.size + 0.5) * horizon / window, 1 + horizon / window, level)
    wide = _count_interval(mean, past.index * (1 + horizon / past.window_h), level)
    return Forecast(horizon / H_PER_DAY, mean, *poisson, *wide, past, level)


def score_forecasts(start_h: Any, window_h: float, horizon_d: float = 30.0, level: float = 0.95) -> ForecastScore:
    """Backtest forecasts: predict later parts of the log from earlier ones, and count covered outcomes.

    The origins of the forecasts run from a third of the window to one horizon before its end, 1/200 of the window but
    at least a day apart. Each forecast uses only the failures before its origin.

    Parameters
    ----------
    start_h : array of float
        Starts of failures since the start of the window, in order. [h]
    window_h : float
        Length of the window. [h]
    horizon_d : float
        Length of the forecasts; a sixth of the window if the window is shorter than three horizons. [d]
    level : float
        Coverage of the intervals.

    Raises
    ------
    InputError
        Times out of order or outside the window, a horizon that is not positive, a level outside (0, 1).

    Examples
    --------
    >>> every_half_day = np.arange(400) * 12.0
    >>> score = score_forecasts(every_half_day, 4800.0)
    >>> score.n_forecasts, score.n_independent, score.poisson_coverage
    (104, 4, 1.0)
    """
    start, window = checked_starts(start_h, window_h)
    horizon = float(above_zero("horizon_d", horizon_d, unit="d")) * H_PER_DAY
    checked_level(level)
    if window < 3 * horizon:
        horizon = window / 6
    last, step = window - horizon, min(max(H_PER_DAY, window / 200), window / 6)
    origins = window / 3 + step * np.arange(int((last - window / 3) / step + 1e-9) + 1)
    rows = [_forecast_row(start, origin, horizon, level) for origin in origins]
    table = pd.DataFrame(rows)
    return ForecastScore(
        horizon_d=horizon / H_PER_DAY,
        n_forecasts=len(table),
        n_independent=int((window * 2 / 3) / horizon + 1e-9),
        poisson_coverage=float(table["poisson_hit"].mean()),
        over_dispersed_coverage=float(table["hit"].mean()),
        level=level,
        table=table,
    )


def _forecast_row(start: np.ndarray, origin: float, horizon: float, level: float) -> dict[str, Any]:
    """A forecast from the failures before ``origin``, and its outcome."""
    past, later = np.searchsorted(start, [origin, origin + horizon])
    forecast = _forecast(start[:past], origin, horizon, level)
    outcome = int(later - past)
    return {
        "origin_h": float(origin),
        "n_events": outcome,
        "mean": forecast.mean,
        "poisson_low": forecast.poisson_low,
        "poisson_high": forecast.poisson_high,
        "low": forecast.low,
        "high": forecast.high,
        "poisson_hit": forecast.poisson_low <= outcome <= forecast.poisson_high,
        "hit": forecast.low <= outcome <= forecast.high,
    }


def _count_interval(mean: float, index: float, level: float) -> tuple[float, float]:
    """Central interval of a negative binomial count with variance ``index`` times its mean, index > 1."""
    shape = mean / (index - 1)  # variance = mean + mean^2 / shape = index * mean
    low, high = (count_quantile(p, mean, shape) for p in ((1 - level) / 2, (1 + level) / 2))
    return float(low), float(high)
