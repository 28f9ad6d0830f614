"""The process in which one notebook runs: a forked copy of a prepared one, with a shell and no kernel around it.

Cells come in over a pipe, and what they print and show goes back as the messages that a Jupyter kernel would send. The
shell is that of ipykernel, so magics, tracebacks, rich output and ``await`` behave as they do there.
"""

from __future__ import annotations

import asyncio
import io
import json
import os
import signal
import sys
import tempfile
import threading
from collections.abc import Mapping
from multiprocessing.connection import Connection
from typing import Any

from ipykernel.zmqshell import ZMQInteractiveShell
from IPython.core.error import StdinNotImplementedError
from jupyter_client.jsonutil import json_default
from jupyter_client.session import Session
from traitlets.config import Config

from ettr.notebook import rendering
from ettr.notebook.copies import UNDRAWN_TYPE
from ettr.notebook.parents import when_parent_ends
from ettr.notebook.watch import Watch


class PipeSession(Session):
    """Sends the messages of a shell over a pipe."""

    pipe: Connection
    lock = threading.RLock()

    def send(self, stream: Any, msg_or_type: Any, content: Any = None, *_: Any, **__: Any) -> None:
        """Send the type and the content of a message; what is only for routing is left out."""
        kind = msg_or_type
        if isinstance(msg_or_type, dict):
            kind, content = msg_or_type["header"]["msg_type"], msg_or_type["content"]
        text = json.dumps({"msg_type": kind, "content": content or {}}, default=json_default)
        with self.lock:
            self.pipe.send_bytes(text.encode("ascii"))


class Stream(io.TextIOBase):
    """Standard output or standard error of the notebook: text gathers here until something else is sent."""

    encoding = "utf-8"
    errors = "replace"
    held = 65_536

    def __init__(self, session: PipeSession, name: str, descriptor: int) -> None:
        self._session, self._descriptor, self._owner = session, descriptor, os.getpid()
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
        if os.getpid() != self._owner:  # a process that the notebook forked has no say in the pipe
            os.write(self._descriptor, text.encode("utf-8", "replace"))
            return len(text)
        with self._lock:
            self._texts.append(text)
            self._size += len(text)
            if self._size > self.held:
                self.flush()
        return len(text)

    def flush(self) -> None:
        if os.getpid() != self._owner:
            return
        with self._lock:
            text, self._texts, self._size = "".join(self._texts), [], 0
            if text:
                self._session.send(None, "stream", {"name": self.name, "text": text})


class Leftover:
    """What programs and libraries write past Python to a file descriptor: kept in a file until the cell ends."""

    def __init__(self, stream: Stream, descriptor: int) -> None:
        self._stream = stream
        self._file = tempfile.TemporaryFile()  # noqa: SIM115  (as long-lived as the process)
        os.dup2(self._file.fileno(), descriptor)
        self._read = 0

    def forward(self) -> None:
        """Pass on what came since the last time."""
        size = os.fstat(self._file.fileno()).st_size
        if size > self._read:
            text = os.pread(self._file.fileno(), size - self._read, self._read)
            self._read = size
            self._stream.write(text.decode("utf-8", "replace"))


def new_shell() -> Any:
    """A shell that is ready for a notebook, made once and copied by each fork."""
    config = Config()
    config.HistoryManager.enabled = False
    shell: Any = ZMQInteractiveShell.instance(config=config)
    shell.display_pub.session = shell.displayhook.session = PipeSession()
    rendering.hand_on(UNDRAWN_TYPE)
    shell.display_pub.pub_socket = shell.displayhook.pub_socket = True  # anything but nothing
    return shell


def leave() -> None:
    """Make the copy the head of a group of processes of its own, which ends with the prepared process."""
    os.setsid()
    when_parent_ends(signal.SIGKILL)


def serve(shell: Any, pipe: Connection) -> None:
    """Run the cells that come over the pipe until it is closed; never returns."""
    try:
        start = json.loads(pipe.recv_bytes())
        streams = _settle(shell, pipe, start)
        watch = Watch(start["kept_out"])
        pipe.send_bytes(json.dumps({"msg_type": "ready", "content": {"pid": os.getpid()}}).encode())
        asyncio.run(_answer(shell, pipe, streams, watch))
    except (EOFError, BrokenPipeError, ConnectionResetError):
        pass
    finally:
        os._exit(0)


def _settle(shell: Any, pipe: Connection, start: Mapping[str, Any]) -> list[Leftover]:
    """Make the copy a process of its own: working folder, environment, signals, random numbers and streams."""
    leave()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.environ.clear()
    os.environ.update(start["environment"])
    shell.init_environment()
    os.environ.setdefault("MPLBACKEND", "module://matplotlib_inline.backend_inline")
    os.chdir(start["cwd"])
    tempfile.tempdir = None  # chosen anew, by this environment
    if "numpy.random" in sys.modules:  # Python's own generator does this by itself
        sys.modules["numpy.random"].seed()
    session = shell.display_pub.session
    session.pipe = pipe
    leftovers = []
    for descriptor, name in ((1, "stdout"), (2, "stderr")):
        stream = Stream(session, name, descriptor)
        setattr(sys, name, stream)
        leftovers.append(Leftover(stream, descriptor))
    sys.stdin = open(os.devnull)  # noqa: SIM115
    sys.argv[:] = [""]
    return leftovers


async def _answer(shell: Any, pipe: Connection, leftovers: list[Leftover], watch: Watch) -> None:
    """Run one cell after another, inside an event loop as a kernel does."""
    import builtins
    import getpass

    builtins.input = getpass.getpass = _no_input
    shell.ask_exit = _end
    while True:
        await _readable(pipe.fileno())
        request = json.loads(pipe.recv_bytes())
        await _run(shell, request["code"])
        for leftover in leftovers:
            leftover.forward()
        sys.stdout.flush()
        sys.stderr.flush()
        shell.payload_manager.clear_payload()
        count = shell.execution_count - 1
        content = {"execution_count": count, "written": watch.written()}
        shell.display_pub.session.send(None, "execute_reply", content)


async def _readable(descriptor: int) -> None:
    """Wait for something to read, and let what the notebook left in the event loop go on meanwhile."""
    loop = asyncio.get_running_loop()
    came = loop.create_future()
    loop.add_reader(descriptor, came.set_result, None)
    try:
        await came
    finally:
        loop.remove_reader(descriptor)


async def _run(shell: Any, code: str) -> None:
    """Run a cell as ipykernel does: awaited where it awaits something itself."""
    problem = None
    try:
        transformed = shell.transform_cell(code)
    except Exception:
        transformed, problem = code, sys.exc_info()
    if not shell.should_run_async(code, transformed_cell=transformed, preprocessing_exc_tuple=problem):
        shell.run_cell(code, store_history=True)
        return
    result = None
    try:
        result = await shell.run_cell_async(
            code, store_history=True, transformed_cell=transformed, preprocessing_exc_tuple=problem
        )
    finally:
        shell.events.trigger("post_execute")
        shell.events.trigger("post_run_cell", result)


def _end() -> None:
    """End as a kernel does when a notebook calls ``exit()``."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


def _no_input(*_: Any, **__: Any) -> str:
    raise StdinNotImplementedError("a notebook that runs by itself cannot ask for input")
