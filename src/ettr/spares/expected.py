"""Closed forms of a scenario's pools."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd

from ettr import budget
from ettr.core.errors import InputError
from ettr.scenario import Scenario
from ettr.spares.cheapest import pool_cost, waiting_share
from ettr.spares.demand import Demand, demand
from ettr.spares.numbers import MOST_NODES, counts


def expected_by_pool(scenario: Scenario, sizes: Iterable[int]) -> pd.DataFrame:
    """ETTR and cost over the number of hot spares, by the closed form.

    Parameters
    ----------
    scenario : Scenario
        A run with ``spares`` and ``repair``.
    sizes : iterable of int
        Numbers of hot spares. [nodes]

    Returns
    -------
    DataFrame
        ``n_spares`` [nodes], ``waiting_share`` (of the wall clock), ``ettr``, ``cost`` (of a unit of work, over that of
        a job that never waits and pays no spares).

    Raises
    ------
    InputError
        A scenario without repair, or a number of spares that is not whole.

    Notes
    -----
    ETTR of a pool that never runs out, times 1 less :func:`waiting_share`, with the validity of that: failures that
    take several nodes are counted by their nodes, as if they came one by one, and a limited crew is taken for the whole
    repair if all nodes go through it, or else as unlimited.

    Examples
    --------
    >>> from ettr import Scenario
    >>> run = Scenario.load("llama3-405b").override({"spares": {"n_nodes": 0}, "repair": {"manual_h": 24}})
    >>> expected_by_pool(run, [8, 17])["ettr"].round(3).tolist()
    [0.763, 0.908]
    """
    n_spares = counts("sizes", list(sizes))
    asked = demand(scenario)
    full = float(budget.exact(budget.simplified(scenario).scenario).ettr)
    crew = crew_of(asked)
    waits = np.asarray(waiting_share(n_spares, asked.in_repair, crew))
    return pd.DataFrame(
        {
            "n_spares": n_spares.astype(int),
            "waiting_share": waits,
            "ettr": full * (1 - waits),
            "cost": pool_cost(n_spares, asked.in_repair, scenario.n_nodes, crew),
        }
    )


def crew_of(asked: Demand) -> int | None:
    """The crews of a repair that is theirs alone; None where there is no limit, or other stages beside."""
    alone = asked.n_crew is not None and abs(asked.crew_load - asked.in_repair) <= 1e-9 * asked.in_repair
    return asked.n_crew if alone else None


def least_pool(scenario: Scenario, target_ettr: float) -> int | None:
    """Fewest hot spares that reach a target by the closed form; None if none do. [nodes]

    Parameters
    ----------
    scenario : Scenario
        A run with ``spares`` and ``repair``.
    target_ettr : float
        The target, in (0, 1).

    Examples
    --------
    >>> from ettr import Scenario
    >>> run = Scenario.load("llama3-405b").override({"spares": {"n_nodes": 0}, "repair": {"manual_h": 24}})
    >>> least_pool(run, 0.9), least_pool(run, 0.95)
    (14, None)
    """
    if not 0 < target_ettr < 1:
        raise InputError(f"target_ettr must be between 0 and 1, got {target_ettr:g}")
    asked = demand(scenario)
    full = float(budget.exact(budget.simplified(scenario).scenario).ettr)
    crew = crew_of(asked)

    def reaches(n_spares: float) -> bool:
        return full * (1 - float(waiting_share(n_spares, asked.in_repair, crew))) >= target_ettr

    low, high = -1, 1
    while not reaches(high):
        low, high = high, 2 * high
        if full < target_ettr or high > MOST_NODES / 2 or (crew is not None and high > _hopeless(asked)):
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if reaches(middle) else (middle, high)
    return high


def _hopeless(asked: Demand) -> float:
    """Spares from which on more of them change nothing, where crews cannot keep up."""
    return 1e6 * max(asked.in_repair, 1.0)
