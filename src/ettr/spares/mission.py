"""Never short of a node in a month: the probability that a pool lasts a mission, not only a random moment."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd
import scipy

from ettr.core.errors import InputError
from ettr.core.validity import above_zero, at_least_zero, plain
from ettr.scenario import Scenario
from ettr.spares.demand import demand
from ettr.spares.numbers import counts, level
from ettr.spares.search import least
from ettr.spares.simulated import check_runs, runs_of, whole_sizes

_FEW, _MOST_EVENTS = 300, 1_000_000
"""Spares up to which all states are followed at once, however long; of more, events that are followed one by one."""


def mission_level(n_spares: Any, leaves_per_h: Any, repair_h: Any, mission_h: Any, n_crew: Any = math.inf) -> Any:
    r"""Probability that no node is ever missing in a mission that begins with all spares there, a fraction.

    Parameters
    ----------
    n_spares : float or ndarray
        Spares. [nodes]
    leaves_per_h : float or ndarray
        Nodes that leave the job, per hour of wall clock. [1/h]
    repair_h : float or ndarray
        Mean time until a node is back; infinite if none is repaired meanwhile. [h]
    mission_h : float or ndarray
        Length of the mission. [h]
    n_crew : float or ndarray
        Nodes that are repaired at a time. [count]

    Returns
    -------
    float or ndarray
        Broadcast shape, in [0, 1].

    Raises
    ------
    InputError
        A number out of its range.

    Notes
    -----
    Nodes in repair are a chain of births at :math:`\lambda` and deaths at :math:`\min(k, c)/R` from k, which is never
    to reach s + 1: what is left of the first s + 1 states after the mission, :math:`e_0^\top e^{QT} 1` (matrix
    exponential). Exact for Poisson failures and exponential repairs; without repair it is the Poisson probability of
    at most s. Less than :func:`pool_level`, which asks about one moment only.

    Examples
    --------
    >>> [round(mission_level(n, 0.323, 24, 28 * 24), 3) for n in (12, 16, 20)]
    [0.029, 0.713, 0.988]
    >>> round(mission_level(12, 0.01, math.inf, 28 * 24), 3)
    0.98
    """
    leaves, mission = (
        at_least_zero("leaves_per_h", leaves_per_h, unit="1/h"),
        above_zero("mission_h", mission_h, unit="h"),
    )
    hours = np.asarray(repair_h, dtype=float)
    if not (hours > 0).all():
        raise InputError(f"repair_h must be > 0 h, got {hours[~(hours > 0)].flat[0]:g}")
    crew = np.asarray(n_crew, dtype=float)
    if not (crew >= 1).all():
        raise InputError(f"n_crew must be >= 1, got {crew[~(crew >= 1)].flat[0]:g}")
    return plain(_lasts(counts("n_spares", n_spares), leaves, hours, mission, crew))


@np.vectorize(otypes=[float])
def _lasts(n_spares: float, leaves_per_h: float, repair_h: float, mission_h: float, n_crew: float) -> float:
    births = leaves_per_h * mission_h
    if math.isinf(repair_h):
        return float(scipy.stats.poisson.cdf(n_spares, births))
    deaths = np.minimum(np.arange(n_spares + 1), n_crew) * (mission_h / repair_h)
    rows = [deaths[1:], -(births + deaths), np.full(int(n_spares), births)]
    chain = scipy.sparse.diags_array(rows, offsets=[1, 0, -1])
    if n_spares <= _FEW:
        left = scipy.linalg.expm(chain.toarray())[:, 0].sum()
    elif births + deaths[-1] > _MOST_EVENTS:
        raise InputError(
            f"mission_h must be shorter, or repair_h longer: up to {deaths[-1]:.2g} nodes would be repaired in it, and "
            f"the limit is {_MOST_EVENTS:,}"
        )
    else:
        start = np.zeros(int(n_spares) + 1)
        start[0] = 1.0
        left = scipy.sparse.linalg.expm_multiply(chain.tocsc(), start).sum()
    return float(np.clip(left, 0.0, 1.0))


def mission_pool(
    leaves_per_h: float, repair_h: float, mission_h: float, service_level: float, n_crew: float = math.inf
) -> int:
    """Least spares with which no node is ever missing in a mission, with a probability. [nodes]

    Parameters
    ----------
    leaves_per_h, repair_h, mission_h, n_crew
        As of :func:`mission_level`.
    service_level : float
        The probability, in (0, 1).

    Examples
    --------
    >>> mission_pool(0.323, 24, 28 * 24, 0.99)
    21
    """
    enough = float(level("service_level", service_level))
    busy = leaves_per_h * min(repair_h, mission_h)
    return least(
        lambda n: mission_level(n, leaves_per_h, repair_h, mission_h, n_crew) >= enough, guess=math.ceil(busy + 1)
    )


def by_mission(
    scenario: Scenario, sizes: Iterable[int], mission_h: float, n_runs: int = 400, seed: int = 0
) -> pd.DataFrame:
    """Probability that pools of different sizes last a mission, simulated and by the closed form.

    Parameters
    ----------
    scenario : Scenario
        A run with ``spares`` and ``repair``, of any rules.
    sizes : iterable of int
        Numbers of hot spares. [nodes]
    mission_h : float
        Length of the mission, first queue and restart included. [h]
    n_runs : int
        Runs of each, at least 2. [count]
    seed : int
        As in :func:`ettr.simulate`: one for all sizes.

    Returns
    -------
    DataFrame
        ``n_spares`` [nodes], ``n_runs``, ``level`` (share of runs that never waited for a node) with ``low`` and
        ``high`` (95%, by Clopper and Pearson), and ``form``: that of :func:`mission_level` with the flow and mean
        repair of :func:`demand`. Where several nodes leave at once, repairs are not exponential or spares fail, the two
        differ.

    Raises
    ------
    InputError, NotModelled
        As of :func:`by_pool_size` and :func:`ettr.simulate`.

    Examples
    --------
    >>> from ettr import Scenario
    >>> run = Scenario.load("llama3-405b").override({"spares": {"n_nodes": 0}, "repair": {"manual_h": 24}})
    >>> by_mission(run, [16, 20], 28 * 24, n_runs=200)["form"].round(2).tolist()
    [0.97, 1.0]
    """
    check_runs(n_runs)
    asked = demand(scenario)
    crew = math.inf if asked.own_crew is None else asked.own_crew
    rows = []
    for size in whole_sizes(sizes):
        runs = runs_of(scenario, size, n_runs, seed, horizon_h=mission_h).runs
        lasted = int((runs["n_waits"] == 0).sum())
        tails = scipy.stats.binomtest(lasted, n_runs).proportion_ci(0.95)
        form = mission_level(size, asked.leaves_per_h, asked.repair_h, mission_h, crew)
        rows.append((size, n_runs, lasted / n_runs, tails.low, tails.high, form))
    return pd.DataFrame(rows, columns=["n_spares", "n_runs", "level", "low", "high", "form"])
