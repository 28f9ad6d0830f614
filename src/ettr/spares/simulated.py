"""Pools of different sizes, simulated with common random numbers."""

from __future__ import annotations

import numbers
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy import special

from ettr.core.errors import InputError
from ettr.scenario import Scenario
from ettr.spares.demand import demand
from ettr.spares.numbers import counts

if TYPE_CHECKING:
    from ettr.simulation import Simulation

SIZE = "spares.n_nodes"


@dataclass(frozen=True, eq=False)
class Plenty:
    """A pool that never ran out in any of the runs.

    Attributes
    ----------
    n_spares : int
        Its size. [nodes]
    found : Simulation
        The runs.
    """

    n_spares: int
    found: Simulation


def by_pool_size(
    scenario: Scenario, sizes: Iterable[int], n_runs: int = 200, seed: int = 0, beside: int | None = None
) -> pd.DataFrame:
    """ETTR, cost and waits over the number of hot spares, simulated with common random numbers.

    Parameters
    ----------
    scenario : Scenario
        A run with ``spares`` and ``repair``; its stages, crews, pre-emptible and cold nodes stay as they are.
    sizes : iterable of int
        Numbers of hot spares. [nodes]
    n_runs : int
        Runs of each, at least 2. [count]
    seed : int
        As in :func:`ettr.simulate`: one for all sizes, so that failures and repairs are the same.
    beside : int, optional
        The size that the others are compared with; if not given, the one that costs least here. [nodes]

    Returns
    -------
    DataFrame
        A row a size: ``n_spares`` [nodes], ``n_runs``; ``ettr`` with ``ettr_low``, ``ettr_high``; ``cost`` (of a unit
        of work, over that of a pool that never ran out and costs nothing) with ``cost_low``, ``cost_high``; what the
        size adds to the one ``beside``: ``ettr_more`` and ``cost_more`` with ``_low``, ``_high``; and means of a run:
        ``waiting_h`` [h], ``waited_gpu_h`` (the job's GPUs, waiting) and ``held_gpu_h`` (hot spares, idle or not)
        [GPU h], ``waited_usd``, ``held_usd`` [USD] at the scenario's price, or 2 USD for an hour of a GPU (assumed).
        All intervals are of 95%, paired run by run.

    Raises
    ------
    InputError
        A scenario without repair, a number of spares that is not whole, or fewer than two runs.
    NotModelled, NoProgress
        As of :func:`ettr.simulate`.

    Notes
    -----
    Every pool is full when a run begins. Ratios of sums; their errors by the delta method from the differences of runs
    that share their random numbers.

    Examples
    --------
    >>> from ettr import Scenario
    >>> run = Scenario.load("llama3-405b").override({"spares": {"n_nodes": 0}, "repair": {"manual_h": 24}})
    >>> by_pool_size(run, [8, 17], n_runs=40)["ettr"].round(2).tolist()
    [0.77, 0.91]
    """
    whole = sorted({int(size) for size in counts("sizes", list(sizes))})
    if not whole:
        raise InputError("sizes must hold at least one number of spares, got none")
    check_runs(n_runs)
    of_size = {size: runs_of(scenario, size, n_runs, seed) for size in whole}
    full = plenty(scenario, n_runs, seed).found
    rows = [_row(one, full, size) for size, one in of_size.items()]
    table = pd.DataFrame(rows)
    best = whole[int(table["cost"].to_numpy().argmin())] if beside is None else int(counts("beside", beside))
    other = of_size.get(best) or runs_of(scenario, best, n_runs, seed)
    more = [_more(one, size, other, best) for size, one in of_size.items()]
    return pd.concat([table, pd.DataFrame(more)], axis=1)


def plenty(scenario: Scenario, n_runs: int, seed: int) -> Plenty:
    """Runs with a pool so large that none of them ever waits.

    Raises
    ------
    InputError
        A scenario without repair.
    """
    asked = demand(scenario)
    more = np.ceil(asked.in_repair + 6 * np.sqrt(asked.in_repair * asked.most_at_once)) + 8 + 4 * asked.most_at_once
    n_spares = int(more)
    while True:  # no run meets more failures than it has room for, so that some pool outlasts them
        simulated = runs_of(scenario, n_spares, n_runs, seed)
        if not simulated.runs["waiting_h"].to_numpy().any():
            return Plenty(n_spares, simulated)
        n_spares *= 2


def runs_of(scenario: Scenario, n_spares: int, n_runs: int, seed: int) -> Simulation:
    """Runs with so many hot spares; the simulator is loaded here, since closed forms need none."""
    from ettr.simulation import simulate

    return simulate(scenario.override({SIZE: n_spares}), n_runs, seed)


def check_runs(n_runs: Any) -> int:
    """Refuse fewer runs than an error needs."""
    if isinstance(n_runs, bool) or not isinstance(n_runs, numbers.Integral) or n_runs < 2:
        raise InputError(f"n_runs must be a whole number >= 2, as one run does not know its error, got {n_runs!r}")
    return int(n_runs)


def gpu_price_usd(scenario: Scenario) -> float:
    """Price of an hour of a GPU: the scenario's, or the assumed one. [USD]

    Examples
    --------
    >>> from ettr import Scenario
    >>> gpu_price_usd(Scenario.load("rsc-1"))
    2.0
    """
    return scenario.prices.usd_per_gpu_h


def nodes_ratio(scenario: Scenario, n_spares: int) -> float:
    """Nodes that are paid for over those of the job."""
    return 1 + n_spares / scenario.n_nodes


def ratio_parts(simulated: Simulation) -> tuple[float, np.ndarray]:
    """ETTR as a ratio of sums, and how much each run moves it."""
    total_h, work_h = simulated.total_h, simulated.runs["productive_h"].to_numpy()
    ettr = float(work_h.sum() / total_h.sum())
    return ettr, (work_h - ettr * total_h) / total_h.mean()


def half_width(influence: np.ndarray) -> float:
    """Half of a 95% interval of a mean, from what each run adds to it."""
    n = influence.size
    return float(special.stdtrit(n - 1, 0.975) * influence.std(ddof=1) / np.sqrt(n))


def _row(one: Simulation, full: Simulation, size: int) -> dict[str, float]:
    scenario = one.scenario
    ettr, moves = ratio_parts(one)
    mean_h, free_h = float(one.total_h.mean()), float(full.total_h.mean())
    longer = mean_h / free_h
    held = nodes_ratio(scenario, size)
    wide = half_width(held * (one.total_h - longer * full.total_h) / free_h)
    waiting_h = float(one.runs["waiting_h"].mean())
    per_node, price = scenario.cluster.gpus_per_node, gpu_price_usd(scenario)
    waited, idle = scenario.cluster.n_gpus * waiting_h, per_node * size * mean_h
    return {
        "n_spares": size,
        "n_runs": one.n_runs,
        "ettr": ettr,
        "ettr_low": ettr - half_width(moves),
        "ettr_high": ettr + half_width(moves),
        "cost": held * longer,
        "cost_low": held * longer - wide,
        "cost_high": held * longer + wide,
        "waiting_h": waiting_h,
        "waited_gpu_h": waited,
        "held_gpu_h": idle,
        "waited_usd": price * waited,
        "held_usd": price * idle,
    }


def _more(one: Simulation, size: int, other: Simulation, beside: int) -> dict[str, float]:
    """What a size adds to another, with paired intervals."""
    own, other_ettr = ratio_parts(one), ratio_parts(other)
    paid = nodes_ratio(one.scenario, size) / nodes_ratio(one.scenario, beside)
    longer = float(one.total_h.sum() / other.total_h.sum())
    ettr, wide = own[0] - other_ettr[0], half_width(own[1] - other_ettr[1])
    cost = paid * longer - 1
    cost_wide = half_width(paid * (one.total_h - longer * other.total_h) / other.total_h.mean())
    return {
        "ettr_more": ettr,
        "ettr_more_low": ettr - wide,
        "ettr_more_high": ettr + wide,
        "cost_more": cost,
        "cost_more_low": cost - cost_wide,
        "cost_more_high": cost + cost_wide,
    }
