"""A cluster that one large job shares with many small ones: the effect of its failures on them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ettr.core.errors import InputError
from ettr.core.probability import count_quantile, log_poisson
from ettr.core.units import H_PER_DAY, MIN_PER_H, S_PER_H
from ettr.core.validity import above_zero, at_least_zero
from ettr.scenario import Scenario
from ettr.scenario.pools import counts
from ettr.spares.demand import Demand, demand
from ettr.spares.waiting import fraction, waiting_share

PARTS = (
    "large_useful",
    "small_useful",
    "large_lost",
    "small_lost",
    "preempted_lost",
    "spares_idle",
    "fragments_idle",
    "in_repair",
)
"""Mean numbers of nodes by use; they sum to the nodes of the cluster."""

_ROUNDS = 200
_SETTLED = 1e-12
_TAIL = 1e-13
_FEWEST_JOBS = 0.5
"""Lower limit of the mean number of small jobs."""


@dataclass(frozen=True)
class SmallJobs:
    """The small jobs of a cluster, all identical, with always one more waiting.

    Attributes
    ----------
    n_nodes : int
        Nodes per job. [nodes]
    interval_min : float
        Productive training between two checkpoints. [min]
    stall_s : float
        Stall of one checkpoint. [s]
    detection_min : float
        Detection time of a failure; pre-emption is detected at once. [min]
    queue_min : float
        Time until the scheduler has started the next job on free nodes. [min]
    restart_min : float
        Initialisation and loading. [min]

    Examples
    --------
    >>> SmallJobs(n_nodes=8).interval_min
    60.0
    """

    n_nodes: int = 4
    interval_min: float = 60.0
    stall_s: float = 0.0
    detection_min: float = 0.0
    queue_min: float = 1.0
    restart_min: float = 5.0

    def __post_init__(self) -> None:
        counts("n_nodes", self.n_nodes, 1)
        above_zero("interval_min", self.interval_min, unit="min")
        at_least_zero("stall_s", self.stall_s, unit="s")
        for name in ("detection_min", "queue_min", "restart_min"):
            at_least_zero(name, getattr(self, name), unit="min")


@dataclass(frozen=True)
class SharedCluster:
    """Mean numbers of nodes of a shared cluster by use (node-hours per hour).

    Attributes
    ----------
    n_nodes, n_spares : int
        Nodes of the cluster, and hot spares of the large job among them. [nodes]
    large_useful : float
        Nodes of the large job, times its ETTR. [nodes]
    small_useful : float
        Nodes of small jobs, times the useful share of their time. [nodes]
    large_lost : float
        Nodes lost to failures, checkpoints, restarts and waits of the large job. [nodes]
    small_lost : float
        Nodes lost to those of the small jobs, without pre-emption. [nodes]
    preempted_lost : float
        Nodes lost to pre-emption of small jobs: recomputed work, queue and restart on all their nodes. [nodes]
    spares_idle : float
        Idle hot spares. [nodes]
    fragments_idle : float
        Idle nodes, too few for one more small job. [nodes]
    in_repair : float
        Nodes in repair. [nodes]
    borrowed : float
        Nodes that the large job has taken from small ones. [nodes]
    preemptions_per_day : float
        Small jobs that lose a node to the large one. [1/d]
    large_ettr : float
        ETTR of the large job, including waits.

    Examples
    --------
    >>> run = Scenario.load("llama3-405b").override({"spares": {"n_nodes": 0}, "repair": {"manual_h": 24}})
    >>> cluster = shared_cluster(run, 3072, 0)
    >>> round(sum(getattr(cluster, part) for part in PARTS))
    3072
    """

    n_nodes: int
    n_spares: int
    large_useful: float
    small_useful: float
    large_lost: float
    small_lost: float
    preempted_lost: float
    spares_idle: float
    fragments_idle: float
    in_repair: float
    borrowed: float
    preemptions_per_day: float
    large_ettr: float

    @property
    def useful(self) -> float:
        """Useful nodes of both classes: node-hours per hour. [nodes]"""
        return self.large_useful + self.small_useful

    @property
    def second_order_share(self) -> float:
        """Share of pre-emption in all losses by failures and checkpoints."""
        lost = self.large_lost + self.small_lost + self.preempted_lost
        return self.preempted_lost / lost if lost > 0 else 0.0


def shared_cluster(
    scenario: Scenario,
    n_cluster_nodes: int,
    n_spares: int,
    small: SmallJobs | None = None,
    preempt_min: float = 0.0,
    preempts: bool = True,
    released_share: float = 0.0,
) -> SharedCluster:
    r"""Return the useful node-hours of one large job and of small jobs on the same cluster.

    Parameters
    ----------
    scenario : Scenario
        The large job, with ``repair``; its spares are replaced by ``n_spares``.
    n_cluster_nodes : int
        Nodes of the cluster. [nodes]
    n_spares : int
        Hot spares that only the large job uses. [nodes]
    small : SmallJobs, optional
        The small jobs, which use all other nodes.
    preempt_min : float
        Time until a node of a small job is free for the large one. [min]
    preempts : bool
        Whether the large job takes nodes of small jobs if no hot spare is left; otherwise it waits for a repair.
    released_share : float
        Share of its nodes that the large job releases to small jobs at each failure and takes back at its restart, in
        [0, 1): 0 for a job that keeps its nodes (in-place restart).

    Returns
    -------
    SharedCluster
        Means in the steady state.

    Raises
    ------
    InputError
        A scenario without repair, failures that remove several nodes at once, or a cluster too small for the large
        job, its spares and a small job.
    OutsideValidity
        The large job makes practically no progress.

    Notes
    -----
    Nodes fail at the rate of the scenario wherever they work, not on the shelf. With pre-emption the number k of nodes
    of the large job in repair is Poisson with mean a, since it never waits for one of them; a node that comes back goes
    to the small jobs first if they lack one. So :math:`(k - s)^+` are borrowed, and a failure pre-empts a small job if
    :math:`k \ge s` and no idle fragment is at hand (PASTA). Small jobs' own nodes in repair are Poisson too, and taken
    as independent of k. Where the large job waits, k is that of :func:`waiting_share`. A small job is stopped at rate λ
    by failures and pre-emptions, as a Poisson process, and its useful share is that of :func:`ettr.budget.exact`,
    :math:`\tau / [(1/\lambda + D)\, e^{\lambda r} (e^{\lambda(\tau + w)} - 1)]` with D the mean of detection and queue.
    The wait for a pre-empted node is added to the queue of the large job to first order. Nodes that the large job
    released and takes back pre-empt small jobs as well, whichever; what those gained meanwhile is not counted.

    Examples
    --------
    >>> from ettr import Scenario
    >>> run = Scenario.load("llama3-405b").override({"spares": {"n_nodes": 0}, "repair": {"manual_h": 24}})
    >>> cluster = shared_cluster(run, 3072, 0)
    >>> round(cluster.large_useful), round(cluster.small_useful), round(cluster.preemptions_per_day, 1)
    (1861, 1013, 1.5)
    """
    small = small or SmallJobs()
    needed = demand(scenario)
    if needed.most_at_once > 1:
        raise InputError(
            f"n_out_nodes must be at most 1 in all failure modes for shared_cluster, got {needed.most_at_once} in "
            f"{scenario.name}"
        )
    at_least_zero("preempt_min", preempt_min, unit="min")
    released = float(fraction("released_share", released_share)) * scenario.n_nodes
    nodes, spares = int(counts("n_cluster_nodes", n_cluster_nodes, 1)), int(counts("n_spares", n_spares))
    for_small = nodes - scenario.n_nodes - spares
    if for_small < small.n_nodes:
        raise InputError(
            f"n_cluster_nodes must be >= {scenario.n_nodes + spares + small.n_nodes:,}, the nodes of the large job, "
            f"its spares and one small job, got {nodes:,}"
        )
    law = _repairs_of_large(needed.in_repair, spares, preempts)
    rest = _small_class(scenario, needed, law, for_small, small, needed.failures_per_h * released / small.n_nodes)
    waited_per_h = needed.failures_per_h if released > 0 else rest.preemptions_per_h
    longer_h = waited_per_h * preempt_min / MIN_PER_H
    ettr = float(needed.expected.ettr) / (1 + longer_h) * (1 - law.waits)
    large = scenario.n_nodes - law.waits
    return SharedCluster(
        n_nodes=nodes,
        n_spares=spares,
        large_useful=scenario.n_nodes * ettr,
        small_useful=rest.running * rest.share,
        large_lost=large - scenario.n_nodes * ettr,
        small_lost=rest.running * (1 - rest.share_alone),
        preempted_lost=rest.running * (rest.share_alone - rest.share),
        spares_idle=law.idle,
        fragments_idle=rest.idle,
        in_repair=law.in_repair + rest.in_repair,
        borrowed=law.borrowed,
        preemptions_per_day=H_PER_DAY * rest.preemptions_per_h,
        large_ettr=ettr,
    )


def _leaving(scenario: Scenario) -> float:
    """Return the share of failures that remove a node."""
    by_rack = scenario.by_rack
    out = np.array([*(mode.n_out_nodes for mode in by_rack.failures.modes), 1])
    return float(by_rack.mode_weights @ (out > 0))


@dataclass(frozen=True)
class _Law:
    """Distribution of the number of nodes of the large job in repair."""

    probabilities: np.ndarray
    n_spares: int
    waits: float
    borrows: bool

    @property
    def _numbers(self) -> np.ndarray:
        return np.arange(self.probabilities.size)

    @property
    def in_repair(self) -> float:
        return float(self.probabilities @ self._numbers)

    @property
    def idle(self) -> float:
        return float(self.probabilities @ np.maximum(self.n_spares - self._numbers, 0))

    @property
    def borrowing(self) -> np.ndarray:
        """Probability of each number of borrowed nodes while no hot spare is left; zero if none is ever borrowed."""
        return self.probabilities[self.n_spares :] if self.borrows else np.zeros(1)

    @property
    def borrowed(self) -> float:
        return float(self.borrowing @ np.arange(self.borrowing.size))


def _repairs_of_large(in_repair: float, n_spares: int, preempts: bool) -> _Law:
    if preempts:
        return _Law(_poisson(in_repair, n_spares + 1), n_spares, 0.0, True)
    logarithms = log_poisson(np.arange(n_spares + 2), in_repair)
    weights = np.exp(logarithms - logarithms.max())
    return _Law(weights / weights.sum(), n_spares, float(waiting_share(n_spares, in_repair)), False)


def _poisson(mean: float, n: int = 1) -> np.ndarray:
    """Return Poisson probabilities from 0 on, at least ``n`` numbers, up to where the rest is negligible."""
    n_needed = count_quantile(1 - _TAIL, mean, None) + 2 if mean > 0 else 1
    probabilities = np.exp(log_poisson(np.arange(max(n_needed, n)), mean))
    return np.asarray(probabilities / probabilities.sum())


@dataclass(frozen=True)
class _Small:
    """Mean numbers and shares of the small jobs."""

    running: float
    idle: float
    in_repair: float
    preemptions_per_h: float
    share: float
    share_alone: float


def _small_class(
    scenario: Scenario, needed: Demand, law: _Law, for_small: int, small: SmallJobs, retaken_per_h: float
) -> _Small:
    """Iterate nodes at work, their failures and pre-emptions, which depend on each other, until they converge."""
    node_rate = scenario.job_rate_per_h / scenario.n_nodes * _leaving(scenario)
    failure_rate = small.n_nodes * node_rate
    running, taken_rate, in_repair, idle, taken_per_h = float(for_small), 0.0, 0.0, 0.0, 0.0
    for _ in range(_ROUNDS):
        at_risk = _exposed(failure_rate, taken_rate, small)
        before, in_repair = running, running * node_rate * at_risk * needed.repair_h
        probabilities, borrowing = _missing(law, in_repair, for_small)
        left = for_small - np.arange(probabilities.size)
        jobs = left // small.n_nodes
        running, idle = (
            float(small.n_nodes * (probabilities @ jobs)),
            float(probabilities @ (left - small.n_nodes * jobs)),
        )
        no_fragment = (left > 0) & (left % small.n_nodes == 0)
        taken_per_h = needed.leaves_per_h * float(borrowing @ no_fragment) + retaken_per_h
        if running < _FEWEST_JOBS * small.n_nodes:
            raise InputError(
                f"n_cluster_nodes must be larger: of {for_small:,} nodes beside the large job and its spares, repairs "
                f"leave fewer than {_FEWEST_JOBS * small.n_nodes:g} on average"
            )
        taken_rate = taken_per_h * small.n_nodes / running / at_risk
        if abs(running - before) <= _SETTLED * for_small:
            break
    share_alone, share = _useful(failure_rate, 0.0, small), _useful(failure_rate, taken_rate, small)
    return _Small(running, idle, in_repair, taken_per_h, share, share_alone)


def _missing(law: _Law, small_in_repair: float, for_small: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the probabilities of missing nodes of small jobs, in all and while no hot spare is left."""
    repairs = _poisson(small_in_repair)
    borrowing = np.convolve(law.borrowing, repairs)
    probabilities = borrowing.copy()
    probabilities[: repairs.size] += (1 - law.borrowing.sum()) * repairs
    return _up_to(probabilities, for_small), _up_to(borrowing, for_small)


def _up_to(probabilities: np.ndarray, largest: int) -> np.ndarray:
    """Return probabilities up to a number, which gets the sum of all beyond."""
    if probabilities.size <= largest + 1:
        return probabilities
    return np.append(probabilities[:largest], probabilities[largest:].sum())


def _stops(failure_rate: float, taken_rate: float, small: SmallJobs) -> tuple[float, float]:
    """Return the stops of a small job per exposed hour, and the mean hours from a stop to the restart."""
    rate = failure_rate + taken_rate
    dead_h = small.queue_min / MIN_PER_H
    return rate, dead_h + (failure_rate / rate * small.detection_min / MIN_PER_H if rate > 0 else 0.0)


def _exposed(failure_rate: float, taken_rate: float, small: SmallJobs) -> float:
    """Return the share of a small job's time in which it is exposed to failures."""
    rate, dead_h = _stops(failure_rate, taken_rate, small)
    return 1 / (1 + rate * dead_h)


def _useful(failure_rate: float, taken_rate: float, small: SmallJobs) -> float:
    """Return the useful share of a small job's time."""
    rate, dead_h = _stops(failure_rate, taken_rate, small)
    tau, stall, restart = small.interval_min / MIN_PER_H, small.stall_s / S_PER_H, small.restart_min / MIN_PER_H
    if rate == 0:
        return tau / (tau + stall)
    segment_h = (1 / rate + dead_h) * math.exp(rate * restart) * math.expm1(rate * (tau + stall))
    return tau / segment_h
