"""One process at a time in a folder."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from ettr.core.errors import InputError


@contextlib.contextmanager
def locked(path: Path, what: str, wait: bool = False) -> Iterator[None]:
    """Let one process at a time work beside this file; the lock ends with the process that holds it.

    Parameters
    ----------
    path : Path
        The file; its folder is made.
    what : str
        What works there, for the error.
    wait : bool
        Wait for the other process instead of refusing.

    Raises
    ------
    InputError
        If the folder cannot be written, or another process is at work there and is not waited for.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("w")
    except OSError as error:
        raise InputError(f"cannot write to {path.parent}: {error.strerror or error}") from error
    with file:
        try:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except ImportError:  # Windows has no such lock, and work there goes unguarded
            pass
        except OSError as error:
            raise InputError(f"another {what} is at work in {path.parent}") from error
        yield
