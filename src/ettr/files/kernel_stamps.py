"""Time stamps of kernel logs, as dmesg, the journal and syslog write them."""

from __future__ import annotations

import re
from datetime import datetime, tzinfo

from ettr.files.clock import StampClock
from ettr.files.months import month_of
from ettr.files.times import END_US, FIRST_US, FIRST_YEAR, LAST_YEAR, NOT_A_TIME, SECOND, NoTime
from ettr.files.zones import abbreviated

_FIRST = r"(?:<[0-9]{1,3}>[0-9]{0,2} ?)?(?:[a-z]{2,8} *: *[a-z]{2,6} *: )?"
_WEEKDAY = r"(?:[^\W\d_]{1,4}\.?,? )?"
_DATE = r" {0,2}([^\W\d_]{3,9}\.?|1?[0-9][月월]) {1,2}([0-9]{1,2}) ([0-9]{2}):([0-9]{2})"
"""Month by name in any language, day, hour and minute."""
_DMESG = re.compile(rf"{_FIRST}\[{_WEEKDAY}{_DATE}:([0-9]{{2}}) ([0-9]{{4}})(?: *<[ 0-9.]+>)?\]")
_HUMAN = re.compile(rf"{_FIRST}\[{_DATE.replace('{1,2}(', '{0,2}(')}\] ")
"""With ``dmesg --human`` a day of two digits follows its month without a blank."""
_SINCE_LAST = re.compile(rf"{_FIRST}\[ *\+([0-9]{{1,9}}\.[0-9]{{1,9}})\]")
"""Seconds since the previous line, as ``dmesg --human`` writes them."""
_ISO = re.compile(
    rf"{_FIRST}{_WEEKDAY}([0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}[T ][0-9]{{2}}:[0-9]{{2}}:[0-9]{{2}}(?:[.,][0-9]{{1,9}})?"
    r"(?: ?(?:Z|[+-][0-9]{2}(?::?[0-9]{2})?)(?!\S))?)(?: ([A-Z]{3,5})(?= (?!kernel)))?"
)
_UNIX = re.compile(rf"{_FIRST}([0-9]{{9,10}}\.[0-9]{{1,9}}) ")
_SYSLOG = re.compile(rf"{_FIRST}{_DATE}:([0-9]{{2}})(?:\.[0-9]{{1,9}})? ")
_UPTIME = re.compile(rf"{_FIRST}\[ *[0-9]{{0,12}}\.?[0-9]{{0,9}}(?: *< *[0-9]{{1,9}}\.[0-9]{{1,9}} *>)?\]")


class NoMonth(NoTime):
    """A word in place of a month that is no month in any known language."""


class KernelStamps:
    """Reads the time stamps at the start of lines.

    Parameters
    ----------
    clock : StampClock
        Reads the dates.
    zone : tzinfo or None
        Time zone of the log, for abbreviations that several zones use.
    """

    def __init__(self, clock: StampClock, zone: tzinfo | None) -> None:
        self._clock, self._zone = clock, zone
        self._last_us: int | None = None

    def read(self, line: str, start: int) -> tuple[int, int] | None:
        """Return the time of a line [us] and the end of its time stamp; None without one.

        Parameters
        ----------
        line : str
            A line of the log.
        start : int
            Where its time stamp would begin.

        Raises
        ------
        NoTime
            The day or the hour does not exist, or the month is in a language that is not read (``NoMonth``).
        InputError
            The year is needed, or the time zone is ambiguous.

        Examples
        --------
        >>> from ettr.files.ledger import Ledger
        >>> stamps = KernelStamps(StampClock(Ledger()), None)
        >>> stamps.read("[Mo Okt  6 02:00:00 2025] NVRM: loading", 0)
        (1759716000000000, 25)
        """
        if match := _ISO.match(line, start):
            zone = match[2] and abbreviated(match[2], int(match[1][:4]), self._zone)
            at_us = self._clock.us_of_iso(f"{match[1]}{zone}" if zone else match[1])
            end = match.end() if zone else match.end(1)
        elif match := _DMESG.match(line, start):
            at_us, end = self._us(match, int(match[6])), match.end()
        elif match := _SYSLOG.match(line, start) or _HUMAN.match(line, start):
            at_us, end = self._us(match, None), match.end()
        elif match := _UNIX.match(line, start):
            at_us, end = round(float(match[1]) * SECOND), match.end()
            if not FIRST_US <= at_us < END_US:
                raise NoTime(f"year outside {FIRST_YEAR}-{LAST_YEAR}")
        elif (match := _SINCE_LAST.match(line, start)) and self._last_us is not None:
            at_us, end = self._last_us + round(float(match[1]) * SECOND), match.end()
        else:
            return None
        self._last_us = at_us
        return at_us, end

    def _us(self, match: re.Match[str], year: int | None) -> int:
        """Time of a date with the month by name. [us]"""
        month = month_of(match[1])
        if month is None:
            raise NoMonth(f"the month {match[1]!r} is in a language that is not read")
        day, hour, minute = map(int, match.group(2, 3, 4))
        second = int(match[5]) if match.re is not _HUMAN else 0
        if year is None:
            return self._clock.us_without_year(month, day, hour, minute, second)
        try:
            moment = datetime(year, month, day, hour, minute, min(second, 59))
        except ValueError as error:
            raise NoTime(NOT_A_TIME) from error
        return self._clock.us_of(moment)


def has_only_uptime(line: str, start: int = 0) -> bool:
    """Return whether a line has the time since boot instead of a date, at its start or after a prefix."""
    return bool(_UPTIME.match(line) or _UPTIME.match(line, start))


def is_dmesg(line: str) -> bool:
    """Return whether a line starts with a date or an uptime in brackets."""
    return bool(_DMESG.match(line)) or has_only_uptime(line)
