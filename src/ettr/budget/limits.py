"""Where a closed form stops being one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ettr.budget.closed_forms import exact, first_order, quiet_budget, rsc
from ettr.core.errors import OutsideValidity, UnknownName
from ettr.scenario import Scenario

FORMULAS = {"exact": exact, "first_order": first_order, "rsc": rsc}
_LARGEST_GPUS, _LONGEST_MIN = 1e9, 1e6
_GRID_POINTS = 600
_ROUNDS, _BISECTIONS = 10, 6
"""Bisections in each round: all values that they may ask for are tried together, in one call of the form."""


@dataclass(frozen=True)
class Validity:
    """How far a formula reaches from a scenario.

    Attributes
    ----------
    formula : str
        Its name.
    holds : bool
        It gives an answer for the scenario itself.
    reason : str
        Why it does not; empty where it holds.
    error : float
        Its ETTR minus the exact one for the scenario; NaN where either has none.
    max_n_gpus : float
        Largest job, all else as in the scenario, for which it gives an answer; infinite beyond 10⁹. [GPUs]
    max_interval_min : float
        Longest interval, from the scenario's on, for which it gives an answer; infinite beyond 10⁶. [min]
    one_point_n_gpus : float
        Largest job up to which it stays within one point (0.01) of the exact ETTR; 0 if none. [GPUs]
    """

    formula: str
    holds: bool
    reason: str
    error: float
    max_n_gpus: float
    max_interval_min: float
    one_point_n_gpus: float


def validity(scenario: Scenario, formula: str) -> Validity:
    """Find where a formula stops being one, all else as in the scenario.

    Parameters
    ----------
    scenario : Scenario
        The run.
    formula : str
        ``"exact"``, ``"first_order"`` or ``"rsc"``.

    Returns
    -------
    Validity
        Answers for the scenario, and the limits in size and interval.

    Raises
    ------
    UnknownName
        No such formula.
    NotModelled
        The scenario has a field that the formula has no term for.

    Examples
    --------
    >>> from ettr import Scenario, budget
    >>> valid = budget.validity(Scenario.load("rsc-1"), "rsc")
    >>> valid.holds, round(valid.max_n_gpus, -2)
    (True, 48700.0)
    """
    if formula not in FORMULAS:
        raise UnknownName("formula", formula, FORMULAS)
    model = FORMULAS[formula]

    def ettr_at(path: str, values: Any, of: Callable[..., Any] = model) -> np.ndarray:
        return np.asarray(quiet_budget(scenario, {path: np.atleast_1d(values)}, of).ettr)

    def answers(path: str) -> Callable[[Any], np.ndarray]:
        return lambda values: np.isfinite(ettr_at(path, values))

    def within_a_point(n_gpus: Any) -> np.ndarray:
        difference = ettr_at("cluster.n_gpus", n_gpus) - ettr_at("cluster.n_gpus", n_gpus, exact)
        return np.asarray(np.abs(difference) <= 0.01)

    reason = ""
    try:
        error = model(scenario).ettr - exact(scenario).ettr
    except OutsideValidity as outside:
        error, reason = float("nan"), str(outside)
    least_nodes = max([1, *(tier.copies or 1 for tier in scenario.checkpoint.tiers)])
    sizes = np.geomspace(scenario.cluster.gpus_per_node * least_nodes, _LARGEST_GPUS, _GRID_POINTS)
    intervals = np.geomspace(scenario.interval_min, _LONGEST_MIN, _GRID_POINTS)
    return Validity(
        formula=formula,
        holds=not reason,
        reason=reason,
        error=error,
        max_n_gpus=_reach(answers("cluster.n_gpus"), sizes),
        max_interval_min=_reach(answers("checkpoint.interval_min"), intervals),
        one_point_n_gpus=_reach(within_a_point, sizes),
    )


def _reach(holds: Callable[[Any], np.ndarray], grid: np.ndarray) -> float:
    """Largest value, from the grid's start on, up to which a condition holds; 0 if it never does."""
    failed = np.flatnonzero(~holds(grid))
    if failed.size == 0:
        return float("inf")
    if failed[0] == 0:
        return 0.0
    ends = grid[failed[0] - 1 : failed[0] + 1]
    for _ in range(_ROUNDS):
        for _ in range(_BISECTIONS):
            ends = np.insert(ends, range(1, ends.size), (ends[:-1] + ends[1:]) / 2)
        good, last, step = holds(ends), 0, ends.size // 2
        while step:
            last, step = last + step * good[last + step], step // 2
        ends = ends[last : last + 2]
    return float(ends[0])
