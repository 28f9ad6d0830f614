"""Forked copies of a process that has done the imports, as seen from the process that uses them."""

from __future__ import annotations

import atexit
import contextlib
import json
import math
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from multiprocessing import connection
from typing import Any

from ettr.core.errors import EttrError

UNDRAWN_TYPE = "application/vnd.ettr.chart+json"
"""A chart that a notebook hands on as its specification, to be drawn beside it."""

UNDRAWN = "ChartError"
"""Name of the error of a cell whose chart cannot be drawn."""

RUN, DRAW = b"run", b"draw"
"""What a copy is for: a notebook, or charts."""

MOST_OUTPUT_BYTES = 200_000_000
STARTED_WITHIN_S = 60
LOOKED_EVERY_S = 0.25
"""At how much programs wrote past Python."""


class Died(EttrError):
    """The process of a notebook ended by itself."""


class TooMuchOutput(EttrError):
    """A cell put out more than a notebook can hold."""


class Copy:
    """A forked copy, as seen from here.

    Attributes
    ----------
    written : dict
        Files that it opened for writing, as keys, in order.
    error : list of str
        Type and text of the error that the last cell ended with, shown or not; empty for none.
    """

    def __init__(self, pipe: connection.Connection, cwd: str, kept_out: str) -> None:
        self._pipe = pipe
        self.written: dict[str, None] = {}
        self.error: list[str] = []
        self._ended: int | None = None
        self._leftovers: list[int] = []
        self._socket = socket.fromfd(pipe.fileno(), socket.AF_UNIX, socket.SOCK_STREAM)
        self._send({"cwd": cwd, "environment": dict(os.environ), "kept_out": kept_out})
        try:
            ready = self._receive(time.monotonic() + STARTED_WITHIN_S)["content"]
        except TimeoutError as error:
            raise Died(f"its process did not start within {STARTED_WITHIN_S} s") from error
        self._pid = ready["pid"]
        with contextlib.suppress(OSError):  # it is no more
            self._leftovers = [os.open(f"/proc/{self._pid}/fd/{number}", os.O_RDONLY) for number in ready["leftovers"]]
        with contextlib.suppress(OSError, AttributeError):  # an old kernel: then its end is that of the pipe
            self._ended = os.pidfd_open(self._pid)

    def execute(self, code: str, deadline: float | None) -> Iterator[dict[str, Any]]:
        """What running the code puts out, as messages of the Jupyter protocol.

        Raises
        ------
        TimeoutError
            After the deadline, by the monotonic clock.
        Died
            If the process ends.
        TooMuchOutput
            If it puts out more than a notebook can hold.
        """
        self._send({"code": code}, deadline)
        received, before = 0, self._left_over()
        while True:
            message = self._receive(deadline, before + MOST_OUTPUT_BYTES)
            received += message.pop("size")
            if received > MOST_OUTPUT_BYTES:
                raise TooMuchOutput
            if message["msg_type"] == "execute_reply":
                self.written |= dict.fromkeys(message["content"]["written"])
                self.error = message["content"]["error"]
                return
            yield message

    def end(self) -> None:
        """End the process and all that it started."""
        self._pipe.close()
        self._socket.close()
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._pid, signal.SIGKILL)
        for descriptor in [*self._leftovers, *([] if self._ended is None else [self._ended])]:
            os.close(descriptor)

    def _send(self, message: dict[str, Any], deadline: float | None = None) -> None:
        self._bound(socket.SO_SNDTIMEO, deadline)
        try:
            self._pipe.send_bytes(json.dumps(message).encode())
        except BlockingIOError as error:
            raise TimeoutError from error
        except OSError as error:
            raise Died("its kernel died") from error

    def _bound(self, option: int, deadline: float | None) -> None:
        """End the next transfer at the deadline: a process that is stopped amid one would keep it waiting for ever."""
        fraction, whole = (0.0, 0.0) if deadline is None else math.modf(max(_left_s(deadline), 0.001))
        self._socket.setsockopt(socket.SOL_SOCKET, option, struct.pack("ll", int(whole), int(1e6 * fraction)))

    def _left_over(self) -> int:
        """Bytes that programs wrote past Python."""
        return sum(os.fstat(descriptor).st_size for descriptor in self._leftovers)

    def _receive(self, deadline: float | None, most: float = math.inf) -> dict[str, Any]:
        """The next message, unless more than so much is written past Python before it comes."""
        watched: list[Any] = [self._pipe] if self._ended is None else [self._pipe, self._ended]
        while _left_s(deadline) and not connection.wait(watched, min(LOOKED_EVERY_S, _left_s(deadline))):
            if self._left_over() > most:
                raise TooMuchOutput
        if not _left_s(deadline):
            raise TimeoutError
        try:
            if not self._pipe.poll():  # its last message is read first; programs that it left may hold the pipe open
                raise Died("its kernel died")
            self._bound(socket.SO_RCVTIMEO, deadline)
            text = self._pipe.recv_bytes(MOST_OUTPUT_BYTES)
            return {**json.loads(text), "size": len(text)}
        except BlockingIOError as error:
            raise TimeoutError from error
        except (EOFError, OSError, ValueError) as error:
            if isinstance(error, OSError) and error.errno is None:  # a message beyond the most
                raise TooMuchOutput from error
            raise Died("its kernel died") from error


def _left_s(deadline: float | None) -> float:
    return math.inf if deadline is None else max(0.0, deadline - time.monotonic())


@contextlib.contextmanager
def forked(cwd: str, kept_out: str) -> Iterator[Copy]:
    """A fresh copy that works in a folder and may change nothing in another one; it ends with the block."""
    ours, theirs = socket.socketpair()
    with theirs:
        prepared().fork(theirs)
    run = Copy(connection.Connection(ours.detach()), cwd, kept_out)
    try:
        yield run
    finally:
        run.end()


class _Prepared:
    """The process that forks, started once in this process and shared by its threads."""

    def __init__(self) -> None:
        self.idle_drawers: list[Any] = []
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "ettr.notebook.forking", str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
            )
        if self._control.recv(16) != b"ready":
            _, error_output = self._process.communicate()
            raise EttrError(f"the process that runs notebooks did not start: {_last_line(error_output)}")

    def fork(self, pipe: socket.socket, purpose: bytes = RUN) -> None:
        """Fork a copy that serves this pipe."""
        try:
            socket.send_fds(self._control, [purpose], [pipe.fileno()])
        except OSError as error:
            raise Died("its kernel died") from error

    def is_alive(self) -> bool:
        return self._process.poll() is None

    def close(self) -> None:
        """End the process, and with it all copies."""
        for drawer in self.idle_drawers:
            drawer.close()
        self._control.close()
        self._process.communicate()


_lock = threading.Lock()
_one: dict[int, _Prepared] = {}
"""By the id of the process that started it: a fork of this process needs its own."""


def prepared() -> _Prepared:
    with _lock:
        own = os.getpid()
        if own in _one and not _one[own].is_alive():
            _one.pop(own).close()
        if own not in _one:
            _one[own] = _Prepared()
        return _one[own]


@atexit.register
def close() -> None:
    """End the prepared process, if there is one."""
    with _lock:
        prepared = _one.pop(os.getpid(), None)
    if prepared:
        prepared.close()


def _last_line(error_output: bytes) -> str:
    lines = error_output.decode("utf-8", "replace").strip().splitlines()
    return lines[-1] if lines else "it said nothing"
