"""JSON in which the start and the end of an outage are two records, or one."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import ijson
import numpy as np
import pandas as pd

from ettr.core.errors import InputError
from ettr.core.results import LOG_COLUMNS
from ettr.files.formats import Format
from ettr.files.ledger import Ledger
from ettr.files.opening import Source
from ettr.files.tables import first_line
from ettr.logs.columns import WORDS, find_columns, origins, plain_name
from ettr.logs.options import Options
from ettr.logs.raw_failures import MOST_CAUSES, OPEN, TEXTS, Events, Exposure
from ettr.logs.rows import PLANNED, Rows, TextColumns

MOST_VALUES = 50
"""A member with more different texts than this is no cohort to split by."""

_MOST_COHORTS = 12
_BATCH = 20_000
_SHARE_OF_EVENTS = 0.8
_SHARE_OF_BOTH = 0.5
"""More than this do, where both starts and ends are among them."""
_STATES = ("status", "state")
_MOST_TOKENS = 200_000
_KINDS = {
    1: """
        start started starts begin begins began open opened down fail fails failed failure fault raise raised firing
        onset drain draining drained maint""",
    -1: """
        end ended ends close closed up stop stopped recover recovered recovery resolve resolved clear cleared repair
        repaired restore restored finish finished idle alloc allocated mixed mix resume resumed""",
}
_KIND_OF = {word: kind for kind, words in _KINDS.items() for word in words.split()}
EVENT_WORDS = ("eventtype", "event", "action", "phase", "transition", "status", "state", "type", "kind")
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_BLOCK = 4096
"""Bytes given to the parser at once: its paths grow with each nested level of a block."""
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
    first = next(batches, [])
    if not first:
        if ledger.total():
            raise InputError(f"{source.name} must hold JSON objects; none could be read")
        return Exposure()
    members = list(dict.fromkeys(name for _, record in first for name in record))
    event = _event_member(members, first, options.columns)
    mapping = {**options.columns, "event": event} if event else options.columns
    columns = find_columns(members, mapping, source.name)
    cohorts = _Cohorts(members, first, columns)
    ledger.note(origins("members", columns, members, cohorts.members()))
    rows = Rows(options.clock(ledger), events, ledger, word)
    texts = (
        (
            {ours: [_text(record.get(theirs)) for _, record in batch] for ours, theirs in columns.items()}
            | cohorts.texts(batch),
            [number for number, _ in batch],
        )
        for batch in itertools.chain([first], batches)
    )
    take(texts, rows, events, ledger, word, event)
    cohorts.forget(events)
    return Exposure()


def take(
    batches: Iterable[tuple[TextColumns, Sequence[int]]],
    rows: Rows,
    events: Events,
    ledger: Ledger,
    word: str,
    event: str | None,
) -> None:
    """Hand over all records: each an outage, or, if a column ``event`` says which, its start or its end."""
    pairs = Pairs(rows, ledger, word, event) if event else None
    for columns, numbers in batches:
        (pairs or rows).take(columns, numbers)
    if pairs:
        pairs.join(events)


class Pairs:
    """Starts and ends, joined first in first out for each node and fault.

    Parameters
    ----------
    rows : Rows
        Reads their times.
    ledger : Ledger
        Takes what is no outage.
    word : str
        What a record is called in messages, e.g. ``line``.
    event : str
        The column that holds the words for start and end.
    """

    def __init__(self, rows: Rows, ledger: Ledger, word: str, event: str) -> None:
        self._rows, self._ledger, self._word = rows, ledger, word
        self._is_state = plain_name(event) in _STATES
        self._records = Events(ledger)
        self._known: dict[str, int] = {}

    def take(self, columns: TextColumns, numbers: Sequence[int]) -> None:
        """Read one batch; ``columns`` holds ``event`` and ``start``, as for ``Rows.take``."""
        kinds = np.array([_kind(text, self._known) for text in columns["event"]], dtype=np.int8)
        if not kinds.all():
            place = f"{self._word} {numbers[int(np.argmin(kinds != 0))]:,}"
            self._ledger.not_parsed("neither a start nor an end", int((kinds == 0).sum()), place)
        some = np.flatnonzero(kinds)
        chosen = {name: [texts[row] for row in some.tolist()] for name, texts in columns.items() if name != "event"}
        self._rows.take_halves(chosen, [numbers[row] for row in some.tolist()], kinds[some] < 0, self._records)

    def join(self, events: Events) -> None:
        """Hand over the outages."""
        frame = self._records.frame()
        self._records.note_others(frame)
        is_end = frame.pop("planned").to_numpy()
        start = frame["start"].to_numpy()
        codes = [frame[name].cat.codes.to_numpy() for name in TEXTS]
        if (codes[1][is_end] < 0).all() and (codes[2][is_end] < 0).all():
            codes = codes[:1]  # ends name no fault, so they close what is open on their node
        key = np.zeros(len(frame), dtype=np.int64)
        for code in codes:
            key = key * (int(code.max(initial=0)) + 2) + code + 1
        end, lonely = first_in_first_out(key, start, is_end)
        if self._is_state:  # one state of a healthy node follows another
            self._ledger.dropped("a node that was up, and still is", len(lonely), _first_stamp(frame, lonely))
        else:
            self._ledger.not_parsed("an end without a start", len(lonely), _first_stamp(frame, lonely))
        self._ledger.merged("the end of an outage, joined to its start", int(is_end.sum()) - len(lonely))
        still = int((end[~is_end] == OPEN).sum())
        if still:
            self._ledger.note(f"outages without an end in the log, taken as open: {still:,}")
        begun = frame[~is_end]
        texts = {name: begun[name].array for name in frame.columns if name not in ("start", "end")}
        planned = ~texts.pop(PLANNED).isna() if PLANNED in texts else None
        events.extend(start[~is_end], end[~is_end], texts, planned)


def first_in_first_out(key: np.ndarray, time: np.ndarray, is_end: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Join ends to starts of the same key, the oldest open start first.

    Parameters
    ----------
    key : ndarray of int64
        What is joined: a node and its fault. Shape (n,).
    time : ndarray of int64
        Shape (n,). [us]
    is_end : ndarray of bool
        Shape (n,).

    Returns
    -------
    tuple of ndarray
        The end of each start, ``OPEN`` where it has none, shape (n,) [us]; and the rows of ends that have no start.

    Examples
    --------
    >>> key, time = np.array([1, 1, 2, 1, 1]), np.array([10, 20, 21, 30, 40])
    >>> end, lonely = first_in_first_out(key, time, np.array([False, False, True, True, True]))
    >>> end[:2].tolist(), lonely.tolist()
    ([30, 40], [2])
    """
    order = np.lexsort((is_end, time, key))
    ends, keys = is_end[order], key[order]
    group = np.cumsum(np.r_[False, keys[1:] != keys[:-1]]) if len(keys) else keys
    opened = np.cumsum(np.where(ends, -1, 1))
    opened -= np.r_[0, opened][np.searchsorted(group, group)]
    # the fewest open so far, in each group from 0: below it an end had nothing to close
    apart = group * (2 * len(keys) + 2)
    fewest = np.minimum.accumulate(np.minimum(opened, 0) - apart) + apart
    before = np.r_[0, fewest[:-1]]
    before[np.r_[True, group[1:] != group[:-1]][: len(group)]] = 0
    lonely = ends & (opened < before)
    end = np.full(len(key), OPEN)
    starts, closing = np.flatnonzero(~ends), np.flatnonzero(ends & ~lonely)
    rank = np.arange(len(closing)) - np.searchsorted(group[closing], group[closing])
    matched = starts[np.searchsorted(group[starts], group[closing]) + rank]
    end[order[matched]] = time[order[closing]]
    return end, order[np.flatnonzero(lonely)]


class _Cohorts:
    """Members with few different texts, which a log can be split by."""

    def __init__(self, members: Sequence[str], first: _Batch, columns: Mapping[str, str]) -> None:
        self._values: dict[str, set[str]] = {}
        self._names: dict[str, str] = {}
        for member in members:
            values = {value for _, record in first if isinstance(value := record.get(member), str)}
            if member not in columns.values() and 0 < len(values) <= MOST_VALUES and len(self._names) < _MOST_COHORTS:
                name = member.rpartition(".")[2] or member
                taken = {*LOG_COLUMNS, "event", *columns, *self._names.values()}
                self._names[member] = f"{member} (file)" if name in taken else name
                self._values[member] = set()
        self._many: set[str] = set()

    def members(self) -> list[str]:
        """Those that are read."""
        return list(self._names)

    def texts(self, batch: _Batch) -> dict[str, list[str]]:
        """The cohorts of some records, but those that have become too many."""
        cohorts = {}
        for member, name in self._names.items():
            if member in self._many:
                continue
            texts = [value if isinstance(value := record.get(member), str) else "" for _, record in batch]
            self._values[member].update(texts)
            if len(self._values[member]) > MOST_VALUES + 1:
                self._many.add(member)
            else:
                cohorts[name] = [_text(text) for text in texts]
        return cohorts

    def forget(self, events: Events) -> None:
        """Drop the columns of those that became too many."""
        for member in self._many:
            events.forget(self._names[member])


def _event_member(members: Sequence[str], first: _Batch, mapping: Mapping[str, str]) -> str | None:
    """The member that says whether a record is a start or an end, if there is one."""
    if "event" in mapping:
        return mapping["event"]
    if "end" in mapping or any(plain_name(name) in WORDS["end"] for name in members):
        return None
    known: dict[str, int] = {}
    for name in members:
        if plain_name(name) in EVENT_WORDS and name not in mapping.values():
            kinds = [_kind(_text(record.get(name)), known) for _, record in first]
            share = np.count_nonzero(kinds) / len(kinds)
            if share >= _SHARE_OF_EVENTS or (share > _SHARE_OF_BOTH and {1, -1} <= set(kinds)):
                return name
    return None


def holds_both(texts: Sequence[str]) -> bool:
    """Whether most texts are words for a start or an end, and both occur.

    Examples
    --------
    >>> holds_both(["down", "up", "rumour"]), holds_both(["link down", "fan failed"])
    (True, False)
    """
    known: dict[str, int] = {}
    kinds = [_kind(text, known) for text in texts]
    return {1, -1} <= set(kinds) and sum(map(bool, kinds)) > _SHARE_OF_BOTH * len(kinds)


def _kind(text: str, known: dict[str, int]) -> int:
    """1 for the word of a start, -1 for that of an end, else 0."""
    kind = known.get(text)
    if kind is None:
        words = [word.lower() for word in _WORD.findall(text[:200])]
        if len(words) > 1:  # of a fault_start or a fault_seen only the other word says which
            words = [word for word in words if word not in ("fault", "failure")]
        kind = next((_KIND_OF[word] for word in reversed(words) if word in _KIND_OF), 0)
        if len(known) < MOST_CAUSES:
            known[text] = kind
    return kind


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
            for number, item in enumerate(ijson.items(stream, prefix, multiple_values=True, use_float=True), 1):
                yield number, item
        except InputError:
            raise  # a ValueError too
        except _BROKEN as error:
            ledger.not_parsed("broken JSON: what follows could not be read", place=f"after record {number:,}")
            ledger.note(f"the JSON breaks after record {number:,}, and what follows is lost: {_first_line(error)}")


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


def _first_stamp(frame: pd.DataFrame, rows: np.ndarray) -> str:
    return f"at {pd.Timestamp(frame['start'].iloc[rows.min()], unit='us'):%Y-%m-%d %H:%M:%S}" if len(rows) else ""


FORMAT = Format("events", "JSON records of starts and ends of outages, or of both", sniff, read)
