"""Process in which a notebook runs: a fork of a prepared process, with the shell of a kernel but no kernel.

Cells arrive over a pipe, and their output goes back as the messages that a Jupyter kernel would send. The shell is that
of ipykernel, so magics, tracebacks, rich output and ``await`` work as usual. This module imports all standard-library
functions that it needs before the first cell, because a cell may replace them.
"""

from __future__ import annotations

import asyncio
import codecs
import functools
import io
import os
import signal
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from json import dumps, loads
from multiprocessing.connection import Connection
from os import _exit, dup2, fstat, getpid, pread
from os import write as write_to
from typing import Any

from ipykernel.zmqshell import ZMQInteractiveShell
from IPython.core.error import StdinNotImplementedError
from jupyter_client.jsonutil import json_default
from jupyter_client.session import Session
from traitlets.config import Config


@functools.partial(codecs.register_error, "ettr-escaped")
def _escaped(error: UnicodeError) -> tuple[str | bytes, int]:
    """Escape a lone surrogate in a JSON text as Python shows it."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(rf"\\u{ord(sign):04x}" for sign in error.object[error.start : error.end]), error.end


class PipeSession(Session):
    """Session that sends the messages of a shell over a pipe, except from processes that the notebook forks."""

    pipe: Connection
    owner: int
    lock = threading.RLock()

    def send(self, stream: Any, msg_or_type: Any, content: Any = None, *_: Any, **__: Any) -> None:
        """Send the type and the content of a message, without routing information."""
        kind = msg_or_type
        if isinstance(msg_or_type, dict):
            kind, content = msg_or_type["header"]["msg_type"], msg_or_type["content"]
        if getpid() != self.owner:
            if kind == "error":
                write_to(2, "\n".join([*content["traceback"], ""]).encode("utf-8", "backslashreplace"))
            return
        text = dumps({"msg_type": kind, "content": content or {}}, default=json_default, ensure_ascii=False)
        with self.lock:
            self.pipe.send_bytes(text.encode("utf-8", "ettr-escaped"))


class Stream(io.TextIOBase):
    """Standard output or standard error of the notebook, buffered until another message is sent."""

    encoding = "utf-8"
    errors = "replace"
    buffer_size = 1_000_000

    def __init__(self, session: PipeSession, name: str, descriptor: int) -> None:
        self._session, self._descriptor = session, descriptor
        self.name = name
        self._texts: list[str] = []
        self._size = 0
        self._lock = threading.RLock()

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._descriptor

    def write(self, text: str) -> int:
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        if getpid() != self._session.owner:
            write_to(self._descriptor, text.encode("utf-8", "backslashreplace"))
            return len(text)
        with self._lock:
            self._texts.append(text)
            self._size += len(text)
            if self._size > self.buffer_size:
                self.flush()
        return len(text)

    def flush(self) -> None:
        if getpid() != self._session.owner:
            return
        with self._lock:
            text, self._texts, self._size = "".join(self._texts), [], 0
            if text:
                self._session.send(None, "stream", {"name": self.name, "text": text})


class Leftover:
    """Output of programs and libraries to a file descriptor, collected in a file until the cell ends."""

    def __init__(self, stream: Stream, descriptor: int) -> None:
        self._stream = stream
        self._file = tempfile.TemporaryFile()  # noqa: SIM115  (open for the life of the process)
        self.fileno = self._file.fileno()
        dup2(self.fileno, descriptor)
        self._read = 0

    def forward(self) -> None:
        """Forward new output of the file descriptor, and flush the stream."""
        size = fstat(self.fileno).st_size
        if size > self._read:
            text = pread(self.fileno, size - self._read, self._read)
            self._read = size
            self._stream.write(text.decode("utf-8", "replace"))
        self._stream.flush()


def new_shell() -> Any:
    """Return a shell for a notebook, created once and copied by each fork."""
    config = Config()
    config.HistoryManager.enabled = False
    shell: Any = ZMQInteractiveShell.instance(config=config)
    shell.display_pub.session = shell.displayhook.session = PipeSession()
    shell.display_pub.pub_socket = shell.displayhook.pub_socket = True  # any value except None
    return shell


def serve(shell: Any, pipe: Connection) -> None:
    """Run cells from the pipe until it is closed; never returns."""
    try:
        start = loads(pipe.recv_bytes())
        leftovers = _settle(shell, pipe, start)
        pipe.send_bytes(dumps({"msg_type": "ready", "content": {"pid": getpid()}}).encode())
        asyncio.run(_answer(shell, pipe, leftovers))
    except (EOFError, BrokenPipeError, ConnectionResetError):
        pass
    finally:
        _exit(0)


def _settle(shell: Any, pipe: Connection, start: Mapping[str, Any]) -> list[Leftover]:
    """Set up the forked process: working folder, environment, signals, random numbers and streams."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.environ.clear()
    os.environ.update(start["environment"])
    shell.init_environment()
    os.environ.setdefault("MPLBACKEND", "module://matplotlib_inline.backend_inline")
    os.chdir(start["cwd"])
    tempfile.tempdir = None  # chosen again from the new environment
    if "numpy.random" in sys.modules:  # Python's generator reseeds itself after a fork
        sys.modules["numpy.random"].seed()
    session = shell.display_pub.session
    session.pipe, session.owner = pipe, getpid()
    leftovers = []
    for descriptor, name in ((1, "stdout"), (2, "stderr")):
        stream = Stream(session, name, descriptor)
        setattr(sys, name, stream)
        leftovers.append(Leftover(stream, descriptor))
    sys.stdin = open(os.devnull)  # noqa: SIM115
    sys.argv[:] = [""]
    return leftovers


async def _answer(shell: Any, pipe: Connection, leftovers: list[Leftover]) -> None:
    """Run cells one by one inside an event loop, like a kernel."""
    import builtins
    import getpass

    builtins.input = getpass.getpass = _no_input
    shell.ask_exit = functools.partial(_end, leftovers)
    owner = getpid()
    while True:
        await _readable(pipe.fileno())
        request = loads(pipe.recv_bytes())
        error = await _run(shell, request["code"])
        if getpid() != owner:  # a process that the notebook forked ends with the cell
            _exit(int(error is not None))
        for leftover in leftovers:
            leftover.forward()
        shell.payload_manager.clear_payload()
        count = shell.execution_count - 1
        content = {"execution_count": count, "error": _named(error)}
        shell.display_pub.session.send(None, "execute_reply", content)


async def _readable(descriptor: int) -> None:
    """Wait for input, while tasks of the notebook in the event loop continue."""
    loop = asyncio.get_running_loop()
    arrived = loop.create_future()
    loop.add_reader(descriptor, arrived.set_result, None)
    try:
        await arrived
    finally:
        loop.remove_reader(descriptor)


async def _run(shell: Any, code: str) -> BaseException | None:
    """Run a cell like ipykernel, in the event loop if it uses ``await``; return its error."""
    problem = None
    try:
        transformed = shell.transform_cell(code)
    except Exception:
        transformed, problem = code, sys.exc_info()
    if not shell.should_run_async(code, transformed_cell=transformed, preprocessing_exc_tuple=problem):
        return _error_of(shell.run_cell(code, store_history=True))
    result = None
    try:
        result = await shell.run_cell_async(
            code, store_history=True, transformed_cell=transformed, preprocessing_exc_tuple=problem
        )
    finally:
        shell.events.trigger("post_execute")
        shell.events.trigger("post_run_cell", result)
    return _error_of(result)


def _error_of(result: Any) -> BaseException | None:
    """Error of an executed cell."""
    error: BaseException | None = result.error_before_exec or result.error_in_exec
    return error


def _named(error: BaseException | None) -> list[str]:
    """Type and message of an error; empty without an error."""
    if error is None:
        return []
    try:
        return [type(error).__name__, str(error)]
    except Exception:  # its __str__ may raise
        return [type(error).__name__, ""]


def _end(leftovers: Sequence[Leftover]) -> None:
    """End the process when the notebook calls ``exit()``."""
    for leftover in leftovers:
        leftover.forward()
    _exit(0)


def _no_input(*_: Any, **__: Any) -> str:
    """Raise for a call of ``input()``."""
    raise StdinNotImplementedError("input() is not available in a notebook that runs unattended")
