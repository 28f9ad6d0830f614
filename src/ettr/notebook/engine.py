"""A papermill engine whose kernel is a forked copy of a process that has done the imports.

Starting a kernel and importing the libraries takes longer than most notebooks. Here both are done once: every
notebook gets a fresh copy of the prepared process, with a namespace, a working folder, an environment and random
numbers of its own, and its copy ends with it. The chapter ``scale`` takes 6.3 s in a copy and 21 s in a kernel of its
own. Papermill finds the engine by the name ``ettr``.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from multiprocessing import connection
from typing import Any

from ettr.core.errors import EttrError

NAME = "ettr"
TOOK_TOO_LONG, DIED, TOO_MUCH = "CellTimeoutError", "DeadKernelError", "OutputTooLarge"
OURS = (TOOK_TOO_LONG, DIED, TOO_MUCH)
"""Names of the errors that come from here, and not from a cell."""
MOST_OUTPUT_BYTES = 200_000_000
STARTED_WITHIN_S = 60


def works_here() -> bool:
    """Whether this system can fork a prepared process safely: Linux can."""
    return sys.platform == "linux"


def prepare() -> None:
    """Start the process that forks, where it can be used, so that no run has to wait for it."""
    if works_here():
        prepared()


class ForkingEngine:
    """Runs each notebook in a forked copy of a prepared process.

    It has the methods of ``papermill.engines.Engine`` without being one: papermill loads it while it is itself being
    loaded.
    """

    @classmethod
    def execute_notebook(
        cls,
        nb: Any,
        kernel_name: str,
        output_path: str | None = None,
        progress_bar: bool = True,
        log_output: bool = False,
        autosave_cell_every: int = 30,
        **options: Any,
    ) -> Any:
        """Run a notebook and report its state to papermill; the arguments are those of papermill's engines."""
        from papermill.engines import NotebookExecutionManager

        state = NotebookExecutionManager(nb, output_path, log_output, progress_bar, autosave_cell_every)
        state.notebook_start()
        try:
            cls.execute_managed_notebook(state, kernel_name, **options)
        finally:
            state.cleanup_pbar()
            state.notebook_complete()
        return state.nb

    @classmethod
    def nb_kernel_name(cls, nb: Any, name: str | None = None) -> str:
        """The kernel that the notebook asks for."""
        from papermill.utils import nb_kernel_name

        return str(nb_kernel_name(nb, name))

    @classmethod
    def nb_language(cls, nb: Any, language: str | None = None) -> str:
        """The language that the notebook is in."""
        from papermill.utils import nb_language

        return str(nb_language(nb, language))

    @classmethod
    def execute_managed_notebook(
        cls,
        nb_man: Any,
        kernel_name: str,
        *,
        execution_timeout: float | None = None,
        resources: Any = None,
        **_: Any,
    ) -> None:
        """Run the cells in order and stop at the first error.

        Parameters
        ----------
        nb_man : papermill.engines.NotebookExecutionManager
            The notebook with its state.
        kernel_name : str
            Taken as given: the kernel is always this interpreter.
        execution_timeout : float, optional
            Longest time that the whole notebook may take. [s]
        resources : dict, optional
            ``{"metadata": {"path": ...}}`` for a working folder, as nbclient has it.
        """
        from nbclient import NotebookClient

        cwd = ((resources or {}).get("metadata") or {}).get("path") or os.getcwd()
        deadline = time.monotonic() + execution_timeout if execution_timeout else None
        reader = NotebookClient(nb_man.nb)
        reader.reset_execution_trackers()
        with forked(cwd) as run:
            for index, cell in enumerate(nb_man.nb.cells):
                try:
                    nb_man.cell_start(cell, index)
                    stopped = False
                    if cell.cell_type == "code" and cell.source.strip():
                        stopped = _execute(run, reader, cell, index, deadline, execution_timeout)
                    if stopped:
                        nb_man.cell_exception(cell, cell_index=index)
                        break
                finally:
                    nb_man.cell_complete(cell, cell_index=index)


def _execute(run: Copy, reader: Any, cell: Any, index: int, deadline: float | None, limit_s: float | None) -> bool:
    """Run one cell into its outputs; whether the notebook ends here."""
    reader.clear_before_next_output = False
    try:
        for message in run.execute(cell.source, deadline):
            _put(reader, message, cell, index)
    except TimeoutError:
        return _stopped(reader, cell, index, TOOK_TOO_LONG, f"it took longer than {limit_s:g} s")
    except Died:
        return _stopped(reader, cell, index, DIED, "its kernel died")
    except TooMuchOutput:
        return _stopped(reader, cell, index, TOO_MUCH, f"it put out more than {MOST_OUTPUT_BYTES / 1e6:g} MB")
    failed = any(output.output_type == "error" for output in cell.outputs)
    if run.error and not failed:  # the notebook does not let its errors be shown
        failed = _stopped(reader, cell, index, *run.error)
    return failed and "raises-exception" not in cell.metadata.get("tags", [])


def _stopped(reader: Any, cell: Any, index: int, name: str, text: str) -> bool:
    """Say in the cell's outputs why it did not come to its end."""
    _put(reader, {"msg_type": "error", "content": {"ename": name, "evalue": text, "traceback": [text]}}, cell, index)
    return True


def _put(reader: Any, message: dict[str, Any], cell: Any, index: int) -> None:
    """Let nbclient turn a message into an output, and join one stream's outputs."""
    header = {"msg_type": message["msg_type"]}
    reader.process_message({**message, "header": header, "parent_header": {}}, cell, index)
    if message["msg_type"] == "stream" and len(cell.outputs) > 1:
        before, last = cell.outputs[-2:]
        if before.output_type == last.output_type == "stream" and before.name == last.name:
            before.text += last.text
            cell.outputs.pop()


# --------------------------------------------------------------------------- copies, as seen from here


class Died(EttrError):
    """The process of a notebook ended by itself."""


class TooMuchOutput(EttrError):
    """A cell put out more than a notebook can hold."""


class Copy:
    """A forked copy, as seen from here.

    Attributes
    ----------
    error : list of str
        Type and text of the error that the last cell ended with, shown or not; empty for none.
    """

    def __init__(self, pipe: connection.Connection, cwd: str) -> None:
        self._pipe = pipe
        self.error: list[str] = []
        self._ended: int | None = None
        self._send({"cwd": cwd, "environment": dict(os.environ)})
        try:
            ready = self._receive(time.monotonic() + STARTED_WITHIN_S)["content"]
        except TimeoutError as error:
            raise Died(f"its process did not start within {STARTED_WITHIN_S} s") from error
        self._pid = ready["pid"]
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
        self._send({"code": code})
        received = 0
        while True:
            message = self._receive(deadline)
            received += message.pop("size")
            if received > MOST_OUTPUT_BYTES:
                raise TooMuchOutput
            if message["msg_type"] == "execute_reply":
                self.error = message["content"]["error"]
                return
            yield message

    def end(self) -> None:
        """End the process and all that it started."""
        self._pipe.close()
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._pid, signal.SIGKILL)
        if self._ended is not None:
            os.close(self._ended)

    def _send(self, message: dict[str, Any]) -> None:
        try:
            self._pipe.send_bytes(json.dumps(message).encode())
        except OSError as error:
            raise Died("its kernel died") from error

    def _receive(self, deadline: float | None) -> dict[str, Any]:
        watched: list[Any] = [self._pipe] if self._ended is None else [self._pipe, self._ended]
        left_s = None if deadline is None else max(0.0, deadline - time.monotonic())
        if not connection.wait(watched, left_s):
            raise TimeoutError
        try:
            if not self._pipe.poll():  # its last message is read first; programs that it left may hold the pipe open
                raise Died("its kernel died")
            text = self._pipe.recv_bytes(MOST_OUTPUT_BYTES)
            return {**json.loads(text), "size": len(text)}
        except (EOFError, OSError, ValueError) as error:
            if isinstance(error, OSError) and error.errno is None:  # a message beyond the most
                raise TooMuchOutput from error
            raise Died("its kernel died") from error


@contextlib.contextmanager
def forked(cwd: str) -> Iterator[Copy]:
    """A fresh copy that works in a folder; it ends with the block."""
    ours, theirs = socket.socketpair()
    with theirs:
        prepared().fork(theirs)
    run = Copy(connection.Connection(ours.detach()), cwd)
    try:
        yield run
    finally:
        run.end()


class _Prepared:
    """The process that forks, started once in this process and shared by its threads."""

    def __init__(self) -> None:
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
            lines = self._process.communicate()[1].decode("utf-8", "replace").strip().splitlines()
            said = lines[-1] if lines else "it said nothing"
            raise EttrError(f"the process that runs notebooks did not start: {said}")

    def fork(self, pipe: socket.socket) -> None:
        """Fork a copy that serves this pipe."""
        try:
            socket.send_fds(self._control, [b"run"], [pipe.fileno()])
        except OSError as error:
            raise Died("its kernel died") from error

    def is_alive(self) -> bool:
        return self._process.poll() is None

    def close(self) -> None:
        """End the process, and with it all copies."""
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
