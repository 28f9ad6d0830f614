"""Execution of a point of a sweep on a worker; the task contains everything that it needs."""

from __future__ import annotations

import functools
import hashlib
import json
import platform
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ettr import notebook
from ettr.core import durable
from ettr.core.errors import EttrError, NotebookFailed, NotebookKilled
from ettr.notebook.documents import path_in_messages
from ettr.sweep import calls


class WorkerDiffers(EttrError):
    """A worker has another version of the package, the data or a library."""


@dataclass(frozen=True)
class File:
    """File of a parameter with its contents, for a worker that may not have it."""

    path: str
    contents: bytes


@dataclass(frozen=True)
class Task:
    """Point of a sweep to execute: a notebook or the name of a call, with its parameters.

    Attributes
    ----------
    what : str
        Name of the notebook in messages, or of the call.
    source : str
        Text of the notebook; empty for a call.
    parameters : mapping
        Value of each parameter.
    digest : str
        Id of the point.
    files : tuple of File
        Files among the parameters, for a worker on another machine.
    root : str
        Working folder, if the worker has it.
    surroundings : mapping
        Versions that the worker must have.
    """

    what: str
    source: str
    parameters: Mapping[str, Any]
    digest: str
    files: tuple[File, ...]
    root: str
    surroundings: Mapping[str, str]
    timeout_s: float | None = None
    fresh_kernel: bool = False


@dataclass(frozen=True)
class Outcome:
    """Outcome of a point: the text of its file, and True if it failed.

    If its process was killed, there is no result: the text is the reason, and the point stays open.
    """

    text: str
    failed: bool
    killed: bool = False


def do(task: Task) -> Outcome:
    """Run a point.

    Raises
    ------
    WorkerDiffers
        If this worker has other versions than the machine that started the sweep.
    NotebookKilled
        If the process of its notebook was killed.
    """
    versions = _surroundings()
    different = {name: version for name, version in task.surroundings.items() if versions.get(name) != version}
    if different:
        pairs = (f"{name} {versions.get(name, 'missing')} and not {version}" for name, version in different.items())
        raise WorkerDiffers(f"a worker on {platform.node()} has {', '.join(pairs)}; install the same versions there")
    with durable.temporary_folder() as scratch:
        places = {file.path: str(_placed(file, scratch)) for file in task.files}
        moved = {path: place for path, place in places.items() if place != path}
        values = _replaced(dict(task.parameters), moved)
        text, failed = (_notebook if task.source else _call)(task, values, scratch)
        for path, place in moved.items():  # the saved result has the original path of the file
            text = text.replace(json.dumps(place)[1:-1], json.dumps(path)[1:-1])
    return Outcome(text, failed)


def _notebook(task: Task, values: dict[str, Any], scratch: Path) -> tuple[str, bool]:
    """Executed copy of the notebook, and True if it failed."""
    source, out = scratch / "notebook.ipynb", scratch / "out.ipynb"
    source.write_text(task.source, encoding="utf-8")
    cwd = task.root if Path(task.root).is_dir() else scratch
    try:
        notebook.run(
            source,
            out,
            values,
            cwd=cwd,
            timeout_s=task.timeout_s,
            fresh_kernel=task.fresh_kernel,
            record={"digest": task.digest, "notebook": task.what},
        )
    except NotebookKilled as error:  # its message has the path of the copy on this worker
        raise NotebookKilled(str(error).replace(path_in_messages(source), task.what)) from error
    except NotebookFailed:
        return out.with_name("out.failed.ipynb").read_text(encoding="utf-8"), True
    return out.read_text(encoding="utf-8"), False


def _call(task: Task, values: dict[str, Any], scratch: Path) -> tuple[str, bool]:
    """Recorded values of a call as JSON, and True if it failed."""
    started = time.monotonic()
    record: dict[str, Any] = {"digest": task.digest, "call": task.what, "parameters": dict(task.parameters)}
    try:
        record["recorded"] = notebook.plain(calls.CALLS[task.what].run(values))
    except EttrError as error:
        record["error"] = str(error)
    record["duration_s"] = round(time.monotonic() - started, 3)
    return json.dumps(record, allow_nan=False), "error" in record


@functools.cache
def _surroundings() -> Mapping[str, str]:
    """Versions on this worker."""
    return notebook.surroundings()


def _placed(file: File, scratch: Path) -> Path:
    """Path of a file on this worker: the original path if the contents are equal, otherwise a temporary copy."""
    path = Path(file.path)
    if path.is_file() and path.read_bytes() == file.contents:
        return path
    folder = scratch / hashlib.sha256(file.path.encode()).hexdigest()
    folder.mkdir()
    (folder / path.name).write_bytes(file.contents)
    return folder / path.name


def _replaced(value: Any, moved: Mapping[str, str]) -> Any:
    """Value with the paths of moved files replaced."""
    if isinstance(value, str):
        return moved.get(value, value)
    if isinstance(value, list):
        return [_replaced(item, moved) for item in value]
    if isinstance(value, dict):
        return {name: _replaced(item, moved) for name, item in value.items()}
    return value
