"""Tables on spare pools: cost by size, and spares in racks."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import scipy

from ettr import budget, spares
from ettr.core.errors import InputError, NoProgress, NotModelled
from ettr.core.units import H_PER_DAY, ROUNDING
from ettr.failures import gamma_interval
from ettr.scenario import Scenario
from ettr.simulation.outlook import REMEDY, affordable_runs
from ettr_book.chapters.common.runs import formula_run, rack_failures, shortened

_WIDEST = 0.25
"""Largest extra cost in the chart, unless the best pool is close to it."""


@dataclass(frozen=True)
class PooledRun:
    """A run whose failed nodes go to repair.

    Attributes
    ----------
    scenario : Scenario
        The run with its own spares and repair, or else the part that the exact model covers, with an assumed repair.
    plain : Scenario
        The run with failures of single nodes and one-stage repair, as in the exact model.
    asked : Demand
        Nodes in repair.
    own : bool
        Whether spares and repair are the scenario's own.
    rate_low, rate_high : float
        Ends of the 95% CI of the failure rate over the rate itself; 1 without an interval.
    left_out : tuple of str
        Features of the scenario that were dropped, in words.
    """

    scenario: Scenario
    single_nodes: Scenario
    demand: spares.Demand
    has_own_pool: bool
    rate_low: float
    rate_high: float
    left_out: tuple[str, ...]

    @property
    def in_repair(self) -> float:
        """Mean number of nodes in repair, a. [nodes]"""
        return self.demand.in_repair

    @property
    def best(self) -> spares.Pool:
        """Cheapest pool by the exact model."""
        return self.cheapest(self.in_repair)

    @property
    def waiting_without(self) -> float:
        """Share of time that the job would wait without spares."""
        return float(spares.waiting_share(0, self.in_repair))

    @property
    def missing_without(self) -> float:
        """Share of time that a node would be missing without spares if failures went on while the job waits."""
        return -math.expm1(-self.in_repair)

    def cheapest(self, in_repair: float) -> spares.Pool:
        """Return the cheapest pool for a mean number of nodes in repair. [nodes]"""
        return spares.cheapest_pool(in_repair, self.scenario.n_nodes)

    def extra_cost(self, n_spares: Any, in_repair: Any) -> Any:
        """Return the extra cost per unit of work over a job that never waits and pays no spares; arrays broadcast."""
        return np.asarray(spares.pool_cost(n_spares, in_repair, self.scenario.n_nodes)) - 1


def pooled_run(scenario: Scenario, repair_h: float = 24.0) -> PooledRun:
    """Return a scenario with spares and repair: its own, or an assumed repair.

    Parameters
    ----------
    scenario : Scenario
        The run.
    repair_h : float
        Repair time, if the scenario has none. [h]

    Raises
    ------
    InputError
        A repair that takes no time.
    OutsideValidity
        A run that practically never ends.

    Examples
    --------
    >>> pooled = pooled_run(Scenario.load("llama3-405b"), 24.0)
    >>> round(pooled.in_repair, 2), pooled.best.n_spares, pooled.has_own_pool
    (5.94, 15, False)
    """
    if not 0 < repair_h < math.inf:
        raise InputError(f"repair_h must be > 0 h and finite, got {repair_h:g}")
    has_own_pool = scenario.repair is not None
    left_out = () if has_own_pool else budget.simplified(scenario).left_out
    bare = formula_run(scenario)
    if scenario.repair is not None:
        repair_h = max(scenario.repair.mean_h, ROUNDING)
    singles = {f"failures.modes.{mode.name}.n_out_nodes": 1 for mode in bare.failures.modes if mode.n_out_nodes > 1}
    single_nodes = bare.override({"spares": {"n_nodes": 0}, "repair": {"manual_h": repair_h}, **singles})
    run = scenario if has_own_pool else single_nodes
    posterior, rate = scenario.failures.posterior, scenario.failure_rate
    interval = gamma_interval(posterior.shape, posterior.node_days) if posterior and rate > 0 else None
    return PooledRun(
        scenario=run,
        single_nodes=single_nodes,
        demand=spares.demand(run),
        has_own_pool=has_own_pool,
        rate_low=interval.low / rate if interval else 1.0,
        rate_high=interval.high / rate if interval else 1.0,
        left_out=left_out,
    )


def cost_by_pool(run: PooledRun) -> pd.DataFrame:
    """Return the cost per unit of work over the number of hot spares, by the exact model.

    Returns
    -------
    DataFrame
        ``n_spares`` [nodes], ``extra`` (cost over that of a job that never waits and pays no spares, minus 1),
        ``extra_low``, ``extra_high`` (95% CI of the failure rate), ``waiting_share``, ``is_flat`` (within the flat
        range around the cheapest).
    """
    a, best, (smallest, largest) = run.in_repair, run.best, sizes_around(run)
    sizes = np.arange(smallest, largest + 1)
    return pd.DataFrame(
        {
            "n_spares": sizes,
            "extra": run.extra_cost(sizes, a),
            "extra_low": run.extra_cost(sizes, a * run.rate_low),
            "extra_high": run.extra_cost(sizes, a * run.rate_high),
            "waiting_share": spares.waiting_share(sizes, a),
            "is_flat": (sizes >= best.low) & (sizes <= best.high),
        }
    )


def sizes_around(run: PooledRun) -> tuple[int, int]:
    """Return the pool sizes worth drawing: from slightly more expensive than the best to half as large again."""
    best = run.best
    extra = run.extra_cost(np.arange(best.n_spares + 1), run.in_repair)
    near = np.flatnonzero(extra <= max(_WIDEST, 4 * (best.cost - 1)))
    return int(near[0]), max(math.ceil(1.5 * best.n_spares), best.high, best.n_spares + 4)


ONE_BY_ONE, RACKS = "nodes fail one by one", "racks fail too"
"""Kinds of simulated pools."""
_FAILURES_A_SIZE, _FAILURES_A_RUN = 60_000, 10_000
_MOST_SIZES = 11


def simulated_pools(
    run: PooledRun,
    rack_nodes: int = 9,
    n_runs: int = 200,
    seed: int = 0,
) -> pd.DataFrame:
    """Return simulated cost, ETTR, waits and money over the number of hot spares: current, and with racks.

    Parameters
    ----------
    run : PooledRun
        The run.
    rack_nodes : int
        Nodes of a rack; 2% of failures take one out. [nodes]
    n_runs, seed : int
        Runs per size, fewer if they have many failures, and their seed.

    Returns
    -------
    DataFrame
        ``pool`` (kind of failures), ``extra``, ``extra_low``, ``extra_high`` (cost minus 1, 95% CI), and the columns of
        :func:`ettr.spares.by_pool_size`. Pools without progress are left out. Of a run with more than 10,000 failures
        only a part is simulated, and its hours and money are scaled up.
    """
    n_failures = float(run.demand.expected.n_failures)
    part = min(1.0, _FAILURES_A_RUN / max(n_failures, 1.0))
    n = affordable_runs(part * n_failures, n_runs, _FAILURES_A_SIZE)
    scenario, single_nodes = (shortened(run_of_job, part) for run_of_job in (run.scenario, run.single_nodes))
    sizes = some_sizes(*sizes_around(run), run.best.n_spares)
    frames = [_simulated(ONE_BY_ONE, scenario, sizes, n, seed)]
    if not run.has_own_pool and run.scenario.n_nodes > 1:
        racks = single_nodes.override(rack_failures(single_nodes, rack_nodes))
        frames.append(_simulated(RACKS, racks, _wider(sizes, rack_nodes), n, seed))
    pools = pd.concat(frames, ignore_index=True)
    if pools.empty:
        raise NoProgress(f"no spare pool is large enough for the job to progress; {REMEDY}")
    scaled = {name: pools[name] / part for name in pools.columns if name.endswith(("_h", "_usd"))}
    return pools.assign(**scaled, **{f"extra{end}": pools[f"cost{end}"] - 1 for end in ("", "_low", "_high")})


def some_sizes(smallest: int, largest: int, best: int) -> list[int]:
    """Return a few sizes between two ends, the best among them."""
    return sorted({*np.unique(np.round(np.linspace(smallest, largest, _MOST_SIZES))).astype(int).tolist(), best})


def _simulated(pool: str, scenario: Scenario, sizes: list[int], n_runs: int, seed: int) -> pd.DataFrame:
    """Return simulated pools from the smallest size at which the job progresses; empty if there is none."""
    for first in range(len(sizes)):
        try:
            return spares.by_pool_size(scenario, sizes[first:], max(2, n_runs), seed).assign(pool=pool)
        except NoProgress:
            continue
        except NotModelled:
            break
    return pd.DataFrame()


def _wider(sizes: list[int], block: int) -> list[int]:
    """Return the sizes extended by one more block of nodes."""
    return sorted({*sizes, *(sizes[-1] + math.ceil(block * part) for part in (0.5, 1.0, 1.5))})


IN_RACKS, SERVERS, WHOLE_RACKS = "spares in each rack", "a pool of servers", "a pool of complete racks"
"""Places of spare GPUs."""
_RARE = 1e-7
"""Smallest share of time in the chart."""
_MOST_POOLS = 400
"""Largest number of points per line."""


def rack_choices(run: PooledRun, rack_gpus: int = 72, spare_gpus: int = 8) -> pd.DataFrame:
    """Return the share of time with a node missing over the GPUs held: per rack, pooled servers, pooled racks.

    Parameters
    ----------
    run : PooledRun
        The run; failures are assumed to come from single GPUs, evenly.
    rack_gpus, spare_gpus : int
        GPUs per rack, and the largest number of spares among them; the job uses the rest of each rack. [GPUs]

    Returns
    -------
    DataFrame
        ``way``, ``held`` (spare GPUs over those of the job), ``n_spares`` (in each rack, servers, or racks), ``short``
        (share of time with a node missing); shares below 1e-7 are left out.

    Raises
    ------
    InputError
        More spares than a rack has GPUs.
    """
    if not 0 <= spare_gpus < rack_gpus:
        raise InputError(f"spare_gpus must be >= 0 and < rack_gpus ({rack_gpus} GPUs), got {spare_gpus}")
    cluster, used = run.scenario.cluster, rack_gpus - spare_gpus
    n_racks = math.ceil(cluster.n_gpus / used)
    load = run.in_repair / cluster.n_gpus
    unavailable = load / (1 + load)
    held = np.arange(spare_gpus + 1)
    in_racks = 1 - np.asarray(spares.racks_level(n_racks, used, held, unavailable))
    frames = [_way(IN_RACKS, held * n_racks, held, in_racks, cluster.n_gpus)]
    for name, size in ((SERVERS, cluster.gpus_per_node), (WHOLE_RACKS, used)):
        most = max(1, spare_gpus * n_racks // size)
        pools = np.unique(np.round(np.linspace(0, most, min(most, _MOST_POOLS) + 1)))
        short = 1 - np.asarray(spares.domains_level(cluster.n_gpus, pools * size, size, unavailable))
        frames.append(_way(name, pools * size, pools, short, cluster.n_gpus))
    return pd.concat(frames, ignore_index=True)


def _way(name: str, gpus: np.ndarray, n_spares: np.ndarray, short: np.ndarray, n_gpus: int) -> pd.DataFrame:
    frame = pd.DataFrame({"way": name, "held": gpus / n_gpus, "n_spares": n_spares, "short": short})
    return frame[(frame["short"] > _RARE) | (frame.index == 0)].assign(short=lambda kept: kept["short"].clip(_RARE))


def by_hand(run: PooledRun) -> dict[str, float]:
    """Return the pool by three lines of arithmetic.

    Returns
    -------
    dict
        ``per_day``: failed nodes per day, ``repair_h`` [h], ``in_repair``: their mean number, ``deviation``: its
        standard deviation, ``n_nodes`` of the job, ``n_deviations``: the normal quantile of 1 - 1/``n_nodes``, and
        ``n_spares``: mean plus that many deviations. [nodes]

    Notes
    -----
    The last spare costs one node and saves the entire job while it is in use, so it pays if it is in use for more than
    1/``n_nodes`` of the time. The number in repair is approximated as normal.
    """
    a, n_nodes = run.in_repair, max(run.scenario.n_nodes, 2)
    n_deviations = float(scipy.special.ndtri(1 - 1 / n_nodes))
    return {
        "n_nodes": n_nodes,
        "n_deviations": n_deviations,
        "per_day": a / run.demand.repair_h * H_PER_DAY if run.demand.repair_h else 0.0,
        "repair_h": run.demand.repair_h,
        "in_repair": a,
        "deviation": math.sqrt(a),
        "n_spares": a + n_deviations * math.sqrt(a),
    }
