"""Sweeps: seconds a point, beside a loop over papermill and the bare start of a kernel, in one run.

Run as ``make bench``. Two notebooks: ``ettr/scale`` with all its charts, and a light one that reads a scenario and
plans. The loop is papermill as it comes, in one process, for fewer points: each of them takes the same time. A sweep's
time is told with and without the start of its workers. What it costs that nobody else reaches them is told beside a
Dask cluster that anybody on the machine reaches: its start, and pieces of no work.
"""

from __future__ import annotations

import argparse
import contextlib
import logging
import os
import statistics
import tempfile
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import nbformat
import numpy as np
import papermill
from distributed import Client, LocalCluster
from jupyter_client.manager import start_new_kernel
from nbformat import v4

from ettr import Scenario, budget, sweep
from ettr.sweep import own_cluster, pool, work

ROOT = Path(__file__).parents[1]
SCALE = ROOT / "book/ettr/scale.ipynb"
LIGHT = """import ettr
answer = ettr.plan.make(ettr.Scenario.load(scenario).override({"cluster.n_gpus": n_gpus}))
ettr.record(ettr=answer.budget.ettr, best_interval_min=answer.band.interval_min)"""


def light(folder: Path) -> Path:
    cells = [
        v4.new_code_cell('scenario = "llama3-405b"\nn_gpus = 16384', metadata={"tags": ["parameters"]}),
        v4.new_code_cell(LIGHT),
    ]
    document = v4.new_notebook(cells=cells)
    document.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(document, folder / "light.ipynb")
    return folder / "light.ipynb"


@contextlib.contextmanager
def hushed() -> Iterator[None]:
    """Without what kernels say of their ports."""
    kept = os.dup(2)
    with open(os.devnull, "w") as nothing:
        os.dup2(nothing.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


def kernels(n: int) -> float:
    taken = []
    for _ in range(n):
        start = time.perf_counter()
        manager, client = start_new_kernel()
        client.stop_channels()
        manager.shutdown_kernel(now=True)
        taken.append(time.perf_counter() - start)
    return statistics.median(taken)


def loop(notebook: Path, sizes: list[int], folder: Path) -> float:
    start = time.perf_counter()
    for n_gpus in sizes:
        out = folder / f"{notebook.stem}-{n_gpus}.ipynb"
        papermill.execute_notebook(
            str(notebook), str(out), {"n_gpus": n_gpus}, progress_bar=False, kernel_name="python3", cwd=str(ROOT)
        )
    return (time.perf_counter() - start) / len(sizes)


def swept(notebook: Path, sizes: list[int], folder: Path, workers: int) -> tuple[float, float]:
    """Seconds a point: all in all, and from the first point that came back."""
    seen: list[tuple[float, int]] = []
    start = time.perf_counter()
    table = sweep.run(
        notebook,
        {"n_gpus": sizes},
        folder / f"{notebook.stem}-{workers}",
        workers=workers,
        on_progress=lambda progress: seen.append((time.perf_counter(), progress.done)),
    )
    whole = time.perf_counter() - start
    assert (table["status"] == "done").all()
    first = next(moment for moment, done in seen if done)
    last = next(moment for moment, done in seen if done == len(sizes))
    return whole / len(sizes), (last - first) / (len(sizes) - 1)


def at_once(folder: Path, side: int = 1000) -> tuple[float, float]:
    """Seconds for a grid of the closed form: as a sweep with ids and a table, and the form alone."""
    sizes = [8192 + 8 * number for number in range(side)]
    intervals = [1 + number / 32 for number in range(side)]
    grid = {"cluster.n_gpus": sizes, "checkpoint.interval_min": intervals}
    start = time.perf_counter()
    table = sweep.call("budget", grid, folder / "at-once", scenario="llama3-405b")
    swept_s = time.perf_counter() - start
    at = {"cluster.n_gpus": np.repeat(sizes, side), "checkpoint.interval_min": np.tile(intervals, side)}
    start = time.perf_counter()
    alone = budget.exact(Scenario.load("llama3-405b"), at)
    alone_s = time.perf_counter() - start
    assert (table["ettr"].to_numpy() == alone.ettr).all()
    return swept_s, alone_s


def open_to_all(n_workers: int) -> Any:
    options = {"memory_limit": 0, "dashboard_address": "127.0.0.1:0", "silence_logs": logging.CRITICAL}
    return LocalCluster(n_workers=n_workers, threads_per_worker=1, **options)


def of_a_cluster(start: Callable[[int], Any], n_pieces: int) -> tuple[float, float]:
    """Seconds until two workers are there with their imports, and for a piece of no work once they run."""
    began = time.perf_counter()
    with start(2) as cluster, Client(cluster) as client:
        client.run(work.sha256_of, Path())
        started_s = time.perf_counter() - began
        began = time.perf_counter()
        done = sum(1 for _ in pool.stream(client, abs, deque(range(n_pieces)), int, lambda *_: None))
        taken_s = time.perf_counter() - began
        assert done == n_pieces
    return started_s, taken_s / n_pieces


def clusters(n_times: int = 3, n_pieces: int = 2000) -> None:
    """What it costs that nobody else reaches the workers."""
    kinds = {"open to all": open_to_all, "of its own": own_cluster.started}
    taken = {name: [of_a_cluster(start, n_pieces) for _ in range(n_times)] for name, start in kinds.items()}
    for at, told in ((0, "start of two workers"), (1, "a piece of no work")):
        reference, own = (statistics.median(times[at] for times in taken[name]) for name in kinds)
        print(f"{'reference: ' + told + ', open to all':58}{reference:8.4f} s")
        print(f"{told + ', with certificates':58}{own:8.4f} s{own / reference:16.2f} times as long", flush=True)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--points", type=int, default=200)
    options.add_argument("--looped", type=int, default=8, help="points of the loop over papermill")
    chosen = options.parse_args()
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    sizes = [1024 + 1024 * number for number in range(chosen.points)]
    print(f"{os.cpu_count()} cores, {chosen.points} points, {chosen.looped} in the loop over papermill")
    clusters()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        swept_s, alone_s = at_once(folder)
        told = "a million points of the closed form, as a sweep"
        print(f"{told:58}{swept_s:8.2f} s{swept_s / alone_s:16.1f} times the form alone")
        with hushed():
            bare = kernels(5)
        print(f"{'reference: bare start of a kernel':58}{bare:8.2f} s")
        for notebook in (light(folder), SCALE):
            spread = sizes[:: max(1, chosen.points // chosen.looped)][: chosen.looped]
            with hushed():
                reference = loop(notebook, spread, folder)
            print(f"{notebook.stem + ': loop over papermill':58}{reference:8.2f} s a point")
            for workers in (1, 2):
                whole, running = swept(notebook, sizes, folder, workers)
                for told, seconds in (("with its start", whole), ("once it runs", running)):
                    label = f"{notebook.stem}: sweep, {workers} worker{'s' * (workers > 1)}, {told}"
                    print(f"{label:58}{seconds:8.2f} s a point{reference / seconds:8.1f} times faster", flush=True)


if __name__ == "__main__":
    main()
