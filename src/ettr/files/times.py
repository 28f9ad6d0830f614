"""Times as written by people and machines: time stamps or numbers. Ambiguous ones are refused."""

from __future__ import annotations

import contextlib
import re
from bisect import bisect_right
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import lru_cache

import numpy as np

from ettr.core.errors import InputError
from ettr.files.ledger import Ledger
from ettr.files.months import month_of

SECOND = 1_000_000
HOUR, DAY = 3600 * SECOND, 86_400 * SECOND
EPOCH, ONE_US = datetime(1970, 1, 1), timedelta(microseconds=1)
FIRST_YEAR, LAST_YEAR = 1990, 2100
FIRST_US = (datetime(FIRST_YEAR, 1, 1) - EPOCH) // ONE_US
"""Earliest time in a log of a GPU cluster. [us since 1970 UTC]"""
END_US = (datetime(LAST_YEAR + 1, 1, 1) - EPOCH) // ONE_US
SMALLEST_SINCE_1970 = 1e8
LONGEST_DAYS = 20_000
"""From here on (55 years) a number without a unit is not a count of days but the date number of a spreadsheet."""
_LONGEST = 100
"""Longest time stamp, with the name of its time zone. [characters]"""
_SHORT_YEAR, _FIRST_OF_1900S = 2, 69
"""A year of two digits, read only next to a month by name: 00-68 are in this century."""
_ZONE = r"\s*(?P<zone>Z|UTC|GMT|[+-]\d\d(?::?\d\d)?)?"
_HALF = r"(?:\s*(?P<half>[AP])\.?\s?M\.?)?"
_TIME = r"(?P<h>\d{1,2}):(?P<min>\d\d)(?::(?P<s>\d\d)(?:[.,](?P<f>\d{1,9}))?)?" + _HALF + _ZONE
_THEN_TIME = rf"(?:(?:T|,?\s+|[,:]\s*){_TIME})?"
_LETTER = "[a-z\u00c0-\u024f]"
_MONTH = rf"(?P<name>{_LETTER}{{3,12}})\.?"
_WEEKDAY = (
    "(?:(?:(?:mon|tue|wed|thu|fri|sat|sun|lun|mar|mer|jeu|ven|sam|dim|mi[eé]|jue|vie|s[aá]b|dom|diens|donn|mitt|frei"
    rf"|sonn){_LETTER}*|mo|di|mi|do|fr|sa|so)[.,]*\s+)?"
)
_FLAGS = re.ASCII | re.IGNORECASE
_ISO = re.compile(
    rf"(?P<y>\d{{4}})(?P<sep>[-/.])(?P<mo>\d{{1,2}})(?P=sep)(?P<d>\d{{1,2}})(?:(?P<t>T|\s+|,\s*|_){_TIME})?", _FLAGS
)
_WITHOUT_SIGNS = re.compile(
    r"(?P<y>\d{4})(?P<mo>\d\d)(?P<d>\d\d)(?:[T\s_]|-(?=\d{6}))(?P<h>\d\d|\d(?=:)):?(?P<min>\d\d)"
    rf"(?::?(?P<s>\d\d)(?:[.,](?P<f>\d{{1,9}}))?)?{_HALF}{_ZONE}",
    _FLAGS,
)
_WORDED = (
    re.compile(
        rf"{_WEEKDAY}(?P<d>\d{{1,2}})(?:st|nd|rd|th|er|\.)?[-/\s]?\s*(?:de\s+)?{_MONTH},?[-/\s]\s*(?:de\s+)?"
        rf"(?P<y>\d{{4}}|\d\d(?!:)){_THEN_TIME}",
        _FLAGS,
    ),
    re.compile(rf"{_WEEKDAY}{_MONTH}\s+(?P<d>\d{{1,2}})(?:st|nd|rd|th)?,?\s+(?P<y>\d{{4}}){_THEN_TIME}", _FLAGS),
    re.compile(rf"{_MONTH}(?P<sep>[-/])(?P<d>\d{{1,2}})(?P=sep)(?P<y>\d{{4}}|\d\d(?!:)){_THEN_TIME}", _FLAGS),
    re.compile(rf"(?P<y>\d{{4}})(?P<sep>[-/\s]){_MONTH}(?P=sep)(?P<d>\d{{1,2}}){_THEN_TIME}", _FLAGS),
    re.compile(rf"{_WEEKDAY}{_MONTH}\s+(?P<d>\d{{1,2}})\s+{_TIME}\s+(?P<y>\d{{4}})", _FLAGS),
)
ORDERED = re.compile(rf"(?P<a>\d{{1,2}})(?P<sep>[-/.])(?P<b>\d{{1,2}})(?P=sep)(?P<y>\d{{4}}){_THEN_TIME}", _FLAGS)
_DATE_ALONE = re.compile(r"(?:19|20)\d{6}|\d{1,2}([-/.])\d{1,2}\1\d\d", re.ASCII)
"""Dates that are no times by themselves, but may stand next to a column of hours."""
_HOUR_ALONE = re.compile(_TIME, _FLAGS)
_LETTERS_AT_END = re.compile(r" (?!AM|PM)[A-Z]{2,5}$")
_MIDNIGHT = re.compile(r"[T\s]0?0:00(?::00(?:[.,]0+)?)?$")
_SIMPLER = tuple(
    (re.compile(pattern), simpler)
    for pattern, simpler in (
        (r"\s+", " "),  # also blanks that do not break
        (r"^\[(.*)\]$", r"\1"),
        (r"\s+m=[-+][\d.]+$", ""),  # monotonic clock in times of Go
        (r"\b(?:UTC|GMT)\s?(?=[-+]\d\d)", ""),
        # the offset decides; only letters that cannot contradict it are dropped
        (r"([-+]\d\d:?\d\d)\s+(?:\1|\(?(?!UTC|GMT)[A-Z]{3,5}\)?|\((?!UTC|GMT)[A-Z][\w ]*\))$", r"\1"),
        (r"([-+]00:?00)\s+\(?(?:UTC|GMT)\)?$", r"\1"),
        (r"[-\s](\d\d?)\.(\d\d)\.(\d\d)(?=[.,\s]|$)", r" \1:\2:\3"),  # hours with points, as in logs of Blue Gene
        (r"(\d{4})\s?[年년]\s?(\d\d?)\s?[月월]\s?(\d\d?)\s?[日일]", r"\1-\2-\3 "),
        (r"(?<=\d),?\s+(?:at|um|om|kl\.?|à|às|a las|alle(?: ore)?|[-–|])\s+(?=\d)", " "),
        (r"\b(\d\d?)\s?h\s?(\d\d)\b", r"\1:\2"),
        (r"(?<=:\d\d)\s*(?:Uhr|uhr|hrs?|h)$", ""),
    )
)
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?", _FLAGS)
_REASONS = (
    (re.compile(r"\d{1,2}-[a-z]{3}|[a-z]{3}-\d{2}", _FLAGS), "date shortened by a spreadsheet, such as 5-Apr"),
    (re.compile(r"\d{1,2}[-/.]\d{1,2}[-/.]\d\d(?:\D.*)?", _FLAGS | re.DOTALL), "year with two digits"),
    (
        re.compile(r".*\d:\d\d(?:[.,]\d+)?\s*(?:[AP]M\s*)?(?![AP]M)[a-z]{2,5}(?:\s+\d{4})?", _FLAGS | re.DOTALL),
        "time zone in letters, which may mean several: write an offset such as +02:00",
    ),
    (_HOUR_ALONE, "hour without a date"),
)


class NoTime(ValueError):
    """A text that is not a time, or not a plausible one."""


def written(text: str) -> datetime | None:
    """Return an unambiguous time stamp as a datetime.

    Parameters
    ----------
    text : str
        With the year first, as in ``2024-02-13 04:12:33,5Z``, or the month by name.

    Returns
    -------
    datetime or None
        With its time zone, naive if it has none; None for any other text.

    Raises
    ------
    NoTime
        The day or the hour does not exist.

    Examples
    --------
    >>> written("2024/02/13 04:12 +08:00").isoformat(), written("03/04/2025")
    ('2024-02-13T04:12:00+08:00', None)
    """
    match = _ISO.fullmatch(text)
    if match:
        with contextlib.suppress(ValueError):  # the format of most files, and much faster
            return datetime.fromisoformat(text)
        return moment_of(match, int(match["mo"]), int(match["d"]))
    return _written_otherwise(text) if len(text) <= _LONGEST else None


@lru_cache(maxsize=10_000)
def _written_otherwise(text: str) -> datetime | None:
    """The same for the forms that only some files have."""
    found = _month_in(text) or _month_in(simplified(text))
    return moment_of(*found, int(found[0]["d"])) if found else None


def _month_in(text: str) -> tuple[re.Match[str], int] | None:
    """The parts of a time stamp that is no ISO date with digits only, and its month."""
    for pattern in (_WITHOUT_SIGNS, *_WORDED, _ISO):
        match = pattern.fullmatch(text)
        if match:
            parts = match.groupdict()
            month = int(parts["mo"]) if "mo" in parts else month_of(parts["name"])
            if month:
                return match, month
    return None


def simplified(text: str) -> str:
    """Return a time stamp without signs and words that do not change its meaning.

    Examples
    --------
    >>> simplified("1.6.2025 um 10:00 Uhr"), simplified("2005-06-03-15.42.50.67")
    ('1.6.2025 10:00', '2005-06-03 15:42:50.67')
    """
    for pattern, simpler in _SIMPLER:
        text = pattern.sub(simpler, text)
    return text.strip()


def time_part(text: str) -> str:
    """Return which part of a time a text has: ``date``, ``hour`` or ``both``; empty if it is none.

    Examples
    --------
    >>> [time_part(text) for text in ("01/06/2025", "10:00 PM", "2025-06-01 10:00", "2025-06-01 00:00:00", "gpu-07")]
    ['date', 'hour', 'both', 'date', '']
    """
    text = simplified(text[:_LONGEST])
    if _HOUR_ALONE.fullmatch(_LETTERS_AT_END.sub("", text)):
        return "hour"
    date = _MIDNIGHT.sub("", text)
    if _DATE_ALONE.fullmatch(date):
        return "date"
    found = _month_in(date)
    match = found[0] if found else ORDERED.fullmatch(date)
    return "" if match is None else "both" if match["h"] else "date"


def joined(date: str, *hour: str) -> str:
    """Return one time stamp from the texts of a date and of an hour.

    Examples
    --------
    >>> joined("2025-06-01 00:00:00", "10:00")
    '2025-06-01 10:00'
    """
    return " ".join([_MIDNIGHT.sub("", date.strip()), *(text.strip() for text in hour)]).strip()


def is_number(text: str) -> bool:
    """Return whether a text is a plain number."""
    return _NUMBER.fullmatch(text) is not None


NOT_A_TIME = "not a time"


def why_not(text: str) -> str:
    """Return the reason why a text is not a time, for the ledger.

    Parameters
    ----------
    text : str
        Text in place of a time.

    Returns
    -------
    str
        One of a few reasons.

    Examples
    --------
    >>> why_not("5-Apr")
    'date shortened by a spreadsheet, such as 5-Apr'
    """
    text = text.strip()
    if not text:
        return "no time"
    if _NUMBER.fullmatch(text):
        too_large = LONGEST_DAYS <= float(text) < SMALLEST_SINCE_1970
        return "number too large for days" if too_large else "number that is not a time"
    iso = _ISO.fullmatch(text)
    if iso and not FIRST_YEAR <= int(iso["y"]) <= LAST_YEAR:
        return f"year outside {FIRST_YEAR}-{LAST_YEAR}"
    return next((reason for pattern, reason in _REASONS if pattern.fullmatch(text)), NOT_A_TIME)


def moment_of(match: re.Match[str], month: int, day: int) -> datetime:
    """Return the parts of a time stamp as a datetime, with its time zone if it has one."""
    year, hour, minute, second = (int(match[part] or 0) for part in ("y", "h", "min", "s"))
    if len(match["y"]) == _SHORT_YEAR:
        year += 2000 if year < _FIRST_OF_1900S else 1900
    if match["half"]:
        if not 1 <= hour <= 12:
            raise NoTime(NOT_A_TIME)
        hour = hour % 12 + 12 * (match["half"].upper() == "P")
    fraction = int((match["f"] or "0").ljust(6, "0")[:6])
    leap = second == 60
    day_ends = (hour, minute, second, fraction) == (24, 0, 0, 0)
    try:
        zone = _fixed(match["zone"]) if match["zone"] else None
        moment = datetime(year, month, day, 0 if day_ends else hour, minute, 59 if leap else second, fraction, zone)
        return moment + timedelta(days=day_ends, seconds=leap)
    except (ValueError, OverflowError) as error:
        raise NoTime(NOT_A_TIME) from error


@lru_cache(maxsize=1000)
def _fixed(zone: str) -> tzinfo:
    """A time zone such as Z or +08:00."""
    if zone[0] not in "+-":
        return UTC
    minutes = int(zone[1:3]) * 60 + int(zone[3:].lstrip(":") or 0)
    return timezone(timedelta(minutes=minutes if zone[0] == "+" else -minutes))


def shape_of(value: str) -> str:
    """Return ``number``, the strptime format of an ISO-like time stamp, or an empty text."""
    text = value.strip()
    if _NUMBER.fullmatch(text):
        return "number"
    match = _ISO.fullmatch(text)
    if not match:
        return ""
    shape = f"%Y{match['sep']}%m{match['sep']}%d"
    if match["h"]:
        shape += f"{match['t']}%H:%M" + (":%S" if match["s"] else "")
        if match["f"]:
            shape += text[match.start("f") - 1] + "%f"
        if match["half"]:
            return ""
        if match["zone"]:
            shape += text[match.end("f" if match["f"] else "s" if match["s"] else "min") : match.start("zone")] + "%z"
    return shape


# ----------------------------------------------------------- times as numbers

UNITS = {
    "ns": 0.001,
    "us": 1.0,
    "ms": 1e3,
    "s": 1e6,
    "min": 60e6,
    "h": 3600e6,
    "d": 86400e6,
}
"""Units of times that are numbers. [us]"""

_SINCE_1970 = {"seconds": 1e6, "milliseconds": 1e3, "microseconds": 1.0, "nanoseconds": 0.001}
"""Units of times since 1970. [us]"""
_IN_SECONDS = tuple(us / SECOND for us in _SINCE_1970.values())
_NEXT_UNIT = (1e11, 1e14, 1e17)
"""Limits above which a count since 1970 is in the next smaller unit."""
_LAST_SHEET_DAY = 60_000
_FEW = 0.02
"""Up to this share of small numbers among dates are errors in their rows rather than times since an origin."""


def epoch_s(number: float) -> float | None:
    """Return a count of seconds or of smaller units since 1970, in seconds.

    Parameters
    ----------
    number : float
        From 1e11 on milliseconds, from 1e14 on microseconds, from 1e17 on nanoseconds; else seconds.

    Returns
    -------
    float or None
        Seconds since 1970 UTC, from 1990 to 2100; None for other numbers. [s]

    Examples
    --------
    >>> epoch_s(1_717_000_000_500), epoch_s(348.98)
    (1717000000.5, None)
    """
    since = number * _IN_SECONDS[bisect_right(_NEXT_UNIT, number)]
    return since if FIRST_US <= since * SECOND < END_US else None


class TimeNumbers:
    """Reads times of a file that are plain numbers.

    Parameters
    ----------
    ledger : Ledger
        Takes notes on assumptions.
    unit : str or None
        One of ``UNITS``; if not given, days since an origin, or the unit since 1970 that gives a year from 1990 on.
    """

    def __init__(self, ledger: Ledger, unit: str | None) -> None:
        self._ledger, self._unit = ledger, unit
        self._largest = 0.0
        self._since_origin = self._zero = self._too_large = 0
        self.n_since_1970 = 0

    def read(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return times [us since 1970 UTC, or since the origin], and whether each number is a time. Shape (n,)."""
        with np.errstate(invalid="ignore"):
            good = np.isfinite(values) & (values >= 0) & (values < 1e20)
        values = np.where(good, values, 0.0)
        if self._unit:
            scaled = values * UNITS[self._unit]
            since_1970 = scaled >= FIRST_US
        else:
            since_1970 = values >= SMALLEST_SINCE_1970
            units = np.array(list(_SINCE_1970.values()))[np.searchsorted(_NEXT_UNIT, values, side="right")]
            scaled = values * np.where(since_1970, units, UNITS["d"])
            too_large = good & ~since_1970 & (values >= LONGEST_DAYS)
            self._too_large += int(too_large.sum())
            self._largest = max(self._largest, float(np.max(values, where=too_large, initial=0.0)))
            good &= ~too_large & (~since_1970 | ((scaled >= FIRST_US) & (scaled < END_US)))
            self._note_unit(values[good & since_1970])
        good &= scaled < END_US
        counted = good & (values > 0)  # zero fits both kinds
        self.n_since_1970 += int((counted & since_1970).sum())
        self._since_origin += int((counted & ~since_1970).sum())
        self._largest = max(self._largest, float(np.max(values, where=good & ~since_1970, initial=0.0)))
        self._zero += int((good & (values == 0)).sum())
        return np.where(good, np.rint(np.where(good, scaled, 0.0)), 0).astype(np.int64), good

    def refuse_mixed(self, on_calendar: int) -> None:
        """Refuse a file with many numbers since an origin among its ``on_calendar`` dates."""
        if self._since_origin > _FEW * on_calendar > 0:
            raise InputError(
                f"times must be of one kind: {on_calendar:,} are dates and {self._since_origin:,} are small "
                f"numbers, up to {self._largest:g}. Give the unit of numbers as `time_unit`, or name the right columns "
                "with `columns`"
            )

    def finish_without_dates(self) -> None:
        """Note that all times count from an origin, if there are any; refuse numbers too large for days."""
        if not (self._since_origin or self._zero or self._too_large):
            return
        self._ledger.calendar = False
        if self._too_large and self._largest <= _LAST_SHEET_DAY:
            raise InputError(
                f"times are numbers up to {self._largest:g}, which look like spreadsheet dates: write the column as "
                f"yyyy-mm-dd hh:mm, or give `time_unit` ({', '.join(UNITS)})"
            )
        if self._too_large:
            raise InputError(
                f"times are numbers up to {self._largest:g}, too large for days: give `time_unit` "
                f"({', '.join(UNITS)}), or write dates as 2025-04-03"
            )
        words = f"{self._unit or 'days'} since the start"
        self._ledger.note(
            f"times are numbers up to {self._largest:g}, read as {words}; set another unit with `time_unit`"
        )

    def _note_unit(self, values: np.ndarray) -> None:
        """Note the unit of times since 1970."""
        if len(values):
            words = list(_SINCE_1970)[bisect_right(_NEXT_UNIT, values[0])]
            self._ledger.note(
                f"times are large numbers, read as {words} since 1970 UTC; set another unit with `time_unit`"
            )
