"""Builds the site and puts it in its place, whole or not at all."""

from __future__ import annotations

import html
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import yaml

from ettr import notebook
from ettr.core.durable import locked
from ettr.core.errors import EttrError, InputError, NotebookFailed
from ettr.core.sentences import printable
from ettr.core.yaml_files import mapping_of, text_of
from ettr_book.publish import assets, chapters, place

UNPACKED, UNPACKED_OUT = Path("_build/ettr-book"), Path("ettr-book")
"""Where a book that is not here is built, and the site of it."""
EXTENSION = "ettr_book.publish"
"""By what the configuration of a book that is built here is known."""
SHOWN_WARNINGS = 12


def build(
    root: str | os.PathLike[str] | None = None,
    out: str | os.PathLike[str] | None = None,
    scenario: str | os.PathLike[str] | None = None,
    progress: bool = True,
) -> Path:
    """Run the chapters that changed, build the site with warnings as errors, and put it at `out`.

    A build may end at any moment, by a kill, a full disk or a power cut: the site is the one before or the new one,
    whole and on disk. If it ended between the two renames that exchange them, there is none until the next build to
    this place, which begins by putting the one before there. Finished chapters are kept, and of pages only what is as
    a whole build left it. Another build for the same scenario is waited for, and so is what a killed one left running;
    on Windows, which has no such locks, it is not.

    Parameters
    ----------
    root : path, optional
        A folder with ``_config.yml``, which lists the extension ``ettr_book.publish``, and ``_toc.yml``, such as
        a copy of the repository. If not given, the current folder where it is one, and else the chapters that came
        with the package, built in ``_build/ettr-book``.
    out : path, optional
        The folder of the site; ``_build/html`` of the root if not given, or ``ettr-book`` for the chapters of the
        package. An existing site there is replaced.
    scenario : str or path, optional
        Name of a preset or a scenario file for the whole book; each chapter's own if not given.
    progress : bool
        Whether to show which chapter is done or has no answer, and which build is waited for.

    Returns
    -------
    Path
        The first page of the site.

    Raises
    ------
    MissingExtra
        If a package is not installed that this takes.
    InputError
        If there is no book at `root`, the scenario is not one, or `out` is a folder that is not a book, belongs to the
        repository, or cannot be written.
    NotebookFailed
        If chapters failed. The site at `out` stays as it was; the pages that the message names say what
        failed.
    EttrError
        If the pages could not be built without a warning, or a disk did not take them.
    """
    assets.versions_of(*assets.BUILT_WITH)
    is_unpacked = root is None and not _is_book(Path.cwd())
    root, default_out = _folders(root)
    out = Path(out or default_out).absolute()
    place.check(out, root)
    if is_unpacked:
        _unpack(root)
    names = chapters.docnames(root)
    if not _is_book(root):
        raise InputError(f"there is no book in {root}: it has no _config.yml that lists the extension {EXTENSION}")
    parameters, label = _scenario(scenario)
    work = root / "_build" / f"site-{chapters.key(parameters)}"

    def say() -> None:
        if progress:
            _say(f"waiting for the build that is at work in {work}")

    with locked(work / "lock", "build", wait=True, on_wait=say) as lock:
        place.restore(out)
        with _progress(progress) as report:
            ran = chapters.execute(root, parameters, progress=report)
            failed = [chapter for chapter in ran if not chapter.is_good]
            made = work.with_name(f"{work.name}-failed") if failed else work
            site = _rendered(root, made, _config(root, parameters, label, bool(failed)), lock, bool(failed))
        if failed:
            raise NotebookFailed(*_failure(site, failed))
        place.put(site, out)
    unanswered = [chapter.docname for chapter in ran if chapter.why]
    if progress and unanswered:
        _say(f"no answer for this run, as the page says: {', '.join(unanswered)}")
    return out / f"{names[0]}.html"


def _say(text: str) -> None:
    print(printable(text), file=sys.stderr, flush=True)


def _is_book(root: Path) -> bool:
    """Whether this is the folder of a book that is built here, and not another Jupyter Book."""
    try:
        return EXTENSION in (root / "_config.yml").read_text(encoding="utf-8")
    except (OSError, ValueError):
        return False


def _folders(given: str | os.PathLike[str] | None) -> tuple[Path, Path]:
    """The folder of the book, and where its site goes if nobody says."""
    here = Path.cwd()
    if given is None and not _is_book(here):
        return here / UNPACKED, here / UNPACKED_OUT
    root = Path(given or here).resolve()
    return root, root / place.DEFAULT


def _unpack(root: Path) -> None:
    try:
        notebook.unpacked(root)
    except OSError as error:
        raise InputError(f"the chapters cannot be written to {root}: {error.strerror or error}") from error


def _scenario(scenario: str | os.PathLike[str] | None) -> tuple[dict[str, str], str]:
    """The book's parameters and the words that name the scenario on its pages."""
    if scenario is None:
        return {}, ""
    from ettr.scenario import Scenario

    loaded = Scenario.load(os.fspath(scenario))
    path = Path(scenario)
    named = str(path.resolve()) if path.suffix in (".yml", ".yaml") else os.fspath(scenario)
    return {"scenario": named}, loaded.title


def _rendered(root: Path, work: Path, config: str, lock: IO[str], show_failures: bool) -> Path:
    """The site that Jupyter Book makes in a folder of its own, of which it keeps what did not change.

    It goes on only from what a build left that came to its end without a warning.
    """
    made, log = work / "_build", work / "build.log"
    try:
        work.mkdir(exist_ok=True)
        if made.exists() and not place.is_whole(made):
            shutil.rmtree(made)
        (work / "_config.yml").write_text(config, encoding="utf-8")
        code = _jupyter_book(root, work, ["-n", "--keep-going", "-q", *([] if show_failures else ["-W"])], log, lock)
        missing = [name for name in chapters.docnames(root) if not (made / f"html/{name}.html").is_file()]
        if missing or (code and not show_failures):
            raise EttrError(*_not_built(log, missing))
        if not code:
            place.seal(made)
    except OSError as error:
        raise EttrError(f"the pages could not be written to {work}: {error.strerror or error}") from error
    return made / "html"


def _config(root: Path, parameters: dict[str, Any], label: str, show_failures: bool) -> str:
    """The book's configuration with what this build adds to it."""
    file = root / "_config.yml"
    config = mapping_of(text_of(file, "configuration"), str(file), "configuration")
    added = config.setdefault("sphinx", {}).setdefault("config", {})
    if parameters:
        added["ettr_parameters"] = parameters
        config["title"] = f"{config['title']}: {label}"
        # What the theme writes as it stands.
        added.setdefault("html_theme_options", {})["logo"] = {"text": html.escape(config["title"])}
        config.setdefault("html", {})["announcement"] = f"This copy of the book was computed for {html.escape(label)}."
    if show_failures:
        added["ettr_show_failures"] = True
    return yaml.safe_dump(config, sort_keys=False, allow_unicode=True)


def _jupyter_book(root: Path, work: Path, options: list[str], log: Path, lock: IO[str]) -> int:
    """Run Jupyter Book, which holds the lock too: it keeps the next build waiting if this process is killed."""
    command = [sys.executable, "-c", "from jupyter_book.cli.main import main; main()", "build", str(root)]
    command += ["--config", str(work / "_config.yml"), "--path-output", str(work), *options]
    held = () if os.name == "nt" else (lock.fileno(),)
    with log.open("w", encoding="utf-8") as file:
        done = subprocess.run(command, stdout=file, stderr=subprocess.STDOUT, cwd=root, check=False, pass_fds=held)
    return done.returncode


def _not_built(log: Path, missing: list[str]) -> list[str]:
    lines = re.sub(r"\x1b\[[0-9;]*m", "", log.read_text(encoding="utf-8", errors="replace")).splitlines()
    marked = [line for line in lines if re.search(r"\b(WARNING|ERROR|CRITICAL|not built|[Ee]xception|Error):?", line)]
    warnings = (marked or lines[-SHOWN_WARNINGS:])[:SHOWN_WARNINGS]
    pages = f" without {', '.join(missing)}" if missing else ""
    return [f"Jupyter Book stopped{pages}; all it said is in {log}:", *(f"  {line}" for line in warnings)]


def _failure(site: Path, failed: list[chapters.Chapter]) -> list[str]:
    several = f"{len(failed)} chapters failed" if len(failed) > 1 else "a chapter failed"
    lines = [f"{several}, the site was left as it was:"]
    for chapter in failed:
        lines += [f"  {chapter.error}", f"    page: {site / chapter.docname}.html"]
    return lines


@contextmanager
def _progress(wanted: bool) -> Iterator[chapters.Progress | None]:
    """A bar on a terminal, a line a chapter elsewhere."""
    if not wanted:
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    if not console.is_terminal:

        def line(done: int, total: int, chapter: chapters.Chapter) -> None:
            took = f", {chapter.duration_s:.1f} s" if chapter.state == "ran" else ""
            state = f"no answer, since {chapter.why}" if chapter.why else chapter.state
            _say(f"[{done}/{total}] {chapter.docname}: {state}{took}")
            if done == total:
                _say("building pages")

        yield line
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console) as bar:
        task = bar.add_task("chapters", total=None)

        def update(done: int, total: int, chapter: chapters.Chapter) -> None:
            last = "building pages" if done == total else chapter.docname
            bar.update(task, completed=done, total=total, description=printable(last))

        yield update
