"""What makes no sense, what never ends, and what is at the edge of sense."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from numba.core import caching

from ettr import budget, simulate
from ettr.core.errors import EttrError, InputError, NoProgress, NotModelled
from ettr.simulation import MOST_FAILURES, MOST_RUNS, chunks, runs
from ettr.simulation.compiling import compiled

NONSENSE = {
    "n_runs": [0, 1.5, True, MOST_RUNS + 1, "many", math.nan],
    "seed": [-1, 2**63, 0.5, None],
    "until": [0, 1, math.nan, "little", True],
    "timeline": [[10], [0.5], 3, "0"],
    "horizon_h": [0, math.inf, math.nan, "28", True],
}


def test_what_cannot_be_asked_for_is_refused(small_run):
    for name, values in NONSENSE.items():
        for value in values:
            with pytest.raises(InputError, match=f"{name} must be"):
                simulate(small_run, **{"n_runs": 10} | {name: value})
    with pytest.raises(InputError, match="takes a Scenario.*'rsc-1'"):
        simulate("rsc-1")


def test_a_timeline_that_would_fill_the_memory_is_refused(small_run):
    with pytest.raises(InputError, match="timeline"):
        simulate(
            small_run.override({"checkpoint.interval_min": 1e-3, "checkpoint.persist_s": 0}), 10, timeline=range(10)
        )


HOPELESS = {
    "far too large": {"cluster.n_gpus": 80_000_000},
    "never restarts": {"recovery.restart_min": 6000},
    "with tiers": {
        "cluster.n_gpus": 80_000_000,
        "checkpoint.tiers": [{"name": "memory", "interval_s": 270, "load_s": 1, "survives": 0.9}],
    },
}


@pytest.mark.parametrize("name", HOPELESS)
def test_a_hopeless_job_is_refused_at_once(small_run, name):
    began = time.monotonic()
    with pytest.raises(NoProgress, match=r"no progress.*expected ETTR.*limit.*1e-06") as refused:
        simulate(small_run.override(HOPELESS[name]), n_runs=10)
    assert isinstance(refused.value, EttrError)
    assert time.monotonic() - began < 5


STUCK = {
    "time-outs": {"recovery.false_alarms_per_day": 1e5},
    "silent ones, of which none is kept": {
        "failures.modes": [{"name": "sdc", "share": 1, "latency_h": 20}],
        "checkpoint.n_kept": 1,
        "failures.rate_per_1000_node_days": 2000,
    },
}
"""Mechanisms that the exact model does not cover."""


@pytest.mark.parametrize("name", STUCK)
def test_a_run_that_does_not_get_on_ends_at_a_limit(small_run, monkeypatch, name):
    monkeypatch.setattr(runs, "_LEAST_LIMIT", 20_000)
    with pytest.raises(NoProgress, match=r"made no progress: it reached the limit of [\d,]+ failures .* ETTR of"):
        simulate(small_run.override(STUCK[name]), n_runs=2)


def test_more_failures_than_a_call_may_meet_are_refused(small_run):
    n_runs = int(1.1 * MOST_FAILURES / budget.exact(small_run).n_failures)
    long_run = small_run.override({"job.productive_h": 3e5})
    with pytest.raises(NoProgress, match=r"limit of one call is 2,147,483,648.*expected ETTR"):
        simulate(long_run, n_runs=n_runs // 1000)
    with pytest.raises(NoProgress, match=r"until=1e-06 needs about [\d,]+ runs, which would meet.*a larger"):
        simulate(long_run, until=1e-6)
    with pytest.raises(InputError, match=r"until=1e-09 needs about .* runs, and the limit is 10,000,000: 200"):
        simulate(small_run, until=1e-9)


def test_failures_that_nobody_could_expect_are_counted(small_run, monkeypatch):
    """Of a rate that changes no closed form says how many there will be."""
    monkeypatch.setattr(runs, "MOST_FAILURES", 1000)
    run = small_run.override({"failures.burn_in": {"factor": 0, "decay_days": 2}})
    with pytest.raises(NoProgress, match=r"have met [\d,]+ failures, and the limit of one call is 1,000"):
        simulate(run, n_runs=3000)


def test_a_job_that_ends_before_its_rate_settles_is_no_hopeless_one(small_run):
    """At its settled rate this one would fail 6,000 times an hour; a young fleet is spared that."""
    run = small_run.override(
        {
            "cluster.n_gpus": 131_072,
            "failures.rate_per_1000_node_days": 250,
            "failures.burn_in": {"factor": 0, "decay_days": 100},
            "job.productive_h": 5,
            "checkpoint.persist_s": 0,
        }
    )
    simulated = simulate(run, n_runs=400)
    assert budget.over_time(run).ettr == pytest.approx(simulated.ettr, abs=4 * simulated.ettr_error)
    new = run.override({"failures.burn_in": None, "failures.lifetime": {"shape": 5, "start": "new"}})
    assert simulate(new, n_runs=20).ettr > 0.5


TOGETHER = {
    "checkpoint.tiers.*checkpoint.persist_slowdown": {
        "checkpoint.tiers": [{"name": "memory", "interval_s": 270, "survives": 0.9}],
        "checkpoint.persist_slowdown": 0.1,
    },
    "elastic.*failures.lifetime": {
        "elastic": {"n_replicas": 4, "n_least": 2},
        "spares": {"n_nodes": 1},
        "repair": {"automatic_h": 1},
        "failures.lifetime": {"shape": 2},
    },
    "multiple of the faster tier.*memory.*": {
        "checkpoint.tiers": [{"name": "memory", "interval_s": 1000, "survives": 0.9}],
    },
    "at most 7 checkpoint.tiers, got 8": {
        "checkpoint.interval_min": 128,
        "checkpoint.tiers": [
            {"name": f"tier {i}", "interval_s": 60 * 2**i, "survives": 0.1 * (i + 1)} for i in range(8)
        ],
    },
    "retire_after <= 16.*retire_window_days, got 17": {
        "spares": {"n_nodes": 1},
        "repair": {"automatic_h": 1, "retire_after": 17, "retire_window_days": 1, "replacement_h": 1},
    },
    r"at most 1e\+15 checkpoints per run, got": {
        "job.productive_h": 1e9,
        "checkpoint.persist_s": 0,
        "checkpoint.tiers": [{"name": "memory", "interval_s": 1e-6, "survives": 0.9}],
    },
}


@pytest.mark.parametrize("names", TOGETHER)
def test_what_has_no_rule_is_refused_by_name(small_run, names):
    with pytest.raises(NotModelled, match=names):
        simulate(small_run.override(TOGETHER[names]), n_runs=10)


def test_a_horizon_before_the_first_restart_ends_is_refused(small_run):
    with pytest.raises(InputError, match="horizon_h must be > 0.217 h, the first queue and restart, got 0.2"):
        simulate(small_run, n_runs=10, horizon_h=0.2)
    with pytest.raises(NotModelled, match="horizon_h together with job.include_start: false"):
        simulate(small_run.override({"job.include_start": False}), n_runs=10, horizon_h=10)


def test_a_hopeless_job_has_a_horizon_all_the_same(small_run):
    run = small_run.override({"recovery.restart_min": 6000})
    simulated = simulate(run, n_runs=20, horizon_h=200)
    assert simulated.ettr < 0.05 and simulated.total_h == pytest.approx(200)


ONE_NODE = {"cluster.n_gpus": 8, "failures.rate_per_1000_node_days": 4000}
EDGES = {
    "no failures": {"failures.rate_per_1000_node_days": 0},
    "no failures, many rules": {
        "failures.rate_per_1000_node_days": 0,
        "failures.lifetime": {"shape": 0.5, "start": "new"},
        "failures.lemons": {"share": 0.1, "factor": 3},
        "failures.burn_in": {"factor": 5, "decay_days": 1},
        "prediction": {"recall": 1, "precision": 0.5, "lead_s": 60, "action_s": 0},
        "spares": {"n_nodes": 0},
        "repair": {"automatic_h": 1},
    },
    "one node": ONE_NODE,
    "one node, no spare": ONE_NODE | {"spares": {"n_nodes": 0}, "repair": {"manual_h": 50}},
    "infant mortality of new nodes": {"failures.lifetime": {"shape": 0.2, "start": "new"}},
    "no spares and slow repair": {"spares": {"n_nodes": 0}, "repair": {"manual_h": 2000, "n_crew": 1, "cv": 3}},
    "all nodes at once, with clocks": {
        "failures.modes": [{"name": "power", "share": 0.5, "n_out_nodes": 16}],
        "failures.lifetime": {"shape": 0.5},
        "spares": {"n_nodes": 0},
        "repair": {"automatic_h": 5},
    },
    "less work than one stall": {"job.productive_h": 1e-3},
    "checkpoints all the time": {"checkpoint.interval_min": 0.01, "checkpoint.stall_s": 0, "checkpoint.persist_s": 0},
    "a write as long as the interval": {"checkpoint.persist_s": 2700, "checkpoint.stall_s": 0},
    "maintenance all day": {"maintenance": {"per_day": 100, "duration_min": 1}},
    "a fleet that never failed before": {"failures.burn_in": {"factor": 0, "decay_days": 0.5}},
}


@pytest.mark.parametrize("name", EDGES)
def test_the_edge_of_sense_is_simulated(small_run, name):
    run = small_run.override(EDGES[name])
    simulated = simulate(run, n_runs=100, seed=1)
    table = simulated.runs.to_numpy(dtype=float)
    assert np.isfinite(table).all() and (table >= 0).all()
    assert 0 < simulated.ettr <= 1
    if run.failure_rate == 0:
        assert simulated.budget.n_failures == 0 and simulated.budget.rework_h == 0
    else:
        assert simulated.runs["n_failures"].sum() > 0 or name == "less work than one stall"


class _Enough(Exception):
    pass


def test_a_call_is_broken_off_by_what_reports_progress(small_run, monkeypatch):
    """As by Ctrl-C in a notebook: no thread is left, and the next call is as good as any."""
    monkeypatch.setattr(chunks, "_EVENTS", 5000)
    monkeypatch.setattr(chunks, "_EVENTS_AT_ONCE", 0)
    before = threading.active_count()
    for kind in (KeyboardInterrupt, _Enough):

        def report(done, total, kind=kind):
            raise kind

        with pytest.raises(kind):
            simulate(small_run, n_runs=200_000, on_progress=report)
        assert threading.active_count() == before
    assert simulate(small_run, n_runs=10).n_runs == 10


INTERRUPTED = """
import sys, threading
from ettr import Scenario, simulate

run = Scenario.parse(sys.stdin.read())
for rare in (None, {"per_day": 1e-3, "duration_min": 1}):  # the kernel for simple runs, and that for every rule
    run = run.override({"maintenance": rare})
    simulate(run.override({"job.productive_h": 10}), n_runs=1)  # compiled
    print("ready", flush=True)
    try:
        simulate(run, n_runs=10)
    except KeyboardInterrupt:
        print("stopped", threading.active_count(), flush=True)
"""


@pytest.mark.skipif(os.name != "posix", reason="signals of another kind")
def test_ctrl_c_strikes_while_no_lock_of_the_threads_is_held(small_run):
    before, during = signal.getsignal(signal.SIGINT), set()
    simulate(small_run, 20_000, on_progress=lambda *_: during.add(signal.getsignal(signal.SIGINT)))
    assert during and before not in during and signal.getsignal(signal.SIGINT) is before


def test_ctrl_c_at_the_end_of_the_last_piece_is_not_lost(small_run):
    def interrupt_at_the_end(done, total):
        if done == total:
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        simulate(small_run, 20_000, on_progress=interrupt_at_the_end)


def test_ctrl_c_ends_a_long_call_within_a_second(small_run):
    """Ten runs of ten million failures each would take many seconds."""
    run = small_run.override({"job.productive_h": 3e7, "checkpoint.persist_s": 0})
    process = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        process.stdin.write(run.to_yaml())
        process.stdin.close()
        for _ in range(2):
            assert process.stdout.readline() == "ready\n", process.stderr.read()
            time.sleep(0.5)
            process.send_signal(signal.SIGINT)
            began = time.monotonic()
            assert process.stdout.readline() == "stopped 1\n", process.stderr.read()
            assert time.monotonic() - began < 2
        assert process.wait(timeout=10) == 0
    finally:
        process.kill()
        process.stdout.close()
        process.stderr.close()
        process.wait()


def test_without_a_folder_for_compiled_code_there_is_a_warning(monkeypatch):
    monkeypatch.setattr(caching.CacheImpl, "_locator_classes", [])
    with pytest.warns(RuntimeWarning, match="compiled code cannot be cached.*set NUMBA_CACHE_DIR") as caught:
        assert compiled(lambda number: number + 1)(2) == 3
    assert len(caught) == 1
