"""Tables on what else there is than a pool of nodes: racks, fewer replicas, and the jobs of others."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd

from ettr import budget, evidence, spares
from ettr.chapters.spares.tables import PooledRun, progressing, shortened, some_sizes
from ettr.core.errors import InputError
from ettr.scenario import Scenario
from ettr.scenario.paths import RATE
from ettr.simulation.outlook import affordable_runs

IN_RACKS, IN_RACKS_WHOLE = "spares in each rack", "the same, and racks fail whole"
SERVERS, WHOLE_RACKS = "a pool of servers", "a pool of whole racks"
ALONE = "goes on with the GPUs left"
_RARE = 1e-7
"""Shares of time below this are not shown."""
_FAILURES_A_SIZE, _FAILURES_A_RUN = 40_000, 10_000
_MOST_POOLS = 400
"""Pools that a line has points for."""


@dataclass(frozen=True)
class RackChoices:
    """Spares in racks against shared ones.

    Attributes
    ----------
    frame : DataFrame
        ``way``, ``held`` (spare GPUs over those of the job), ``n_spares`` (in each rack, servers, or racks), ``short``
        (share of time in which something is missing); shares below 1e-7 are left out.
    n_racks : int
        Racks of the job.
    unavailable : float
        Share of time that a GPU is in repair.
    """

    frame: pd.DataFrame
    n_racks: int
    unavailable: float


def rack_choices(
    run: PooledRun, rack_gpus: int = 72, spare_gpus: int = 8, rack_failure_share: float = 0.02
) -> RackChoices:
    """How often something is missing, by the GPUs held: spares in each rack, a pool of servers, a pool of racks.

    Parameters
    ----------
    run : PooledRun
        The run; its failures are taken to come from single GPUs, evenly.
    rack_gpus, spare_gpus : int
        GPUs of a rack, and the most of them that are not used. [GPUs]
    rack_failure_share : float
        Failures that take a whole rack, of all, in [0, 1).

    Returns
    -------
    RackChoices
        The job uses ``rack_gpus - spare_gpus`` of each rack.

    Raises
    ------
    InputError
        More spares than a rack has GPUs.
    """
    if not 0 <= spare_gpus < rack_gpus:
        raise InputError(f"spare_gpus must be between 0 and {rack_gpus - 1}, so that some are used, got {spare_gpus}")
    if not 0 <= rack_failure_share < 1:
        raise InputError(f"rack_failure_share must be >= 0 and < 1, got {rack_failure_share:g}")
    scenario, used = run.scenario, rack_gpus - spare_gpus
    n_gpus, per_node = scenario.cluster.n_gpus, scenario.cluster.gpus_per_node
    n_racks = math.ceil(n_gpus / used)
    load = run.in_repair / n_gpus
    unavailable = load / (1 + load)
    whole = rack_failure_share * run.in_repair / n_racks
    held = np.arange(spare_gpus + 1)
    in_racks = 1 - np.asarray(spares.racks_level(n_racks, used, held, unavailable))
    broken = 1 - np.asarray(spares.racks_level(n_racks, used, held, unavailable, whole / (1 + whole)))
    frames = [_way(IN_RACKS, held * n_racks, held, in_racks, n_gpus)]
    if whole > 0:
        frames.append(_way(IN_RACKS_WHOLE, held * n_racks, held, broken, n_gpus))
    for name, size in ((SERVERS, per_node), (WHOLE_RACKS, used)):
        most = max(1, spare_gpus * n_racks // size)
        pools = np.unique(np.round(np.linspace(0, most, min(most, _MOST_POOLS) + 1)))
        gpus = pools * size
        short = 1 - np.asarray(spares.domains_level(n_gpus, gpus, size, unavailable))
        frames.append(_way(name, gpus, pools, short, n_gpus))
    return RackChoices(pd.concat(frames, ignore_index=True), n_racks, unavailable)


def _way(name: str, gpus: np.ndarray, n_spares: np.ndarray, short: np.ndarray, n_gpus: int) -> pd.DataFrame:
    frame = pd.DataFrame({"way": name, "held": gpus / n_gpus, "n_spares": n_spares, "short": short})
    return frame[(frame["short"] > _RARE) | (frame.index == 0)].assign(short=lambda kept: kept["short"].clip(_RARE))


def domain_losses(n_points: int = 40) -> pd.DataFrame:
    """Throughput that is lost over the share of GPUs that are down, by what one of them takes with it.

    Returns
    -------
    DataFrame
        ``way`` (domains of so many GPUs, or that a replica goes on with the GPUs left), ``unavailable`` (share of
        GPUs), ``lost`` (share of throughput).
    """
    shares = np.geomspace(1e-5, 1e-2, n_points)
    lost = {f"domains of {size} GPUs": spares.domain_unavailability(shares, size) for size in domain_sizes()}
    ways = lost | {ALONE: shares}
    frames = [pd.DataFrame({"way": way, "unavailable": shares, "lost": lost}) for way, lost in ways.items()]
    return pd.concat(frames, ignore_index=True)


def domain_sizes() -> tuple[int, int]:
    """GPUs of a server, and of a rack that couples its GPUs tightly."""
    return 8, int(evidence.figure("nvl72_n_gpus").value)


def uniform_loss(unavailable: float, domain_gpus: int) -> float:
    """Share of throughput that a job in whole domains loses, by the share of GPUs that are down."""
    return float(spares.domain_unavailability(unavailable, domain_gpus))


def published_loss() -> tuple[float, float]:
    """The published example of a uniform job: share of GPUs down, and share of throughput lost."""
    return evidence.figure("ntp_failed_pct").value / 100, evidence.figure("ntp_uniform_loss_pct").value / 100


def elastic_pools(
    run: PooledRun, n_replicas: int = 128, least_share: float = 0.9, n_runs: int = 200, seed: int = 0
) -> pd.DataFrame:
    """ETTR over the number of hot spares of a job that waits and of one that goes on with fewer replicas, simulated.

    Parameters
    ----------
    run : PooledRun
        The run, as closed forms take it.
    n_replicas : int
        Replicas of the job; fewer where it has fewer nodes. [count]
    least_share : float
        Replicas that it needs to go on, of all, in (0, 1].
    n_runs, seed : int
        Runs of a size, fewer where they meet many failures, and their seed.

    Returns
    -------
    DataFrame
        As from :func:`ettr.spares.elastic_by_pool`, with ``n_replicas``, ``n_least``; empty for a job of one node, or
        one that hardly gets on.
    """
    if not 0 < least_share <= 1:
        raise InputError(f"least_share must be > 0 and <= 1, got {least_share:g}")
    if n_replicas < 2:
        raise InputError(f"n_replicas must be >= 2, got {n_replicas}")
    plain = run.plain
    replicas = min(n_replicas, plain.n_nodes)
    if replicas < 2:
        return pd.DataFrame()
    least = max(1, min(replicas - 1, round(replicas * least_share)))
    n_failures = float(budget.exact(budget.simplified(plain).scenario).n_failures)
    part = min(1.0, _FAILURES_A_RUN / max(n_failures, 1.0))
    plain = shortened(plain, part)
    n = max(2, affordable_runs(part * n_failures, n_runs, _FAILURES_A_SIZE))
    sizes = some_sizes(0, max(4, math.ceil(1.5 * run.best.n_spares)), run.best.n_spares)
    return progressing(
        lambda possible: spares.elastic_by_pool(plain, possible, replicas, least, n, seed).assign(
            n_replicas=replicas, n_least=least
        ),
        sizes,
    )


def enough_to_wait(frame: pd.DataFrame) -> int | None:
    """From how many spares on waiting is as good; None if going on with fewer replicas always is surely better. [nodes]

    Parameters
    ----------
    frame : DataFrame
        As from :func:`elastic_pools`.
    """
    return spares.crossing(frame)


def shared_options(
    run: PooledRun,
    cluster_factor: float = 1.5,
    small_nodes: int = 2,
    preempt_min: float = 20.0,
) -> pd.DataFrame:
    """Useful nodes of a large job and of the small ones beside it, by what is done for the large one.

    Parameters
    ----------
    run : PooledRun
        The large job, as closed forms take it.
    cluster_factor : float
        Nodes of the cluster over those of the large job, above 1.
    small_nodes : int
        Nodes of a small job; its checkpoints are an hour apart, as published for RSC. [nodes]
    preempt_min : float
        Until a pre-empted node is free. [min]

    Returns
    -------
    DataFrame
        A row an option: ``option``, ``order``, ``n_spares`` [nodes], ``large``, ``small``, ``total`` (useful node-hours
        an hour) [nodes], and what they have more than in the first option: ``large_more``, ``small_more``,
        ``total_more``, with ``total_more_low``, ``total_more_high`` (95% of the failure rate) [nodes];
        ``preempted_lost`` [nodes], ``preemptions_per_day``, ``second_order_share``, ``n_cluster`` [nodes].

    Raises
    ------
    InputError
        A cluster that has no room for small jobs.
    """
    if not cluster_factor > 1:
        raise InputError(f"cluster_factor must be > 1, so that others have room, got {cluster_factor:g}")
    nodes = run.plain.n_nodes
    n_cluster = max(round(cluster_factor * nodes), nodes + run.best.n_spares + 3 * small_nodes)
    tables = [
        _options(run.plain, rate, run.best.n_spares, n_cluster, small_nodes, preempt_min)
        for rate in (1.0, run.rate_low, run.rate_high)
    ]
    middle, *ends = tables
    more = {name: middle[name] - middle[name].iloc[0] for name in ("large", "small", "total")}
    at_ends = np.array([table["total"] - table["total"].iloc[0] for table in ends])
    return middle.assign(
        **{f"{name}_more": values for name, values in more.items()},
        total_more_low=at_ends.min(axis=0),
        total_more_high=at_ends.max(axis=0),
        n_cluster=n_cluster,
    )


def retaken_share() -> float:
    """Share of its GPUs that a published job took from others each time it was queued again.

    Examples
    --------
    >>> round(retaken_share(), 3)
    0.195
    """
    requeued = evidence.figure("rsc_requeues").value * evidence.figure("rsc_requeued_n_gpus").value
    return evidence.figure("rsc_preempted_n_gpus").value / requeued


def second_order_pct() -> float:
    """What pre-empted jobs lose, as published of RSC, over what hardware failures cost. [%]"""
    return evidence.figure("rsc_second_order_pct").value


def _options(
    plain: Scenario, rate: float, n_spares: int, n_cluster: int, small_nodes: int, preempt_min: float
) -> pd.DataFrame:
    base = plain.override({RATE: plain.failure_rate * rate})
    repair_h = spares.demand(base).repair_h
    rarer = base.override({RATE: base.failure_rate / 2})
    faster = base.override({"repair.manual_h": repair_h / 2})
    half = n_spares // 2
    small = spares.SmallJobs(n_nodes=small_nodes, interval_min=evidence.figure("rsc_interval_min").value)
    choices: list[tuple[str, Scenario, int, bool, float]] = [
        (f"{n_spares:,} hot spares, the job waits", base, n_spares, False, 0.0),
        (f"{n_spares:,} hot spares, then pre-empts", base, n_spares, True, 0.0),
        (f"{half:,} hot spares, then pre-empts", base, half, True, 0.0),
        ("no hot spares, pre-empts", base, 0, True, 0.0),
        ("no hot spares, stops lose nodes", base, 0, True, retaken_share()),
        (f"half the failures, {_best(rarer):,} hot spares", rarer, _best(rarer), False, 0.0),
        (f"repair in {repair_h / 2:.3g} h, {_best(faster):,} hot spares", faster, _best(faster), False, 0.0),
    ]
    rows = []
    for order, (name, scenario, held, preempts, released) in enumerate(choices):
        outcome = spares.shared_cluster(scenario, n_cluster, held, small, preempt_min, preempts, released)
        rows.append(
            {
                "option": name,
                "order": order,
                "n_spares": held,
                "large": outcome.large_useful,
                "small": outcome.small_useful,
                "total": outcome.useful,
                "preempted_lost": outcome.preempted_lost,
                "preemptions_per_day": outcome.preemptions_per_day,
                "second_order_share": outcome.second_order_share,
            }
        )
    return pd.DataFrame(rows)


def _best(scenario: Scenario) -> int:
    return spares.cheapest_pool(spares.demand(scenario).in_repair, scenario.n_nodes).n_spares
