"""Simulated means beside what is expected of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from ettr import Scenario, simulate
from ettr.core.results import PARTS
from ettr.simulation import Simulation

QUANTITIES = (*PARTS, "n_failures", "total_h")
FOUR = 4
"""Standard errors that a mean may be off. By chance it is in 1 of 16,000 comparisons; seeds are fixed."""
ROUNDING = 1e-9
"""Of the total; all that parts may be off which never vary."""


def check(simulated: Simulation, expected: Any, sharp: float = 0.01) -> None:
    """Every part, the failures and the total are as expected, and the errors small enough to tell.

    ``sharp`` is the largest error of a part, relative to the total: a term that is missing would be seen. Failures may
    be known half as well.
    """
    rows = simulated.budget_interval.set_index("part")
    total_h = rows["mean"]["total"]
    for quantity in QUANTITIES:
        mean, error = rows.loc[quantity.removesuffix("_h"), ["mean", "error"]]
        allowed = FOUR * error + ROUNDING * total_h
        assert mean == pytest.approx(float(getattr(expected, quantity)), abs=allowed), quantity
        assert error <= sharp * (2 * mean if quantity == "n_failures" else total_h), quantity


def per_hour_of_work(run: Scenario, short_h: float, long_h: float, n_runs: int, seed: int) -> tuple[dict, dict]:
    """What an hour of work takes in the middle of a run, with its standard error.

    Runs of one seed begin alike, so that a long run less a short one is what lies between their ends.
    """
    tables = [
        simulate(run.override({"job.productive_h": hours}), n_runs, seed, control_variates=False).runs
        for hours in (short_h, long_h)
    ]
    more = (tables[1] - tables[0]).drop(columns=["run", "ettr"]) / (long_h - short_h)
    return dict(more.mean()), dict(more.std(ddof=1) / n_runs**0.5)


def check_means(mean: Mapping, error: Mapping, expected: Mapping, other_error: Mapping | None = None) -> None:
    """Two tables of means agree within four errors of their difference, in all quantities that both have."""
    for quantity in expected:
        if quantity in mean:
            allowed = FOUR * float(np.hypot(error[quantity], (other_error or {}).get(quantity, 0.0))) + ROUNDING
            assert mean[quantity] == pytest.approx(expected[quantity], abs=allowed), quantity
