"""What a worker does with one point of a sweep. Everything it needs comes with the task."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
import platform
import tempfile
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ettr import notebook
from ettr.core.errors import EttrError, NotebookFailed
from ettr.sweep import calls, points


class WorkerDiffers(EttrError):
    """A worker has another version of the package, the data or a library."""


@dataclass(frozen=True)
class File:
    """A file that a parameter names: where it lies, what is in it, and the contents once they were asked for."""

    path: str
    sha256: str
    contents: bytes | None = None


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
        Files that parameters name.
    root : str
        Working folder, if the worker has it.
    surroundings : mapping
        Versions that the worker must have.
    out, token : str
        Folder of the sweep, in which the notebook may change nothing, and what tells whether the worker sees it too.
    """

    what: str
    source: str
    parameters: Mapping[str, Any]
    digest: str
    files: tuple[File, ...]
    root: str
    surroundings: Mapping[str, str]
    out: str = ""
    token: str = ""
    timeout_s: float | None = None
    fresh_kernel: bool = False


@dataclass(frozen=True)
class Outcome:
    """What a point left.

    Attributes
    ----------
    text : str
        Of its file; empty if the worker has written it already.
    failed : bool
        Whether it came to its end.
    missing : tuple of str
        Files that the worker lacks, so that nothing was run.
    """

    text: str = ""
    failed: bool = False
    missing: tuple[str, ...] = ()


def with_contents(task: Task, paths: Collection[str]) -> Task:
    """The same task with the contents of these files.

    Raises
    ------
    EttrError
        If one is no longer as it was when the point got its id.
    """
    files = (replace(file, contents=_contents(file)) if file.path in paths else file for file in task.files)
    return replace(task, files=tuple(files)) if paths else task


def _contents(file: File) -> bytes:
    contents = Path(file.path).read_bytes()
    if hashlib.sha256(contents).hexdigest() != file.sha256:
        raise EttrError(
            f"{file.path} was changed while the sweep was at work; run the sweep again to use it as it is now"
        )
    return contents


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
    out, suffix = Path(task.out), ".ipynb" if task.source else ".json"
    shared = _sees(out, task.token)
    kept = out / points.FOLDER / points.file_name(task.digest, suffix, failed=False)
    if shared and points.is_done(kept, task.digest):
        return Outcome()  # by a worker that died before it could say so
    with tempfile.TemporaryDirectory(prefix="ettr-point-") as scratch:
        places = {file.path: _placed(file) for file in task.files}
        missing = tuple(path for path, place in places.items() if place is None)
        if missing:
            return Outcome(missing=missing)
        moved = {path: str(place) for path, place in places.items() if str(place) != path}
        values = _replaced(dict(task.parameters), moved)
        text, failed = (_notebook if task.source else _call)(task, values, Path(scratch))
        for path, place in moved.items():  # what is kept speaks of the file as it was asked for
            text = text.replace(json.dumps(place)[1:-1], json.dumps(path)[1:-1])
    if shared:
        if points.is_done(kept, task.digest):
            return Outcome()  # by another one: this one was frozen, and its point went on
        with contextlib.suppress(OSError):  # the one that asks may do better, or say what is wrong
            points.keep(out, task.digest, suffix, text, failed)
            return Outcome(failed=failed)
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
            kept_out=task.out,
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


_SEEN: set[tuple[Path, str]] = set()
"""Folders that this worker sees, with their sweeps: to read a long grid for each point would take long."""


def _sees(out: Path, token: str) -> bool:
    if (out, token) not in _SEEN and points.is_same(out, token):
        _SEEN.add((out, token))
    return (out, token) in _SEEN


@functools.cache
def _surroundings() -> Mapping[str, str]:
    return notebook.surroundings()


@functools.cache
def _shelf() -> tempfile.TemporaryDirectory[str]:
    """Where this worker keeps files that were sent to it, as long as it lives."""
    return tempfile.TemporaryDirectory(prefix="ettr-files-")


def _placed(file: File) -> Path | None:
    """Where the worker has this file: at its own place, or on the shelf; nowhere if it must be sent."""
    kept = Path(_shelf().name) / file.sha256 / Path(file.path).name
    for place in (Path(file.path), kept):
        if sha256_of(place) == file.sha256:
            return place
    if file.contents is None:
        return None
    kept.parent.mkdir(exist_ok=True)
    part = kept.with_name(f".{os.getpid()}-{id(file)}")
    part.write_bytes(file.contents)
    part.replace(kept)
    return kept


def sha256_of(path: Path) -> str:
    """The digest of a file; empty where it cannot be read."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""


def _replaced(value: Any, moved: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        return moved.get(value, value)
    if isinstance(value, list):
        return [_replaced(item, moved) for item in value]
    if isinstance(value, dict):
        return {name: _replaced(item, moved) for name, item in value.items()}
    return value
