"""The place of a site: what may be replaced there, and how it is, whole or not at all.

A new site is copied beside the old one. When a disk holds all of it, it gets a name that says so, and two renames
exchange both. A build that is cut off after that has begun an exchange which whoever comes next to this place finishes
before anything else. Two renames do so on every file system; some only can exchange two names in one step.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from ettr.core import durable
from ettr.core.durable import locked
from ettr.core.errors import EttrError, InputError
from ettr_book.publish import extension

DEFAULT = Path("_build/html")
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
    with _said(out), _taken(out) as (copy, whole):
        shutil.copytree(site, copy)
        durable.sync_tree(copy)
        copy.rename(whole)
        durable.sync(out.parent)


@contextlib.contextmanager
def _taken(out: Path) -> Iterator[tuple[Path, Path]]:
    """Keep other builds from this place, and leave one site there and nothing beside it, however this ends.

    What is whole at the second of the two places becomes the site, and what is at the first one goes.
    """
    names = ("copy", "whole", "old", "lock")
    copy, whole, old, lock = (out.with_name(f".{out.name}.{name}{durable.PART}") for name in names)
    with locked(lock, "build", wait=True):
        try:
            _settle(out, copy, whole, old)
            try:
                yield copy, whole
            finally:
                _settle(out, copy, whole, old)
        finally:
            with contextlib.suppress(OSError):  # Windows keeps what is open
                lock.unlink()


def _settle(out: Path, copy: Path, whole: Path, old: Path) -> None:
    """Finish an exchange that has begun, from wherever it was cut off."""
    shutil.rmtree(copy, ignore_errors=True)
    if whole.exists():
        shutil.rmtree(old, ignore_errors=True)
        try:
            if out.exists():
                out.rename(old)
            whole.rename(out)
        except OSError:
            if old.exists() and not out.exists():
                old.rename(out)
            whole.rename(copy)  # half of it would not be whole
            shutil.rmtree(copy, ignore_errors=True)
            raise
        durable.sync(out.parent)
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
        return "parameters" in json.loads((folder / extension.MARK).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
