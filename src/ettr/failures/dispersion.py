"""Overdispersion of failure counts relative to Poisson counts, and intervals of rates that allow for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from ettr.core.errors import InputError
from ettr.core.probability import chi2_tail, student_upper
from ettr.core.validity import above_zero, at_least_zero
from ettr.failures.rates import FailureRate, failure_rate, gamma_interval
from ettr.failures.window import checked_level, checked_starts

N_BLOCKS, MOST_BLOCKS = 12, 40
"""Blocks of the index and of its test: few long blocks contain whole bursts, many short ones give a sharper test."""

SIGNIFICANT = 0.05
MIN_EVENTS = 10
"""Failures below which dispersion is not estimated. [count]"""


@dataclass(frozen=True)
class Dispersion:
    """Dispersion of the failure counts of equal blocks, either periods of time or nodes.

    Attributes
    ----------
    index : float
        Variance over mean of the counts, at least 1 (the value of independent failures).
    measured : float
        Variance over mean as measured, which may be below 1.
    n_blocks : int
        Blocks or nodes. [count]
    block_h : float
        Length of a block; for nodes the whole window. [h]
    dof : float
        Degrees of freedom of the index.
    p : float
        P-value: probability of such uneven counts from independent failures at a constant rate.
    """

    index: float
    measured: float
    n_blocks: int
    block_h: float
    dof: float
    p: float

    def paid(self, level: float) -> float:
        """Return the index widened for its own uncertainty (Student's t); unchanged if the test finds no dispersion."""
        return self.index * widening(self.dof, level) ** 2 if self.p < SIGNIFICANT else self.index


@dataclass(frozen=True)
class RateGamma:
    """A gamma distribution of a failure rate.

    Attributes
    ----------
    shape : float
        Shape: the equivalent number of independent failures. [count]
    node_days : float
        Inverse scale. [node-days]

    Examples
    --------
    >>> rate = RateGamma(shape=20.0, node_days=5000.0)
    >>> 1000 * rate.shape / rate.node_days  # mean, in failures per 1,000 node-days
    4.0
    """

    shape: float
    node_days: float


def over_dispersion(start_h: Any, window_h: float) -> Dispersion:
    r"""Return the index of dispersion of failure counts in equal blocks of the window.

    Parameters
    ----------
    start_h : array of float
        Starts of failures since the start of the window, in order. [h]
    window_h : float
        Length of the window. [h]

    Raises
    ------
    InputError
        Fewer than ten failures (``MIN_EVENTS``), times out of order or outside the window.

    Notes
    -----
    :math:`\phi = s^2 / \bar n` over 12 blocks, or 10 below 60 failures. Bursts, repeat failures, times between failures
    that are not exponential and a changing rate all raise it. A block must be longer than a burst or a chain of
    repeats, hence few long blocks; the uncertainty of an index from few blocks has a known distribution (``dof``), as
    with batch means in simulation (Schmeiser 1982). The p-value is that of the chi-square test of Fisher's index, with
    one block per five failures, from 10 to 40, because more blocks make a sharper test.

    Examples
    --------
    >>> every_day_three = np.repeat(np.arange(120.0), 3) * 24 + 1
    >>> over_dispersion(every_day_three, 120 * 24.0).measured
    0.0
    """
    start, window = checked_starts(start_h, window_h)
    counts = _counts(start, window, 10 if start.size < 5 * N_BLOCKS else N_BLOCKS)
    blocks = counts.size
    measured = _index(counts)
    tested = _counts(start, window, _n_blocks(start.size))
    p = float(chi2_tail((tested.size - 1) * _index(tested), tested.size - 1))
    return Dispersion(max(1.0, measured), measured, blocks, window / blocks, blocks - 1.0, p)


def local_dispersion(start_h: Any, window_h: float) -> Dispersion:
    r"""Return the index of dispersion from neighbouring blocks, on which a slow change of the rate has little effect.

    Parameters
    ----------
    start_h : array of float
        Starts of failures since the start of the window, in order. [h]
    window_h : float
        Length of the window. [h]

    Raises
    ------
    InputError
        Fewer than ten failures (``MIN_EVENTS``), times out of order or outside the window.

    Notes
    -----
    :math:`\phi = \sum (n_{i+1} - n_i)^2 / (2 (K - 1) \bar n)`, after von Neumann (1941), with one block per five
    failures, from 10 to 40. It measures the dispersion by bursts and repeats without that of a trend, so that a trend
    can be tested against it. It has about :math:`2 (K-1)^2 / (3K - 4)` degrees of freedom, which also give the
    p-value.

    Examples
    --------
    >>> rising = 1000 * np.sqrt((np.arange(400) + 0.5) / 400)
    >>> local_dispersion(rising, 1000.0).index, round(over_dispersion(rising, 1000.0).index, 1)
    (1.0, 12.1)
    """
    start, window = checked_starts(start_h, window_h)
    counts = _counts(start, window, _n_blocks(start.size))
    steps = counts.size - 1
    # half the mean squared difference of neighbours is the variance without a slow trend (von Neumann)
    measured = float((np.diff(counts) ** 2).sum() / (2 * steps * counts.mean()))
    dof = 2 * steps**2 / (3 * counts.size - 4)
    p = float(chi2_tail(dof * measured, dof))
    return Dispersion(max(1.0, measured), measured, counts.size, window / counts.size, dof, p)


def node_dispersion(
    counts: Any, n_nodes: int, window_h: float, weight: Any = None, total: float | None = None
) -> Dispersion:
    r"""Return the index of dispersion of failures per node over the whole window.

    Parameters
    ----------
    counts : array of int
        Failures of each node that failed. [count]
    n_nodes : int
        Nodes watched, including those that never failed. [count]
    window_h : float
        Length of the window. [h]
    weight : array of float, optional
        Expected failures of each node that failed, relative to an ordinary node; equal if not given.
    total : float, optional
        Sum of the weights of all nodes watched; ``n_nodes`` if not given.

    Returns
    -------
    Dispersion
        With ``n_nodes - 1`` degrees of freedom; index 1 if there is only one node or no failure.

    Notes
    -----
    Pearson's :math:`X^2 = \sum_i (n_i - w_i m)^2 / (w_i m)` with :math:`m = \sum n_i / \sum w_i`, divided by
    :math:`N - 1`. If nodes fail independently of each other, the variance of the total count is the sum of the
    variances of the nodes, so this index is that of the total, however long the memory of a node. Blocks of time miss
    memory that is longer than a block. For a renewal process the index tends to the squared coefficient
    of variation of the times between failures (Cox 1962): 3.09 for Weibull times of shape 0.6.

    Examples
    --------
    >>> node_dispersion([3, 1], 4, 100.0).index
    2.0
    """
    failed = at_least_zero("counts", counts)
    weights = np.ones(failed.size) if weight is None else np.asarray(weight, dtype=float)
    n_events, total_weight = float(failed.sum()), float(n_nodes if total is None else total)
    dof = float(n_nodes - 1)
    if dof < 1 or n_events == 0:
        return Dispersion(1.0, 1.0, n_nodes, float(window_h), max(dof, 1.0), 1.0)
    # Pearson's sum with the square expanded: sum n_i^2 / (w_i m) - n, to which nodes without failures add nothing
    measured = float(((failed**2 / weights).sum() * total_weight / n_events - n_events) / dof)
    p = float(chi2_tail(dof * measured, dof))
    return Dispersion(max(1.0, measured), measured, n_nodes, float(window_h), dof, p)


def rate_gamma(n_events: float, node_days: float, index: float = 1.0) -> RateGamma:
    r"""Return the gamma distribution of a failure rate, widened for overdispersed counts.

    Parameters
    ----------
    n_events : float
        Failures counted. [count]
    node_days : float
        Exposure. [node-days]
    index : float
        Index of dispersion, widened for its own uncertainty (``Dispersion.paid``); values below 1 count as 1.

    Raises
    ------
    InputError
        A negative count, an exposure or index that is not positive.

    Notes
    -----
    Shape :math:`(n + 1/2)/\phi` and inverse scale :math:`D/\phi`: the count is worth :math:`n/\phi` independent
    failures. The mean :math:`(n + 1/2)/D` stays the same whatever the index. Index 1 is the posterior of Jeffreys'
    prior. With the larger of the indices of time blocks and of nodes, its 95% intervals cover 93 to 97% for bursts,
    repeats and renewal processes of the whole system from 200 failures on, and for nodes that are renewal processes
    (``benchmarks/fit_coverage.py``).

    Examples
    --------
    >>> rate_gamma(419, 110_592)
    RateGamma(shape=419.5, node_days=110592.0)
    >>> round(rate_gamma(419, 110_592, index=4.0).shape, 2)
    104.88
    """
    count = float(at_least_zero("n_events", n_events))
    exposure = float(above_zero("node_days", node_days))
    index = max(1.0, float(above_zero("index", index)))
    return RateGamma((count + 0.5) / index, exposure / index)


def over_dispersed_rate(n_events: float, node_days: float, index: float = 1.0, level: float = 0.95) -> FailureRate:
    """Return the failures per 1,000 node-days with an interval that allows for overdispersion.

    The interval is the central interval of :func:`rate_gamma`, whose parameters these are, but never narrower than the
    exact Poisson interval.

    Examples
    --------
    >>> rate = over_dispersed_rate(419, 110_592, index=5.0)
    >>> round(rate.per_1000_node_days, 3), round(rate.low, 2), round(rate.high, 2)
    (3.789, 3.03, 4.65)
    """
    gamma = rate_gamma(n_events, node_days, index)
    wide = gamma_interval(gamma.shape, gamma.node_days, level)
    exact = failure_rate(n_events, node_days, level)
    return FailureRate(exact.per_1000_node_days, min(exact.low, wide.low), max(exact.high, wide.high), level)


def tail_quantile(level: float, dof: float | None = None) -> float:
    """Return the half-width of a central interval, in standard errors: Student's t with ``dof``, normal without.

    Examples
    --------
    >>> round(tail_quantile(0.95), 2), round(tail_quantile(0.95, dof=11), 2)
    (1.96, 2.2)
    """
    tail = (1 - checked_level(level)) / 2
    return float(-scipy.special.ndtri(tail) if dof is None else student_upper(tail, above_zero("dof", dof)))


def widening(dof: float | None, level: float) -> float:
    """Return the ratio of Student's t to the normal quantile: how much an estimated variance widens an interval.

    Examples
    --------
    >>> round(widening(11, 0.95), 3), widening(None, 0.95)
    (1.123, 1.0)
    """
    return tail_quantile(level, dof) / tail_quantile(level)


def two_sided_p(z: float, dof: float | None = None) -> float:
    """Return the two-sided p-value of ``z`` standard errors: Student's t with ``dof``, normal without.

    Examples
    --------
    >>> round(two_sided_p(1.96), 3), round(two_sided_p(1.96, dof=11), 3)
    (0.05, 0.076)
    """
    tail = scipy.special.ndtr(-abs(z)) if dof is None else scipy.special.stdtr(above_zero("dof", dof), -abs(z))
    return float(2 * tail)


def _n_blocks(n_events: int) -> int:
    """One block per five failures, from 10 to 40."""
    return max(10, min(MOST_BLOCKS, n_events // 5))


def _index(counts: np.ndarray) -> float:
    """Variance over mean."""
    return float(counts.var(ddof=1) / counts.mean())


def _counts(start: np.ndarray, window: float, n_blocks: int) -> np.ndarray:
    """Failures in each of ``n_blocks`` equal blocks of the window."""
    if start.size < MIN_EVENTS:
        raise InputError(f"start_h must have at least {MIN_EVENTS} failures to estimate dispersion, got {start.size}")
    passed = np.searchsorted(start, np.linspace(0, window, n_blocks + 1))
    passed[-1] = start.size  # the end of the window belongs to the last block
    return np.diff(passed)
