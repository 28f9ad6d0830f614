"""Supervisor of a drill: starts the workers, detects failures, and injects the planned faults."""

from __future__ import annotations

import itertools
import json
import math
import os
import selectors
import signal
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from ettr.drill import checkpoints
from ettr.drill.log import Log
from ettr.drill.process import command
from ettr.drill.settings import (
    CORRUPT,
    CRASH,
    DISK,
    DISK_S,
    FLIP,
    HANG,
    SLOW,
    SLOW_S,
    STOPPING,
    SUPERVISOR,
    WHILE_TRAINING,
    Settings,
)

_MOST_IN_VAIN = 5
"""Most starts in a row that may fail without a planned fault."""
_SIGNALS = {CRASH: signal.SIGKILL, HANG: signal.SIGSTOP, FLIP: signal.SIGUSR1, SLOW: signal.SIGUSR2}


@dataclass
class WorkerProcess:
    """Worker process and its heartbeat.

    Attributes
    ----------
    child : Popen
        Process.
    heartbeat_s : float
        Time of its last message. [s]
    partial_line : bytes
        Start of an incomplete line.
    """

    child: subprocess.Popen[bytes]
    heartbeat_s: float
    partial_line: bytes = b""


@dataclass
class Attempt:
    """Start of all workers, until they are done or stop.

    Attributes
    ----------
    processes : list of WorkerProcess
        Workers in order of rank.
    begun_s : float
        Time of the start. [s]
    is_ready : bool
        True once they train.
    is_struck : bool
        True if a fault has stopped them and is not yet detected.
    slow : tuple of int and float, or None
        Rank of the slow worker, and the time until which it is slow. [s]
    """

    processes: list[WorkerProcess]
    begun_s: float
    is_ready: bool = False
    is_struck: bool = False
    slow: tuple[int, float] | None = None


class Supervisor:
    """Supervisor that runs a drill to its end, from the state in its log.

    Parameters
    ----------
    folder : Path
        Folder of the drill.
    settings : Settings
        Settings of the drill.
    """

    def __init__(self, folder: Path, settings: Settings) -> None:
        self._settings, self._checkpoints = settings, checkpoints.folder_of(folder)
        self._log, self._errors = Log(folder, settings), folder / "workers.err"
        self._exposed_s, n_faults, self._verified = self._log.progress()
        self._plan = itertools.islice(settings.planned(), n_faults, None)
        self._fault = next(self._plan, None)
        self._full_until_s = 0.0
        checkpoints.free(self._checkpoints)

    def run(self) -> None:
        """Restart the workers until the last step is done."""
        n_in_vain = 0
        while True:
            attempt = self._started()
            try:
                why = self._watched(attempt)
            finally:
                for worker in attempt.processes:
                    worker.child.kill()
                for worker in attempt.processes:
                    worker.child.wait()
                    assert worker.child.stdout
                    worker.child.stdout.close()
            if why == "done":
                self._log.write("end")
                return
            self._log.write("down", why=why)
            n_in_vain = 0 if attempt.is_ready or attempt.is_struck else n_in_vain + 1
            if n_in_vain == _MOST_IN_VAIN:
                raise OSError(f"the workers did not start to train, {n_in_vain} times in a row")

    def _started(self) -> Attempt:
        """Start all workers from the newest intact checkpoint with verified parameters."""
        start = self._verified = checkpoints.newest(
            self._checkpoints, self._verified if self._settings.check_steps else math.inf
        )
        checkpoints.drop_after(self._checkpoints, start)
        self._log.write("start", step=start, exposed_s=self._exposed_s)
        pairs = [socket.socketpair() for _ in range(self._settings.n_workers - 1)]
        sockets = [[hub for hub, _ in pairs], *([peer] for _, peer in pairs)]
        arguments = {
            "settings": self._settings.to_dict(),
            "folder": str(self._checkpoints),
            "start": start,
        }
        begun_s = time.monotonic()
        single_threaded = os.environ | dict.fromkeys(
            ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"
        )
        processes = []
        with self._errors.open("ab") as errors:
            for rank, ends in enumerate(sockets):
                handles = [end.fileno() for end in ends]
                child = subprocess.Popen(
                    command("worker", json.dumps({**arguments, "rank": rank, "handles": handles})),
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=errors,
                    pass_fds=handles,
                    env=single_threaded,
                    start_new_session=True,
                )
                processes.append(WorkerProcess(child, begun_s))
        for end in itertools.chain(*pairs):
            end.close()
        return Attempt(processes, begun_s)

    def _watched(self, attempt: Attempt) -> str:
        """Watch the workers until they are done or must be restarted; return the reason."""
        with selectors.DefaultSelector() as ready:
            for worker in attempt.processes:
                assert worker.child.stdout
                ready.register(worker.child.stdout, selectors.EVENT_READ, worker)
            while True:
                for key, _ in ready.select(self._wait_s(attempt)):
                    ending = self._receive(attempt, key.data)
                    if ending:
                        self._expose(attempt)
                        return ending
                self._inject(attempt)
                if time.monotonic() >= self._deadline_s(attempt):
                    self._expose(attempt)
                    return HANG

    def _wait_s(self, attempt: Attempt) -> float:
        """Time until the next deadline, fault, or end of a fault. [s]"""
        now_s = time.monotonic()
        times = [self._deadline_s(attempt)]
        if self._fault and not attempt.is_struck:
            times.append(attempt.begun_s + self._fault.at_s - self._exposed_s)
        times += [self._full_until_s] if self._full_until_s else []
        times += [attempt.slow[1]] if attempt.slow else []
        return max(0.0, min(times) - now_s)

    def _deadline_s(self, attempt: Attempt) -> float:
        """Time at which a silent worker counts as hanging. [s]"""
        if attempt.is_ready:
            return min(worker.heartbeat_s for worker in attempt.processes) + self._settings.heartbeat_s
        return attempt.begun_s + self._settings.start_timeout_s

    def _receive(self, attempt: Attempt, worker: WorkerProcess) -> str:
        """Process the messages of a worker; return the reason if they end the attempt."""
        assert worker.child.stdout
        text = os.read(worker.child.stdout.fileno(), 65536)
        if not text:
            return CRASH
        worker.heartbeat_s = time.monotonic()
        *lines, worker.partial_line = (worker.partial_line + text).split(b"\n")
        is_first = worker is attempt.processes[0]
        for line in lines:
            message = json.loads(line)
            event = message.pop("event")
            if event == "ready":
                attempt.is_ready = attempt.is_ready or is_first
                if is_first:
                    for other in attempt.processes:
                        other.heartbeat_s = worker.heartbeat_s
            if event == "step" and is_first:
                self._verified = message["step"] if message["checked"] else self._verified
            if is_first:
                self._log.write(event, **message)
            if event == "spoilt" or (event == "done" and is_first):
                return FLIP if event == "spoilt" else "done"
            if event == "unwritten" and not message["full"]:
                raise OSError(message["why"])
        return ""

    def _expose(self, attempt: Attempt) -> None:
        """Add the exposed time of an attempt, during which faults can strike."""
        if not attempt.is_struck:
            self._exposed_s += time.monotonic() - attempt.begun_s

    def _inject(self, attempt: Attempt) -> None:
        """Start and end the planned faults up to now."""
        now_s = time.monotonic()
        if self._full_until_s and now_s >= self._full_until_s:
            checkpoints.free(self._checkpoints)
            self._full_until_s = 0.0
            self._log.write("freed")
        if attempt.slow and now_s >= attempt.slow[1]:
            os.kill(attempt.processes[attempt.slow[0]].child.pid, signal.SIGUSR2)
            attempt.slow = None
            self._log.write("fast")
        while self._fault and not attempt.is_struck and self._exposed_s + now_s - attempt.begun_s >= self._fault.at_s:
            fault, self._fault = self._fault, next(self._plan, None)
            self._strike(attempt, fault.kind, fault.rank, now_s)

    def _strike(self, attempt: Attempt, kind: str, rank: int, now_s: float) -> None:
        """Inject a fault; the log is written first, because a fault may kill this process."""
        into_s = now_s - attempt.begun_s
        missed = (kind in WHILE_TRAINING and not attempt.is_ready) or (kind == SLOW and attempt.slow is not None)
        newest = next(iter(checkpoints.steps(self._checkpoints)), 0)
        spoilt_step = newest if kind == CORRUPT and not missed else 0
        self._log.write("fault", kind=kind, rank=rank, missed=missed, spoilt_step=spoilt_step)
        if kind in STOPPING:
            attempt.is_struck = True
            self._exposed_s += into_s
        if kind == SUPERVISOR:
            os.kill(os.getpid(), signal.SIGKILL)
        if spoilt_step:
            checkpoints.corrupt(self._checkpoints, spoilt_step)
        if kind == DISK:
            checkpoints.fill(self._checkpoints)
            self._full_until_s = now_s + DISK_S
        if kind == SLOW and not missed:
            attempt.slow = rank, now_s + SLOW_S
        if kind in _SIGNALS and not missed:
            os.kill(attempt.processes[rank].child.pid, _SIGNALS[kind])


def main(name: str) -> None:
    """Supervise the drill in a folder."""
    folder = Path(name)
    try:
        Supervisor(folder, Settings.of(json.loads((folder / "settings.json").read_text()))).run()
    except OSError as error:
        print(error.strerror or error, file=sys.stderr)
        sys.exit(1)
