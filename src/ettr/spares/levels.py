"""Pools by service level: so many spares that no node is missing at a random moment, with a probability."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import stats

from ettr.core.validity import above_zero, at_least_zero, plain
from ettr.spares.numbers import MOST_NODES, counts, fraction, level


def unavailability(mtbf_h: Any, repair_h: Any) -> Any:
    """Share of time that a node is in repair, a fraction.

    Parameters
    ----------
    mtbf_h : float or ndarray
        Mean time between failures of one node that is in use. [h]
    repair_h : float or ndarray
        Mean time until it is back. [h]

    Notes
    -----
    u = R / (M + R), in the long run, whatever the distributions.

    Examples
    --------
    >>> round(unavailability(6333.8, 24.0), 5)
    0.00377
    """
    mtbf, repair = above_zero("mtbf_h", mtbf_h, unit="h"), at_least_zero("repair_h", repair_h, unit="h")
    return plain(repair / (mtbf + repair))


def pool_level(n_nodes: Any, n_spares: Any, unavailable: Any) -> Any:
    """Probability that at most as many nodes are in repair as there are spares, a fraction.

    Parameters
    ----------
    n_nodes, n_spares : float or ndarray
        Nodes that the job needs, and spares beside them. [nodes]
    unavailable : float or ndarray
        Share of time that a node is in repair, u.

    Notes
    -----
    P(Bin(N + s, u) <= s): nodes fail independently of each other, spares as often as others, and as many people repair
    as there are nodes to repair.

    Examples
    --------
    >>> round(pool_level(2048, 18, 0.00377), 4)
    0.9995
    """
    n, s = counts("n_nodes", n_nodes, 1), counts("n_spares", n_spares)
    return plain(stats.binom.cdf(s, n + s, fraction("unavailable", unavailable)))


def binomial_pool(n_nodes: Any, unavailable: Any, service_level: Any) -> Any:
    """Least spares with which no node is missing with a given probability. [nodes]

    Parameters
    ----------
    n_nodes : float or ndarray
        Nodes that the job needs, N. [nodes]
    unavailable : float or ndarray
        Share of time that a node is in repair, u, in [0, 1).
    service_level : float or ndarray
        The probability, in (0, 1).

    Returns
    -------
    float or ndarray
        Broadcast shape; whole numbers. [nodes]

    Raises
    ------
    InputError
        A number out of its range.

    Notes
    -----
    The least s with :func:`pool_level` >= the service level; that rises with s, since one more node and one more that
    may be missing never hurt.

    Examples
    --------
    >>> binomial_pool(2048, 0.00377, 0.999)
    18.0
    """
    n, u, q = np.broadcast_arrays(
        counts("n_nodes", n_nodes, 1), fraction("unavailable", unavailable), level("service_level", service_level)
    )
    low, high = np.full(n.shape, -1.0), np.ceil(n * u / (1 - u)) + 1
    while (short := (stats.binom.cdf(high, n + high, u) < q) & (high < MOST_NODES)).any():
        low, high = np.where(short, high, low), np.where(short, 2 * high, high)
    while ((high - low) > 1).any():
        middle = np.floor((low + high) / 2)
        enough = stats.binom.cdf(middle, n + middle, u) >= q
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    return plain(high)


def poisson_pool(in_repair: Any, service_level: Any) -> Any:
    """Least spares with which no node is missing with a given probability, from the flow of repairs. [nodes]

    Parameters
    ----------
    in_repair : float or ndarray
        Nodes in repair on average, a = N r R. [nodes]
    service_level : float or ndarray
        The probability, in (0, 1).

    Notes
    -----
    The number in repair is Poisson with mean a if failures are, and as many are repaired at a time as need it; the
    distribution of repair times does not matter. Spares on the shelf do not fail here.

    Examples
    --------
    >>> poisson_pool(7.76, [0.9, 0.99, 0.999]).tolist()
    [11.0, 15.0, 18.0]
    """
    a, q = np.broadcast_arrays(at_least_zero("in_repair", in_repair), level("service_level", service_level))
    return plain(np.where(a == 0, 0.0, stats.poisson.ppf(q, np.where(a == 0, 1.0, a))))


def normal_pool(in_repair: Any, service_level: Any) -> Any:
    """The same by the normal approximation, not rounded. [nodes]

    Parameters
    ----------
    in_repair, service_level
        As for :func:`poisson_pool`.

    Notes
    -----
    a + z sqrt(a), at least 0. It errs by about (z² - 1)/6 nodes, the next term of the expansion of Cornish and Fisher,
    so it is too low at high service levels.

    Examples
    --------
    >>> round(normal_pool(7.76, 0.999), 1)
    16.4
    """
    a, q = at_least_zero("in_repair", in_repair), level("service_level", service_level)
    return plain(np.maximum(a + stats.norm.ppf(q) * np.sqrt(a), 0.0))
