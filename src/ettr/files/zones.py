"""Zones, and local times in them.

Ours, since pandas refuses a whole column for one time that a change of the clocks made ambiguous: here such times are
taken as the first of the two, and counted.
"""

from __future__ import annotations

import re
import zoneinfo
from datetime import UTC, timedelta, timezone, tzinfo

import numpy as np

from ettr.core.errors import InputError, UnknownName
from ettr.files.ledger import Ledger
from ettr.files.times import EPOCH, ONE_US, SECOND

_QUARTER = 900 * SECOND
"""Since 1990 every zone has changed its offset at a quarter of an hour."""
_OFFSET = re.compile(r"(?:UTC|GMT)?([+-])(\d{1,2}):?([0-5]\d)?", re.ASCII)


def zone_of(given: str | tzinfo | None) -> tzinfo | None:
    """Find a zone by its name, or by its offset from UTC.

    Parameters
    ----------
    given : str, tzinfo or None
        ``Europe/Berlin``, ``UTC``, ``+08:00``, ``UTC-5``, or a zone.

    Returns
    -------
    tzinfo or None
        None for None.

    Raises
    ------
    UnknownName
        No zone of that name.
    InputError
        An offset of more than 14 hours.

    Examples
    --------
    >>> print(zone_of("europe/berlin"), zone_of("+0530"))
    Europe/Berlin UTC+05:30
    """
    if given is None or isinstance(given, tzinfo):
        return given
    name = str(given).strip()
    if name.upper() in ("Z", "UTC", "GMT"):
        return UTC
    offset = _OFFSET.fullmatch(name)
    if offset:
        ahead = timedelta(hours=int(offset[2]), minutes=int(offset[3] or 0))
        if ahead > timedelta(hours=14):
            raise InputError(f"zone must be at most 14 h from UTC, got {name!r}")
        return timezone(ahead if offset[1] == "+" else -ahead)
    valid = zoneinfo.available_timezones()
    exact = {each.lower(): each for each in valid}.get(name.lower())
    if exact is None:
        raise UnknownName("zone", name, valid, "--zone; an offset such as +08:00 will do too")
    return zoneinfo.ZoneInfo(exact)


class LocalTimes:
    """Universal times of the local times of one file.

    Parameters
    ----------
    zone : tzinfo or None
        Of times that carry none; they are taken as UTC if it is not given.

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
        """Universal time of a local time. [us]"""
        self.n += 1
        if self.zone is None:
            return local_us
        offset, odd = self._offset(local_us // _QUARTER)
        self._twice += odd > 0
        self._never += odd < 0
        return local_us - offset

    def utc_many(self, local_us: np.ndarray) -> np.ndarray:
        """Universal times of local times. [us]"""
        self.n += len(local_us)
        if self.zone is None or not len(local_us):
            return local_us
        if isinstance(self.zone, timezone):  # the same at any time
            return local_us - self.zone.utcoffset(None) // ONE_US
        quarters, places = np.unique(local_us // _QUARTER, return_inverse=True)
        offsets = np.array([self._offset(int(quarter)) for quarter in quarters], dtype=np.int64)[places]
        self._twice += int((offsets[:, 1] > 0).sum())
        self._never += int((offsets[:, 1] < 0).sum())
        return local_us - offsets[:, 0]

    def note(self, ledger: Ledger) -> None:
        """Say how many times the clocks of the zone made ambiguous, or skipped."""
        if self._twice:
            twice = "local times that came twice when clocks were set back, taken as the first"
            ledger.note(f"{twice}: {self._twice:,}")
        if self._never:
            never = "local times that were skipped when clocks were set forward, moved forward"
            ledger.note(f"{never}: {self._never:,}")

    def _offset(self, quarter: int) -> tuple[int, int]:
        """Offset from UTC [us] in a quarter of an hour, and 1 if it comes twice, -1 if the clock skips it."""
        found = self._offsets.get(quarter)
        if found is None:
            moment = (EPOCH + timedelta(microseconds=quarter * _QUARTER)).replace(tzinfo=self.zone)
            first, second = (moment.replace(fold=fold).utcoffset() or timedelta() for fold in (0, 1))
            found = (first // ONE_US, (first > second) - (first < second))
            self._offsets[quarter] = found
        return found
