"""What a worker does with one point of a sweep. Everything it needs comes with the task."""

from __future__ import annotations

import functools
import hashlib
import json
import platform
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ettr import notebook
from ettr.core.errors import EttrError, NotebookFailed
from ettr.sweep import calls


class WorkerDiffers(EttrError):
    """A worker has another version of the package, the data or a library."""


@dataclass(frozen=True)
class File:
    """A file that a parameter names, for a worker that may not have it."""

    path: str
    contents: bytes


@dataclass(frozen=True)
class Task:
    """One point, whole: a notebook or the name of a call, and the values for it.

    Attributes
    ----------
    what : str
        The notebook as messages name it, or the call.
    source : str
        Text of the notebook; empty for a call.
    parameters : mapping
        The value of each.
    digest : str
        Id of the point.
    files : tuple of File
        Those that parameters name, for a worker elsewhere.
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
    """What a point left: the text of its file, and whether it failed."""

    text: str
    failed: bool


def do(task: Task) -> Outcome:
    """Run a point.

    Raises
    ------
    WorkerDiffers
        If this worker would compute something else than the machine that asks.
    """
    own = _surroundings()
    different = {name: version for name, version in task.surroundings.items() if own.get(name) != version}
    if different:
        pairs = (f"{name} {own.get(name, 'missing')} and not {version}" for name, version in different.items())
        raise WorkerDiffers(f"a worker on {platform.node()} has {', '.join(pairs)}; install the same versions there")
    with tempfile.TemporaryDirectory(prefix="ettr-point-") as scratch:
        places = {file.path: str(_placed(file, Path(scratch))) for file in task.files}
        moved = {path: place for path, place in places.items() if place != path}
        values = _replaced(dict(task.parameters), moved)
        text, failed = (_notebook if task.source else _call)(task, values, Path(scratch))
        for path, place in moved.items():  # what is kept speaks of the file as it was asked for
            text = text.replace(json.dumps(place)[1:-1], json.dumps(path)[1:-1])
    return Outcome(text, failed)


def _notebook(task: Task, values: dict[str, Any], scratch: Path) -> tuple[str, bool]:
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
    except NotebookFailed:
        return out.with_name("out.failed.ipynb").read_text(encoding="utf-8"), True
    return out.read_text(encoding="utf-8"), False


def _call(task: Task, values: dict[str, Any], scratch: Path) -> tuple[str, bool]:
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
    return notebook.surroundings()


def _placed(file: File, scratch: Path) -> Path:
    """Where the worker has this file: at its own place if it is the same there, else in the folder of its point."""
    path = Path(file.path)
    if path.is_file() and path.read_bytes() == file.contents:
        return path
    folder = scratch / hashlib.sha256(file.path.encode()).hexdigest()
    folder.mkdir()
    (folder / path.name).write_bytes(file.contents)
    return folder / path.name


def _replaced(value: Any, moved: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        return moved.get(value, value)
    if isinstance(value, list):
        return [_replaced(item, moved) for item in value]
    if isinstance(value, dict):
        return {name: _replaced(item, moved) for name, item in value.items()}
    return value
