"""Time stamps within the lines of programs: ISO, those of absl and glog, and those of nanotron."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime

from ettr.files.clock import StampClock
from ettr.files.ledger import Ledger
from ettr.files.times import NoTime

_STAMP = re.compile(
    r"(?<![\d-])\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?(?!\d)"
    r"|\b[IWEF](\d{1,2})(\d\d) (\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))? "
    r"|\b(\d\d)/(\d\d)/(\d{4}) (\d\d:\d\d:\d\d)(?= \[[A-Z]+\|)",
    re.ASCII,
)
"""ISO; that of absl and glog, without a year; that of nanotron, with the month first."""
_WITHIN, _LONGEST = 160, 40
"""A time stamp must start within the first characters of a line, after a launcher's prefix, and has at most 40."""


def stamp_in(line: str, clock: StampClock) -> int | None:
    """Return the time of a line; None without a time stamp. [us since 1970 UTC]

    Parameters
    ----------
    line : str
        A line of a log.
    clock : StampClock
        Reads the dates.

    Raises
    ------
    NoTime
        The day or the hour does not exist.
    InputError
        The time stamp has no year, and the clock was given none.

    Examples
    --------
    >>> clock = StampClock(Ledger())
    >>> stamp_in("[rank0]: 2025-06-04T08:51:58Z step: 10", clock), stamp_in("step: 10", clock)
    (1749027118000000, None)
    """
    match = _first(line)
    if match is None:
        return None
    if match[1]:
        month, day, hour, minute, second = map(int, match.group(1, 2, 3, 4, 5))
        return clock.us_without_year(month, day, hour, minute, second, int((match[6] or "").ljust(6, "0")[:6]))
    return clock.us_of_iso(f"{match[9]}-{match[7]}-{match[8]} {match[10]}" if match[7] else match[0])


def _first(line: str) -> re.Match[str] | None:
    """The first time stamp that starts near the start of a line."""
    match = _STAMP.search(line, 0, _WITHIN + _LONGEST)
    return match if match and match.start() < _WITHIN else None


def latest_year(head: Iterable[str], ledger: Ledger) -> int | None:
    """Return the latest possible year of the first time stamp without one, with a note; None if all have a year."""
    for line in head:
        match = _first(line)
        if match is not None and match[1]:
            now = datetime.now(UTC)
            year = now.year - ((int(match[1]), int(match[2])) > (now.month, now.day))
            ledger.note(
                f"times have no year: the first is taken to be in {year}; set another with `year`. Time differences do "
                "not depend on it"
            )
            return year
    return None


def stamp_or_none(line: str, clock: StampClock) -> int | None:
    """Return the time of a line; None without a possible time stamp. [us since 1970 UTC]"""
    try:
        return stamp_in(line, clock)
    except NoTime:
        return None
