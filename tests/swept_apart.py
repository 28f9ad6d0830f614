"""Processes that play a cluster of several machines, for tests of sweeps."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import psutil

PATIENCE_S = 300


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def wait_for(condition: Callable[[], object], what: str) -> None:
    until = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < until, f"waited too long for {what}"
        time.sleep(0.05)


class Machines:
    """Processes that play a cluster on one machine.

    `protocol` is that of their address, and `options` go to the scheduler and to each worker.
    """

    def __init__(self, folder: Path, protocol: str = "tcp", options: Sequence[str] = ()) -> None:
        self.address = f"{protocol}://127.0.0.1:{free_port()}"
        self._folder, self._options = folder, list(options)
        self._all: list[subprocess.Popen] = []

    def start(self, *command: str, **environment: str) -> subprocess.Popen:
        with (self._folder / "log").open("a") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", *command],
                stdout=log,
                stderr=log,
                start_new_session=True,
                cwd=self._folder,
                env=os.environ | environment,
            )
        self._all.append(process)
        return process

    def scheduler(self, **environment: str) -> subprocess.Popen:
        options = ["--host", self.address.rpartition(":")[0], "--port", self.address.rpartition(":")[2]]
        return self.start("distributed.cli.dask_scheduler", *options, "--no-dashboard", *self._options, **environment)

    def worker(self, *options: str) -> subprocess.Popen:
        common = ["--nthreads", "1", "--no-dashboard", "--host", "127.0.0.1", *self._options]
        return self.start("distributed.cli.dask_worker", self.address, *common, *options)

    def client(self, notebook: Path, out: Path, **environment: str) -> subprocess.Popen:
        grid = notebook.with_name("grid.yml")
        command = ["sweep", str(notebook), "--grid", str(grid), "--out", str(out), "--scheduler", self.address]
        return self.start("ettr.cli", *command, **environment)

    def end(self) -> None:
        for process in self._all:
            kill(process)


def end(process: psutil.Popen) -> None:
    """End a process and all below it, if it has not ended."""
    with contextlib.suppress(psutil.NoSuchProcess):
        for member in [*process.children(recursive=True), process]:
            member.kill()
    process.wait()


def kill(process: subprocess.Popen) -> None:
    """End a process with all that it started, as a machine does that loses power."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
