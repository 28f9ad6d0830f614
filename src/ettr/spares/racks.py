"""Racks whose GPUs work as one: spares inside them, and pools of servers or whole racks beside them."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy

from ettr.core.validity import plain
from ettr.spares.waiting import counts, fraction


def racks_level(n_racks: Any, n_used: Any, n_spares: Any, unavailable: Any, rack_unavailable: Any = 0.0) -> Any:
    r"""Probability that every rack of a job has as many GPUs left as are used of it, a fraction.

    Parameters
    ----------
    n_racks : float or ndarray
        Racks of the job. [count]
    n_used, n_spares : float or ndarray
        GPUs of a rack that are used, and that are not. [GPUs]
    unavailable : float or ndarray
        Share of time that a GPU is in repair by itself, q, in [0, 1).
    rack_unavailable : float or ndarray
        Share of time that a whole rack is, in [0, 1).

    Returns
    -------
    float or ndarray
        Broadcast shape, in [0, 1].

    Raises
    ------
    InputError
        A number out of its range.

    Notes
    -----
    A rack of n GPUs with s spares among them has enough with probability
    :math:`\sum_{k \le s} \binom{n}{k} q^k (1-q)^{n-k}`: GPUs fail one by one and independently. All racks have with
    that probability, times that of the rack as such being in order, to the power of their number.

    Examples
    --------
    >>> round(racks_level(1, 72, 0, 0.001), 4), round(racks_level(256, 64, 2, 0.0005), 4)
    (0.9305, 0.9986)
    """
    racks, used, held = counts("n_racks", n_racks, 1), counts("n_used", n_used, 1), counts("n_spares", n_spares)
    enough = scipy.stats.binom.cdf(held, used + held, fraction("unavailable", unavailable))
    return plain((enough * (1 - fraction("rack_unavailable", rack_unavailable))) ** racks)


def domains_level(n_gpus: int, n_spare_gpus: Any, domain_gpus: int, unavailable: float) -> Any:
    """Probability that a shared pool of whole domains stands in for all that are short of a GPU, a fraction.

    Parameters
    ----------
    n_gpus : int
        GPUs of the job. [GPUs]
    n_spare_gpus : float or ndarray
        GPUs of the pool, of which whole domains count. [GPUs]
    domain_gpus : int
        GPUs that are replaced together, D: those of a server, or of a rack. [GPUs]
    unavailable : float
        Share of time that a GPU is in repair, q, in [0, 1).

    Notes
    -----
    A domain is short of a GPU for the share 1 - (1 - q)^D of the time. Of the job's domains and those of the pool
    together at most as many as the pool holds are: a binomial sum, where spares fail as often as others.

    Examples
    --------
    >>> [round(domains_level(16_384, 512, size, 0.0005), 3) for size in (8, 64)]
    [1.0, 0.548]
    """
    size = float(counts("domain_gpus", domain_gpus, 1))
    n_domains = np.ceil(float(counts("n_gpus", n_gpus, 1)) / size)
    held = np.floor(counts("n_spare_gpus", n_spare_gpus) / size)
    short = -np.expm1(size * np.log1p(-fraction("unavailable", unavailable)))
    return plain(scipy.stats.binom.cdf(held, n_domains + held, short))
