"""The pool that makes a unit of work cheapest: spares that idle against a whole job that waits."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ettr.core.errors import InputError, NoProgress, OutsideValidity
from ettr.core.validity import at_least_zero, plain
from ettr.scenario import Scenario
from ettr.spares.demand import demand
from ettr.spares.waiting import counts, waiting_share

FLAT = 0.001
"""Costs that differ by less than this part are taken for equal."""
_LARGEST = 10_000_000
"""Spares of the largest pool that is looked at."""


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


def cheapest_pool_for(scenario: Scenario) -> Pool | None:
    """The cheapest pool of hot spares for the nodes of a scenario that are in repair.

    None for a run without spares and repair, one that loses no node, goes on without some, or has pre-emptible nodes,
    and where the closed form has no answer.
    """
    held = scenario.spares
    if held is None or scenario.repair is None or scenario.elastic or held.n_preemptible:
        return None
    try:
        asked = demand(scenario)
        return cheapest_pool(asked.in_repair, scenario.n_nodes, asked.own_crew) if asked.in_repair > 0 else None
    except (InputError, NoProgress, OutsideValidity):
        return None


def _refuse_large(in_repair: float, n_spares: float) -> None:
    if n_spares > _LARGEST:
        raise InputError(f"in_repair must be small enough for a pool of at most {_LARGEST:,} spares, got {in_repair:g}")
