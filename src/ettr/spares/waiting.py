"""The share of the time that a job waits for a node: Erlang's loss formula, without the overflow of factorials."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy

from ettr.core.errors import InputError
from ettr.core.units import ROUNDING
from ettr.core.validity import at_least_zero, plain

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


def waiting_share(n_spares: Any, in_repair: Any, n_crew: Any = None) -> Any:
    r"""Share of the wall clock that the whole job waits for a node, a fraction.

    Parameters
    ----------
    n_spares : float or ndarray
        Hot spares, s. [nodes]
    in_repair : float or ndarray
        Nodes in repair on average if the job never waits, a: those that leave per hour, times the mean repair. [nodes]
    n_crew : float or ndarray, optional
        Nodes that are repaired at a time, c; no limit if not given. [count]

    Returns
    -------
    float or ndarray
        Broadcast shape, in [0, 1].

    Notes
    -----
    With s + 1 nodes in repair the job stands still, and nothing fails until the first of them is back: a system of
    s + 1 places whose arrivals are lost while it is full. Its full share is Erlang's :math:`B(s+1, a)`, for any
    distribution of repair times. With c crews, :math:`\rho = a/c` and exponential repair times it is

    .. math:: \frac{\rho^{s+1-c}}{1/B(c, a) + \sum_{j=1}^{s+1-c} \rho^j}, \qquad s + 1 > c.

    Exact in the long run for single nodes that leave by a Poisson process of constant rate, on a clock that stops while
    the job waits. A job whose failures cost detection and queue (D, q > 0) has pauses in that process, and a run that
    begins with a full pool waits less at first: there it is an approximation.

    Examples
    --------
    >>> round(waiting_share(0, 7.76), 3), round(waiting_share(8, 7.76), 3), round(waiting_share(17, 7.76), 5)
    (0.886, 0.161, 0.00069)
    """
    s, a = np.broadcast_arrays(counts("n_spares", n_spares), at_least_zero("in_repair", in_repair))
    if n_crew is None:
        return erlang_b(s + 1, a)
    s, a, c = np.broadcast_arrays(s, a, counts("n_crew", n_crew, 1))
    over = np.maximum(s + 1 - c, 0)
    full = np.asarray(erlang_b(np.minimum(s + 1, c), a))
    rho = a / c
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        # in powers of 1/rho, which stay finite where crews cannot keep up
        lasting = _geometric(np.minimum(rho, 1 / rho), over)
        busy = np.where(
            rho <= 1,
            rho**over / (1 / full + rho * lasting),
            1 / (rho ** (-over) / full + lasting),
        )
    return plain(np.where((over == 0) | (a == 0), full, busy))


def _geometric(ratio: np.ndarray, n_terms: np.ndarray) -> np.ndarray:
    """1 + x + ... of so many terms."""
    near = np.abs(1 - ratio) < ROUNDING
    return np.where(near, n_terms, (1 - ratio**n_terms) / np.where(near, 1.0, 1 - ratio))


MOST_NODES = 1e9
"""More than any cluster will have; pools are looked for among fewer."""


def counts(name: str, values: Any, least: int = 0) -> np.ndarray:
    """Check for whole numbers from ``least`` on, and return them as float64."""
    array = _numbers(name, values)
    bad = (array < least) | (array != np.round(array)) | (array > MOST_NODES)
    if bad.any():
        raise InputError(f"{name} must be a whole number from {least} to {MOST_NODES:.0e}, got {array[bad].flat[0]:g}")
    return array


def fraction(name: str, values: Any) -> np.ndarray:
    """Check for fractions from 0 to below 1, and return them as float64."""
    array = _numbers(name, values)
    bad = (array < 0) | (array >= 1)
    if bad.any():
        raise InputError(f"{name} must be >= 0 and < 1, got {array[bad].flat[0]:g}")
    return array


def _numbers(name: str, values: Any) -> np.ndarray:
    try:
        array = np.asarray(values, dtype=float)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} must be a number or an array of numbers, got {values!r}") from error
    if not np.isfinite(array).all():
        raise InputError(f"{name} must be finite, got {array[~np.isfinite(array)].flat[0]:g}")
    return array
