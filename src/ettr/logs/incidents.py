"""From signs of trouble in a job's log to incidents: one failure of the job each."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field

CLOSE_MIN = 2
"""Signs closer than this belong together."""
SAME_RUN_MIN = 30
"""So do signs up to this apart with no start of the workers between them: time-outs of 10 and 30 min are usual."""

_MINUTE_US = 60_000_000


@dataclass(frozen=True)
class Sign:
    """A line that speaks of a failure of the job.

    Attributes
    ----------
    cause : str
        What it says; empty if it only says that the job failed.
    rank : int
        How much the cause tells: of several, the highest stands for the incident.
    component, node : str or None
        Part and host that it names.
    earlier_us : int
        How long before its time stamp the fault happened. [us]
    outside : bool
        Whether somebody told the job to stop.
    place : str
        Where it stands.
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
    """Signs of one failure.

    Attributes
    ----------
    start_us, seen_us, last_us : int
        The fault, and the first and the last line that speak of it. [us]
    best, first : Sign
        The one that tells most, and the earliest.
    node, component : str or None
        Host and part, where a line names them.
    signs : int
        Lines. [count]
    n_dated_back : int
        Lines whose fault lies before their stamp. [count]
    end_us : int or None
        When the workers started again. [us]
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
        """Make another incident part of this one."""
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
    """Collects signs and starts while a log passes, in any order of time."""

    _open: Incident | None = None
    _all: list[Incident] = field(default_factory=list)
    _starts: list[int] = field(default_factory=list)

    def sign(self, sign: Sign, at_us: int) -> None:
        """Take a line that speaks of a failure."""
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
        """Take a line that says that the workers start."""
        if not self._starts or self._starts[-1] != at_us:
            self._starts.append(at_us)
        self._open = None

    def settle(self) -> list[Incident]:
        """Incidents in order of time, those of one failure put together.

        Returns
        -------
        list of Incident
            None begins before the workers did, and each ends when they start again, if the log says so.
        """
        starts = sorted(self._starts)
        for one in self._all:
            before = bisect_left(starts, one.seen_us)
            if before:
                one.start_us = max(one.start_us, starts[before - 1])
        together: list[Incident] = []
        for one in sorted(self._all, key=lambda incident: incident.start_us):
            if together and _same(together[-1], one, starts):
                together[-1].take(one)
            else:
                together.append(one)
        for i, one in enumerate(together):
            after = bisect_right(starts, one.last_us)
            following = together[i + 1].start_us if i + 1 < len(together) else None
            if after < len(starts) and (following is None or starts[after] <= following):
                one.end_us = starts[after]
        return together


def _same(earlier: Incident, later: Incident, starts: list[int]) -> bool:
    if later.start_us <= earlier.last_us:
        return True
    n_before = bisect_right(starts, earlier.last_us)
    if n_before < bisect_right(starts, later.start_us):
        return False
    # a log that never shows a start cannot tell a long time-out from a second failure
    apart_min = SAME_RUN_MIN if n_before else CLOSE_MIN
    return later.start_us - earlier.last_us <= apart_min * _MINUTE_US
