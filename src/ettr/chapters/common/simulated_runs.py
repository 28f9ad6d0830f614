"""Simulated runs for the tables, no more of them than a page can wait for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ettr import budget
from ettr.core.errors import NoProgress, NotModelled, OutsideValidity
from ettr.core.results import TimeBudget
from ettr.scenario import Scenario

if TYPE_CHECKING:
    from ettr.simulation import Simulation

SHARES = (5, 25, 50, 75, 95)
"""Shares of runs that are done by the dates that are shown. [%]"""

_FEWEST_RUNS = 12
"""Fewer would not know their own error."""


def affordable_runs(expected: TimeBudget, n_runs: int, most_failures: int) -> int:
    """As many runs as meet so many failures together, and no fewer than an error needs.

    Examples
    --------
    >>> affordable_runs(budget.exact(Scenario.load("llama3-405b")), 1000, 50_000)
    120
    """
    return min(n_runs, max(_FEWEST_RUNS, int(most_failures / max(float(expected.n_failures), 1.0))))


def runs_of(run: Scenario, n_runs: int, seed: int) -> Simulation:
    """Simulated runs; the simulator is loaded here, since most tables need none."""
    from ettr.simulation import simulate

    return simulate(run, n_runs, seed)


def some_runs_of(run: Scenario, n_runs: int, seed: int, most_failures: int) -> Simulation | None:
    """Affordable runs; None if the run cannot be simulated, or practically never ends."""
    try:
        expected = budget.exact(budget.simplified(run).scenario)
        return runs_of(run, affordable_runs(expected, n_runs, most_failures), seed)
    except (NotModelled, NoProgress, OutsideValidity):
        return None
