"""Failures that nobody notices for a while, where it is known what they do."""

from __future__ import annotations

import pytest

from agreement import FOUR, ROUNDING
from ettr import simulate

DEAD = {"recovery.detection_min": 4, "recovery.queue_min": 6}


def silent(latency_h: float) -> dict:
    return {"failures.modes": [{"name": "sdc", "share": 1, "latency_h": latency_h}]}


def test_what_nobody_has_found_at_the_end_is_counted_and_costs_nothing(plain_run):
    """One latency, longer than any run: no failure is ever found, and all that strike are hidden at the end."""
    run = plain_run.override(silent(1e6) | DEAD | {"job.include_start": True, "recovery.restart_min": 0})
    simulated = simulate(run, n_runs=4000, seed=7, control_variates=False)
    runs = simulated.runs
    exposed_h = 40 + 39 * run.stall_h
    assert runs["total_h"].to_numpy() == pytest.approx(exposed_h + run.first_queue_h, rel=ROUNDING)
    assert (runs["n_failures"] == 0).all()
    # a Poisson number, so its variance is its mean; four standard errors of each
    expected = run.job_rate_per_h * exposed_h
    assert runs["n_undetected"].mean() == pytest.approx(expected, abs=FOUR * (expected / 4000) ** 0.5)
    assert runs["n_undetected"].var() == pytest.approx(expected, rel=FOUR * (2 / 4000) ** 0.5)


def test_fewer_checkpoints_kept_mean_more_lost_work(plain_run):
    """A latency of 2.5 h spans two checkpoints or three: two kept are never enough, three sometimes, four always."""
    run = plain_run.override(silent(2.5) | DEAD | {"failures.rate_per_1000_node_days": 1})
    one, two, three, four, all_of_them = (
        simulate(run.override({"checkpoint.n_kept": kept}), 500, seed=8).runs["total_h"].to_numpy()
        for kept in (1, 2, 3, 4, None)
    )
    assert (one == two).all() and (four == all_of_them).all()
    assert two.mean() > three.mean() > four.mean()
    assert (three >= four - ROUNDING).all()
