"""Nobody but its owner reaches the workers of a sweep, and a scheduler elsewhere may ask for certificates."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import ssl
import stat
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pandas as pd
import psutil
import pytest
from distributed import Security
from distributed.core import rpc

from ettr import sweep
from ettr.core.errors import InputError
from ettr.sweep import own_cluster, pool
from notebooks import written
from swept_apart import PATIENCE_S, Machines, end, wait_for

pytestmark = pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")  # Dask leaves sockets that were refused
ANSWER_S = 3


@pytest.fixture
def running(tmp_path):
    """A sweep in a process of its own whose points run until a file is there, and its folder for temporary files."""
    notebook = written(
        tmp_path / "study.ipynb",
        "import pathlib, time\npathlib.Path(f'begun-{x}').touch()",
        "while not pathlib.Path('go').exists():\n    time.sleep(0.05)",
        "import ettr\nettr.record(double=2 * x)",
        parameters="x = 1  # whole",
    )
    (tmp_path / "grid.yml").write_text("x: [1, 2, 3]\n")
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    command = ["ettr.cli", "sweep", str(notebook), "--grid", "grid.yml", "--out", "out", "--workers", "2"]
    process = psutil.Popen(
        [sys.executable, "-m", *command],
        cwd=tmp_path,
        env=os.environ | {"TMPDIR": str(temporary)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    yield process
    end(process)


def ports(process: psutil.Process) -> list[tuple[str, int]]:
    """All that a process and those below it listen at."""
    everyone = [process, *process.children(recursive=True)]
    bound = [found for one in everyone for found in one.net_connections("inet") if not found.raddr]
    return sorted({(found.laddr.ip, found.laddr.port) for found in bound})


def answers(where: tuple[str, int], protocol: str, security: Security | None) -> bool:
    """Whether a Dask server says at this port who it is."""

    async def ask() -> bool:
        arguments = security.get_connection_args("client") if security else None
        server = rpc(f"{protocol}://{where[0]}:{where[1]}", timeout=ANSWER_S, connection_args=arguments)
        try:
            return bool(await asyncio.wait_for(server.identity(), ANSWER_S))
        except (OSError, TimeoutError):
            return False
        finally:
            await server.close_rpc()

    with ThreadPoolExecutor(1) as apart:  # a browser's tests may leave a loop running in this thread
        return apart.submit(asyncio.run, ask()).result()


def said(where: tuple[str, int], text: bytes, context: ssl.SSLContext | None = None) -> bytes:
    """What a port answers to a text, over TLS if asked for; nothing if it hangs up."""
    try:
        with socket.create_connection(where, ANSWER_S) as plain:
            line = context.wrap_socket(plain) if context else plain
            line.sendall(text)
            return line.recv(100)
    except OSError:
        return b""


def test_no_port_of_a_sweep_answers_who_has_no_certificate(running, tmp_path):
    """A stranger of the same machine: plain, over HTTP, over TLS without a certificate and with one of its own."""
    wait_for(lambda: len(list(tmp_path.glob("begun-*"))) == 2, "the first points")
    open_to = ports(running)
    assert len(open_to) == 5  # the scheduler, two nannies, two workers
    assert {ip for ip, _ in open_to} == {"127.0.0.1"}
    trusting = ssl.create_default_context()
    trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
    hanging = [socket.create_connection(where) for where in open_to]  # they say nothing, and stop nobody
    for where in open_to:
        assert said(where, b"GET /json/identity.json HTTP/1.0\r\n\r\n") == b""
        assert said(where, b"\0" * 64, trusting) == b""
        assert not answers(where, "tcp", None)
        assert not answers(where, "tls", Security.temporary())
    everyone = [running, *running.children(recursive=True)]
    for name in ("cmdline", "environ"):
        assert not any(b"PRIVATE KEY" in Path(f"/proc/{one.pid}/{name}").read_bytes() for one in everyone)
    made = [path for path in (tmp_path / "temporary").iterdir() if path.is_dir()]
    assert made and all(stat.S_IMODE(path.stat().st_mode) == 0o700 for path in made)
    assert not any(b"PRIVATE KEY" in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())

    (tmp_path / "go").touch()
    assert running.wait(PATIENCE_S) == 0
    assert pd.read_parquet(tmp_path / "out" / "results.parquet")["double"].tolist() == [2, 4, 6]
    assert list((tmp_path / "temporary").iterdir()) == []
    for line in hanging:
        line.close()


def test_who_holds_the_certificate_is_answered():
    """Else the test above would pass with a cluster that answers nobody."""
    with own_cluster.started(1) as cluster:
        host, _, port = cluster.scheduler_address.removeprefix("tls://").rpartition(":")
        assert answers((host, int(port)), "tls", cluster.security)
        assert not answers((host, int(port)), "tls", Security.temporary())


def test_workers_import_nothing_from_a_folder_of_others(tmp_path, monkeypatch):
    """Dask looks for modules in its scratch folder, and another user may have made the one that all share."""
    shared = tmp_path / "dask-scratch-space"
    shared.mkdir()
    shared.chmod(0o777)
    (shared / "planted.py").write_text("")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    before = list(sys.path)
    with pool.connected(1, None, 1) as client:
        searched = [*sys.path, *next(iter(client.run(lambda: __import__("sys").path).values()))]
        new = [Path(name) for name in searched if str(tmp_path) in name]
        assert new and not any(path.is_relative_to(shared) for path in new)
        for path in new:
            top = tmp_path / path.relative_to(tmp_path).parts[0]
            assert stat.S_IMODE(top.stat().st_mode) == 0o700
    assert sys.path == before


@pytest.fixture
def certificates(tmp_path):
    """A certificate that is its own authority, and its key, as files."""
    made = Security.temporary()
    for name, text in (("cert.pem", made.tls_client_cert), ("key.pem", made.tls_client_key)):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o600)
    return tmp_path / "cert.pem", tmp_path / "key.pem"


def test_a_scheduler_with_certificates_takes_who_has_one(tmp_path, certificates, monkeypatch):
    """A real one and its worker, over TLS; and what is said to who has none, or comes without TLS."""
    cert, key = certificates
    machines = Machines(tmp_path, "tls", ["--tls-ca-file", str(cert), "--tls-cert", str(cert), "--tls-key", str(key)])
    notebook = written(tmp_path / "a.ipynb", "import ettr\nettr.record(y=2 * x)", parameters="x = 1  # [1]")
    (tmp_path / "grid.yml").write_text("x: [1, 2]\n")
    try:
        machines.scheduler(), machines.worker()
        port = int(machines.address.rpartition(":")[2])
        wait_for(lambda: answers(("127.0.0.1", port), "tls", _holding(cert, key)), "the scheduler")
        with pytest.raises(InputError, match="needs certificates: name them in Dask's configuration"):
            sweep.run(notebook, {"x": [1]}, tmp_path / "no", scheduler=machines.address)
        monkeypatch.setattr(pool, "CONNECT_TIMEOUT_S", 2)
        with pytest.raises(InputError, match="no scheduler answers at tcp:.* within 2 s"):
            sweep.run(notebook, {"x": [1]}, tmp_path / "no", scheduler=f"tcp://127.0.0.1:{port}")
        client = machines.client(
            notebook,
            tmp_path / "out",
            DASK_DISTRIBUTED__COMM__TLS__CA_FILE=str(cert),
            DASK_DISTRIBUTED__COMM__TLS__CLIENT__CERT=str(cert),
            DASK_DISTRIBUTED__COMM__TLS__CLIENT__KEY=str(key),
        )
        assert client.wait(PATIENCE_S) == 0
        assert pd.read_parquet(tmp_path / "out" / "results.parquet")["y"].tolist() == [2, 4]
    finally:
        machines.end()


def _holding(cert: Path, key: Path) -> Security:
    names = {"tls_ca_file": str(cert), "tls_client_cert": str(cert), "tls_client_key": str(key)}
    return Security(require_encryption=True, **names)


def test_a_kernel_of_its_own_listens_to_nobody_else(tmp_path):
    """With --fresh-kernels: sockets in a private folder, and messages signed with a key that is in it."""
    notebook = written(
        tmp_path / "a.ipynb",
        "import ettr, json, pathlib\nfrom ipykernel.connect import get_connection_file\n"
        "place = pathlib.Path(get_connection_file())\nhow = json.loads(place.read_text())\n"
        "ettr.record(transport=how['transport'], key=len(how['key']), mode=place.parent.stat().st_mode & 0o777)",
        "import psutil\nettr.record(ports=len([c for c in psutil.Process().net_connections('inet') if not c.raddr]))",
        parameters="x = 1  # [1]",
    )
    job = sweep.NotebookJob(notebook, sweep.load({"x": [1]}, 1), fresh_kernels=True)
    sweep.preview(job, tmp_path / "out")
    row = sweep.sweep(job, tmp_path / "out").iloc[0]
    assert row["status"] == "done", row["error"]
    assert (row["transport"], row["mode"]) == ("ipc", 0o700)
    assert row["key"] >= 32
    assert row["ports"] <= 1  # of ipykernel, for what its forks print: it answers nothing, and drops what has no secret


@pytest.mark.parametrize("stopped", [False, True])
@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGKILL])
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a process of its parent's end")
def test_nothing_outlives_a_sweep(running, tmp_path, ending, stopped):
    """Also if its processes are frozen when it ends: stopped, as by a shell, or in a machine that swaps."""
    wait_for(lambda: len(list(tmp_path.glob("begun-*"))) == 2, "the first points")
    below = [one for one in running.children(recursive=True) if "resource_tracker" not in " ".join(one.cmdline())]
    open_to = ports(running)
    if stopped:
        for one in below:
            one.suspend()
    running.send_signal(ending)
    assert running.wait(PATIENCE_S) == (130 if ending == signal.SIGINT else -signal.SIGKILL)
    _, alive = psutil.wait_procs(below, PATIENCE_S)
    assert alive == []
    for where in open_to:
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(where, ANSWER_S)
    left = list((tmp_path / "temporary").rglob("*"))
    assert not any(path.is_socket() for path in left)
    assert not any(b"PRIVATE KEY" in path.read_bytes() for path in left if path.is_file())
    if ending == signal.SIGINT:
        assert left == []
