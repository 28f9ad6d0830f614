"""Run the notebooks of the book whose outputs are out of date: a sweep of one scenario with one point per chapter."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from ettr import evidence, notebook, sweep
from ettr.core.errors import InputError, NoProgress, NotModelled, OutsideValidity, UnknownName
from ettr.core.yaml_files import mapping_of, text_of
from ettr.sweep import Grid, Point
from ettr.sweep.folder import POINTS
from ettr.sweep.grid import Block
from ettr.sweep.jobs import ID_DIGITS
from ettr.sweep.tables import Entry
from ettr.sweep.work import Task

EXECUTED = Path("_build/chapters")
_LISTS = ("parts", "chapters", "sections")
SUFFIXES = (".ipynb", ".md", ".rst")


State = Literal["ran", "kept", "unanswered", "failed"]
REFUSALS = (NoProgress, OutsideValidity, NotModelled, InputError)
"""Errors by which a chapter refuses its scenario; all others are faults."""
_NO_ANSWER = re.compile(rf"\): (?:{'|'.join(error.__name__ for error in REFUSALS)}): (.*)")
"""End of the message of a notebook that stopped because its scenario has no answer."""


@dataclass(frozen=True)
class Chapter:
    """A notebook of the book and the state of its executed copy.

    ``state`` is ``ran`` or ``kept`` (the copy at ``path`` is good), ``unanswered`` (the book's scenario has no answer
    from the cell on at which the copy ends, as ``error`` says), or ``failed`` (the copy ends at the failure that
    ``error`` describes; there is none if the process was killed).
    """

    docname: str
    state: State
    path: Path
    duration_s: float = 0.0
    error: str = ""

    @property
    def is_good(self) -> bool:
        """True if the executed copy is up to date and complete, except where the scenario has no answer."""
        return self.state in ("ran", "kept", "unanswered")

    @property
    def why(self) -> str:
        """Reason why the scenario has no answer; empty if it has one."""
        refusal = _NO_ANSWER.search(self.error) if self.state == "unanswered" else None
        return refusal[1].rstrip(".") if refusal else ""


Progress = Callable[[int, int, Chapter], None]
"""Called after each notebook with the number done, the total, and the last notebook."""


def docnames(root: Path) -> list[str]:
    """Return the pages of the book in the order of its table of contents."""
    toc_file = Path(root) / "_toc.yml"
    if not toc_file.is_file():
        raise InputError(f"there is no book in {root} (no _toc.yml); leave the root out to build the package's book")
    toc = _toc(root)
    if not isinstance(toc.get("root"), str):
        raise InputError(f"{toc_file} must name the first page as root, e.g. root: book/index")
    return [toc["root"], *_files(toc)]


def contents(root: Path) -> list[tuple[str, list[tuple[str, str]]]]:
    """Return the parts of the book: the caption of each, and the name and short title of its pages."""
    toc = _toc(root)
    return [
        (str(part.get("caption", "")), [(page["file"], page.get("title", Path(page["file"]).name)) for page in pages])
        for part in toc.get("parts") or []
        for pages in [[page for page in part.get("chapters") or [] if "file" in page]]
    ]


def _toc(root: Path) -> dict[str, Any]:
    file = Path(root) / "_toc.yml"
    return mapping_of(text_of(file, "table of contents"), str(file), "table of contents")


def source(root: Path, docname: str) -> Path:
    """Return the source file of a page."""
    for suffix in SUFFIXES:
        path = Path(root) / f"{docname}{suffix}"
        if path.is_file():
            return path
    raise InputError(f"_toc.yml names {docname}, but there is no such notebook or page")


def key(parameters: Mapping[str, Any]) -> str:
    """Return a folder name for a book with these parameters: readable and unique."""
    if not parameters:
        return "default"
    digest = hashlib.sha256(json.dumps(dict(parameters), sort_keys=True).encode()).hexdigest()[:12]
    named = re.sub(r"[^a-z0-9]+", "-", Path(str(parameters.get("scenario", "book"))).stem.lower()).strip("-")
    return f"{named[:32] or 'book'}-{digest}"


class Book(sweep.SweepJob):
    """The notebooks of a book, each run once with the book's parameters that it declares.

    Attributes
    ----------
    out : Path
        Folder of the executed copies.
    docnames : dict
        Page name of each notebook by the id of its point, in the order of the book.

    Raises
    ------
    UnknownName
        If no notebook declares one of the parameters.
    """

    what, suffix = "the book", ".ipynb"

    def __init__(self, root: Path, parameters: Mapping[str, Any]) -> None:
        self._may_refuse = bool(parameters)  # without parameters each chapter uses its own scenario, which has answers
        self.grid = _grid(parameters)
        self.out = root / EXECUTED / key(parameters)
        self._chapters: dict[str, sweep.NotebookJob] = {}
        self.docnames: dict[str, str] = {}
        declared: set[str] = set()
        for docname in docnames(root):
            path = source(root, docname)
            if path.suffix == ".ipynb":
                names = {parameter.name for parameter in notebook.declared_parameters(path)}
                declared |= names
                chapter = sweep.NotebookJob(path, _grid({k: v for k, v in parameters.items() if k in names}))
                (run,) = chapter.ids()
                digest = hashlib.sha256(f"{docname} {run}".encode()).hexdigest()[:ID_DIGITS]
                self._chapters[digest], self.docnames[digest] = chapter, docname
        for name in parameters:
            if name not in declared:
                raise UnknownName("parameter", name, declared, "no chapter of the book declares it")

    def points(self) -> dict[str, Point]:
        (book,) = self.grid.points()
        return {digest: Point(book.parameters, docname) for digest, docname in self.docnames.items()}

    def task(self, digest: str, parameters: Mapping[str, Any], elsewhere: bool = False) -> Task:
        chapter = self._chapters[digest]
        (point,) = chapter.grid.points()
        return chapter.task(digest, point.parameters, elsewhere)

    def chapter(self, digest: str, entry: Entry, done: Literal["ran", "kept"]) -> Chapter:
        """Return a notebook with the state of its point."""
        docname = self.docnames[digest]
        refused = self._may_refuse and _NO_ANSWER.search(entry.error)
        state: State = done if entry.status == "done" else "unanswered" if refused else "failed"
        return Chapter(docname, state, self.out / entry.file, entry.duration_s, entry.error)


def execute(
    root: str | os.PathLike[str],
    parameters: Mapping[str, Any] | None = None,
    *,
    progress: Progress | None = None,
    workers: int | None = None,
    on_wait: Callable[[], None] = lambda: None,
) -> list[Chapter]:
    """Run the notebooks of the table of contents whose outputs are out of date.

    The book is a sweep with one point per chapter, in ``_build/chapters``: chapters finished before an interruption are
    kept, and failed chapters run again.

    Parameters
    ----------
    root : path
        The repository, with ``_toc.yml``.
    parameters : mapping, optional
        The book's parameters. A notebook gets the ones it declares.
    progress : callable, optional
        Called after each notebook.
    workers : int, optional
        Number of parallel processes; by default one per core, at least two.
    on_wait : callable, optional
        Called before another process that runs the same chapters is waited for.

    Returns
    -------
    list of Chapter
        Chapters in the order of the book. A failed notebook does not stop the others.

    Raises
    ------
    UnknownName
        If no notebook declares one of the parameters.
    InputError
        If a parameter does not fit what a notebook declares.
    """
    evidence.verify()  # once for all chapters
    book = Book(Path(root).resolve(), dict(parameters or {}))
    chapters: dict[str, Chapter] = {}

    def tell(now: sweep.Progress) -> None:
        if now.threads is not None:
            return
        new = [now.last] if now.last else [digest for digest, entry in now.entries.items() if entry]
        for number, digest in enumerate(new, now.done - len(new) + 1):
            if entry := now.entries[digest]:
                chapters[digest] = book.chapter(digest, entry, "ran" if now.last else "kept")
            if progress:
                progress(number, now.total, chapters[digest])

    processes = workers or max(2, os.cpu_count() or 2)
    sweep.run_job(book, book.out, processes, retry_failed=True, on_progress=tell, on_wait=on_wait)
    for path in (book.out / POINTS).glob("*.ipynb"):
        if path.name.partition(".")[0] not in chapters:
            path.unlink(missing_ok=True)  # of an earlier version of a chapter
    return [chapters[digest] for digest in book.docnames]


def _grid(parameters: Mapping[str, Any]) -> Grid:
    """Return a grid with a single point."""
    return Grid((Block(tuple(parameters), [tuple(parameters.values())]),))


def _files(part: Any) -> Iterator[str]:
    """Yield every page of a table of contents below its root, in order."""
    for section in part.get("parts") or []:
        yield from _files(section)
    for name in _LISTS[1:]:
        for entry in part.get(name) or []:
            if "file" in entry:
                yield re.sub(r"\.(ipynb|md|rst)$", "", entry["file"])
            yield from _files(entry)
