"""The fewest hot spares that reach a target ETTR, by simulation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ettr import budget, simulation
from ettr.core.errors import NoProgress, OutsideValidity
from ettr.scenario import Scenario
from ettr.simulation.outlook import affordable_runs
from ettr.spares.demand import demand
from ettr.spares.simulated import plenty, runs_of
from ettr.spares.waiting import waiting_share

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


def least_pool(scenario: Scenario, target_ettr: float, seed: int = 0) -> LeastPool:
    """Fewest hot spares with which a simulated run reaches a target; all else, and the interval, as in the scenario.

    Parameters
    ----------
    scenario : Scenario
        A run with ``spares`` and ``repair``.
    target_ettr : float
        The target, in (0, 1).
    seed : int
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
