"""Comparison of simulated means with expected values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from ettr import Scenario, simulate
from ettr.core.results import PARTS
from ettr.simulation import Simulation

QUANTITIES = (*PARTS, "n_failures", "total_h")
FOUR = 4
"""Tolerance in standard errors. 1 of 16,000 correct means exceeds it; seeds are fixed."""
ROUNDING = 1e-9
"""Tolerance for parts without variation, as a share of the total."""
SOME, MANY = 15_000, pytest.param(150_000, marks=pytest.mark.slow)
"""Failures in a comparison: enough to detect a missing term, and enough to detect a rounded one."""


def same(ours: Any, expected: Any, rel: float = 1e-12, rounding_h: float = 1e-14, factor: float = 1.0) -> None:
    """Check that two budgets agree in all quantities, with hours scaled by ``factor``."""
    for quantity in QUANTITIES:
        value = getattr(expected, quantity) * (factor if quantity.endswith("_h") else 1)
        assert getattr(ours, quantity) == pytest.approx(value, rel=rel, abs=rounding_h * factor), quantity


def check(simulated: Simulation, expected: Any) -> None:
    """Check every part, the failures and the total, with errors small enough to detect a missing term.

    A missing term of a few hundredths of the total is detected; the tolerance for failures is twice as large.
    """
    rows = simulated.budget_interval.set_index("part")
    total_h = rows["mean"]["total"]
    for quantity in QUANTITIES:
        mean, error = rows.loc[quantity.removesuffix("_h"), ["mean", "error"]]
        allowed = FOUR * error + ROUNDING * total_h
        assert mean == pytest.approx(float(getattr(expected, quantity)), abs=allowed), quantity
        assert error <= 0.01 * (2 * mean if quantity == "n_failures" else total_h), quantity


def enough(expected: Any, n_failures: int) -> int:
    """Return a number of runs that meets at least ``n_failures`` failures."""
    return min(20_000, int(400 + n_failures / expected.n_failures)) if expected.n_failures else 50


def check_steady(run: Scenario, expected: Any, n_failures: int, seed: int) -> None:
    """Check every part of a run without start and end.

    Ten failures after the start, the run no longer depends on when its first checkpoints were due.
    """
    short_h = max(40, 10 * run.job_mttf_h)
    n_runs = int(50 + n_failures * run.work_h / expected.n_failures / (2.5 * short_h))
    mean, error = per_hour_of_work(run, short_h, 3.5 * short_h, n_runs, seed)
    check_means(mean, error, {part: getattr(expected, part) / run.work_h for part in QUANTITIES})
    assert error["total_h"] < 0.01 * mean["total_h"]


def per_hour_of_work(run: Scenario, short_h: float, long_h: float, n_runs: int, seed: int) -> tuple[dict, dict]:
    """Return the hours by part of an hour of work in the middle of a run, with standard errors.

    Runs of one seed begin alike, so the difference of a long and a short run is the time between their ends.
    """
    tables = [
        simulate(run.override({"job.productive_h": hours}), n_runs, seed, control_variates=False).runs
        for hours in (short_h, long_h)
    ]
    per_hour = (tables[1] - tables[0]).drop(columns=["run", "ettr"]) / (long_h - short_h)
    return dict(per_hour.mean()), dict(per_hour.std(ddof=1) / n_runs**0.5)


def check_means(mean: Mapping, error: Mapping, expected: Mapping) -> None:
    """Check that two tables of means agree within four standard errors in their common quantities."""
    for quantity in expected:
        if quantity in mean:
            allowed = FOUR * error[quantity] + ROUNDING
            assert mean[quantity] == pytest.approx(expected[quantity], abs=allowed), quantity
