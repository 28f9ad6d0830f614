"""Every analytical model: it agrees with simulated runs, only ratios of times matter, and arrays equal single runs."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from grids import (
    ANNOUNCED,
    CHANGING,
    DEAD,
    DISK,
    GOOD,
    MEMORY,
    MODES,
    ODD,
    PAIRS,
    PRODUCT,
    SILENT,
    START,
    STORE,
    TIERED,
    WRITE,
    silent,
    slower,
    tiers,
)

from agreement import FOUR, MANY, SOME, check, check_steady, enough, same
from ettr import budget, simulate
from ettr.core.results import PARTS

SAMPLES = pytest.mark.parametrize("n_failures", [SOME, MANY])


def _of_a_run(run):
    """The exact form, for a run that ends.

    The steady state gives a segment's slowdown to rework if a failure strikes before the next checkpoint is durable.
    The run is over when that one is taken: its last segment keeps e^{λp} times as much.
    """
    hours = budget.exact(run)
    if run.job.include_start:
        return hours
    n_segments = run.job.productive_h / run.interval_h
    more_h = hours.slowdown_h / n_segments * math.expm1(run.job_rate_per_h * run.persist_h)
    return replace(hours, slowdown_h=hours.slowdown_h + more_h, rework_h=hours.rework_h - more_h)


@pytest.mark.parametrize(
    ("name", "n_failures"),
    [(name, SOME) for name in (*PAIRS, *ODD)]
    + [pytest.param(name, *MANY.values, marks=MANY.marks) for name in (*PRODUCT, *ODD)],
)
def test_every_part_is_what_is_simulated(plain_run, name, n_failures):
    run = plain_run.override((PRODUCT | ODD)[name])
    expected = _of_a_run(run)
    check(simulate(run, enough(expected, n_failures), seed=1), expected)


@SAMPLES
@pytest.mark.parametrize("name", TIERED)
def test_tiers_take_what_is_simulated(plain_run, name, n_failures):
    """In the steady state each interval of the store begins from the same state, so any number of them is exact."""
    run = plain_run.override(TIERED[name] | {"job.productive_h": 20})
    expected = budget.exact(run)
    check(simulate(run, enough(expected, n_failures), seed=3), expected)


@SAMPLES
@pytest.mark.parametrize("start", [{}, START], ids=["steady", "start"])
@pytest.mark.parametrize("name", ANNOUNCED)
def test_announced_failures_take_what_is_simulated(plain_run, name, start, n_failures):
    run = plain_run.override(ANNOUNCED[name])
    check_steady(run.override(start), budget.exact(run), n_failures, seed=4)


@SAMPLES
@pytest.mark.parametrize("name", SILENT)
def test_silent_failures_of_one_latency_take_what_is_simulated(plain_run, name, n_failures):
    """Away from the end of the run, at which some are still hidden."""
    run = plain_run.override(SILENT[name])
    check_steady(run, budget.exact(run), n_failures, seed=5)


@SAMPLES
@pytest.mark.parametrize("name", CHANGING)
def test_a_rate_that_changes_slowly_takes_what_is_simulated(plain_run, name, n_failures):
    run = plain_run.override(CHANGING[name])
    expected = budget.over_time(run)
    simulated = simulate(run, enough(expected, n_failures), seed=3)
    rows = simulated.budget_interval.set_index("part")
    for part in (*PARTS, "n_failures", "total_h"):
        mean, error = rows.loc[part.removesuffix("_h"), ["mean", "error"]]
        value = getattr(expected, part)
        # the integral takes each moment for a steady state, good to half a per cent
        assert mean == pytest.approx(value, abs=FOUR * error + 0.005 * value + 1e-9), part
        assert error <= 0.015 * value + 1e-9, part


FORMS = TIERED | ANNOUNCED | {f"{name}, silent": changes for name, changes in SILENT.items()} | CHANGING


@pytest.mark.parametrize("name", FORMS)
def test_only_ratios_of_times_matter(plain_run, name):
    """Every time three times as long: so is every part, and the failures are as many."""
    run = plain_run.override(FORMS[name])
    same(budget.over_time(slower(run, 3)), budget.over_time(run), rel=1e-11, factor=3)


COMMON = {
    "cluster.n_gpus": [80, 8000, 24_000],
    "failures.rate_per_1000_node_days": [0.0, 1.0, 30.0],
    "recovery.restart_min": [0.0, 10.0, 60.0],
    "checkpoint.interval_min": [20.0, 60.0, 240.0],
}
SWEEPS = {
    "tiers": (
        tiers(MEMORY, DISK) | DEAD | STORE,
        COMMON
        | {
            "checkpoint.stall_s": [0.0, 9.0, 20.0],
            "checkpoint.persist_s": [500.0, 900.0, 3600.0],
            "checkpoint.load_s": [0.0, 60.0, 900.0],
            "checkpoint.tiers.memory.survives": [0.0, 0.3, 0.8],
            "checkpoint.tiers.disk.survives": [0.6, 0.9, 1.0],
            "checkpoint.tiers.disk.interval_s": [600.0, 1800.0, 3600.0],
            "checkpoint.tiers.disk.write_s": [40.0, 500.0, 900.0],
        },
    ),
    "announced": (
        GOOD | WRITE | MODES | {"prediction.lead_s": 9999},
        COMMON
        | {
            "checkpoint.stall_s": [0.0, 60.0, 300.0],
            "checkpoint.persist_s": [0.0, 60.0, 3600.0],
            "prediction.recall": [0.1, 0.5, 1.0],
            "prediction.action_s": [0.0, 100.0, 3600.0],
        },
    ),
    "silent": (
        silent(3, detection_min=8, restart_min=14),
        COMMON | {"checkpoint.stall_s": [0.0, 60.0, 300.0], "checkpoint.load_s": [0.0, 60.0, 300.0]},
    ),
}


@pytest.mark.parametrize(("form", "path"), [(form, path) for form, (_, paths) in SWEEPS.items() for path in paths])
def test_arrays_give_what_single_runs_give(plain_run, form, path):
    changes, paths = SWEEPS[form]
    run = plain_run.override(changes)
    grid = budget.exact(run, {path: np.array(paths[path])[:, None], "recovery.detection_min": np.array([0.0, 6.0])})
    assert grid.total_h.shape == (3, 2)
    for i, value in enumerate(paths[path]):
        single = budget.exact(run.override({path: value, "recovery.detection_min": 6.0}))
        for part in (*PARTS, "n_failures"):
            expected = getattr(single, part)
            assert getattr(grid, part)[i, 1] == pytest.approx(expected, rel=1e-12, abs=1e-14), part
