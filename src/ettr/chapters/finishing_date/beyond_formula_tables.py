"""What no closed form has a term for: assumed settings, and how far the closed form is off for each, over the size."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, Literal

import pandas as pd

from ettr import budget, simulation
from ettr.chapters.common.steady_state import smallest_gpus, without_start
from ettr.core.errors import NoProgress, NotModelled, OutsideValidity
from ettr.core.units import H_PER_DAY
from ettr.plan import best_interval_min, whole_interval_min
from ettr.scenario import Scenario
from ettr.scenario.paths import INTERVAL, N_GPUS, RATE
from ettr.simulation.outlook import affordable_runs

BY_THE_RULES = "Nothing added"
"""Name of the row in which nothing is added: there simulation and closed form must agree."""
AS_GIVEN = "All that it describes"
"""Name of the row of a scenario that itself holds what no closed form has a term for."""

_FAILURES_A_CELL = 30_000
_LITTLE = 0.1
"""Where less of the time than this is left, a run takes too many failures to be simulated here."""
_CLOSE = 0.2
"""Sizes whose logarithms differ by less would be two columns that say the same."""
_SURE = 3.0
"""Standard errors from which two numbers differ: chance alone gives such a difference in one of 370 cells."""
_ERRORS_OF_95 = NormalDist().inv_cdf(0.975)


@dataclass(frozen=True)
class Mechanism:
    """Something that a simulation can follow and the closed form cannot, with assumed values.

    Attributes
    ----------
    name : str
        In a few words.
    setting : str
        The assumed values in words.
    changes : mapping
        Path of a scenario's field to value.
    """

    name: str
    setting: str
    changes: Mapping[str, Any]


def formula_run(scenario: Scenario) -> Scenario:
    """The run with nothing but what the closed form has a term for, its failure rate given instead of counted.

    A count would be read as that of new nodes as soon as nodes have a memory; a rate is that of the long run.

    Examples
    --------
    >>> run = formula_run(Scenario.load("llama3-405b"))
    >>> run.failures.n_events is None, round(run.job_mttf_h, 2)
    (True, 3.05)
    """
    plain = budget.simplified(scenario).scenario
    return plain.override({RATE: plain.failure_rate})


def left_out_of(scenario: Scenario) -> tuple[str, ...]:
    """What of a scenario no closed form has a term for, in words."""
    return budget.simplified(scenario).left_out


def half_of_95(error: Any) -> Any:
    """Half of the 95% interval of a mean, from its standard error.

    Examples
    --------
    >>> round(half_of_95(0.5), 2)
    0.98
    """
    return _ERRORS_OF_95 * error


def with_interval(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame with the 95% interval of its ``ettr``, from ``low`` to ``high``."""
    half = half_of_95(frame["error"])
    return frame.assign(low=frame["ettr"] - half, high=frame["ettr"] + half)


def nodes_in_repair(run: Scenario, repair_h: float, share_of_racks: float = 0.0, rack_nodes: int = 1) -> float:
    """Nodes that are in repair on average if every failure sends one there, or a share of them a rack. [nodes]

    Parameters
    ----------
    run : Scenario
        The run.
    repair_h : float
        Mean repair time. [h]
    share_of_racks : float
        Share of failures that take a whole rack out, in [0, 1].
    rack_nodes : int
        Nodes of a rack. [count]

    Notes
    -----
    Little's law, with the rate of exposed hours: the wall clock has a few fewer.

    Examples
    --------
    >>> round(nodes_in_repair(Scenario.load("llama3-405b"), 48), 1)
    15.7
    """
    return run.job_rate_per_h * repair_h * (1 + share_of_racks * (rack_nodes - 1))


def assumed_mechanisms(run: Scenario, repair_h: float = 48.0, rack_nodes: int = 16) -> tuple[Mechanism, ...]:
    """Plain settings of what no closed form has a term for, each on its own. All values are assumed.

    Parameters
    ----------
    run : Scenario
        The run; numbers of spares go by its size and rate.
    repair_h : float
        Mean time until a node is back from repair, with a coefficient of variation of 1. [h]
    rack_nodes : int
        Nodes that leave together when a rack fails; half of the job if that is less. [count]

    Examples
    --------
    >>> [one.name for one in assumed_mechanisms(Scenario.load("llama3-405b"))][:3]
    ['Restarts vary', 'Time-outs kill', 'Finite spares']
    """
    return (
        *_of_recovery(),
        *mechanisms_of_nodes(run, repair_h, rack_nodes),
        *_of_training(run, repair_h),
    )


def _of_recovery() -> list[Mechanism]:
    cv, alarms = 1.0, 1.0
    return [
        Mechanism(
            "Restarts vary",
            f"restart times are log-normal with a coefficient of variation of {cv:g}",
            {"recovery.restart_cv": cv},
        ),
        Mechanism(
            "Time-outs kill",
            f"a time-out kills the healthy job {alarms:g} time a day",
            {"recovery.false_alarms_per_day": alarms},
        ),
    ]


def mechanisms_of_nodes(run: Scenario, repair_h: float, rack_nodes: int) -> list[Mechanism]:
    """Those of :func:`assumed_mechanisms` that are about nodes: how they fail, and what stands in for them."""
    misdiagnosed, again_h = 0.2, 2.0
    lemons, worse, leaves, window_days, new_days = 0.02, 20.0, 3, 14, 14
    few = math.ceil(1.5 * nodes_in_repair(run, repair_h))
    racks = rack_failures(run, rack_nodes)
    share, rack = (racks["failures.modes"][-1][name] for name in ("share", "n_out_nodes"))
    few_of_racks = math.ceil(1.5 * nodes_in_repair(run, repair_h, share, rack))
    plenty = math.ceil(10 + 5 * nodes_in_repair(run, repair_h))
    repair = {"manual_h": repair_h, "cv": 1.0}
    retired = {"retire_after": leaves, "retire_window_days": window_days, "replacement_h": new_days * H_PER_DAY}
    return [
        Mechanism(
            "Finite spares",
            f"half as many spares again as nodes are in repair on average; a repair takes {repair_h:g} h, give or take "
            "as much",
            {"spares": {"n_nodes": few}, "repair": repair},
        ),
        Mechanism(
            "Racks fail at once",
            f"the same, but {share:.0%} of failures send {rack:,} nodes to repair",
            racks | {"spares": {"n_nodes": few_of_racks}, "repair": repair},
        ),
        Mechanism(
            "Wrong diagnosis",
            f"{misdiagnosed:.0%} of failures send a healthy node to repair, and the bad one strikes again after "
            f"{again_h:g} h; spares are plenty",
            {
                "spares": {"n_nodes": plenty},
                "repair": {**repair, "misdiagnosed": misdiagnosed, "recurrence_h": again_h},
            },
        ),
        Mechanism(
            "Lemons stay",
            f"{lemons:.0%} of the nodes fail {worse:g} times as often as the others",
            {"failures.lemons": {"share": lemons, "factor": worse}},
        ),
        Mechanism(
            "Lemons are retired",
            f"the same, but a node that leaves {leaves} times in {window_days} days is replaced after {new_days} days; "
            "spares are plenty",
            {
                "failures.lemons": {"share": lemons, "factor": worse},
                "spares": {"n_nodes": plenty},
                "repair": {**repair, **retired},
            },
        ),
        *node_memories([0.7]),
    ]


def rack_failures(run: Scenario, rack_nodes: int) -> dict[str, Any]:
    """Changes that let 2% of a run's failures take out a rack, or half of the job if that is less; the rate stays."""
    rack = max(1, min(rack_nodes, run.n_nodes // 2))
    return {"failures.modes": _with_mode(run, 0.02, {"name": "Rack", "n_out_nodes": rack, "n_lost_nodes": rack})}


def node_memories(shapes: Iterable[float], start: Literal["stationary", "new"] | None = None) -> list[Mechanism]:
    """Weibull lifetimes of the nodes, which begin in the middle of their lives or new.

    Parameters
    ----------
    shapes : iterable of float
        Weibull shapes: below 1 most failures come early.
    start : str, optional
        ``stationary`` or ``new``; both if not given.

    Examples
    --------
    >>> [one.name for one in node_memories([0.7])]
    ['Settled nodes, k = 0.7', 'New nodes, k = 0.7']
    """
    begun = {"stationary": ("Settled", "in the middle of their lives"), "new": ("New", "new")}
    return [
        Mechanism(
            f"{name} nodes, k = {shape:g}",
            f"lifetimes of nodes are Weibull with shape {shape:g}, and all nodes are {words} at the start",
            {"failures.lifetime": {"shape": shape, "start": which}},
        )
        for shape in shapes
        for which, (name, words) in begun.items()
        if start in (None, which)
    ]


def _of_training(run: Scenario, repair_h: float) -> list[Mechanism]:
    slow, loss, found_h = 0.2, 0.1, 2.0
    factor, decay_days = 3.0, 7.0
    silent, latency_h = 0.02, 24.0
    mechanisms = [
        Mechanism(
            "A new fleet",
            f"the rate begins at {factor:g} times the settled one; the excess falls to 37% in {decay_days:g} days",
            {"failures.burn_in": {"factor": factor, "decay_days": decay_days}},
        ),
        Mechanism(
            "Slow nodes",
            f"{slow:g} slow nodes per 1000 node-days cost {loss:.0%} of the speed until found, {found_h:g} h later",
            {"slow_nodes": {"per_1000_node_days": slow, "loss": loss, "detection_h": found_h}},
        ),
        Mechanism(
            "Silent failures",
            f"{silent:.0%} of failures are noticed {latency_h:g} h late",
            {"failures.modes": _with_mode(run, silent, {"name": "Silent", "latency_h": latency_h})},
        ),
    ]
    if run.n_nodes < 2:
        return mechanisms
    replicas = max(2, run.n_nodes // 16)
    least = min(replicas - 1, math.floor(0.9 * replicas))
    elastic = Mechanism(
        "Missing replicas",
        f"no spares, a repair takes {repair_h:g} h, and the job goes on with {least:,} of {replicas:,} replicas",
        {
            "spares": {"n_nodes": 0},
            "repair": {"manual_h": repair_h, "cv": 1.0},
            "elastic": {"n_replicas": replicas, "n_least": least},
        },
    )
    return [*mechanisms, elastic]


def _with_mode(run: Scenario, share: float, mode: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The modes with one more, which takes its share from all others alike; the rate stays."""
    rarer = [
        {**one.model_dump(), "n_events": None, "share": own * (1 - share)}
        for one, own in zip(run.failures.modes, run.failures.shares, strict=True)
        if one.name != mode["name"]
    ]
    return [*rarer, {**mode, "share": share}]


def beyond_formulas(
    scenario: Scenario,
    sizes: Iterable[float],
    repair_h: float = 48.0,
    rack_nodes: int = 16,
    n_runs: int = 400,
    seed: int = 0,
) -> pd.DataFrame:
    """ETTR simulated and by the closed form, for each of :func:`assumed_mechanisms` alone, over the size of the job.

    Parameters
    ----------
    scenario : Scenario
        The run. What the closed form has no term for is set aside, and comes back as the last row.
    sizes : iterable of float
        Job sizes, rounded to whole nodes; the scenario's own is always there, in place of one close to it. [GPUs]
    repair_h, rack_nodes
        As in :func:`assumed_mechanisms`.
    n_runs : int
        Runs a cell, or fewer where runs meet many failures. [count]
    seed : int
        As in :func:`ettr.simulate`; the same for all cells.

    Returns
    -------
    DataFrame
        A row a cell: ``mechanism``, ``setting``, ``order``, ``n_gpus`` [GPUs], ``closed`` (:func:`ettr.budget.exact`
        of what :func:`ettr.budget.simplified` leaves), ``simulated``, ``points`` (simulated less closed, in
        hundredths), ``error_points`` (standard error of that),
        ``half_points`` (half of its 95% interval), ``n_runs``, ``verdict``: ``differs`` (by more than three standard
        errors), ``within error``, or ``hopeless`` where less than a tenth of the time is left and nothing was simulated
        (then NaN); and ``over_time``, what :func:`ettr.budget.over_time` says where the failure rate changes, at the
        scenario's own size (else NaN).
        Mechanisms that a scenario cannot be simulated with are left out.

    Raises
    ------
    OutsideValidity
        No cell has an answer.
    """
    plain, without = formula_run(scenario), left_out_of(scenario)
    rows = []
    for n_gpus in _whole_nodes(scenario, sizes):
        base = at_size(plain, n_gpus)
        added = [Mechanism(BY_THE_RULES, "nothing is added to the formula's own rules", {})]
        added += assumed_mechanisms(base, repair_h, rack_nodes)
        cells = [(one, base.override(one.changes)) for one in added]
        if without:
            own = Mechanism(AS_GIVEN, "; ".join(without), {})
            cells.append((own, scenario.override({N_GPUS: n_gpus, INTERVAL: base.interval_min})))
        rows += [
            {"mechanism": one.name, "setting": one.setting, "order": order, "n_gpus": n_gpus, **cell}
            for order, (one, run) in enumerate(cells)
            if (cell := _cell(run, n_runs, seed, over_time=n_gpus == scenario.cluster.n_gpus))
        ]
    table = pd.DataFrame(rows)
    if table.empty or (table["verdict"] == "hopeless").all():
        raise OutsideValidity(f"at no size is a tenth of the time left to {scenario.name}")
    return table.assign(half_points=half_of_95(table["error_points"]))


def at_size(run: Scenario, n_gpus: int) -> Scenario:
    """The run on so many GPUs, with the interval that is best for them by the closed form."""
    grown = run.override({N_GPUS: n_gpus})
    return grown.override({INTERVAL: whole_interval_min(grown, best_interval_min(without_start(grown)))})


def _whole_nodes(scenario: Scenario, sizes: Iterable[float]) -> list[int]:
    own, least = scenario.cluster.n_gpus, smallest_gpus(scenario)
    whole = {scenario.cluster.nearest_n_gpus(size) for size in sizes if size >= least}
    return sorted({n_gpus for n_gpus in whole if abs(math.log(n_gpus / own)) > _CLOSE} | {own})


def _cell(run: Scenario, n_runs: int, seed: int, over_time: bool) -> dict[str, Any] | None:
    """One comparison; None if the run cannot be simulated at all."""
    unknown = dict.fromkeys(("closed", "simulated", "points", "error_points", "over_time"), math.nan)
    hopeless: dict[str, Any] = unknown | {"n_runs": 0, "verdict": "hopeless"}
    try:
        closed = budget.exact(budget.simplified(run).scenario)
        if closed.ettr < _LITTLE:
            return hopeless
        n_runs = affordable_runs(float(closed.n_failures), n_runs, _FAILURES_A_CELL)
        simulated = simulation.simulate(run, n_runs, seed)
    except NotModelled:
        return None
    except (NoProgress, OutsideValidity):
        return hopeless
    difference, error = simulated.ettr - float(closed.ettr), simulated.ettr_error
    return {
        "closed": float(closed.ettr),
        "simulated": simulated.ettr,
        "points": 100 * difference,
        "error_points": 100 * error,
        "n_runs": simulated.n_runs,
        "verdict": "differs" if abs(difference) > _SURE * error else "within error",
        "over_time": _over_time(run) if over_time and budget.changes(run) else math.nan,
    }


def _over_time(run: Scenario) -> float:
    """ETTR at each moment's failure rate; NaN where that form has no answer."""
    try:
        return float(budget.over_time(run).ettr)
    except (NotModelled, OutsideValidity):
        return math.nan
