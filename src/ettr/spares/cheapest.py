"""The pool that makes a unit of work cheapest: spares that idle against a whole job that waits."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ettr.core.errors import InputError
from ettr.core.units import ROUNDING
from ettr.core.validity import at_least_zero, plain
from ettr.spares.erlang import erlang_b
from ettr.spares.numbers import counts

FLAT = 0.001
"""Costs that differ by less than this part are taken for equal."""
_LARGEST = 10_000_000
"""Spares of the largest pool that is looked at."""


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


def pool_cost(n_spares: Any, in_repair: Any, n_nodes: Any, n_crew: Any = None) -> Any:
    r"""Cost of a unit of work over that of a job that never waits and pays no spares, a factor.

    Parameters
    ----------
    n_spares, in_repair, n_crew
        As for :func:`waiting_share`.
    n_nodes : float or ndarray
        Nodes of the job. [nodes]

    Returns
    -------
    float or ndarray
        Broadcast shape, >= 1; infinite where the job waits for ever.

    Notes
    -----
    :math:`\frac{G + g s}{G\,(1 - B(s+1, a))}` with G GPUs in the job and g in a spare: nodes cost by the hour, working
    or not. A missing node stops the whole job, so there is no cost of each that is missing, as in stocks of goods.

    Examples
    --------
    >>> round(pool_cost(17, 7.76, 2048), 4)
    1.009
    """
    s, n = counts("n_spares", n_spares), counts("n_nodes", n_nodes, 1)
    with np.errstate(divide="ignore"):
        return plain((1 + s / n) / (1 - np.asarray(waiting_share(s, in_repair, n_crew))))


@dataclass(frozen=True)
class Pool:
    """A number of spares and what it costs.

    Attributes
    ----------
    n_spares : int
        Hot spares that cost least. [nodes]
    cost : float
        Cost of a unit of work, as of :func:`pool_cost`.
    waiting_share : float
        Share of the wall clock that the job waits for nodes.
    low, high : int
        The fewest and the most spares that cost at most ``FLAT`` more. [nodes]
    """

    n_spares: int
    cost: float
    waiting_share: float
    low: int
    high: int


def cheapest_pool(in_repair: float, n_nodes: int, n_crew: int | None = None) -> Pool:
    """The number of hot spares with which a unit of work costs least.

    Parameters
    ----------
    in_repair, n_nodes, n_crew
        As for :func:`pool_cost`, single values.

    Returns
    -------
    Pool
        The least of them where several cost the same.

    Raises
    ------
    InputError
        A number out of its range, or a pool that would have to be larger than any cluster.

    Notes
    -----
    All sizes are tried up to the one whose price alone is above the best: no larger one can be cheaper.

    Examples
    --------
    >>> best = cheapest_pool(7.76, 2048)
    >>> best.n_spares, round(best.cost, 4), best.low, best.high
    (17, 1.009, 16, 20)
    """
    a = float(at_least_zero("in_repair", in_repair))
    nodes = float(counts("n_nodes", n_nodes, 1))
    some = math.ceil(a + 8 * math.sqrt(a) + 8)
    _refuse_large(a, some)
    bound = float(pool_cost(some, a, nodes, n_crew))
    most = some if not math.isfinite(bound) else max(some, math.ceil((bound * (1 + FLAT) - 1) * nodes))
    _refuse_large(a, most)
    sizes = np.arange(most + 1)
    costs = np.asarray(pool_cost(sizes, a, nodes, n_crew))
    best = int(costs.argmin())
    near = np.flatnonzero(costs <= costs[best] * (1 + FLAT))
    return Pool(best, float(costs[best]), float(waiting_share(best, a, n_crew)), int(near[0]), int(near[-1]))


def _refuse_large(in_repair: float, n_spares: float) -> None:
    if n_spares > _LARGEST:
        raise InputError(f"in_repair must be small enough for a pool of at most {_LARGEST:,} spares, got {in_repair:g}")
