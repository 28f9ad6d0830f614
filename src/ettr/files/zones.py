"""Time zones, and local times in them.

Written here because pandas refuses a whole column for a single time that a clock change made ambiguous. Here such a
time counts as the first of the two, with a note.
"""

from __future__ import annotations

import re
import zoneinfo
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import lru_cache

import numpy as np

from ettr.core.errors import InputError, UnknownName
from ettr.files.ledger import Ledger
from ettr.files.times import EPOCH, ONE_US, SECOND

_QUARTER = 900 * SECOND
"""Since 1990 every time zone has changed its offset at full quarters of an hour."""
_OFFSET = re.compile(r"(?:UTC|GMT)?([+-])(\d{1,2}):?([0-5]\d)?", re.ASCII)


def zone_of(zone: str | tzinfo | None) -> tzinfo | None:
    """Return a time zone from its name or its offset from UTC.

    Parameters
    ----------
    zone : str, tzinfo or None
        ``Europe/Berlin``, ``UTC``, ``+08:00``, ``UTC-5``, or a tzinfo.

    Returns
    -------
    tzinfo or None
        None for None.

    Raises
    ------
    UnknownName
        If there is no time zone of that name.
    InputError
        If the offset exceeds 14 hours.

    Examples
    --------
    >>> print(zone_of("europe/berlin"), zone_of("+0530"))
    Europe/Berlin UTC+05:30
    """
    if zone is None or isinstance(zone, tzinfo):
        return zone
    name = str(zone).strip()
    if name.upper() in ("Z", "UTC", "GMT"):
        return UTC
    offset = _OFFSET.fullmatch(name)
    if offset:
        ahead = timedelta(hours=int(offset[2]), minutes=int(offset[3] or 0))
        if ahead > timedelta(hours=14):
            raise InputError(f"zone must be at most 14 h from UTC, got {name!r}")
        return timezone(ahead if offset[1] == "+" else -ahead)
    valid = zoneinfo.available_timezones()
    spelling = {valid_name.lower(): valid_name for valid_name in valid}.get(name.lower())
    if spelling is None:
        raise UnknownName("zone", name, valid, "`zone`, a name or an offset such as +08:00")
    return zoneinfo.ZoneInfo(spelling)


@lru_cache(maxsize=1000)
def abbreviated(name: str, year: int, zone: tzinfo | None = None) -> str | None:
    """Return the offset that an abbreviation of a time zone means, such as ``+02:00`` for CEST.

    Parameters
    ----------
    name : str
        Abbreviation in capitals.
    year : int
        Year of the time stamp.
    zone : tzinfo or None
        Time zone of the file, whose abbreviations come first.

    Returns
    -------
    str or None
        None for a name that no zone uses.

    Raises
    ------
    InputError
        Zones with different offsets share the name, such as CST and IST.

    Examples
    --------
    >>> abbreviated("CEST", 2025), abbreviated("CST", 2025, zone_of("America/Chicago")), abbreviated("GPU", 2025)
    ('+02:00', '-06:00', None)
    """
    if name in ("UTC", "GMT", "Z"):
        return "+00:00"
    offsets: set[str] = set()
    for zones in ([zone] if zone else [], map(zoneinfo.ZoneInfo, sorted(zoneinfo.available_timezones()))):
        moments = [datetime(year, month, 15, tzinfo=each) for each in zones for month in (1, 4, 7, 10)]
        offsets = {f"{moment:%z}" for moment in moments if moment.tzname() == name}
        if len(offsets) == 1:
            offset = offsets.pop()
            return f"{offset[:3]}:{offset[3:5]}"
    if offsets:
        raise InputError(
            f"times must have a zone with one offset from UTC; {name} may be any of {', '.join(sorted(offsets))}: give "
            'the zone of the log, e.g. `zone="America/Chicago"`'
        )
    return None


class LocalTimes:
    """Converts the local times of a file to UTC.

    Parameters
    ----------
    zone : tzinfo or None
        Time zone of times without one; UTC if not given.

    Attributes
    ----------
    n : int
        Local times read. [count]
    """

    def __init__(self, zone: tzinfo | None) -> None:
        self.zone, self.n = zone, 0
        self._offsets: dict[int, tuple[int, int]] = {}
        self._twice = self._never = 0

    def utc(self, local_us: int) -> int:
        """Return a local time in UTC. [us]"""
        self.n += 1
        if self.zone is None:
            return local_us
        offset, odd = self._offset(local_us // _QUARTER)
        self._twice += odd > 0
        self._never += odd < 0
        return local_us - offset

    def utc_many(self, local_us: np.ndarray) -> np.ndarray:
        """Return local times in UTC. [us]"""
        self.n += len(local_us)
        if self.zone is None or not len(local_us):
            return local_us
        if isinstance(self.zone, timezone):  # constant offset
            return local_us - self.zone.utcoffset(None) // ONE_US
        quarters, places = np.unique(local_us // _QUARTER, return_inverse=True)
        offsets = np.array([self._offset(int(quarter)) for quarter in quarters], dtype=np.int64)[places]
        self._twice += int((offsets[:, 1] > 0).sum())
        self._never += int((offsets[:, 1] < 0).sum())
        return local_us - offsets[:, 0]

    def note(self, ledger: Ledger) -> None:
        """Note how many local times were ambiguous or skipped by clock changes."""
        if self._twice:
            ledger.note(f"ambiguous local times when clocks were set back, read as the first: {self._twice:,}")
        if self._never:
            ledger.note(f"local times skipped when clocks were set forward, moved forward: {self._never:,}")

    def _offset(self, quarter: int) -> tuple[int, int]:
        """Offset from UTC [us] in a quarter of an hour, and 1 if it is ambiguous, -1 if it is skipped."""
        offset = self._offsets.get(quarter)
        if offset is None:
            moment = (EPOCH + timedelta(microseconds=quarter * _QUARTER)).replace(tzinfo=self.zone)
            first, second = (moment.replace(fold=fold).utcoffset() or timedelta() for fold in (0, 1))
            offset = (first // ONE_US, (first > second) - (first < second))
            self._offsets[quarter] = offset
        return offset
