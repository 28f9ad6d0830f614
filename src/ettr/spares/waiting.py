"""The share of the time that a job waits for a node, by Erlang's loss formula without overflow."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy

from ettr.core.errors import InputError
from ettr.core.units import ROUNDING
from ettr.core.validity import at_least_zero, plain

_SMALL = 1e-18
"""Terms below this fraction of their sum are dropped."""


def erlang_b(n_servers: Any, offered: Any) -> Any:
    r"""Return the share of arrivals that find all servers busy and are lost (Erlang B).

    Parameters
    ----------
    n_servers : float or ndarray
        Servers, n. [count]
    offered : float or ndarray
        Offered load: arrivals per mean service time, a. [count]

    Returns
    -------
    float or ndarray
        Broadcast shape, in [0, 1].

    Raises
    ------
    InputError
        A number of servers that is no integer, or a negative load.

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
    # both probabilities underflow: n is far below the mean (or far above, where the share itself is 0)
    underflow = (a > n) & ~(scipy.stats.poisson.cdf(n, a) > 0)
    if underflow.any():
        blocked = np.array(blocked)
        blocked[underflow] = 1 / _inverse_far_below(n[underflow], a[underflow])
    return plain(blocked)


def _inverse_far_below(n: np.ndarray, a: np.ndarray) -> np.ndarray:
    """Return 1/B as a sum whose terms shrink at least by n/a."""
    total, term = np.ones(n.shape), np.ones(n.shape)
    place = 0
    while (term > _SMALL * total).any():
        term = term * np.maximum(n - place, 0.0) / a
        total = total + term
        place += 1
    return total


def waiting_share(n_spares: Any, in_repair: Any, n_crew: Any = None) -> Any:
    r"""Return the share of the wall clock that a job waits for a node.

    Parameters
    ----------
    n_spares : float or ndarray
        Hot spares, s. [nodes]
    in_repair : float or ndarray
        Mean number of nodes in repair if the job never waits, a: rate of leaving nodes times mean repair time. [nodes]
    n_crew : float or ndarray, optional
        Nodes that can be repaired at a time, c; no limit by default. [count]

    Returns
    -------
    float or ndarray
        Broadcast shape, in [0, 1].

    Notes
    -----
    With s + 1 nodes in repair the job waits, and no node fails until the first one returns: a loss system with s + 1
    places. It is full for the share :math:`B(s+1, a)` (Erlang B), for any distribution of repair times. With c crews,
    :math:`\rho = a/c` and exponential repair times it is

    .. math:: \frac{\rho^{s+1-c}}{1/B(c, a) + \sum_{j=1}^{s+1-c} \rho^j}, \qquad s + 1 > c.

    Exact in the long run for single nodes that leave as a Poisson process with constant rate, on a clock that stops
    while the job waits. It is an approximation for jobs with detection and queueing time (D, q > 0), which interrupt
    that process, and for short runs that begin with a full pool.

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
    """Return the geometric sum 1 + x + ... with a number of terms."""
    near = np.abs(1 - ratio) < ROUNDING
    return np.where(near, n_terms, (1 - ratio**n_terms) / np.where(near, 1.0, 1 - ratio))


MOST_NODES = 1e9
"""Upper limit of a number of nodes."""


def counts(name: str, values: Any, lowest: int = 0) -> np.ndarray:
    """Return whole numbers of at least ``lowest`` as float64; refuse others."""
    array = _numbers(name, values)
    bad = (array < lowest) | (array != np.round(array)) | (array > MOST_NODES)
    if bad.any():
        raise InputError(f"{name} must be a whole number from {lowest} to {MOST_NODES:.0e}, got {array[bad].flat[0]:g}")
    return array


def fraction(name: str, values: Any) -> np.ndarray:
    """Return fractions in [0, 1) as float64; refuse others."""
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
