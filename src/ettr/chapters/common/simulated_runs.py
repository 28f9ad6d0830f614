"""Simulated runs for the tables, no more of them than a page can wait for."""

from __future__ import annotations

from ettr import budget, simulation
from ettr.core.errors import NoProgress, NotModelled, OutsideValidity
from ettr.scenario import Scenario
from ettr.simulation.outlook import affordable_runs

SHARES = (5, 25, 50, 75, 95)
"""Shares of runs that are done by the dates that are shown. [%]"""


def some_runs_of(run: Scenario, n_runs: int, seed: int, most_failures: int) -> simulation.Simulation | None:
    """Affordable runs; None if the run cannot be simulated, or practically never ends."""
    try:
        n_failures = float(budget.exact(budget.simplified(run).scenario).n_failures)
        return simulation.simulate(run, affordable_runs(n_failures, n_runs, most_failures), seed)
    except (NotModelled, NoProgress, OutsideValidity):
        return None
