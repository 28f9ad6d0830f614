"""Logs of ``torchrun``: the elastic agent's lines, its summaries, and time-outs of the NCCL watchdog."""

from __future__ import annotations

import re
import signal
from dataclasses import dataclass, field

from ettr.files.formats import Format
from ettr.files.ledger import Ledger
from ettr.files.line_stamps import stamp_in
from ettr.files.opening import Source
from ettr.files.times import NoTime
from ettr.logs.events import Events, NodesWatched, Span
from ettr.logs.incidents import CLOSE_MIN, SAME_RUN_MIN, Incident, Incidents, Sign
from ettr.logs.options import Options

_GROUP_FAILED = re.compile(r"Worker group (?:FAILED|UNHEALTHY)\b")
_EXIT = re.compile(r"failed \(exitcode: (-?\d{1,6})\)")
_TIMEOUT = re.compile(r"Timeout\(ms\)=(\d{1,9})\b")
_CUDA = re.compile(r"CUDA error: ([^.\n\"']{1,120})")
_NCCL = re.compile(
    r"NCCL error.{0,300}?\b(unhandled system error|unhandled cuda error|internal error|invalid usage|invalid argument|"
    r"remote process exited or there was a network error)"
)
_RENDEZVOUS = re.compile(r"Rendezvous(?:Connection|Timeout|Closed|State)?Error\b")
_KILLED = re.compile(r"Received (?:Signals\.)?(\w{1,20}) death signal|got signal: (\d{1,2})\b")
_FIELD = re.compile(r"\b(time|host|rank|exitcode|error_file|traceback)\s*:\s?(.*)")
_ENTRY = re.compile(r"\[\d{1,6}\]:\s*$")
_ROOT, _OTHERS = "Root Cause (first observed failure)", "Failures:"
_STARTS = ("Starting worker group", "Rendezvous complete")
_SIGNAL = re.compile(r"Signal (\d{1,2})\b")

_WORDS = (
    *_STARTS,
    "Worker group",
    "exitcode",
    "Watchdog caught",
    "CUDA error",
    "NCCL error",
    "NET/IB",
    "Rendezvous",
    "death signal",
    "got signal",
    "ChildFailedError",
    "closing signal",
    _ROOT,
    _OTHERS,
)
_HARDWARE = ("ECC", "NVLink", "hardware", "lost", "fallen off")
_DAY_MS = 86_400_000
_CONSEQUENCES = (signal.SIGABRT, signal.SIGTERM)
"""Signals that a rank usually receives because of a fault of another rank."""


@dataclass
class _Block:
    """A failure in the agent's summary, while its lines are read."""

    place: str
    root: bool
    fields: dict[str, str] = field(default_factory=dict)


class _Reading:
    """State while lines are read."""

    def __init__(self, options: Options, ledger: Ledger) -> None:
        self.clock, self.ledger, self.incidents = options.clock(ledger), ledger, Incidents()
        self.span = Span()
        self.before_us: int | None = None
        self.waiting: list[Sign] = []
        self.block: _Block | None = None
        self.n_quiet, self.first_quiet = 0, ""

    def line(self, line: str, place: str) -> None:
        """Add one line."""
        if self.block is not None and self._in_block(self.block, line):
            return None
        try:
            at_us = stamp_in(line, self.clock)
        except NoTime as error:
            return self.ledger.not_parsed(str(error), place=place)
        words = any(word in line for word in _WORDS)
        if not words:
            if at_us is not None:
                self._pass(at_us)
            self.n_quiet += 1
            self.first_quiet = self.first_quiet or place
            return None
        return self._line_of_the_agent(line, at_us, place)

    def _line_of_the_agent(self, line: str, at_us: int | None, place: str) -> None:
        if any(start in line for start in _STARTS):
            self._pass(at_us)
            moment = at_us if at_us is not None else self.before_us
            if moment is not None:
                self.incidents.started(moment)
            return self.ledger.dropped("start of the workers", place=place)
        if "closing signal" in line:
            self._pass(at_us, anchor=True)
            return self.ledger.dropped("workers asked to stop", place=place)
        if _ROOT in line or _OTHERS in line:
            self.block = _Block(place, _ROOT in line)
            return None if _ROOT in line else self.ledger.merged("details of a failure's summary", place=place)
        sign = _sign(line, place)
        if sign is None:
            self._pass(at_us)
            return self.ledger.dropped("no sign of a failure", place=place)
        if at_us is None:
            self.waiting.append(sign)
            return None
        self._pass(at_us, anchor=True)
        return self.incidents.sign(sign, at_us)

    def end(self) -> None:
        """Add the lines that still wait for a time stamp."""
        if self.block is not None:
            self._close_block()
        self._give_waiting(self.before_us)
        self.ledger.dropped("no sign of a failure", self.n_quiet, self.first_quiet)

    def _pass(self, at_us: int | None, anchor: bool = False) -> None:
        """Note a time; lines that waited for one get the previous time, or this one if it belongs to a failure."""
        if at_us is None:
            return
        if self.waiting:
            self._give_waiting(at_us if anchor or self.before_us is None else self.before_us)
        self.before_us = at_us
        self.span.take(at_us)

    def _give_waiting(self, at_us: int | None) -> None:
        for sign in self.waiting:
            if at_us is None:
                self.ledger.not_parsed("no time in this or an earlier line", place=sign.place)
            else:
                self.incidents.sign(sign, at_us)
        self.waiting.clear()

    def _in_block(self, block: _Block, line: str) -> bool:
        """Whether the line belongs to the open summary."""
        match = _FIELD.search(line)
        if match is None and not _ENTRY.search(line):
            self._close_block()
            return False
        if match is not None:
            block.fields.setdefault(match[1], match[2].strip())
        self.ledger.merged("details of a failure's summary", place=block.place)
        return True

    def _close_block(self) -> None:
        block, self.block = self.block, None
        if block is None or not block.root:
            return
        sign = _root_cause(block)
        try:
            at_us = self.clock.us(block.fields["time"].replace("_", " "))
        except (KeyError, NoTime):
            self.waiting.append(sign)
            return
        self._pass(at_us, anchor=True)
        self.incidents.sign(sign, at_us)


def _sign(line: str, place: str) -> Sign | None:
    """The failure reported by a line; None if there is none."""
    if "Watchdog caught" in line:
        match = _TIMEOUT.search(line)
        earlier_ms = int(match[1]) if match and int(match[1]) <= _DAY_MS else 0
        return Sign("NCCL timeout", 3, earlier_us=earlier_ms * 1000, place=place)
    if match := _CUDA.search(line):
        hardware = any(word in match[1] for word in _HARDWARE)
        return Sign(f"CUDA error: {match[1].strip()}", 6 if hardware else 5, "GPU" if hardware else None, place=place)
    if "NET/IB" in line and "completion" in line and "error" in line:
        return Sign("InfiniBand completion error", 4, "Network", place=place)
    if "NCCL error" in line:
        match = _NCCL.search(line)
        return Sign(f"NCCL error: {match[1]}" if match else "NCCL error", 3, place=place)
    if match := _RENDEZVOUS.search(line):
        return Sign(match[0], 2, place=place)
    if match := _KILLED.search(line):
        return Sign(f"stopped by a signal ({_signal_name(match[1] or match[2])})", 1, outside=True, place=place)
    if match := _EXIT.search(line):
        return _exit(int(match[1]), place)
    if _GROUP_FAILED.search(line):
        return Sign("worker group failed", 0, place=place)
    return Sign("a worker failed", 0, place=place) if "ChildFailedError" in line else None


def _exit(code: int, place: str, node: str | None = None) -> Sign:
    """A worker that ended with an exit code; negative codes are signals."""
    if code >= 0:
        return Sign(f"exit code {code}", 1, node=node, place=place)
    rank = 1 if -code in _CONSEQUENCES else 4
    return Sign(f"signal {_signal_name(str(-code))}", rank, node=node, place=place)


def _signal_name(text: str) -> str:
    """A signal with its name, e.g. ``9 (SIGKILL)``."""
    try:
        return f"{text} ({signal.Signals(int(text)).name})" if text.isdecimal() else text
    except ValueError:
        return text


def _root_cause(block: _Block) -> Sign:
    """The failure that the agent observed first."""
    node = block.fields.get("host") or None
    code = re.match(r"-?\d{1,6}", block.fields.get("exitcode", ""))
    traceback = block.fields.get("traceback", "")
    sign = _sign(traceback, block.place) if "error" in traceback else None
    killed = _SIGNAL.match(traceback)
    if sign is not None:
        return Sign(sign.cause, sign.rank, sign.component, node, place=block.place)
    if killed or code:
        return _exit(-int(killed[1]) if killed else int(code[0]) if code else 1, block.place, node)
    return Sign("a worker failed", 0, node=node, place=block.place)


def _sniff(head: list[str]) -> bool:
    marks = (
        "torch.distributed",
        "torch/distributed",
        "torchrun",
        "ProcessGroupNCCL",
        "Worker group ",
        "elastic_operator",
    )
    return any(mark in line for line in head for mark in marks)


def _read(source: Source, options: Options, events: Events, ledger: Ledger) -> NodesWatched:
    """Read failures of the job from its launcher, one per incident."""
    reading = _Reading(options, ledger)
    for place, line in source.records(ledger):
        reading.line(line, place)
    reading.end()
    incidents = reading.incidents.settle()
    for incident in incidents:
        _add(incident, events, ledger)
    _notes(incidents, ledger)
    window = reading.span.window
    return NodesWatched(window=window and (min([window[0], *(incident.start_us for incident in incidents)]), window[1]))


def _add(incident: Incident, events: Events, ledger: Ledger) -> None:
    """Add an incident as a failure, unless the job was stopped from outside."""
    ledger.merged("another line of the same failure", incident.signs - 1, incident.best.place)
    if incident.first.outside:
        ledger.dropped("stopped from outside, not a failure", place=incident.first.place)
    else:
        events.add(
            incident.start_us,
            incident.end_us,
            node=incident.node,
            component=incident.component,
            cause=incident.best.cause,
        )


def _notes(incidents: list[Incident], ledger: Ledger) -> None:
    """Add notes on how failures were counted."""
    counted = [incident for incident in incidents if not incident.first.outside]
    n_exits = sum(incident.best.cause.startswith("exit code") for incident in counted)
    n_back = sum(incident.n_dated_back > 0 for incident in counted)
    ledger.note(
        f"lines within {CLOSE_MIN} min, or within {SAME_RUN_MIN} min without a start of the workers between them, "
        "count as one failure of the job"
    )
    if n_exits:
        ledger.note(f"failures with only an exit code, which may be program errors: {n_exits:,} of {len(counted):,}")
    if n_back:
        ledger.note(
            f"failures detected by the NCCL watchdog and dated back by its time-out: {n_back:,}; the watchdog shows "
            "which rank waited, not what failed"
        )


FORMAT = Format(
    "torchrun",
    "log of torchrun, the PyTorch elastic agent",
    _sniff,
    _read,
    "torchrun ... 2>&1 | tee run.log",
    "[2025-06-01 10:00:00,000] torch.distributed.elastic.agent.server.api: [INFO] [default] Starting worker group\n"
    "[2025-06-02 10:00:00,000] torch.distributed.elastic.multiprocessing.api: [ERROR] failed (exitcode: -9) rank: 3",
)
