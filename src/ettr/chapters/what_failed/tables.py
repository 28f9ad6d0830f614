"""Tables on what fails: how far a count may be off, and how two published rates compare."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from ettr.failures import RateRatio, poisson_interval, rate_ratio


@dataclass(frozen=True)
class CountInterval:
    """Ends of the exact 95% interval of a count.

    Attributes
    ----------
    low, high : float
        Events. [count]
    """

    low: float
    high: float


def total_interval(shares: pd.DataFrame) -> CountInterval:
    """95% interval of the number of all interruptions.

    Parameters
    ----------
    shares : DataFrame
        Interruptions by component, with ``n_events``.
    """
    low, high = poisson_interval(shares["n_events"].sum())
    return CountInterval(float(low), float(high))


def rates_compared(published: pd.DataFrame, name: str, other: str) -> RateRatio:
    """How many times as often one published cluster fails as another, with its interval.

    Parameters
    ----------
    published : DataFrame
        As from :func:`ettr.evidence.published_rates`.
    name, other : str
        ``cluster_id`` of two rows with a count.
    """
    rows = published.set_index("cluster_id")
    mine, their = rows.loc[name], rows.loc[other]
    return rate_ratio(int(mine["n_events"]), mine["node_days"], int(their["n_events"]), their["node_days"])
