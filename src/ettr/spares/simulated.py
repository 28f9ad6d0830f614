"""Pools simulated with common random numbers: their cost by size, and the fewest spares that reach a target."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import scipy

from ettr import budget, simulation
from ettr.core.errors import InputError, NoProgress, OutsideValidity
from ettr.core.seeds import Seed, seed_of
from ettr.scenario import Scenario
from ettr.scenario.paths import SPARES
from ettr.simulation.outlook import affordable_runs
from ettr.spares.demand import demand
from ettr.spares.waiting import counts, waiting_share


def by_pool_size(scenario: Scenario, sizes: Iterable[int], n_runs: int = 200, seed: Seed = 0) -> pd.DataFrame:
    """ETTR, cost and waits over the number of hot spares, simulated with common random numbers.

    Parameters
    ----------
    scenario : Scenario
        A run with ``spares`` and ``repair``; its stages, crews, idle and pre-emptible nodes stay as they are.
    sizes : iterable of int
        Numbers of hot spares. [nodes]
    n_runs : int
        Runs of each, at least 2. [count]
    seed : int or numpy.random.Generator
        As in :func:`ettr.simulate`: one for all sizes, so that failures and repairs are the same.

    Returns
    -------
    DataFrame
        A row a size: ``n_spares`` [nodes], ``n_runs``; ``ettr`` with ``ettr_low``, ``ettr_high``; ``cost`` (of a unit
        of work, over that of a pool that never ran out and costs nothing) with ``cost_low``, ``cost_high``; and
        the mean ``waiting_h`` of a run [h]. All intervals are of 95%, those of the cost paired run by run.

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
    seed = seed_of(seed)
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
    free_h = float(full.total_h.mean())
    longer = float(one.total_h.mean()) / free_h
    held = 1 + size / scenario.n_nodes  # nodes that are paid for over those of the job
    wide = _half_width(held * (one.total_h - longer * full.total_h) / free_h)
    return {
        "n_spares": size,
        "n_runs": one.n_runs,
        "ettr": ettr,
        "ettr_low": ettr - ettr_wide,
        "ettr_high": ettr + ettr_wide,
        "cost": held * longer,
        "cost_low": held * longer - wide,
        "cost_high": held * longer + wide,
        "waiting_h": float(one.runs["waiting_h"].mean()),
    }


_RUNS, _FEWEST_RUNS = 400, 8
_FAILURES_A_SIZE = 400_000
"""Runs of a size meet about so many failures together: a second or so of computing."""


@dataclass(frozen=True)
class LeastPool:
    """The fewest hot spares that reach a target.

    Attributes
    ----------
    n_spares : int or None
        None if even a pool that never runs out does not reach it. [nodes]
    best_ettr : float
        Simulated ETTR with a pool that never runs out.
    ettr, error : float or None
        Simulated ETTR with ``n_spares``, and its standard error.
    """

    n_spares: int | None
    best_ettr: float
    ettr: float | None = None
    error: float | None = None


def least_pool(scenario: Scenario, target_ettr: float, seed: Seed = 0) -> LeastPool:
    """Fewest hot spares with which a simulated run reaches a target; all else, and the interval, as in the scenario.

    Parameters
    ----------
    scenario : Scenario
        A run with ``spares`` and ``repair``.
    target_ettr : float
        The target, in (0, 1).
    seed : int or numpy.random.Generator
        As in :func:`ettr.simulate`: one for all sizes, so that they share their random numbers.

    Returns
    -------
    LeastPool
        With the ETTR there and its error.

    Raises
    ------
    InputError, NotModelled, NoProgress
        As of :func:`ettr.simulate`.

    Notes
    -----
    Bisection over whole numbers, in a bracket around the pool that :func:`waiting_share` gives for the target. 400 runs
    of a size, or fewer where they meet many failures. The same failures strike at every size, so that ETTR grows with
    the pool in practice run by run, and only the level of the whole curve is uncertain, by ``error``.

    Examples
    --------
    >>> from ettr import Scenario
    >>> run = Scenario.load("llama3-405b").override({"spares": {"n_nodes": 4}, "repair": {"manual_h": 24}})
    >>> least_pool(run, 0.9).n_spares
    12
    """
    n_runs = _affordable(scenario)
    seed = seed_of(seed)
    full = plenty(scenario, n_runs, seed)
    if full.ettr < target_ettr:
        return LeastPool(None, full.ettr)
    assert full.scenario.spares is not None
    most = full.scenario.spares.n_nodes
    of_size: dict[int, simulation.Simulation | None] = {most: full}

    def reaches(n_spares: int) -> bool:
        if n_spares not in of_size:
            of_size[n_spares] = _runs_of(scenario, n_spares, n_runs, seed)
        simulated = of_size[n_spares]
        return simulated is not None and simulated.ettr >= target_ettr

    n_spares = least(reaches, _guess(scenario, target_ettr, most), most)
    there = of_size[n_spares]
    assert there is not None
    return LeastPool(n_spares, full.ettr, there.ettr, there.ettr_error)


def _runs_of(scenario: Scenario, n_spares: int, n_runs: int, seed: int) -> simulation.Simulation | None:
    """None where the job practically never gets on."""
    try:
        return runs_of(scenario, n_spares, n_runs, seed)
    except NoProgress:
        return None


def _guess(scenario: Scenario, target_ettr: float, most: int) -> int:
    """Spares by the closed form; as many as are in repair on average where it says that ``most`` are not enough."""
    asked = demand(scenario)

    def reaches(n_spares: int) -> bool:
        waits = float(waiting_share(n_spares, asked.in_repair, asked.own_crew))
        return float(asked.expected.ettr) * (1 - waits) >= target_ettr

    start = min(round(asked.in_repair), most)
    return least(reaches, start, most) if reaches(most) else start


def least(enough: Callable[[int], bool], guess: int, most: int) -> int:
    """Least whole number from 0 on that is enough, where every larger one is too.

    Parameters
    ----------
    enough : callable
        Whether a number is; asked as seldom as possible.
    guess : int
        Where to begin, at most ``most``.
    most : int
        A number that is known to be enough.

    Notes
    -----
    Steps that double, up or down from the guess, until the answer lies between two numbers; then bisection.

    Examples
    --------
    >>> least(lambda n_spares: n_spares >= 14, guess=3, most=100)
    14
    """
    step = 1
    if enough(guess):
        low, high = guess - step, guess
        while low >= 0 and enough(low):
            step *= 2
            low, high = low - step, low
        low = max(low, -1)
    else:
        low, high = guess, guess + step
        while high < most and not enough(high):
            step *= 2
            low, high = high, high + step
        high = min(high, most)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def _affordable(scenario: Scenario) -> int:
    try:
        expected = budget.exact(budget.simplified(scenario).scenario)
    except OutsideValidity:
        return _RUNS
    return affordable_runs(float(expected.n_failures), _RUNS, _FAILURES_A_SIZE, _FEWEST_RUNS)
