"""Runs one parameterised notebook, strictly.

Papermill runs whatever it is given: an unknown parameter is a line in a log, a text where a number belongs
is injected all the same. :func:`run` checks first, runs in a kernel of this interpreter, and leaves either
a whole executed copy or, after a failure, the executed copy under another name together with one clear
error.
"""

from __future__ import annotations

import contextlib
import functools
import logging
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from ettr.core import durable, extras
from ettr.core.errors import InputError, NotebookFailed
from ettr.notebook import engine
from ettr.notebook.documents import declared_parameters, fitted, read, repository_root, shown
from ettr.notebook.recording import recorded

RECORD = "ettr"  # the key of the notebook's metadata that holds what this module knows about a run
LONGEST_SOCKET_PATH = 80  # a Unix socket's path may have 104 bytes on macOS, 108 on Linux


@dataclass(frozen=True)
class Run:
    """A finished run: the executed copy, how long it took, and the values that it was given."""

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
    """Execute a notebook with papermill and keep the executed copy.

    Parameters
    ----------
    notebook : path
        The notebook, which is left untouched.
    out : path
        Where the executed copy goes. It appears when it is whole and on disk; ``<stem>.failed.ipynb`` beside it holds
        the executed part of a run that failed.
    parameters : mapping, optional
        Values for declared parameters. A text that names an existing file is made absolute.
    cwd : path, optional
        Working folder of the kernel; the repository root if not given.
    timeout_s : float, optional
        Longest time that the run may take. [s]
    fresh_kernel : bool
        Start a kernel of this interpreter, which takes seconds, instead of forking a prepared process. Without effect
        where there is no safe fork: everywhere but on Linux.
    record : mapping, optional
        Entries kept with the executed copy, in its metadata.

    Returns
    -------
    Run
        Path of the executed copy, duration [s] and the values that were passed.

    Raises
    ------
    UnknownName
        If a parameter is not declared by the notebook.
    InputError
        If the notebook is missing or unreadable, or a value does not fit the declared default.
    NotebookFailed
        If a cell raises, the run takes longer than `timeout_s`, or the kernel dies.
    """
    notebook, out = Path(notebook).resolve(), Path(out).resolve()
    values = fitted(declared_parameters(notebook), parameters or {}, shown(notebook))
    if out == notebook:
        raise InputError(f"the executed copy must not replace the notebook itself ({shown(notebook)})")
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
        raise NotebookFailed(stop_message(shown(notebook), stop))
    failed.unlink(missing_ok=True)
    return Run(out, duration_s, MappingProxyType(values))


def stop_message(notebook: str, stop: Mapping[str, Any]) -> str:
    """One line that says where a notebook stopped and why."""
    return f"{notebook} stopped at cell {stop['number']} (id {stop['id']}): {stop['error']}"


def _execute(
    notebook: Path,
    part: Path,
    values: dict[str, Any],
    cwd: Path,
    timeout_s: float | None,
    forking: bool,
) -> dict[str, Any] | None:
    """Run into `part`; return where and why the run stopped, or nothing when it reached the end."""
    with extras.needed("sweep"):
        import papermill
        from nbclient.exceptions import CellTimeoutError, DeadKernelError
    logging.getLogger("papermill").addHandler(logging.NullHandler())  # what it would print comes back as an error
    options: dict[str, Any] = {}
    with contextlib.ExitStack() as stack:
        if forking:
            options = {
                "engine_name": engine.NAME,
                "execution_timeout": timeout_s,
                "request_save_on_cell_execute": False,
            }
        else:
            options = {**stack.enter_context(_own_kernel()), **_until(timeout_s), "shutdown_kernel": "immediate"}
        try:
            executed = papermill.execute_notebook(
                _braces_doubled(notebook),
                _braces_doubled(part),
                values,
                kernel_name="python3",
                language="python",  # also for a notebook that does not say
                progress_bar=False,
                resources={"metadata": {"path": str(cwd)}},  # instead of cwd=, which moves this whole process
                **options,
            )
        except papermill.PapermillExecutionError as error:
            reason = error.evalue if error.ename in engine.OURS else f"{error.ename}: {error.evalue}"
            return _stop(notebook, part, (reason.strip() or error.ename).splitlines()[0])
        except CellTimeoutError:
            return _stop(notebook, part, f"it took longer than {timeout_s:g} s")
        except DeadKernelError:
            return _stop(notebook, part, "its kernel died")
    ends = [o.evalue for cell in executed.cells for o in cell.get("outputs", []) if o.get("ename") == "SystemExit"]
    if ends:  # papermill takes it for a good end
        return _stop(notebook, part, f"it ended itself before its end, with SystemExit({ends[0]})")
    try:
        recorded(executed)
    except InputError as error:  # made without ettr.record
        return _stop(notebook, part, str(error))
    return None


def _until(timeout_s: float | None) -> dict[str, Any]:
    """The option of nbclient that gives each cell what is left of the run's time."""
    if timeout_s is None:
        return {}
    end = time.monotonic() + timeout_s
    return {"timeout_func": lambda _: max(0.001, end - time.monotonic())}


def _stop(notebook: Path, part: Path, error: str) -> dict[str, Any]:
    """The cell at which a run stopped: the last one that was begun."""
    begun = [cell for cell in read(part).cells if cell.metadata.get("papermill", {}).get("start_time")]
    cell = begun[-1] if begun else None
    ids = [source.get("id") for source in read(notebook).cells]
    number = ids.index(cell.id) + 1 if cell and cell.get("id") in ids else 0
    source, name = (cell.source, cell.get("id", "")) if cell else ("", "")
    return {"number": number, "id": name, "error": error, "source": source}


def _finish(part: Path, record: dict[str, Any], stop: Mapping[str, Any] | None) -> None:
    """Put the record into the executed copy, and take papermill's banners and paths of this machine out."""
    import nbformat

    executed = read(part)
    executed.cells = [c for c in executed.cells if "papermill-error-cell-tag" not in c.metadata.get("tags", [])]
    executed.metadata.pop("papermill", None)
    executed.metadata[RECORD] = {**record, **({"stopped": dict(stop)} if stop else {})}
    nbformat.write(executed, part)


@functools.cache
def _kernel_manager() -> type:
    """A manager that starts this interpreter's kernel, whatever kernels the machine has registered."""
    from jupyter_client.kernelspec import KernelSpec
    from jupyter_client.manager import AsyncKernelManager

    class OwnKernelManager(AsyncKernelManager):
        @property
        def kernel_spec(self) -> KernelSpec:
            command = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
            return KernelSpec(argv=[*command, "--HistoryManager.enabled=False"], language="python")

        async def _async_start_kernel(self, **options: Any) -> None:
            quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}  # it has them in its outputs
            await super()._async_start_kernel(**{**quiet, **options})

        start_kernel = _async_start_kernel

    return OwnKernelManager


@contextlib.contextmanager
def _own_kernel() -> Iterator[dict[str, Any]]:
    """Options for a kernel that talks over Unix sockets in a folder of its own.

    TCP ports are chosen before they are bound, so parallel kernels now and then get the same one, and
    Jupyter's default socket names are the same for every kernel.
    """
    from traitlets.config import Config

    with tempfile.TemporaryDirectory(prefix="ettr-", ignore_cleanup_errors=True) as folder:
        options: dict[str, Any] = {"kernel_manager_class": _kernel_manager()}
        if sys.platform != "win32" and len(folder) < LONGEST_SOCKET_PATH:
            place = {"transport": "ipc", "connection_file": os.path.join(folder, "k.json")}
            options["config"] = Config({"OwnKernelManager": place})
        yield options


def _braces_doubled(path: Path) -> str:
    """Papermill formats its paths; a brace in a folder's name must survive that."""
    return str(path).replace("{", "{{").replace("}", "}}")
