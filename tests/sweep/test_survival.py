"""Sweeps on other processes: workers that die, a scheduler that dies, a client that dies, and what is left of it."""

from __future__ import annotations

import gc
import os
from types import SimpleNamespace

import pandas as pd
import pytest

from ettr import sweep
from ettr.core.errors import EttrError, InputError
from ettr.sweep import pool, work
from notebooks import written
from swept_apart import PATIENCE_S, Machines, kill, wait_for


@pytest.fixture
def machines(tmp_path):
    cluster = Machines(tmp_path)
    yield cluster
    cluster.end()


def test_a_worker_the_scheduler_and_the_client_are_killed_and_nothing_is_lost(machines, tmp_path, cluster):
    """Each point says when it begins: none begins again once its file is there, and the values are of a calm run.

    A point may come to its end twice, where its worker dies between the notebook's last line and the file.
    """
    n, out, log = 12, tmp_path / "out", tmp_path / "log-of-points"
    notebook = written(
        tmp_path / "study.ipynb",
        f"import os, time, numpy as np, ettr\nlog = {str(log)!r}\ncalm = os.environ.get('CALM')",
        "def say(word):\n    if not calm:\n        print(word, x, file=open(log, 'a'), flush=True)",
        "say('begin')\ntime.sleep(0 if calm else 0.5)\ndraws = np.random.default_rng(x).normal(size=20)",
        "ettr.record(mean=draws.mean(), draws=draws, third=x / 3)\nsay('end')",
        parameters="x = 0  # whole",
    )
    (tmp_path / "grid.yml").write_text(f"x: {{from: 1, to: {n}, step: 1}}\n")

    finished_before: list[tuple[int, set[str]]] = []  # lines of the log, and the points that had a file by then

    def finished() -> int:
        return len(list((out / "points").glob("*.ipynb")))

    def mark() -> None:
        files = {path.stem for path in (out / "points").glob("*.ipynb")}
        finished_before.append((len(log.read_text().splitlines()), files))

    scheduler, first = machines.scheduler(), machines.worker()
    second = machines.worker()
    client = machines.client(notebook, out)
    wait_for(lambda: finished() >= 2, "the first points")
    kill(first)
    mark()
    seen = finished()
    wait_for(lambda: finished() >= seen + 1, "points of the other worker")
    kill(scheduler)
    assert client.wait(PATIENCE_S) == 1
    assert 0 < finished() < n

    kill(second)  # its last point may have ended meanwhile, and then it is kept
    mark()
    kept = {path.name: path.stat().st_mtime_ns for path in (out / "points").glob("*.ipynb")}
    machines.scheduler(), machines.worker()
    client = machines.client(notebook, out)
    wait_for(lambda: finished() >= len(kept) + 2, "points of the second start")
    kill(client)
    mark()
    wait_for(lambda: log.read_text().count("begin") - log.read_text().count("end") <= 2, "points on their way")
    client = machines.client(notebook, out)
    assert client.wait(PATIENCE_S) == 0

    table = pd.read_parquet(out / "results.parquet")
    lines = log.read_text().splitlines()
    assert {line for line in lines if line.startswith("end")} == {f"end {x}" for x in range(1, n + 1)}
    for n_lines, files in finished_before:
        done = {f"begin {x}" for x in table.loc[table["id"].isin(files), "x"]}
        assert len(done) == len(files)
        assert not done & set(lines[n_lines:])
    for name, changed in kept.items():
        assert (out / "points" / name).stat().st_mtime_ns == changed
    os.environ["CALM"] = "1"
    try:
        calm = sweep.run(notebook, tmp_path / "grid.yml", tmp_path / "calm", scheduler=cluster)
    finally:
        del os.environ["CALM"]
    for frame in (table, calm):
        frame["draws"] = [list(map(float.hex, draws)) for draws in frame["draws"]]
    columns = ["id", "x", "status", "mean", "draws", "third"]
    pd.testing.assert_frame_equal(table[columns], calm[columns], check_exact=True, check_dtype=False)


def test_results_do_not_depend_on_where_they_are_computed(tmp_path, cluster):
    notebook = written(
        tmp_path / "study.ipynb",
        "import ettr\nfrom ettr import Scenario, plan\nanswer = plan.make(Scenario.load(scenario))",
        "ettr.record(best=answer.band.interval_min, ettr=answer.budget.ettr)",
        parameters='scenario = "rsc-1"  # preset',
    )
    grid = {"scenario": ["rsc-1", "rsc-2", "llama3-405b"]}
    here = sweep.run(notebook, grid, tmp_path / "here", scheduler=cluster)
    apart = sweep.run(notebook, grid, tmp_path / "apart", workers=2)
    pd.testing.assert_frame_equal(here.drop(columns="duration_s"), apart.drop(columns="duration_s"), check_exact=True)


@pytest.mark.parametrize(
    "address", ["tcp://127.0.0.1:1", "nonsense", "", "nowhere.json", "tcp://no.such.host.invalid:8786"]
)
@pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")  # Dask leaves the socket that did not connect
def test_an_unreachable_scheduler_is_said(tmp_path, monkeypatch, address):
    monkeypatch.setattr(pool, "CONNECT_TIMEOUT_S", 1)
    notebook = written(tmp_path / "a.ipynb", "1", parameters="x = 1  # [1]")
    with pytest.raises(
        InputError, match=r"no scheduler answers at .* within 1 s|there is no scheduler file|has an address such as"
    ):
        sweep.run(notebook, {"x": [1]}, tmp_path / "out", scheduler=address)
    gc.collect()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"workers": 0}, "workers must be >= 1, got 0"),
        ({"workers": 2, "scheduler": "tcp://x:1"}, "give either of the two"),
    ],
)
def test_workers_that_cannot_be_are_refused(tmp_path, options, words):
    notebook = written(tmp_path / "a.ipynb", "1", parameters="x = 1  # [1]")
    with pytest.raises(InputError, match=words):
        sweep.run(notebook, {"x": [1]}, tmp_path / "out", **options)


def test_a_worker_with_another_version_is_named(tmp_path, cluster, monkeypatch):
    notebook = written(tmp_path / "a.ipynb", "1", parameters="x = 1  # [1]")
    own = dict(work._surroundings())
    monkeypatch.setattr(work, "_surroundings", lambda: {**own, "numpy": "0.9"})
    with pytest.raises(EttrError, match=r"the workers cannot run this sweep: a worker on .* has numpy 0\.9 and not "):
        sweep.run(notebook, {"x": [1]}, tmp_path / "out", scheduler=cluster)


def test_files_travel_where_there_is_no_shared_disk(tmp_path, cluster, monkeypatch):
    """A worker that sees neither the file nor the folder of results is sent the one and sends back the other."""
    notebook = written(
        tmp_path / "a.ipynb",
        "import ettr\nettr.record(text=open(log).read(), path=log)",
        parameters='log = ""  # file\nn = 0  # whole',
    )
    given = tmp_path / "faults.csv"
    given.write_text("from far away")
    real = work.sha256_of
    monkeypatch.setattr(work, "sha256_of", lambda path: "" if path == given else real(path))
    monkeypatch.setattr(work.points, "is_same", lambda out, token: False)
    grid = {"log": [str(given)], "n": [1, 2, 3]}
    table = sweep.run(notebook, grid, tmp_path / "out", scheduler=cluster)
    assert set(table["status"]) == {"done"}
    assert set(table["text"]) == {"from far away"}
    assert set(table["path"]) == {str(given)}  # not where the worker put it


def test_a_point_that_kills_its_worker_each_time_has_failed(tmp_path, monkeypatch):
    """Dask gives up after some attempts, and the others go on."""
    from distributed.scheduler import KilledWorker

    job = sweep.NotebookJob(written(tmp_path / "a.ipynb", "1", parameters="x = 1  # [1]"), sweep.load({"x": [1]}, 9))
    from ettr.sweep import runs

    task = job.task("0123456789abcdef", {"x": 1})
    outcome = runs._unfinished(task, KilledWorker("task", SimpleNamespace(address="tcp://x"), 3))
    assert outcome.failed and "its worker died or froze each time that it was run" in outcome.text
