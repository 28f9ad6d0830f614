"""Number of spares for a given availability, and Erlang's loss formula."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy

from ettr.core.errors import InputError
from ettr.core.probability import log_poisson
from ettr.core.validity import at_least_zero, plain

_SMALL = 1e-18
"""Terms below this fraction of their sum are dropped."""
MOST_NODES = 1e9
"""Upper limit of a number of nodes."""


def enough_spares(in_repair: Any, share: Any) -> np.ndarray:
    """Return the minimum number of spares that is sufficient for a share of the time, with Poisson distributed
    repairs. [nodes]

    Parameters
    ----------
    in_repair : float or ndarray
        Nodes in repair on average. [nodes]
    share : float or ndarray
        Share of the time, in (0, 1).

    Returns
    -------
    ndarray
        Broadcast shape; whole numbers. [nodes]

    Raises
    ------
    InputError
        A negative number of nodes, or a share that is not between 0 and 1.

    Notes
    -----
    The number in repair is Poisson distributed if failures are a Poisson process and as many nodes are repaired at a
    time as need it; the distribution of repair times does not matter.

    Examples
    --------
    >>> enough_spares(7.76, [0.9, 0.999]).tolist()
    [11.0, 18.0]
    """
    mean, share = np.broadcast_arrays(at_least_zero("in_repair", in_repair), np.asarray(share, dtype=float))
    outside = ~((share > 0) & (share < 1))
    if outside.any():
        raise InputError(f"share must be between 0 and 1, both excluded, got {share[outside].flat[0]:g}")
    some = np.where(mean > 0, mean, 1.0)
    spares = np.ceil(scipy.special.pdtrik(share, some))
    fewer = np.maximum(spares - 1, 0)  # rounding may have lifted it over a whole number
    spares = np.where(scipy.special.pdtr(fewer, some) >= share, fewer, spares)
    return np.where(mean > 0, spares, 0.0)


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
        logarithm = log_poisson(n, a) - np.log(scipy.special.pdtr(n, a))
    blocked = np.where(a == 0, np.where(n == 0, 1.0, 0.0), np.exp(np.minimum(logarithm, 0.0)))
    # both probabilities underflow: n is far below the mean (or far above, where the share itself is 0)
    underflow = (a > n) & ~(scipy.special.pdtr(n, a) > 0)
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


def counts(name: str, values: Any, lowest: int = 0) -> np.ndarray:
    """Return whole numbers of at least ``lowest`` as float64; refuse others."""
    array = numbers(name, values)
    bad = (array < lowest) | (array != np.round(array)) | (array > MOST_NODES)
    if bad.any():
        raise InputError(f"{name} must be a whole number from {lowest} to {MOST_NODES:.0e}, got {array[bad].flat[0]:g}")
    return array


def numbers(name: str, values: Any) -> np.ndarray:
    """Return finite numbers as float64; refuse others."""
    try:
        array = np.asarray(values, dtype=float)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} must be a number or an array of numbers, got {values!r}") from error
    if not np.isfinite(array).all():
        raise InputError(f"{name} must be finite, got {array[~np.isfinite(array)].flat[0]:g}")
    return array
