"""Records of JSON: an array of objects, an object that contains one, or a sequence of objects."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator
from typing import Any, BinaryIO

import ijson

from ettr.core.errors import InputError
from ettr.files.ledger import Ledger
from ettr.files.opening import Source
from ettr.files.tables import first_line

_MOST_TOKENS = 200_000
_BLOCK = 4096
"""Bytes per call of the parser, whose paths grow with each nested level of a block."""
_LONGEST_NUMBER = 64
_MOST_LEVELS = 500
_NOT_A_NUMBER = re.compile(rb"([:\[,]\s*)-?(?:NaN|Infinity)\b")
_NEXT_OBJECT = re.compile(rb"\}\s*\{")
_BROKEN = (ijson.JSONError, ValueError, RecursionError, ArithmeticError)


def json_records(source: Source, ledger: Ledger, array: str = "") -> tuple[Iterator[tuple[int, Any]], str]:
    """Return the records of a JSON file: those of its first array of objects, or a sequence of objects.

    Parameters
    ----------
    source : Source
        The file.
    ledger : Ledger
        Records invalid JSON.
    array : str
        Member with the array, if the format has one name for it; else the first array of objects.

    Returns
    -------
    tuple of iterator and str
        The records with their numbers, and the unit of the number: ``line`` or ``record``.
    """
    first = first_line(source.head()).strip()
    try:
        record = json.loads(first)
    except (ValueError, RecursionError):
        record = None
        n_levels = sum(map(first.count, "[{")) - sum(map(first.count, "]}"))
        if n_levels > _MOST_LEVELS:  # the paths of the streaming parser would fill the memory
            raise InputError(
                f"{source.name} must be JSON of at most {_MOST_LEVELS} nested levels, but its first line opens "
                f"{n_levels:,}: write it flatter"
            ) from None
    if isinstance(record, dict) and not any(
        isinstance(value, list) and value and isinstance(value[0], dict) and array in ("", name)
        for name, value in record.items()
    ):
        return _by_line(source, ledger), "line"
    prefix = "item" if first.startswith("[") else _array_prefix(source, ledger, array)
    return _by_item(source, prefix, ledger), "record"


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
            text = _NullForNaN(stream)
            items = ijson.items(text, prefix, multiple_values=True, use_float=True)
            for number, item in enumerate(items, 1):
                yield number, item
            if text.several and prefix not in ("", "item"):
                _count_outside(source, prefix.removesuffix(".item"), ledger)
        except InputError:
            raise  # InputError is a ValueError too
        except _BROKEN as error:
            ledger.not_parsed("broken JSON: the rest could not be read", place=f"after record {number:,}")
            why = str(error).strip().partition("\n")[0][:100] or type(error).__name__
            ledger.doubt(f"the JSON is broken after record {number:,}, and the rest is lost: {why}")


class _NullForNaN:
    """A stream of JSON with null for NaN and Infinity, which many programs write against the standard."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream, self._rest = stream, b""
        self.several = False  # whether an object probably follows another, which is certain only after parsing

    def read(self, size: int = -1) -> bytes:
        """Return some of the bytes, none at the end."""
        block = self._stream.read(size)
        text = self._rest + block
        # values follow one of these signs: text after the last sign waits for the rest of its value
        last = max(text.rfind(sign, -_LONGEST_NUMBER) for sign in (b":", b",", b"["))
        cut = last if block and last > 0 else len(text)
        text, self._rest = text[:cut], text[cut:]
        if b"NaN" in text or b"Infinity" in text:
            text = _NOT_A_NUMBER.sub(rb"\1null", text)
        self.several = self.several or _NEXT_OBJECT.search(text) is not None
        return text if text or not block else self.read(size)


def _count_outside(source: Source, array: str, ledger: Ledger) -> None:
    """Record the objects of a sequence that lack the array from which the records come."""
    n = 0
    with source.utf8(Ledger()) as stream:
        for path, token, _ in ijson.parse(_NullForNaN(stream), multiple_values=True):
            n += (path == "" and token == "start_map") - (path == array and token == "start_array")
    if n > 0:
        ledger.not_parsed(f"object without the array {array}", n)
        ledger.doubt(
            f"{n:,} objects without the array {array} are not read: give them as a file of their own ({source.name})"
        )


def _array_prefix(source: Source, ledger: Ledger, array: str) -> str:
    """Path of the first array of objects, or of that name; empty for a sequence of objects."""
    with source.utf8(ledger) as stream:
        try:
            before = ""
            tokens = ijson.parse(stream, multiple_values=True, buf_size=_BLOCK)
            for prefix, token, _ in itertools.islice(tokens, _MOST_TOKENS):
                if before and token == "start_map" and array in ("", before):
                    return f"{before}.item"
                before = prefix if token == "start_array" else ""
        except InputError:
            raise
        except _BROKEN:
            pass
    return ""
