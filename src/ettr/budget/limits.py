"""How large a job a closed form has an answer for."""

from __future__ import annotations

import numpy as np

from ettr.budget.closed_forms import exact, first_order, quiet_budget, rsc
from ettr.core.errors import UnknownName
from ettr.scenario import Scenario

FORMULAS = {"exact": exact, "first_order": first_order, "rsc": rsc}
_LARGEST_GPUS = 1e9
_GRID_POINTS, _ROUNDS = 65, 9


def largest_n_gpus(scenario: Scenario, formula: str) -> float:
    """The largest job, all else as in the scenario, for which a formula gives an answer. [GPUs]

    Parameters
    ----------
    scenario : Scenario
        The run.
    formula : str
        ``"exact"``, ``"first_order"`` or ``"rsc"``.

    Returns
    -------
    float
        Need not be whole nodes; infinite beyond 10⁹, and 0 where there is no answer for any size.

    Raises
    ------
    UnknownName
        No such formula.
    NotModelled
        The scenario has a field that the formula has no term for.

    Examples
    --------
    >>> from ettr import Scenario, budget
    >>> round(budget.largest_n_gpus(Scenario.load("rsc-1"), "rsc"), -2)
    48700.0
    """
    if formula not in FORMULAS:
        raise UnknownName("formula", formula, FORMULAS)
    least_nodes = max([1, *(tier.copies or 1 for tier in scenario.checkpoint.tiers)])
    low, high = scenario.cluster.gpus_per_node * least_nodes, _LARGEST_GPUS
    for number in range(_ROUNDS):
        sizes = np.geomspace(low, high, _GRID_POINTS)
        ettr = np.asarray(quiet_budget(scenario, {"cluster.n_gpus": sizes}, FORMULAS[formula]).ettr)
        failed = np.flatnonzero(np.isnan(ettr))
        if not number and not failed.size:
            return float("inf")
        if not number and failed[0] == 0:
            return 0.0
        first = failed[0] if failed.size else sizes.size - 1  # the last size failed before
        low, high = sizes[max(first - 1, 0)], sizes[first]
    return float(low)
