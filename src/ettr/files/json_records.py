"""Records of JSON: an array of objects, an object that holds one, or objects one after the other."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Protocol

import ijson

from ettr.core.errors import InputError
from ettr.files.ledger import Ledger
from ettr.files.opening import Source
from ettr.files.tables import first_line

_MOST_TOKENS = 200_000
_BLOCK = 4096
"""Bytes given to the parser at once: its paths grow with each nested level of a block."""
_LONGEST_NUMBER = 64
_LONGEST_RUN = 600
"""Digits in a row: with more the parser's own conversion ends the process."""
_DIGITS = bytes.maketrans(b"123456789", b"0" * 9)
MOST_LEVELS = 200
"""Lists and objects inside each other: the parser gives each of them a path as long as it is deep."""
_NOT_A_NUMBER = re.compile(rb"([:\[,]\s*)-?(?:NaN|Infinity)\b")
_BROKEN = (ijson.JSONError, ValueError, RecursionError, OverflowError)
_BROKEN_JSON = (ijson.JSONError, UnicodeDecodeError)


def json_records(source: Source, ledger: Ledger) -> tuple[Iterator[tuple[int, Any]], str]:
    """Yield the records of a file of JSON: of its first array of objects, or the objects that follow each other.

    Parameters
    ----------
    source : Source
        The file.
    ledger : Ledger
        Takes what is no JSON.

    Returns
    -------
    tuple of iterator and str
        Each record with its number, and what the number counts: ``line`` or ``record``.
    """
    first = first_line(source.head()).strip()
    try:
        whole = json.loads(first)
    except (ValueError, RecursionError):
        whole = None
    if isinstance(whole, dict) and not any(_is_records(value) for value in whole.values()):
        return _by_line(source, ledger), "line"
    prefix = "item" if first.startswith("[") else _array_prefix(source, ledger)
    return _by_item(source, prefix, ledger), "record"


def _is_records(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and isinstance(value[0], dict)


def _by_line(source: Source, ledger: Ledger) -> Iterator[tuple[int, Any]]:
    for number, line in source.lines(ledger):
        if line.strip():
            try:
                yield number, json.loads(line)
            except (ValueError, RecursionError):
                ledger.not_parsed("not JSON", place=f"line {number:,}")


def _by_item(source: Source, prefix: str, ledger: Ledger) -> Iterator[tuple[int, Any]]:
    number = 0
    with source.utf8(ledger) as stream:
        try:
            checked = _NullForNaN(CheckedJson(stream, source, ledger))
            items = ijson.items(checked, prefix, multiple_values=True, use_float=True)
            for number, item in enumerate(items, 1):
                yield number, item
        except InputError:
            raise  # a ValueError too
        except _BROKEN as error:
            ledger.not_parsed("broken JSON: what follows could not be read", place=f"after record {number:,}")
            ledger.doubt(f"the JSON breaks after record {number:,}, and what follows is lost: {_first_line(error)}")


class _Stream(Protocol):
    def read(self, size: int = -1, /) -> bytes: ...


class CheckedJson:
    """A stream of JSON that no parser chokes on: nothing nested too deeply, and no endless number.

    Parameters
    ----------
    stream : file
        The bytes.
    source : Source
        Where they come from, to be looked at once more where brackets seem to stay open.
    ledger : Ledger
        As for ``Source.utf8``.

    Raises
    ------
    InputError
        While it is read: one of both.
    """

    def __init__(self, stream: _Stream, source: Source, ledger: Ledger) -> None:
        self._stream, self._source, self._ledger = stream, source, ledger
        self._before, self._n_open, self._is_flat = b"", 0, False

    def read(self, size: int = -1) -> bytes:
        """Some of the bytes, none at the end."""
        block = self._stream.read(size)
        digits = (self._before + block).translate(_DIGITS)
        if b"0" * _LONGEST_RUN in digits:
            raise InputError(f"{self._source.name} holds a number of {_LONGEST_RUN} digits or more, which is not read")
        self._before = (self._before + block)[-_LONGEST_RUN:]
        self._n_open += block.count(b"[") + block.count(b"{") - block.count(b"]") - block.count(b"}")
        if self._n_open > MOST_LEVELS and not self._is_flat:
            self._is_flat = True  # texts hold brackets too, such as those of colours
            self._check_depth()
        return block

    def _check_depth(self) -> None:
        depth = 0
        with self._source.utf8(self._ledger) as stream, suppress(*_BROKEN_JSON):
            for event, _ in ijson.basic_parse(_NullForNaN(stream), multiple_values=True, use_float=True):
                depth += event.startswith("start") - event.startswith("end_")
                if depth > MOST_LEVELS:
                    break
        if depth > MOST_LEVELS:
            raise InputError(f"{self._source.name} is JSON nested more than {MOST_LEVELS} deep, which is not read")


class _NullForNaN:
    """A stream of JSON with null for NaN and Infinity, which many programs write, and no standard allows."""

    def __init__(self, stream: _Stream) -> None:
        self._stream, self._rest = stream, b""

    def read(self, size: int = -1) -> bytes:
        """Some of the bytes, none at the end."""
        block = self._stream.read(size)
        text = self._rest + block
        # a value stands behind one of these signs: what follows the last one waits for the rest of it
        last = max(text.rfind(sign, -_LONGEST_NUMBER) for sign in (b":", b",", b"["))
        cut = last if block and last > 0 else len(text)
        text, self._rest = text[:cut], text[cut:]
        if b"NaN" in text or b"Infinity" in text:
            text = _NOT_A_NUMBER.sub(rb"\1null", text)
        return text if text or not block else self.read(size)


def _array_prefix(source: Source, ledger: Ledger) -> str:
    """Where the first array of objects stands; nowhere if objects follow each other."""
    with source.utf8(ledger) as stream:
        try:
            before = ""
            tokens = ijson.parse(CheckedJson(stream, source, ledger), multiple_values=True, buf_size=_BLOCK)
            for prefix, token, _ in itertools.islice(tokens, _MOST_TOKENS):
                if before and token == "start_map":
                    return f"{before}.item"
                before = prefix if token == "start_array" else ""
        except InputError:
            raise
        except _BROKEN:
            pass
    return ""


def _first_line(error: BaseException) -> str:
    return str(error).strip().split("\n", maxsplit=1)[0][:100] or type(error).__name__
