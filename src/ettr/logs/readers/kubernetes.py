"""Kubernetes events: nodes that were not ready, and errors reported by kernels and GPUs."""

from __future__ import annotations

import itertools
import re
from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from ettr.core.errors import InputError
from ettr.core.yaml_files import load
from ettr.files.clock import StampClock
from ettr.files.formats import Format
from ettr.files.json_records import json_records
from ettr.files.ledger import Ledger
from ettr.files.opening import Source
from ettr.files.tables import first_line
from ettr.files.times import FIRST_US, SECOND, NoTime
from ettr.logs.bursts import WITHIN_US, Bursts
from ettr.logs.events import Events, NodesWatched, Span
from ettr.logs.options import Options
from ettr.logs.xids import why_no_failure

DOWN, UP = "NodeNotReady", "NodeReady"
"""Reasons of the node controller for the start and the end of an outage."""
FAILURES = {
    "Rebooted": "Host",
    "KernelOops": "Host",
    "TaskHung": "Host",
    "KernelDeadlock": "Host",
    "FilesystemIsReadOnly": "Storage",
    "ReadonlyFilesystem": "Storage",
}
"""Other reasons for failures of a node, by the kubelet and the node problem detector, with their components."""
_GPU_WORDS = ("xid", "gpu", "nvlink", "nvidia")
_FIRST = ("firstTimestamp", "deprecatedFirstTimestamp", "eventTime")
_LAST = ("lastTimestamp", "deprecatedLastTimestamp", "lastObservedTime")
_MISSING = (None, "", "0001-01-01T00:00:00Z")
"""Values for a missing time; the last is the zero of programs in Go."""
_KEPT_H = 2
"""Events over less than this are probably incomplete: by default a cluster keeps them for one hour. [h]"""
_LARGEST_YAML = 2_000_000
"""Largest YAML that is read; about 2,000 events. [bytes]"""
_EVENT = re.compile(r'"involvedObject"|"regarding":\s*\{')
_EMPTY = re.compile(r'"items": *(?:\[\s*\]|null)')
_YAML = re.compile(r"^(?:[ -]*(?:involvedObject|regarding): *$|items: *\[\])", re.MULTILINE)
_TABLE = re.compile(
    r"^(?:NAMESPACE +)?LAST ?SEEN +(?:TYPE|FIRST).*|^ *Type +Reason +Age +From.*"
    r"|^(?:\S+ +)?(?:<\w+>|(?:\d+[smhdy])+)(?: \(x\d+ over \w+\))? +(?:Normal|Warning) +\S+ +\w+/"
    rf"|^(?=[A-Za-z_ ]{{6,300}}$)(?=.*\b(?i:reason)\b)(?=.*  ).*$(?=[\s\S]*\b(?:{DOWN}|{UP})\b)",
    re.MULTILINE,
)
"""Tables of kubectl: those with ages, with a header or without, and those with columns chosen by the user."""
_COMMAND = "kubectl get events --all-namespaces -o json > events.json"
_NODE = '{"involvedObject": {"kind": "Node", "name": "gpu-07"}, '
_SAMPLE = (
    f'{{"items": [{_NODE}"reason": "{DOWN}", "lastTimestamp": "2025-06-01T10:00:00Z"}},\n'
    f'{_NODE}"reason": "{UP}", "lastTimestamp": "2025-06-01T12:00:00Z"}}]}}'
)


def _sniff(head: list[str]) -> bool:
    text = "\n".join(head)
    if not first_line(head).lstrip().startswith(("{", "[")):
        return bool(_YAML.search(text) or _TABLE.search(text))
    return bool(_EVENT.search(text) or ('List"' in text and _EMPTY.search(text)))


def _read(source: Source, options: Options, events: Events, ledger: Ledger) -> NodesWatched:
    """Read outages and other failures of nodes; events of pods and other objects are dropped."""
    clock, span = options.clock(ledger), Span()
    by_node: dict[str, list[tuple[int, str, str]]] = defaultdict(list)
    seconds: dict[tuple[str, Any], set[int]] = defaultdict(set)  # times of each event, by its reason and its key
    counts: dict[tuple[str, Any], int] = defaultdict(int)
    problems: list[str] = []
    place, n_several, has_nodes = "", 0, False
    for place, record in _records(source, ledger):
        target = record.get("involvedObject", record.get("regarding")) if isinstance(record, dict) else None
        if not isinstance(target, dict) or not isinstance(record.get("reason"), str):
            ledger.not_parsed("not a Kubernetes event", place=place)
            continue
        has_nodes = has_nodes or target.get("kind") == "Node"
        wrong: list[str] = []
        times, count = _times(record, clock, wrong), _count(record, wrong)
        for at_us in times:
            span.take(at_us)
        if no_failure := _no_failure(record, target):
            ledger.dropped(no_failure, place=place)
            continue
        problems += (f"{problem} ({place})" for problem in wrong)
        if not times:
            ledger.not_parsed("event without a time", place=place)
            continue
        node, reason = str(target["name"]), record["reason"]
        # a watch writes an event again whenever it recurs
        key = reason, str(_member(record, "metadata").get("uid") or (node, times[0]))
        new = {at_us // SECOND: at_us for at_us in times if at_us // SECOND not in seconds[key]}
        seconds[key] |= new.keys()
        by_node[node] += ((at_us, reason, place) for at_us in new.values())
        if not new:
            ledger.merged("update of an event that is already counted", place=place)
        n_several += len(new) > 1
        # occurrences between the ends of a burst belong to it
        burst_us = SECOND if reason == DOWN else WITHIN_US
        counts[key] = max(counts[key], 1 if len(times) > 1 and times[1] - times[0] <= burst_us else count)
    if not place and not ledger.total():
        raise InputError(
            f"{source.name} must have events, but its list is empty: Kubernetes keeps events for one hour, so collect "
            "them with `kubectl get events --all-namespaces --watch -o json >> events.json`"
        )
    if not has_nodes:
        ledger.doubt(f"no event is of a node: events of all namespaces have them, as in `{_COMMAND}`")
    for node, changes in by_node.items():
        _add(node, sorted(changes), events, ledger)
    if n_several:
        ledger.note(f"events that occurred several times, of which the first and the last are records: {n_several:,}")
    if problems:
        ledger.doubt(f"times or counts of events are wrong: {len(problems):,}, the first: {problems[0]}")
    n_hidden = sum(max(n - len(seconds[key]), 0) for key, n in counts.items() if key[0] != UP)
    _doubt(span, n_hidden, ledger)
    return NodesWatched(window=span.window)


# --------------------------------------------------------------------------- JSON and YAML


def _records(source: Source, ledger: Ledger) -> Iterator[tuple[str, Any]]:
    """The events in a file, with their places."""
    head = source.head()
    first, text = first_line(head).strip(), "\n".join(head)
    if first.startswith(("{", "[")):
        records, word = json_records(source, ledger, "items")
        return ((f"{word} {number:,}", event) for number, record in records for event in _unwrapped(record))
    if _YAML.search(text):
        return _from_yaml(source, ledger)
    table = _TABLE.search(text)
    line = text.count("\n", 0, table.start() if table else text.find(first)) + 1
    raise InputError(
        f"{source.name} must be events as JSON or YAML: a table of kubectl has ages instead of times, or no kinds of "
        f"objects (line {line}: {(table[0] if table else first)[:60]!r}); give the output of `{_COMMAND}`"
    )


def _unwrapped(record: Any) -> list[Any]:
    """The events of a list, the event that a watch or an exporter wraps, or the record itself."""
    if isinstance(record, dict) and isinstance(record.get("items", 0), list | None):
        return record["items"] or []
    return [_member(record, "object") or _member(record, "event") or record]


def _from_yaml(source: Source, ledger: Ledger) -> Iterator[tuple[str, Any]]:
    """The events of a list, or of a document each."""
    with source.utf8(ledger) as stream:
        content = stream.read(_LARGEST_YAML + 1)
    numbers = itertools.count(1)
    try:
        if len(content) > _LARGEST_YAML:
            raise InputError(f"{source.name} must have at most {_LARGEST_YAML:,} bytes of YAML")
        for part in re.split(r"^---.*$", content.decode(), flags=re.MULTILINE):
            document = load(part, source.name)
            if isinstance(document, dict) and "items" in document and "kind" not in document:
                ledger.doubt("the YAML ends before the kind of its list, so it is truncated, and the rest is lost")
            records = document if isinstance(document, list) else [] if document is None else [document]
            for event in itertools.chain.from_iterable(map(_unwrapped, records)):
                yield f"event {next(numbers):,}", event
    except InputError as error:
        raise InputError(f"{error}. Give the output of `{_COMMAND}`") from error


# --------------------------------------------------------------------------- one event


def _member(record: Any, name: str) -> dict[str, Any]:
    """A member that is an object; empty if there is none."""
    value = record.get(name) if isinstance(record, dict) else None
    return value if isinstance(value, dict) else {}


def _no_failure(record: dict[str, Any], target: dict[str, Any]) -> str:
    """Why an event is neither a failure of a node nor the end of one; empty if it is."""
    reason, kind = record["reason"], str(record.get("type") or "").lower()
    if target.get("kind") != "Node" or not target.get("name"):
        return f"event of a {target.get('kind') or 'object'}, not of a node"
    of_gpu = any(word in reason.lower() for word in _GPU_WORDS)
    if reason in (DOWN, UP, *FAILURES):
        return ""
    if of_gpu and kind == "warning":
        return why_no_failure(str(record.get("message") or record.get("note") or ""))
    return f"{reason}: {'without a type' if of_gpu and not kind else 'not a failure of a node'}"


def _times(record: dict[str, Any], clock: StampClock, wrong: list[str]) -> list[int]:
    """First and last time of an event, one if it has no other; unusable times are added to ``wrong``. [us]"""
    members, now_us = record | _member(record, "series"), datetime.now(UTC).timestamp() * SECOND
    ends: list[int] = []
    for names, outer in ((_FIRST, min), (_LAST, max)):
        times = []
        for name in names:
            value = members.get(name)
            if value in _MISSING:
                continue
            try:
                at_us = clock.us(value if isinstance(value, str) else "")
                if not FIRST_US <= at_us <= now_us:
                    raise NoTime("in the future" if at_us > now_us else "a number that is no date")
                times.append(at_us)
            except NoTime as error:
                wrong.append(f"{name} {value!r:.40}: {error}")
        ends += [outer(times)] if times else []
    if ends != sorted(ends):
        wrong.append("last time before the first")
    return sorted(ends)


def _count(record: dict[str, Any], wrong: list[str]) -> int:
    """Number of occurrences that an event counts, at least 1; an unusable count is added to ``wrong``."""
    largest = 1
    for value in (record.get("count"), record.get("deprecatedCount"), _member(record, "series").get("count")):
        if re.fullmatch(r"\d{1,10}", str(value), re.ASCII):  # a number of 32 bits
            largest = max(largest, int(str(value)))
        elif value not in _MISSING:
            wrong.append(f"count {value!r:.40}: not a whole number up to ten digits")
    return largest


def _add(node: str, changes: list[tuple[int, str, str]], events: Events, ledger: Ledger) -> None:
    """Add outages from not ready to ready, and other failures while the node was up."""
    bursts = Bursts("reason", "node")
    down_us: int | None = None
    for at_us, reason, place in changes:
        if reason == UP:
            if down_us is None:
                ledger.dropped("state ready of a node that was ready", place=place)
            else:
                events.add(down_us, at_us, node=node, component="Host", cause=DOWN)
                ledger.merged("end of an outage, joined to its start", place=place)
            down_us = None
        elif down_us is not None:
            ledger.merged("event of a node during its outage", place=place)
        elif reason == DOWN:
            down_us = at_us
        elif repeat := bursts.seen(node, reason, at_us):
            ledger.merged(repeat, place=place)
        else:
            events.add(at_us, node=node, component=FAILURES.get(reason, "GPU"), cause=reason)
    if down_us is not None:
        events.add(down_us, node=node, component="Host", cause=DOWN)
        ledger.note("outages without an end in the log are treated as open")


def _doubt(span: Span, n_hidden: int, ledger: Ledger) -> None:
    if n_hidden:
        ledger.doubt(f"Kubernetes counted more failures, up to {n_hidden:,}, without their times")
    if span.window is not None and span.window[1] - span.window[0] < _KEPT_H * 3600 * SECOND:
        ledger.doubt(
            "the events span less than two hours: Kubernetes keeps events for one hour, so collect them for weeks with "
            "an event exporter"
        )


FORMAT = Format("kubernetes", "Kubernetes events (kubectl get events -o json, yaml)", _sniff, _read, _COMMAND, _SAMPLE)
