"""Trend of the failure rate: rising, falling, steady, or changing without a direction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import scipy

from ettr.core.errors import InputError
from ettr.core.probability import chi2_quantile, chi2_tail, chi2_upper
from ettr.core.units import H_PER_DAY
from ettr.core.validity import above_zero
from ettr.failures.dispersion import MIN_EVENTS, Dispersion, local_dispersion, tail_quantile, two_sided_p
from ettr.failures.rates import rates_of
from ettr.failures.window import checked_level, checked_starts


@dataclass(frozen=True)
class Laplace:
    """Laplace's test for a trend.

    Attributes
    ----------
    z : float
        Test statistic, positive for a rising rate. [standard errors]
    p : float
        Two-sided p-value of a constant rate.
    n_events : int
        Failures used. [count]
    """

    z: float
    p: float
    n_events: int


@dataclass(frozen=True)
class CrowAmsaa:
    """Fit of the Crow-AMSAA power law: expected failures by t are proportional to t ** beta.

    Attributes
    ----------
    beta, low, high : float
        Exponent (unbiased estimate) and its interval. Above 1 the rate rises.
    beta_mle : float
        Maximum-likelihood estimate of the exponent.
    p : float
        Two-sided p-value of beta = 1.
    n_events : int
        Failures used: those after the start of the window. [count]
    level : float
        Coverage of the interval.
    """

    beta: float
    low: float
    high: float
    beta_mle: float
    p: float
    n_events: int
    level: float


@dataclass(frozen=True)
class Trend:
    """Trend of the failure rate over the window.

    Attributes
    ----------
    direction : str
        ``rising`` or ``falling`` (both tests agree), ``not monotone`` (the rate changes, but the tests do not agree on
        a direction), ``steady`` (consistent with a constant rate), or ``unknown``: fewer than ten failures, or all of
        them at the start or the end of the window.
    laplace : Laplace or None
        Laplace's test; None if the direction is unknown.
    crow_amsaa : CrowAmsaa or None
        Fit and test of the power law; None if the direction is unknown.
    uneven_p : float or None
        P-value of the chi-square test of a constant rate; None if the direction is unknown.
    dispersion : Dispersion or None
        Dispersion by bursts and repeats that the tests allow for; None if the direction is unknown.
    rates : DataFrame
        Rate over time, see :func:`rate_over_time`.
    level : float
        Coverage of the intervals. At most a share ``1 - level`` of steady logs gets another direction.
    """

    direction: str
    laplace: Laplace | None
    crow_amsaa: CrowAmsaa | None
    uneven_p: float | None
    dispersion: Dispersion | None
    rates: pd.DataFrame
    level: float


def laplace(start_h: Any, window_h: float, index: float = 1.0, dof: float | None = None) -> Laplace:
    r"""Test a constant failure rate against a rising or falling one (Laplace's test).

    Parameters
    ----------
    start_h : array of float
        Starts of failures since the start of the window, in order. [h]
    window_h : float
        Length of the window. [h]
    index : float
        Index of dispersion of the counts; values below 1 count as 1.
    dof : float, optional
        Degrees of freedom of the index; if not given, it is treated as exact.

    Raises
    ------
    InputError
        Fewer than two failures, times out of order or outside the window.

    Notes
    -----
    :math:`z = (\bar t - T/2) / (T \sqrt{\phi / 12 n})` (Cox and Lewis 1966). Bursts and repeats raise the variance of
    the mean failure time as they raise that of counts, by the index :math:`\phi`; without it, a steady log with bursts
    too often looks like a trend.

    Examples
    --------
    >>> trend = laplace([10, 50, 70, 80, 85, 90, 93, 97, 98, 99], 100.0)
    >>> round(trend.z, 2), round(trend.p, 3)
    (2.98, 0.003)
    """
    start, window = _enough(start_h, window_h)
    # standard error of the mean of n uniform times, times the square root of the dispersion
    error = window * np.sqrt(_at_least_one(index) / (12 * start.size))
    z = float((start.mean() - window / 2) / error)
    return Laplace(z, two_sided_p(z, dof), start.size)


def crow_amsaa(
    start_h: Any, window_h: float, level: float = 0.95, index: float = 1.0, dof: float | None = None
) -> CrowAmsaa:
    r"""Fit the Crow-AMSAA power law process, with an interval of its exponent.

    Parameters
    ----------
    start_h : array of float
        Starts of failures since the start of the window, in order. Failures at 0 h are not used. [h]
    window_h : float
        Length of the window. [h]
    level : float
        Coverage of the interval.
    index : float
        Index of dispersion of the counts; values below 1 count as 1.
    dof : float, optional
        Degrees of freedom of the index; if not given, it is treated as exact.

    Raises
    ------
    InputError
        Fewer than two failures after 0 h, times out of order or outside the window, a level outside (0, 1).

    Notes
    -----
    :math:`\hat\beta = n / \sum \ln(T/t_i)`, its unbiased form :math:`\hat\beta (n-1)/n`, and
    :math:`2 n \beta / \hat\beta \sim \chi^2_{2n}` (Crow 1975, time-truncated). With an index of dispersion,
    :math:`n/\phi` replaces n in the degrees of freedom. The exponent depends on the choice of time 0, which should be
    an event such as the installation or a new release.

    Examples
    --------
    >>> growth = crow_amsaa([10, 50, 70, 80, 85, 90, 93, 97, 98, 99], 100.0)
    >>> round(growth.beta, 3), round(growth.low, 2), round(growth.high, 2)
    (2.263, 1.21, 4.3)
    """
    start, window = _enough(start_h, window_h, after_zero=True)
    n = start.size
    logs = float(np.log(window / start).sum())
    if logs == 0:
        raise InputError(f"start_h must contain a failure before window_h = {window:g} h")
    mle = n / logs
    degrees = 2 * n / _at_least_one(index)
    # a Student quantile for the estimated dispersion, as the tail probability of the chi-square
    tail = scipy.special.ndtr(-tail_quantile(level, dof))
    low, high = (mle * float(q) / degrees for q in (chi2_quantile(tail, degrees), chi2_upper(tail, degrees)))
    return CrowAmsaa(mle * (n - 1) / n, low, high, mle, _beta_p(mle, degrees, dof), n, level)


def _beta_p(mle: float, degrees: float, dof: float | None) -> float:
    """Two-sided p-value of beta = 1: the chi-square tail as standard errors, and these by Student's t."""
    below, above = (tail(degrees, degrees / mle) for tail in (scipy.special.chdtr, scipy.special.chdtrc))
    return min(1.0, two_sided_p(-float(scipy.special.ndtri(min(below, above))), dof))


def rate_over_time(start_h: Any, window_h: float, n_nodes: float, level: float = 0.95) -> pd.DataFrame:
    """Return the failure rate over equal periods of the window, one per 20 failures (6 to 24), with exact intervals.

    Parameters
    ----------
    start_h : array of float
        Starts of failures since the start of the window, in order. [h]
    window_h : float
        Length of the window. [h]
    n_nodes : float
        Nodes watched. [count]
    level : float
        Coverage of each interval.

    Returns
    -------
    DataFrame
        ``start_h``, ``end_h`` [h], ``n_events`` [count], ``rate``, ``low``, ``high`` [1 / (1000 node-days)].

    Examples
    --------
    >>> rates = rate_over_time([1.0, 30.0, 40.0], 48.0, n_nodes=1000)
    >>> rates["n_events"].tolist(), rates["rate"].tolist()
    ([1, 0, 0, 1, 0, 1], [3.0, 0.0, 0.0, 3.0, 0.0, 3.0])
    """
    start, window = checked_starts(start_h, window_h)
    nodes = float(above_zero("n_nodes", n_nodes))
    bins = max(6, min(24, start.size // 20))
    counts, edges = np.histogram(start, bins, (0, window))
    columns = {"start_h": edges[:-1], "end_h": edges[1:], "n_events": counts}
    return pd.DataFrame(columns | rates_of(counts, nodes * window / bins / H_PER_DAY, level))


def find_trend(start_h: Any, window_h: float, n_nodes: float, level: float = 0.95) -> Trend:
    """Find the trend of the failure rate: two tests of a trend, one of a constant rate, and the direction.

    Parameters
    ----------
    start_h : array of float
        Starts of failures since the start of the window, in order. [h]
    window_h : float
        Length of the window. [h]
    n_nodes : float
        Nodes watched. [count]
    level : float
        Coverage of the intervals.

    Returns
    -------
    Trend
        Without tests, but with the rate over time, if there are too few failures.

    Raises
    ------
    InputError
        Times out of order or outside the window, or a level outside (0, 1).

    Notes
    -----
    A direction takes both tests at ``p < 1 - level`` with the same sign; otherwise the rate is ``not monotone`` if the
    chi-square test has ``p < (1 - level) / 2``. In all, at most a share ``1 - level`` of steady logs gets another
    direction (``benchmarks/fit_coverage.py``). Bursts and repeats within 1/40 of the window are allowed for; longer
    ones are a change of the rate.

    Examples
    --------
    >>> rising = 1000 * np.sqrt((np.arange(400) + 0.5) / 400)
    >>> find_trend(rising, 1000.0, n_nodes=100).direction
    'rising'
    """
    start, window = checked_starts(start_h, window_h)
    checked_level(level)
    rates = rate_over_time(start, window, n_nodes, level)
    later = start[start > 0]
    if start.size < MIN_EVENTS or later.size < 2 or later[0] == window:
        return Trend("unknown", None, None, None, None, rates, level)
    scatter = local_dispersion(start, window)
    tests = (
        laplace(start, window, scatter.index, scatter.dof),
        crow_amsaa(start, window, level, scatter.index, scatter.dof),
    )
    uneven_p = _uneven_p(rates["n_events"].to_numpy(), scatter)
    return Trend(_direction(*tests, uneven_p, 1 - level), *tests, uneven_p, scatter, rates, level)


def _direction(mean_time: Laplace, power_law: CrowAmsaa, uneven_p: float, error: float) -> str:
    """The direction by the rule of `find_trend`, at a significance level ``error``."""
    agreed = (mean_time.z > 0) == (power_law.beta_mle > 1)
    if agreed and max(mean_time.p, power_law.p) < error:
        return "rising" if mean_time.z > 0 else "falling"
    return "not monotone" if uneven_p < error / 2 else "steady"


def _uneven_p(counts: np.ndarray, scatter: Dispersion) -> float:
    """P-value of a constant rate: chi-square over the dispersion, or F if the dispersion is an estimate."""
    free = counts.size - 1
    ratio = float(((counts - counts.mean()) ** 2).sum() / counts.mean() / free / scatter.index)
    p = chi2_tail(ratio * free, free) if scatter.dof is None else scipy.special.fdtrc(free, scatter.dof, ratio)
    return float(p)


def _enough(start_h: Any, window_h: float, after_zero: bool = False) -> tuple[np.ndarray, float]:
    """Checked start times, at least two of them, and the window."""
    start, window = checked_starts(start_h, window_h)
    used = start[start > 0] if after_zero else start
    if used.size < 2:
        where = " after 0 h" if after_zero else ""
        raise InputError(f"start_h must have at least 2 failures{where} to test for a trend, got {used.size}")
    return used, window


def _at_least_one(index: float) -> float:
    """An index of dispersion, at least 1."""
    return max(1.0, float(above_zero("index", index)))
