"""Strict execution of a parameterised notebook.

Papermill accepts unknown parameters with a log message, and injects text for a number. :func:`run` checks parameters
first and uses a kernel of this interpreter. It writes either a complete executed copy or, after a failure, the executed
part under another name and a single clear error.
"""

from __future__ import annotations

import contextlib
import logging
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from ettr.core import durable, extras
from ettr.core.errors import InputError, NotebookFailed, NotebookKilled
from ettr.notebook import engine
from ettr.notebook.documents import declared_parameters, fitted, path_in_messages, read, repository_root
from ettr.notebook.recording import recorded

RECORD = "ettr"  # key of the notebook's metadata for the record of a run
LONGEST_SOCKET_PATH = 80  # the limit for Unix sockets is 104 bytes on macOS, 108 on Linux


@dataclass(frozen=True)
class Run:
    """Finished run: path of the executed copy, run time [s], and parameter values."""

    path: Path
    duration_s: float
    parameters: Mapping[str, Any]


def run(
    notebook: str | os.PathLike[str],
    out: str | os.PathLike[str],
    parameters: Mapping[str, Any] | None = None,
    *,
    cwd: str | os.PathLike[str] | None = None,
    timeout_s: float | None = None,
    fresh_kernel: bool = False,
    record: Mapping[str, Any] | None = None,
) -> Run:
    """Execute a notebook with papermill, and save the executed copy.

    Parameters
    ----------
    notebook : path
        Notebook, which is not changed.
    out : path
        Path of the executed copy, written atomically at the end. After a failure, ``<stem>.failed.ipynb`` in the same
        folder has the executed part instead.
    parameters : mapping, optional
        Values of declared parameters. The path of an existing file is made absolute.
    cwd : path, optional
        Working folder of the kernel; by default the repository root.
    timeout_s : float, optional
        Longest run time. [s]
    fresh_kernel : bool
        Start a kernel of this interpreter, which takes seconds, instead of forking a prepared process. Only Linux can
        fork safely; elsewhere it is always a new kernel.
    record : mapping, optional
        Entries for the metadata of the executed copy.

    Returns
    -------
    Run
        Path of the executed copy, run time [s] and parameter values.

    Raises
    ------
    UnknownName
        If the notebook does not declare a parameter.
    InputError
        If the notebook is missing or unreadable, or a value does not match the type of the default.
    NotebookFailed
        If a cell raises, the run takes longer than `timeout_s`, or the notebook ends its own process.
    NotebookKilled
        If the process of the notebook does not start, or is killed by a signal, such as the one that the system sends
        when memory runs out.
    """
    notebook, out = Path(notebook).resolve(), Path(out).resolve()
    values = fitted(declared_parameters(notebook), parameters or {}, path_in_messages(notebook))
    if out == notebook:
        raise InputError(f"out must differ from the notebook, got {path_in_messages(notebook)} for both")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot write {out}: {error.strerror or error}") from error
    part, failed = out.with_name(f"{out.stem}.part.ipynb"), out.with_name(f"{out.stem}.failed.ipynb")
    folder = Path(cwd).resolve() if cwd else repository_root(notebook)
    forking = engine.works_here() and not fresh_kernel
    if forking:
        engine.prepare()
    started = time.monotonic()
    try:
        stop = _execute(notebook, part, values, folder, timeout_s, forking)
        duration_s = time.monotonic() - started
        _finish(part, {**(record or {}), "parameters": values, "duration_s": round(duration_s, 3)}, stop)
        durable.move(part, failed if stop else out)
    finally:
        part.unlink(missing_ok=True)
    if stop:
        kind = NotebookKilled if stop["killed"] else NotebookFailed
        raise kind(stop_message(path_in_messages(notebook), stop))
    failed.unlink(missing_ok=True)
    return Run(out, duration_s, MappingProxyType(values))


def stop_message(notebook: str, stop: Mapping[str, Any]) -> str:
    """Return a sentence on where and why a notebook stopped."""
    return f"{notebook} stopped at cell {stop['number']} (id {stop['id']}): {stop['error']}"


def _execute(
    notebook: Path,
    part: Path,
    values: dict[str, Any],
    cwd: Path,
    timeout_s: float | None,
    forking: bool,
) -> dict[str, Any] | None:
    """Run a notebook and write `part`; return where and why it stopped, or None if it reached the end."""
    with extras.needed("sweep"):
        import papermill
        from nbclient.exceptions import CellTimeoutError, DeadKernelError
    logging.getLogger("papermill").addHandler(logging.NullHandler())  # its messages are raised as errors
    options: dict[str, Any] = {}
    exit_codes: list[int] = []
    with contextlib.ExitStack() as stack:
        if forking:
            options = {
                "engine_name": engine.NAME,
                "execution_timeout": timeout_s,
                "request_save_on_cell_execute": False,
            }
        else:
            options = {
                **stack.enter_context(_interpreter_kernel(exit_codes)),
                **_until(timeout_s),
                "shutdown_kernel": "immediate",
            }
        try:
            executed = papermill.execute_notebook(
                _braces_doubled(notebook),
                _braces_doubled(part),
                values,
                kernel_name="python3",
                language="python",  # for notebooks without a language
                progress_bar=False,
                resources={"metadata": {"path": str(cwd)}},  # cwd= would change the folder of this process
                **options,
            )
        except papermill.PapermillExecutionError as error:
            reason = error.evalue if error.ename in engine.ENGINE_ERRORS else f"{error.ename}: {error.evalue}"
            first = (reason.strip() or error.ename).splitlines()[0]
            return _stop(notebook, part, first, killed=error.ename == engine.KILLED)
        except CellTimeoutError:
            return _stop(notebook, part, f"it took longer than {timeout_s:g} s")
        except DeadKernelError:
            name, text = engine.ending(exit_codes[0] if exit_codes else None)
            return _stop(notebook, part, text, killed=name == engine.KILLED)
        except RuntimeError as error:
            if forking:
                raise
            # nbclient's error for a kernel that died or did not answer at its start
            raise NotebookKilled(f"{path_in_messages(notebook)} did not start: {error}") from error
    ends = [o.evalue for cell in executed.cells for o in cell.get("outputs", []) if o.get("ename") == "SystemExit"]
    if ends:  # papermill treats it as success
        return _stop(notebook, part, f"it exited early, with SystemExit({ends[0]})")
    try:
        recorded(executed)
    except InputError as error:  # an output of this type without ettr.record
        return _stop(notebook, part, str(error))
    return None


def _until(timeout_s: float | None) -> dict[str, Any]:
    """Option of nbclient that limits each cell to the remaining time of the run."""
    if timeout_s is None:
        return {}
    end = time.monotonic() + timeout_s
    return {"timeout_func": lambda _: max(0.001, end - time.monotonic())}


def _stop(notebook: Path, part: Path, error: str, killed: bool = False) -> dict[str, Any]:
    """Record of a stop, at the last cell that was started."""
    started = [cell for cell in read(part).cells if cell.metadata.get("papermill", {}).get("start_time")]
    cell = started[-1] if started else None
    ids = [source.get("id") for source in read(notebook).cells]
    number = ids.index(cell.id) + 1 if cell and cell.get("id") in ids else 0
    source, name = (cell.source, cell.get("id", "")) if cell else ("", "")
    return {"number": number, "id": name, "error": error, "source": source, "killed": killed}


def _finish(part: Path, record: dict[str, Any], stop: Mapping[str, Any] | None) -> None:
    """Add the record to the executed copy, and remove papermill's banners and local paths."""
    import nbformat

    executed = read(part)
    executed.cells = [c for c in executed.cells if "papermill-error-cell-tag" not in c.metadata.get("tags", [])]
    executed.metadata.pop("papermill", None)
    executed.metadata[RECORD] = {**record, **({"stopped": dict(stop)} if stop else {})}
    nbformat.write(executed, part)


def _kernel_manager(exit_codes: list[int]) -> type:
    """Kernel manager that starts a kernel of this interpreter, independent of registered kernels.

    It adds the exit status of a kernel that has ended to `exit_codes`.
    """
    from jupyter_client.kernelspec import KernelSpec
    from jupyter_client.manager import AsyncKernelManager

    class InterpreterKernelManager(AsyncKernelManager):
        @property
        def kernel_spec(self) -> KernelSpec:
            command = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
            return KernelSpec(argv=[*command, "--HistoryManager.enabled=False"], language="python")

        async def _async_start_kernel(self, **options: Any) -> None:
            quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}  # the notebook has these outputs
            await super()._async_start_kernel(**{**quiet, **options})

        start_kernel = _async_start_kernel

        async def _async_is_alive(self) -> bool:
            alive: bool = await super()._async_is_alive()
            process = getattr(self.provisioner, "process", None)
            if process is not None and process.returncode is not None:
                exit_codes.append(process.returncode)
            return alive

        is_alive = _async_is_alive

    return InterpreterKernelManager


@contextlib.contextmanager
def _interpreter_kernel(exit_codes: list[int]) -> Iterator[dict[str, Any]]:
    """Options for a kernel with Unix sockets in a temporary folder.

    TCP ports are chosen before they are bound, so that parallel kernels sometimes get the same port, and Jupyter's
    default socket names are the same for every kernel.
    """
    from traitlets.config import Config

    with durable.temporary_folder() as folder:
        options: dict[str, Any] = {"kernel_manager_class": _kernel_manager(exit_codes)}
        if sys.platform != "win32" and len(str(folder)) < LONGEST_SOCKET_PATH:
            connection = {"transport": "ipc", "connection_file": os.path.join(folder, "k.json")}
            options["config"] = Config({"InterpreterKernelManager": connection})
        yield options


def _braces_doubled(path: Path) -> str:
    """Path with doubled braces, because papermill formats paths."""
    return str(path).replace("{", "{{").replace("}", "}}")
