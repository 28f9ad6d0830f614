"""How long a power series takes, beside one that samples the waveform plainly, and how much memory it needs.

The reference, timed in the same run, does the same on a window: it samples each bin finely, looks up state and phase,
and takes means. Its answer differs by what falls between samples.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

DAYS = 54
SAMPLES = 100
"""Of the reference, in a bin."""


def sampled_mw(timeline: pd.DataFrame, profile: Any, step_s: float, start_h: float, n: int) -> np.ndarray:
    """Power of the computers by plain sampling, without jitter."""
    own, wave = profile, profile.waveform
    edges = np.append(timeline["start_h"], timeline["end_h"].iloc[-1]) * 3600
    at_s = start_h * 3600 + (np.arange(n * SAMPLES) + 0.5) * step_s / SAMPLES
    i = np.searchsorted(edges, at_s, side="right") - 1
    gpu_w = np.array([own.gpu_w(state) for state in timeline["state"]])[i]
    steps = timeline["state"].isin(["training", "rework"]).to_numpy()[i]
    phase = np.mod(at_s - edges[i], wave.step_s) / wave.step_s
    ends = np.cumsum([one.share for one in wave.phases])
    levels = np.array([one.gpu_w for one in wave.phases])
    gpu_w[steps] = levels[np.minimum(np.searchsorted(ends, phase[steps], side="right"), len(levels) - 1)]
    return (gpu_w.reshape(n, SAMPLES).mean(axis=1) + own.other_w) * own.n_gpus / 1e6


def best_s(call: Callable[[], Any], repeats: int = 3) -> float:
    """Least seconds of some calls."""
    found = []
    for _ in range(repeats):
        since = time.perf_counter()
        call()
        found.append(time.perf_counter() - since)
    return min(found)


def measure() -> None:
    """Print seconds of both, their ratio by bin, the errors of the energy, and the peak of memory."""
    from dataclasses import replace

    from ettr import Scenario, power, simulate

    run = Scenario.load("llama3-405b")
    timeline = simulate(run, 1, timeline=[0]).timeline
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    profile = power.profile(run)
    still = replace(profile, waveform=replace(profile.waveform, jitter_s=0.0))
    print(f"{'a run of 16,384 GPUs':44}{'bins':>12}{'s':>10}{'ns a bin':>12}")
    since = time.perf_counter()
    for name, step_s, window in (
        (f"{DAYS} days at 1 s, at the grid", 1.0, (0.0, DAYS * 24.0)),
        ("an hour at 10 ms, at the grid", 0.01, (100.0, 101.0)),
    ):
        end_h = min(window[1], float(timeline["end_h"].iloc[-1]))
        seconds = best_s(lambda a=step_s, b=window[0], c=end_h: power.series(timeline, profile, a, b, c), 1)
        n = round((end_h - window[0]) * 3600 / step_s)
        print(f"{name:44}{n:12,}{seconds:10.3f}{1e9 * seconds / n:12.1f}")
    print(f"{'both, first calls':44}{'':12}{time.perf_counter() - since:10.3f}")
    print(f"peak of memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:,.0f} MiB, {before:,.0f} before")

    window_h = 24.0
    n = round(window_h * 3600)
    ours = best_s(lambda: power.series(timeline, still, 1.0, 100.0, 100.0 + window_h, at="computers"))
    plain = best_s(lambda: sampled_mw(timeline, still, 1.0, 100.0, n))
    found = power.series(timeline, still, 1.0, 100.0, 100.0 + window_h, at="computers")
    exact = power.energy(timeline, still, found.start_h, found.end_h)["it_mwh"].sum()
    off = abs(sampled_mw(timeline, still, 1.0, 100.0, n).sum() / 3600 / exact - 1)
    print(f"\n{window_h:g} h at 1 s: {ours:.4f} s, by {SAMPLES} samples a bin {plain:.3f} s: {plain / ours:.0f} times")
    print(f"energy off by {abs(found.energy_mwh / exact - 1):.1e}, sampled by {off:.1e}")
    window = power.series(timeline, profile, 0.05, 99.5, 101.5, at="computers")
    power.compare(window, power.Target(0.2))  # compiled here
    print(f"four options sized on {window.n:,} bins: {best_s(lambda: power.compare(window, power.Target(0.2))):.2f} s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--here", action="store_true", help="measure in this process")
    if parser.parse_args().here:
        measure()
    else:
        subprocess.run([sys.executable, __file__, "--here"], check=True)  # a process of its own, for its memory


if __name__ == "__main__":
    main()
