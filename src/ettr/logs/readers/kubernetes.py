"""Events of Kubernetes: when nodes were not ready, and what their kernels and GPUs reported."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from ettr.core.errors import InputError
from ettr.files.clock import StampClock
from ettr.files.formats import Format
from ettr.files.json_records import json_records
from ettr.files.ledger import Ledger
from ettr.files.opening import Source
from ettr.files.tables import first_line
from ettr.files.times import SECOND, NoTime
from ettr.logs.bursts import Bursts
from ettr.logs.events import Events, NodesWatched, Span
from ettr.logs.options import Options

DOWN, UP = "NodeNotReady", "NodeReady"
"""Reasons of the node controller that begin and end an outage."""
FAILURES = {
    "Rebooted": "Host",
    "KernelOops": "Host",
    "TaskHung": "Host",
    "KernelDeadlock": "Host",
    "FilesystemIsReadOnly": "Storage",
    "ReadonlyFilesystem": "Storage",
}
"""Other reasons that are a failure of the node, of the kubelet and the node problem detector, with their component."""
_GPU_WORDS = ("xid", "gpu", "nvlink", "nvidia")
_TIMES = ("lastTimestamp", "eventTime", "firstTimestamp")
_KEPT_H = 2
"""A cluster keeps events for one hour, unless it is told otherwise."""
_COMMAND = "kubectl get events --all-namespaces -o json > events.json"
_NODE = '{"involvedObject": {"kind": "Node", "name": "gpu-07"}, '
_SAMPLE = (
    f'{{"items": [{_NODE}"reason": "{DOWN}", "lastTimestamp": "2025-06-01T10:00:00Z"}},\n'
    f'{_NODE}"reason": "{UP}", "lastTimestamp": "2025-06-01T12:00:00Z"}}]}}'
)


def _sniff(head: list[str]) -> bool:
    return '"involvedObject"' in "\n".join(head) or first_line(head).split()[:3] == ["LAST", "SEEN", "TYPE"]


def _read(source: Source, options: Options, events: Events, ledger: Ledger) -> NodesWatched:
    """Outages of nodes, and their other failures; events of pods and the like are no failures of nodes."""
    if not first_line(source.head()).lstrip().startswith(("{", "[")):
        raise InputError(f"{source.name} tells ages, and no times: give what `{_COMMAND}` writes")
    clock, span = options.clock(ledger), Span()
    by_node: dict[str, list[tuple[int, str, str]]] = defaultdict(list)
    records, word = json_records(source, ledger)
    n_hidden = 0
    for number, record in records:
        place = f"{word} {number:,}"
        node, reason = _node_and_reason(record, ledger, place)
        if node is None:
            continue
        times = _times(record, clock)
        if not times:
            ledger.not_parsed("an event without a time", place=place)
            continue
        for at_us in times:
            span.take(at_us)
        # an event that stands for several says when the first and the last was, and is taken as the last
        n_hidden += _count(record) - 1
        by_node[node].append((times[-1], reason, place))
    for node, changes in by_node.items():
        _add(node, sorted(changes), events, ledger)
    _say(span, n_hidden, ledger)
    return NodesWatched(window=span.window)


def _node_and_reason(record: Any, ledger: Ledger, place: str) -> tuple[str | None, str]:
    """The node that an event is about, and why it was written; no node where it is no failure, which is counted."""
    about = record.get("involvedObject", record.get("regarding")) if isinstance(record, dict) else None
    if not isinstance(about, dict) or not isinstance(record.get("reason"), str):
        ledger.not_parsed("no event of Kubernetes", place=place)
        return None, ""
    reason = record["reason"]
    if about.get("kind") != "Node" or not about.get("name"):
        ledger.dropped(f"an event of a {about.get('kind') or 'thing'}, and no node", place=place)
        return None, ""
    warns = str(record.get("type", "")).lower() == "warning"
    of_gpu = warns and any(word in reason.lower() for word in _GPU_WORDS)
    if reason not in (DOWN, UP) and reason not in FAILURES and not of_gpu:
        ledger.dropped(f"{reason}: no failure of a node", place=place)
        return None, ""
    return str(about["name"]), reason


def _times(record: dict[str, Any], clock: StampClock) -> list[int]:
    """When an event happened, first and last where it stands for several. [us since 1970 UTC]"""
    found = set()
    for name in _TIMES:
        try:
            found.add(clock.us(record[name]))
        except (NoTime, KeyError, TypeError, AttributeError):
            continue
    return sorted({min(found), max(found)}) if found else []


def _count(record: dict[str, Any]) -> int:
    count = record.get("count")
    return max(count, 1) if isinstance(count, int) else 1


def _add(node: str, changes: list[tuple[int, str, str]], events: Events, ledger: Ledger) -> None:
    """Outages from not ready to ready, and what else failed while the node was up."""
    bursts = Bursts("reason", "node")
    down_us: int | None = None
    for at_us, reason, place in changes:
        if reason == UP:
            if down_us is None:
                ledger.dropped("a node that was ready, and still is", place=place)
            else:
                events.add(down_us, at_us, node=node, component="Host", cause=DOWN)
                ledger.merged("the end of an outage, joined to its start", place=place)
            down_us = None
        elif down_us is not None:
            ledger.merged("another event of a node that was out", place=place)
        elif reason == DOWN:
            down_us = at_us
        elif again := bursts.seen(node, reason, at_us):
            ledger.merged(again, place=place)
        else:
            events.add(at_us, node=node, component=FAILURES.get(reason, "GPU"), cause=reason)
    if down_us is not None:
        events.add(down_us, node=node, component="Host", cause=DOWN)
        ledger.note("outages without an end in the log are taken as open")


def _say(span: Span, n_hidden: int, ledger: Ledger) -> None:
    if n_hidden:
        ledger.doubt(f"events stand for {n_hidden:,} more that Kubernetes only counts, and whose times are not known")
    if span.window is not None and span.window[1] - span.window[0] < _KEPT_H * 3600 * SECOND:
        ledger.doubt(
            "the events span less than two hours: Kubernetes keeps them for one, so collect them for weeks, with an "
            "exporter of events"
        )


FORMAT = Format("kubernetes", "events of Kubernetes (kubectl get events -o json)", _sniff, _read, _COMMAND, _SAMPLE)
