"""CPU time of an exact finishing-date distribution (cold, repeated, in arrays), next to simulation of equal accuracy.

Run as ``make bench``. Ratios compare timings of this run; seconds are CPU time of all threads and depend on the
machine. The exact distribution has an error below 1e-6 with many failures. The simulation is sized for an error of
1e-3, which favours it; fewer runs are measured, and their time is scaled.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from ettr import Scenario, budget, simulate
from ettr.core.validity import ValidityWarning

ERROR = 1e-3
"""Largest error of a probability from the simulation."""
RUNS = (1.36 / ERROR) ** 2
"""Runs for which the Kolmogorov-Smirnov distance is below that error with 95% probability."""
MOST_RUNS, MOST_FAILURES = 20_000, 4e6
"""Most runs and failures that are measured."""
REPEATS, STARTS = 30, 5
ALONE = {"maintenance": None, "spares": None, "repair": None}
SIDES = (10, 100)
"""Number of sizes, and of intervals, of an array."""
COLD = """
import time
times = [time.process_time()]
from ettr import Scenario, budget
budget.finishing
times.append(time.process_time())
run = Scenario.load("llama3-405b").override({"maintenance": None, "spares": None, "repair": None})
times.append(time.process_time())
budget.finishing(run)
times.append(time.process_time())
print(*(later - before for before, later in zip(times, times[1:])))
"""


def fastest_s(function: Callable[[], Any], repeats: int = REPEATS) -> float:
    """Return the CPU seconds of the fastest of several calls, after a warm-up."""
    times = []
    for _ in range(repeats + 1):
        before = time.process_time()
        function()
        times.append(time.process_time() - before)
    return min(times[1:])


def cold() -> list[float]:
    """Return the seconds of a new process for its imports, reading a scenario, and the first distribution."""
    command = (sys.executable, "-c", COLD)
    outputs = [subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout for _ in range(STARTS)]
    return [min(times) for times in zip(*(map(float, output.split()) for output in outputs), strict=True)]


def per_point(run: Scenario, side: int) -> tuple[float, str]:
    """Return the seconds per point of an array, and its limitations: missing points, smoothing."""
    n_gpus = 8 * np.linspace(1_536, 2_560, side).round()
    at = {
        "cluster.n_gpus": np.repeat(n_gpus, side),
        "checkpoint.interval_min": np.tile(np.geomspace(5, 12, side), side),
    }
    result = budget.finishing(run, at)
    answered, smoothed = np.isfinite(result.mean_h), result.smoothed_h / result.sd_h
    limits = [f"{answered.mean():.0%} have a result"] if not answered.all() else []
    limits += [f"smoothed by {np.nanmax(smoothed):.2g} standard deviations"] if np.nanmax(smoothed) > 0 else []
    return fastest_s(lambda: budget.finishing(run, at), 2) / side**2, " and ".join(limits)


def simulated(run: Scenario) -> tuple[float, int]:
    """Return the seconds of a simulation with an error of :data:`ERROR`, and the number of measured runs."""
    n = int(min(MOST_RUNS, MOST_FAILURES / budget.exact(run).n_failures))
    return fastest_s(lambda: simulate(run, n), 2) / n * RUNS, n


def main() -> None:
    warnings.simplefilter("ignore", ValidityWarning)  # the share of such points is printed
    llama3 = Scenario.load("llama3-405b").override(ALONE)
    runs = {
        "no maintenance": llama3,
        "with maintenance": Scenario.load("llama3-405b").override({"spares": None, "repair": None}),
        "three failures": llama3.override({"job.productive_h": 9.0}),
    }
    print(f"llama3-405b, {os.cpu_count()} cores ({platform.machine()}, {platform.system()}), seconds of the CPU")
    imports, reading, first = cold()
    print(f"new process: imports {imports:.2f} s, scenario {1e3 * reading:.1f} ms, distribution {1e3 * first:.1f} ms")
    few, many = (f"{side**2:,} points" for side in SIDES)
    runs_text = f"{RUNS / 1e6:.2f} million runs"
    print(f"us per point{'':7}{'repeated':>9}{few:>12}{many:>15}{runs_text:>20}{'ratio':>10}{'runs':>8}")
    for name, run in runs.items():
        repeated, arrays = fastest_s(lambda run=run: budget.finishing(run)), [per_point(run, side) for side in SIDES]
        runs_s, measured = simulated(run)
        points_us = "".join(f"{1e6 * seconds:{width}.0f}" for (seconds, _), width in zip(arrays, (12, 15), strict=True))
        print(f"{name:19}{1e6 * repeated:9.0f}{points_us}{runs_s:18.1f} s{runs_s / repeated:10,.0f}{measured:8,}")
        for points, (_, limits) in zip((few, many), arrays, strict=True):
            if limits:
                print(f"{'':19}of {points} {limits}")
    unknown = fastest_s(lambda: budget.finishing(llama3, rate_known=False))
    print(f"{'rate uncertain':19}{1e6 * unknown:9.0f}, without a comparable simulation")
    print("ratio: simulation time / time of a repeated distribution; runs: number of measured runs")


if __name__ == "__main__":
    main()
