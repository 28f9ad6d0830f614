"""Kernel logs: the NVIDIA driver's Xid and SXid messages, from ``dmesg -T``, the journal or syslog."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from ettr.core.errors import InputError
from ettr.evidence.xid_codes import NVLINK_5, xid
from ettr.files.formats import Format
from ettr.files.kernel_stamps import KernelStamps, NoMonth, has_only_uptime, is_dmesg
from ettr.files.ledger import Ledger
from ettr.files.opening import Source
from ettr.files.tables import first_line, header_of
from ettr.files.times import NoTime
from ettr.logs.bursts import WITHIN_MIN, WITHIN_US, Bursts
from ettr.logs.columns import is_start
from ettr.logs.events import Events, NodesWatched, Span
from ettr.logs.options import Options
from ettr.logs.xids import NO_ERROR, UnknownXids

_PREFIX = re.compile(r"(?!kernel:)([^\s:]{1,1024}):(?:\d{1,9}:)?( ?)")
"""Prefix of a line by pdsh, clush or grep over several files: a host and a blank, or a path."""
_HOST_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,252}", re.ASCII)
_JOURNAL = re.compile(r"-- (?:Journal begins|Logs begin|Boot|Reboot|No entries)\b")
_HOST_FIELD = re.compile(r"\s+_HOSTNAME=(\S{1,255})\s*")
"""Host of a record of ``journalctl --output=verbose``."""
_HOST = re.compile(r" *(\S+) kernel(?:\[\d+\]:|:| -)")

_ADDRESS = r"(?:PCI:)?([0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}(?::[0-9A-Fa-f]{2})?)(?:\.[0-7])?"
_XID = re.compile(rf"NVRM: Xid \({_ADDRESS}[^)]{{0,200}}\): (\d{{1,4}})\b", re.ASCII)
_SXID = re.compile(rf"SXid \({_ADDRESS}[^)]{{0,200}}\): (\d{{1,6}}), (Fatal|Non-fatal)", re.ASCII | re.IGNORECASE)
_LOST = re.compile(rf"GPU (?:at )?{_ADDRESS}")
_NOT_FATAL = re.compile(r"\bnon-?fatal\b", re.IGNORECASE)
_OFF_THE_BUS = 79
_DRIVER = "NVRM: "
_LONGEST_MESSAGE = 5_000
_FEW_WITHOUT_MONTH = 0.005
"""Share of lines with a month in an unknown language up to which they are errors in their lines."""

_NO_STAMP = "no time stamp"
_NO_DATE = "only an uptime, no date"


@dataclass(frozen=True)
class _Message:
    """A message of the driver, with the reason if it is not a failure."""

    component: str
    cause: str
    device: str | None
    code: int
    why_not: str = ""


class XidMessages:
    """Turns messages of the driver into failures, one per GPU and burst.

    Parameters
    ----------
    options : Options
        Options of the user.
    events : Events
        Takes the failures.
    ledger : Ledger
        Records everything else.
    """

    def __init__(self, options: Options, events: Events, ledger: Ledger) -> None:
        events.distinct = True
        self.events, self.ledger, self.unknown = events, ledger, UnknownXids()
        self._n_nodes = options.n_nodes
        self.bursts, self.nodes = Bursts("number", "GPU"), Bursts("number", "node")
        self.hosts: set[str] = set()
        self.latest: dict[str | None, tuple[str, int]] = {}
        self.span = Span()

    def watched(self, at_us: int, host: str | None) -> None:
        """Note that a host was in service at a time."""
        self.span.take(at_us)
        if host is not None:
            self.hosts.add(host)

    def take(self, text: str, host: str | None, at_us: int, place: str) -> None:
        """Add one message."""
        if "Xid" not in text and "fallen off" not in text:
            return self.ledger.dropped(NO_ERROR, place=place)
        message = _message(text, self.unknown)
        if message is None:
            return self.ledger.not_parsed("Xid in an unknown form", place=place)
        return self._add(message, host, at_us, place)

    def exposure(self) -> NodesWatched:
        """Return the nodes and the window of the log, with notes."""
        n_hosts = len(self.hosts)
        self.unknown.doubt(self.ledger)
        self.ledger.note(
            f"Xid messages of one GPU, or of several GPUs of one node, within {WITHIN_MIN} min count as one failure, "
            "whose cause is the first Xid. Xids that are usually caused by the application, or that stop no job, are "
            "dropped"
        )
        if n_hosts and self._n_nodes is None:
            self.ledger.note(
                f"nodes are the hosts with at least one kernel line: {n_hosts:,}; other hosts are not counted"
            )
        return NodesWatched(n_nodes=n_hosts or None, window=self.span.window)

    def _add(self, message: _Message, host: str | None, at_us: int, place: str) -> None:
        if message.why_not:
            return self.ledger.dropped(message.why_not, place=place)
        before = self.latest.get(host)
        if message.device is None and before is not None and at_us - before[1] <= WITHIN_US:
            message = replace(message, device=before[0])
        if message.device is not None:
            self.latest[host] = (message.device, at_us)
        reason = self.bursts.seen((host, message.device), message.code, at_us)
        if not reason and host is not None:
            reason = self.nodes.seen(host, message.device, at_us)
        if reason:
            return self.ledger.merged(reason, place=place)
        return self.events.add(at_us, node=host, component=message.component, cause=message.cause, gpu=message.device)


class _Lines:
    """Reads lines of a kernel log that start with a time stamp, and the lines that continue them."""

    def __init__(self, options: Options, messages: XidMessages, ledger: Ledger) -> None:
        self.messages, self.ledger = messages, ledger
        self.stamps = KernelStamps(options.clock(ledger), options.zone)
        self.n_no_month, self.first_no_month = 0, ""
        self._waiting: dict[str, tuple[str, str | None, int, str]] = {}  # by the prefix of the line

    def line(self, line: str, place: str) -> None:
        """Add one line."""
        start, prefix = len(line) - len(line.lstrip()), ""
        try:
            stamp = self.stamps.read(line, start)
            match = _PREFIX.match(line) if stamp is None else None
            if match is not None:
                start, prefix = match.end(), match[0]
                stamp = self.stamps.read(line, start)
        except NoTime as error:
            if isinstance(error, NoMonth):
                self.n_no_month += 1
                self.first_no_month = self.first_no_month or f"{error!s} ({place})"
            self._take(prefix)
            return self.ledger.not_parsed(str(error), place=place)
        if stamp is None:
            return self._without_stamp(line, prefix, place)
        self._take(prefix)
        at_us, end = stamp
        host = _HOST.match(line, end)
        self._waiting[prefix] = line, host[1] if host else _prefix_host(match), at_us, place
        return None

    def end(self) -> None:
        """Add the messages that waited for lines to continue them."""
        for prefix in list(self._waiting):
            self._take(prefix)

    def _take(self, prefix: str) -> None:
        """Add the message that waited for lines with this prefix."""
        if prefix in self._waiting:
            line, host, at_us, place = self._waiting.pop(prefix)
            self.messages.watched(at_us, host)
            self.messages.take(line, host, at_us, place)

    def refuse_language(self, name: str) -> None:
        """Refuse a log with months in a language that is not read, as their lines would be missing."""
        if self.n_no_month > _FEW_WITHOUT_MONTH * (self.ledger.total() + self.n_no_month):
            raise InputError(
                f"months must be in English or another common language; {self.n_no_month:,} lines of {name} have "
                f"another: {self.first_no_month}. Write the log with `LC_ALL=C journalctl --dmesg` or with "
                "`journalctl --dmesg --output=short-iso`"
            )

    def _without_stamp(self, line: str, prefix: str, place: str) -> None:
        """Add a line without a time stamp to the message before it, if it continues that."""
        if _JOURNAL.match(line):
            return self.ledger.dropped("line of journalctl, not a record", place=place)
        undated = has_only_uptime(line, len(prefix))
        prefix = prefix if prefix in self._waiting else ""
        text = line[len(prefix) :]
        if not undated and prefix in self._waiting and (text[:1].isspace() or text.startswith(_DRIVER)):
            before, host, at_us, first = self._waiting[prefix]
            if _XID.search(before) and _XID.search(text):  # another message of the same time
                self._take(prefix)
                self._waiting[prefix] = text, host, at_us, place
                return None
            name = _HOST_FIELD.fullmatch(text)
            joined = f"{before} {text.strip().removeprefix(_DRIVER)}"[:_LONGEST_MESSAGE]
            self._waiting[prefix] = joined, name[1] if name else host, at_us, first
            return self.ledger.merged("continues the message of the line before", place=place)
        self._take(prefix)
        return self.ledger.not_parsed(_NO_DATE if undated else _NO_STAMP, place=place)


def _prefix_host(prefix: re.Match[str] | None) -> str | None:
    """The host before a line; None for a path or a file name."""
    return prefix[1] if prefix is not None and prefix[2] and _HOST_NAME.fullmatch(prefix[1]) else None


def _message(line: str, unknown: UnknownXids) -> _Message | None:
    """The message in a line; None for an Xid in an unknown form."""
    match = _XID.search(line)
    if match:
        meaning = xid(int(match[2]))
        unknown.count(meaning)
        why_not = meaning.why_not
        if meaning.code in NVLINK_5 and _NOT_FATAL.search(line, match.end()):
            why_not = f"Xid {meaning.code}: {meaning.meaning}, not fatal"
        return _Message(meaning.component, meaning.cause, _normal(match[1]), meaning.code, why_not)
    if "NVRM: Xid" in line:
        return None
    if "SXid (" in line:
        match = _SXID.search(line)
        if match is None:
            return _Message("NVSwitch", "", None, 0, "SXid: details of another line")
        why_not = "" if match[3].lower() == "fatal" else "SXid: NVSwitch error, not fatal"
        return _Message("NVSwitch", f"SXid {int(match[2])}", f"nvswitch {_normal(match[1])}", int(match[2]), why_not)
    if "fallen off the bus" in line and "NVRM" in line:
        match, meaning = _LOST.search(line), xid(_OFF_THE_BUS)
        return _Message(meaning.component, meaning.cause, _normal(match[1]) if match else None, meaning.code)
    return _Message("", "", None, 0, NO_ERROR)


def _normal(address: str) -> str:
    """A PCI address as ``0000:3b:00``: lower case, and a domain of four digits."""
    domain, _, rest = address.lower().partition(":")
    return f"{int(domain, 16):04x}:{rest}"


def _sniff(head: list[str]) -> bool:
    lines = [line for line in head if line.strip()]
    if lines and any(map(is_start, header_of(lines[0])[0])):  # a table with messages of the kernel
        return False
    kernel = sum(" kernel: " in line or is_dmesg(line) for line in lines)
    return any("NVRM:" in line or "SXid (" in line for line in lines) or kernel * 2 > len(lines)


def _read(source: Source, options: Options, events: Events, ledger: Ledger) -> NodesWatched:
    """Read hardware errors, one failure per GPU and burst; every line with a time stamp extends the window."""
    messages = XidMessages(options, events, ledger)
    reading = _Lines(options, messages, ledger)
    for place, line in source.records(ledger):
        reading.line(line, place)
    reading.end()
    reading.refuse_language(source.name)
    if messages.span.window is None:
        raise InputError(
            f"a kernel log must have dates, and no line of {source.name} has one that is read (line 1: "
            f"{first_line(source.head()).strip()[:60]!r}); time since boot is no date. Write it with `dmesg -T` or "
            "`journalctl -k -o short-iso`"
        )
    return messages.exposure()


FORMAT = Format(
    "xid",
    "kernel log with NVIDIA Xid messages",
    _sniff,
    _read,
    "journalctl --dmesg --boot=all --output=short-iso > kernel.log",
    "2025-06-01T10:00:00+0000 gpu-07 kernel: NVRM: loading NVIDIA UNIX x86_64 Kernel Module\n"
    "2025-06-02T10:00:00+0000 gpu-07 kernel: NVRM: Xid (PCI:0000:3b:00): 79, pid=7, GPU has fallen off the bus.",
)
