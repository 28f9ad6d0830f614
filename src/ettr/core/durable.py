"""Files that are whole or not there: after a kill, a full disk, or a power cut."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator
from pathlib import Path

PART = ".ettr-part"
"""The end of the name of a file that is not whole yet."""


def sync(path: Path) -> None:
    """Wait until a disk holds the content of a file, or the names in a folder.

    Raises
    ------
    OSError
        It cannot be read, or the disk did not take it.
    """
    if os.name == "nt" and path.is_dir():  # Windows opens no folder, and keeps names itself
        return
    handle = os.open(path, os.O_RDONLY if os.name != "nt" else os.O_RDWR)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP) or not path.is_dir():  # some file systems sync no folder
            raise
    finally:
        os.close(handle)


def sync_tree(folder: Path) -> None:
    """Wait until a disk holds all of a folder."""
    for place, _, names in os.walk(folder):
        for name in names:
            sync(Path(place, name))
        sync(Path(place))


def make_folder(path: Path) -> None:
    """Make a folder with those above it, and wait until a disk holds their names."""
    made = [folder for folder in path.parents if not folder.exists()]
    path.mkdir(parents=True, exist_ok=True)
    for folder in [path, *made]:
        with contextlib.suppress(PermissionError):  # of a folder that others own, and whose names it does not show
            sync(folder.parent)


def move(source: Path, target: Path) -> None:
    """Give a file that a disk holds another name, in place of what has it, and wait until the disk holds that too."""
    sync(source)
    os.replace(source, target)
    sync(target.parent)


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A place beside a file at which to write it.

    What is written there takes the place of the file when it is whole and on disk; an error leaves what was there.
    """
    part = path.with_name(f".{path.name}.{os.getpid()}{PART}")
    try:
        yield part
        move(part, path)
    finally:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)


def write(path: Path, text: str) -> None:
    """Write a file, whole or not at all."""
    with replacing(path) as part:
        part.write_text(text, encoding="utf-8")
