"""Tables on pools of spares: what they cost, by size and repair time, and spares in racks."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import scipy

from ettr import budget, evidence, spares
from ettr.core.errors import InputError, NoProgress, NotModelled
from ettr.core.units import H_PER_DAY, ROUNDING
from ettr.failures import gamma_interval
from ettr.scenario import Scenario
from ettr.simulation.outlook import REMEDY, affordable_runs
from ettr_book.chapters.common.runs import formula_run, rack_failures, shortened

CHEAPEST = "cheapest"

_WIDEST = 0.25
"""Pools whose extra cost is larger than this are off the chart, unless the best is not far below."""
_REPAIRS_H = 1.0, 168.0


@dataclass(frozen=True)
class PooledRun:
    """A run whose nodes go to repair.

    Attributes
    ----------
    scenario : Scenario
        The run with spares and repair: its own, or else nothing but what the closed form has a term for, and a repair
        that was given.
    plain : Scenario
        The same with single nodes that are repaired in one stage, as closed forms take it.
    asked : Demand
        Nodes in repair.
    own : bool
        Whether spares and repair are the scenario's own.
    rate_low, rate_high : float
        Ends of the 95% interval of the failure rate over the rate itself; 1 where nothing is known of it.
    left_out : tuple of str
        What had to be left out of the scenario, in words.
    """

    scenario: Scenario
    plain: Scenario
    asked: spares.Demand
    own: bool
    rate_low: float
    rate_high: float
    left_out: tuple[str, ...]

    @property
    def in_repair(self) -> float:
        """Nodes in repair on average, a. [nodes]"""
        return self.asked.in_repair

    @property
    def unavailable(self) -> float:
        """Share of the time that a node is in repair."""
        load = self.in_repair / self.scenario.n_nodes
        return load / (1 + load)

    @property
    def best(self) -> spares.Pool:
        """The cheapest pool by the closed form."""
        return self.cheapest(self.in_repair)

    @property
    def waiting_without(self) -> float:
        """Share of the time that the job would wait if it had no spares."""
        return float(spares.waiting_share(0, self.in_repair))

    @property
    def missing_without(self) -> float:
        """Share of the time that a node would be missing if it had none, and failed as if it never waited."""
        return -math.expm1(-self.in_repair)

    def cheapest(self, in_repair: float) -> spares.Pool:
        """The cheapest pool if so many nodes were in repair. [nodes]"""
        return spares.cheapest_pool(in_repair, self.scenario.n_nodes)

    def extra_cost(self, n_spares: Any, in_repair: Any) -> Any:
        """Cost of a unit of work over that of a job that never waits and pays no spares, less 1; arrays broadcast."""
        return np.asarray(spares.pool_cost(n_spares, in_repair, self.scenario.n_nodes)) - 1


def pooled_run(scenario: Scenario, repair_h: float = 24.0) -> PooledRun:
    """A scenario with spares and repair: its own, or a repair that is assumed.

    Parameters
    ----------
    scenario : Scenario
        The run.
    repair_h : float
        Time until a node is back, where the scenario does not say. [h]

    Raises
    ------
    InputError
        A repair that takes no time.
    OutsideValidity
        A run that practically never ends.

    Examples
    --------
    >>> pooled = pooled_run(Scenario.load("llama3-405b"), 24.0)
    >>> round(pooled.in_repair, 2), pooled.best.n_spares, pooled.own
    (5.94, 15, False)
    """
    if not 0 < repair_h < math.inf:
        raise InputError(f"repair_h must be > 0 h and finite, got {repair_h:g}")
    own = scenario.repair is not None
    left_out = () if own else budget.simplified(scenario).left_out
    bare = formula_run(scenario)
    if scenario.repair is not None:
        repair_h = max(scenario.repair.mean_h, ROUNDING)
    singles = {f"failures.modes.{mode.name}.n_out_nodes": 1 for mode in bare.failures.modes if mode.n_out_nodes > 1}
    plain = bare.override({"spares": {"n_nodes": 0}, "repair": {"manual_h": repair_h}, **singles})
    run = scenario if own else plain
    known, rate = scenario.failures.posterior, scenario.failure_rate
    interval = gamma_interval(known.shape, known.node_days) if known and rate > 0 else None
    return PooledRun(
        scenario=run,
        plain=plain,
        asked=spares.demand(run),
        own=own,
        rate_low=interval.low / rate if interval else 1.0,
        rate_high=interval.high / rate if interval else 1.0,
        left_out=left_out,
    )


def cost_by_pool(run: PooledRun) -> pd.DataFrame:
    """Cost of a unit of work over the number of hot spares, by the closed form.

    Returns
    -------
    DataFrame
        ``n_spares`` [nodes], ``extra`` (cost over that of a job that never waits and pays no spares, less 1),
        ``extra_low``, ``extra_high`` (95% of the failure rate), ``waiting_share``, ``is_flat`` (whether in the flat
        range of the cheapest).
    """
    a, best, (least, most) = run.in_repair, run.best, sizes_around(run)
    sizes = np.arange(least, most + 1)
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
    """From where a pool is not much dearer than the best to half as much again."""
    best = run.best
    extra = run.extra_cost(np.arange(best.n_spares + 1), run.in_repair)
    near = np.flatnonzero(extra <= max(_WIDEST, 4 * (best.cost - 1)))
    return int(near[0]), max(math.ceil(1.5 * best.n_spares), best.high, best.n_spares + 4)


def crews_of(run: PooledRun, crew_factor: float) -> int:
    """Nodes that few crews repair at a time.

    Examples
    --------
    >>> crews_of(pooled_run(Scenario.load("llama3-405b")), 1.3)
    8
    """
    if not 1 < crew_factor < math.inf:
        raise InputError(f"crew_factor must be > 1 and finite, so that crews keep up, got {crew_factor:g}")
    return max(1, math.ceil(crew_factor * run.in_repair))


def cost_by_repair(run: PooledRun, n_points: int = 60) -> pd.DataFrame:
    """Extra cost over the repair time, for pools that stay as they are, and for the cheapest at each.

    Parameters
    ----------
    run : PooledRun
        The run.
    n_points : int
        Repair times, from an hour to a week, or further where this run's is outside.

    Returns
    -------
    DataFrame
        ``pool`` (``cheapest``, or a fixed number), ``repair_h`` [h], ``n_spares`` [nodes], ``extra``.
    """
    own_h = max(run.asked.repair_h, 1e-6)
    low, high = min(_REPAIRS_H[0], own_h / 4), max(_REPAIRS_H[1], own_h * 4)
    hours = np.unique(np.append(np.geomspace(low, high, n_points), own_h))
    loads = run.in_repair / own_h * hours
    fixed = sorted({round(run.best.n_spares * part) for part in (0.5, 1, 2)})
    pools: dict[str, Any] = {CHEAPEST: np.array([run.cheapest(load).n_spares for load in loads])}
    pools |= {f"{held:,} spares": held for held in fixed}
    frames = [
        pd.DataFrame({"pool": pool, "repair_h": hours, "n_spares": held, "extra": run.extra_cost(held, loads)})
        for pool, held in pools.items()
    ]
    return pd.concat(frames, ignore_index=True)


def staged(name: str) -> float:
    """What a published simulator assumes of the stages of repair: ``automatic_h``, ``manual_h`` or ``manual_pct``."""
    return evidence.figure(f"airesim_{name}").value


def staged_repair_h() -> float:
    """Mean repair time of the stages that a published simulator assumes. [h]

    Examples
    --------
    >>> round(staged_repair_h(), 1)
    40.4
    """
    return staged("automatic_h") + staged("manual_pct") / 100 * staged("manual_h")


ONE_BY_ONE, RACKS, CREWS = "nodes fail one by one", "racks fail too", "few repair crews"
"""Kinds of pools that are simulated."""
_FAILURES_A_SIZE, _FAILURES_A_RUN = 60_000, 10_000
_MOST_SIZES = 11


def simulated_pools(
    run: PooledRun,
    rack_nodes: int = 9,
    crew_factor: float = 1.3,
    n_runs: int = 200,
    seed: int = 0,
) -> pd.DataFrame:
    """Cost, ETTR, waits and money over the number of hot spares, simulated: as it is, with racks, and with few crews.

    Parameters
    ----------
    run : PooledRun
        The run.
    rack_nodes : int
        Nodes of a rack; 2% of failures take one out. [nodes]
    crew_factor : float
        Nodes that are repaired at a time, over those in repair on average.
    n_runs, seed : int
        Runs of a size, fewer where they meet many failures, and their seed.

    Returns
    -------
    DataFrame
        ``pool`` (how nodes fail and are repaired), ``extra``, ``extra_low``, ``extra_high`` (cost less 1, 95%), and the
        columns of :func:`ettr.spares.by_pool_size`. Pools with which the job hardly gets on are left out. Of a run that
        meets more than 10,000 failures a part is simulated, and its hours and money are scaled to the whole.
    """
    n_crew = crews_of(run, crew_factor)
    n_failures = float(run.asked.expected.n_failures)
    part = min(1.0, _FAILURES_A_RUN / max(n_failures, 1.0))
    n = affordable_runs(part * n_failures, n_runs, _FAILURES_A_SIZE)
    scenario, plain = (shortened(one, part) for one in (run.scenario, run.plain))
    sizes = some_sizes(*sizes_around(run), run.best.n_spares)
    frames = [_simulated(ONE_BY_ONE, scenario, sizes, n, seed)]
    if not run.own and run.scenario.n_nodes > 1:
        racks = plain.override(rack_failures(plain, rack_nodes))
        frames.append(_simulated(RACKS, racks, _wider(sizes, rack_nodes), n, seed))
        if run.in_repair > 0:
            limited = plain.override({"repair.n_crew": n_crew, "repair.cv": 1.0})
            frames.append(_simulated(CREWS, limited, _wider(sizes, math.ceil(run.in_repair / 2)), n, seed))
    pools = pd.concat(frames, ignore_index=True)
    if pools.empty:
        raise NoProgress(f"no pool of spares is large enough for the job to get on; {REMEDY}")
    whole = {name: pools[name] / part for name in pools.columns if name.endswith(("_h", "_usd"))}
    return pools.assign(**whole, **{f"extra{end}": pools[f"cost{end}"] - 1 for end in ("", "_low", "_high")})


def some_sizes(least: int, most: int, best: int) -> list[int]:
    """Not too many sizes from one to another, the best among them."""
    return sorted({*np.unique(np.round(np.linspace(least, most, _MOST_SIZES))).astype(int).tolist(), best})


def _simulated(pool: str, scenario: Scenario, sizes: list[int], n_runs: int, seed: int) -> pd.DataFrame:
    """A kind of pool at the sizes with which the job gets on."""
    return progressing(
        lambda possible: spares.by_pool_size(scenario, possible, max(2, n_runs), seed).assign(pool=pool), sizes
    )


def progressing(pools: Callable[[list[int]], pd.DataFrame], sizes: list[int]) -> pd.DataFrame:
    """Pools from the smallest size on with which the job gets on; empty if it does with none, or is not modelled."""
    for first in range(len(sizes)):
        try:
            return pools(sizes[first:])
        except NoProgress:
            continue
        except NotModelled:
            break
    return pd.DataFrame()


def _wider(sizes: list[int], more: int) -> list[int]:
    """As far as one more block of nodes."""
    return sorted({*sizes, *(sizes[-1] + math.ceil(more * part) for part in (0.5, 1.0, 1.5))})


IN_RACKS, SERVERS, WHOLE_RACKS = "spares in each rack", "a pool of servers", "a pool of whole racks"
"""Where spare GPUs are held."""
IN_RACKS_WHOLE = "the same, and racks fail whole"
_RARE = 1e-7
"""Shares of time below this are not shown."""
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


_SMALL = 0.001
"""Time in which something is missing that pools are compared at."""


def enough_in_racks(choices: RackChoices) -> dict[str, float]:
    """Spare GPUs over those of the job with which something is missing less than a thousandth of the time, by way."""
    good = choices.frame[choices.frame["short"] < _SMALL]
    return {str(way): float(rows["held"].min()) for way, rows in good.groupby("way", sort=False)}


def spares_of_rack(choices: RackChoices) -> float:
    """Spare GPUs of each rack with which something is missing less than a thousandth of the time; NaN if none do."""
    inside = choices.frame[(choices.frame["way"] == IN_RACKS) & (choices.frame["short"] < _SMALL)]
    return float(inside["n_spares"].min())


def by_hand(run: PooledRun) -> dict[str, float]:
    """The pool by three lines of arithmetic.

    Returns
    -------
    dict
        ``per_day``: nodes that leave a day, ``repair_h`` [h], ``in_repair`` on average, ``deviation`` of that number,
        ``n_nodes`` of the job, ``n_deviations``: how many of them are exceeded one part in ``n_nodes`` of the time, and
        ``n_spares``: so many more than on average. [nodes]

    Notes
    -----
    The last spare costs one node, and saves the whole job while it is needed, so it pays if it is needed more than one
    part in ``n_nodes`` of the time. The number in repair is taken as normal.
    """
    a, n_nodes = run.in_repair, max(run.scenario.n_nodes, 2)
    n_deviations = float(scipy.special.ndtri(1 - 1 / n_nodes))
    return {
        "n_nodes": n_nodes,
        "n_deviations": n_deviations,
        "per_day": a / run.asked.repair_h * H_PER_DAY if run.asked.repair_h else 0.0,
        "repair_h": run.asked.repair_h,
        "in_repair": a,
        "deviation": math.sqrt(a),
        "n_spares": a + n_deviations * math.sqrt(a),
    }
