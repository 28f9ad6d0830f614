"""What is no plain file made one, to be read twice: standard input, and the one file in an archive."""

from __future__ import annotations

import shutil
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any
from weakref import WeakKeyDictionary

from ettr.core.errors import InputError

STDIN = "-"
_SHOWN = 6
_TAR_MAGIC = slice(257, 262)
_COPIES: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()
"""What was read from each standard input: a second look at it, for another format, finds the same."""
MOST_UNPACKED, _MOST_TIMES = 1 << 27, 300
"""Bytes from which on a packed file may not be so many times as large unpacked."""
ZIP_MAGIC = b"PK\x03\x04"


def spooled_stdin(kind: str) -> Any:
    """Copy standard input, once, to a temporary file, which is there as long as the object that is returned.

    Raises
    ------
    InputError
        Nobody pipes anything in, or nothing comes.
    """
    if sys.stdin is None or sys.stdin.isatty():
        raise InputError(f"the {kind} {STDIN!r} is standard input, and nothing is piped into it: give a file")
    if sys.stdin in _COPIES:
        return _COPIES[sys.stdin]
    copy = tempfile.NamedTemporaryFile(prefix="ettr-")  # noqa: SIM115 (lives as long as its Source)
    shutil.copyfileobj(sys.stdin.buffer, copy)
    copy.flush()
    if not copy.tell():
        raise InputError(f"the {kind} must hold something; standard input ended at once")
    _COPIES[sys.stdin] = copy
    return copy


def is_archive(start: bytes) -> bool:
    """Whether some first bytes, decompressed, are those of a tar or zip archive."""
    return start[_TAR_MAGIC] == b"ustar" or start.startswith(ZIP_MAGIC)


def spooled_member(stream: IO[bytes], start: bytes, name: str, kind: str) -> Any:
    """Copy the one file in an archive to a temporary file, which is there as long as the object that is returned.

    Parameters
    ----------
    stream : file
        The archive, decompressed.
    start : bytes
        Its first bytes.
    name : str
        The file, for messages.
    kind : str
        What the file is to its reader, for messages.

    Raises
    ------
    InputError
        An archive of no file or of several, or a broken one.
    """
    copy = tempfile.NamedTemporaryFile(prefix="ettr-")  # noqa: SIM115 (lives as long as its Source)
    try:
        _fill(copy, stream, name, kind, start.startswith(ZIP_MAGIC))
    except BaseException:
        copy.close()
        raise
    return copy


def _fill(copy: Any, stream: IO[bytes], name: str, kind: str, is_zip: bool) -> None:
    """Copy the one file in an archive."""
    names: list[str] = []
    try:
        for member, size, content in (_zipped if is_zip else _tarred)(stream, name):
            if not names:
                shutil.copyfileobj(content, copy)
                if copy.tell() != size:
                    raise EOFError(f"{member} ends too early")
            names.append(member)
    except InputError:
        raise
    except Exception as error:  # the readers of archives have one for each way in which they break
        raise InputError(f"{name} is a damaged archive, or one that needs a password: {error}") from error
    if "xl/workbook.xml" in names:
        raise InputError(f"the {kind} must be text; {name} is a spreadsheet: save the sheet as CSV")
    if len(names) != 1:
        listed = ", ".join(names[:_SHOWN]) + (" ..." if len(names) > _SHOWN else "")
        unpack = f"unzip -p {name} NAME" if is_zip else f"tar -xOf {name} NAME"
        raise InputError(
            f"the {kind} must be one file; {name} is an archive of {len(names):,}"
            + (f" ({listed}). Take the one that is meant: `{unpack} | ettr ... {STDIN}`" if names else "")
        )
    copy.flush()


def refuse_bomb(name: str, n_unpacked: int, n_packed: int) -> None:
    """Refuse what unpacks to so much more than it is that nobody can have written it. [bytes]

    Raises
    ------
    InputError
        It does.
    """
    if n_unpacked > MOST_UNPACKED and n_unpacked > _MOST_TIMES * n_packed:
        raise InputError(
            f"{name} unpacks to more than {_MOST_TIMES} times its size, as no log does: unpack it first if it is one"
        )


def _tarred(stream: IO[bytes], name: str) -> Iterator[tuple[str, int, IO[bytes]]]:
    with tarfile.open(fileobj=stream, mode="r|") as archive:
        for member in archive:
            content = archive.extractfile(member) if member.isfile() else None
            if content is not None and not Path(member.name).name.startswith("._"):
                yield member.name, member.size, content


def _zipped(stream: IO[bytes], name: str) -> Iterator[tuple[str, int, IO[bytes]]]:
    with _seekable(stream) as whole, zipfile.ZipFile(whole) as archive:
        for member in archive.infolist():
            if not member.is_dir() and not member.filename.startswith("__MACOSX/"):
                refuse_bomb(name, member.file_size, member.compress_size)
                with archive.open(member) as content:
                    yield member.filename, member.file_size, content


@contextmanager
def _seekable(stream: IO[bytes]) -> Iterator[IO[bytes]]:
    """A copy of a stream that can be read from its end, where a zip archive has its list."""
    with tempfile.TemporaryFile(prefix="ettr-") as whole:
        shutil.copyfileobj(stream, whole)
        whole.seek(0)
        yield whole
