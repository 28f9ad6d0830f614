"""Incidents: failure messages in a job's log, grouped so that each incident is one failure of the job."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field

CLOSE_MIN = 2
"""Messages within this time of each other belong to the same incident. [min]"""
SAME_RUN_MIN = 30
"""Longest time between messages of one incident if no workers start between them (time-outs are 10 to 30 min). [min]"""

_MINUTE_US = 60_000_000


@dataclass(frozen=True)
class Sign:
    """A log line that reports a failure of the job.

    Attributes
    ----------
    cause : str
        Cause of the failure; empty if the line has none.
    rank : int
        How specific the cause is: the line with the highest rank gives the cause of the incident.
    component, node : str or None
        Component and host in the line.
    earlier_us : int
        Time from the fault to the time stamp. [us]
    outside : bool
        Whether the job was stopped from outside.
    place : str
        Line number, for messages.
    """

    cause: str
    rank: int
    component: str | None = None
    node: str | None = None
    earlier_us: int = 0
    outside: bool = False
    place: str = ""


@dataclass
class Incident:
    """All lines of one failure.

    Attributes
    ----------
    start_us, seen_us, last_us : int
        Time of the fault, of its first line and of its last line. [us]
    best, first : Sign
        The line with the highest rank, and the earliest.
    node, component : str or None
        Host and component, if a line has them.
    signs : int
        Number of lines. [count]
    n_dated_back : int
        Lines whose fault is earlier than their time stamp. [count]
    end_us : int or None
        Time at which the workers started again. [us]
    """

    start_us: int
    seen_us: int
    last_us: int
    best: Sign
    first: Sign
    node: str | None
    component: str | None
    signs: int = 1
    n_dated_back: int = 0
    end_us: int | None = None

    def take(self, other: Incident) -> None:
        """Merge another incident into this one."""
        if other.start_us < self.start_us:
            self.start_us, self.first = other.start_us, other.first
        self.seen_us = min(self.seen_us, other.seen_us)
        self.last_us = max(self.last_us, other.last_us)
        self.best = max(self.best, other.best, key=lambda sign: sign.rank)
        self.node = self.node or other.node
        self.component = self.component or other.component
        self.signs += other.signs
        self.n_dated_back += other.n_dated_back


@dataclass
class Incidents:
    """Collects failure messages and worker starts, in any order of time."""

    _open: Incident | None = None
    _all: list[Incident] = field(default_factory=list)
    _starts: list[int] = field(default_factory=list)

    def sign(self, sign: Sign, at_us: int) -> None:
        """Add a line that reports a failure."""
        new = Incident(
            at_us - sign.earlier_us,
            at_us,
            at_us,
            sign,
            sign,
            sign.node,
            sign.component,
            n_dated_back=bool(sign.earlier_us),
        )
        if self._open is not None and abs(at_us - self._open.last_us) <= CLOSE_MIN * _MINUTE_US:
            self._open.take(new)
        else:
            self._open = new
            self._all.append(new)

    def started(self, at_us: int) -> None:
        """Add a start of the workers."""
        if not self._starts or self._starts[-1] != at_us:
            self._starts.append(at_us)
        self._open = None

    def settle(self) -> list[Incident]:
        """Return the incidents in order of time, with those of the same failure merged.

        Returns
        -------
        list of Incident
            No incident starts before the workers did; each ends when the workers start again, if the log has that.
        """
        starts = sorted(self._starts)
        for incident in self._all:
            before = bisect_left(starts, incident.seen_us)
            if before:
                incident.start_us = max(incident.start_us, starts[before - 1])
        merged: list[Incident] = []
        for incident in sorted(self._all, key=lambda incident: incident.start_us):
            if merged and _same(merged[-1], incident, starts):
                merged[-1].take(incident)
            else:
                merged.append(incident)
        for i, incident in enumerate(merged):
            after = bisect_right(starts, incident.last_us)
            following = merged[i + 1].start_us if i + 1 < len(merged) else None
            if after < len(starts) and (following is None or starts[after] <= following):
                incident.end_us = starts[after]
        return merged


def _same(earlier: Incident, later: Incident, starts: list[int]) -> bool:
    """Whether two incidents are the same failure: close in time, without a start of the workers between them."""
    if later.start_us <= earlier.last_us:
        return True
    n_before = bisect_right(starts, earlier.last_us)
    if n_before < bisect_right(starts, later.start_us):
        return False
    # without any start in the log, a long time-out cannot be distinguished from a second failure
    apart_min = SAME_RUN_MIN if n_before else CLOSE_MIN
    return later.start_us - earlier.last_us <= apart_min * _MINUTE_US
