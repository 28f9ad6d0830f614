"""What a finishing date costs exactly, cold, again and in arrays, beside as many simulated runs as know it as well.

Run as ``make bench``. Every ratio is of two timings in this one run; seconds are of the CPU, all threads together, and
depend on the machine. The exact distribution is off by less than a millionth where failures are many; runs are counted
that know it to a thousandth, so that the ratio flatters the simulation. Fewer are measured, and their time is scaled.
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
"""Of a probability, by simulation."""
RUNS = (1.36 / ERROR) ** 2
"""Runs whose largest distance from the distribution is no more than that, 19 times in 20 (Kolmogorov and Smirnov)."""
MOST_RUNS, MOST_FAILURES = 20_000, 4e6
"""That are measured."""
REPEATS, STARTS = 30, 5
ALONE = {"maintenance": None, "spares": None, "repair": None}
SIDES = (10, 100)
"""Sizes, and intervals, of an array."""
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


def least(function: Callable[[], Any], repeats: int = REPEATS) -> float:
    """CPU seconds of the quickest of several calls, after one that warms up."""
    times = []
    for _ in range(repeats + 1):
        before = time.process_time()
        function()
        times.append(time.process_time() - before)
    return min(times[1:])


def cold() -> list[float]:
    """Seconds of a fresh process: its imports, reading a scenario, and its first distribution."""
    command = (sys.executable, "-c", COLD)
    printed = [subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout for _ in range(STARTS)]
    return [min(times) for times in zip(*(map(float, each.split()) for each in printed), strict=True)]


def a_point(run: Scenario, side: int) -> tuple[float, str]:
    """Seconds of each point of an array, and what it has less of than a single one: points answered, resolution."""
    n_gpus = 8 * np.linspace(1_536, 2_560, side).round()
    at = {
        "cluster.n_gpus": np.repeat(n_gpus, side),
        "checkpoint.interval_min": np.tile(np.geomspace(5, 12, side), side),
    }
    found = budget.finishing(run, at)
    answered, smoothed = np.isfinite(found.mean_h), found.smoothed_h / found.sd_h
    less = [f"{answered.mean():.0%} have an answer"] if not answered.all() else []
    less += [f"smoothed by {np.nanmax(smoothed):.2g} standard deviations"] if np.nanmax(smoothed) > 0 else []
    return least(lambda: budget.finishing(run, at), 2) / side**2, " and ".join(less)


def simulated(run: Scenario) -> tuple[float, int]:
    """Seconds of as many runs as know the distribution to :data:`ERROR`, and how many were measured."""
    n = int(min(MOST_RUNS, MOST_FAILURES / budget.exact(run).n_failures))
    return least(lambda: simulate(run, n), 2) / n * RUNS, n


def main() -> None:
    warnings.simplefilter("ignore", ValidityWarning)  # whose share of points is printed
    llama3 = Scenario.load("llama3-405b").override(ALONE)
    runs = {
        "plain": llama3,
        "with maintenance": Scenario.load("llama3-405b").override({"spares": None, "repair": None}),
        "three failures": llama3.override({"job.productive_h": 9.0}),
    }
    print(f"llama3-405b, {os.cpu_count()} cores ({platform.machine()}, {platform.system()}), seconds of the CPU")
    imports, reading, first = cold()
    print(f"a fresh process: imports {imports:.2f} s, a scenario {1e3 * reading:.1f} ms, its date {1e3 * first:.1f} ms")
    few, many = (f"{side**2:,} points" for side in SIDES)
    print(f"us each{'':12}{'again':>9}{few:>12}{many:>15}{f'{RUNS / 1e6:.2f} million runs':>20}{'times':>10}{'of':>8}")
    for name, run in runs.items():
        again, arrays = least(lambda run=run: budget.finishing(run)), [a_point(run, side) for side in SIDES]
        beside, measured = simulated(run)
        each = "".join(f"{1e6 * seconds:{width}.0f}" for (seconds, _), width in zip(arrays, (12, 15), strict=True))
        print(f"{name:19}{1e6 * again:9.0f}{each}{beside:18.1f} s{beside / again:10,.0f}{measured:8,}")
        for points, (_, less) in zip((few, many), arrays, strict=True):
            if less:
                print(f"{'':19}of {points} {less}")
    unknown = least(lambda: budget.finishing(llama3, rate_known=False))
    print(f"{'rate unknown':19}{1e6 * unknown:9.0f}, and there is no simulation to set beside it")
    print("times: the runs over one distribution that is made again; of: runs that were measured")


if __name__ == "__main__":
    main()
