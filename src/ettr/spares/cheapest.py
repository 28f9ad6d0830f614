"""The spare pool with the lowest cost per unit of work: idle spares against a waiting job."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ettr.core.errors import InputError, NoProgress, OutsideValidity
from ettr.core.validity import at_least_zero, plain
from ettr.scenario import Scenario
from ettr.scenario.pools import counts
from ettr.spares.demand import demand
from ettr.spares.waiting import waiting_share

FLAT = 0.001
"""Relative differences of cost below this count as equal."""
_LARGEST = 10_000_000
"""Largest pool that is tried. [nodes]"""


def pool_cost(n_spares: Any, in_repair: Any, n_nodes: Any, n_crew: Any = None) -> Any:
    r"""Return the cost per unit of work, relative to a job that never waits and has no spares.

    Parameters
    ----------
    n_spares, in_repair, n_crew
        As for :func:`waiting_share`.
    n_nodes : float or ndarray
        Nodes of the job. [nodes]

    Returns
    -------
    float or ndarray
        Broadcast shape, >= 1; infinite where the job waits forever.

    Notes
    -----
    :math:`\frac{G + g s}{G\,(1 - B(s+1, a))}` with G GPUs in the job and g in a spare: nodes cost money by the hour,
    working or not. A missing node stops the entire job, so there is no cost per missing node as in inventory models.

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
    """The cheapest spare pool.

    Attributes
    ----------
    n_spares : int
        Number of hot spares with the lowest cost. [nodes]
    cost : float
        Relative cost per unit of work, from :func:`pool_cost`.
    waiting_share : float
        Share of the wall clock that the job waits for nodes.
    low, high : int
        Smallest and largest pool that cost at most ``FLAT`` more. [nodes]

    Examples
    --------
    >>> pool = cheapest_pool(7.76, 2048)
    >>> pool.low <= pool.n_spares <= pool.high
    True
    """

    n_spares: int
    cost: float
    waiting_share: float
    low: int
    high: int


def cheapest_pool(in_repair: float, n_nodes: int, n_crew: int | None = None) -> Pool:
    """Return the number of hot spares with the lowest cost per unit of work.

    Parameters
    ----------
    in_repair, n_nodes, n_crew
        As for :func:`pool_cost`, single values.

    Returns
    -------
    Pool
        The smallest pool where several cost the same.

    Raises
    ------
    InputError
        A number outside its range, or a pool larger than any cluster.

    Notes
    -----
    All sizes are tried up to the one whose spares alone cost more than the best pool.

    Examples
    --------
    >>> best = cheapest_pool(7.76, 2048)
    >>> best.n_spares, round(best.cost, 4), best.low, best.high
    (17, 1.009, 16, 20)
    """
    a = float(at_least_zero("in_repair", in_repair))
    nodes = float(counts("n_nodes", n_nodes, 1))
    plenty = math.ceil(a + 8 * math.sqrt(a) + 8)
    _refuse_large(a, plenty)
    bound = float(pool_cost(plenty, a, nodes, n_crew))
    largest = plenty if not math.isfinite(bound) else max(plenty, math.ceil((bound * (1 + FLAT) - 1) * nodes))
    _refuse_large(a, largest)
    sizes = np.arange(largest + 1)
    costs = np.asarray(pool_cost(sizes, a, nodes, n_crew))
    best = int(costs.argmin())
    near = np.flatnonzero(costs <= costs[best] * (1 + FLAT))
    return Pool(best, float(costs[best]), float(waiting_share(best, a, n_crew)), int(near[0]), int(near[-1]))


def cheapest_pool_for(scenario: Scenario) -> Pool | None:
    """Return the cheapest pool of hot spares for a scenario.

    None for a run without spares and repair, for one that loses no nodes, is elastic or has pre-emptible spares, and
    where the analytical model has no answer. With ``rack``, the pool consists of whole racks, and a limited
    number of crews has no answer.

    Examples
    --------
    >>> run = Scenario.load("llama3-405b").override({"spares": {"n_nodes": 0}, "repair": {"manual_h": 24}})
    >>> cheapest_pool_for(run).n_spares
    15
    """
    spares = scenario.spares
    if spares is None or scenario.repair is None or scenario.elastic or spares.n_preemptible:
        return None
    try:
        needed, nodes = demand(scenario), scenario.rack_nodes
        if needed.in_repair == 0 or (nodes > 1 and needed.n_crew):
            return None
        if nodes == 1:
            return cheapest_pool(needed.in_repair, scenario.n_nodes, needed.single_crew)
        racks = cheapest_pool(needed.in_repair / nodes, math.ceil(scenario.n_nodes / nodes))
    except (InputError, NoProgress, OutsideValidity):
        return None
    return replace(racks, n_spares=racks.n_spares * nodes, low=racks.low * nodes, high=racks.high * nodes)


def _refuse_large(in_repair: float, n_spares: float) -> None:
    if n_spares > _LARGEST:
        raise InputError(f"in_repair must be small enough for a pool of at most {_LARGEST:,} spares, got {in_repair:g}")
