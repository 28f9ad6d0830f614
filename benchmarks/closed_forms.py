"""Closed forms over ten million points of size and interval, beside a bare NumPy evaluation of the same expressions.

Run as ``make bench``. Every ratio is of two timings in this one run; seconds depend on the machine.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from ettr import Scenario, budget, checkpoint
from ettr.core.validity import ValidityWarning

ROWS, COLUMNS, REPEATS = 10_000, 1_000, 3


def best_seconds(call: Callable[[], Any]) -> float:
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def bare_runtime(mttf, tau, work, stall, restart):
    return mttf * np.exp(restart / mttf) * np.expm1((tau + stall) / mttf) * work / tau


def bare_parts(rate, tau, work, w, p, s, d, r):
    """The steady-state table of the methods chapter, as one would write it down: all parts of a budget."""
    length, head = tau + w + s * p, (1 - s) * p
    a, grown, again = np.exp(rate * head), np.expm1(rate * length), np.exp(rate * r)
    segments = work / tau
    kept = s * p * np.exp(-rate * length)
    failures = segments * grown * again * a
    return (
        segments * tau,
        segments * w,
        segments * kept,
        segments * (grown * a / rate - tau - w - kept),
        failures * d,
        segments * grown * a * np.expm1(rate * r) / rate,
        failures,
    )


def main() -> None:
    run = Scenario.load("llama3-405b").override({"maintenance": None, "job.include_start": False})
    n_gpus = np.geomspace(1_000, 200_000, ROWS)[:, None]
    interval_min = np.linspace(5, 120, COLUMNS)[None, :]
    rate = run.job_rate_per_h * n_gpus / run.cluster.n_gpus
    work, tau = run.job.productive_h, interval_min / 60
    at = {"cluster.n_gpus": n_gpus, "checkpoint.interval_min": interval_min}
    s, started = run.checkpoint.persist_slowdown, run.override({"job.include_start": True})
    restart, stall, down = run.restart_h, run.stall_h, run.detection_h + run.queue_h
    timed = {
        "expected_runtime": (
            best_seconds(lambda: checkpoint.expected_runtime(work, tau, stall, 1 / rate, restart)),
            best_seconds(lambda: bare_runtime(1 / rate, tau, work, stall, restart)),
        ),
        "budget.exact, steady state, all parts": (
            best_seconds(lambda: budget.exact(run, at)),
            best_seconds(lambda: bare_parts(rate, tau, work, stall, run.persist_h, s, down, restart)),
        ),
    }
    print(f"{ROWS * COLUMNS:,} points of (size, interval), best of {REPEATS}, one call each")
    print(f"{'':40}{'million points/s':>18}{'bare NumPy':>12}{'times bare':>12}")
    for name, (ours, bare) in timed.items():
        millions = ROWS * COLUMNS / 1e6
        print(f"{name:40}{millions / ours:18.1f}{millions / bare:12.1f}{ours / bare:12.2f}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ValidityWarning)
        whole = best_seconds(lambda: budget.exact(started, at))
    print(f"{'budget.exact, with start and last segment':40}{ROWS * COLUMNS / 1e6 / whole:17.1f}")
    same = checkpoint.expected_runtime(work, tau, stall, 1 / rate, restart) / bare_runtime(
        1 / rate, tau, work, stall, restart
    )
    print(f"largest relative difference to the bare expression: {np.abs(same - 1).max():.1e}")


if __name__ == "__main__":
    main()
