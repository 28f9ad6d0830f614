"""How long nodes live: lifetimes with censoring, survival, and Weibull shape."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
import scipy

from ettr.core.errors import InputError
from ettr.core.validity import at_least_zero
from ettr.failures.fitted_distributions import FAMILIES, CensoredGaps, wald
from ettr.failures.outages import Outages
from ettr.failures.rates import binomial_interval
from ettr.failures.window import checked_level

Hazard = Literal["falling", "rising", "flat"]

FEWEST = 5
"""Distinct observed lifetimes below which no shape is given."""
MOST_EXACT = 1000
"""Units whose survival has an exact interval; that of more is the same to two digits without."""
LARGEST_SHAPE = 50.0
"""Shapes above this are those of a schedule, and are not given."""


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
    hazard : str
        ``"falling"``, ``"rising"``, or ``"flat"`` where the interval holds 1.
    """

    shape: float
    low: float
    high: float
    level: float
    scale_h: float
    mean_h: float
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


def kaplan_meier(duration_h: Any, observed: Any, level: float = 0.95, ages_h: Any = None) -> pd.DataFrame:
    r"""Share of lifetimes that last longer, by age.

    Parameters
    ----------
    duration_h : array
        Lifetimes. [h]
    observed : array of bool
        False where the lifetime was still running.
    level : float
        Coverage of the pointwise intervals.
    ages_h : array, optional
        Ages to evaluate; if not given, 0 h and each age at a failure. [h]

    Returns
    -------
    DataFrame
        A row for each age: ``time_h`` [h], ``survival``, ``low``, ``high`` in [0, 1], ``method`` of the interval
        (``"exact"`` or ``"log-log"``), ``n_events`` at that age, ``at_risk`` until then [count]. The first row at 0 h
        is that of any age before the first lifetime ends.

    Raises
    ------
    InputError
        Negative durations, or columns of different lengths.

    Notes
    -----
    :math:`S(t) = \prod_{t_i \le t} (1 - d_i / n_i)` (Kaplan and Meier 1958), from :func:`scipy.stats.ecdf`. Until a
    unit is censored the survivors are a binomial count, and so they are among the units still watched until one fails:
    there the interval is exact (Clopper and Pearson 1934). Later there is no exact one, and it is Greenwood's on the
    scale of :math:`\log(-\log S)`, as it is for more than 1,000 units of which some failed; where :math:`S` reaches 0
    that scale ends, ``low`` is 0 and ``high`` stays where it was.

    Examples
    --------
    >>> kaplan_meier([1.0, 2.0, 3.0, 4.0], [True, False, True, True])["survival"].round(3).tolist()
    [1.0, 0.75, 0.375, 0.0]
    >>> kaplan_meier([9.0] * 5, [False] * 5)[["low", "high"]].round(3).to_numpy().tolist()
    [[0.478, 1.0]]
    """
    checked_level(level)
    duration, seen = _checked_lifetimes(duration_h, observed)
    failed, censored = np.sort(duration[seen]), np.sort(duration[~seen])
    # the curve begins before 0 h, at which lifetimes may end already
    age = np.append(-1.0, np.unique(failed)) if ages_h is None else at_least_zero("ages_h", ages_h, unit="h")
    curve = scipy.stats.ecdf(scipy.stats.CensoredData(uncensored=failed, right=censored)).sf
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # it has no interval before the first failure and at the end
        ends = curve.confidence_interval(level, method="log-log")
    survival, low, high = (end.evaluate(age) for end in (curve, ends.low, ends.high))
    before_last = failed[failed < duration.max(initial=0.0)][-1:]
    low[survival == 0], high[survival == 0] = 0.0, (*ends.high.evaluate(before_last), 1.0)[0]
    n_failed, n_left = np.searchsorted(failed, age, side="right"), np.searchsorted(censored, age)
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
    Maximum likelihood with censoring by :class:`scipy.stats.CensoredData`, the same fit as that of the times between
    failures (`fitted_distributions`). The interval is Wald's on the scale of :math:`\ln k`, from the curvature
    of the likelihood. Rows are taken as independent; nodes with rates of their own lower the shape of the pooled
    lifetimes although no node's hazard falls.

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
    lives = CensoredGaps.of_lifetimes(duration[seen], duration[~seen & (duration > 0)])
    family = FAMILIES["weibull"]
    shape, scale = family.fit(lives)
    if shape > LARGEST_SHAPE:  # lifetimes all but equal, as from a schedule
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
