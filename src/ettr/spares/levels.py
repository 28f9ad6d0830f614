"""Pools by service level: so many spares that no node is missing at a random moment, with a probability."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy

from ettr.core.errors import InputError
from ettr.core.units import LAST_DIGITS
from ettr.core.validity import at_least_zero, plain
from ettr.scenario.pools import enough_spares
from ettr.spares.erlang import erlang_c
from ettr.spares.numbers import counts, fraction, level
from ettr.spares.search import least


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
    return plain(scipy.stats.binom.cdf(s, n + s, fraction("unavailable", unavailable)))


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
    return plain(_least_of_nodes(n, u, q))


@np.vectorize(otypes=[float])
def _least_of_nodes(n_nodes: float, unavailable: float, service_level: float) -> int:
    nodes = int(n_nodes)
    guess = int(enough_spares(nodes * unavailable / (1 - unavailable), service_level))
    return least(lambda n_spares: scipy.special.bdtr(n_spares, nodes + n_spares, unavailable) >= service_level, guess)


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
    return plain(enough_spares(a, q))


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
    return plain(np.maximum(a + scipy.stats.norm.ppf(q) * np.sqrt(a), 0.0))


def crew_pool(in_repair: Any, n_crew: Any, service_level: Any) -> Any:
    """Least spares with which no node is missing with a given probability, if few are repaired at a time. [nodes]

    Parameters
    ----------
    in_repair : float or ndarray
        Nodes that crews work on on average, a: failures in a mean repair time. [nodes]
    n_crew : float or ndarray
        Nodes that are repaired at a time, c, more than ``in_repair``. [count]
    service_level : float or ndarray
        The probability, in (0, 1).

    Returns
    -------
    float or ndarray
        Broadcast shape; whole numbers. [nodes]

    Raises
    ------
    InputError
        Crews that cannot keep up.

    Notes
    -----
    M/M/c: at most n nodes are out with probability :math:`1 - C(c, a)\\,(a/c)^{n+1-c}` for n >= c - 1 with Erlang's C;
    below that, with the Poisson probabilities, scaled to meet it. Poisson failures and exponential repair times.

    Examples
    --------
    >>> crew_pool(7.76, [9, 10, 20], 0.999).tolist()
    [51.0, 33.0, 18.0]
    """
    a, c, q = np.broadcast_arrays(
        at_least_zero("in_repair", in_repair), counts("n_crew", n_crew, 1), level("service_level", service_level)
    )
    waits = _waits(c, a)
    with np.errstate(divide="ignore", invalid="ignore"):
        beyond = np.ceil(np.log((1 - q) / waits) / np.log(a / c) * (1 - LAST_DIGITS)) + c - 1
        within = scipy.stats.poisson.ppf(q * scipy.stats.poisson.cdf(c - 1, a) / (1 - waits), a)
    pool = np.where(1 - waits >= q, np.minimum(within, c - 1), np.maximum(beyond, c - 1))
    return plain(np.where(a == 0, 0.0, pool))


def _waits(c: np.ndarray, a: np.ndarray) -> np.ndarray:
    """Share of nodes that wait for a crew; refuses crews that cannot keep up."""
    behind = a >= c
    if behind.any():
        raise InputError(
            f"n_crew must be > {a[behind].flat[0]:.4g}, the crews that are busy on average, got "
            f"{c[behind].flat[0]:g}: more nodes fail than are repaired"
        )
    return np.asarray(erlang_c(c, a))
