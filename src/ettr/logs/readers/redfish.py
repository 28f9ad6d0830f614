"""Event log of a node's management controller from Redfish: critical entries are failures."""

from __future__ import annotations

import re
from pathlib import PurePath
from typing import Any

from ettr.files.formats import Format
from ettr.files.json_records import json_records
from ettr.files.ledger import Ledger
from ettr.files.opening import Source
from ettr.files.times import NoTime
from ettr.logs.bursts import WITHIN_MIN, Bursts
from ettr.logs.events import Events, NodesWatched, Span
from ettr.logs.options import Options

_SYSTEM = re.compile(r"/redfish/v1/(?:Systems|Managers|Chassis)/([^/]+)/")
_COMMAND = "curl -sk -u USER https://BMC/redfish/v1/Systems/1/LogServices/SEL/Entries > gpu-07.json"
_SAMPLE = """{"Members": [{"@odata.type": "#LogEntry.v1_15_0.LogEntry", "EntryType": "SEL", "Severity": "Critical",
"Created": "2025-06-01T10:00:00Z", "SensorType": "Power Supply", "Message": "Power supply failure detected"}]}"""


def _sniff(head: list[str]) -> bool:
    text = "\n".join(head)
    return "#LogEntry" in text or ('"EntryType"' in text and '"Created"' in text and '"Severity"' in text)


def _read(source: Source, options: Options, events: Events, ledger: Ledger) -> NodesWatched:
    """Read critical entries, one failure per message and burst; a file is the log of one node."""
    clock, span = options.clock(ledger), Span()
    bursts = Bursts("message", "node")
    events.distinct = True
    records, word = json_records(source, ledger)
    entries = []
    for number, record in records:
        place = f"{word} {number:,}"
        try:
            at_us = clock.us(str(record["Created"]))
        except (NoTime, KeyError, TypeError):
            ledger.not_parsed("not an entry with a time", place=place)
            continue
        span.take(at_us)
        severity = str(record.get("Severity") or "none")
        if severity.lower() != "critical":
            ledger.dropped(f"severity {severity}", place=place)
        elif str(record.get("EntryCode") or "").startswith("Deassert"):
            ledger.dropped("end of an earlier event", place=place)
        else:
            entries.append((at_us, _node(record, source), record, place))
    for at_us, node, record, place in sorted(entries, key=lambda entry: entry[0]):
        cause = str(record.get("Message") or record.get("MessageId") or "")
        if reason := bursts.seen(node, cause, at_us):
            ledger.merged(reason, place=place)
        else:
            events.add(at_us, node=node, component=str(record.get("SensorType") or ""), cause=cause)
    ledger.note(f"critical entries within {WITHIN_MIN} min of each other count as one failure of the node")
    return NodesWatched(window=span.window)


def _node(record: dict[str, Any], source: Source) -> str:
    """The system in the entry's address, or the file's name if the system is only a number or `Self`."""
    match = _SYSTEM.search(str(record.get("@odata.id") or ""))
    name = match[1] if match else ""
    return PurePath(source.name).name.partition(".")[0] if len(name) < 2 or name in ("Self", "system") else name


FORMAT = Format("redfish", "event log of a management controller (Redfish)", _sniff, _read, _COMMAND, _SAMPLE)
