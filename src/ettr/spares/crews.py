"""Repair by a limited number of crews: how many nodes are in repair or wait for it."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import stats

from ettr.core.errors import InputError
from ettr.core.validity import at_least_zero, plain
from ettr.spares.erlang import erlang_c
from ettr.spares.numbers import counts, level


def in_repair_share(n_out: Any, in_repair: Any, n_crew: Any) -> Any:
    """Probability that at most so many nodes are in repair or wait for a crew, a fraction.

    Parameters
    ----------
    n_out : float or ndarray
        Nodes. [count]
    in_repair : float or ndarray
        Nodes that crews work on on average, a: failures in a mean repair time. [nodes]
    n_crew : float or ndarray
        Nodes that are repaired at a time, c, more than ``in_repair``. [count]

    Returns
    -------
    float or ndarray
        Broadcast shape, in [0, 1].

    Raises
    ------
    InputError
        Crews that cannot keep up.

    Notes
    -----
    M/M/c: :math:`1 - C(c, a)\\,(a/c)^{n+1-c}` for n >= c - 1 with Erlang's C; below that, the Poisson probabilities,
    scaled to meet it. Poisson failures and exponential repair times.

    Examples
    --------
    >>> round(in_repair_share(18, 7.76, 10), 3)
    0.964
    """
    n, a, c = np.broadcast_arrays(
        counts("n_out", n_out), at_least_zero("in_repair", in_repair), counts("n_crew", n_crew, 1)
    )
    waits = _waits(c, a)
    above = 1 - waits * (a / c) ** np.maximum(n + 1 - c, 0)
    below = (1 - waits) * stats.poisson.cdf(n, a) / stats.poisson.cdf(c - 1, a)
    return plain(np.where(n >= c - 1, above, below))


def crew_pool(in_repair: Any, n_crew: Any, service_level: Any) -> Any:
    """Least spares with which no node is missing with a given probability, if few are repaired at a time. [nodes]

    Parameters
    ----------
    in_repair, n_crew
        As for :func:`in_repair_share`.
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
        beyond = np.ceil(np.log((1 - q) / waits) / np.log(a / c) * (1 - 1e-12)) + c - 1
        within = stats.poisson.ppf(q * stats.poisson.cdf(c - 1, a) / (1 - waits), a)
    pool = np.where(1 - waits >= q, np.minimum(within, c - 1), np.maximum(beyond, c - 1))
    return plain(np.where(a == 0, 0.0, pool))


def mean_in_repair(in_repair: Any, n_crew: Any) -> Any:
    """Nodes in repair or waiting for a crew, on average. [nodes]

    Parameters
    ----------
    in_repair, n_crew
        As for :func:`in_repair_share`.

    Notes
    -----
    a + C(c, a) a / (c - a).

    Examples
    --------
    >>> round(mean_in_repair(7.76, 10), 2)
    9.0
    """
    a, c = np.broadcast_arrays(at_least_zero("in_repair", in_repair), counts("n_crew", n_crew, 1))
    return plain(a + _waits(c, a) * a / (c - a))


def mean_queue_h(in_repair: Any, n_crew: Any, repair_h: Any) -> Any:
    """Mean time that a node waits for a crew. [h]

    Parameters
    ----------
    in_repair, n_crew
        As for :func:`in_repair_share`.
    repair_h : float or ndarray
        Mean time that a crew takes. [h]

    Notes
    -----
    C(c, a) R / (c - a).

    Examples
    --------
    >>> round(mean_queue_h(7.76, 10, 24.0), 2)
    3.83
    """
    a, c = np.broadcast_arrays(at_least_zero("in_repair", in_repair), counts("n_crew", n_crew, 1))
    return plain(_waits(c, a) * at_least_zero("repair_h", repair_h, unit="h") / (c - a))


def _waits(c: np.ndarray, a: np.ndarray) -> np.ndarray:
    """Share of nodes that wait for a crew; refuses crews that cannot keep up."""
    behind = a >= c
    if behind.any():
        raise InputError(
            f"n_crew must be > {a[behind].flat[0]:.4g}, the crews that are busy on average, got "
            f"{c[behind].flat[0]:g}: more nodes fail than are repaired"
        )
    return np.asarray(erlang_c(c, a))
