"""What a scenario asks of its spares: how many of its nodes are in repair."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ettr import budget
from ettr.core.errors import InputError
from ettr.core.results import TimeBudget
from ettr.core.units import ROUNDING
from ettr.scenario import Scenario
from ettr.scenario.fleet import Repair


@dataclass(frozen=True)
class Demand:
    """Nodes that leave a job that never waits for one, and how long they are gone.

    Attributes
    ----------
    in_repair : float
        Nodes in repair on average, a. [nodes]
    leaves_per_h : float
        Failures that take nodes out, per hour of wall clock. [1/h]
    repair_h : float
        Mean time until such a node is back, waiting for a crew aside. [h]
    most_at_once : int
        Most nodes that one failure takes out; where it is above 1, closed forms of pools are only near. [nodes]
    crew_load : float
        Nodes that crews work on on average. [nodes]
    n_crew : int or None
        Nodes that crews repair at a time; None without a limit.
    expected : TimeBudget
        Of the job, by :func:`ettr.budget.exact`.
    """

    in_repair: float
    leaves_per_h: float
    repair_h: float
    most_at_once: int
    crew_load: float
    n_crew: int | None
    expected: TimeBudget

    @property
    def failures_per_h(self) -> float:
        """Failures per hour of wall clock. [1/h]"""
        return float(self.expected.n_failures / self.expected.total_h)

    @property
    def own_crew(self) -> int | None:
        """The crews of a repair that is theirs alone; None where there is no limit, or other stages beside."""
        alone = self.n_crew is not None and abs(self.crew_load - self.in_repair) <= ROUNDING * self.in_repair
        return self.n_crew if alone else None


def demand(scenario: Scenario) -> Demand:
    """How many nodes of a scenario's job are in repair.

    Parameters
    ----------
    scenario : Scenario
        A run with ``spares`` and ``repair``.

    Returns
    -------
    Demand
        For a pool that never runs out.

    Raises
    ------
    InputError
        A scenario without repair.
    OutsideValidity
        A run that practically never ends.

    Notes
    -----
    Little's law by mode: failures per hour of wall clock of :func:`ettr.budget.exact` (of what it has a term for),
    times the share of the mode, the nodes that it takes out, and its mean repair. Retirement and nodes that differ are
    not in it.

    Examples
    --------
    >>> from ettr import Scenario
    >>> run = Scenario.load("llama3-405b").override({"spares": {"n_nodes": 17}, "repair": {"manual_h": 24}})
    >>> round(demand(run).in_repair, 2)
    5.94
    """
    repair = repair_of(scenario)
    expected = budget.exact(budget.simplified(scenario).scenario)
    modes = scenario.failures.modes
    n_out = np.array([*(mode.n_out_nodes for mode in modes), 1], dtype=float)
    common = np.array([*(mode.repair_h is None for mode in modes), True])
    rates = float(expected.n_failures / expected.total_h) * scenario.mode_weights
    leaves = float(rates @ (n_out > 0))
    nodes = float(rates @ n_out)
    in_repair = float(rates @ scenario.repair_h_by_mode)
    seen = float(rates @ (n_out * common)) * repair.share_left * (repair.manual_h or 0.0)
    return Demand(
        in_repair=in_repair,
        leaves_per_h=leaves,
        repair_h=in_repair / nodes if nodes > 0 else repair.mean_h,
        most_at_once=int(n_out[rates > 0].max(initial=0)),
        crew_load=seen,
        n_crew=repair.n_crew,
        expected=expected,
    )


def repair_of(scenario: Scenario) -> Repair:
    """The repair of a scenario, which it must have."""
    if scenario.repair is None or scenario.spares is None:
        raise InputError(
            f"{scenario.name} has no spares and repair, without which no node is ever missing: give them, e.g. "
            "spares: {n_nodes: 16} and repair: {manual_h: 24}"
        )
    return scenario.repair
