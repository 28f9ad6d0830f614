"""Speed of the simulator's two kernels on one core, in failures per second, next to the SimPy model of the tests.

Run as ``make bench``. The fast kernel steps from failure to failure and supports few features; the event kernel
supports all. Ratios compare timings of this run; seconds are CPU time and depend on the machine.
"""

from __future__ import annotations

import math
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import simpy_model
from ettr import Scenario
from ettr.core.results import PARTS
from ettr.simulation import chunks, event_kernel
from ettr.simulation.columns import N_FAILURES
from ettr.simulation.from_scenario import rules_of

NODES, MTTF_H, REPEATS, SEED, LIMIT = 2_048, 1.8, 3, 0, 1_000_000
CORE = Scenario.of(
    {
        "name": "core",
        "title": "2,048 nodes with a job MTTF of 1.8 h",
        "cluster": {"n_gpus": 8 * NODES},
        "job": {"productive_h": 1000},
        "failures": {"rate_per_1000_node_days": 1000 * 24 / MTTF_H / NODES},
        "checkpoint": {"interval_min": 30, "stall_s": 60},
        "recovery": {"detection_min": 5, "restart_min": 10},
        "spares": {"n_nodes": 16},
        "repair": {"automatic_h": 24, "cv": 1.0},
    }
)
AGEING = CORE.override({"failures.lifetime": {"shape": 0.7}})

Times = tuple[float, np.ndarray, float]
"""Failures per second, total hours of each run, failures per run."""


def fastest_s(call: Callable[[], Any]) -> float:
    """Return the CPU seconds of the fastest of some calls, after one that may compile."""
    call()
    times = []
    for _ in range(REPEATS):
        start = time.process_time()
        call()
        times.append(time.process_time() - start)
    return min(times)


def simpy_times(scenario: Scenario, n_runs: int) -> Times:
    start = time.process_time()
    table = simpy_model.runs(scenario, n_runs, SEED)
    seconds = time.process_time() - start
    return table["n_failures"].sum() / seconds, table["total_h"], table["n_failures"].mean()


def kernel_times(scenario: Scenario, n_runs: int, *, every_rule: bool = False) -> Times:
    rules = rules_of(scenario)
    table = chunks.piece(rules, SEED, 0, n_runs, LIMIT)
    stop, no_trace = np.zeros(1, int), np.zeros((1, 3))

    def simulate() -> None:
        if every_rule:
            event_kernel.walk(rules, SEED, 0, LIMIT, stop, table, no_trace)
        else:
            chunks.piece(rules, SEED, 0, n_runs, LIMIT)

    seconds = fastest_s(simulate)
    failures = table[:, N_FAILURES]
    return failures.sum() / seconds, table[:, : len(PARTS)].sum(axis=1), failures.mean()


def main() -> None:
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    reference = simpy_times(CORE, 20)
    rows = {
        "SimPy": reference,
        "fast kernel": kernel_times(CORE, 2000),
        "event kernel": kernel_times(CORE, 100, every_rule=True),
        "event kernel, ageing nodes": kernel_times(AGEING, 100),
    }
    print(f"{'one core':30}{'million failures/s':>19}{'times SimPy':>13}{'failures/run':>14}{'mean total [h]':>20}")
    for name, (speed, total_h, failures) in rows.items():
        error_h = total_h.std(ddof=1) / math.sqrt(total_h.size)
        times = f"{speed / reference[0]:13,.0f}"
        print(f"{name:30}{speed / 1e6:19.3f}{times}{failures:14,.0f}{total_h.mean():12,.1f} +- {error_h:4.1f}")


if __name__ == "__main__":
    main()
