"""Seconds per point of a sweep of a notebook, next to a loop over papermill and the start of a kernel.

Run as ``make bench``, for a short notebook and for a chapter with charts. The loop runs papermill in a single process
and for fewer points, as each takes the same time. The time of a sweep includes the start of its workers.
"""

from __future__ import annotations

import argparse
import logging
import os
import statistics
import tempfile
import time
import warnings
from pathlib import Path

import nbformat
import papermill
from jupyter_client.manager import start_new_kernel
from nbformat import v4

from ettr import sweep

PLAN = """import ettr
answer = ettr.plan.make(ettr.Scenario.load(scenario).override({"cluster.n_gpus": n_gpus}))
ettr.record(ettr=answer.budget.ettr, best_interval_min=answer.band.interval_min)"""


CHAPTER = Path(__file__).parents[1] / "book/ettr/scale.ipynb"


def write_notebook(folder: Path) -> Path:
    cells = [
        v4.new_code_cell('scenario = "llama3-405b"\nn_gpus = 16384', metadata={"tags": ["parameters"]}),
        v4.new_code_cell(PLAN),
    ]
    notebook = v4.new_notebook(cells=cells)
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(notebook, folder / "plan.ipynb")
    return folder / "plan.ipynb"


def kernel_start_s(n: int) -> float:
    taken_s = []
    for _ in range(n):
        start = time.perf_counter()
        manager, client = start_new_kernel()
        client.stop_channels()
        manager.shutdown_kernel(now=True)
        taken_s.append(time.perf_counter() - start)
    return statistics.median(taken_s)


def papermill_s(notebook: Path, sizes: list[int], folder: Path) -> float:
    folder.mkdir()
    start = time.perf_counter()
    for n_gpus in sizes:
        out = str(folder / f"{n_gpus}.ipynb")
        papermill.execute_notebook(str(notebook), out, {"n_gpus": n_gpus}, progress_bar=False, kernel_name="python3")
    return (time.perf_counter() - start) / len(sizes)


def sweep_s(notebook: Path, sizes: list[int], folder: Path, workers: int) -> float:
    start = time.perf_counter()
    table = sweep.run(notebook, {"n_gpus": sizes}, folder / f"workers-{workers}", workers=workers)
    assert (table["status"] == "done").all()
    return (time.perf_counter() - start) / len(sizes)


def compare(label: str, notebook: Path, sizes: list[int], n_looped: int, folder: Path) -> None:
    """Print the seconds per point of a notebook, in a loop and in sweeps with one and two workers."""
    loop_s = papermill_s(notebook, sizes[:n_looped], folder)
    print(f"{f'{label}: loop over papermill':44}{loop_s:8.2f} s per point")
    for workers in (1, 2):
        taken_s = sweep_s(notebook, sizes, folder, workers)
        line = f"{label}: sweep with {workers} worker{'s' * (workers > 1)}"
        print(f"{line:44}{taken_s:8.2f} s per point{loop_s / taken_s:8.1f} times faster", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, default=200)
    parser.add_argument("--looped", type=int, default=8, help="points of the loop over papermill")
    options = parser.parse_args()
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    sizes = [1024 + 1024 * number for number in range(options.points)]
    print(f"{os.cpu_count()} cores, {options.points} points, {options.looped} of them in the loop over papermill")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        print(f"{'reference: start of a kernel':44}{kernel_start_s(5):8.2f} s")
        compare("short notebook", write_notebook(folder), sizes, options.looped, folder / "short")
        # fewer points of the chapter, which takes seconds in a loop
        compare("chapter scale", CHAPTER, sizes[: len(sizes) // 10], options.looped // 2, folder / "chapter")


if __name__ == "__main__":
    main()
