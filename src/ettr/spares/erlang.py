"""Erlang's two formulas, without the overflow of their factorials."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy

from ettr.core.errors import InputError
from ettr.core.validity import at_least_zero, plain
from ettr.spares.numbers import counts

_SMALL = 1e-18
"""Terms below this part of their sum no longer change it."""


def erlang_b(n_servers: Any, offered: Any) -> Any:
    r"""Share of arrivals that find all servers busy and go away, a fraction.

    Parameters
    ----------
    n_servers : float or ndarray
        Servers, n. [count]
    offered : float or ndarray
        Arrivals in a mean service time, a. [count]

    Returns
    -------
    float or ndarray
        Broadcast shape, in [0, 1].

    Raises
    ------
    InputError
        A number of servers that is not whole, or a negative load.

    Notes
    -----
    :math:`B(n, a) = \frac{a^n / n!}{\sum_{k=0}^{n} a^k / k!}`: Poisson arrivals, any distribution of service times with
    this mean (Erlang 1917; Sevastyanov 1957 for the last). It is the Poisson probability of n over that of at most n,
    taken as a difference of logarithms; where both underflow, n lies far below a, and the sum of
    :math:`1/B = \sum_j \frac{n!}{(n-j)!\,a^j}` converges at once.

    Examples
    --------
    >>> round(erlang_b(18, 7.76), 5)
    0.00069
    """
    n, a = np.broadcast_arrays(counts("n_servers", n_servers), at_least_zero("offered", offered))
    with np.errstate(divide="ignore", invalid="ignore"):
        logarithm = scipy.stats.poisson.logpmf(n, a) - scipy.stats.poisson.logcdf(n, a)
    blocked = np.where(a == 0, np.where(n == 0, 1.0, 0.0), np.exp(np.minimum(logarithm, 0.0)))
    # both are below what a float can hold: far below the mean if so, or far above, where the share itself is 0
    lost = (a > n) & ~(scipy.stats.poisson.cdf(n, a) > 0)
    if lost.any():
        blocked = np.array(blocked)
        blocked[lost] = 1 / _inverse_far_below(n[lost], a[lost])
    return plain(blocked)


def _inverse_far_below(n: np.ndarray, a: np.ndarray) -> np.ndarray:
    """1/B as a sum whose terms shrink by n/a or more."""
    total, term = np.ones(n.shape), np.ones(n.shape)
    place = 0
    while (term > _SMALL * total).any():
        term = term * np.maximum(n - place, 0.0) / a
        total = total + term
        place += 1
    return total


def erlang_c(n_servers: Any, offered: Any) -> Any:
    r"""Share of arrivals that have to wait for a server, a fraction.

    Parameters
    ----------
    n_servers : float or ndarray
        Servers, c. [count]
    offered : float or ndarray
        Arrivals in a mean service time, a, fewer than there are servers. [count]

    Returns
    -------
    float or ndarray
        Broadcast shape, in [0, 1].

    Raises
    ------
    InputError
        As many arrivals as servers or more: the queue would grow without end.

    Notes
    -----
    :math:`C(c, a) = \frac{B}{1 - \frac{a}{c}(1 - B)}` with Erlang's :math:`B(c, a)`: Poisson arrivals, exponential
    service times, nobody goes away.

    Examples
    --------
    >>> round(erlang_c(10, 7.76), 4)
    0.3577
    """
    c, a = np.broadcast_arrays(counts("n_servers", n_servers, 1), at_least_zero("offered", offered))
    too_many = a >= c
    if too_many.any():
        raise InputError(
            f"n_servers must be > {a[too_many].flat[0]:.4g}, the servers that are busy on average, got "
            f"{c[too_many].flat[0]:g}: the queue would grow without end"
        )
    blocked = np.asarray(erlang_b(c, a))
    return plain(blocked / (1 - a / c * (1 - blocked)))
