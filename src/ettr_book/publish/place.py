"""The place of a site: what may be replaced there, and how it is, whole or not at all.

A new site is copied beside the old one, and when a disk holds all of it, two renames exchange both. If a build is cut
off between these two, whoever comes next to this place takes the first one back before anything else.

The folders that a build keeps for the next one are sealed with the digest of all that is in them: what fills them
writes in place, and half a page or half a pickle looks like a whole one.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from ettr import notebook
from ettr.core import durable
from ettr.core.durable import locked
from ettr.core.errors import EttrError, InputError

DEFAULT = Path("_build/html")
MARK = ".ettr-book.json"
"""In every site made here; a folder without it is not replaced."""
READ = ("book", "data", "src")
"""Folders of the repository that a build reads: a site in one of them would become part of the next."""


def check(out: Path, root: Path) -> None:
    """Refuse a place where something else lives.

    Raises
    ------
    InputError
        If `out` is no folder, cannot be replaced, holds what is not a book, or belongs to the repository at `root`.
    """
    if out.is_symlink() or (out.exists() and not out.is_dir()):
        raise InputError(f"the site needs a folder, and {out} is something else")
    if root.is_relative_to(out.resolve()):
        raise InputError(f"the site would replace the folder that the book is built in, {out}: name another one")
    if os.path.ismount(out):
        raise InputError(f"the site replaces a folder, and a disk is mounted at {out}: name a folder in it")
    inside = next((name for name in READ if out.resolve().is_relative_to(root / name)), None)
    if inside:
        raise InputError(f"the site would become part of the book: {out} is in {root / inside}; choose another folder")
    for place in {next(folder for folder in (path, *path.parents) if folder.exists()) for path in (out, out.parent)}:
        if not place.is_dir() or not os.access(place, os.W_OK | os.X_OK) or not _can_hold(place):
            raise InputError(f"the site cannot be written to {out}: {place} is not a folder that takes new files")
    if out.is_dir() and any(out.iterdir()) and not _is_book(out) and out != root / DEFAULT:
        raise InputError(f"{out} holds something that is not a book made here; choose an empty or a new folder")


def restore(out: Path) -> None:
    """Put a whole site to `out` if a build was cut off that was replacing it, and remove what it left beside it.

    Raises
    ------
    EttrError
        If that cannot be.
    """
    if out.parent.is_dir():
        with _said(out), _taken(out):
            pass


def put(site: Path, out: Path) -> None:
    """Put a copy of the site at `out`, in place of what is there; it is on disk when this returns.

    Raises
    ------
    EttrError
        If that cannot be. What was at `out` stays.
    """
    with _said(out), _taken(out) as (copy, old):
        shutil.copytree(site, copy)
        durable.sync_tree(copy)
        if out.exists():
            out.rename(old)
        copy.rename(out)
        durable.sync(out.parent)


@contextlib.contextmanager
def _taken(out: Path) -> Iterator[tuple[Path, Path]]:
    """Keep other builds from this place, and leave one site there and nothing beside it, however this ends.

    The two places are for a copy of the new site and for the old one.
    """
    copy, old, lock = (out.with_name(f".{out.name}.{name}{durable.PART}") for name in ("copy", "old", "lock"))
    with locked(lock, "build", wait=True):
        try:
            _settle(out, copy, old)
            try:
                yield copy, old
            finally:
                _settle(out, copy, old)
        finally:
            with contextlib.suppress(OSError):  # Windows keeps what is open
                lock.unlink()


def _settle(out: Path, copy: Path, old: Path) -> None:
    """Take an exchange back that was cut off between its two renames, and remove what is not the site."""
    if old.exists() and not out.exists():
        old.rename(out)
        durable.sync(out.parent)
    shutil.rmtree(copy, ignore_errors=True)
    shutil.rmtree(old, ignore_errors=True)


@contextlib.contextmanager
def _said(out: Path) -> Iterator[None]:
    """Say in a sentence why a site is not at its place."""
    try:
        yield
    except shutil.Error as error:  # of each file that was not copied
        (_, _, reason), *_ = error.args[0]
        raise EttrError(f"the site could not be put at {out}: {reason}") from error
    except OSError as error:
        raise EttrError(f"the site could not be put at {out}: {error.strerror or error}") from error


def _can_hold(folder: Path) -> bool:
    """Whether a folder takes a new file; permissions alone do not tell, for root least of all."""
    try:
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def _is_book(folder: Path) -> bool:
    try:
        return "parameters" in json.loads((folder / MARK).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False


def seal(folder: Path) -> None:
    """Write the digest of a folder beside it."""
    _digest_file(folder).write_text(notebook.contents([(folder, "*")]), encoding="utf-8")


def is_whole(folder: Path) -> bool:
    """Whether a folder is as it was when it was sealed; whoever would go on from one that is not makes it again."""
    try:
        return _digest_file(folder).read_text(encoding="utf-8") == notebook.contents([(folder, "*")])
    except (OSError, ValueError):
        return False


def _digest_file(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}.sha256")
