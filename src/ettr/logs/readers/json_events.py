"""JSON records of outages: start and end in two records, or in one."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

from ettr.core.errors import InputError
from ettr.files.columns import origins
from ettr.files.formats import Format
from ettr.files.json_records import json_records
from ettr.files.ledger import Ledger
from ettr.files.opening import Source
from ettr.logs.events import Events, NodesWatched
from ettr.logs.meaning import find_meaning
from ettr.logs.options import Options
from ettr.logs.records import take_records
from ettr.logs.rows import Batch

_BATCH, _DEEPEST = 20_000, 4
_Batch = list[tuple[int, dict[str, Any]]]


def sniff(head: list[str]) -> bool:
    """Return whether the text starts like JSON."""
    text = "".join(head).lstrip()
    return text[:1] == "{" or (text[:1] == "[" and text[1:].lstrip()[:1] in ("{", "]", ""))


def read(source: Source, options: Options, events: Events, ledger: Ledger) -> NodesWatched:
    """Read start and end events, or outages with both.

    Parameters
    ----------
    source : Source
        A JSON array of objects, an object that contains one, or a sequence of objects.
    options : Options
        Options of the user.
    events : Events
        Takes the failures.
    ledger : Ledger
        Records everything else.

    Returns
    -------
    NodesWatched
        Empty: such a log does not contain healthy nodes.

    Raises
    ------
    InputError
        No object, or no member with the start of a failure.
    """
    items, word = json_records(source, ledger)
    records = _flat(items, ledger, word)
    batches = iter(lambda: list(itertools.islice(records, _BATCH)), [])
    head = next(batches, [])
    if not head:
        if ledger.total():
            raise InputError(f"{source.name} must contain JSON objects; none could be read")
        return NodesWatched()
    members = list(dict.fromkeys(name for _, record in head for name in record))
    first = _batch(head, members)
    meaning = find_meaning(first, members, options, ledger, source.name)
    ledger.note(origins("members", meaning.columns, members, meaning.deciding), first=True)
    rest = (_batch(batch, members) for batch in batches)
    take_records(itertools.chain([first], rest), meaning, options, events, ledger, word)
    return NodesWatched()


def _batch(records: _Batch, members: Sequence[str]) -> Batch:
    """Records as a batch of texts."""
    columns = {name: [_text(record.get(name)) for _, record in records] for name in members}
    return Batch(columns, [number for number, _ in records], [_digest(record) for _, record in records])


def _digest(record: dict[str, Any]) -> int:
    """A hash of a record."""
    try:
        return hash(tuple(record.items()))
    except TypeError:  # a member that is a list
        return hash(repr(record))


def _flat(items: Iterator[tuple[int, Any]], ledger: Ledger, word: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Members of members as ``outer.inner``, down to ``_DEEPEST`` levels."""
    for number, item in items:
        if not isinstance(item, dict):
            ledger.not_parsed("not an object", place=f"{word} {number:,}")
            continue
        yield number, _leaves(item)


def _leaves(members: dict[str, Any], path: str = "", depth: int = _DEEPEST) -> dict[str, Any]:
    """The members of an object, and those of the objects in it, by their paths."""
    flat: dict[str, Any] = {}
    for name, value in members.items():
        if isinstance(value, dict) and depth:
            flat |= _leaves(value, f"{path}{name}.", depth - 1)
        else:
            flat[f"{path}{name}"] = value
    return flat


def _text(value: Any) -> str:
    """A member as text; empty for lists and objects."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "replace").decode()
    if value is None or isinstance(value, dict | list):
        return ""
    return repr(value)[:100]


FORMAT = Format(
    "events",
    "JSON records of starts and ends of outages, or of both",
    sniff,
    read,
    "export one object per event, with a time, a node, and whether an outage starts or ends",
    '[{"time": "2025-06-01 10:00", "node": "gpu-07", "event": "fault_start", "cause": "Xid 79"},\n'
    '{"time": "2025-06-01 12:30", "node": "gpu-07", "event": "fault_end", "cause": "Xid 79"}]',
)
