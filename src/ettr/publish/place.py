"""The place of a site: what may be replaced there, and how it is, whole or not at all.

A new site is copied beside the old one and synced; then two renames exchange them. A build that is cut off between the
two leaves the old site under another name, whole, and whatever build comes next to this place puts it back before it
does anything else. Two renames do so on every file system; to exchange two names in one step is for some of them only.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from ettr.core.errors import EttrError, InputError
from ettr.files import durable
from ettr.files.locking import locked
from ettr.publish import extension

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
        raise InputError(f"the site would replace the repository: {out}")
    inside = next((name for name in READ if out.resolve().is_relative_to(root / name)), None)
    if inside:
        raise InputError(f"the site would become part of the book: {out} is in {root / inside}; choose another folder")
    for place in {next(folder for folder in (path, *path.parents) if folder.exists()) for path in (out, out.parent)}:
        if not place.is_dir() or not os.access(place, os.W_OK | os.X_OK) or not _can_hold(place):
            raise InputError(f"the site cannot be written to {out}: {place} is not a folder that takes new files")
    if out.is_dir() and any(out.iterdir()) and not _is_book(out) and out != root / DEFAULT:
        raise InputError(f"{out} holds something that is not a book made here; choose an empty or a new folder")


def restore(out: Path) -> None:
    """Put back the site that a build took away and was cut off, and remove what it left beside it.

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
    with _said(out), _taken(out) as (new, old):
        shutil.copytree(site, new)
        durable.sync_tree(new)
        if out.exists():
            out.rename(old)
        new.rename(out)
        durable.sync(out.parent)


@contextlib.contextmanager
def _taken(out: Path) -> Iterator[tuple[Path, Path]]:
    """Keep other builds from this place, and leave a site there and nothing beside it, however this ends."""
    new, old, lock = (out.with_name(f".{out.name}.{word}{durable.PART}") for word in ("new", "old", "lock"))
    with locked(lock, "build", wait=True):
        try:
            _settle(out, new, old)
            yield new, old
        finally:
            _settle(out, new, old)
            with contextlib.suppress(OSError):  # Windows keeps what is open
                lock.unlink()


def _settle(out: Path, new: Path, old: Path) -> None:
    """Leave one site. What has the name of the old one is whole: it is removed under that of the new one."""
    if old.exists() and not out.exists():
        old.rename(out)
        durable.sync(out.parent)
    shutil.rmtree(new, ignore_errors=True)
    if old.exists():
        old.rename(new)
        shutil.rmtree(new, ignore_errors=True)


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
