"""Builds the site and puts it in its place, whole or not at all."""

from __future__ import annotations

import html
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from ettr import notebook
from ettr.core.errors import EttrError, InputError, NotebookFailed
from ettr.files.locking import locked
from ettr.publish import assets, chapters, extension

DEFAULT_OUT = Path("_build/html")
UNPACKED, UNPACKED_OUT = Path("_build/ettr-book"), Path("ettr-book")
"""Where a book that is not here is built, and the site of it."""
FAILED_OUT = Path("_build/failed/html")
SHOWN_WARNINGS = 12


def build(
    root: str | os.PathLike[str] | None = None,
    out: str | os.PathLike[str] | None = None,
    scenario: str | os.PathLike[str] | None = None,
    progress: bool = True,
) -> Path:
    """Run the chapters that changed, build the site with warnings as errors, and put it at `out` in one step.

    Parameters
    ----------
    root : path, optional
        A folder with ``_config.yml`` and ``_toc.yml``, such as a copy of the repository. If not given, the current
        folder where it is one, and else the chapters that came with the package, built in ``_build/ettr-book``.
    out : path, optional
        The folder of the site; ``_build/html`` of the root if not given, or ``ettr-book`` for the chapters of the
        package. An existing site there is replaced.
    scenario : str or path, optional
        Name of a preset or a scenario file for the whole book; each chapter's own if not given.
    progress : bool
        Whether to show which chapter is done.

    Returns
    -------
    Path
        The first page of the site.

    Raises
    ------
    MissingExtra
        If a package is not installed that this takes.
    InputError
        If there is no book at `root`, the scenario is not one, or `out` is a folder that is not a book.
    NotebookFailed
        If chapters failed. The site at `out` stays as it was; the pages that the message names say what
        failed.
    EttrError
        If the pages could not be built without a warning.
    """
    assets.versions_of(*assets.BUILT_WITH)
    root, default_out = _root(root)
    out = Path(out).absolute() if out else default_out
    names = chapters.docnames(root)
    if not (root / "_config.yml").is_file():
        raise InputError(f"there is no book in {root}: it has no _config.yml")
    _check_replaceable(out, root)
    parameters, label = _scenario(scenario)
    with _progress(progress) as report:
        ran = chapters.execute(root, parameters, progress=report)
        failed = [chapter for chapter in ran if not chapter.is_good]
        if failed:
            _render(root, root / FAILED_OUT, parameters, label, names, show_failures=True)
            raise NotebookFailed(_failure(root, failed))
        _render(root, out, parameters, label, names, show_failures=False)
    return out / f"{names[0]}.html"


def _root(given: str | os.PathLike[str] | None) -> tuple[Path, Path]:
    """The folder of the book, and where its site goes if nobody says."""
    here = Path.cwd()
    if given is None and not (here / "_toc.yml").is_file():
        return notebook.unpacked(here / UNPACKED), here / UNPACKED_OUT
    root = Path(given).resolve() if given is not None else here
    return root, root / DEFAULT_OUT


def _scenario(scenario: str | os.PathLike[str] | None) -> tuple[dict[str, str], str]:
    """The book's parameters and the words that name the scenario on its pages."""
    if scenario is None:
        return {}, ""
    from ettr.scenario import Scenario

    loaded = Scenario.load(os.fspath(scenario))
    path = Path(scenario)
    named = str(path.resolve()) if path.suffix in (".yml", ".yaml") else os.fspath(scenario)
    return {"scenario": named}, loaded.title


def _render(
    root: Path, out: Path, parameters: dict[str, Any], label: str, names: list[str], *, show_failures: bool
) -> None:
    """Run Jupyter Book in a folder of its own, then exchange the site at `out` for the new one."""
    work = root / "_build" / (f"site-{chapters.key(parameters)}" + ("-failed" if show_failures else ""))
    with locked(work / "lock", "build", wait=True):
        config = work / "_config.yml"
        config.write_text(_config(root, parameters, label, show_failures), encoding="utf-8")
        site, log = work / "_build/html", work / "build.log"
        options = ["-n", "--keep-going", "-q", *([] if show_failures else ["-W"])]
        code = _jupyter_book(root, config, work, options, log)
        missing = [name for name in names if not (site / f"{name}.html").is_file()]
        if missing or (code and not show_failures):
            raise EttrError(_not_built(log, missing))
        _replace(out, site)


def _config(root: Path, parameters: dict[str, Any], label: str, show_failures: bool) -> str:
    """The book's configuration with what this build adds to it."""
    config = yaml.safe_load((root / "_config.yml").read_text(encoding="utf-8"))
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


def _jupyter_book(root: Path, config: Path, work: Path, options: list[str], log: Path) -> int:
    command = [sys.executable, "-c", "from jupyter_book.cli.main import main; main()", "build", str(root)]
    command += ["--config", str(config), "--path-output", str(work), *options]
    with log.open("w", encoding="utf-8") as file:
        return subprocess.run(command, stdout=file, stderr=subprocess.STDOUT, cwd=root, check=False).returncode


def _not_built(log: Path, missing: list[str]) -> str:
    lines = re.sub(r"\x1b\[[0-9;]*m", "", log.read_text(encoding="utf-8", errors="replace")).splitlines()
    marked = [line for line in lines if re.search(r"\b(WARNING|ERROR|CRITICAL|not built|[Ee]xception|Error):?", line)]
    warnings = (marked or lines[-SHOWN_WARNINGS:])[:SHOWN_WARNINGS]
    pages = f" without {', '.join(missing)}" if missing else ""
    return "\n  ".join([f"Jupyter Book stopped{pages}; all it said is in {log}:", *warnings])


def _failure(root: Path, failed: list[chapters.Chapter]) -> str:
    several = f"{len(failed)} chapters failed" if len(failed) > 1 else "a chapter failed"
    lines = [f"{several}, the site was left as it was:"]
    for chapter in failed:
        lines += [f"  {chapter.error}", f"    page: {root / FAILED_OUT / chapter.docname}.html"]
    return "\n".join(lines)


def _check_replaceable(out: Path, root: Path) -> None:
    """Refuse a place where something else lives."""
    if out.is_symlink() or (out.exists() and not out.is_dir()):
        raise InputError(f"the site needs a folder, and {out} is something else")
    if root.is_relative_to(out.resolve()):
        raise InputError(f"the site would replace the repository: {out}")
    there = next(parent for parent in (out, *out.parents) if parent.exists())
    if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK) or not _can_hold(there):
        raise InputError(f"the site cannot be written to {out}: {there} is not a folder that takes new files")
    if out.is_dir() and any(out.iterdir()) and not _is_book(out) and out != root / DEFAULT_OUT:
        raise InputError(f"{out} holds something that is not a book made here; choose an empty or a new folder")


def _can_hold(folder: Path) -> bool:
    """Whether a folder takes a new file; permissions alone do not tell, for root least of all."""
    try:
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def _is_book(folder: Path) -> bool:
    try:
        return "parameters" in json.loads((folder / extension.MARK).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False


def _replace(out: Path, site: Path) -> None:
    """Put a copy of the site at `out`: what is there at any moment is a whole site."""
    new, old = (out.with_name(f".{out.name}.{word}-{os.getpid()}") for word in ("new", "old"))
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(site, new)
        if out.exists():
            out.rename(old)
        try:
            new.rename(out)
        except OSError:
            if old.exists():
                old.rename(out)
            raise
    except OSError as error:
        raise EttrError(f"the site could not be put at {out}: {error.strerror or error}") from error
    finally:
        shutil.rmtree(new, ignore_errors=True)
        shutil.rmtree(old, ignore_errors=True)


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
            print(f"[{done}/{total}] {chapter.docname}: {chapter.state}{took}", file=sys.stderr, flush=True)
            if done == total:
                print("building pages", file=sys.stderr, flush=True)

        yield line
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console) as bar:
        task = bar.add_task("chapters", total=None)

        def update(done: int, total: int, chapter: chapters.Chapter) -> None:
            last = "building pages" if done == total else chapter.docname
            bar.update(task, completed=done, total=total, description=last)

        yield update
