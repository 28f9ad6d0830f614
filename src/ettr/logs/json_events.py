"""JSON in which the start and the end of an outage are two records, or one."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, BinaryIO

import ijson

from ettr.core.errors import InputError
from ettr.core.results import LOG_COLUMNS
from ettr.files.formats import Format
from ettr.files.ledger import Ledger
from ettr.files.opening import Source
from ettr.files.tables import first_line
from ettr.logs.columns import origins
from ettr.logs.meaning import Meaning, find_meaning
from ettr.logs.options import Options
from ettr.logs.raw_failures import Events, Exposure
from ettr.logs.records import take_records
from ettr.logs.rows import Batch

MOST_VALUES = 50
"""A member with more different texts than this is no cohort to split by."""

_MOST_COHORTS = 12
_BATCH = 20_000
_MOST_TOKENS = 200_000
_BLOCK = 4096
"""Bytes given to the parser at once: its paths grow with each nested level of a block."""
_LONGEST_NUMBER = 64
_NOT_A_NUMBER = re.compile(rb"([:\[,]\s*)-?(?:NaN|Infinity)\b")
_BROKEN = (ijson.JSONError, ValueError, RecursionError, OverflowError)
_Batch = list[tuple[int, dict[str, Any]]]


def sniff(head: list[str]) -> bool:
    """Whether the text begins as JSON does."""
    text = "".join(head).lstrip()
    return text[:1] == "{" or (text[:1] == "[" and text[1:].lstrip()[:1] in ("{", "]", ""))


def read(source: Source, options: Options, events: Events, ledger: Ledger) -> Exposure:
    """Read start and end events, or outages that hold both.

    Parameters
    ----------
    source : Source
        A JSON array of objects, an object that holds one, or objects one after the other.
    options : Options
        What the user knows.
    events : Events
        Filled with the failures.
    ledger : Ledger
        Takes the rest.

    Returns
    -------
    Exposure
        Nothing: such a log does not speak of healthy nodes.

    Raises
    ------
    InputError
        No object, or none that says when a failure began.
    """
    records, word = _records(source, ledger)
    batches = iter(lambda: list(itertools.islice(records, _BATCH)), [])
    head = next(batches, [])
    if not head:
        if ledger.total():
            raise InputError(f"{source.name} must hold JSON objects; none could be read")
        return Exposure()
    members = list(dict.fromkeys(name for _, record in head for name in record))
    first = _batch(head, members)
    meaning = find_meaning(first, members, options, ledger, source.name)
    cohorts = _cohorts(members, head, meaning)
    ledger.note(origins("members", meaning.columns, members, [*meaning.deciding, *cohorts.values()]), first=True)
    with_cohorts = replace(meaning, columns=meaning.columns | {name: (member,) for name, member in cohorts.items()})
    rest = (_batch(batch, members) for batch in batches)
    take_records(itertools.chain([first], rest), with_cohorts, options, events, ledger, word)
    for name in cohorts:
        if events.n_different(name) > MOST_VALUES:
            events.forget(name)
    return Exposure()


def _batch(records: _Batch, members: Sequence[str]) -> Batch:
    columns = {name: [_text(record.get(name)) for _, record in records] for name in members}
    return Batch(columns, [number for number, _ in records], [_digest(record) for _, record in records])


def _digest(record: dict[str, Any]) -> int:
    try:
        return hash(tuple(record.items()))
    except TypeError:  # a member that is a list
        return hash(repr(record))


def _cohorts(members: Sequence[str], head: _Batch, meaning: Meaning) -> dict[str, str]:
    """Members with few different texts, which a log can be split by, with a name each."""
    taken = {name for names in meaning.columns.values() for name in names} | set(meaning.deciding)
    cohorts: dict[str, str] = {}
    for member in members:
        values = {value for _, record in head if isinstance(value := record.get(member), str)}
        if member not in taken and 0 < len(values) <= MOST_VALUES and len(cohorts) < _MOST_COHORTS:
            name = member.rpartition(".")[2] or member
            is_taken = name in {*LOG_COLUMNS, "duration", "event", *meaning.columns, *cohorts}
            cohorts[f"{member} (file)" if is_taken else name] = member
    return cohorts


def _records(source: Source, ledger: Ledger) -> tuple[Iterator[tuple[int, dict[str, Any]]], str]:
    """Objects with their number, and what the number counts."""
    first = first_line(source.head()).strip()
    try:
        whole = json.loads(first)
    except (ValueError, RecursionError):
        whole = None
    if isinstance(whole, dict) and not any(_is_records(value) for value in whole.values()):
        return _flat(_by_line(source, ledger), ledger, "line"), "line"
    prefix = "item" if first.startswith("[") else _array_prefix(source, ledger)
    return _flat(_by_item(source, prefix, ledger), ledger, "record"), "record"


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
            items = ijson.items(_NullForNaN(stream), prefix, multiple_values=True, use_float=True)
            for number, item in enumerate(items, 1):
                yield number, item
        except InputError:
            raise  # a ValueError too
        except _BROKEN as error:
            ledger.not_parsed("broken JSON: what follows could not be read", place=f"after record {number:,}")
            ledger.doubt(f"the JSON breaks after record {number:,}, and what follows is lost: {_first_line(error)}")


class _NullForNaN:
    """A stream of JSON with null for NaN and Infinity, which many programs write, and no standard allows."""

    def __init__(self, stream: BinaryIO) -> None:
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
            tokens = ijson.parse(stream, multiple_values=True, buf_size=_BLOCK)
            for prefix, token, _ in itertools.islice(tokens, _MOST_TOKENS):
                if before and token == "start_map":
                    return f"{before}.item"
                before = prefix if token == "start_array" else ""
        except InputError:
            raise
        except _BROKEN:
            pass
    return ""


def _flat(items: Iterator[tuple[int, Any]], ledger: Ledger, word: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Members of members as ``outer.inner``, one level deep."""
    for number, item in items:
        if not isinstance(item, dict):
            ledger.not_parsed("no object", place=f"{word} {number:,}")
            continue
        flat: dict[str, Any] = {}
        for name, value in item.items():
            if isinstance(value, dict):
                flat |= {f"{name}.{inner}": deep for inner, deep in value.items()}
            else:
                flat[name] = value
        yield number, flat


def _text(value: Any) -> str:
    """A member as text; nothing for what is no single value."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "replace").decode()
    if value is None or isinstance(value, dict | list):
        return ""
    return repr(value)[:100]


def _first_line(error: BaseException) -> str:
    return str(error).strip().split("\n", maxsplit=1)[0][:100] or type(error).__name__


FORMAT = Format("events", "JSON records of starts and ends of outages, or of both", sniff, read)
