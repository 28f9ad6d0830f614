"""Opening untrusted text files, plain, gzip or xz, as streams."""

from __future__ import annotations

import codecs
import contextlib
import gzip
import io
import lzma
import re
import shutil
import sys
import weakref
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ettr.core import durable
from ettr.core.errors import InputError

if TYPE_CHECKING:
    from ettr.files.ledger import Ledger

Progress = Callable[[int, int], None]
"""Called with the bytes read so far and the size of the file."""

Lines = Iterator[tuple[int, str]]
"""Line number from 1, and the line without its end."""

STDIN = "-"
_COPIES: weakref.WeakKeyDictionary[Any, _Copy] = weakref.WeakKeyDictionary()
"""Copies of standard input, so that it can be read again for another format."""
HEAD_LINES = 2_000
HEAD_WIDTH = 10_000

_BLOCK = 1 << 18
_HEAD_BYTES = 1 << 20
_CONTROL_SHARE = 0.05
_FEW_CONTROL = 16
_CONTROL = bytes(set(range(1, 32)) - set(b"\t\n\v\f\r\x1b")) + b"\x7f"

_FOREIGN = {
    b"PK\x03\x04": "a zip archive or a spreadsheet: extract the file, or save the sheet as CSV",
    b"PAR1": "Parquet: read it with pandas; for failures use ettr.logs.from_frame",
    b"\x7fELF": "a program",
    b"BZh": "bzip2: decompress it first",
    b"\x28\xb5\x2f\xfd": "Zstandard: decompress it first",
    b"SQLite format 3\x00": "a SQLite database: export the table as CSV",
    b"\xd0\xcf\x11\xe0": "an old spreadsheet or document: save the sheet as CSV",
    b"LPKSHHRH": "a binary journal: export it with `journalctl -o short-iso`",
}
_IN_HEX = "ettr-in-hex"
_HEX, _HEX_BYTES = re.compile(r"<[0-9a-f]{2}>"), re.compile(rb"<[0-9a-f]{2}>")
_NOT_UTF8 = "bytes that are not UTF-8, shown as numbers such as <e9>; set another encoding with `encoding`"
_BROKEN = (OSError, zlib.error, lzma.LZMAError)
_BOM = b"\xef\xbb\xbf"


def _decoded(block: list[bytes], first: int, repaired: dict[str, list[int]]) -> list[str]:
    """Lines without their ends: all at once, or one by one with notes on those that need a repair."""
    content = b"".join(block)
    if b"\0" not in content:
        with contextlib.suppress(UnicodeDecodeError):
            lines = content.decode().replace("\r\n", "\n").split("\n")[: len(block)]
            lines[-1] = lines[-1].removesuffix("\r")
            return lines
    return [_repaired(raw, number, repaired) for number, raw in enumerate(block, first)]


def _repaired(raw: bytes, number: int, repaired: dict[str, list[int]]) -> str:
    """One line without its end, NUL bytes, and bytes that are not UTF-8."""
    content = raw
    if b"\0" in content:
        content = content.replace(b"\0", b"")
        repaired.setdefault("NUL bytes, which were removed", []).append(number)
    content = content.removesuffix(b"\n").removesuffix(b"\r")
    try:
        return content.decode()
    except UnicodeDecodeError:
        repaired.setdefault(_NOT_UTF8, []).append(number)
        return content.decode(errors=_IN_HEX)


class Source:
    """One file, opened again for every pass.

    Parameters
    ----------
    path : str or path
        Plain text, gzip or xz, recognised by their first bytes; ``-`` is standard input.
    progress : callable or None
        Called with the bytes read so far and the size of the file.
    kind : str
        Kind of file, for messages.
    encoding : str or None
        Encoding by its Python name; UTF-8 if not given, or UTF-16 after its byte-order mark.

    Attributes
    ----------
    path : Path
        Path of the file.
    name : str
        Name of the file, for messages.
    size_bytes : int
        Size on disk.
    cut : str
        Reason why the file ended early, e.g. a truncated gzip; empty if it did not.

    Raises
    ------
    InputError
        The file is missing, unreadable, empty or not text; or damaged, while it is read.
    """

    def __init__(
        self, path: str | Path, progress: Progress | None = None, kind: str = "log", encoding: str | None = None
    ) -> None:
        self.path = Path(path)
        self.name = self.path.name
        self.cut = ""
        self.size_bytes, self._start = 0, b""
        self._progress, self._kind, self._encoding = progress, kind, _checked_encoding(encoding)
        if str(path) == STDIN:
            self._copy = _copied_stdin(kind)
            self.path, self.name = self._copy.path, "standard input"
        self._begin()
        if self._encoding is None and self._start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            self._encoding = "utf-16"
        if self._encoding is not None:
            with self._open(None) as stream:
                self._start = stream.read(_HEAD_BYTES)
        self._refuse_foreign()

    def _begin(self) -> None:
        """Read the first bytes."""
        kind = self._kind
        try:
            if not self.path.is_file():
                problem = "is a folder" if self.path.is_dir() else "does not exist"
                if self.path.exists() and not self.path.is_dir():
                    problem = f"is a pipe or device: pipe it in, and give {STDIN} for the file"
                raise InputError(f"cannot read the {kind}: {str(self.path)!r} {problem}")
            self.size_bytes = self.path.stat().st_size
            with self.path.open("rb") as file:
                self._magic = file.read(6)
        except (OSError, ValueError) as error:
            if isinstance(error, InputError):
                raise
            reason = getattr(error, "strerror", None) or error
            raise InputError(f"the {kind} {str(self.path)!r} cannot be read: {reason}") from error
        if not self.size_bytes:
            raise InputError(f"the {kind} must not be empty; {self.path} is empty")
        with self._decompressed(None) as stream:
            self._start = stream.read(_HEAD_BYTES)

    def head(self) -> list[str]:
        """Return the first lines, shortened and without line ends, to detect the format.

        Returns
        -------
        list of str
            At most 2,000 lines of at most 10,000 characters.
        """
        text = self._start.removeprefix(_BOM).replace(b"\0", b"").decode("utf-8", "replace")
        return [line.rstrip("\r")[:HEAD_WIDTH] for line in text.split("\n", HEAD_LINES)[:HEAD_LINES]]

    def binary(self) -> io.BufferedReader:
        """Open the decompressed bytes as a stream.

        A truncated compressed file ends there, with the reason in ``cut``.

        Returns
        -------
        BufferedReader
            To be closed by the caller.
        """
        return self._open(self._progress)

    def utf8(self, ledger: Ledger) -> io.BufferedReader:
        """Open the decompressed bytes, made valid UTF-8 without NUL bytes, as a stream for a parser.

        Parameters
        ----------
        ledger : Ledger
            Takes a note if bytes were replaced.

        Returns
        -------
        BufferedReader
            To be closed by the caller.
        """
        return io.BufferedReader(_Utf8(self.binary(), "utf-8-sig", ledger), _BLOCK)

    def lines(self, ledger: Ledger) -> Lines:
        """Yield every line with its number, decoded.

        Bytes that are not UTF-8 are replaced and NUL bytes removed, with a note that counts their lines.

        Parameters
        ----------
        ledger : Ledger
            Takes the counts.

        Yields
        ------
        tuple of int and str
            Line number from 1, and the line without its end.
        """
        repaired: dict[str, list[int]] = {}
        try:
            number = 1
            with self.binary() as stream:
                while block := stream.readlines(_BLOCK):
                    block[0] = block[0].removeprefix(_BOM) if number == 1 else block[0]
                    yield from enumerate(_decoded(block, number, repaired), number)
                    number += len(block)
        finally:
            for problem, numbers in repaired.items():
                lines = "line" if len(numbers) == 1 else "lines"
                ledger.note(f"{len(numbers):,} {lines} had {problem} (the first: line {numbers[0]:,})")

    def records(self, ledger: Ledger) -> Iterator[tuple[str, str]]:
        """Yield every line that is not blank, with its place, e.g. ``line 7``."""
        for number, line in self.lines(ledger):
            if line and not line.isspace():
                yield f"line {number:,}", line

    def _open(self, progress: Progress | None) -> io.BufferedReader:
        stream = self._decompressed(progress)
        if self._encoding is None:
            return stream
        return io.BufferedReader(_Utf8(stream, self._encoding), _BLOCK)

    def _decompressed(self, progress: Progress | None) -> io.BufferedReader:
        counted = _Counted(self.path, self.size_bytes, progress)
        file: io.BufferedReader = io.BufferedReader(counted, _BLOCK)
        if self._magic.startswith(b"\x1f\x8b"):
            inner: Any = gzip.GzipFile(fileobj=file)
        elif self._magic.startswith(b"\xfd7zXZ\x00"):
            inner = lzma.LZMAFile(file)  # noqa: SIM115 (closed by _Tolerant)
        else:
            return file
        return io.BufferedReader(_Tolerant(inner, file, counted, self), _BLOCK)

    def _refuse_foreign(self) -> None:
        start = self._start
        if not start:
            raise InputError(
                f"the {self._kind} must not be empty; {self.name} {self.cut or 'is empty after decompression'}"
            )
        if start[:1] == b"\x80" and start[1:2] in (b"\x02", b"\x03", b"\x04", b"\x05"):
            raise InputError(
                f"{self.name} is a Python pickle, which is never loaded because it may run any program: write it as "
                "CSV or JSON"
            )
        for magic, remedy in _FOREIGN.items():
            if start.startswith(magic):
                raise InputError(f"a {self._kind} must be UTF-8 text, plain or as .gz or .xz; {self.name} is {remedy}")
        if start[257:262] == b"ustar":
            raise InputError(f"{self.name} is an archive: extract the file (tar -xf {self.name})")
        if start[:2] in (b"\x1f\x8b", b"\xfd7"):
            raise InputError(f"{self.name} is compressed twice: decompress it once")
        text = start.replace(b"\0", b"")
        if len(start) >= 8 and 0.4 < 1 - len(text) / len(start) < 0.6:
            raise InputError(f'{self.name} looks like UTF-16: give `encoding="utf-16-le"` or `encoding="utf-16-be"`')
        if b"\n" not in text and b"\r" in text.rstrip(b"\r"):
            raise InputError(
                f"lines must end with a line feed; {self.name} has only carriage returns: convert it with "
                "`tr '\\r' '\\n'`"
            )
        n_control = len(text) - len(text.translate(None, _CONTROL))
        if n_control > max(_FEW_CONTROL, _CONTROL_SHARE * len(text)):
            raise InputError(
                f"a {self._kind} must be text; {n_control / len(text):.0%} of the first {len(text):,} bytes of "
                f"{self.name} are control bytes"
            )


def _copied_stdin(kind: str) -> _Copy:
    """Copy standard input, once, to a temporary file that lasts as long as the returned object."""
    if sys.stdin is None or sys.stdin.isatty():
        raise InputError(f"the {kind} {STDIN!r} is standard input, but nothing is piped into it: give a file")
    if sys.stdin in _COPIES:
        return _COPIES[sys.stdin]
    copy = _Copy()
    with copy.path.open("wb") as file:
        shutil.copyfileobj(sys.stdin.buffer, file)
        if not file.tell():
            raise InputError(f"the {kind} must not be empty; standard input is empty")
    _COPIES[sys.stdin] = copy
    return copy


class _Copy:
    """File in a temporary folder that lasts as long as this object."""

    def __init__(self) -> None:
        stack = contextlib.ExitStack()
        self.path = stack.enter_context(durable.temporary_folder()) / "stdin"
        weakref.finalize(self, stack.close)


def _checked_encoding(name: str | None) -> str | None:
    """The Python name of an encoding; None for UTF-8, the default."""
    try:
        codec = codecs.lookup(name).name if name else "utf-8"
        codecs.getincrementaldecoder(codec)
    except LookupError as error:
        raise InputError(
            f"`encoding` must be an encoding of Python, such as latin-1, cp1252, utf-16 or shift_jis, got {name!r}"
        ) from error
    return None if codec in ("utf-8", "utf-8-sig", "ascii") else codec


def _in_hex(error: UnicodeError) -> tuple[str, int]:
    """Replace bytes that cannot be decoded by their numbers, so that different names stay different."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return "".join(f"<{byte:02x}>" for byte in error.object[error.start : error.end]), error.end


codecs.register_error(_IN_HEX, _in_hex)


class _Layer(io.RawIOBase):
    """A stream on top of others, which are closed with it."""

    def __init__(self, *below: Any) -> None:
        self._below = below

    def readable(self) -> bool:
        return True

    def close(self) -> None:
        for stream in self._below:
            stream.close()
        super().close()


class _Utf8(_Layer):
    """A stream of any encoding as valid UTF-8; with a ledger also without NUL bytes, for a strict parser."""

    def __init__(self, inner: io.BufferedReader, encoding: str, ledger: Ledger | None = None) -> None:
        super().__init__(inner)
        self._inner, self._ledger = inner, ledger
        self._decoder = codecs.getincrementaldecoder(encoding)(_IN_HEX)
        self._rest = b""

    def readinto(self, buffer: Any) -> int:
        block = b"start"
        while not self._rest and block:
            block = self._inner.read1(_BLOCK)
            text = self._decoder.decode(block, final=not block)
            if self._ledger is not None:
                text = self._repaired(text, block, self._ledger)
            self._rest = text.encode()
        n = min(len(buffer), len(self._rest))
        buffer[:n], self._rest = self._rest[:n], self._rest[n:]
        return n

    @staticmethod
    def _repaired(text: str, block: bytes, ledger: Ledger) -> str:
        if "\0" in text:
            ledger.note("NUL bytes were removed")
            text = text.replace("\0", "")
        if "<" in text and len(_HEX.findall(text)) > len(_HEX_BYTES.findall(block)):
            ledger.note(f"the file had {_NOT_UTF8}")
        return text


class _Counted(io.FileIO):
    """The file on disk, with progress reports."""

    def __init__(self, path: Path, size_bytes: int, progress: Progress | None) -> None:
        super().__init__(path)
        self._size, self._progress = size_bytes, progress
        self.n_read = 0
        self._reported = 0

    def readinto(self, buffer: Any) -> int | None:
        n = super().readinto(buffer)
        self.n_read += n or 0
        if self._progress and (self.n_read - self._reported >= _HEAD_BYTES or not n):
            self._reported = self.n_read
            self._progress(self.n_read, max(self._size, self.n_read))
        return n


class _Tolerant(_Layer):
    """A decompressed stream that ends where its file is truncated; a damaged file is refused."""

    def __init__(self, inner: Any, file: io.BufferedReader, counted: _Counted, source: Source) -> None:
        super().__init__(inner, file)
        self._inner, self._counted, self._source = inner, counted, source

    def readinto(self, buffer: Any) -> int:
        try:
            # read1 returns the data so far; read would lose it if the next block is broken
            data = self._inner.read1(len(buffer))
        except EOFError:
            self._source.cut = f"ends too early: only the data before byte {self._counted.n_read:,} could be read"
            return 0
        except _BROKEN as error:
            # the data decompressed so far failed its checksum
            raise InputError(
                f"{self._source.name} is damaged at byte {self._counted.n_read:,} or before, and only truncated files "
                f"can be read in part: copy it again ({error})"
            ) from error
        buffer[: len(data)] = data
        return len(data)
