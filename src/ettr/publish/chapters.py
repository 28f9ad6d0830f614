"""Runs the notebooks of the book whose outputs are out of date, side by side."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import yaml

from ettr import evidence, notebook
from ettr.core.errors import EttrError, InputError, UnknownName
from ettr.sweep import pool

EXECUTED = Path("_build/executed")
SUFFIXES = (".ipynb", ".md", ".rst")


@dataclass(frozen=True)
class Chapter:
    """A notebook of the book and the state of its executed copy.

    ``state`` is ``ran`` or ``kept`` (the copy at ``path`` is good), ``failed`` (the copy at ``path`` ends
    at the failure that ``error`` describes, unless the run could not even begin), or ``missing``.
    """

    docname: str
    state: Literal["ran", "kept", "failed", "missing"]
    path: Path
    duration_s: float = 0.0
    error: str = ""

    @property
    def is_good(self) -> bool:
        """Whether there is an executed copy that is whole and up to date."""
        return self.state in ("ran", "kept")


Progress = Callable[[int, int, Chapter], None]
"""Called after each notebook with how many are done, how many there are, and the one that was last."""


def docnames(root: Path) -> list[str]:
    """The pages of the book in the order of its table of contents."""
    toc_file = Path(root) / "_toc.yml"
    if not toc_file.is_file():
        raise InputError(
            f"there is no book in {root}: it has no _toc.yml; run this in a clone of the repository, or say with "
            f"--root where one is"
        )
    toc = yaml.safe_load(toc_file.read_text(encoding="utf-8"))
    return [toc["root"], *_files(toc)]


def source(root: Path, docname: str) -> Path:
    """The file from which a page is made."""
    for suffix in SUFFIXES:
        path = Path(root) / f"{docname}{suffix}"
        if path.is_file():
            return path
    raise InputError(f"_toc.yml names {docname}, but there is no such notebook or page")


def key(parameters: Mapping[str, Any]) -> str:
    """A folder name for a book with these parameters: readable where that is harmless, unique in any case."""
    if not parameters:
        return "default"
    digest = hashlib.sha256(json.dumps(dict(parameters), sort_keys=True).encode()).hexdigest()[:12]
    named = re.sub(r"[^a-z0-9]+", "-", Path(str(parameters.get("scenario", "book"))).stem.lower()).strip("-")
    return f"{named[:32] or 'book'}-{digest}"


def executed_copy(root: Path, docname: str, parameters: Mapping[str, Any]) -> Path:
    """Where the executed copy of a page is kept."""
    return Path(root) / EXECUTED / key(parameters) / f"{docname}.ipynb"


def states(root: Path, parameters: Mapping[str, Any]) -> list[Chapter]:
    """The state of every notebook of the book, without running any."""
    return [_state(task) for task in _tasks(Path(root).resolve(), parameters)]


def execute(
    root: str | os.PathLike[str],
    parameters: Mapping[str, Any] | None = None,
    *,
    progress: Progress | None = None,
    workers: int | None = None,
) -> list[Chapter]:
    """Run the notebooks of the table of contents whose outputs are out of date.

    The digest that decides (:func:`ettr.notebook.digest`) is kept inside each executed copy, and a copy
    appears when it is whole: whatever was finished before an interruption counts.

    Parameters
    ----------
    root : path
        The repository, with ``_toc.yml``.
    parameters : mapping, optional
        The book's parameters. A notebook gets those of them that it declares.
    progress : callable, optional
        Told about each notebook as it is done.
    workers : int, optional
        How many run side by side; as many as there are cores, and no fewer than two.

    Returns
    -------
    list of Chapter
        In the order of the book. A failed notebook does not stop the others.

    Raises
    ------
    UnknownName
        If no notebook declares one of the parameters.
    """
    root, parameters = Path(root).resolve(), dict(parameters or {})
    evidence.verify()  # once, and not once a chapter
    with locked(root / EXECUTED / f"{key(parameters)}.lock"):
        for left in (root / EXECUTED / key(parameters)).rglob("*.part.ipynb"):
            left.unlink()  # of a run that was cut off
        tasks = _tasks(root, parameters)
        done = {task.docname: _state(task) for task in tasks}
        report = progress or (lambda *_: None)
        kept = [chapter for chapter in done.values() if chapter.state == "kept"]
        for count, chapter in enumerate(kept, 1):
            report(count, len(tasks), chapter)
        stale = [task for task in tasks if done[task.docname].state != "kept"]
        for count, chapter in enumerate(_run_all(stale, workers), len(kept) + 1):
            done[chapter.docname] = chapter
            report(count, len(tasks), chapter)
    return list(done.values())


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Wait until no other build works here; the lock ends with the process that holds it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        try:
            import fcntl
        except ImportError:  # Windows has no such lock, and builds there go unguarded
            pass
        else:
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


@dataclass(frozen=True)
class _Task:
    """One notebook to run, and where to."""

    root: Path
    docname: str
    path: Path
    out: Path
    parameters: dict[str, Any]


def _files(part: Any) -> Iterator[str]:
    """Every page that a table of contents names below its root, in order."""
    for section in part.get("parts") or []:
        yield from _files(section)
    for name in ("chapters", "sections"):
        for entry in part.get(name) or []:
            if "file" in entry:
                yield re.sub(r"\.(ipynb|md|rst)$", "", entry["file"])
            yield from _files(entry)


def _tasks(root: Path, parameters: Mapping[str, Any]) -> list[_Task]:
    tasks, declared = [], set()
    for docname in docnames(root):
        path = source(root, docname)
        if path.suffix == ".ipynb":
            names = {parameter.name for parameter in notebook.declared_parameters(path)}
            declared |= names
            given = {name: value for name, value in parameters.items() if name in names}
            tasks.append(_Task(root, docname, path, executed_copy(root, docname, parameters), given))
    for name in parameters:
        if name not in declared:
            raise UnknownName("parameter", name, declared, "no chapter of the book declares it")
    return tasks


def _state(task: _Task) -> Chapter:
    wanted = notebook.digest(task.path, task.parameters, root=task.root)
    failed = task.out.with_name(f"{task.out.stem}.failed.ipynb")
    for path, state in ((task.out, "kept"), (failed, "failed")):
        record = _record(path)
        if record.get("digest") == wanted:
            error = ""
            if state == "failed":
                name = task.path.relative_to(task.root).as_posix()
                error = notebook.stop_message(name, record["stopped"])
            return Chapter(task.docname, state, path, record.get("duration_s", 0.0), error)  # type: ignore[arg-type]
    return Chapter(task.docname, "missing", task.out)


def _record(path: Path) -> dict[str, Any]:
    try:
        return dict(json.loads(path.read_text(encoding="utf-8"))["metadata"][notebook.RECORD])
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def _run_all(tasks: list[_Task], workers: int | None) -> Iterator[Chapter]:
    """Run tasks on workers of this machine and give each as it is done."""
    if not tasks:
        return
    workers = min(len(tasks), workers or max(2, os.cpu_count() or 2))
    with pool.connected(workers) as client:
        for result in pool.stream(client, _run, deque(tasks), lambda task: task):
            if result.error is not None:
                raise result.error
            yield result.value


def _run(task: _Task) -> Chapter:
    try:
        record = {"digest": notebook.digest(task.path, task.parameters, root=task.root)}
        run = notebook.run(task.path, task.out, task.parameters, cwd=task.root, record=record)
    except EttrError as error:
        failed = task.out.with_name(f"{task.out.stem}.failed.ipynb")
        return Chapter(task.docname, "failed", failed, error=str(error).replace(f"{task.root}{os.sep}", ""))
    return Chapter(task.docname, "ran", run.path, run.duration_s)
