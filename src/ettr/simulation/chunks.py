"""Simulate many runs in threads, in pieces."""

from __future__ import annotations

import concurrent.futures
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ettr.simulation.columns import N_COLUMNS
from ettr.simulation.event_kernel import walk
from ettr.simulation.fast_kernel import fast_kernel
from ettr.simulation.from_scenario import is_straight
from ettr.simulation.rules import Rules

_EVENTS, _EVENTS_AT_ONCE = 50_000, 100_000
"""Failures in one piece, a few hundredths of a second; and the failures up to which no threads are started."""
_LOOK_S = 0.05
OnDone = Callable[[np.ndarray], None]
"""Takes simulated rows; may raise an error to stop the simulation."""


def piece(
    rules: Rules, seed: int, first_run: int, n_runs: int, limit: int, stop: np.ndarray | None = None
) -> np.ndarray:
    """Simulate consecutive runs; return one row per run."""
    table = np.zeros((n_runs, N_COLUMNS))
    stop = np.zeros(1, np.int64) if stop is None else stop
    if is_straight(rules):
        kernel = fast_kernel(bool(rules.run["aged"]), bool(rules.run["pooled"]))
        kernel(rules.run, rules.modes, seed, first_run, limit, stop, table)
    else:
        walk(rules, seed, first_run, limit, stop, table, np.zeros((1, 3)))
    return table


def trace_run(rules: Rules, seed: int, run: int, limit: int) -> np.ndarray:
    """Record one run: a row per stretch, with state, start and end. Ctrl-C stops it."""
    stop, table = np.zeros(1, np.int64), np.zeros((1, N_COLUMNS))
    with _ctrl_c_to(stop), concurrent.futures.ThreadPoolExecutor(1) as executor:
        future = executor.submit(walk, rules, seed, run, limit, stop, table, np.zeros((1024, 3)))
        return future.result()


def simulate_runs(
    rules: Rules, seed: int, runs: range, limit: int, failures_per_run: float, on_done: OnDone
) -> np.ndarray:
    """Simulate runs and return one row per run, in their order, whichever thread simulated them.

    Ctrl-C stops the threads within a fraction of a second.
    """
    table = np.empty((len(runs), N_COLUMNS))
    if is_straight(rules) and len(runs) * max(failures_per_run, 10.0) <= _EVENTS_AT_ONCE:
        table[:] = piece(rules, seed, runs.start, len(runs), limit)
        on_done(table)
        return table
    size = int(max(1, min(len(runs), _EVENTS // max(failures_per_run, 50.0))))
    stop = np.zeros(1, np.int64)
    piece(rules, seed, 0, 0, limit)  # compile in the main thread, where Ctrl-C works
    with _ctrl_c_to(stop), concurrent.futures.ThreadPoolExecutor(_n_threads()) as executor:
        futures: dict[Any, slice] = {}
        try:
            for at in range(0, len(runs), size):
                n = min(size, len(runs) - at)
                future = executor.submit(piece, rules, seed, runs.start + at, n, limit, stop)
                futures[future] = slice(at, at + n)
            while futures:
                done, _ = concurrent.futures.wait(
                    futures, timeout=_LOOK_S, return_when=concurrent.futures.FIRST_COMPLETED
                )
                if stop[0]:
                    raise KeyboardInterrupt  # what is done now may be unfinished
                for future in done:
                    rows = futures.pop(future)
                    table[rows] = future.result()
                    on_done(table[rows])
        except BaseException:
            stop[0] = 1
            executor.shutdown(cancel_futures=True)
            raise
    return table


@contextmanager
def _ctrl_c_to(stop: np.ndarray) -> Iterator[None]:
    """Let Ctrl-C set the flag to stop, and raise its error at the end, when no thread holds a lock."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def set_flag(*_: Any) -> None:
        stop[0] = 1

    before = signal.getsignal(signal.SIGINT)
    if before is signal.default_int_handler:
        signal.signal(signal.SIGINT, set_flag)
    try:
        yield
    finally:
        if before is signal.default_int_handler:
            signal.signal(signal.SIGINT, before)
    if stop[0]:
        raise KeyboardInterrupt


def _n_threads() -> int:
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1
