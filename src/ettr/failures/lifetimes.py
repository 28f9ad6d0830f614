"""How long nodes live: lifetimes with censoring, survival, and Weibull shape."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from scipy import optimize, stats

from ettr.core.errors import InputError, UnknownName
from ettr.core.validity import at_least_zero
from ettr.failures.outages import join_outages, seen_nodes
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


@dataclass(frozen=True)
class LifetimeTest:
    """Do two cohorts live equally long?

    Attributes
    ----------
    statistic : float
        Log-rank statistic, standard normal if they do; negative if the first fails less than its share.
    p_value : float
        Two-sided.
    """

    statistic: float
    p_value: float


def node_lifetimes(
    start_h: Any, end_h: Any, node: Any, window_h: float, n_nodes: int, since: str = "repair"
) -> pd.DataFrame:
    """Times in service until a failure, or until the watch ended.

    Parameters
    ----------
    start_h, end_h : array
        Start and end of each failure since the window's start, NaN where the end is missing. [h]
    node : array of int or str, or categorical
        Node of each failure. Failures of unknown nodes end no known lifetime and are left out: count them.
    window_h : float
        Length of the window. [h]
    n_nodes : int
        Nodes watched, the healthy ones included. [count]
    since : {"repair", "window"}
        ``"repair"``: from each return to service; a node that never failed has none. ``"window"``: from the window's
        start to each node's first failure; that is a lifetime from new only if all nodes started then.

    Returns
    -------
    DataFrame
        ``node`` (number by order of appearance, -1 for the healthy nodes), ``duration_h`` [h], ``observed`` (False:
        still in service), ``weight`` (lifetimes that the row stands for). All healthy nodes are one row.

    Raises
    ------
    InputError
        A start outside the window, an end before its start, or more nodes seen than watched.

    Examples
    --------
    >>> node_lifetimes([2.0, 7.0], [3.0, 8.0], ["a", "a"], 10.0, 5)["duration_h"].tolist()
    [4.0, 2.0]
    >>> node_lifetimes([2.0, 7.0], [3.0, 8.0], ["a", "a"], 10.0, 5, since="window")["weight"].tolist()
    [1, 4]
    """
    if since not in ("repair", "window"):
        raise UnknownName("since", since, ("repair", "window"))
    n_seen = len(seen_nodes(node, n_nodes).names)
    out = join_outages(start_h, end_h, node, window_h)
    if since == "window":
        out = out[out["node"] >= 0]
        codes = out["node"].to_numpy()
        first = np.flatnonzero(np.diff(codes, prepend=-1))
        failed = {"node": codes[first], "duration_h": out["start_h"].to_numpy()[first], "observed": True, "weight": 1}
        healthy = {"node": [-1], "duration_h": [float(window_h)], "observed": [False], "weight": [n_nodes - n_seen]}
        parts = [pd.DataFrame(failed), pd.DataFrame(healthy)] if n_nodes > n_seen else [pd.DataFrame(failed)]
        return pd.concat(parts, ignore_index=True)
    return lifetimes_after(out, window_h)


def lifetimes_after(out: pd.DataFrame, window_h: float) -> pd.DataFrame:
    """Times in service after each outage of a known node.

    Parameters
    ----------
    out : DataFrame
        From `join_outages`.
    window_h : float
        Length of the window. [h]

    Returns
    -------
    DataFrame
        As from `node_lifetimes` since a repair.
    """
    out = out[out["node"] >= 0]
    codes, start, end = (out[name].to_numpy() for name in ("node", "start_h", "end_h"))
    again = np.zeros(len(codes), dtype=bool)
    again[:-1] = codes[1:] == codes[:-1]
    until = np.where(again, np.append(start[1:], window_h), window_h)
    rows = pd.DataFrame({"node": codes, "duration_h": until - end, "observed": again, "weight": 1})
    # an outage that lasts until the window's end is followed by no time in service
    return rows[rows["observed"] | (rows["duration_h"] > 0)].reset_index(drop=True)


def _checked_lifetimes(duration_h: Any, observed: Any, weight: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    duration = at_least_zero("duration_h", duration_h, unit="h")
    seen = np.asarray(observed, dtype=bool)
    weights = np.ones(len(duration)) if weight is None else at_least_zero("weight", weight)
    for name, values in (("observed", seen), ("weight", weights)):
        if len(values) != len(duration):
            raise InputError(f"{name} must have {len(duration)} values, as duration_h has, got {len(values)}")
    return duration, seen, weights


def kaplan_meier(duration_h: Any, observed: Any, weight: Any = None, level: float = 0.95) -> pd.DataFrame:
    r"""Share of lifetimes that last longer, by age.

    Parameters
    ----------
    duration_h : array
        Lifetimes. [h]
    observed : array of bool
        False where the lifetime was still running.
    weight : array, optional
        How many lifetimes each row stands for. [count]
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
        Negative durations or weights, or columns of different lengths.

    Notes
    -----
    :math:`S(t) = \prod_{t_i \le t} (1 - d_i / n_i)` (Kaplan and Meier 1958), Greenwood's variance on the scale of
    :math:`\log(-\log S)`. Where :math:`S` reaches 0 that scale ends: ``low`` is 0 and ``high`` stays where it was.
    Weights stand for whole, independent lifetimes.

    Examples
    --------
    >>> kaplan_meier([1.0, 2.0, 3.0, 4.0], [True, False, True, True])["survival"].round(3).tolist()
    [1.0, 0.75, 0.375, 0.0]
    """
    checked_level(level)
    duration, seen, weights = _checked_lifetimes(duration_h, observed, weight)
    times, place = np.unique(duration, return_inverse=True)
    failed = np.bincount(place, weights * seen, minlength=len(times))
    at_risk = np.bincount(place, weights, minlength=len(times))[::-1].cumsum()[::-1]
    keep = failed > 0
    times, failed, at_risk = times[keep], failed[keep], at_risk[keep]
    left = np.maximum(at_risk - failed, 0.0)
    # the last failures leave a rounding error of the weights, not a survivor
    left = np.where(left <= 1e-9 * at_risk, 0.0, left)
    survival = np.cumprod(left / at_risk)
    low, high = _log_log_interval(survival, failed, at_risk, left, level)
    return pd.DataFrame(
        {
            "time_h": np.append(0.0, times),
            "survival": np.append(1.0, survival),
            "low": np.append(1.0, low),
            "high": np.append(1.0, high),
            "n_events": np.append(0.0, failed),
            "at_risk": np.append(weights.sum(), at_risk),
        }
    )


def _log_log_interval(
    survival: np.ndarray, failed: np.ndarray, at_risk: np.ndarray, left: np.ndarray, level: float
) -> tuple[np.ndarray, np.ndarray]:
    inside = survival > 0
    with np.errstate(divide="ignore", invalid="ignore"):
        error = np.sqrt(np.cumsum(np.where(inside, failed / (at_risk * left), 0.0))) / np.abs(np.log(survival))
        spread = np.exp(stats.norm.isf((1 - level) / 2) * error)
        low, high = survival**spread, survival ** (1 / spread)
    last_high = high[inside][-1] if inside.any() else 1.0
    return np.where(inside, low, 0.0), np.where(inside, high, last_high)


def compare_lifetimes(first: pd.DataFrame, second: pd.DataFrame) -> LifetimeTest:
    """Log-rank test of two cohorts' lifetimes.

    Parameters
    ----------
    first, second : DataFrame
        ``duration_h`` [h], ``observed``, ``weight`` (whole numbers), as from `node_lifetimes`.

    Raises
    ------
    InputError
        A cohort without lifetimes, or no failure in either.

    Examples
    --------
    >>> new = pd.DataFrame({"duration_h": [1.0, 2.0, 3.0], "observed": True, "weight": 1})
    >>> old = pd.DataFrame({"duration_h": [7.0, 8.0, 9.0], "observed": True, "weight": 1})
    >>> round(compare_lifetimes(new, old).p_value, 3)
    0.025
    """
    samples = []
    for name, cohort in (("first", first), ("second", second)):
        weight = cohort["weight"].to_numpy(dtype=np.int64)
        if weight.sum() == 0:
            raise InputError(f"{name} holds no lifetime: nothing to compare")
        duration = np.repeat(cohort["duration_h"].to_numpy(dtype=float), weight)
        seen = np.repeat(cohort["observed"].to_numpy(dtype=bool), weight)
        samples.append(stats.CensoredData(uncensored=duration[seen], right=duration[~seen]))
    if not any(sample.num_censored() < len(sample) for sample in samples):
        raise InputError("neither cohort holds a failure: nothing to compare")
    test = stats.logrank(*samples)
    return LifetimeTest(float(test.statistic), float(test.pvalue))


# --------------------------------------------------------------------------- shape


def fit_lifetimes(duration_h: Any, observed: Any, weight: Any = None, level: float = 0.95) -> LifetimeFit | None:
    r"""Weibull fit of lifetimes, those still running included.

    Parameters
    ----------
    duration_h : array
        Lifetimes. [h]
    observed : array of bool
        False where the lifetime was still running.
    weight : array, optional
        How many lifetimes each row stands for. [count]
    level : float
        Coverage of the shape's interval.

    Returns
    -------
    LifetimeFit or None
        None with fewer than five distinct observed lifetimes: too few to tell a shape.

    Raises
    ------
    InputError
        Negative durations or weights, or an observed lifetime of 0 h.

    Notes
    -----
    Maximum likelihood: :math:`\sum w t^k \ln t / \sum w t^k - 1/k = \sum_{obs} w \ln t / \sum_{obs} w`, one root.
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
    duration, seen, weights = _checked_lifetimes(duration_h, observed, weight)
    counted = weights > 0
    duration, seen, weights = duration[counted], seen[counted], weights[counted]
    if (duration[seen] == 0).any():
        raise InputError("duration_h must be > 0 h where observed, got 0; join failures at one instant first")
    if len(np.unique(duration[seen])) < FEWEST:
        return None
    running = duration > 0
    duration, seen, weights = duration[running], seen[running], weights[running]
    log_t = np.log(duration)
    log_t -= log_t.max()  # keeps t^k in range; the scale is put back below
    n_failures = float(weights[seen].sum())
    mean_log = float((weights * log_t)[seen].sum()) / n_failures

    def slope(shape: float) -> float:
        power = weights * np.exp(shape * log_t)
        return float((power * log_t).sum() / power.sum() - 1 / shape - mean_log)

    if slope(SHAPES[1]) <= 0:  # lifetimes all but equal, as from a schedule
        return None
    shape = float(optimize.brentq(slope, *SHAPES, xtol=1e-12, rtol=1e-12))
    hazard_sum = float((weights * np.exp(shape * log_t)).sum())
    log_scale = math.log(hazard_sum / n_failures) / shape
    error = _shape_error(shape, shape * (log_t - log_scale), seen, weights)
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
        + (shape - 1) * float((weights * np.log(duration / scale))[seen].sum()),
        n_failures=n_failures,
        n_censored=float(weights[~seen].sum()),
        hazard=hazard_word(low, high),
    )


def _shape_error(shape: float, scaled: np.ndarray, seen: np.ndarray, weights: np.ndarray) -> float:
    """Standard error of log shape; ``scaled`` is k ln(t / scale)."""
    z = weights * np.exp(scaled)
    in_shape = float((z * scaled * (scaled + 1)).sum() - (weights * scaled)[seen].sum())
    cross = shape * float(weights[seen].sum() - (z * (scaled + 1)).sum())
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
    spread = math.exp(float(stats.norm.isf((1 - level) / 2)) * error)
    return value / spread, value * spread


def hazard_word(low: float, high: float) -> Hazard:
    """The course of the hazard by the interval of a shape.

    Examples
    --------
    >>> hazard_word(0.6, 0.9), hazard_word(0.8, 1.3)
    ('falling', 'flat')
    """
    return "falling" if high < 1 else "rising" if low > 1 else "flat"
