"""Every hour of every run is in exactly one part, whatever rules come together."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mixtures import mixture, policies

from ettr import simulate
from ettr.core.results import PARTS
from ettr.simulation.columns import N_COLUMNS
from ettr.simulation.event_kernel import walk
from ettr.simulation.from_scenario import rules_of
from ettr.simulation.repair_stages import PREEMPTIBLE
from ettr.simulation.state import STATE

N_RUNS, TRACED = 12, (0, 3, 11)
IN_TRAINING = ["productive_h", "slowdown_h", "degraded_h"]
_FIXED = settings(
    max_examples=30, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@st.composite
def _changes(draw):
    rules = draw(st.sampled_from([mixture, policies]))
    return rules(lambda values: draw(st.sampled_from(values)))


@_FIXED
@given(changes=_changes())
def test_parts_sum_to_the_total_and_the_timeline_to_the_parts(small_run, changes):
    run = small_run.override(changes)
    simulated = simulate(run, n_runs=N_RUNS, seed=1, timeline=TRACED)
    runs = simulated.runs
    _check_runs(run, runs)
    for number in TRACED:
        _check_timeline(runs.loc[number], simulated.timeline[simulated.timeline["run"] == number])


def _check_runs(run, runs: pd.DataFrame) -> None:
    parts = runs[list(PARTS)].to_numpy()
    assert np.isfinite(runs.to_numpy(dtype=float)).all()
    assert (parts >= 0).all()
    assert parts.sum(axis=1) == pytest.approx(runs["total_h"].to_numpy(), rel=1e-12)
    assert runs["productive_h"].to_numpy() == pytest.approx(run.work_h, rel=1e-9)
    assert runs["ettr"].to_numpy() == pytest.approx((run.work_h / runs["total_h"]).to_numpy(), rel=1e-9)
    counts = runs[["n_failures", "n_planned", "n_undetected", "n_waits"]].to_numpy()
    assert (counts >= 0).all() and (counts == np.round(counts)).all()
    # rounding of sums of some hundred numbers
    assert (runs["waiting_h"] <= runs["queue_h"] + 1e-9).all()
    assert ((runs["waiting_h"] > 0) <= (runs["n_waits"] > 0)).all()
    assert (runs["n_waits"] <= runs["n_failures"]).all() and not runs["n_ended"].any()
    assert (runs["queue_h"] >= run.first_queue_h - 1e-12).all()
    if run.maintenance is None:
        assert (runs["maintenance_h"] == 0).all()
    if not run.failures.modes or all(mode.latency_h is None for mode in run.failures.modes):
        assert (runs["n_undetected"] == 0).all()
    if run.checkpoint.persist_slowdown == 0:
        assert (runs["slowdown_h"] == 0).all()
    if run.elastic is None and run.slow_nodes is None:
        assert (runs["degraded_h"] == 0).all()


def _check_timeline(row: pd.Series, lines: pd.DataFrame) -> None:
    """Stretches follow each other from 0 to the total, and each state has the hours of its parts."""
    start, end = lines["start_h"].to_numpy(), lines["end_h"].to_numpy()
    total_h = row["total_h"]
    assert start[0] == 0 and end[-1] == pytest.approx(total_h, rel=1e-9)
    assert start[1:] == pytest.approx(end[:-1], abs=1e-9 * total_h)
    assert (end > start).all()
    hours = (lines["end_h"] - lines["start_h"]).groupby(lines["state"], observed=False).sum()
    expected = {
        "training": row[IN_TRAINING].sum(),
        "checkpoint": row["checkpoint_h"],
        "rework": row["rework_h"],
        "detection": row["detection_h"],
        "queue": row["queue_h"],
        "restart": row["restart_h"],
        "maintenance": row["maintenance_h"],
    }
    assert set(hours.index) == set(expected)
    for state, value in expected.items():
        assert hours[state] == pytest.approx(value, abs=1e-8 * total_h), state


def test_the_timeline_of_a_run_does_not_depend_on_which_others_are_asked_for(small_run):
    alone = simulate(small_run, n_runs=40, seed=3, timeline=[17]).timeline
    among = simulate(small_run, n_runs=40, seed=3, timeline=[30, 17, 17, 2]).timeline
    assert list(among["run"].unique()) == [2, 17, 30]
    pd.testing.assert_frame_equal(among[among["run"] == 17].reset_index(drop=True), alone)
    assert simulate(small_run, n_runs=40, seed=3).timeline.empty
    assert list(simulate(small_run, n_runs=1).timeline.columns) == list(alone.columns)


def test_spare_hours_are_those_of_the_hot_spares(small_run):
    run = small_run.override({"spares": {"n_nodes": 3, "n_preemptible": 5}, "repair": {"automatic_h": 4}})
    simulated = simulate(run, n_runs=50)
    assert simulated.budget.spare_gpu_h == pytest.approx(3 * 8 * simulated.budget.total_h, rel=1e-12)
    assert simulate(small_run, n_runs=50).budget.spare_gpu_h == 0


@_FIXED
@given(changes=_changes())
def test_no_node_is_lost(small_run, changes):
    """Job, spares and repair always add up to the same number of nodes, and each node of the job fails by one clock."""
    rules = rules_of(small_run.override(changes))
    state, stop = np.zeros(1, STATE), np.zeros(1, np.int64)
    for run in range(N_RUNS):
        table, trace = np.zeros((1, N_COLUMNS)), np.zeros((1, 3))
        walk(rules, 3, run, 10**6, stop, table, trace, state)
        end = state[0]
        in_job = rules.run["n_nodes"] - end["missing"]
        in_repair = end["n_repair"] + end["n_queued"]
        everybody = rules.run["n_nodes"] + rules.run["stock"].sum() - end["n_gone"]
        assert in_job + in_repair + end["stock"].sum() == everybody
        assert 0 <= end["n_found"] <= end["n_slow"] <= in_job
        assert end["stock"][PREEMPTIBLE] <= rules.run["stock"][PREEMPTIBLE]
        if rules.run["aged"]:
            assert end["fresh"].sum() + end["n_clocks"] == in_job
