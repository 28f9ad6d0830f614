"""How many spare nodes are worth holding?"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from ettr import budget, spares
from ettr.core.errors import InputError, NoProgress, NotModelled
from ettr.core.sentences import Finding, count, listed, say
from ettr.core.units import ROUNDING
from ettr.failures import gamma_interval
from ettr.plots import builders
from ettr.plots.columns import Column, axis_title, tooltips
from ettr.plots.encodings import rounded, with_marks
from ettr.plots.theme import BLUE, GREEN, MODEL_COLOURS, ORANGE, finish, layered, touchable
from ettr.scenario import Scenario
from ettr.simulation.outlook import REMEDY, affordable_runs
from ettr_book.chapters.common.runs import formula_run, rack_failures, shortened

ONE_BY_ONE, RACKS = "nodes fail one by one", "racks fail too"
"""Kinds of simulated failures."""
IN_RACKS, SERVERS, WHOLE_RACKS = "spares in each rack", "a pool of servers", "a pool of complete racks"
"""Places of spare GPUs."""
_WIDEST = 0.25
"""Largest extra cost in the chart, unless the best pool is close to it."""
_LEAST_EXTRA, _RARE = 1e-4, 1e-7
"""Smallest extra cost, and smallest share of time with a node missing, on a logarithmic axis."""
_FAILURES_A_RUN, _FAILURES_A_SIZE, _MOST_SIZES = 10_000, 60_000, 11
"""Failures simulated in one run and in all runs of a pool size, and the number of sizes."""
_MOST_POOLS = 400
_SMALL = 0.001
"""Share of time with a node missing at which places of spares are compared."""
_POOLS = {ONE_BY_ONE: (MODEL_COLOURS["simulated"], "circle"), RACKS: (ORANGE, "square")}
_PLACES = {IN_RACKS: (ORANGE, [1, 0]), SERVERS: (GREEN, [8, 2]), WHOLE_RACKS: (BLUE, [6, 3])}


@dataclass(frozen=True)
class PooledRun:
    """A run whose failed nodes go to repair.

    Attributes
    ----------
    scenario : Scenario
        The run with its own spares and repair, or else the part that the exact model covers, with an assumed repair.
    single_nodes : Scenario
        The run with failures of single nodes and one-stage repair, as in the exact model.
    demand : Demand
        Nodes in repair.
    has_own_pool : bool
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


def answer(pool: PooledRun) -> Finding:
    """Return the number of spares to hold, with the reason."""
    if pool.in_repair == 0:
        none = "No spares are worth holding"
        return Finding(none, f"**{none}: no node fails in this run.**")
    best, n_nodes = pool.best, pool.scenario.n_nodes
    nodes = "node" if n_nodes == 1 else "nodes"
    flat = "no other number is as cheap"
    if best.high > best.low:
        flat = f"{count(best.low)} to {count(best.high)} cost hardly more"
    half, twice = (pool.cheapest(pool.in_repair * part).n_spares for part in (0.5, 2.0))
    texts = [
        f"**Hold [{_nodes(best.n_spares)}]{{#q-spares}} for {count(n_nodes)} {nodes}; {flat}.**",
        say(
            "{in_repair:about} nodes are in repair on average, so without spares the job would wait "
            "{#missing_without:share} of the time.",
            in_repair=pool.in_repair,
            missing_without=float(spares.waiting_share(0, pool.in_repair)),
        ),
        say(
            "A repair takes {repair:roughly} on average{assumed}; with half of that {half:count} spares are cheapest, "
            "with twice {twice:count}.",
            repair=pool.demand.repair_h,
            assumed="" if pool.has_own_pool else " (assumed)",
            half=half,
            twice=twice,
        ),
        f"Left out: {listed(list(pool.left_out))}." if pool.left_out else "",
    ]
    return Finding(f"Hold {_nodes(best.n_spares)} for {count(n_nodes)} {nodes}; {flat}", " ".join(filter(None, texts)))


def _nodes(value: float) -> str:
    """Return a number of spares, e.g. ``17 spares``."""
    return f"{count(value)} spare{'' if round(value) == 1 else 's'}" if round(value) else "no spares"


def cost_by_pool(pool: PooledRun) -> pd.DataFrame:
    """Return the cost per unit of work over the number of hot spares, by the exact model.

    Returns
    -------
    DataFrame
        ``n_spares`` [nodes], ``extra`` (cost over that of a job that never waits and pays no spares, minus 1),
        ``extra_low``, ``extra_high`` (95% CI of the failure rate), ``waiting_share``, ``is_flat`` (within the flat
        range around the cheapest).
    """
    a, best, (smallest, largest) = pool.in_repair, pool.best, sizes_around(pool)
    sizes = np.arange(smallest, largest + 1)
    return pd.DataFrame(
        {
            "n_spares": sizes,
            "extra": pool.extra_cost(sizes, a),
            "extra_low": pool.extra_cost(sizes, a * pool.rate_low),
            "extra_high": pool.extra_cost(sizes, a * pool.rate_high),
            "waiting_share": spares.waiting_share(sizes, a),
            "is_flat": (sizes >= best.low) & (sizes <= best.high),
        }
    )


def sizes_around(pool: PooledRun) -> tuple[int, int]:
    """Return the pool sizes worth drawing: from slightly more expensive than the best to half as large again."""
    best = pool.best
    extra = pool.extra_cost(np.arange(best.n_spares + 1), pool.in_repair)
    near = np.flatnonzero(extra <= max(_WIDEST, 4 * (best.cost - 1)))
    return int(near[0]), max(math.ceil(1.5 * best.n_spares), best.high, best.n_spares + 4)


def simulated_pools(pool: PooledRun, rack_nodes: int = 9, n_runs: int = 200, seed: int = 0) -> pd.DataFrame:
    """Return simulated cost, ETTR, waits and money over the number of hot spares, without and with failing racks.

    Parameters
    ----------
    pool : PooledRun
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
    n_failures = float(pool.demand.expected.n_failures)
    part = min(1.0, _FAILURES_A_RUN / max(n_failures, 1.0))
    n = affordable_runs(part * n_failures, n_runs, _FAILURES_A_SIZE)
    scenario, single_nodes = (shortened(run, part) for run in (pool.scenario, pool.single_nodes))
    smallest, largest = sizes_around(pool)
    spread = np.round(np.linspace(smallest, largest, _MOST_SIZES)).astype(int).tolist()
    sizes = sorted({*spread, pool.best.n_spares})
    frames = [_simulated(ONE_BY_ONE, scenario, sizes, n, seed)]
    if not pool.has_own_pool and pool.scenario.n_nodes > 1:
        wider = sorted({*sizes, *(sizes[-1] + math.ceil(rack_nodes * more) for more in (0.5, 1.0, 1.5))})
        racks = single_nodes.override(rack_failures(single_nodes, rack_nodes))
        frames.append(_simulated(RACKS, racks, wider, n, seed))
    pools = pd.concat(frames, ignore_index=True)
    if pools.empty:
        raise NoProgress(f"no spare pool is large enough for the job to progress; {REMEDY}")
    scaled = {name: pools[name] / part for name in pools.columns if name.endswith(("_h", "_usd"))}
    return pools.assign(**scaled, **{f"extra{end}": pools[f"cost{end}"] - 1 for end in ("", "_low", "_high")})


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


def cost(pool: PooledRun, simulated: pd.DataFrame) -> Any:
    """Draw the extra cost over the number of hot spares: exact model with its 95% CI, and simulated pools."""
    exact = cost_by_pool(pool)
    columns = ["n_spares", "extra", "extra_low", "extra_high"]
    line = rounded(_drawable(exact)[[*columns, "waiting_share"]], 4)
    dots = rounded(_drawable(simulated)[["pool", *columns, "ettr", "waiting_h"]], 5)
    x = builders.along("n_spares", zero=False, padding=10).axis(format=",d", tickMinStep=1, tickCount=7)
    y = builders.up("extra", log=True)
    flat = exact[exact["is_flat"]]
    ends = pd.DataFrame({"low": [flat["n_spares"].min() - 0.5], "high": [flat["n_spares"].max() + 0.5]})
    range_x = alt.X("low:Q", title=axis_title("n_spares"))
    blue = MODEL_COLOURS["exact"]
    base = alt.Chart(line).encode(x=x)
    tips = tooltips("pool", *columns, "ettr", "waiting_h", pool="Simulated", ettr=Column("ETTR", format=".2%"))
    kinds = builders.present(_POOLS, simulated["pool"])
    bars = alt.Chart(dots).mark_rule(strokeWidth=2)
    layers = [
        alt.Chart(ends).mark_rect(color=GREEN, opacity=0.15).encode(x=range_x, x2="high:Q"),
        base.mark_area(color=blue, opacity=0.22).encode(y=alt.Y("extra_low:Q"), y2=alt.Y2("extra_high:Q")),
        touchable(base.mark_line(color=blue).encode(y=y, tooltip=tooltips(*columns, "waiting_share"))),
        bars.encode(
            x=x,
            color=builders.colours("pool", kinds, "Simulated"),
            y=alt.Y("extra_low:Q"),
            y2=alt.Y2("extra_high:Q"),
        ),
        builders.shapes(dots, x, y, "pool", kinds, 60, tips, "Simulated"),
    ]
    best = exact.loc[exact["extra"].idxmin()]
    minima = "; ".join(
        f"{name}: minimum at {rows.loc[rows['extra'].idxmin(), 'n_spares']:,.0f} spares, {rows['extra'].min():.2%}"
        for name, rows in simulated.groupby("pool", sort=False)
    )
    return finish(
        layered(*layers),
        title=say("{nodes} cost least, {extra:share} more than the work itself", "Nothing fails, and no spares are "
                  "needed", nodes=_nodes(pool.best.n_spares).capitalize() if pool.in_repair else None,
                  extra=pool.best.cost - 1),
        subtitle=with_marks(pool.scenario.title, "line: exact; band, bars: 95% CI"),
        description=(
            f"Extra cost per unit of work on a logarithmic axis over the number of hot spares. The exact model falls "
            f"steeply to {best['extra']:.2%} at {best['n_spares']:,.0f} spares and rises slowly from there. "
            f"Simulated: {minima or 'none'}."
        ),
        height=360,
    )  # fmt: skip


def _drawable(frame: pd.DataFrame) -> pd.DataFrame:
    """Return only costs above zero, for a logarithmic axis."""
    return frame.assign(**{name: frame[name].clip(lower=_LEAST_EXTRA) for name in ("extra", "extra_low", "extra_high")})


def rack_choices(pool: PooledRun, rack_gpus: int = 72, spare_gpus: int = 8) -> pd.DataFrame:
    """Return the share of time with a node missing over the GPUs held: per rack, pooled servers, pooled racks.

    Parameters
    ----------
    pool : PooledRun
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
    cluster, used = pool.scenario.cluster, rack_gpus - spare_gpus
    n_racks = math.ceil(cluster.n_gpus / used)
    load = pool.in_repair / cluster.n_gpus
    unavailable = load / (1 + load)
    held = np.arange(spare_gpus + 1)
    in_racks = 1 - np.asarray(spares.racks_level(n_racks, used, held, unavailable))
    frames = [_place(IN_RACKS, held * n_racks, held, in_racks, cluster.n_gpus)]
    for name, size in ((SERVERS, cluster.gpus_per_node), (WHOLE_RACKS, used)):
        most = max(1, spare_gpus * n_racks // size)
        pools = np.unique(np.round(np.linspace(0, most, min(most, _MOST_POOLS) + 1)))
        short = 1 - np.asarray(spares.domains_level(cluster.n_gpus, pools * size, size, unavailable))
        frames.append(_place(name, pools * size, pools, short, cluster.n_gpus))
    return pd.concat(frames, ignore_index=True)


def _place(name: str, gpus: np.ndarray, n_spares: np.ndarray, short: np.ndarray, n_gpus: int) -> pd.DataFrame:
    frame = pd.DataFrame({"way": name, "held": gpus / n_gpus, "n_spares": n_spares, "short": short})
    return frame[(frame["short"] > _RARE) | (frame.index == 0)].assign(short=lambda kept: kept["short"].clip(_RARE))


def racks(pool: PooledRun, rack_gpus: int = 72, spare_gpus: int = 8) -> Any:
    """Draw the share of time with a node missing over the spare GPUs held, by their place."""
    frame = rack_choices(pool, rack_gpus, spare_gpus)
    enough = frame[frame["short"] < _SMALL].groupby("way")[["held", "n_spares"]].min()
    held = enough["held"]
    x = builders.along("held", title="Spare GPUs over GPUs of the job [%]").axis(format="%")
    y = builders.up("short", log=True, title="Time with a node missing [%]", ticks=7)
    of_job = Column("Of the job's GPUs", format=".2~%")
    tips = tooltips("way", "n_spares", "held", "short", way="Spares", n_spares="Number", held=of_job)
    point = alt.OverlayMarkDef(size=26, filled=True)
    ends = "; ".join(
        f"{way} {rows['short'].iloc[0]:.2%} with none and {rows['short'].iloc[-1]:.2g} at {rows['held'].iloc[-1]:.1%}"
        for way, rows in frame.groupby("way", sort=False)
    )
    return finish(
        builders.lines(rounded(frame, 4), x, y, "way", _PLACES, tips, point=point),
        title=say(
            "99.9% availability takes {inside:share} spare GPUs in racks, {shared:share} in a pool",
            "Spares in each rack take more GPUs than a shared pool",
            inside=held.get(IN_RACKS),
            shared=held.get(SERVERS),
        ),
        subtitle=pool.scenario.title,
        description=(
            f"Lines of the share of time with a node missing, on a logarithmic axis, over the spare GPUs held: {ends}."
        ),
        height=320,
    )
