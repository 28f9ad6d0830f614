"""Worker of a drill: a process that computes its share of each step and exchanges gradients with the others."""

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
"""Message sent instead of a sum if the workers' parameters differ."""


def report(event: str, **values: Any) -> None:
    """Send a message to the supervisor in a single write; exit if the supervisor is gone."""
    try:
        os.write(1, (json.dumps({"event": event, "at_s": time.time(), **values}) + "\n").encode())
    except BrokenPipeError:
        os._exit(1)


class Worker:
    """Worker, from a checkpoint to the last step.

    Parameters
    ----------
    settings : Settings
        Settings of the drill.
    folder : Path
        Folder of the checkpoints.
    rank, start : int
        Rank of the worker, and step of the checkpoint.
    peers : list of Connection
        For rank 0 the connections to all others in order of rank, for the others the connection to rank 0.
    """

    def __init__(self, settings: Settings, folder: Path, rank: int, start: int, peers: list[Connection]) -> None:
        self._settings, self._folder, self._rank, self._peers = settings, folder, rank, peers
        state = checkpoints.read(checkpoints.path_of(folder, start)) if start else None
        if start and state is None:
            raise EOFError("the checkpoint was corrupted after the supervisor read it")
        self._model = DrillModel(settings.seed, settings.n_workers, state)
        self._start, self._is_flipped, self._slow = start, False, False
        self._writer: threading.Thread | None = None
        signal.signal(signal.SIGUSR1, self._flipped)
        signal.signal(signal.SIGUSR2, self._slowed)

    def _flipped(self, *_: Any) -> None:
        """Flip a bit in the next step."""
        self._is_flipped = True

    def _slowed(self, *_: Any) -> None:
        """Become slow, or normal again."""
        self._slow = not self._slow

    def run(self) -> None:
        """Train to the last step; the death of another worker ends this one as well."""
        settings = self._settings
        self._meet()
        report("ready", step=self._start)
        for step in range(self._start + 1, settings.n_steps + 1):
            begun_s = time.monotonic()
            if self._is_flipped:
                self._is_flipped = False
                self._model.flip(step)
            is_checked = bool(settings.check_steps) and (step % settings.check_steps == 0 or step == settings.n_steps)
            digest = self._model.digest if is_checked else 0
            gradient, loss = self._model.gradient(step, self._rank)
            step_s = settings.step_s * (SLOW_FACTOR if self._slow else 1.0)
            time.sleep(max(0.0, begun_s + step_s - time.monotonic()))
            total = self._exchanged(gradient, digest)
            if total is None:
                report("spoilt", step=step)
                time.sleep(settings.heartbeat_s)  # the supervisor ends this process meanwhile
                return
            self._model.update(total)
            report("step", step=step, loss=loss, checked=is_checked)
            if self._rank == 0 and step % settings.interval_steps == 0 and step < settings.n_steps:
                self._save(step)
        if self._rank:
            self._peers[0].recv_bytes()  # returns when rank 0 has saved the final state and exits
        checkpoints.write(checkpoints.final_of(self._folder), self._model.state)
        report("done")

    def _meet(self) -> None:
        """Barrier: every worker sends a message to rank 0, which replies when it has received all."""
        if self._rank == 0:
            for peer in self._peers:
                peer.recv_bytes()
        for peer in self._peers:
            peer.send_bytes(b"there")
        if self._rank:
            self._peers[0].recv_bytes()

    def _exchanged(self, gradient: np.ndarray, digest: int) -> np.ndarray | None:
        """Sum of all workers' gradients; None if their parameters differ."""
        if self._rank:
            self._peers[0].send_bytes(digest.to_bytes(8, "big") + gradient.tobytes())
            reply = self._peers[0].recv_bytes()
            return None if reply == _SPOILT else np.frombuffer(reply, dtype=float)
        messages = [peer.recv_bytes() for peer in self._peers]
        agree = all(int.from_bytes(message[:8], "big") == digest for message in messages)
        total = summed([gradient, *(np.frombuffer(message[8:], dtype=float) for message in messages)])
        for peer in self._peers:
            peer.send_bytes(total.tobytes() if agree else _SPOILT)
        return total if agree else None

    def _save(self, step: int) -> None:
        """Save a checkpoint, before training continues or in the background."""
        if self._writer:
            self._writer.join()
        self._writer = threading.Thread(target=self._written, args=(step, self._model.state))
        self._writer.start()
        if not self._settings.background:
            self._writer.join()
        report("stalled", step=step, writing=self._settings.background)

    def _written(self, step: int, state: bytes) -> None:
        """Write a checkpoint and report it."""
        try:
            checkpoints.write(checkpoints.path_of(self._folder, step), state, self._settings.write_s)
        except OSError as error:
            report("unwritten", step=step, why=error.strerror, full=checkpoints.is_full(error))
            return
        report("durable", step=step)
        checkpoints.keep_newest(self._folder, N_KEPT)


def main(text: str) -> None:
    """Run the worker described in JSON by the supervisor."""
    values = json.loads(text)
    peers = [Connection(handle) for handle in values["handles"]]
    try:
        Worker(Settings.of(values["settings"]), Path(values["folder"]), values["rank"], values["start"], peers).run()
    except (EOFError, ConnectionError):
        sys.exit(1)  # another worker died or the checkpoint is unreadable; the supervisor restarts all
    except OSError as error:
        report("unwritten", step=0, why=error.strerror or str(error), full=False)
        sys.exit(1)
