"""Simulated means beside what is expected of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from ettr import Scenario, simulate
from ettr.core.results import PARTS
from ettr.simulation import Simulation

QUANTITIES = (*PARTS, "n_failures", "total_h")
FOUR = 4
"""Standard errors that a mean may be off. By chance it is in 1 of 16,000 comparisons; seeds are fixed."""
ROUNDING = 1e-9
"""Of the total; all that parts may be off which never vary."""
SOME, MANY = 15_000, pytest.param(150_000, marks=pytest.mark.slow)
"""Failures to meet in a comparison: enough to see a term that is missing, and enough to see one that is rounded."""


def same(ours: Any, expected: Any, rel: float = 1e-12, rounding_h: float = 1e-14, factor: float = 1.0) -> None:
    """Two budgets agree in all quantities; in hours ``factor`` times as long."""
    for quantity in QUANTITIES:
        value = getattr(expected, quantity) * (factor if quantity.endswith("_h") else 1)
        assert getattr(ours, quantity) == pytest.approx(value, rel=rel, abs=rounding_h * factor), quantity


def check(simulated: Simulation, expected: Any) -> None:
    """Every part, the failures and the total are as expected, and the errors small enough to tell.

    A term that is missing would be seen where it is a few hundredths of the total. Failures may be known half as well.
    """
    rows = simulated.budget_interval.set_index("part")
    total_h = rows["mean"]["total"]
    for quantity in QUANTITIES:
        mean, error = rows.loc[quantity.removesuffix("_h"), ["mean", "error"]]
        allowed = FOUR * error + ROUNDING * total_h
        assert mean == pytest.approx(float(getattr(expected, quantity)), abs=allowed), quantity
        assert error <= 0.01 * (2 * mean if quantity == "n_failures" else total_h), quantity


def enough(expected: Any, n_failures: int) -> int:
    """Runs that meet so many failures, and a few more."""
    return min(20_000, int(400 + n_failures / expected.n_failures)) if expected.n_failures else 50


def check_steady(run: Scenario, expected: Any, n_failures: int, seed: int) -> None:
    """Every part of a run without ends is as expected.

    Ten failures after the start nothing is known any more of when checkpoints were due in the beginning.
    """
    short_h = max(40, 10 * run.job_mttf_h)
    n_runs = int(50 + n_failures * run.work_h / expected.n_failures / (2.5 * short_h))
    mean, error = per_hour_of_work(run, short_h, 3.5 * short_h, n_runs, seed)
    check_means(mean, error, {part: getattr(expected, part) / run.work_h for part in QUANTITIES})
    assert error["total_h"] < 0.01 * mean["total_h"]


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


def check_means(mean: Mapping, error: Mapping, expected: Mapping) -> None:
    """Two tables of means agree within four errors, in all quantities that both have."""
    for quantity in expected:
        if quantity in mean:
            allowed = FOUR * error[quantity] + ROUNDING
            assert mean[quantity] == pytest.approx(expected[quantity], abs=allowed), quantity
