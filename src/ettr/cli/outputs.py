"""Files that the command line names for output: checked before long work, and replaced as a whole."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from ettr.cli import terminal
from ettr.core import durable
from ettr.core.errors import InputError
from ettr.core.report import Note


def check_file(path: Path) -> None:
    """Refuse a file that cannot be written."""
    with _refusing(path):
        durable.check(path)


def check_yaml(option: str, path: Path, kind: str) -> None:
    """Refuse a file that cannot be written, or not be read again by its name."""
    if path.suffix not in (".yml", ".yaml"):
        raise InputError(f"{option} must end in .yml, so that it is read as a {kind}, got {path}")
    check_file(path)


def check_recording(path: Path) -> None:
    """Refuse a file that a recording cannot be written to."""
    if path.exists():
        raise InputError(f"--out must be a file that is not there yet, got {path}: a recording is not written over")
    check_file(path)


@contextmanager
def written(path: Path | None, text: Callable[[], str], note: Note, as_json: bool) -> Iterator[None]:
    """Write a file, then let the answer be shown, and say below it where the file is, or why it could not be written.

    The file comes first, as whoever reads the answer may close the pipe.
    """
    if path is None:
        yield
        return
    content, failure = text(), None
    try:
        with _refusing(path):
            durable.write(path, content)
    except InputError as error:
        failure = error
    yield
    if failure is not None:
        raise failure
    if not as_json:
        terminal.render([note])


@contextmanager
def _refusing(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror or error}") from error
