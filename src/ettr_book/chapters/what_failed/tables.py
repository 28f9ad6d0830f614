"""What the published count of interruptions says of the next weeks, and of one part."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd
from scipy import stats

from ettr.core.units import H_PER_DAY
from ettr.failures import poisson_interval

_TAILS = (0.025, 0.975)


@dataclass(frozen=True)
class Count:
    """A count of interruptions and what it says.

    Attributes
    ----------
    n : int
        Interruptions counted.
    low, high : float
        Ends of the exact 95% confidence interval of the mean behind the count.
    next_low, next_high : float
        Between these lies the count of another window of the same length, 19 times in 20.
    """

    n: int
    low: float
    high: float
    next_low: float
    next_high: float


def counted(shares: pd.DataFrame) -> Count:
    """What the number of all interruptions says of their rate, and of another window of the same length.

    Parameters
    ----------
    shares : DataFrame
        Interruptions by component, with ``n_events``.

    Notes
    -----
    Another count is negative binomial: Poisson around a mean that is known by this one alone (Jeffreys prior).

    Examples
    --------
    >>> count = counted(pd.DataFrame({"n_events": [419]}))
    >>> round(count.low, 1), round(count.high, 1), count.next_low, count.next_high
    (379.8, 461.1, 364.0, 478.0)
    """
    n = int(shares["n_events"].sum())
    low, high = poisson_interval(n)
    next_low, next_high = stats.nbinom(n + 0.5, 0.5).ppf(_TAILS)
    return Count(n, float(low), float(high), float(next_low), float(next_high))


def interval(n: int) -> dict[str, float]:
    """95% interval of the mean behind a count: ``low``, ``high``."""
    low, high = poisson_interval(n)
    return {"low": float(low), "high": float(high)}


def by_hand(shares: pd.DataFrame, window_h: float, n_gpus: float, gpus_per_node: float) -> dict[str, float]:
    """The rate by three lines of arithmetic.

    Returns
    -------
    dict
        ``days``, ``n`` (interruptions), ``every_h`` [h]; ``nodes``, ``node_days``, ``per_1000_node_days``;
        ``n_of_gpus`` (put down to GPUs), ``gpus``, ``gpu_years`` between two of one GPU [years].
    """
    days, n = window_h / H_PER_DAY, float(shares["n_events"].sum())
    of_gpus = float(shares.loc[shares["category"] == "GPU", "n_events"].sum())
    nodes = n_gpus / gpus_per_node
    return {
        "days": days,
        "n": n,
        "every_h": window_h / n,
        "nodes": nodes,
        "node_days": nodes * days,
        "per_1000_node_days": 1000 * n / (nodes * days),
        "n_of_gpus": of_gpus,
        "gpus": n_gpus,
        "gpu_years": n_gpus * days / of_gpus / 365.25,
    }
