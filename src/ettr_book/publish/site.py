"""Build the site and put it in its place in one step."""

from __future__ import annotations

import contextlib
import html
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import yaml

from ettr import evidence
from ettr.core import durable
from ettr.core.durable import locked
from ettr.core.errors import EttrError, InputError, NotebookFailed
from ettr.core.sentences import printable
from ettr.core.yaml_files import mapping_of, text_of
from ettr.notebook import BOOK
from ettr_book.publish import chapters
from ettr_book.publish.assets import BUILT_WITH, versions_of
from ettr_book.publish.extension import MARK, lock_of

DEFAULT = Path("_build/html")
READ = ("book", "data", "src")
"""Folders that a build reads: a site inside them would become part of the next build."""
UNPACKED, UNPACKED_OUT = Path("_build/ettr-book"), Path("ettr-book")
"""Folder in which the package's own book is built, and the folder of its site."""
EXTENSION = "ettr_book.publish"
"""Extension in the configuration of every book that this package builds."""
SHOWN_WARNINGS = 12


def build(
    root: str | os.PathLike[str] | None = None,
    out: str | os.PathLike[str] | None = None,
    scenario: str | os.PathLike[str] | None = None,
    progress: bool = True,
) -> Path:
    """Run the chapters that changed, build the site with warnings as errors, and put it at `out`.

    A complete new site replaces the old one, so an interrupted build, or one with a failed chapter, keeps the old site.
    Finished chapters and unchanged pages are reused. A second build for the same scenario waits for the first, except
    on Windows, which lacks such locks. A copy of the repository that cannot be written is copied first, to
    ``_build/ettr-book`` in the current folder or, if that cannot be written either, beside the site.

    Parameters
    ----------
    root : path, optional
        A folder with ``_config.yml``, which lists the extension ``ettr_book.publish``, and ``_toc.yml``, such as a copy
        of the repository. By default the current folder if it is such a folder, else the chapters of the package, built
        in ``_build/ettr-book``.
    out : path, optional
        The folder of the site; by default ``_build/html`` of the root, or ``ettr-book`` for the chapters of the
        package. An existing site is replaced.
    scenario : str or path, optional
        Name of a preset or a scenario file for all chapters; by default each chapter's own.
    progress : bool
        Whether to report finished chapters, chapters without an answer, and waiting for another build.

    Returns
    -------
    Path
        The first page of the site.

    Raises
    ------
    MissingExtra
        If a required package is not installed.
    InputError
        If there is no book at `root`, the scenario is invalid, or `out` is a folder that is not a book, belongs to the
        repository, or cannot be written.
    NotebookFailed
        If chapters failed. The site at `out` is unchanged; the executed copies in the message end at the failed cell.
    EttrError
        If the pages could not be built without a warning, or could not be written.

    Examples
    --------
    Building takes minutes; an unknown scenario is refused at once.

    >>> build(scenario="llama3-405", progress=False)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ettr.core.errors.UnknownName: ...
    """
    versions_of(*BUILT_WITH)
    is_unpacked = root is None and not _is_book(Path.cwd())
    root, default_out = _folders(root)
    out = Path(out or default_out).absolute()
    _check_place(out, root)
    source = BOOK if is_unpacked else root
    names = chapters.docnames(source)
    if not _is_book(source):
        raise InputError(f"there is no book in {source}: it has no _config.yml that lists the extension {EXTENSION}")
    root = _writable(root, out)
    _check_place(out, root)
    parameters, label = _scenario(scenario)
    work = root / "_build" / f"site-{chapters.key(parameters)}"

    def say() -> None:
        if progress:
            _say(f"waiting for another build in {work}")

    if root != source:
        _unpack(root, source, say)
    with locked(work / "lock", "build", wait=True, on_wait=say):
        ran = chapters.execute(root, parameters, progress=_line if progress else None, on_wait=say)
        failed = [chapter for chapter in ran if not chapter.is_good]
        if failed:
            raise NotebookFailed(*_failure(failed))
        made = _rendered(root, work, _config(root, parameters, label))
        with _alone(out, say):
            _put(made, out)
    unanswered = [chapter.docname for chapter in ran if chapter.why]
    if progress and unanswered:
        _say(f"no answer for this run (see the page): {', '.join(unanswered)}")
    return out / f"{names[0]}.html"


def _say(text: str) -> None:
    print(printable(text), file=sys.stderr, flush=True)


def _is_book(root: Path) -> bool:
    """Return True for the folder of a book that this package builds, False for other Jupyter Books."""
    try:
        return EXTENSION in (root / "_config.yml").read_text(encoding="utf-8")
    except (OSError, ValueError):
        return False


def _folders(root_argument: str | os.PathLike[str] | None) -> tuple[Path, Path]:
    """Return the folder of the book and the default folder of its site."""
    here = Path.cwd()
    if root_argument is None and not _is_book(here):
        return here / UNPACKED, here / UNPACKED_OUT
    root = Path(root_argument or here).resolve()
    return root, root / DEFAULT


def _writable(root: Path, out: Path) -> Path:
    """Return the folder in which the book can be built: `root`, or a place for a copy of it."""
    places = (root, Path.cwd() / UNPACKED, out.parent / UNPACKED)
    return next((place for place in places if _can_make(place / "_build")), places[-1])


def _can_make(folder: Path) -> bool:
    above = _existing(folder)
    return above.is_dir() and os.access(above, os.W_OK | os.X_OK)


def _existing(folder: Path) -> Path:
    return next(place for place in (folder, *folder.parents) if place.exists())


def _unpack(root: Path, source: Path, on_wait: Callable[[], None]) -> None:
    try:
        with locked(root / "lock", "build", wait=True, on_wait=on_wait):
            unpacked(root, source)
    except OSError as error:
        raise InputError(f"the chapters cannot be written to {root}: {error.strerror or error}") from error


def unpacked(folder: Path, source: Path = BOOK) -> None:
    """Copy a book, by default that of the package, into a folder where it can be built, or update it there."""
    wanted = dict(_files(source))
    for place, file in wanted.items():
        copy = folder / place
        if not copy.is_file() or copy.read_bytes() != file.read_bytes():
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, copy)
    for page in (folder / "book").rglob("*"):
        if page.is_file() and page.relative_to(folder).as_posix() not in wanted:
            page.unlink()  # no longer in the book


def _files(source: Path) -> Iterator[tuple[str, Path]]:
    """Yield the place of each file in the book, and the file."""
    for name in ("_config.yml", "_toc.yml"):
        yield name, source / name
    data = source / "data"
    yield "data/references.bib", (data if data.is_dir() else evidence.DATA) / "references.bib"
    for page in sorted((source / "book").rglob("*")):
        place = page.relative_to(source)
        if page.is_file() and not any(part.startswith(".") for part in place.parts):
            yield place.as_posix(), page


def _check_place(out: Path, root: Path) -> None:
    """Refuse an output folder that contains something else or belongs to the book at `root`."""
    if out.is_symlink() or (out.exists() and not out.is_dir()):
        raise InputError(f"out must be a folder, got {out}, which is not one")
    if root.is_relative_to(out.resolve()):
        raise InputError(f"out must not contain the book at {root}, got {out}: choose another folder")
    inside = next((name for name in READ if out.resolve().is_relative_to(root / name)), None)
    if inside:
        raise InputError(f"out must not be inside {root / inside}, which the build reads, got {out}: choose another")
    if not _can_make(out.parent):
        above = _existing(out.parent)
        raise InputError(f"the site cannot be written to {out}: {above} is not a writable folder; choose another out")
    if out.is_dir() and any(out.iterdir()) and not (out / MARK).is_file() and out != root / DEFAULT:
        raise InputError(f"{out} contains files of something other than a book; choose an empty or a new folder")


@contextlib.contextmanager
def _alone(out: Path, on_wait: Callable[[], None]) -> Iterator[None]:
    """Keep other builds from writing a site at the same place."""
    with locked(lock_of(out), "build", wait=True, on_wait=on_wait):
        try:
            yield
        finally:
            lock_of(out).unlink(missing_ok=True)


def _put(site: Path, out: Path) -> None:
    """Copy the site to `out`; two renames exchange it for the old one, which stays if the copy fails."""
    copy, old = (out.with_name(f".{out.name}.{name}{durable.PART}") for name in ("copy", "old"))
    _settle(out, copy, old)
    try:
        shutil.copytree(site, copy, copy_function=_copied)
        if out.exists():
            out.rename(old)
        copy.rename(out)
    except OSError as error:
        raise EttrError(f"the site could not be put at {out}: {error.strerror or error}") from error
    finally:
        _settle(out, copy, old)


def _copied(source: str, target: str) -> None:
    """Copy a file with its time, and the permissions of a new file: a style sheet may come from a private folder."""
    shutil.copyfile(source, target)
    times = os.stat(source)
    os.utime(target, ns=(times.st_atime_ns, times.st_mtime_ns))


def _settle(out: Path, copy: Path, old: Path) -> None:
    """Undo an exchange that was interrupted between its two renames, and remove leftovers."""
    if old.exists() and not out.exists():
        old.rename(out)
    shutil.rmtree(copy, ignore_errors=True)
    shutil.rmtree(old, ignore_errors=True)


def _scenario(scenario: str | os.PathLike[str] | None) -> tuple[dict[str, str], str]:
    """Return the book's parameters and the title of its scenario."""
    if scenario is None:
        return {}, ""
    from ettr.scenario import Scenario

    loaded = Scenario.load(os.fspath(scenario))
    path = Path(scenario)
    named = str(path.resolve()) if path.suffix in (".yml", ".yaml") else os.fspath(scenario)
    return {"scenario": named}, loaded.title


def _rendered(root: Path, work: Path, config: str) -> Path:
    """Return the site that Jupyter Book makes in its work folder, where unchanged pages are kept.

    Pages are reused only from a build that finished without a warning.
    """
    made, log, complete = work / "_build", work / "build.log", work / "complete"
    try:
        if not complete.exists():
            shutil.rmtree(made, ignore_errors=True)
        complete.unlink(missing_ok=True)
        (work / "_config.yml").write_text(config, encoding="utf-8")
        code = _jupyter_book(root, work, log)
        missing = [name for name in chapters.docnames(root) if not (made / f"html/{name}.html").is_file()]
        if missing or code:
            raise EttrError(*_not_built(log, missing))
        complete.touch()
    except OSError as error:
        raise EttrError(f"the pages could not be written to {work}: {error.strerror or error}") from error
    return made / "html"


def _config(root: Path, parameters: dict[str, Any], label: str) -> str:
    """Return the book's configuration with the settings of this build."""
    file = root / "_config.yml"
    config = mapping_of(text_of(file, "configuration"), str(file), "configuration")
    added = config.setdefault("sphinx", {}).setdefault("config", {})
    if parameters:
        added["ettr_parameters"] = parameters
        config["title"] = f"{config['title']}: {label}"
        # The theme does not escape it.
        added.setdefault("html_theme_options", {})["logo"] = {"text": html.escape(config["title"])}
        config.setdefault("html", {})["announcement"] = f"This copy of the book was computed for {html.escape(label)}."
    return yaml.safe_dump(config, sort_keys=False, allow_unicode=True)


def _jupyter_book(root: Path, work: Path, log: Path) -> int:
    """Run Jupyter Book with warnings as errors."""
    command = [sys.executable, "-c", "from jupyter_book.cli.main import main; main()", "build", str(root)]
    command += ["--config", str(work / "_config.yml"), "--path-output", str(work), "-n", "--keep-going", "-q", "-W"]
    with log.open("w", encoding="utf-8") as file:
        return subprocess.run(command, stdout=file, stderr=subprocess.STDOUT, cwd=root, check=False).returncode


def _not_built(log: Path, missing: list[str]) -> list[str]:
    lines = re.sub(r"\x1b\[[0-9;]*m", "", log.read_text(encoding="utf-8", errors="replace")).splitlines()
    marked = [line for line in lines if re.search(r"\b(WARNING|ERROR|CRITICAL|not built|[Ee]xception|Error):?", line)]
    warnings = (marked or lines[-SHOWN_WARNINGS:])[:SHOWN_WARNINGS]
    pages = f" without {', '.join(missing)}" if missing else ""
    return [f"Jupyter Book stopped{pages}; its full output is in {log}:", *(f"  {line}" for line in warnings)]


def _failure(failed: list[chapters.Chapter]) -> list[str]:
    several = f"{len(failed)} chapters failed" if len(failed) > 1 else "a chapter failed"
    lines = [f"{several}; the site was not changed:"]
    for chapter in failed:
        lines.append(f"  {chapter.error}")
        if chapter.path.is_file():  # not of a killed process
            lines.append(f"    partial output: {chapter.path}")
    return lines


def _line(done: int, total: int, chapter: chapters.Chapter) -> None:
    """Report a finished chapter."""
    took = f", {chapter.duration_s:.1f} s" if chapter.state == "ran" else ""
    state = f"no answer, since {chapter.why}" if chapter.why else chapter.state
    _say(f"[{done}/{total}] {chapter.docname}: {state}{took}")
    if done == total:
        _say("building pages")
