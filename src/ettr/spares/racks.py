"""Racks whose GPUs work as one: spares inside them, and what a lost GPU takes with it."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy

from ettr.core.errors import InputError
from ettr.core.validity import plain
from ettr.spares.levels import pool_level
from ettr.spares.numbers import counts, fraction

_LARGEST_SHARE = np.nextafter(1.0, 0.0)
"""A share below 1 that rounding takes to 1."""


def rack_level(n_gpus: Any, n_spares: Any, unavailable: Any) -> Any:
    r"""Probability that a rack has as many GPUs left as are used of it, a fraction.

    Parameters
    ----------
    n_gpus : float or ndarray
        GPUs of the rack, spares included, n. [GPUs]
    n_spares : float or ndarray
        Those of them that are not used, s; at most all. [GPUs]
    unavailable : float or ndarray
        Share of time that a GPU is in repair, q, in [0, 1).

    Returns
    -------
    float or ndarray
        Broadcast shape, in [0, 1].

    Raises
    ------
    InputError
        A number out of its range, or more spares than GPUs.

    Notes
    -----
    :math:`\sum_{k \le s} \binom{n}{k} q^k (1-q)^{n-k}`: GPUs fail one by one and independently. What takes the whole
    rack down, such as its switch trays and backplane, is not in it.

    Examples
    --------
    >>> round(rack_level(72, 0, 0.001), 4), round(1 - rack_level(72, 2, 0.001), 6)
    (0.9305, 5.7e-05)
    """
    n, s = counts("n_gpus", n_gpus, 1), counts("n_spares", n_spares)
    too_many = np.broadcast_to(s > n, np.broadcast_shapes(s.shape, n.shape))
    if too_many.any():
        most, given = (np.broadcast_to(one, too_many.shape)[too_many].flat[0] for one in (n, s))
        raise InputError(f"n_spares must be <= {most:g}, the GPUs of the rack, got {given:g}")
    return plain(scipy.stats.binom.cdf(s, n, fraction("unavailable", unavailable)))


def racks_level(n_racks: Any, n_used: Any, n_spares: Any, unavailable: Any, rack_unavailable: Any = 0.0) -> Any:
    """Probability that every rack of a job has as many GPUs left as are used of it, a fraction.

    Parameters
    ----------
    n_racks : float or ndarray
        Racks of the job. [count]
    n_used, n_spares : float or ndarray
        GPUs of a rack that are used, and that are not. [GPUs]
    unavailable : float or ndarray
        Share of time that a GPU is in repair by itself.
    rack_unavailable : float or ndarray
        Share of time that a whole rack is.

    Notes
    -----
    :func:`rack_level` with the rack as such in order, to the power of the racks.

    Examples
    --------
    >>> round(racks_level(256, 64, 2, 0.0005), 4)
    0.9986
    """
    racks, used = counts("n_racks", n_racks, 1), counts("n_used", n_used, 1)
    one = np.asarray(rack_level(used + counts("n_spares", n_spares), n_spares, unavailable))
    return plain((one * (1 - fraction("rack_unavailable", rack_unavailable))) ** racks)


def domain_unavailability(unavailable: Any, domain_gpus: Any) -> Any:
    """Share of time that at least one GPU of a domain is in repair, a fraction.

    Parameters
    ----------
    unavailable : float or ndarray
        Share of time that a GPU is, q, in [0, 1).
    domain_gpus : float or ndarray
        GPUs that work only together, D: a server, or a rack. [GPUs]

    Notes
    -----
    1 - (1 - q)^D. A job with no spares that goes on with the domains that are whole loses as much of its throughput,
    and the share q where each replica goes on at the pace of the GPUs that it has left, as with non-uniform tensor
    parallelism. Arfeen et al. (2025) print nearly 10% for 0.1% of GPUs failed at a high degree of tensor parallelism:
    that is a domain of about 100 GPUs here.

    Examples
    --------
    >>> round(domain_unavailability(0.001, 72), 4), round(domain_unavailability(0.001, 8), 3)
    (0.0695, 0.008)
    """
    q, size = fraction("unavailable", unavailable), counts("domain_gpus", domain_gpus, 1)
    return plain(np.minimum(-np.expm1(size * np.log1p(-q)), _LARGEST_SHARE))


def domains_level(n_gpus: int, n_spare_gpus: Any, domain_gpus: int, unavailable: float) -> Any:
    """Probability that a shared pool of whole domains stands in for all that are short of a GPU, a fraction.

    Parameters
    ----------
    n_gpus : int
        GPUs of the job. [GPUs]
    n_spare_gpus : float or ndarray
        GPUs of the pool, of which whole domains count. [GPUs]
    domain_gpus : int
        GPUs that are replaced together: those of a server, or of a rack. [GPUs]
    unavailable : float
        Share of time that a GPU is in repair, q.

    Notes
    -----
    :func:`pool_level` with domains instead of nodes.

    Examples
    --------
    >>> [round(domains_level(16_384, 512, size, 0.0005), 3) for size in (8, 64)]
    [1.0, 0.548]
    """
    size = float(counts("domain_gpus", domain_gpus, 1))
    n_domains = np.ceil(float(counts("n_gpus", n_gpus, 1)) / size)
    spare = np.floor(counts("n_spare_gpus", n_spare_gpus) / size)
    return pool_level(n_domains, spare, domain_unavailability(unavailable, size))
