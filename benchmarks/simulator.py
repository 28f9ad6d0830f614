"""The simulator on one core: failures a second beside other ways to follow the same rules, and what else it costs.

Run as ``make bench``. Every ratio is of two timings in this one run; seconds are of the CPU and depend on the machine.
The process keeps to one core, and kernels are called in its own thread, as ``ettr.simulate`` calls them in each of its.
"""

from __future__ import annotations

import math
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import ettr
import simpy_core
from ettr import Scenario
from ettr.core.results import PARTS
from ettr.failures.hazards import settled_rate
from ettr.simulation import chunks, event_kernel, random_numbers
from ettr.simulation.columns import CONTROL, N_FAILURES, OUTCOME
from ettr.simulation.estimates import means
from ettr.simulation.from_scenario import rules_of

NODES, MANY_NODES, MTTF_H, REPEATS, SEED = 2_048, 125_000, 1.8, 3, 0
SHAPE, EXPOSED_H = 0.7, 1_300.0
LIMIT = 1_000_000
RATE = "failures.rate_per_1000_node_days"

CORE = Scenario.of(
    {
        "name": "core",
        "title": "2,048 nodes that fail every 1.8 h together",
        "cluster": {"n_gpus": 8 * NODES},
        "job": {"productive_h": 1000},
        "failures": {"rate_per_1000_node_days": 1000 * 24 / MTTF_H / NODES},
        "checkpoint": {"interval_min": 30, "stall_s": 60},
        "recovery": {"detection_min": 5, "restart_min": 10},
        "spares": {"n_nodes": 16},
        "repair": {"automatic_h": 24, "cv": 1.0},
    }
)
PEER = {"name": "peer memory", "interval_s": 60, "stall_s": 0.1, "write_s": 2, "load_s": 5, "survives": 0.8}
ONE_MORE = {
    "people": {"recovery.person_share": 0.1, "recovery.person_min": 60},
    "racks that fail": {"failures.modes": [{"name": "rack", "share": 0.05, "n_out_nodes": 4}]},
    "false alarms of a time-out": {"recovery.false_alarms_per_day": 1},
    "a write that slows": {"checkpoint.persist_s": 120, "checkpoint.persist_slowdown": 0.1},
    "burn-in": {"failures.burn_in": {"factor": 3, "decay_days": 10}},
    "lemons": {"failures.lemons": {"share": 0.02, "factor": 10}},
    "people who repair": {
        "repair.automatic_success": 0.7,
        "repair.manual_h": 24,
        "repair.n_crew": 8,
    },
    "pre-emptible spares": {"spares.n_preemptible": 4, "spares.preempt_min": 10},
    "retirement": {"repair.retire_after": 2, "repair.retire_window_days": 30, "repair.replacement_h": 200},
    "maintenance": {"maintenance": {"per_day": 0.2, "duration_min": 60}},
    "maintenance of a few nodes": {"maintenance": {"per_day": 1, "duration_min": 120, "rolling_nodes": 4}},
    "slow nodes": {"slow_nodes": {"per_1000_node_days": 1, "loss": 0.2, "detection_h": 6}},
    "peer memory": {"checkpoint.tiers": [PEER], "checkpoint.persist_s": 120},
    "warnings of failures": {"prediction": {"recall": 0.6, "precision": 0.85, "lead_s": 120, "action_s": 30}},
    "silent failures": {
        "failures.modes": [{"name": "corruption", "share": 0.05, "latency_h": 4, "latency_cv": 1}],
        "checkpoint.n_kept": 20,
    },
    "elastic": {"elastic": {"n_replicas": 64, "n_least": 48}},
    "lemons that are cured": {"failures.lemons": {"share": 0.02, "factor": 10, "cured_automatic": 0.5}},
    "spares that fail, idle ones": {"spares.n_idle": 8, "spares.select_min": 3, "spares.per_1000_node_days": 6},
    "spares at random, of lemons": {"spares.choose": "random", "failures.lemons": {"share": 0.02, "factor": 10}},
    "repairs of a gamma distribution": {"repair.distribution": "gamma"},
}
LATER = ("lemons that are cured", "spares at random, of lemons")
"""Written for one rule alone: together with others they would replace those."""
SLOWING, ELASTIC = "a write that slows", "elastic"
TOGETHER = {
    field: value
    for name, changes in ONE_MORE.items()
    if name not in {SLOWING, ELASTIC, *LATER}  # refused together with peer memory, and with lemons
    for field, value in changes.items()
} | {
    "failures.modes": [
        *ONE_MORE["racks that fail"]["failures.modes"],
        *ONE_MORE["silent failures"]["failures.modes"],
    ]
}


AIRESIM = Scenario.of(
    {
        "name": "airesim",
        "title": "4,096 nodes for 256 days, with all that AIReSim follows",
        "cluster": {"n_gpus": 8 * 4096},
        "job": {"productive_h": 24 * 256},
        "failures": {
            "rate_per_1000_node_days": 17.5,
            "lemons": {"share": 0.15, "factor": 6, "cured_automatic": 0.882, "cured_manual": 0.8},
        },
        "checkpoint": {"interval_min": 0.01, "stall_s": 0},
        "recovery": {"detection_min": 0, "restart_min": 20, "exposed": False},
        "spares": {
            "n_nodes": 16,
            "n_idle": 48,
            "select_min": 3,
            "n_preemptible": 200,
            "preempt_min": 20,
            "choose": "random",
        },
        "repair": {"automatic_h": 2, "automatic_success": 0.68, "manual_h": 48, "distribution": "exponential"},
    }
)

Times = tuple[float, np.ndarray, float]
"""Failures a second, total hours of each run, failures a run."""


def best_seconds(call: Callable[[], Any]) -> float:
    """CPU seconds of the fastest of some calls, after one that may compile."""
    call()
    times = []
    for _ in range(REPEATS):
        start = time.process_time()
        call()
        times.append(time.process_time() - start)
    return min(times)


def table_of(scenario: Scenario, n_runs: int, seed: int = SEED) -> np.ndarray:
    return chunks.piece(rules_of(scenario), seed, 0, n_runs, LIMIT)


def total_h(table: np.ndarray) -> np.ndarray:
    return table[:, : len(PARTS)].sum(axis=1)


def ours(scenario: Scenario, n_runs: int) -> Times:
    rules, table = rules_of(scenario), table_of(scenario, n_runs)
    seconds = best_seconds(lambda: chunks.piece(rules, SEED, 0, n_runs, LIMIT))
    return table[:, N_FAILURES].sum() / seconds, total_h(table), table[:, N_FAILURES].mean()


# ---------------------------------------------------------------------- failures a second


def on_nodes(n_nodes: int) -> Scenario:
    """The core run on another number of nodes, with the same failures of the job."""
    return CORE.override({"cluster.n_gpus": 8 * n_nodes, RATE: CORE.failure_rate * NODES / n_nodes})


def ageing(n_nodes: int, start: str) -> Scenario:
    """On Weibull nodes; those that start new have the core run's failures in as many exposed hours."""
    run = on_nodes(n_nodes).override({"failures.lifetime": {"shape": SHAPE, "start": start}})
    if start == "stationary":
        return run
    return run.override({RATE: settled_rate(EXPOSED_H / MTTF_H, n_nodes, EXPOSED_H, SHAPE) * 24_000})


def as_core(run: Scenario) -> simpy_core.Core:
    return simpy_core.Core(
        work=run.job.productive_h,
        tau=run.interval_h,
        stall=run.stall_h,
        n_nodes=run.n_nodes,
        node_rate=run.node_rate_per_h,
        detection=run.detection_h,
        queue=run.queue_h,
        restart=run.restart_h,
        n_spares=run.spares.n_nodes,
        repair=run.repair.automatic_h,
        repair_cv=run.repair.cv,
        shape=run.failures.lifetime.shape if run.failures.lifetime else 1.0,
    )


def reference(simulate: Callable[..., tuple[np.ndarray, np.ndarray]], run: Scenario, n_runs: int) -> Times:
    rules = as_core(run)
    totals, n_failures = simulate(rules, n_runs, SEED)
    seconds = best_seconds(lambda: simulate(rules, n_runs, SEED))
    return n_failures.sum() / seconds, totals, n_failures.mean()


@numba.njit(error_model="numpy")
def numbers_alone(n: int, sigma: float) -> float:
    """The random numbers of so many failures: one block, an exponential and two log-normal ones each."""
    total = 0.0
    for k in range(n):
        w0, w1, w2, _ = random_numbers.block(0, 0, k, random_numbers.FAILURE, 0)
        total += random_numbers.exponential(w0, 0, 0, k, random_numbers.FAILURE)
        total += random_numbers.lognormal(1.0, sigma, w1, 0, 0, k, random_numbers.FAILURE)
        total += random_numbers.lognormal(1.0, sigma, w2, 0, 0, k, random_numbers.FAILURE)
    return total


def print_speeds() -> None:
    print(f"\n{'one core':42}{'million failures/s':>19}{'times SimPy':>13}{'failures a run':>16}{'mean total [h]':>20}")

    def row(name: str, found: Times, simpy: Times | None) -> None:
        speed, totals, failures = found
        times = f"{speed / simpy[0]:13,.0f}" if simpy else f"{'-':>13}"
        error = totals.std(ddof=1) / math.sqrt(totals.size)
        print(f"{name:42}{speed / 1e6:19.3f}{times}{failures:16,.0f}{totals.mean():12,.1f} +- {error:4.1f}")

    simpy = reference(simpy_core.in_simpy, CORE, 40)
    row("core: SimPy", simpy, simpy)
    row("core: plain loop, numbers drawn in blocks", reference(simpy_core.in_a_loop, CORE, 400), simpy)
    row("core: ettr", ours(CORE, 2000), simpy)
    alone = 2_000_000 / best_seconds(lambda: numbers_alone(2_000_000, 0.5)) / 1e6
    print(f"{'core: its random numbers alone':42}{alone:19.3f}{alone * 1e6 / simpy[0]:13,.0f}")
    for n_nodes, n_runs in ((NODES, 40), (MANY_NODES, 10)):
        new = ageing(n_nodes, "new")
        by_node = reference(simpy_core.in_simpy_by_node, new, n_runs)
        row(f"{n_nodes:,} new Weibull nodes: SimPy", by_node, by_node)
        row(f"{n_nodes:,} new Weibull nodes: ettr", ours(new, 1000), by_node)
        row(f"{n_nodes:,} stationary Weibull nodes: ettr", ours(ageing(n_nodes, "stationary"), 1000), None)


# ---------------------------------------------------------------------- one rule more


def walked(scenario: Scenario, n_runs: int) -> Times:
    """As ``ours``, by the kernel that knows every rule."""
    rules, table, stop, no_trace = rules_of(scenario), table_of(scenario, n_runs), np.zeros(1, int), np.zeros((1, 3))
    seconds = best_seconds(lambda: event_kernel.walk(rules, SEED, 0, LIMIT, stop, table, no_trace))
    return table[:, N_FAILURES].sum() / seconds, total_h(table), table[:, N_FAILURES].mean()


def print_rules(n_runs: int = 40) -> None:
    core = ours(CORE, 1000)
    rows = {
        "core": core,
        "core, by the kernel that knows every rule": walked(CORE, n_runs),
        **{name: ours(CORE.override(changes), n_runs) for name, changes in ONE_MORE.items()},
        "all but a write that slows and elastic": ours(CORE.override(TOGETHER), n_runs),
    }
    print(f"\n{'one rule more':42}{'ns a failure':>19}{'times core':>13}{'failures a run':>16}{'mean total [h]':>20}")
    for name, (speed, totals, failures) in rows.items():
        print(f"{name:42}{1e9 / speed:19,.0f}{core[0] / speed:13.1f}{failures:16,.0f}{totals.mean():20,.0f}")


def print_airesim(n_runs: int = 100) -> None:
    speed, totals, failures = ours(AIRESIM, n_runs)
    print(
        f"\n{AIRESIM.title}: {1e9 / speed:.0f} ns a failure, {1e3 * failures / speed:.1f} ms a run of {failures:,.0f}"
    )
    print(
        f"failures, {totals.mean():,.0f} +- {totals.std(ddof=1) / math.sqrt(n_runs):.0f} h (AIReSim prints 9,832 +- 6)"
    )


# ---------------------------------------------------------------------- the first call


def fresh(code: str, folder: str) -> str:
    """What a fresh Python prints that runs this code; what it compiles stays in a folder of this benchmark."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    own = {"NUMBA_CACHE_DIR": folder, "PYTHONPYCACHEPREFIX": folder}
    command = [sys.executable, "-c", code]
    return subprocess.run(command, check=True, env=kept | own, stdout=subprocess.PIPE, text=True).stdout


def fresh_seconds(code: str, folder: str) -> float:
    """CPU seconds of a fresh Python that runs this code."""

    def used() -> float:
        spent = resource.getrusage(resource.RUSAGE_CHILDREN)
        return spent.ru_utime + spent.ru_stime

    start = used()
    fresh(code, folder)
    return used() - start


def reading(run: Scenario, folder: str) -> str:
    """Code that imports and reads a scenario."""
    path = Path(folder) / "scenario.yml"
    path.write_text(run.to_yaml(), encoding="utf-8")
    return f"import ettr, numba, pandas; run = ettr.Scenario.load({str(path)!r}); "


def print_first_calls(folder: str) -> None:
    read, kept = reading(CORE, folder), f"{folder}-kept"
    fresh(read + "numba.njit(lambda: 0.0)()", folder)  # bytecode
    rows = {
        "reference: a bare start of Python": fresh_seconds("pass", folder),
        "reference: imports, a scenario is read": fresh_seconds(read, folder),
    }
    for name, run in {
        **{preset: Scenario.load(preset) for preset in ("llama3-405b", "rsc-1")},
        "core": CORE,
        "ageing nodes": ageing(NODES, "new"),
        "every rule": CORE.override(TOGETHER),
    }.items():
        shutil.rmtree(kept, ignore_errors=True)
        shutil.copytree(folder, kept)  # what was compiled for one is not there for the next
        for how in ("compiled anew", "compiled before"):
            seconds = fresh_seconds(reading(run, kept) + "ettr.simulate(run, 1)", kept)
            rows[f"and one run of {name}, {how}"] = seconds
    shutil.rmtree(kept, ignore_errors=True)
    print(f"\n{'first call in a fresh process':42}{'s':>19}")
    for name, seconds in rows.items():
        print(f"{name:42}{seconds:19.2f}")


# ---------------------------------------------------------------------- how many runs


def print_precision() -> None:
    print(f"\n{'ETTR of the core run, warm':42}{'ms':>19}{'runs':>13}{'95% interval':>24}")
    for until in (1e-3, 3e-4):
        for controls in (True, False):
            options: dict[str, Any] = {"until": until, "control_variates": controls}
            found = ettr.simulate(CORE, **options)
            seconds = best_seconds(lambda options=options: ettr.simulate(CORE, **options))
            name = f"until={until:g}, {'control variates' if controls else 'plain means'}"
            low, high = found.ettr_interval
            print(f"{name:42}{seconds * 1e3:19.0f}{found.n_runs:13,}{low:16.4f} {high:.4f}")
    print(f"variance of the mean total without control variates: {ettr.simulate(CORE, 4000).variance_ratio:.1f} times")


def error_of_difference(one: np.ndarray, other: np.ndarray, controls: bool) -> float:
    """Standard error of the mean difference between two runs' totals."""
    difference = total_h(one) - total_h(other)
    known = np.column_stack((one[:, CONTROL:OUTCOME], other[:, CONTROL:OUTCOME])) if controls else None
    return float(means(difference[:, None], known).error[0])


def print_variances(n_runs: int = 4000) -> None:
    core, apart = table_of(CORE, n_runs), table_of(CORE, n_runs, SEED + 1)
    print(f"\n{'times fewer runs for a difference':42}{'same seed':>19}{'controls too':>13}")
    changes = {
        "interval of 25 min": {"checkpoint.interval_min": 25},
        "restart of 8 min": {"recovery.restart_min": 8},
        "detection of 3 min": {"recovery.detection_min": 3},
        "10% fewer failures": {RATE: CORE.failure_rate * 0.9},
        "20 spares": {"spares.n_nodes": 20},
    }
    for name, change in changes.items():
        other = table_of(CORE.override(change), n_runs)
        plain = error_of_difference(apart, other, False)
        same, both = (plain / error_of_difference(core, other, controls) for controls in (False, True))
        print(f"{name:42}{same**2:19.0f}{both**2:13.0f}")


# ---------------------------------------------------------------------- memory


def peak_mib(scenario: Scenario, n_runs: int, folder: str) -> float:
    """Most memory that a process holds which simulates so many runs and looks at them."""
    look = f"found = ettr.simulate(run, {n_runs}); found.runs, found.budget; "
    peak = "print(*(line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM')))"
    return float(fresh(reading(scenario, folder) + look + peak, folder)) / 1024


def print_memory(folder: str) -> None:
    short = CORE.override({"job.productive_h": 10})
    print(f"\n{'peak of memory':42}{'MiB':>19}")
    for name, scenario, n_runs in (
        ("10,000 runs of 10 h", short, 10_000),
        ("1,000,000 runs of 10 h", short, 1_000_000),
        ("1,000 runs, 1,000 ageing nodes", ageing(1_000, "new"), 1_000),
        ("1,000 runs, 125,000 ageing nodes", ageing(MANY_NODES, "new"), 1_000),
    ):
        print(f"{name:42}{peak_mib(scenario, n_runs, folder):19,.0f}")


def main() -> None:
    started = time.perf_counter()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    with tempfile.TemporaryDirectory() as folder:
        print_first_calls(folder)
        os.environ["NUMBA_CACHE_DIR"] = numba.config.CACHE_DIR = folder  # what was compiled there
        print_speeds()
        print_rules()
        print_airesim()
        print_precision()
        print_variances()
        print_memory(folder)
    print(f"\n{time.perf_counter() - started:.0f} s in all")


if __name__ == "__main__":
    main()
