"""Simulated spare pools with common random numbers: cost by size, and the smallest pool that reaches a target."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy

from ettr import budget, simulation
from ettr.core.errors import InputError, NoProgress, OutsideValidity
from ettr.core.seeds import Seed, seed_of
from ettr.scenario import Scenario
from ettr.scenario.paths import SPARES
from ettr.scenario.pools import counts
from ettr.simulation.outlook import affordable_runs
from ettr.spares.demand import demand
from ettr.spares.waiting import waiting_share

if TYPE_CHECKING:
    import pandas as pd


def by_pool_size(scenario: Scenario, sizes: Iterable[int], n_runs: int = 200, seed: Seed = 0) -> pd.DataFrame:
    """Return ETTR, cost and waits by number of hot spares, simulated with common random numbers.

    Parameters
    ----------
    scenario : Scenario
        A run with ``spares`` and ``repair``; its repair stages, crews, idle and pre-emptible nodes are unchanged.
    sizes : iterable of int
        Numbers of hot spares. [nodes]
    n_runs : int
        Simulated runs of each, at least 2. [count]
    seed : int or numpy.random.Generator
        As in :func:`ettr.simulate`; all sizes share it, so failures and repairs are the same.

    Returns
    -------
    DataFrame
        A row per size: ``n_spares`` [nodes], ``n_runs``; ``ettr`` with ``ettr_low``, ``ettr_high``; ``cost`` per unit
        of work, relative to a free pool that never runs out, with ``cost_low``, ``cost_high``; and the mean
        ``waiting_h`` of a run [h]. All are 95% CIs, those of the cost paired run by run.

    Raises
    ------
    InputError
        A scenario without repair, a number of spares that is no integer, or fewer than two runs.
    NotModelled, NoProgress
        As for :func:`ettr.simulate`.

    Notes
    -----
    Every pool is full when a run begins. Results are ratios of sums, with errors by the delta method from paired runs.

    Examples
    --------
    >>> from ettr import Scenario
    >>> run = Scenario.load("llama3-405b").override({"spares": {"n_nodes": 0}, "repair": {"manual_h": 24}})
    >>> by_pool_size(run, [8, 17], n_runs=40)["ettr"].round(2).tolist()
    [0.85, 0.91]
    """
    unique_sizes = sorted({int(size) for size in counts("sizes", list(sizes))})
    if not unique_sizes:
        raise InputError("sizes must have at least one number of spares, got none")
    check_runs(n_runs)
    seed = seed_of(seed)
    full = plenty(scenario, n_runs, seed)
    import pandas as pd

    return pd.DataFrame([_row(runs_of(scenario, size, n_runs, seed), full, size) for size in unique_sizes])


def plenty(scenario: Scenario, n_runs: int, seed: int) -> simulation.Simulation:
    """Return runs with a pool so large that none ever waits.

    Raises
    ------
    InputError
        A scenario without repair.
    """
    needed = demand(scenario)
    spread = np.sqrt(needed.in_repair * needed.most_at_once)
    n_spares = int(np.ceil(needed.in_repair + 6 * spread)) + 8 + 4 * needed.most_at_once
    while True:  # ends, because each run has a finite number of failures
        simulated = runs_of(scenario, n_spares, n_runs, seed)
        if not simulated.runs["waiting_h"].to_numpy().any():
            return simulated
        n_spares *= 2


def runs_of(scenario: Scenario, n_spares: int, n_runs: int, seed: int) -> simulation.Simulation:
    """Return runs with a number of hot spares."""
    return simulation.simulate(scenario.override({SPARES: n_spares}), n_runs, seed)


def check_runs(n_runs: Any) -> int:
    """Return the number of runs; refuse fewer than two, which have no standard error."""
    if isinstance(n_runs, bool) or not isinstance(n_runs, numbers.Integral) or n_runs < 2:
        raise InputError(
            f"n_runs must be a whole number >= 2, because a single run has no standard error, got {n_runs!r}"
        )
    return int(n_runs)


def _half_width(influence: np.ndarray) -> float:
    """Return half the width of a 95% CI of a mean, from the influence of each run."""
    n = influence.size
    return float(scipy.special.stdtrit(n - 1, 0.975) * influence.std(ddof=1) / np.sqrt(n))


def _row(pooled: simulation.Simulation, full: simulation.Simulation, size: int) -> dict[str, float]:
    """Return the row of one pool size; ``full`` are runs that never wait."""
    scenario = pooled.scenario
    work_h = pooled.runs["productive_h"].to_numpy()
    ettr = float(work_h.sum() / pooled.total_h.sum())
    half_ettr = _half_width((work_h - ettr * pooled.total_h) / pooled.total_h.mean())
    free_h = float(full.total_h.mean())
    longer = float(pooled.total_h.mean()) / free_h
    paid = 1 + size / scenario.n_nodes  # paid nodes relative to those of the job
    half_cost = _half_width(paid * (pooled.total_h - longer * full.total_h) / free_h)
    return {
        "n_spares": size,
        "n_runs": pooled.n_runs,
        "ettr": ettr,
        "ettr_low": ettr - half_ettr,
        "ettr_high": ettr + half_ettr,
        "cost": paid * longer,
        "cost_low": paid * longer - half_cost,
        "cost_high": paid * longer + half_cost,
        "waiting_h": float(pooled.runs["waiting_h"].mean()),
    }


_RUNS, _FEWEST_RUNS = 400, 8
_FAILURES_PER_SIZE = 400_000
"""Approximate number of failures in all runs of one size: about a second of computing."""


@dataclass(frozen=True)
class LeastPool:
    """The smallest pool of hot spares that reaches a target ETTR.

    Attributes
    ----------
    n_spares : int or None
        Size of the pool; None if even a pool that never runs out does not reach the target. [nodes]
    best_ettr : float
        Simulated ETTR with a pool that never runs out.
    ettr, error : float or None
        Simulated ETTR with ``n_spares``, and its standard error.

    Examples
    --------
    >>> LeastPool(n_spares=12, best_ettr=0.91, ettr=0.9, error=0.001).n_spares
    12
    """

    n_spares: int | None
    best_ettr: float
    ettr: float | None = None
    error: float | None = None


def least_pool(scenario: Scenario, target_ettr: float, seed: Seed = 0) -> LeastPool:
    """Return the smallest pool of hot spares with which a simulated run reaches a target ETTR.

    Parameters
    ----------
    scenario : Scenario
        A run with ``spares`` and ``repair``.
    target_ettr : float
        The target, in (0, 1).
    seed : int or numpy.random.Generator
        As in :func:`ettr.simulate`; all sizes share it.

    Returns
    -------
    LeastPool
        With the ETTR at that size and its standard error.

    Raises
    ------
    InputError, NotModelled, NoProgress
        As for :func:`ettr.simulate`.

    Notes
    -----
    Bisection over whole numbers, around the size that :func:`waiting_share` gives for the target, with 400 runs per
    size, or fewer where they meet many failures. All sizes have the same failures, so in practice the ETTR grows with
    the pool run by run, and only the level of the curve is uncertain, by ``error``. Everything else, including the
    checkpoint interval, is as in the scenario.

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
    largest = full.scenario.spares.n_nodes
    of_size: dict[int, simulation.Simulation | None] = {largest: full}

    def reaches(n_spares: int) -> bool:
        if n_spares not in of_size:
            of_size[n_spares] = _runs_of(scenario, n_spares, n_runs, seed)
        simulated = of_size[n_spares]
        return simulated is not None and simulated.ettr >= target_ettr

    n_spares = smallest(reaches, _guess(scenario, target_ettr, largest), largest)
    reached = of_size[n_spares]
    assert reached is not None
    return LeastPool(n_spares, full.ettr, reached.ettr, reached.ettr_error)


def _runs_of(scenario: Scenario, n_spares: int, n_runs: int, seed: int) -> simulation.Simulation | None:
    """Return runs with a number of hot spares; None where the job makes practically no progress."""
    try:
        return runs_of(scenario, n_spares, n_runs, seed)
    except NoProgress:
        return None


def _guess(scenario: Scenario, target_ettr: float, largest: int) -> int:
    """Return the pool size by the analytical model; the mean number in repair where even the largest is too small."""
    needed = demand(scenario)

    def reaches(n_spares: int) -> bool:
        waits = float(waiting_share(n_spares, needed.in_repair, needed.single_crew))
        return float(needed.expected.ettr) * (1 - waits) >= target_ettr

    start = min(round(needed.in_repair), largest)
    return smallest(reaches, start, largest) if reaches(largest) else start


def smallest(enough: Callable[[int], bool], guess: int, largest: int) -> int:
    """Return the smallest number from 0 on that is enough, if all larger ones are enough too.

    Parameters
    ----------
    enough : callable
        Test of a number; called as rarely as possible.
    guess : int
        Start of the search, at most ``largest``.
    largest : int
        A number that is enough.

    Notes
    -----
    Doubling steps up or down from the guess until the answer is bracketed, then bisection.

    Examples
    --------
    >>> smallest(lambda n_spares: n_spares >= 14, guess=3, largest=100)
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
        while high < largest and not enough(high):
            step *= 2
            low, high = high, high + step
        high = min(high, largest)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def _affordable(scenario: Scenario) -> int:
    try:
        expected = budget.exact(budget.simplified(scenario).scenario)
    except OutsideValidity:
        return _RUNS
    return affordable_runs(float(expected.n_failures), _RUNS, _FAILURES_PER_SIZE, _FEWEST_RUNS)
