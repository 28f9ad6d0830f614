"""One process at a time in a folder."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

from ettr.core import durable
from ettr.core.errors import InputError


@contextlib.contextmanager
def locked(path: Path, what: str, wait: bool = False, on_wait: Callable[[], None] | None = None) -> Iterator[IO[str]]:
    """Let one process at a time work beside this file; the lock ends with the process that holds it.

    Whoever holds the lock may remove the file. A process that inherits it holds the lock too.

    Parameters
    ----------
    path : Path
        The file; its folder is made.
    what : str
        What works there, for the error.
    wait : bool
        Wait for the other process instead of refusing.
    on_wait : callable, optional
        Called before another process is waited for.

    Yields
    ------
    file
        The file, open.

    Raises
    ------
    InputError
        If the folder cannot be written, or another process is at work there and is not waited for.
    """
    while True:
        try:
            durable.make_folder(path.parent)
            file = path.open("w")
        except OSError as error:
            raise InputError(f"cannot write to {path.parent}: {error.strerror or error}") from error
        with file:
            try:
                _take(file, wait, on_wait)
            except BlockingIOError as error:
                raise InputError(f"another {what} is at work in {path.parent}") from error
            except OSError as error:
                raise InputError(f"cannot lock {path}: {error.strerror or error}") from error
            if _is_at(file, path):
                yield file
                return


def _take(file: IO[str], wait: bool, on_wait: Callable[[], None] | None) -> None:
    try:
        import fcntl
    except ImportError:  # Windows has no such lock, and work there goes unguarded
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        if not wait:
            raise
        if on_wait:
            on_wait()
        fcntl.flock(file, fcntl.LOCK_EX)


def _is_at(file: IO[str], path: Path) -> bool:
    """Whether the file has still its name, and not another one that was made when this one was removed."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False
