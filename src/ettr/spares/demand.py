"""The demand for spare nodes: the nodes of a job that are in repair."""

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
    """The rate at which nodes leave a job that never waits, and their time in repair.

    Attributes
    ----------
    in_repair : float
        Mean number of nodes in repair, a. [nodes]
    leaves_per_h : float
        Failures that remove nodes, per hour of wall-clock time. [1/h]
    repair_h : float
        Mean time until such a node returns, without waiting for a crew. [h]
    most_at_once : int
        Most nodes that one failure removes; above 1 the analytical pool sizes are approximate. [nodes]
    crew_load : float
        Mean number of nodes that crews work on. [nodes]
    n_crew : int or None
        Nodes that crews can repair at a time; None without a limit.
    expected : TimeBudget
        Expected hours of the job, by :func:`ettr.budget.exact`.

    Examples
    --------
    >>> run = Scenario.load("llama3-405b").override({"spares": {"n_nodes": 17}, "repair": {"manual_h": 24}})
    >>> round(demand(run).repair_h, 9)
    24.0
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
        """Failures per hour of wall-clock time. [1/h]"""
        return float(self.expected.n_failures / self.expected.total_h)

    @property
    def single_crew(self) -> int | None:
        """The number of crews if they do the entire repair; None without a limit, or with other repair stages."""
        is_all = self.n_crew is not None and abs(self.crew_load - self.in_repair) <= ROUNDING * self.in_repair
        return self.n_crew if is_all else None


def demand(scenario: Scenario) -> Demand:
    """Return the mean number of nodes of a scenario's job in repair, and the rates behind it.

    Parameters
    ----------
    scenario : Scenario
        A run with ``spares`` and ``repair``.

    Returns
    -------
    Demand
        The demand of a job whose pool never runs out.

    Raises
    ------
    InputError
        A scenario without repair.
    OutsideValidity
        A run that practically never ends.

    Notes
    -----
    Little's law for each failure mode: failures per hour of wall-clock time by :func:`ettr.budget.exact`, times the
    share of the mode, the nodes that it removes, and its mean repair time. With ``rack``, only failures that take a
    rack out remove nodes, all that the job uses of it. Retirement and differences between nodes are not included.

    Examples
    --------
    >>> from ettr import Scenario
    >>> run = Scenario.load("llama3-405b").override({"spares": {"n_nodes": 17}, "repair": {"manual_h": 24}})
    >>> round(demand(run).in_repair, 2)
    5.94
    """
    repair = repair_of(scenario)
    expected = budget.exact(budget.simplified(scenario).scenario)
    by_rack = scenario.by_rack
    modes = by_rack.failures.modes
    n_out = np.array([*(mode.n_out_nodes for mode in modes), 1], dtype=float)
    common = np.array([*(mode.repair_h is None for mode in modes), True])
    rates = float(expected.n_failures / expected.total_h) * by_rack.mode_weights
    leaves = float(rates @ (n_out > 0))
    nodes = float(rates @ n_out)
    in_repair = float(rates @ by_rack.repair_h_by_mode)
    crew_load = float(rates @ (n_out * common)) * repair.share_left * (repair.manual_h or 0.0)
    return Demand(
        in_repair=in_repair,
        leaves_per_h=leaves,
        repair_h=in_repair / nodes if nodes > 0 else repair.mean_h,
        most_at_once=int(n_out[rates > 0].max(initial=0)),
        crew_load=crew_load,
        n_crew=repair.n_crew,
        expected=expected,
    )


def repair_of(scenario: Scenario) -> Repair:
    """Return the repair of a scenario, or refuse a scenario without it."""
    if scenario.repair is None or scenario.spares is None:
        raise InputError(
            f"{scenario.name} needs the sections spares and repair, e.g. spares.n_nodes = 16 and repair.manual_h = 24"
        )
    return scenario.repair
