"""Simulated runs for the tables, no more of them than a page can wait for."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ettr import budget
from ettr.errors import NoProgress, NotModelled, OutsideValidity
from ettr.results import TimeBudget
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


def whole_interval_min(run: Scenario, interval_min: float) -> float:
    """The interval nearest to one that is wanted, of those that a simulation takes with the run's faster tiers. [min]

    Examples
    --------
    >>> peer = {"name": "peer", "interval_s": 40, "survives": 0.9}
    >>> run = Scenario.load("llama3-405b").override({"checkpoint.tiers": [peer]})
    >>> whole_interval_min(run, 7.7)
    8.0
    """
    interval_min = min(interval_min, 60 * run.work_h)
    if not run.checkpoint.tiers:
        return interval_min
    step_min = run.checkpoint.tiers[-1].interval_s / 60
    least = math.ceil(run.least_interval_min / step_min * (1 - 1e-12))
    return max(round(interval_min / step_min), least, 1) * step_min


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
