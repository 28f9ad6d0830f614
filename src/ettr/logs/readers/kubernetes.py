"""Kubernetes events: nodes that were not ready, and errors reported by kernels and GPUs."""

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
_TIMES = ("lastTimestamp", "eventTime", "firstTimestamp")
_KEPT_H = 2
"""Events over less than this are probably incomplete: by default a cluster keeps them for one hour. [h]"""
_COMMAND = "kubectl get events --all-namespaces -o json > events.json"
_NODE = '{"involvedObject": {"kind": "Node", "name": "gpu-07"}, '
_SAMPLE = (
    f'{{"items": [{_NODE}"reason": "{DOWN}", "lastTimestamp": "2025-06-01T10:00:00Z"}},\n'
    f'{_NODE}"reason": "{UP}", "lastTimestamp": "2025-06-01T12:00:00Z"}}]}}'
)


def _sniff(head: list[str]) -> bool:
    return '"involvedObject"' in "\n".join(head) or first_line(head).split()[:3] == ["LAST", "SEEN", "TYPE"]


def _read(source: Source, options: Options, events: Events, ledger: Ledger) -> NodesWatched:
    """Read outages and other failures of nodes; events of pods and other objects are dropped."""
    if not first_line(source.head()).lstrip().startswith(("{", "[")):
        raise InputError(f"{source.name} has ages instead of times: give the output of `{_COMMAND}`")
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
            ledger.not_parsed("event without a time", place=place)
            continue
        for at_us in times:
            span.take(at_us)
        # an event that counts several has the times of the first and the last; the last is used
        n_hidden += _count(record) - 1
        by_node[node].append((times[-1], reason, place))
    for node, changes in by_node.items():
        _add(node, sorted(changes), events, ledger)
    _doubt(span, n_hidden, ledger)
    return NodesWatched(window=span.window)


def _node_and_reason(record: Any, ledger: Ledger, place: str) -> tuple[str | None, str]:
    """The node and the reason of an event; no node if it is not a failure, which is recorded."""
    target = record.get("involvedObject", record.get("regarding")) if isinstance(record, dict) else None
    if not isinstance(target, dict) or not isinstance(record.get("reason"), str):
        ledger.not_parsed("not a Kubernetes event", place=place)
        return None, ""
    reason = record["reason"]
    if target.get("kind") != "Node" or not target.get("name"):
        ledger.dropped(f"event of a {target.get('kind') or 'object'}, not of a node", place=place)
        return None, ""
    warns = str(record.get("type", "")).lower() == "warning"
    of_gpu = warns and any(word in reason.lower() for word in _GPU_WORDS)
    if reason not in (DOWN, UP) and reason not in FAILURES and not of_gpu:
        ledger.dropped(f"{reason}: not a failure of a node", place=place)
        return None, ""
    return str(target["name"]), reason


def _times(record: dict[str, Any], clock: StampClock) -> list[int]:
    """Time of an event, or the first and the last time if it counts several. [us since 1970 UTC]"""
    times = set()
    for name in _TIMES:
        try:
            times.add(clock.us(record[name]))
        except (NoTime, KeyError, TypeError, AttributeError):
            continue
    return sorted({min(times), max(times)}) if times else []


def _count(record: dict[str, Any]) -> int:
    """Number of occurrences that an event counts."""
    count = record.get("count")
    return max(count, 1) if isinstance(count, int) else 1


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
        ledger.doubt(f"{n_hidden:,} more events are only counted by Kubernetes, without their times")
    if span.window is not None and span.window[1] - span.window[0] < _KEPT_H * 3600 * SECOND:
        ledger.doubt(
            "the events span less than two hours: Kubernetes keeps events for one hour, so collect them for weeks with "
            "an event exporter"
        )


FORMAT = Format("kubernetes", "Kubernetes events (kubectl get events -o json)", _sniff, _read, _COMMAND, _SAMPLE)
