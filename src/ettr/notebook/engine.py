"""Papermill engine that runs notebooks in forks of a process with all libraries imported.

Starting a kernel and importing the libraries takes longer than most notebooks. Here both are done once. Every notebook
runs in a new fork of the prepared process, with a separate namespace, working folder, environment and random numbers;
the fork ends with the notebook. The chapter ``scale`` takes 0.9 s in a fork and 3.7 s in a new kernel. Papermill finds
the engine by the name ``ettr``.
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

from ettr.core.errors import EttrError, NotebookKilled

NAME = "ettr"
TOOK_TOO_LONG, DIED, TOO_MUCH, KILLED = "CellTimeoutError", "DeadKernelError", "OutputTooLarge", "KernelKilled"
ENGINE_ERRORS = (TOOK_TOO_LONG, DIED, TOO_MUCH, KILLED)
"""Names of the errors raised by the engine instead of a cell."""
MOST_OUTPUT_BYTES = 200_000_000
STARTED_WITHIN_S = 60


def works_here() -> bool:
    """Return True if this system can fork a prepared process safely, which only Linux can."""
    return sys.platform == "linux"


def prepare() -> None:
    """Start the process to fork, if this system supports it, so that no run has to wait for it."""
    if works_here():
        prepared()


class ForkingEngine:
    """Papermill engine that runs each notebook in a fork of a prepared process.

    It has the methods of ``papermill.engines.Engine`` but is no subclass, because papermill loads it during its own
    import.
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
        """Run a notebook and report its state to papermill, with the arguments of papermill's engines."""
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
        """Return the name of the notebook's kernel."""
        from papermill.utils import nb_kernel_name

        return str(nb_kernel_name(nb, name))

    @classmethod
    def nb_language(cls, nb: Any, language: str | None = None) -> str:
        """Return the language of the notebook."""
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
        """Run the cells in order until the first error.

        Parameters
        ----------
        nb_man : papermill.engines.NotebookExecutionManager
            Notebook with its state.
        kernel_name : str
            Ignored, as the kernel is always this interpreter.
        execution_timeout : float, optional
            Longest run time of the notebook. [s]
        resources : dict, optional
            ``{"metadata": {"path": ...}}`` for a working folder, as in nbclient.
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
    """Run a cell and add its outputs; return True if the notebook must stop."""
    reader.clear_before_next_output = False
    try:
        for message in run.execute(cell.source, deadline):
            _put(reader, message, cell, index)
    except TimeoutError:
        return _stopped(reader, cell, index, TOOK_TOO_LONG, f"it took longer than {limit_s:g} s")
    except NotebookKilled:
        return _stopped(reader, cell, index, *ending(run.exit_code()))
    except TooMuchOutput:
        return _stopped(reader, cell, index, TOO_MUCH, f"its output exceeded {MOST_OUTPUT_BYTES / 1e6:g} MB")
    failed = any(output.output_type == "error" for output in cell.outputs)
    if run.error and not failed:  # the notebook suppresses the display of errors
        failed = _stopped(reader, cell, index, *run.error)
    return failed and "raises-exception" not in cell.metadata.get("tags", [])


def ending(exit_code: int | None) -> tuple[str, str]:
    """Return the name and the message of the error for the unexpected end of a notebook's process.

    Parameters
    ----------
    exit_code : int or None
        Exit status of the process; negative for a signal, None if it was killed with the process that started it.

    Examples
    --------
    >>> ending(-15), ending(0)
    (('KernelKilled', 'its process was killed by SIGTERM'), ('DeadKernelError', 'its kernel died'))
    """
    if exit_code is not None and exit_code >= 0:
        return DIED, "its kernel died"
    if exit_code is None:
        return KILLED, "its process was killed"
    with contextlib.suppress(ValueError):  # a real-time signal has no name
        name = signal.Signals(-exit_code).name
        return KILLED, f"its process was killed by {name}{' (out of memory?)' if name == 'SIGKILL' else ''}"
    return KILLED, f"its process was killed by signal {-exit_code}"


def _stopped(reader: Any, cell: Any, index: int, name: str, text: str) -> bool:
    """Add the reason for a stop to the outputs of the cell."""
    _put(reader, {"msg_type": "error", "content": {"ename": name, "evalue": text, "traceback": [text]}}, cell, index)
    return True


def _put(reader: Any, message: dict[str, Any], cell: Any, index: int) -> None:
    """Convert a message to an output with nbclient, and merge consecutive outputs of a stream."""
    header = {"msg_type": message["msg_type"]}
    reader.process_message({**message, "header": header, "parent_header": {}}, cell, index)
    if message["msg_type"] == "stream" and len(cell.outputs) > 1:
        before, last = cell.outputs[-2:]
        if before.output_type == last.output_type == "stream" and before.name == last.name:
            before.text += last.text
            cell.outputs.pop()


# --------------------------------------------------------------------------- forks, from the parent's side


class TooMuchOutput(EttrError):
    """The output of a cell is too large for a notebook."""


class Copy:
    """Forked process of a notebook, from the parent's side.

    Attributes
    ----------
    error : list of str
        Type and message of the error of the last cell, displayed or not; empty without an error.
    """

    def __init__(self, pipe: connection.Connection, cwd: str, origin: _Prepared) -> None:
        self._pipe, self._origin = pipe, origin
        self.error: list[str] = []
        self._ended: int | None = None
        self._send({"cwd": cwd, "environment": dict(os.environ)})
        try:
            ready = self._receive(time.monotonic() + STARTED_WITHIN_S)["content"]
        except TimeoutError as error:
            raise NotebookKilled(f"its process did not start within {STARTED_WITHIN_S} s") from error
        self._pid = ready["pid"]
        with contextlib.suppress(OSError, AttributeError):  # old Linux without pidfd: the end of the pipe must do
            self._ended = os.pidfd_open(self._pid)

    def execute(self, code: str, deadline: float | None) -> Iterator[dict[str, Any]]:
        """Run code, and yield its output as messages of the Jupyter protocol.

        Raises
        ------
        TimeoutError
            After the deadline, on the monotonic clock.
        NotebookKilled
            If the process ends.
        TooMuchOutput
            If the output is too large for a notebook.
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

    def exit_code(self) -> int | None:
        """Return the exit status of the process after its unexpected end, as :func:`ending` takes it."""
        return self._origin.exit_code(self._pid)

    def end(self) -> None:
        """End the process and its child processes."""
        self._pipe.close()
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._pid, signal.SIGKILL)
        if self._ended is not None:
            os.close(self._ended)

    def _send(self, message: dict[str, Any]) -> None:
        """Send a message to the process."""
        try:
            self._pipe.send_bytes(json.dumps(message).encode())
        except OSError as error:
            raise NotebookKilled("its process ended") from error

    def _receive(self, deadline: float | None) -> dict[str, Any]:
        """Next message of the process, with its size."""
        watched: list[Any] = [self._pipe] if self._ended is None else [self._pipe, self._ended]
        left_s = None if deadline is None else max(0.0, deadline - time.monotonic())
        if not connection.wait(watched, left_s):
            raise TimeoutError
        try:
            if not self._pipe.poll():  # read its last message first; its child processes may keep the pipe open
                raise NotebookKilled("its process ended")
            text = self._pipe.recv_bytes(MOST_OUTPUT_BYTES)
            return {**json.loads(text), "size": len(text)}
        except (EOFError, OSError, ValueError) as error:
            if isinstance(error, OSError) and error.errno is None:  # the message exceeds the size limit
                raise TooMuchOutput from error
            raise NotebookKilled("its process ended") from error


@contextlib.contextmanager
def forked(cwd: str) -> Iterator[Copy]:
    """Yield a new fork with a working folder; it ends with the block."""
    parent_end, child_end = socket.socketpair()
    origin = prepared()
    with child_end:
        origin.fork(child_end)
    run = Copy(connection.Connection(parent_end.detach()), cwd, origin)
    try:
        yield run
    finally:
        run.end()


class _Prepared:
    """Process to fork, started once per process and shared by its threads."""

    def __init__(self) -> None:
        self._asking = threading.Lock()
        self._control, child_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with child_end:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "ettr.notebook.forking", str(child_end.fileno())],
                pass_fds=[child_end.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
            )
        if self._control.recv(16) != b"ready":
            lines = self._process.communicate()[1].decode("utf-8", "replace").strip().splitlines()
            reason = lines[-1] if lines else "it gave no reason"
            raise NotebookKilled(f"the process that runs notebooks did not start: {reason}")

    def fork(self, pipe: socket.socket) -> None:
        """Fork a process that serves a pipe."""
        try:
            socket.send_fds(self._control, [b"run"], [pipe.fileno()])
        except OSError as error:
            raise NotebookKilled("the process that runs notebooks was killed") from error

    def exit_code(self, pid: int) -> int | None:
        """Return the exit status of a fork, 0 while it runs, None if this process was killed as well."""
        with self._asking:
            try:
                self._control.send(str(pid).encode())
                answer = self._control.recv(16)
            except OSError:
                answer = b""
        return int(answer) if answer else None

    def is_alive(self) -> bool:
        """Return True if the process runs."""
        return self._process.poll() is None

    def close(self) -> None:
        """End the process and all its forks."""
        self._control.close()
        self._process.communicate()


_lock = threading.Lock()
_by_pid: dict[int, _Prepared] = {}
"""Prepared process by the id of the process that started it, because a fork needs a new one."""


def prepared() -> _Prepared:
    """Return the prepared process, started if necessary."""
    with _lock:
        pid = os.getpid()
        if pid in _by_pid and not _by_pid[pid].is_alive():
            _by_pid.pop(pid).close()
        if pid not in _by_pid:
            _by_pid[pid] = _Prepared()
        return _by_pid[pid]


@atexit.register
def close() -> None:
    """End the prepared process, if there is one."""
    with _lock:
        prepared = _by_pid.pop(os.getpid(), None)
    if prepared:
        prepared.close()
