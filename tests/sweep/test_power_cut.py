"""A sweep whose power is cut at random moments, on a disk that forgets what was not synced."""

from __future__ import annotations

import json
import os
import random
import select
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest

from ettr import sweep
from ettr.core import durable
from ettr.core.errors import InputError
from ettr.notebook import engine
from ettr.sweep.folder import Folder
from notebooks import written
from power_cut import Disk

PATIENCE_S = 300

pytestmark = pytest.mark.skipif(not engine.works_here(), reason="follows processes and inodes as Linux has them")

STARTER = """
import json, os, sys
from notebooks import local_cluster
from ettr import sweep

def run(job):
    os.setsid()
    grid = sweep.load(job["grid"], 100)
    work = sweep.NotebookJob(job["path"], grid) if job["path"] else sweep.CallJob("budget", "rsc-1", grid)
    say = lambda progress: os.write(1, f"{progress.last}\\n".encode()) if progress.last else None
    with local_cluster() as address:
        sweep.sweep(work, job["out"], scheduler=address, on_progress=say)

if __name__ == "__main__":
    import distributed, papermill, ettr.budget, ettr.notebook.engine, pyarrow.parquet
    for line in sys.stdin:
        if (child := os.fork()) == 0:
            status = 1
            try:
                run(json.loads(line))
                status = 0
            finally:
                os._exit(status)
        status = os.waitpid(child, 0)[1]
        os.write(1, f"ended {status}\\n".encode())
"""
"""Runs sweeps, each in a fork of a process that has imported what they need."""


class Runner:
    """Starts a sweep, cuts it off when so many points are reported, and says which were."""

    def __init__(self, disk: Disk, folder: Path) -> None:
        (folder / "starter.py").write_text(STARTER)
        paths = os.pathsep.join([disk.environment["PYTHONPATH"], str(Path(__file__).parents[1])])
        self._process = subprocess.Popen(
            [sys.executable, "-W", "ignore", str(folder / "starter.py")],
            env=os.environ | disk.environment | {"PYTHONPATH": paths},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self._disk, self._text = disk, b""

    def until(self, job: dict, n_points: int, later_s: float) -> tuple[list[str], bool]:
        """The points that were reported by the time of the kill, and whether the sweep had ended by then."""
        self._process.stdin.write(json.dumps(job).encode() + b"\n")
        self._process.stdin.flush()
        while self._text.count(b"\n") < n_points and b"ended" not in self._text:
            self._read()
        time.sleep(later_s)
        self._disk.kill({self._process.pid})
        while b"ended" not in self._text or not self._text.endswith(b"\n"):
            self._read()
        *reported, end = self._text.decode().splitlines()
        self._text = b""
        return reported, end == "ended 0"

    def _read(self) -> None:
        ready, _, _ = select.select([self._process.stdout], [], [], PATIENCE_S)
        piece = os.read(self._process.stdout.fileno(), 65536) if ready else b""
        assert piece, "the process that runs sweeps says nothing"
        self._text += piece

    def end(self) -> None:
        self._process.kill()
        self._process.communicate()


def job_of(kind: str, folder: Path) -> tuple[sweep.SweepJob, dict]:
    """A small sweep, as this process knows it and as the other one is told."""
    if kind == "calls":
        grid: dict = {"failures.lifetime": [None], "cluster.n_gpus": [8 * n for n in range(1, 25)]}
        grid["cluster.n_gpus"] += [10**9, 7]  # these two fail
        return sweep.CallJob("budget", "rsc-1", sweep.load(grid, 100)), {"path": "", "grid": grid}
    path = written(
        folder / "study.ipynb", "import ettr\nettr.record(third=x / 3)\nassert x < 5", parameters="x = 0  # whole"
    )
    grid = {"x": list(range(6))}
    return sweep.NotebookJob(path, sweep.load(grid, 100)), {"path": str(path), "grid": grid}


def same(table: pd.DataFrame, calm: pd.DataFrame) -> None:
    pd.testing.assert_frame_equal(table.drop(columns="duration_s"), calm.drop(columns="duration_s"), check_exact=True)


class Lost(Exception):
    """What was finished is not there, or not whole."""


def cuts(kind: str, n_cuts: int, tmp_path: Path, cluster: str, forgets: str = "") -> None:
    """Cut a sweep's power again and again, and see each time that what it had reported is there, and whole."""
    chance = random.Random(f"{kind} {n_cuts}")
    job, told = job_of(kind, tmp_path)
    calm = sweep.sweep(job, tmp_path / "calm", scheduler=cluster)
    box = tmp_path / "box"
    box.mkdir()
    disk = Disk(box, tmp_path / "disk", forgets)
    out, finished, whole = box / "new" / "out", set(), False
    runner = Runner(disk, tmp_path)
    try:
        for _ in range(n_cuts):
            left = len(calm) - len(finished)
            later_s = chance.choice([0, 0.01, 0.1, 1]) * chance.random()
            reported, whole = runner.until({**told, "out": str(out)}, chance.randint(0, left + 1), later_s)
            finished.update(reported)
            disk.cut(chance, {runner._process.pid})
            if not finished:
                continue
            folder = Folder(out, job)
            lost = {digest for digest in finished if folder.entry(digest) is None}
            if lost or folder.altered or (whole and folder.read_table() is None):
                raise Lost(f"{len(lost)} of {len(finished)} points, {list(folder.altered)}")
            if whole:
                assert folder.read_table()["id"].tolist() == calm["id"].tolist()
                disk.cut(chance, {runner._process.pid})
                out, finished = box / f"new-{chance.random()}" / "out", set()
        reported, whole = runner.until({**told, "out": str(out)}, len(calm) + 1, 0)
        assert whole and not finished & set(reported)
    finally:
        runner.end()
    again = []
    same(sweep.sweep(job, out, scheduler=cluster, on_progress=again.append), calm)
    assert again[0].kept == len(calm) and not again[0].altered
    assert not list(out.rglob(f"*{durable.PART}"))


@pytest.mark.parametrize(
    ("kind", "n_cuts"),
    [
        ("calls", 3),
        pytest.param("calls", 38, marks=pytest.mark.slow),
        pytest.param("notebooks", 12, marks=pytest.mark.slow),
    ],
)
def test_after_power_cuts_a_sweep_ends_with_the_table_of_a_calm_one(kind, n_cuts, tmp_path, cluster):
    cuts(kind, n_cuts, tmp_path, cluster)


@pytest.mark.parametrize("forgets", ["files", pytest.param("folders", marks=pytest.mark.slow)])
def test_without_waiting_for_the_disk_points_are_lost(forgets, tmp_path, cluster):
    """So the test above can fail."""
    with pytest.raises((Lost, InputError), match="points|is not a sweep"):
        cuts("calls", 8, tmp_path, cluster, forgets)
