"""The journal from ``journalctl -o json``: kernel messages of the NVIDIA driver."""

from __future__ import annotations

import json
from typing import Any

from ettr.core.errors import InputError
from ettr.files.formats import Format
from ettr.files.json_records import json_records
from ettr.files.ledger import Ledger
from ettr.files.opening import Source
from ettr.files.tables import first_line
from ettr.files.times import END_US, FIRST_US
from ettr.logs.events import Events, NodesWatched
from ettr.logs.options import Options
from ettr.logs.readers.xid import XidMessages

_TIME = "__REALTIME_TIMESTAMP"
_COMMAND = "journalctl --dmesg --boot=all --output=json > journal.json"
_LOST = "NVRM: Xid (PCI:0000:3b:00): 79, pid=7, GPU has fallen off the bus."
_SAMPLE = "\n".join(
    json.dumps({_TIME: at, "_HOSTNAME": "gpu-07", "_TRANSPORT": "kernel", "MESSAGE": text})
    for at, text in (("1748772000000000", "NVRM: loading NVIDIA UNIX Kernel Module"), ("1748858400000000", _LOST))
)


def _sniff(head: list[str]) -> bool:
    return any(f'"{_TIME}"' in line for line in head)


def _read(source: Source, options: Options, events: Events, ledger: Ledger) -> NodesWatched:
    """Read hardware errors, one failure per GPU and burst; every record extends the window."""
    messages = XidMessages(options, events, ledger)
    records, word = json_records(source, ledger)
    for number, record in records:
        place = f"{word} {number:,}"
        try:
            at_us = int(record[_TIME])
        except (ValueError, TypeError, KeyError, OverflowError):
            ledger.not_parsed("not a record of the journal", place=place)
            continue
        if not FIRST_US <= at_us < END_US:
            ledger.not_parsed("invalid time", place=place)
            continue
        host = record.get("_HOSTNAME")
        messages.watched(at_us, host if isinstance(host, str) else None)
        programs = {record.get("_TRANSPORT"), record.get("SYSLOG_IDENTIFIER")} - {None}
        if not programs or "kernel" in programs:
            messages.take(_text(record.get("MESSAGE")), host if isinstance(host, str) else None, at_us, place)
        else:
            ledger.dropped("message of another program than the kernel", place=place)
    if messages.span.window is None:
        first = first_line(source.head()).strip()[:60]
        raise InputError(
            f"{source.name} must have records of the journal as JSON, and none could be read (line 1: {first!r}): "
            f"write it with `{_COMMAND}`"
        )
    return messages.exposure()


def _text(message: Any) -> str:
    """A message as text: a list of bytes if it is not plain text, empty if it was too long."""
    if isinstance(message, list):
        are_bytes = all(isinstance(byte, int) and 0 <= byte < 256 for byte in message)
        return bytes(message).decode("utf-8", "replace") if are_bytes else " ".join(map(str, message))
    return message if isinstance(message, str) else ""


FORMAT = Format("journal", "journal with NVIDIA Xid messages (journalctl -o json)", _sniff, _read, _COMMAND, _SAMPLE)
