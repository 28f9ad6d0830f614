"""Spares for rack-scale systems: spare GPUs inside racks, and shared pools of servers or entire racks."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy

from ettr.core.validity import plain
from ettr.scenario.pools import counts
from ettr.spares.waiting import fraction


def racks_level(n_racks: Any, n_used: Any, n_spares: Any, unavailable: Any, rack_unavailable: Any = 0.0) -> Any:
    r"""Return the probability that every rack of a job has enough working GPUs.

    Parameters
    ----------
    n_racks : float or ndarray
        Racks of the job. [count]
    n_used, n_spares : float or ndarray
        GPUs of a rack that the job uses, and spare GPUs in the rack. [GPUs]
    unavailable : float or ndarray
        Share of time that a single GPU is in repair, q, in [0, 1).
    rack_unavailable : float or ndarray
        Share of time that an entire rack is in repair, in [0, 1).

    Returns
    -------
    float or ndarray
        Broadcast shape, in [0, 1].

    Raises
    ------
    InputError
        A number outside its range.

    Notes
    -----
    A rack of n GPUs with s spares among them has enough with probability
    :math:`\sum_{k \le s} \binom{n}{k} q^k (1-q)^{n-k}`: GPUs fail one by one and independently. For all racks this
    probability, times that of the rack itself working, is raised to the power of their number.

    Examples
    --------
    >>> round(racks_level(1, 72, 0, 0.001), 4), round(racks_level(256, 64, 2, 0.0005), 4)
    (0.9305, 0.9986)
    """
    racks, used, spare = counts("n_racks", n_racks, 1), counts("n_used", n_used, 1), counts("n_spares", n_spares)
    enough = scipy.special.betaincc(spare + 1, used, fraction("unavailable", unavailable))
    return plain((enough * (1 - fraction("rack_unavailable", rack_unavailable))) ** racks)


def domains_level(n_gpus: int, n_spare_gpus: Any, domain_gpus: int, unavailable: float) -> Any:
    """Return the probability that a shared pool of domains replaces all domains with a GPU in repair.

    Parameters
    ----------
    n_gpus : int
        GPUs of the job. [GPUs]
    n_spare_gpus : float or ndarray
        GPUs of the pool; only complete domains count. [GPUs]
    domain_gpus : int
        GPUs that are replaced together, D: those of a server or a rack. [GPUs]
    unavailable : float
        Share of time that a GPU is in repair, q, in [0, 1).

    Notes
    -----
    A domain has a GPU in repair for the share 1 - (1 - q)^D of the time. The pool is enough if at most as many domains
    as it has, among those of the job and the pool, are in repair: a binomial sum, with spares that fail like others.

    Examples
    --------
    >>> [round(domains_level(16_384, 512, size, 0.0005), 3) for size in (8, 64)]
    [1.0, 0.548]
    """
    size = float(counts("domain_gpus", domain_gpus, 1))
    n_domains = np.ceil(float(counts("n_gpus", n_gpus, 1)) / size)
    n_spare = np.floor(counts("n_spare_gpus", n_spare_gpus) / size)
    short = -np.expm1(size * np.log1p(-fraction("unavailable", unavailable)))
    return plain(scipy.special.betaincc(n_spare + 1, n_domains, short))
