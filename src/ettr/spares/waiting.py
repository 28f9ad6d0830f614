"""The share of the time that a job waits for a node."""

from __future__ import annotations

from typing import Any

import numpy as np

from ettr.core.errors import InputError
from ettr.core.units import ROUNDING
from ettr.core.validity import at_least_zero, plain
from ettr.scenario.pools import counts, erlang_b, numbers


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


def fraction(name: str, values: Any) -> np.ndarray:
    """Return fractions in [0, 1) as float64; refuse others."""
    array = numbers(name, values)
    bad = (array < 0) | (array >= 1)
    if bad.any():
        raise InputError(f"{name} must be >= 0 and < 1, got {array[bad].flat[0]:g}")
    return array
