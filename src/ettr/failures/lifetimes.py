"""How long nodes live: lifetimes with censoring, survival, and Weibull shape."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
import scipy

from ettr.core.errors import InputError
from ettr.core.validity import at_least_zero
from ettr.failures.outages import Outages
from ettr.failures.window import checked_level

Hazard = Literal["falling", "rising", "flat"]

FEWEST = 5
"""Distinct observed lifetimes below which no shape is given."""
SHAPES = (0.02, 50.0)
"""Shapes that are looked for."""


@dataclass(frozen=True)
class LifetimeFit:
    """Weibull lifetimes.

    Attributes
    ----------
    shape, low, high : float
        Shape and its interval: below 1 the hazard falls with age, above 1 it rises.
    level : float
        Coverage of the interval.
    scale_h : float
        Age that a share 1/e outlives. [h]
    mean_h : float
        Mean lifetime, extrapolated where most lifetimes are censored. [h]
    log_likelihood : float
        At the estimate.
    n_failures, n_censored : float
        Lifetimes that ended, and those still running when the watch ended (sums of weights). [count]
    hazard : str
        ``"falling"``, ``"rising"``, or ``"flat"`` where the interval holds 1.
    """

    shape: float
    low: float
    high: float
    level: float
    scale_h: float
    mean_h: float
    log_likelihood: float
    n_failures: float
    n_censored: float
    hazard: Hazard


def node_lifetimes(outages: Outages) -> pd.DataFrame:
    """Times in service from a return to service until a failure, or until the watch ended.

    Parameters
    ----------
    outages : Outages
        From `find_outages`. Failures of unknown nodes end no known lifetime and are left out: count them.

    Returns
    -------
    DataFrame
        By node and time: ``node`` (number), ``duration_h`` [h], ``observed`` (False where the node still ran when the
        watch ended). A node that never failed has none.

    Examples
    --------
    >>> from ettr.failures.outages import find_outages
    >>> node_lifetimes(find_outages([2.0, 7.0], [3.0, 8.0], ["a", "a"], 10.0, 5))["duration_h"].tolist()
    [4.0, 2.0]
    """
    out = outages.incidents[outages.incidents["node"] >= 0]
    later = out.groupby("node")["start_h"].shift(-1)
    until = outages.seen_h["until_h"].reindex(out["node"]).to_numpy()
    lasted = np.maximum(later.fillna(pd.Series(until, index=out.index)) - out["end_h"], 0.0)
    rows = pd.DataFrame({"node": out["node"], "duration_h": lasted, "observed": later.notna()})
    # an outage that lasts until the window's end is followed by no time in service
    return rows[rows["observed"] | (rows["duration_h"] > 0)].reset_index(drop=True)


def _checked_lifetimes(duration_h: Any, observed: Any) -> tuple[np.ndarray, np.ndarray]:
    duration = at_least_zero("duration_h", duration_h, unit="h")
    seen = np.asarray(observed, dtype=bool)
    if len(seen) != len(duration):
        raise InputError(f"observed must have {len(duration)} values, as duration_h has, got {len(seen)}")
    return duration, seen


def kaplan_meier(duration_h: Any, observed: Any, level: float = 0.95) -> pd.DataFrame:
    r"""Share of lifetimes that last longer, by age.

    Parameters
    ----------
    duration_h : array
        Lifetimes. [h]
    observed : array of bool
        False where the lifetime was still running.
    level : float
        Coverage of the pointwise intervals.

    Returns
    -------
    DataFrame
        A row at 0 h and one at each time of a failure: ``time_h`` [h], ``survival``, ``low``, ``high`` in [0, 1],
        ``n_events``, ``at_risk`` [count].

    Raises
    ------
    InputError
        Negative durations, or columns of different lengths.

    Notes
    -----
    :math:`S(t) = \prod_{t_i \le t} (1 - d_i / n_i)` (Kaplan and Meier 1958), Greenwood's variance on the scale of
    :math:`\log(-\log S)`. Where :math:`S` reaches 0 that scale ends: ``low`` is 0 and ``high`` stays where it was.

    Examples
    --------
    >>> kaplan_meier([1.0, 2.0, 3.0, 4.0], [True, False, True, True])["survival"].round(3).tolist()
    [1.0, 0.75, 0.375, 0.0]
    """
    checked_level(level)
    duration, seen = _checked_lifetimes(duration_h, observed)
    times, place = np.unique(duration, return_inverse=True)
    failed = np.bincount(place, seen, minlength=len(times))
    at_risk = np.bincount(place, minlength=len(times))[::-1].cumsum()[::-1].astype(float)
    keep = failed > 0
    times, failed, at_risk = times[keep], failed[keep], at_risk[keep]
    left = at_risk - failed
    survival = np.cumprod(left / at_risk)
    low, high = _log_log_interval(survival, failed, at_risk, left, level)
    return pd.DataFrame(
        {
            "time_h": np.append(0.0, times),
            "survival": np.append(1.0, survival),
            "low": np.append(1.0, low),
            "high": np.append(1.0, high),
            "n_events": np.append(0.0, failed),
            "at_risk": np.append(float(len(duration)), at_risk),
        }
    )


def _log_log_interval(
    survival: np.ndarray, failed: np.ndarray, at_risk: np.ndarray, left: np.ndarray, level: float
) -> tuple[np.ndarray, np.ndarray]:
    inside = survival > 0
    with np.errstate(divide="ignore", invalid="ignore"):
        error = np.sqrt(np.cumsum(np.where(inside, failed / (at_risk * left), 0.0))) / np.abs(np.log(survival))
        spread = np.exp(scipy.stats.norm.isf((1 - level) / 2) * error)
        low, high = survival**spread, survival ** (1 / spread)
    last_high = high[inside][-1] if inside.any() else 1.0
    return np.where(inside, low, 0.0), np.where(inside, high, last_high)


# --------------------------------------------------------------------------- shape


def fit_lifetimes(duration_h: Any, observed: Any, level: float = 0.95) -> LifetimeFit | None:
    r"""Weibull fit of lifetimes, those still running included.

    Parameters
    ----------
    duration_h : array
        Lifetimes. [h]
    observed : array of bool
        False where the lifetime was still running.
    level : float
        Coverage of the shape's interval.

    Returns
    -------
    LifetimeFit or None
        None with fewer than five distinct observed lifetimes: too few to tell a shape.

    Raises
    ------
    InputError
        Negative durations, or an observed lifetime of 0 h.

    Notes
    -----
    Maximum likelihood: :math:`\sum t^k \ln t / \sum t^k - 1/k = \sum_{obs} \ln t / n_{obs}`, one root.
    The interval is Wald's on the scale of :math:`\ln k` from the observed information. Rows are taken as independent;
    nodes with rates of their own lower the shape of the pooled lifetimes although no node's hazard falls.

    Examples
    --------
    >>> hours = 100 * (-np.log(1 - (np.arange(1000) + 0.5) / 1000)) ** (1 / 0.7)
    >>> fit = fit_lifetimes(hours, np.ones(1000, dtype=bool))
    >>> round(fit.shape, 2), fit.hazard
    (0.7, 'falling')
    """
    checked_level(level)
    duration, seen = _checked_lifetimes(duration_h, observed)
    if (duration[seen] == 0).any():
        raise InputError("duration_h must be > 0 h where observed, got 0; join failures at one instant first")
    if len(np.unique(duration[seen])) < FEWEST:
        return None
    running = duration > 0
    duration, seen = duration[running], seen[running]
    log_t = np.log(duration)
    log_t -= log_t.max()  # keeps t^k in range; the scale is put back below
    n_failures = float(seen.sum())
    mean_log = float(log_t[seen].mean())

    def slope(shape: float) -> float:
        power = np.exp(shape * log_t)
        return float((power * log_t).sum() / power.sum() - 1 / shape - mean_log)

    if slope(SHAPES[1]) <= 0:  # lifetimes all but equal, as from a schedule
        return None
    shape = float(scipy.optimize.brentq(slope, *SHAPES, xtol=1e-12, rtol=1e-12))
    hazard_sum = float(np.exp(shape * log_t).sum())
    log_scale = math.log(hazard_sum / n_failures) / shape
    error = _shape_error(shape, shape * (log_t - log_scale), seen)
    low, high = log_wald(shape, error, level)
    scale = math.exp(log_scale + float(np.log(duration).max()))
    return LifetimeFit(
        shape=shape,
        low=low,
        high=high,
        level=level,
        scale_h=scale,
        mean_h=scale * math.gamma(1 + 1 / shape),
        log_likelihood=n_failures * (math.log(shape / scale) - 1)
        + (shape - 1) * float(np.log(duration / scale)[seen].sum()),
        n_failures=n_failures,
        n_censored=float((~seen).sum()),
        hazard=hazard_word(low, high),
    )


def _shape_error(shape: float, scaled: np.ndarray, seen: np.ndarray) -> float:
    """Standard error of log shape; ``scaled`` is k ln(t / scale)."""
    z = np.exp(scaled)
    in_shape = float((z * scaled * (scaled + 1)).sum() - scaled[seen].sum())
    cross = shape * float(seen.sum() - (z * (scaled + 1)).sum())
    in_scale = shape**2 * float(z.sum())
    return math.sqrt(in_scale / (in_shape * in_scale - cross**2))


def log_wald(value: float, error: float, level: float) -> tuple[float, float]:
    """Wald's interval on the logarithm, whose standard error is given.

    Examples
    --------
    >>> low, high = log_wald(2.0, 0.1, 0.95)
    >>> round(low, 3), round(high, 3)
    (1.644, 2.433)
    """
    spread = math.exp(float(scipy.stats.norm.isf((1 - level) / 2)) * error)
    return value / spread, value * spread


def hazard_word(low: float, high: float) -> Hazard:
    """The course of the hazard by the interval of a shape.

    Examples
    --------
    >>> hazard_word(0.6, 0.9), hazard_word(0.8, 1.3)
    ('falling', 'flat')
    """
    return "falling" if high < 1 else "rising" if low > 1 else "flat"
