"""A worker that is stopped loses its points, does no harm when it comes back, and does not outlive the sweep."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pandas as pd
import psutil
import pytest
from distributed import Client

from ettr import sweep
from ettr.cli import sweep as command
from ettr.sweep import points, work
from ettr.sweep.folder import Folder
from notebooks import written
from swept_apart import PATIENCE_S, Machines, end, wait_for

TTL_S = 20
"""Without an answer for so long a worker is given up: more than a busy machine lets a sound one wait."""
TTL = {"DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL": f"{TTL_S} s"}
SAID = "stopped answering, and others take over"


def begun(folder: Path) -> list[str]:
    log = folder / "begun"
    return sorted(log.read_text().split()) if log.is_file() else []


def noting(folder: Path, *sources: str) -> Path:
    """A notebook that notes that it begins, and then does this."""
    first = "import ctypes, os, pathlib, time\n_ = open('begun', 'a').write(f'{x}\\n')"
    return written(folder / "study.ipynb", first, *sources, parameters="x = 1  # whole")


def test_the_progress_counts_workers_that_were_given_up(tmp_path, cluster):
    notebook = noting(tmp_path, "while not pathlib.Path('go').exists():\n    time.sleep(0.05)")
    counts = []
    with Client(cluster, set_as_default=False) as client:

        def hear(progress: sweep.Progress) -> None:
            counts.append(progress.frozen)
            if progress.threads and not progress.frozen:
                client.log_event("scheduler", {"action": "worker-ttl-timed-out", "workers": ["tls://a", "tls://b"]})
                client.log_event("scheduler", "something else")
            if progress.frozen:
                (tmp_path / "go").touch()

        sweep.run(notebook, {"x": [1]}, tmp_path / "out", scheduler=cluster, on_progress=hear)
    assert set(counts) >= {0, 2} and counts == sorted(counts)


def test_frozen_workers_are_news_that_is_said_at_once(capsys):
    hear = command._lines()
    for done, frozen in ((0, 0), (1, 0), (2, 1), (3, 1), (4, 2), (9, 2)):
        hear(sweep.Progress(done, 0, 9, 0, frozen=frozen))
    assert capsys.readouterr().err.splitlines() == [
        "[0/9] points",
        f"[2/9] points; 1 worker {SAID}",
        f"[4/9] points; 2 workers {SAID}",
        f"[9/9] points; 2 workers {SAID}",
    ]


@pytest.mark.parametrize("fails", [False, True])
def test_what_was_kept_meanwhile_is_not_replaced(tmp_path, monkeypatch, fails):
    """By a worker that comes back, even where its own attempt failed."""
    job = sweep.CallJob("budget", "rsc-1", sweep.load({"cluster.n_gpus": [1024]}, 9))
    folder = Folder(tmp_path / "out", job)
    ((digest, point),) = job.points().items()
    real = work._call

    def late(task, values, scratch):
        text, _ = real(task, values, scratch)
        points.keep(Path(task.out), digest, ".json", text, failed=False)
        return text.replace("{", '{"late": true, ', 1), fails

    monkeypatch.setattr(work, "_call", late)
    with folder.taken():
        assert work.do(folder.task(digest, point)) == work.Outcome()
    (path,) = (tmp_path / "out" / "points").iterdir()
    assert path.name == f"{digest}.json" and "late" not in path.read_text()


@pytest.fixture
def started(tmp_path):
    """Starts a sweep in a process of its own, which gives a worker up soon."""
    processes = []

    def start(notebook: Path, grid: str) -> psutil.Popen:
        (tmp_path / "grid.yml").write_text(grid)
        words = ["sweep", str(notebook), "--grid", "grid.yml", "--out", "out", "--workers", "2"]
        with (tmp_path / "said").open("w") as said:
            process = psutil.Popen(
                [sys.executable, "-m", "ettr.cli", *words],
                cwd=tmp_path,
                env=os.environ | TTL,
                stdout=subprocess.DEVNULL,
                stderr=said,
                start_new_session=True,
            )
        processes.append(process)
        return process

    yield start
    for process in processes:
        end(process)


@pytest.mark.slow
@pytest.mark.parametrize("n_frozen", [1, 2])
def test_points_of_frozen_workers_go_to_others(started, tmp_path, n_frozen):
    """One of two workers, and both: then they are started anew. All that they started is frozen with them."""
    hang = "while x <= 2 and not pathlib.Path('go').exists():\n    time.sleep(0.05)"
    running = started(noting(tmp_path, hang, "import ettr\nettr.record(double=2 * x)"), "x: [1, 2, 3, 4]\n")
    wait_for(lambda: begun(tmp_path) == ["1", "2"], "the first points")
    workers = [one for one in running.children() if any("spawn_main" in word for word in one.cmdline())]
    assert len(workers) == 2
    frozen = [one for worker in workers[:n_frozen] for one in [worker, *worker.children(recursive=True)]]
    for one in frozen:
        one.suspend()
    (tmp_path / "go").touch()
    assert running.wait(PATIENCE_S) == 0
    table = pd.read_parquet(tmp_path / "out" / "results.parquet")
    assert table["status"].tolist() == ["done"] * 4 and table["double"].tolist() == [2, 4, 6, 8]
    _, alive = psutil.wait_procs(frozen, PATIENCE_S)
    assert alive == []
    counted = "1 worker" if n_frozen == 1 else "2 workers"
    assert f"{counted} {SAID}" in (tmp_path / "said").read_text()
    assert len(begun(tmp_path)) == 4 + n_frozen


@pytest.mark.slow
def test_a_point_that_takes_long_is_left_alone(started, tmp_path):
    """Also one that holds Python's lock all the time: its process is not that of the worker, which answers."""
    long_s = 3 * TTL_S
    hold = f"ctypes.PyDLL(None).sleep({long_s}) if x == 1 else time.sleep({long_s})"
    running = started(noting(tmp_path, hold), "x: [1, 2]\n")
    assert running.wait(PATIENCE_S + long_s) == 0
    assert begun(tmp_path) == ["1", "2"]
    assert SAID not in (tmp_path / "said").read_text()


@pytest.mark.slow
def test_a_worker_elsewhere_that_comes_back_changes_nothing(tmp_path):
    """It has no nanny that ends it: the scheduler forgets it, and it ends as it hears that."""
    machines = Machines(tmp_path)
    hang = "while x <= 2 and not pathlib.Path('go').exists():\n    time.sleep(0.05)"
    notebook = noting(tmp_path, hang, "import ettr\nettr.record(double=2 * x)")
    (tmp_path / "grid.yml").write_text("x: [1, 2, 3, 4]\n")
    out = tmp_path / "out" / "points"
    try:
        machines.scheduler(**TTL)
        workers = [machines.worker("--no-nanny") for _ in range(2)]
        client = machines.client(notebook, tmp_path / "out")
        wait_for(lambda: begun(tmp_path) == ["1", "2"], "the first points")
        psutil.Process(workers[0].pid).suspend()
        (tmp_path / "go").touch()
        assert client.wait(PATIENCE_S) == 0
        kept = {path.name: path.stat().st_mtime_ns for path in out.glob("*.ipynb")}
        psutil.Process(workers[0].pid).resume()
        assert workers[0].wait(PATIENCE_S) is not None
        assert {path.name: path.stat().st_mtime_ns for path in out.glob("*.ipynb")} == kept
    finally:
        machines.end()
    table = pd.read_parquet(tmp_path / "out" / "results.parquet")
    assert table["status"].tolist() == ["done"] * 4 and table["double"].tolist() == [2, 4, 6, 8]
    assert f"1 worker {SAID}" in (tmp_path / "log").read_text()
