"""Failure rates from counts and exposure, with exact intervals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy

from ettr.core.probability import chi2_quantile, chi2_upper
from ettr.core.units import H_PER_DAY
from ettr.core.validity import above_zero, at_least_zero, plain
from ettr.failures.window import checked_level

if TYPE_CHECKING:
    import pandas as pd


NODE_DAYS = 1000.0
"""Exposure that failure rates refer to. [node-days]"""


@dataclass(frozen=True)
class FailureRate:
    """A failure rate with its confidence interval.

    Attributes
    ----------
    per_1000_node_days, low, high : float
        Estimate and the ends of the interval. [1 / (1000 node-days)]
    level : float
        Coverage of the interval, e.g. 0.95.

    Examples
    --------
    >>> rate = failure_rate(20, 5000)
    >>> rate.per_1000_node_days, round(rate.low, 2), round(rate.high, 2)
    (4.0, 2.44, 6.18)
    """

    per_1000_node_days: float
    low: float
    high: float
    level: float


def poisson_interval(n_events: Any, level: float = 0.95) -> tuple[Any, Any]:
    r"""Return the exact central interval for the mean of a Poisson count.

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
    low = np.where(count > 0, chi2_quantile(tail, 2 * np.maximum(count, 1e-300)) / 2, 0.0)
    high = chi2_upper(tail, 2 * count + 2) / 2
    return plain(low), plain(high)


def rates_of(n_events: Any, node_days: Any, level: float = 0.95) -> dict[str, np.ndarray]:
    """Return failure rates of counts and exposures, with exact intervals, as columns.

    Parameters
    ----------
    n_events, node_days : array
        Failures [count], and the exposure of each count [node-days].
    level : float
        Coverage of the intervals.

    Returns
    -------
    dict of ndarray
        ``rate``, ``low`` and ``high`` [1 / (1000 node-days)].

    Examples
    --------
    >>> rates_of([3, 0], [1000.0, 500.0])["rate"].tolist()
    [3.0, 0.0]
    """
    low, high = poisson_interval(n_events, level)
    exposure = np.asarray(node_days, dtype=float) / NODE_DAYS
    return {"rate": np.asarray(n_events, dtype=float) / exposure, "low": low / exposure, "high": high / exposure}


def binomial_interval(hits: Any, misses: Any, level: float) -> tuple[Any, Any]:
    """Return the Clopper-Pearson interval of a share, from hits and misses that need not be whole numbers.

    Examples
    --------
    >>> low, high = binomial_interval(5, 5, 0.95)
    >>> round(low, 3), round(high, 3)
    (0.187, 0.813)
    """
    tail = (1 - level) / 2
    with np.errstate(invalid="ignore"):  # the beta quantile is undefined for a count of 0, whose end is 0 or 1
        low = np.where(np.greater(hits, 0), scipy.special.betaincinv(hits, np.add(misses, 1), tail), 0.0)
        high = np.where(np.greater(misses, 0), scipy.special.betainccinv(np.add(hits, 1), misses, tail), 1.0)
    return plain(low), plain(high)


def failure_rate(n_events: float, node_days: float, level: float = 0.95) -> FailureRate:
    """Return the failures per 1,000 node-days with the exact Poisson interval.

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
    """Return a failure rate with the central interval of its gamma distribution.

    With ``shape = n + 1/2`` this is the posterior of a count ``n`` under Jeffreys' prior.

    Parameters
    ----------
    shape : float
        Shape of the gamma distribution. [count]
    node_days : float
        Inverse scale of the gamma distribution. [node-days]
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
    r"""Return the mean time to failure of a job on ``n_gpus`` GPUs, in hours.

    Parameters
    ----------
    rate_per_1000_node_days : float or ndarray
        Failure rate of the nodes. [1 / (1000 node-days)]
    n_gpus, gpus_per_node : float or ndarray
        Size of the job and of a node. [GPUs]

    Returns
    -------
    float or ndarray
        MTTF, infinite for a rate of zero. [h]

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
    """Add the exact Poisson interval of each count.

    Parameters
    ----------
    frame : DataFrame
        With a column ``n_events``. [count]
    level : float
        Coverage of the intervals.

    Returns
    -------
    DataFrame
        ``frame`` with the columns ``low`` and ``high``. [count]

    Examples
    --------
    >>> import pandas as pd
    >>> counts = count_intervals(pd.DataFrame({"n_events": [0, 10]}))
    >>> counts[["low", "high"]].round(1).to_numpy().tolist()
    [[0.0, 3.7], [4.8, 18.4]]
    """
    low, high = poisson_interval(frame["n_events"].to_numpy(dtype=float), level)
    return frame.assign(low=low, high=high)


def without_each(frame: pd.DataFrame, window_h: float, level: float = 0.95) -> pd.DataFrame:
    """Return the mean time between interruptions if one category never failed, for each category.

    Parameters
    ----------
    frame : DataFrame
        ``category`` and ``n_events``.
    window_h : float
        Length of the observation window. [h]
    level : float
        Coverage of the interval.

    Returns
    -------
    DataFrame
        One row per category that is left out, after the row ``nothing`` (all failures): ``category``, ``mtbi_h``,
        ``low``, ``high`` [h].

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
    """Add the interval of each published rate: exact if a count is published, else the stated range.

    Parameters
    ----------
    published : DataFrame
        ``n_events`` (may be missing), ``node_days``, ``rate``, ``rate_low``, ``rate_high``.
    level : float
        Coverage of the exact intervals.

    Returns
    -------
    DataFrame
        ``published`` with the columns ``low`` and ``high``, which include the stated range. [1 / (1000 node-days)]

    Examples
    --------
    >>> import pandas as pd
    >>> columns = ["n_events", "node_days", "rate", "rate_low", "rate_high"]
    >>> published = pd.DataFrame([[10, 1000, 10, None, None], [None, None, 5, 4, 6]], columns=columns, dtype=float)
    >>> rate_intervals(published)[["low", "high"]].round(1).to_numpy().tolist()
    [[4.8, 18.4], [4.0, 6.0]]
    """
    counted = published["n_events"].notna() & published["node_days"].notna()
    events = published["n_events"].astype(float).where(counted, 0.0).to_numpy(dtype=float)
    low, high = poisson_interval(events, level)
    exposure = published["node_days"].astype(float).where(counted, NODE_DAYS).to_numpy(dtype=float) / NODE_DAYS
    # the interval of the count is widened by the stated range of its exposure
    shortest = (published["rate_high"] / published["rate"]).fillna(1.0)
    longest = (published["rate_low"] / published["rate"]).fillna(1.0)
    return published.assign(
        low=np.where(counted, low / exposure * longest, published["rate_low"]),
        high=np.where(counted, high / exposure * shortest, published["rate_high"]),
    )
