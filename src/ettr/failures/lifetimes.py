"""Lifetimes with censoring: times between a node's repairs and failures, survival curves, and Weibull fits."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd

from ettr.core.errors import InputError
from ettr.core.validity import at_least_zero
from ettr.failures.dispersion import tail_quantile
from ettr.failures.fitted_distributions import FAMILIES, CensoredGaps, wald
from ettr.failures.outages import Outages
from ettr.failures.rates import binomial_interval
from ettr.failures.window import checked_level

Hazard = Literal["falling", "rising", "flat"]

FEWEST = 5
"""Different observed lifetimes below which no Weibull shape is fitted."""
MOST_EXACT = 1000
"""Most units with an exact interval of survival; for more units the log-log interval agrees to two digits."""
LARGEST_SHAPE = 50.0
"""Shapes above this come from a schedule rather than from failures, and are not reported."""


@dataclass(frozen=True)
class LifetimeFit:
    """Weibull fit of lifetimes.

    Attributes
    ----------
    shape, low, high : float
        Shape and its interval: below 1 the hazard falls with age, above 1 it rises.
    level : float
        Coverage of the interval.
    scale_h : float
        Scale: the age that a share 1/e outlives. [h]
    mean_h : float
        Mean lifetime, extrapolated if most lifetimes are censored. [h]
    hazard : str
        ``"falling"``, ``"rising"``, or ``"flat"`` if the interval contains 1.
    """

    shape: float
    low: float
    high: float
    level: float
    scale_h: float
    mean_h: float
    hazard: Hazard


def node_lifetimes(outages: Outages) -> pd.DataFrame:
    """Return the times in service from a node's return until its next failure or the end of the window.

    Parameters
    ----------
    outages : Outages
        From `find_outages`. Failures without a node are left out.

    Returns
    -------
    DataFrame
        Sorted by node and time: ``node`` (number), ``duration_h`` [h], ``observed`` (False if the node was still in
        service at the end of the window). A node that never failed has no rows.

    Examples
    --------
    >>> from ettr.failures.outages import find_outages
    >>> node_lifetimes(find_outages([2.0, 7.0], [3.0, 8.0], ["a", "a"], 10.0, 5))["duration_h"].tolist()
    [4.0, 2.0]
    """
    out = outages.incidents[outages.incidents["node"] >= 0]
    next_h = out.groupby("node")["start_h"].shift(-1)
    until = outages.seen_h["until_h"].reindex(out["node"]).to_numpy()
    duration_h = np.maximum(next_h.fillna(pd.Series(until, index=out.index)) - out["end_h"], 0.0)
    rows = pd.DataFrame({"node": out["node"], "duration_h": duration_h, "observed": next_h.notna()})
    # after an outage that lasts until the end of the window there is no time in service
    return rows[rows["observed"] | (rows["duration_h"] > 0)].reset_index(drop=True)


def _checked_lifetimes(duration_h: Any, observed: Any) -> tuple[np.ndarray, np.ndarray]:
    """Lifetimes and whether each ended in a failure, as arrays of the same length."""
    duration = at_least_zero("duration_h", duration_h, unit="h")
    ended = np.asarray(observed, dtype=bool)
    if len(ended) != len(duration):
        raise InputError(f"observed must have {len(duration)} values, as duration_h has, got {len(ended)}")
    return duration, ended


def kaplan_meier(duration_h: Any, observed: Any, level: float = 0.95, ages_h: Any = None) -> pd.DataFrame:
    r"""Return the Kaplan-Meier estimate of survival by age, with pointwise intervals.

    Parameters
    ----------
    duration_h : array
        Lifetimes. [h]
    observed : array of bool
        False for censored lifetimes, which had not ended.
    level : float
        Coverage of the pointwise intervals.
    ages_h : array, optional
        Ages at which to evaluate; if not given, 0 h and each age at a failure. [h]

    Returns
    -------
    DataFrame
        One row per age: ``time_h`` [h], ``survival``, ``low``, ``high`` in [0, 1], ``method`` of the interval
        (``"exact"`` or ``"log-log"``), ``n_events`` at that age, ``at_risk`` just before it [count]. The first row, at
        0 h, holds for any age before the first lifetime ends.

    Raises
    ------
    InputError
        Negative durations, or columns of different lengths.

    Notes
    -----
    :math:`S(t) = \prod_{t_i \le t} (1 - d_i / n_i)` (Kaplan and Meier 1958). Before the first censored unit the
    survivors are a binomial count, and before the first failure so are those among the units still at risk: there the
    interval is exact (Clopper and Pearson 1934). Elsewhere, and for more than 1,000 units of which some failed, it is
    Greenwood's interval on the scale of :math:`\log(-\log S)`. Where :math:`S` reaches 0 that scale ends: ``low`` is 0
    and ``high`` keeps its last value.

    Examples
    --------
    >>> kaplan_meier([1.0, 2.0, 3.0, 4.0], [True, False, True, True])["survival"].round(3).tolist()
    [1.0, 0.75, 0.375, 0.0]
    >>> kaplan_meier([9.0] * 5, [False] * 5)[["low", "high"]].round(3).to_numpy().tolist()
    [[0.478, 1.0]]
    """
    checked_level(level)
    duration, ended = _checked_lifetimes(duration_h, observed)
    failed, censored = np.sort(duration[ended]), np.sort(duration[~ended])
    # the curve starts before 0 h, because lifetimes may end at 0 h
    age = np.append(-1.0, np.unique(failed)) if ages_h is None else at_least_zero("ages_h", ages_h, unit="h")
    times, n_ended = np.unique(failed, return_counts=True)
    at_risk = len(duration) - np.searchsorted(failed, times) - np.searchsorted(censored, times)
    with np.errstate(divide="ignore", invalid="ignore"):  # no interval where the curve reaches 0
        curve = np.cumprod((at_risk - n_ended) / at_risk)
        error = np.sqrt(np.cumsum(n_ended / (at_risk * (at_risk - n_ended)))) / np.log(curve)
        lowest, highest = (curve ** np.exp(sign * tail_quantile(level) * error) for sign in (-1, 1))
    survival, low, high = (
        np.append(1.0, values)[np.searchsorted(times, age, side="right")] for values in (curve, lowest, highest)
    )
    low[survival == 0], high[survival == 0] = 0.0, np.append([1.0, 1.0], highest)[-2]  # the value before the last
    n_failed, n_left = np.searchsorted(failed, age, side="right"), np.searchsorted(censored, age)
    # Clopper-Pearson where survivors are binomial: no failure yet, or nothing censored yet
    exact = (n_failed == 0) | ((n_left == 0) & (len(duration) <= MOST_EXACT))
    n_alive = len(duration) - n_left - n_failed
    low[exact], high[exact] = binomial_interval(n_alive[exact], n_failed[exact], level)
    return pd.DataFrame(
        {
            "time_h": np.maximum(age, 0.0),
            "survival": survival,
            "low": low,
            "high": high,
            "method": np.where(exact, "exact", "log-log"),
            "n_events": n_failed - np.searchsorted(failed, age),
            "at_risk": len(duration) - n_left - np.searchsorted(failed, age),
        }
    )


# --------------------------------------------------------------------------- shape


def fit_lifetimes(duration_h: Any, observed: Any, level: float = 0.95) -> LifetimeFit | None:
    r"""Fit a Weibull distribution to lifetimes, some of which may be censored.

    Parameters
    ----------
    duration_h : array
        Lifetimes. [h]
    observed : array of bool
        False for censored lifetimes, which had not ended.
    level : float
        Coverage of the shape's interval.

    Returns
    -------
    LifetimeFit or None
        None with fewer than five different observed lifetimes.

    Raises
    ------
    InputError
        Negative durations, or an observed lifetime of 0 h.

    Notes
    -----
    Maximum likelihood with censoring, the same fit as that of the times between failures (`fitted_distributions`). The
    interval is Wald's for :math:`\ln k`, from the curvature of the likelihood. Lifetimes are treated as independent.
    Nodes of unequal rates lower the shape of the pooled lifetimes even if the hazard of no node falls.

    Examples
    --------
    >>> hours = 100 * (-np.log(1 - (np.arange(1000) + 0.5) / 1000)) ** (1 / 0.7)
    >>> fit = fit_lifetimes(hours, np.ones(1000, dtype=bool))
    >>> round(fit.shape, 2), fit.hazard
    (0.7, 'falling')
    """
    checked_level(level)
    duration, ended = _checked_lifetimes(duration_h, observed)
    if (duration[ended] == 0).any():
        raise InputError("duration_h must be > 0 h where observed, got 0; merge failures at the same time first")
    if len(np.unique(duration[ended])) < FEWEST:
        return None
    lives = CensoredGaps.of_lifetimes(duration[ended], duration[~ended & (duration > 0)])
    family = FAMILIES["weibull"]
    shape, scale = family.fit(lives)
    if shape > LARGEST_SHAPE:  # practically equal lifetimes, as from a schedule
        return None
    ends = wald(family, lives, shape, scale, level)
    low, high = ends["shape_low"], ends["shape_high"]
    return LifetimeFit(
        shape=shape,
        low=low,
        high=high,
        level=level,
        scale_h=scale,
        mean_h=scale * math.gamma(1 + 1 / shape),
        hazard="falling" if high < 1 else "rising" if low > 1 else "flat",
    )
