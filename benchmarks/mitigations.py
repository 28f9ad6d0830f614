"""How long all mitigations take, and how many runs shared luck saves for each.

All of the catalogue are compared on the scenario of most chapters, and on the same run given by its tokens, on which
more of them act; 2,000 runs of each. The reference timed beside is the scenario itself: as many runs of it, and what
they would take if each were followed event by event in plain Python (a part of one run is timed). The ratio of runs is
that of variances: of two simulations with luck of their own, over that of the paired difference; for some it is
measured by independent simulations, too.
"""

from __future__ import annotations

import os
import platform
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from ettr import Scenario, compare
from ettr.recommendation import COMPARED
from simpy_model import runs as event_by_event

RUNS, MEASURED = 2_000, ("replica-recovery", "lemon-removal", "spare-pool")
SCENARIOS = "llama3-405b", "llama3-405b-tokens"


def independent_ratio(told: compare.Study, name: str, paired: compare.Difference) -> float:
    """Runs that two simulations of different seeds need for the paired error, from how far such differences spread."""
    other = compare.study(told.scenario, told.n_runs, told.seed + 1)
    one, two = told.before([name]).values("days"), other.runs([name]).values("days")
    variance = (one.var(ddof=1) + two.var(ddof=1)) / told.n_runs
    return float(variance / paired.error**2)


def timed(run: Scenario) -> compare.Comparison:
    """Compare all mitigations, and print what it took beside the references."""
    compare.mitigations(run, n_runs=2)  # compiles
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    since = time.perf_counter()
    found = compare.mitigations(run, n_runs=RUNS)
    took = time.perf_counter() - since
    n = int(found.frame["state"].isin(COMPARED).sum())
    print(f"{run.name}: {n} mitigations, {RUNS:,} runs of each: {took:.1f} s on {cores} cores of {platform.machine()}")
    told = compare.study(run, RUNS)
    since = time.perf_counter()
    told.runs()
    alone = time.perf_counter() - since
    print(f"  the scenario alone {alone:.2f} s: {took / alone:.0f} times that for {1 + n} scenarios")
    since = time.perf_counter()
    event_by_event(told.runs().scenario.override({"job.productive_h": 100, "job.tokens": None}), 1, 0)
    slow = (time.perf_counter() - since) * told.runs().scenario.productive_h / 100 * RUNS
    print(f"  event by event in SimPy {slow / 3600:.1f} h (from a part): {slow / alone:,.0f} times as long")
    return found


def main() -> None:
    found = [timed(Scenario.load(name)) for name in SCENARIOS][-1]
    compared = found.frame[found.frame["state"].isin(COMPARED)]
    print("runs that independent simulations need for the same error, over those with shared luck:")
    for row in compared.sort_values("days_runs_ratio", ascending=False).itertuples():
        print(f"  {row.id:28} {row.days_runs_ratio:10,.1f}")
    print(f"median {np.median(compared['days_runs_ratio']):,.1f}, least {compared['days_runs_ratio'].min():,.1f}")
    for name in MEASURED:
        paired = compare.gain(found.study.before([name]), found.study.runs([name]), "days")
        print(f"  {name}: {independent_ratio(found.study, name, paired):,.1f} by simulations with other seeds")


if __name__ == "__main__":
    main()
