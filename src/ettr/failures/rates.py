"""Failure rates from counts and exposure, with exact intervals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy

from ettr.core.units import H_PER_DAY
from ettr.core.validity import above_zero, at_least_zero, plain
from ettr.failures.window import checked_level

if TYPE_CHECKING:
    import pandas as pd


NODE_DAYS = 1000.0


@dataclass(frozen=True)
class FailureRate:
    """A failure rate with its interval.

    Attributes
    ----------
    per_1000_node_days, low, high : float
        Estimate and the ends of the interval. [1 / (1000 node-days)]
    level : float
        Coverage of the interval, e.g. 0.95.
    """

    per_1000_node_days: float
    low: float
    high: float
    level: float


def poisson_interval(n_events: Any, level: float = 0.95) -> tuple[Any, Any]:
    r"""Exact central interval for the mean of a Poisson count.

    Parameters
    ----------
    n_events : float or ndarray
        Events counted. [count]
    level : float
        Coverage, in (0, 1).

    Returns
    -------
    tuple of float or ndarray
        Low and high end. [count]

    Raises
    ------
    InputError
        Negative or non-finite count, or a level outside (0, 1).

    Notes
    -----
    :math:`\tfrac12\chi^2_{\alpha/2}(2n)` and :math:`\tfrac12\chi^2_{1-\alpha/2}(2n+2)` (Garwood 1936). Coverage is
    at least ``level``.

    Examples
    --------
    >>> low, high = poisson_interval(419)
    >>> round(low, 1), round(high, 1)
    (379.8, 461.1)
    """
    count = at_least_zero("n_events", n_events)
    checked_level(level)
    tail = (1 - level) / 2
    low = np.where(count > 0, scipy.stats.chi2.ppf(tail, 2 * np.maximum(count, 1e-300)) / 2, 0.0)
    high = scipy.stats.chi2.isf(tail, 2 * count + 2) / 2
    return plain(low), plain(high)


def rates_of(n_events: Any, node_days: Any, level: float = 0.95) -> dict[str, np.ndarray]:
    """Columns ``rate``, ``low`` and ``high`` of counts and their exposures, with exact intervals.

    Parameters
    ----------
    n_events, node_days : array
        Failures [count], and the exposure of each count [node-days].
    level : float
        Coverage of the intervals.

    Returns
    -------
    dict of ndarray
        [1 / (1000 node-days)]
    """
    low, high = poisson_interval(n_events, level)
    exposure = np.asarray(node_days, dtype=float) / NODE_DAYS
    return {"rate": np.asarray(n_events, dtype=float) / exposure, "low": low / exposure, "high": high / exposure}


def binomial_interval(hits: Any, misses: Any, level: float) -> tuple[Any, Any]:
    """Clopper and Pearson's interval of a share, or of one at each point of arrays; counts need not be whole.

    Examples
    --------
    >>> low, high = binomial_interval(5, 5, 0.95)
    >>> round(low, 3), round(high, 3)
    (0.187, 0.813)
    """
    tail = (1 - level) / 2
    with np.errstate(invalid="ignore"):  # a count of none has no inverse, and its end is known
        low = np.where(np.greater(hits, 0), scipy.stats.beta.ppf(tail, hits, np.add(misses, 1)), 0.0)
        high = np.where(np.greater(misses, 0), scipy.stats.beta.isf(tail, np.add(hits, 1), misses), 1.0)
    return plain(low), plain(high)


def failure_rate(n_events: float, node_days: float, level: float = 0.95) -> FailureRate:
    """Failures per 1,000 node-days with the exact Poisson interval.

    Parameters
    ----------
    n_events : float
        Failures counted. [count]
    node_days : float
        Exposure: nodes times days. [node-days]
    level : float
        Coverage of the interval.

    Raises
    ------
    InputError
        A negative count, or exposure that is not positive.

    Examples
    --------
    >>> rate = failure_rate(419, 2048 * 54)
    >>> round(rate.per_1000_node_days, 3), round(rate.low, 3), round(rate.high, 3)
    (3.789, 3.435, 4.169)
    """
    above_zero("node_days", node_days)
    rate, low, high = (float(value) for value in rates_of(n_events, node_days, level).values())
    return FailureRate(rate, low, high, level)


def gamma_interval(shape: float, node_days: float, level: float = 0.95) -> FailureRate:
    """Failure rate with the central interval of its gamma distribution.

    With ``shape = n + 1/2`` this is the posterior of a count ``n`` under Jeffreys' prior.

    Parameters
    ----------
    shape : float
        Shape of the gamma distribution. [count]
    node_days : float
        Its inverse scale. [node-days]
    level : float
        Probability inside the interval.

    Examples
    --------
    >>> round(gamma_interval(419.5, 110_592).high, 3)
    4.165
    """
    above_zero("shape", shape)
    above_zero("node_days", node_days)
    checked_level(level)
    low, high = scipy.special.gammaincinv(shape, [(1 - level) / 2, (1 + level) / 2]) * NODE_DAYS / node_days
    return FailureRate(shape * NODE_DAYS / node_days, float(low), float(high), level)


def job_mttf_h(rate_per_1000_node_days: Any, n_gpus: Any, gpus_per_node: Any = 8) -> Any:
    r"""Mean time to failure of a job on ``n_gpus``. [h]

    Parameters
    ----------
    rate_per_1000_node_days : float or ndarray
        Failure rate of the nodes. [1 / (1000 node-days)]
    n_gpus, gpus_per_node : float or ndarray
        Size of the job and of a node. [GPUs]

    Returns
    -------
    float or ndarray
        Infinite where the rate is zero. [h]

    Notes
    -----
    :math:`M = 1 / (N r)` for independent nodes whose rate is constant.

    Examples
    --------
    >>> round(job_mttf_h(6.50, 131_072), 3)
    0.225
    """
    nodes = above_zero("n_gpus", n_gpus) / above_zero("gpus_per_node", gpus_per_node)
    rate = at_least_zero("rate_per_1000_node_days", rate_per_1000_node_days)
    with np.errstate(divide="ignore"):
        return plain(NODE_DAYS * H_PER_DAY / (rate * nodes))


def count_intervals(frame: pd.DataFrame, level: float = 0.95) -> pd.DataFrame:
    """Add the exact interval of each count.

    Parameters
    ----------
    frame : DataFrame
        With a column ``n_events``. [count]
    level : float
        Coverage.

    Returns
    -------
    DataFrame
        The same rows with ``low`` and ``high``. [count]
    """
    low, high = poisson_interval(frame["n_events"].to_numpy(dtype=float), level)
    return frame.assign(low=low, high=high)


def without_each(frame: pd.DataFrame, window_h: float, level: float = 0.95) -> pd.DataFrame:
    """Mean time between interruptions if one category never failed.

    Parameters
    ----------
    frame : DataFrame
        ``category`` and ``n_events``.
    window_h : float
        Length of the observation. [h]
    level : float
        Coverage of the interval.

    Returns
    -------
    DataFrame
        ``category`` (first the row ``nothing``: all as observed), ``mtbi_h``, ``low``, ``high`` [h].

    Examples
    --------
    >>> import pandas as pd
    >>> counts = pd.DataFrame({"category": ["GPU", "Host"], "n_events": [30, 10]})
    >>> without_each(counts, 120.0)["mtbi_h"].tolist()
    [3.0, 12.0, 4.0]
    """
    import pandas as pd

    window = float(above_zero("window_h", window_h, unit="h"))
    by_category = frame.groupby("category", sort=False)["n_events"].sum()
    left = pd.concat([pd.Series({"nothing": by_category.sum()}), by_category.sum() - by_category])
    low, high = poisson_interval(left.to_numpy(dtype=float), level)
    with np.errstate(divide="ignore"):
        columns = {"mtbi_h": window / left.to_numpy(dtype=float), "low": window / high, "high": window / low}
    return pd.DataFrame({"category": left.index, **columns})


def rate_intervals(published: pd.DataFrame, level: float = 0.95) -> pd.DataFrame:
    """Add the interval of each published rate: exact where a count is published, else the range stated.

    Parameters
    ----------
    published : DataFrame
        ``n_events`` (may be missing), ``node_days``, ``rate``, ``rate_low``, ``rate_high``.
    level : float
        Coverage of the exact intervals.

    Returns
    -------
    DataFrame
        The same rows with ``low`` and ``high``, which hold the stated range too. [1 / (1000 node-days)]
    """
    counted = published["n_events"].notna() & published["node_days"].notna()
    events = published["n_events"].astype(float).where(counted, 0.0).to_numpy(dtype=float)
    low, high = poisson_interval(events, level)
    exposure = published["node_days"].astype(float).where(counted, NODE_DAYS).to_numpy(dtype=float) / NODE_DAYS
    # both kinds of doubt are shown: the count's interval, widened by what is stated of its exposure
    shortest = (published["rate_high"] / published["rate"]).fillna(1.0)
    longest = (published["rate_low"] / published["rate"]).fillna(1.0)
    return published.assign(
        low=np.where(counted, low / exposure * longest, published["rate_low"]),
        high=np.where(counted, high / exposure * shortest, published["rate_high"]),
    )
