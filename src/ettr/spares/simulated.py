"""Pools of different sizes, simulated with common random numbers."""

from __future__ import annotations

import numbers
from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd
import scipy

from ettr import simulation
from ettr.core.errors import InputError
from ettr.scenario import Scenario
from ettr.scenario.paths import SPARES
from ettr.spares.demand import demand
from ettr.spares.numbers import counts


def by_pool_size(scenario: Scenario, sizes: Iterable[int], n_runs: int = 200, seed: int = 0) -> pd.DataFrame:
    """ETTR, cost and waits over the number of hot spares, simulated with common random numbers.

    Parameters
    ----------
    scenario : Scenario
        A run with ``spares`` and ``repair``; its stages, crews, idle and pre-emptible nodes stay as they are.
    sizes : iterable of int
        Numbers of hot spares. [nodes]
    n_runs : int
        Runs of each, at least 2. [count]
    seed : int
        As in :func:`ettr.simulate`: one for all sizes, so that failures and repairs are the same.

    Returns
    -------
    DataFrame
        A row a size: ``n_spares`` [nodes], ``n_runs``; ``ettr`` with ``ettr_low``, ``ettr_high``; ``cost`` (of a unit
        of work, over that of a pool that never ran out and costs nothing) with ``cost_low``, ``cost_high``; and means
        of a run: ``waiting_h`` [h], ``waited_gpu_h`` (the job's GPUs, waiting) and ``held_gpu_h`` (hot spares, idle or
        not) [GPU h], ``waited_usd``, ``held_usd`` [USD] at the scenario's price, or 2 USD for an hour of a GPU
        (assumed). All intervals are of 95%, those of the cost paired run by run.

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
    [0.85, 0.91]
    """
    whole = sorted({int(size) for size in counts("sizes", list(sizes))})
    if not whole:
        raise InputError("sizes must hold at least one number of spares, got none")
    check_runs(n_runs)
    full = plenty(scenario, n_runs, seed)
    return pd.DataFrame([_row(runs_of(scenario, size, n_runs, seed), full, size) for size in whole])


def plenty(scenario: Scenario, n_runs: int, seed: int) -> simulation.Simulation:
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
            return simulated
        n_spares *= 2


def runs_of(scenario: Scenario, n_spares: int, n_runs: int, seed: int) -> simulation.Simulation:
    """Runs with so many hot spares."""
    return simulation.simulate(scenario.override({SPARES: n_spares}), n_runs, seed)


def check_runs(n_runs: Any) -> int:
    """Refuse fewer runs than an error needs."""
    if isinstance(n_runs, bool) or not isinstance(n_runs, numbers.Integral) or n_runs < 2:
        raise InputError(f"n_runs must be a whole number >= 2, as one run does not know its error, got {n_runs!r}")
    return int(n_runs)


def _half_width(influence: np.ndarray) -> float:
    """Half of a 95% interval of a mean, from what each run adds to it."""
    n = influence.size
    return float(scipy.special.stdtrit(n - 1, 0.975) * influence.std(ddof=1) / np.sqrt(n))


def _row(one: simulation.Simulation, full: simulation.Simulation, size: int) -> dict[str, float]:
    scenario = one.scenario
    work_h = one.runs["productive_h"].to_numpy()
    ettr = float(work_h.sum() / one.total_h.sum())
    ettr_wide = _half_width((work_h - ettr * one.total_h) / one.total_h.mean())
    mean_h, free_h = float(one.total_h.mean()), float(full.total_h.mean())
    longer = mean_h / free_h
    held = 1 + size / scenario.n_nodes  # nodes that are paid for over those of the job
    wide = _half_width(held * (one.total_h - longer * full.total_h) / free_h)
    waiting_h = float(one.runs["waiting_h"].mean())
    per_node, price = scenario.cluster.gpus_per_node, scenario.prices.usd_per_gpu_h
    waited, idle = scenario.cluster.n_gpus * waiting_h, per_node * size * mean_h
    return {
        "n_spares": size,
        "n_runs": one.n_runs,
        "ettr": ettr,
        "ettr_low": ettr - ettr_wide,
        "ettr_high": ettr + ettr_wide,
        "cost": held * longer,
        "cost_low": held * longer - wide,
        "cost_high": held * longer + wide,
        "waiting_h": waiting_h,
        "waited_gpu_h": waited,
        "held_gpu_h": idle,
        "waited_usd": price * waited,
        "held_usd": price * idle,
    }
