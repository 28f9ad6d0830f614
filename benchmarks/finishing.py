"""What a finishing date costs exactly, cold, again and in arrays, beside as many simulated runs as know it as well.

Run as ``make bench``. The exact distribution is off by less than a millionth where failures are many; runs are counted
that know it to a thousandth, so that the ratio flatters the simulation. Their time is measured of fewer and scaled.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from ettr import Scenario, budget, simulate

ERROR = 1e-3
"""Of a probability, by simulation."""
RUNS = (1.36 / ERROR) ** 2
"""Runs whose largest distance from the distribution is no more than that, 19 times in 20 (Kolmogorov and Smirnov)."""
MEASURED_RUNS, MOST_FAILURES = 20_000, 4e6
POINTS, REPEATS = 10_000, 30
TIERS = [
    {"name": "memory", "interval_s": 60, "stall_s": 0.5, "write_s": 5, "load_s": 5, "survives": {"all": 0.6}},
    {"name": "peer", "interval_s": 300, "stall_s": 2, "write_s": 30, "load_s": 30, "survives": {"all": 0.9}},
]
ALARMS = {"recall": 0.6, "precision": 0.7, "lead_s": 120, "action_s": 20}
ALONE = {"maintenance": None, "spares": None, "repair": None}
COLD = """
import time
from ettr import Scenario, budget
run = Scenario.load("llama3-405b").override({"maintenance": None, "spares": None, "repair": None})
before = time.perf_counter()
budget.finishing(run)
print(time.perf_counter() - before)
"""


def least(function: Callable[[], Any], repeats: int = REPEATS) -> float:
    """Seconds of the quickest of several calls."""
    times = []
    for _ in range(repeats):
        before = time.perf_counter()
        function()
        times.append(time.perf_counter() - before)
    return min(times)


def simulated(run: Scenario) -> float:
    """Seconds of as many runs as know the distribution to :data:`ERROR`."""
    n = int(max(100, min(MEASURED_RUNS, MOST_FAILURES / max(1.0, budget.exact(run).n_failures))))
    simulate(run, 100)
    return least(lambda: simulate(run, n), 3) / n * RUNS


def main() -> None:
    llama3 = Scenario.load("llama3-405b").override(ALONE)
    runs = {
        "plain": llama3,
        "with maintenance": Scenario.load("llama3-405b").override({"spares": None, "repair": None}),
        "with two tiers": llama3.override({"checkpoint.tiers": TIERS}),
        "with warnings": llama3.override({"prediction": ALARMS}),
        "three failures": llama3.override({"job.productive_h": 9.0}),
    }
    command = (sys.executable, "-c", COLD)
    cold = min(float(subprocess.run(command, check=True, capture_output=True).stdout) for _ in range(5))
    print(f"the first in a process: {1e3 * cold:.1f} ms, after the imports")
    interval_min = {"checkpoint.interval_min": np.geomspace(5, 12, POINTS)}
    print(f"{'':18s} {'again':>10s} {'in arrays':>12s}   {RUNS / 1e6:.2f} million runs   times that of one")
    for name, run in runs.items():
        seconds = least(lambda run=run: budget.finishing(run))
        each = "-"
        if "tiers" not in name:  # whose intervals must divide each other
            each = f"{1e6 * least(lambda run=run: budget.finishing(run, interval_min), 2) / POINTS:.0f} us"
        beside = simulated(run)
        print(f"{name:18s} {1e6 * seconds:7.0f} us {each:>12s} {beside:13.1f} s {beside / seconds:14,.0f}")
    seconds = least(lambda: budget.finishing(llama3, rate_known=False))
    print(f"{'rate unknown':18s} {1e6 * seconds:7.0f} us")


if __name__ == "__main__":
    main()
