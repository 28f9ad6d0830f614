"""Sweeps on other processes: who reaches them, and what is left when one of them dies."""

from __future__ import annotations

import contextlib
import errno
import gc
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from types import SimpleNamespace
from unittest import mock

import pandas as pd
import psutil
import pytest
from distributed import Security
from distributed.scheduler import KilledWorker

from ettr import notebook, sweep
from ettr.core import durable
from ettr.core.errors import EttrError, InputError
from ettr.sweep import pool, work
from notebooks import written
from swept_apart import PATIENCE_S, Machines, end, kill, wait_for


@pytest.fixture
def machines(tmp_path):
    cluster = Machines(tmp_path)
    yield cluster
    cluster.end()


@pytest.mark.slow
def test_a_worker_the_scheduler_and_the_client_are_killed_and_nothing_is_lost(machines, tmp_path, cluster):
    """Each point says when it begins: none begins again once its file is there, and the values are of a calm run.

    A point may come to its end twice, where a process dies between the notebook's last line and the file.
    """
    n, out, log = 12, tmp_path / "out", tmp_path / "log-of-points"
    study = written(
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
    client = machines.client(study, out)
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
    client = machines.client(study, out)
    wait_for(lambda: finished() >= len(kept) + 2, "points of the second start")
    kill(client)
    mark()
    wait_for(lambda: log.read_text().count("begin") - log.read_text().count("end") <= 2, "points on their way")
    client = machines.client(study, out)
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
        calm = sweep.run(study, tmp_path / "grid.yml", tmp_path / "calm", scheduler=cluster)
    finally:
        del os.environ["CALM"]
    for frame in (table, calm):
        frame["draws"] = [list(map(float.hex, draws)) for draws in frame["draws"]]
    columns = ["id", "x", "status", "mean", "draws", "third"]
    pd.testing.assert_frame_equal(table[columns], calm[columns], check_exact=True, check_dtype=False)


def test_results_do_not_depend_on_where_they_are_computed(tmp_path, cluster):
    study = written(
        tmp_path / "study.ipynb",
        "import ettr\nfrom ettr import Scenario, plan\nanswer = plan.make(Scenario.load(scenario))",
        "ettr.record(best=answer.band.interval_min, ettr=answer.budget.ettr)",
        parameters='scenario = "rsc-1"  # preset',
    )
    grid = {"scenario": ["rsc-1", "rsc-2", "llama3-405b"]}
    here = sweep.run(study, grid, tmp_path / "here", scheduler=cluster)
    apart = sweep.run(study, grid, tmp_path / "apart", workers=2)
    pd.testing.assert_frame_equal(here.drop(columns="duration_s"), apart.drop(columns="duration_s"), check_exact=True)


@pytest.mark.parametrize(
    "address", ["tcp://127.0.0.1:1", "nonsense", "", "nowhere.json", "tcp://no.such.host.invalid:8786"]
)
@pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")  # Dask leaves the socket that did not connect
def test_an_unreachable_scheduler_is_said(tmp_path, monkeypatch, address):
    monkeypatch.setattr(pool, "CONNECT_TIMEOUT_S", 1)
    study = written(tmp_path / "a.ipynb", "1", parameters="x = 1  # [1]")
    with pytest.raises(
        InputError,
        match="no scheduler responds at .* within 1 s|does not exist|must be an address such as",
    ):
        sweep.run(study, {"x": [1]}, tmp_path / "out", scheduler=address)
    gc.collect()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"workers": 0}, "workers must be >= 1, got 0"),
        ({"workers": 2, "scheduler": "tcp://x:1"}, "conflicts with scheduler"),
    ],
)
def test_workers_that_cannot_be_are_refused(tmp_path, options, words):
    study = written(tmp_path / "a.ipynb", "1", parameters="x = 1  # [1]")
    with pytest.raises(InputError, match=words):
        sweep.run(study, {"x": [1]}, tmp_path / "out", **options)


def test_a_worker_with_another_version_is_named(tmp_path, cluster, monkeypatch):
    study = written(tmp_path / "a.ipynb", "1", parameters="x = 1  # [1]")
    surroundings = dict(work._surroundings())
    monkeypatch.setattr(work, "_surroundings", lambda: {**surroundings, "numpy": "0.9"})
    with pytest.raises(EttrError, match=r"the workers cannot run this sweep: a worker on .* has numpy 0\.9 and not "):
        sweep.run(study, {"x": [1]}, tmp_path / "out", scheduler=cluster)


@pytest.mark.parametrize("content", [None, "another one"])
def test_files_travel_where_there_is_no_shared_disk(tmp_path, content):
    """A worker elsewhere that does not have a file is sent it, and what it sends back names the original."""
    path = written(tmp_path / "a.ipynb", "import ettr\nettr.record(text=open(log).read(), path=log)",
                   parameters='log = ""  # file')  # fmt: skip
    log_file = tmp_path / "faults.csv"
    log_file.write_text("from far away")
    job = sweep.NotebookJob(path, sweep.load({"log": [str(log_file)]}, 9))
    ((digest, point),) = job.points().items()
    task = job.task(digest, point.parameters, elsewhere=True)
    log_file.unlink() if content is None else log_file.write_text(content)
    outcome = work.do(task)
    assert not outcome.failed
    assert notebook.recorded(json.loads(outcome.text)) == {"text": "from far away", "path": str(log_file)}


@pytest.mark.parametrize("fresh_kernels", [False, pytest.param(True, marks=pytest.mark.slow)])
@pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")  # nbclient leaves the sockets of a dead kernel
def test_a_point_whose_process_is_killed_runs_once_and_again_with_the_same_command(tmp_path, cluster, fresh_kernels):
    study = written(
        tmp_path / "study.ipynb",
        "import os, pathlib, ettr\nprint(x, file=open('begun', 'a'), flush=True)",
        "if not pathlib.Path('calm').exists():\n    os.kill(os.getpid(), 9)\nettr.record(y=2 * x)",
        parameters="x = 1  # [1]",
    )
    reports: list[sweep.Progress] = []

    def states(**options) -> list[str]:
        options |= {"fresh_kernels": fresh_kernels, "on_progress": reports.append, "scheduler": cluster}
        table = sweep.run(study, {"x": [2]}, tmp_path / "out", **options)
        stored = pd.read_parquet(tmp_path / "out" / "results.parquet")
        assert stored["error"].tolist() == table["error"].tolist()
        assert ("study.ipynb stopped at cell 4" in table["error"][0]) == (table["status"][0] == "open")
        return table["status"].tolist()

    assert states() == ["open"] and states() == ["open"]
    assert (reports[-1].done, reports[-1].failed) == (1, 1)
    assert (tmp_path / "begun").read_text().split() == ["2", "2"]
    (tmp_path / "calm").touch()
    assert states() == ["done"]
    gc.collect()


def test_a_point_that_kills_its_worker_each_time_stays_open_and_takes_no_other_with_it(tmp_path, monkeypatch):
    """Dask gives up after some attempts, and suspects all points that waited on that worker."""
    rounds: list[list[str]] = []

    class Killed:
        def exception(self):
            return KilledWorker("task", SimpleNamespace(address="tcp://x"), 3)

    class Done:
        def __init__(self, digest, parameters):
            self._outcome = work.do(job.task(digest, parameters))

        def exception(self):
            return None

        def result(self):
            return self._outcome

    def stream(_client, _work, waiting, piece, _look):
        rounds.append(list(waiting))
        for digest in rounds[-1]:
            parameters = piece(digest).parameters
            kills = len(rounds) == 1 or parameters["cluster.n_gpus"] == 8192
            yield digest, Killed() if kills else Done(digest, parameters)

    monkeypatch.setattr(pool, "connected", lambda *_: contextlib.nullcontext())
    monkeypatch.setattr(pool, "stream", stream)
    monkeypatch.setattr(sweep.runs, "_is_at_once", lambda _: False)
    job = sweep.CallJob("budget", "llama3-405b", sweep.load({"cluster.n_gpus": [8192, 16384]}, 9))
    table = sweep.run_job(job, tmp_path / "out")
    assert table["status"].tolist() == ["open", "done"] and "its worker died or froze" in table["error"][0]
    assert [len(digests) for digests in rounds] == [2, 1, 1]
    sweep.run_job(job, tmp_path / "out")
    assert len(rounds) == 4 and rounds[-1] == rounds[1]


def test_a_full_disk_of_a_worker_is_no_result_of_its_point(tmp_path, cluster, monkeypatch):
    path = written(tmp_path / "a.ipynb", "1", parameters="x = 1  # [1]")
    full = mock.Mock(side_effect=OSError(errno.ENOSPC, "No space left on device"))
    with monkeypatch.context() as patch:
        patch.setattr(work.notebook, "run", full)
        table = sweep.run(path, {"x": [1]}, tmp_path / "out", scheduler=cluster)
    assert table["status"].tolist() == ["open"] and "No space left on device" in table["error"][0]
    assert sweep.run(path, {"x": [1]}, tmp_path / "out", scheduler=cluster)["status"].tolist() == ["done"]


# --------------------------------------------------------------------------- workers on this machine


def listening(process: psutil.Process) -> list[tuple[str, int]]:
    """All that a process and those below it listen at."""
    everyone = [process, *process.children(recursive=True)]
    return [(*c.laddr,) for proc in everyone for c in proc.net_connections("inet") if c.status == psutil.CONN_LISTEN]


def test_workers_on_this_machine_are_reached_by_nobody_else_and_show_nobody_what_runs():
    before = set(listening(psutil.Process()))
    with pool.connected(1, None, 1) as client:
        opened = set(listening(psutil.Process())) - before
        assert client.submit(sum, [1, 2]).result() == 3 and client.scheduler.address.startswith("tls://")
        assert opened and {ip for ip, _ in opened} == {"127.0.0.1"}
        for where in opened:
            with socket.create_connection(where, 3) as line:
                line.sendall(b"GET /json/identity.json HTTP/1.0\r\n\r\n")
                with contextlib.suppress(OSError):
                    said = line.recv(100)
                    assert said == b"" or said.startswith(b"HTTP/1.1 404"), said


@pytest.fixture
def running(tmp_path):
    """A sweep in a process of its own, whose first two points wait until there is a file ``go``."""
    study = written(
        tmp_path / "study.ipynb",
        "import pathlib, time\npathlib.Path(f'begun-{x}').touch()",
        "while x <= 2 and not pathlib.Path('go').exists():\n    time.sleep(0.05)",
        "import ettr\nettr.record(double=2 * x)",
        parameters="x = 1  # whole",
    )
    (tmp_path / "grid.yml").write_text("x: [1, 2, 3]\n")
    (tmp_path / "temporary").mkdir()
    command = ["ettr.cli", "sweep", str(study), "--grid", "grid.yml", "--out", "out", "--workers", "2"]
    process = psutil.Popen(
        [sys.executable, "-m", *command],
        cwd=tmp_path,
        env=os.environ | {"DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL": "20 s", "TMPDIR": str(tmp_path / "temporary")},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    yield process
    end(process)


@pytest.mark.slow
@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGKILL])
def test_nothing_outlives_a_sweep(running, tmp_path, ending):
    wait_for(lambda: len(list(tmp_path.glob("begun-*"))) == 2, "the first points")
    below = [child for child in running.children(recursive=True) if "resource_tracker" not in " ".join(child.cmdline())]
    running.send_signal(ending)
    assert running.wait(PATIENCE_S) == (130 if ending == signal.SIGINT else -signal.SIGKILL)
    _, alive = psutil.wait_procs(below, PATIENCE_S)
    assert alive == []
    durable.remove_leftovers(tmp_path / "temporary")  # as the next sweep does
    assert list((tmp_path / "temporary").iterdir()) == []


@pytest.mark.slow
def test_points_of_a_frozen_worker_go_to_others(running, tmp_path):
    """As in a machine that swaps; its notebook is ended with it."""
    wait_for(lambda: len(list(tmp_path.glob("begun-*"))) == 2, "the first points")
    worker = next(child for child in running.children() if any("spawn_main" in word for word in child.cmdline()))
    everyone = [worker, *worker.children(recursive=True)]
    worker.suspend()
    (tmp_path / "go").touch()
    assert running.wait(PATIENCE_S) == 0
    assert pd.read_parquet(tmp_path / "out" / "results.parquet")["double"].tolist() == [2, 4, 6]
    _, alive = psutil.wait_procs(everyone, PATIENCE_S)
    assert alive == []


# --------------------------------------------------------------------------- a scheduler that asks for certificates


@pytest.fixture
def certificate(tmp_path) -> tuple[str, str]:
    """A certificate that is its own authority, and its key, as files."""
    made = Security.temporary()
    paths = tmp_path / "cert.pem", tmp_path / "key.pem"
    for path, text in zip(paths, (made.tls_client_cert, made.tls_client_key), strict=True):
        path.write_text(text)
    return str(paths[0]), str(paths[1])


def test_workers_share_compiled_code_where_it_cannot_be_cached_elsewhere(monkeypatch):
    """Otherwise each point compiles it, and its notebook shows a warning."""
    monkeypatch.setattr(pool, "can_cache", lambda: False)
    with pool.connected(1, None, 1) as client:
        folder = client.submit(os.getenv, "NUMBA_CACHE_DIR").result()
        assert os.path.isdir(os.path.dirname(folder))
    assert not os.path.exists(os.path.dirname(folder))


def test_workers_leave_nothing_in_the_folder_for_temporary_files(tmp_path, monkeypatch):
    """There, anybody could prepare the folder from which Dask imports modules."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with pool.connected(1, None, 1):
        assert {path.name.lstrip(".")[:5] for path in tmp_path.iterdir()} == {"ettr."}
    assert not any(tmp_path.iterdir())


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")  # Dask leaves sockets that were refused
def test_a_scheduler_with_certificates_takes_who_has_one(tmp_path, certificate, monkeypatch):
    """A real one and its worker, over TLS; and what is said to who has none, or comes without TLS."""
    cert, key = certificate
    machines = Machines(tmp_path, "tls", ["--tls-ca-file", cert, "--tls-cert", cert, "--tls-key", key])
    study = written(tmp_path / "a.ipynb", "import ettr\nettr.record(y=2 * x)", parameters="x = 1  # [1]")
    (tmp_path / "grid.yml").write_text("x: [1, 2]\n")
    port = int(machines.address.rpartition(":")[2])
    try:
        machines.scheduler(), machines.worker()
        wait_for(lambda: socket.socket().connect_ex(("127.0.0.1", port)) == 0, "the scheduler")
        with pytest.raises(InputError, match="needs certificates: set them in Dask's configuration"):
            sweep.run(study, {"x": [1]}, tmp_path / "no", scheduler=machines.address)
        monkeypatch.setattr(pool, "CONNECT_TIMEOUT_S", 2)
        with pytest.raises(InputError, match="no scheduler responds at tcp:.* within 2 s"):
            sweep.run(study, {"x": [1]}, tmp_path / "no", scheduler=f"tcp://127.0.0.1:{port}")
        names = {"CA_FILE": cert, "CLIENT__CERT": cert, "CLIENT__KEY": key}
        environment = {f"DASK_DISTRIBUTED__COMM__TLS__{name}": path for name, path in names.items()}
        assert machines.client(study, tmp_path / "out", **environment).wait(PATIENCE_S) == 0
        assert pd.read_parquet(tmp_path / "out" / "results.parquet")["y"].tolist() == [2, 4]
    finally:
        machines.end()
