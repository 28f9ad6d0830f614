"""One worker of a drill: a process of its own that computes its share of each step and exchanges it with the others."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

from ettr.drill import checkpoints
from ettr.drill.model import DrillModel, summed
from ettr.drill.settings import N_KEPT, SLOW_FACTOR, Settings

_SPOILT = b"spoilt"
"""Sent in place of a sum, when the workers' parameters differ."""


def report(event: str, **values: Any) -> None:
    """A line to the supervisor, in one piece; when nobody reads it any more, there is nothing left to do."""
    try:
        os.write(1, (json.dumps({"event": event, "at_s": time.time(), **values}) + "\n").encode())
    except BrokenPipeError:
        os._exit(1)


class Worker:
    """A worker, from the checkpoint that it goes on from to the last step.

    Parameters
    ----------
    settings : Settings
        Of the drill.
    folder : Path
        Of its checkpoints.
    rank, start : int
        Which worker it is, and the step that it goes on after.
    peers : list of Connection
        Of rank 0 those to all others in their order, of the others the one to rank 0.
    """

    def __init__(self, settings: Settings, folder: Path, rank: int, start: int, peers: list[Connection]) -> None:
        self._settings, self._folder, self._rank, self._peers = settings, folder, rank, peers
        state = checkpoints.read(checkpoints.path_of(folder, start)) if start else None
        if start and state is None:
            raise EOFError("the checkpoint was spoilt since the supervisor read it")
        self._model = DrillModel(settings.seed, settings.n_workers, state)
        self._start, self._is_flipped, self._slow = start, False, False
        self._writer: threading.Thread | None = None
        signal.signal(signal.SIGUSR1, self._flipped)
        signal.signal(signal.SIGUSR2, self._slowed)

    def _flipped(self, *_: Any) -> None:
        self._is_flipped = True

    def _slowed(self, *_: Any) -> None:
        self._slow = not self._slow

    def run(self) -> None:
        """Train to the end; another worker's death ends this one as well."""
        given = self._settings
        self._meet()
        report("ready", step=self._start)
        for step in range(self._start + 1, given.n_steps + 1):
            begun_s = time.monotonic()
            if self._is_flipped:
                self._is_flipped = False
                self._model.flip(step)
            is_checked = bool(given.check_steps) and (step % given.check_steps == 0 or step == given.n_steps)
            digest = self._model.digest if is_checked else 0
            slopes, loss = self._model.gradient(step, self._rank)
            least_s = given.step_s * (SLOW_FACTOR if self._slow else 1.0)
            time.sleep(max(0.0, begun_s + least_s - time.monotonic()))
            total = self._exchanged(slopes, digest)
            if total is None:
                report("spoilt", step=step)
                time.sleep(given.heartbeat_s)  # the supervisor ends it
                return
            self._model.update(total)
            report("step", step=step, loss=loss, checked=is_checked)
            if self._rank == 0 and step % given.interval_steps == 0 and step < given.n_steps:
                self._save(step)
        if self._rank:
            self._peers[0].recv_bytes()  # until rank 0 has written the end, and goes
        checkpoints.write(checkpoints.final_of(self._folder), self._model.state)
        report("done")

    def _meet(self) -> None:
        """All are there: each tells rank 0, which answers when it has heard of all."""
        if self._rank == 0:
            for peer in self._peers:
                peer.recv_bytes()
        for peer in self._peers:
            peer.send_bytes(b"there")
        if self._rank:
            self._peers[0].recv_bytes()

    def _exchanged(self, slopes: np.ndarray, digest: int) -> np.ndarray | None:
        """The sum over all workers; None if their parameters differ."""
        if self._rank:
            self._peers[0].send_bytes(digest.to_bytes(8, "big") + slopes.tobytes())
            answer = self._peers[0].recv_bytes()
            return None if answer == _SPOILT else np.frombuffer(answer, dtype=float)
        received = [peer.recv_bytes() for peer in self._peers]
        alike = all(int.from_bytes(one[:8], "big") == digest for one in received)
        total = summed([slopes, *(np.frombuffer(one[8:], dtype=float) for one in received)])
        for peer in self._peers:
            peer.send_bytes(total.tobytes() if alike else _SPOILT)
        return total if alike else None

    def _save(self, step: int) -> None:
        """Keep the state, at once or while training goes on."""
        if self._writer:
            self._writer.join()
        self._writer = threading.Thread(target=self._written, args=(step, self._model.state))
        self._writer.start()
        if not self._settings.background:
            self._writer.join()
        report("stalled", step=step, writing=self._settings.background)

    def _written(self, step: int, state: bytes) -> None:
        try:
            checkpoints.write(checkpoints.path_of(self._folder, step), state, self._settings.write_s)
        except OSError as error:
            report("unwritten", step=step, why=error.strerror, full=checkpoints.is_full(error))
            return
        report("durable", step=step)
        checkpoints.keep_newest(self._folder, N_KEPT)


def main(text: str) -> None:
    """Run the worker that the supervisor asks for in JSON."""
    given = json.loads(text)
    peers = [Connection(handle) for handle in given["handles"]]
    try:
        Worker(Settings.of(given["settings"]), Path(given["folder"]), given["rank"], given["start"], peers).run()
    except (EOFError, ConnectionError):
        sys.exit(1)  # another one died, or the state is gone: all start again
    except OSError as error:
        report("unwritten", step=0, why=error.strerror or str(error), full=False)
        sys.exit(1)
