"""Files that commands write: checked before long work, and replaced atomically."""

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
    """Refuse a file that cannot be written, or whose ending is not the one by which it is read again."""
    if path.suffix not in (".yml", ".yaml"):
        raise InputError(f"{option} must end in .yml, the ending of a {kind} file, got {path}")
    check_file(path)


def check_page(option: str, path: Path) -> None:
    """Refuse a file that cannot be written, or that does not end as a web page does."""
    if path.suffix.lower() not in (".html", ".htm"):
        way_out = f"write {path.with_suffix('.html')}" + (
            " and print it to PDF in a browser" if path.suffix.lower() == ".pdf" else ""
        )
        raise InputError(f"{option} must end in .html, got {path}: {way_out}")
    check_file(path)


def check_recording(path: Path) -> None:
    """Refuse a file that a recording cannot be written to."""
    if path.exists():
        raise InputError(f"--out must be a new file, got {path}: recordings are never overwritten")
    check_file(path)


@contextmanager
def written(path: Path | None, text: Callable[[], str], note: Note, as_json: bool) -> Iterator[None]:
    """Write a file, let the answer be shown, and note below it where the file is, or raise why it was not written.

    The file comes first, since the reader of the answer may close the pipe.
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
