"""Simulated means against the exact form, from runs without a failure to runs that hardly get on."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import pytest
from agreement import FOUR, check

from ettr import budget, simulate
from ettr.core.errors import OutsideValidity

MODES = [
    {"name": "hang", "share": 0.3, "detection_min": 30, "restart_min": 20},
    {"name": "crash", "share": 0.5, "detection_min": 1, "queue_min": 12},
]
DEAD = {"recovery.detection_min": 6, "recovery.queue_min": 9}
WRITE = {"checkpoint.persist_s": 1200, "checkpoint.persist_slowdown": 0.2}
SIZES = {
    "no failure": {"failures.rate_per_1000_node_days": 0},
    "calm": {"cluster.n_gpus": 800},
    "plain": {},
    "rough": {"cluster.n_gpus": 24_000},
    "hardly": {"cluster.n_gpus": 40_000},
}
"""No failures, and mean times between them of 40 h, 4 h, 80 min and 48 min."""
WAYS = {
    "no write": DEAD,
    "write": DEAD | {"checkpoint.persist_s": 900},
    "write and slowdown": WRITE,
    "write as long as the interval": {"checkpoint.persist_s": 4500, "checkpoint.persist_slowdown": 0.2},
    "modes": WRITE | DEAD | {"failures.modes": MODES, "checkpoint.load_s": 300},
    "no stall, short interval": {"checkpoint.stall_s": 0, "checkpoint.interval_min": 10},
}
ENDS = {
    "steady": {},
    "whole": {"job.include_start": True, "job.first_queue_min": 90},
    "ragged": {"job.include_start": True, "job.productive_h": 20.3},
}
"""In the steady state, from a first queue with work of whole intervals, and with a rest."""
GRID = {", ".join(names): names for names in itertools.product(SIZES, WAYS, ENDS)}
ODD = {
    "shorter than an interval": {"job.include_start": True, "job.productive_h": 0.4},
    "ends during a write": WRITE | {"job.include_start": True, "job.productive_h": 20.1},
    "a rate of job and nodes": {
        "failures.observed_nodes": 1000,
        "failures.modes": [{"name": "software", "share": 0.3, "scales_with": "job", "factor": 2}],
        "cluster.n_gpus": 16_000,
    },
    "a store with a size": {
        "checkpoint.store": {"n_parameters": 2e12, "write_gb_s": 20, "read_gb_s": 200, "node_gb_s": 0.1},
        "checkpoint.persist_slowdown": 0.1,
    },
    "people": DEAD | {"recovery.person_share": 0.3, "recovery.person_min": 45},
    "detection that varies": DEAD | {"recovery.detection_cv": 1.5},
    "throttled": DEAD | {"job.throughput_factor": 0.8, "job.include_start": True},
}
"""``exact`` knows the mean of what follows a failure, whatever its distribution."""
N_FAILURES = 150_000


def _run(plain_run, name: str):
    if name in ODD:
        return plain_run.override(ODD[name])
    size, way, end = GRID[name]
    return plain_run.override(SIZES[size] | WAYS[way] | ENDS[end])


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


@pytest.mark.parametrize("name", [*GRID, *ODD])
def test_every_part_is_what_is_expected(plain_run, name):
    """With plain means, and with control variates, which leave the truth where it is."""
    run = _run(plain_run, name)
    expected = _of_a_run(run)
    n_runs = min(20_000, int(400 + N_FAILURES / expected.n_failures)) if expected.n_failures else 50
    plain = simulate(run, n_runs, seed=1, control_variates=False)
    check(plain, expected)
    sharper = simulate(run, n_runs, seed=1)
    check(sharper, expected)
    assert sharper.budget.total_h == pytest.approx(plain.budget.total_h, rel=FOUR * plain.total_error + 1e-12)


def test_the_grid_is_wide(plain_run):
    ettr = [budget.exact(_run(plain_run, name)).ettr for name in (*GRID, *ODD)]
    assert len(ettr) > 90
    assert max(ettr) > 0.99 and min(ettr) < 0.15
    assert sum(share < 0.3 for share in ettr) >= 10


RARE = (0.02, 0.05, 0.1, 0.2)
"""Requests for maintenance in one interval without a failure."""


@pytest.mark.parametrize("per_cycle", RARE)
@pytest.mark.parametrize("name", ["calm, no write, whole", "plain, modes, ragged", "rough, write and slowdown, whole"])
def test_maintenance_is_that_of_the_first_order(plain_run, name, per_cycle):
    """Where the form answers: it refuses what is more than half a per cent off."""
    run = _run(plain_run, name)
    cycle_h = run.interval_h + run.stall_h + run.checkpoint.persist_slowdown * run.persist_h
    run = run.override({"maintenance": {"per_day": 24 * per_cycle / cycle_h, "duration_min": 45}})
    try:
        expected = budget.exact(run)
    except OutsideValidity:
        assert per_cycle > 0.05
        return
    simulated = simulate(run, n_runs=4000, seed=2, control_variates=False)
    rows = simulated.budget_interval.set_index("part")
    for part in ("total", "maintenance"):
        mean, error = rows.loc[part, ["mean", "error"]]
        # requests that share a stop, and those after the last checkpoint, are not in the first order
        allowed = FOUR * error + 0.005 * expected.total_h
        assert mean == pytest.approx(getattr(expected, f"{part}_h"), abs=allowed), part
        assert error < 0.003 * expected.total_h, part
    stops = simulated.runs["n_planned"].to_numpy() * run.maintenance_h
    assert stops == pytest.approx(simulated.runs["maintenance_h"].to_numpy(), abs=1e-9)
