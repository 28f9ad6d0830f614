"""One time as people and machines write it. Nothing ambiguous is guessed."""

from __future__ import annotations

import contextlib
import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import lru_cache

SECOND = 1_000_000
DAY = 86_400 * SECOND
EPOCH, ONE_US = datetime(1970, 1, 1), timedelta(microseconds=1)
FIRST_YEAR, LAST_YEAR = 1990, 2100
FIRST_US = (datetime(FIRST_YEAR, 1, 1) - EPOCH) // ONE_US
"""No log of a GPU cluster is older. [us since 1970 UTC]"""
END_US = (datetime(LAST_YEAR + 1, 1, 1) - EPOCH) // ONE_US
SMALLEST_SINCE_1970 = 1e8
LONGEST_DAYS = 20_000
"""From here on, 55 years, a number without a unit is no count of days but a date as spreadsheets store it."""
_MONTH_NAMES = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTHS = {name: i for i, name in enumerate(_MONTH_NAMES, 1)}
_ZONE = r"\s*(?P<zone>Z|UTC|GMT|[+-]\d\d(?::?\d\d)?)?"
_TIME = r"(?P<h>\d{1,2}):(?P<min>\d\d)(?::(?P<s>\d\d)(?:[.,](?P<f>\d{1,9}))?)?(?:\s*(?P<half>[AP])M)?" + _ZONE
_MONTH = r"(?P<name>[A-Z][a-z]{2})[a-z]*"
_FLAGS = re.ASCII | re.IGNORECASE
_ISO = re.compile(
    rf"(?P<y>\d{{4}})(?P<sep>[-/.])(?P<mo>\d{{1,2}})(?P=sep)(?P<d>\d{{1,2}})(?:(?P<t>T|\s+){_TIME})?", _FLAGS
)
_WORDED = (
    re.compile(rf"(?:[a-z]{{3}},?\s+)?(?P<d>\d{{1,2}})[-\s]{_MONTH}[-\s](?P<y>\d{{4}})(?:[,\s]\s*{_TIME})?", _FLAGS),
    re.compile(rf"{_MONTH}\s+(?P<d>\d{{1,2}}),?\s+(?P<y>\d{{4}})(?:[,\s]\s*{_TIME})?", _FLAGS),
    re.compile(rf"(?:[a-z]{{3}}\s+)?{_MONTH}\s+(?P<d>\d{{1,2}})\s+{_TIME}\s+(?P<y>\d{{4}})", _FLAGS),
)
ORDERED = re.compile(
    rf"(?P<a>\d{{1,2}})(?P<sep>[-/.])(?P<b>\d{{1,2}})(?P=sep)(?P<y>\d{{4}})(?:[T,\s]\s*{_TIME})?", _FLAGS
)
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?", _FLAGS)
_REASONS = (
    (re.compile(r"\d{1,2}-[a-z]{3}|[a-z]{3}-\d{2}", _FLAGS), "a date that a spreadsheet cut, such as 5-Apr"),
    (re.compile(r"\d{1,2}[-/.]\d{1,2}[-/.]\d\d(?:\D.*)?", _FLAGS | re.DOTALL), "a year of two digits"),
    (re.compile(r".*\d:\d\d\s*[a-z]{3,4}", _FLAGS | re.DOTALL), "a zone in letters, such as PST"),
)


class NoTime(ValueError):
    """A text that is no time, or none that a log of a GPU cluster can hold."""


def written(text: str) -> datetime | None:
    """Read a stamp that is written so that only one moment can be meant.

    Parameters
    ----------
    text : str
        Year first, as in ``2024-02-13 04:12:33,5Z``, or the month by its name.

    Returns
    -------
    datetime or None
        With the zone or offset that it carries, naive if it carries none; None if it is written otherwise.

    Raises
    ------
    NoTime
        No such day or hour.

    Examples
    --------
    >>> written("2024/02/13 04:12 +08:00").isoformat(), written("03/04/2025")
    ('2024-02-13T04:12:00+08:00', None)
    """
    match = _ISO.fullmatch(text)
    if match:
        with contextlib.suppress(ValueError):  # as most files write it, and much quicker
            return datetime.fromisoformat(text)
        return moment_of(match, int(match["mo"]), int(match["d"]))
    for pattern in _WORDED:
        match = pattern.fullmatch(text)
        if match and match["name"].lower() in _MONTHS:
            return moment_of(match, _MONTHS[match["name"].lower()], int(match["d"]))
    return None


def is_number(text: str) -> bool:
    """Whether a text is a plain number."""
    return _NUMBER.fullmatch(text) is not None


NOT_A_TIME = "not a time"


def why_not(text: str) -> str:
    """Return why a text is no time, in a few words for the ledger.

    Parameters
    ----------
    text : str
        What stands in place of a time.

    Returns
    -------
    str
        One of few reasons.

    Examples
    --------
    >>> why_not("5-Apr")
    'a date that a spreadsheet cut, such as 5-Apr'
    """
    text = text.strip()
    if not text:
        return "no time"
    if _NUMBER.fullmatch(text):
        too_large = LONGEST_DAYS <= float(text) < SMALLEST_SINCE_1970
        return "a number too large for days" if too_large else "a number that is no time"
    iso = _ISO.fullmatch(text)
    if iso and not FIRST_YEAR <= int(iso["y"]) <= LAST_YEAR:
        return f"a year outside {FIRST_YEAR}-{LAST_YEAR}"
    return next((reason for pattern, reason in _REASONS if pattern.fullmatch(text)), NOT_A_TIME)


def moment_of(match: re.Match[str], month: int, day: int) -> datetime:
    """The parts of a stamp as one datetime, with its zone if it has one."""
    hour, minute, second = (int(match[part] or 0) for part in ("h", "min", "s"))
    if match["half"]:
        if not 1 <= hour <= 12:
            raise NoTime(NOT_A_TIME)
        hour = hour % 12 + 12 * (match["half"].upper() == "P")
    fraction = int((match["f"] or "0").ljust(6, "0")[:6])
    leap = second == 60
    try:
        zone = _fixed(match["zone"]) if match["zone"] else None
        moment = datetime(int(match["y"]), month, day, hour, minute, 59 if leap else second, fraction, zone)
        return moment + timedelta(seconds=1) if leap else moment
    except (ValueError, OverflowError) as error:
        raise NoTime(NOT_A_TIME) from error


@lru_cache(maxsize=1000)
def _fixed(zone: str) -> tzinfo:
    """A zone such as Z or +08:00."""
    if zone[0] not in "+-":
        return UTC
    minutes = int(zone[1:3]) * 60 + int(zone[3:].lstrip(":") or 0)
    return timezone(timedelta(minutes=minutes if zone[0] == "+" else -minutes))


def shape_of(value: str) -> str:
    """``number``, the strptime format of an ISO-like stamp, or nothing."""
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
