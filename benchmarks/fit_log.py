"""How long `ettr fit` takes on a table of a million failures, where the time goes, and how much memory it needs.

The reference, timed in the same run, is pandas reading the same file into text.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

ROWS, CHUNK = 1_000_000, 250_000
COMPONENTS = ("GPU", "GPU memory", "NIC", "Switch", "Host", "Power supply", "Fan", "Software")
TEXT = "fault found by the health check of the node agent, ticket opened, see the runbook of the hall for the next step"


def write_table(path: Path, n_rows: int, n_nodes: int, days: float, text: str = "") -> None:
    """A table of failures at a constant rate, in the columns of an invented team."""
    rng = np.random.default_rng(0)
    begin = np.datetime64("2015-01-01T00:00:00")
    for first in range(0, n_rows, CHUNK):
        n = min(CHUNK, n_rows - first)
        start = np.sort(rng.uniform(first / n_rows, (first + n) / n_rows, n)) * days * 86_400
        opened = begin + start.astype("timedelta64[s]")
        closed = opened + (rng.lognormal(1.0, 1.0, n) * 3600).astype("timedelta64[s]")
        kind = rng.integers(0, len(COMPONENTS), n)
        frame = pd.DataFrame(
            {
                "opened_at": np.datetime_as_string(opened, "s"),
                "closed_at": np.datetime_as_string(closed, "s"),
                "host": [f"node{number:06d}" for number in rng.integers(0, n_nodes, n)],
                "component": np.array(COMPONENTS)[kind],
                "cause": [f"code {number}" for number in rng.integers(0, 200, n)],
            }
        )
        if text:
            frame["remark"] = text
        frame.to_csv(path, mode="a" if first else "w", header=first == 0, index=False)


def fit_once(path: Path, n_nodes: int) -> None:
    """Read, fit and plan in this process; print seconds by step and the peak of memory."""
    begun = time.perf_counter()
    from ettr import failures, logs, plan

    steps = [("import", time.perf_counter() - begun)]
    since = time.perf_counter()
    columns = {"start": "opened_at", "end": "closed_at", "node": "host"}
    log = logs.read(path, n_nodes=n_nodes, columns=columns, zone="UTC")
    steps.append(("read the log", time.perf_counter() - since))
    reading_mib = peak_mib()
    marks: list[tuple[str, float]] = []
    fit = failures.fit(log, progress=lambda step: marks.append((step, time.perf_counter())))
    ends = [mark for _, mark in marks[1:]] + [time.perf_counter()]
    steps += [(f"fit: {name}", end - mark) for (name, mark), end in zip(marks, ends, strict=True)]
    since = time.perf_counter()
    plan.from_fit(fit)
    steps.append(("plan", time.perf_counter() - since))
    for name, seconds in steps:
        print(f"  {name:32} {seconds:7.2f} s")
    print(f"  {'all':32} {sum(seconds for _, seconds in steps):7.2f} s   ({len(fit.start_h):,} failures)")
    print(f"  peak of memory: {reading_mib:,.0f} MiB to read, {peak_mib():,.0f} MiB to fit")


def peak_mib() -> float:
    """Most memory that this process has held so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def run_apart(path: Path, n_nodes: int) -> None:
    """Fit in a fresh process on one core, so that neither memory nor threads of this one count."""
    one_core = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    command = [sys.executable, __file__, "--once", str(path), "--nodes", str(n_nodes)]
    core = min(os.sched_getaffinity(0))
    subprocess.run(
        command, check=True, env={**os.environ, **one_core}, preexec_fn=lambda: os.sched_setaffinity(0, {core})
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--nodes", type=int, default=20_000)
    parser.add_argument("--gb", type=float, default=0.0, help="also fit a table of this size with a long remark a row")
    parser.add_argument("--once", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.once:
        fit_once(given.once, given.nodes)
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "failures.csv"
        write_table(path, given.rows, given.nodes, 365.0)
        since = time.perf_counter()
        pd.read_csv(path, dtype=str)
        seconds = time.perf_counter() - since
        print(f"{given.rows:,} rows, {path.stat().st_size / 1e6:.0f} MB, one core")
        run_apart(path, given.nodes)
        print(f"  reference: pandas reads the same file as text in {seconds:.2f} s")
        if given.gb:
            n_rows = int(given.gb * 1e9 / 200)
            write_table(path, n_rows, given.nodes, 3650.0, TEXT)
            print(f"{n_rows:,} rows, {path.stat().st_size / 1e9:.2f} GB, one core")
            run_apart(path, given.nodes)


if __name__ == "__main__":
    main()
