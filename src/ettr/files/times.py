"""Times as people and machines write them: numbers, dates and zones. Nothing ambiguous is guessed."""

from __future__ import annotations

import contextlib
import re
import zoneinfo
from bisect import bisect_right
from collections import Counter
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ettr.core.errors import InputError, UnknownName
from ettr.files.ledger import Ledger

if TYPE_CHECKING:
    import pandas as pd


SECOND = 1_000_000
DAY = 86_400 * SECOND
UNITS = {
    "ns": 0.001,
    "us": 1.0,
    "ms": 1e3,
    "s": 1e6,
    "min": 60e6,
    "h": 3600e6,
    "d": 86400e6,
}
"""Microseconds in the units that times as numbers may have."""

_EPOCH, _US = datetime(1970, 1, 1), timedelta(microseconds=1)
_QUARTER = 900 * SECOND
"""Since 1990 every zone has changed its offset at a quarter of an hour."""
_FIRST_YEAR, _LAST_YEAR = 1990, 2100
FIRST_US = (datetime(_FIRST_YEAR, 1, 1) - _EPOCH) // _US
"""No log of a GPU cluster is older. [us since 1970 UTC]"""
_END = (datetime(_LAST_YEAR + 1, 1, 1) - _EPOCH) // _US
_SINCE_1970 = {"seconds": 1e6, "milliseconds": 1e3, "microseconds": 1.0, "nanoseconds": 0.001}
"""Microseconds in the units that times since 1970 are counted in."""
_IN_SECONDS = tuple(us / SECOND for us in _SINCE_1970.values())
_NEXT_UNIT = (1e11, 1e14, 1e17)
"""From each of these on a count since 1970 is of the next smaller unit."""
_SMALLEST_SINCE_1970 = 1e8
_LONGEST_DAYS = 20_000
"""From here on, 55 years, a number without a unit is no count of days but a date as spreadsheets store it."""
_LAST_SHEET_DAY = 60_000
_HALF_YEAR = timedelta(days=183)
_A_LEAP_YEAR = 2000
_N_SAMPLES = 24
_FEW_NUMBERS = 0.02
"""So many small numbers among dates are mistakes of their rows, and no times since an origin."""

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
_ORDERED = re.compile(
    rf"(?P<a>\d{{1,2}})(?P<sep>[-/.])(?P<b>\d{{1,2}})(?P=sep)(?P<y>\d{{4}})(?:[T,\s]\s*{_TIME})?", _FLAGS
)
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?", _FLAGS)
_TO_THE_SECOND = re.compile(
    r"(\d{4}(?:-\d\d-|/\d\d/)\d\d[ T]\d\d:\d\d):(\d\d)(?:[.,](\d+))?\s*(Z|[-+]\d\d:?\d\d)?", re.ASCII
)
_OFFSET = re.compile(r"(?:UTC|GMT)?([+-])(\d{1,2}):?([0-5]\d)?", re.ASCII)
_REASONS = (
    (re.compile(r"\d{1,2}-[a-z]{3}|[a-z]{3}-\d{2}", _FLAGS), "a date that a spreadsheet cut, such as 5-Apr"),
    (re.compile(r"\d{1,2}[-/.]\d{1,2}[-/.]\d\d(?:\D.*)?", _FLAGS | re.DOTALL), "a year of two digits"),
    (re.compile(r".*\d:\d\d\s*[a-z]{3,4}", _FLAGS | re.DOTALL), "a zone in letters, such as PST"),
)


class NoTime(ValueError):
    """A text that is no time, or none that a log of a GPU cluster can hold."""


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


def epoch_s(number: float) -> float | None:
    """Read a count of seconds, or of smaller units, since 1970. [s]

    Parameters
    ----------
    number : float
        From 1e11 on milliseconds, from 1e14 on microseconds, from 1e17 on nanoseconds; else seconds.

    Returns
    -------
    float or None
        Seconds since 1970 UTC, from 1990 to 2100; None if it is no date. [s]

    Examples
    --------
    >>> epoch_s(1_717_000_000_500), epoch_s(348.98)
    (1717000000.5, None)
    """
    since = number * _IN_SECONDS[bisect_right(_NEXT_UNIT, number)]
    return since if FIRST_US <= since * SECOND < _END else None


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
        return _moment(match, int(match["mo"]), int(match["d"]))
    for pattern in _WORDED:
        match = pattern.fullmatch(text)
        if match and match["name"].lower() in _MONTHS:
            return _moment(match, _MONTHS[match["name"].lower()], int(match["d"]))
    return None


class Clock:
    """Reads the time stamps of one log.

    Parameters
    ----------
    ledger : Ledger
        Takes what was assumed. Its ``close`` calls for the checks that need the whole file.
    zone : tzinfo or None
        Zone of stamps that carry none; UTC if not given, with a note.
    year : int or None
        Year of the first stamp, where stamps carry none.
    time_unit : str or None
        Unit of times that are plain numbers, one of ``UNITS``.
    """

    def __init__(
        self, ledger: Ledger, zone: tzinfo | None = None, year: int | None = None, time_unit: str | None = None
    ) -> None:
        self._zone, self._year, self._unit = zone, year, time_unit
        self._ledger = ledger
        self._kinds: Counter[str] = Counter()
        self._largest = 0.0
        self._offsets: dict[int, tuple[int, int]] = {}
        self._twice, self._never = 0, 0
        self._last: datetime | None = None
        self._years: set[int] = set()
        self._day_first: bool | None = None
        ledger.at_end(self._finish)

    def us(self, text: str) -> int:
        """Read one time stamp. [us since 1970 UTC]

        Parameters
        ----------
        text : str
            ``2024-02-13 04:12:33``, with ``T``, ``/``, a fraction after ``.`` or ``,``, ``Z`` or an offset; a month by
            name; or a number.

        Returns
        -------
        int
            Microseconds since 1970 UTC, or since the log's own origin. [us]

        Raises
        ------
        NoTime
            The text is no time; the message is a reason for the ledger.
        InputError
            Day and month cannot be told apart. Do not catch it as a ``ValueError``.

        Examples
        --------
        >>> Clock(Ledger()).us("2024-02-13 04:12:33,5Z")
        1707797553500000
        """
        text = text.strip()
        if _NUMBER.fullmatch(text):
            times, good = self._numbers(np.array([float(text)]))
            if not good[0]:
                raise NoTime(why_not(text))
            return int(times[0])
        moment = written(text)
        return self.us_of(self._ordered(text) if moment is None else moment)

    def us_of(self, moment: datetime) -> int:
        """Place a datetime, naive or not. [us since 1970 UTC]

        Parameters
        ----------
        moment : datetime
            Naive ones are read in the user's zone, or UTC.

        Returns
        -------
        int
            [us]

        Raises
        ------
        NoTime
            A year outside 1990-2100.
        """
        if not _FIRST_YEAR <= moment.year <= _LAST_YEAR:
            raise NoTime(f"a year outside {_FIRST_YEAR}-{_LAST_YEAR}")
        offset = moment.utcoffset()
        us = (moment.replace(tzinfo=None) - _EPOCH) // _US
        if offset is None:
            return self._utc(us)
        self._kinds["with a zone"] += 1
        return us - offset // _US

    def us_without_year(self, month: int, day: int, hour: int, minute: int, second: int, microsecond: int = 0) -> int:
        """Place a stamp without a year: the year that puts it nearest to the stamp before. [us]

        Steps back within a year, as where logs of several hosts follow each other, stay in it; one of more than half a
        year, as from December to January, begins the next. A step ahead of more than half a year, as where the newer
        of two files comes first, goes to the year before.

        Parameters
        ----------
        month, day, hour, minute, second, microsecond : int
            As written.

        Returns
        -------
        int
            Microseconds since 1970 UTC. [us]

        Raises
        ------
        InputError
            The user did not name the year of the first stamp, or it has no such 29 February.
        NoTime
            No such day or hour.
        """
        if self._year is None:
            raise InputError(
                "year must be given: the time stamps carry none. Name the year of the first one with --year, e.g. "
                "--year 2024"
            )
        try:
            moment = datetime(_A_LEAP_YEAR, month, day, hour, minute, min(second, 59), microsecond)
        except ValueError as error:
            raise NoTime(NOT_A_TIME) from error
        year = self._year if self._last is None else self._nearest_year(moment, self._last)
        try:
            moment = moment.replace(year=year)
        except ValueError as error:
            raise InputError(
                f"the stamp of {moment:%b %d %H:%M:%S} must lie in a leap year, and falls into {year} (the log is read "
                f"from {self._year}). Name the right year of the first stamp with --year"
            ) from error
        us = self.us_of(moment)
        self._last = moment
        self._years.add(year)
        return us

    @staticmethod
    def _nearest_year(moment: datetime, last: datetime) -> int:
        """The year that puts a day and hour within half a year of the stamp before."""
        ahead = moment.replace(year=_A_LEAP_YEAR) - last.replace(year=_A_LEAP_YEAR)
        return last.year + (ahead < -_HALF_YEAR) - (ahead > _HALF_YEAR)

    def us_series(self, texts: pd.Series) -> tuple[np.ndarray, np.ndarray]:
        """Read a column of time stamps at once. [us since 1970 UTC]

        Parameters
        ----------
        texts : Series of str
            Shape (n,). Blank texts are no times.

        Returns
        -------
        tuple of ndarray
            Times, int64, 0 where there is none; and which are good. Shape (n,). [us]

        Raises
        ------
        InputError
            Day and month cannot be told apart.
        """
        values = texts.to_numpy(dtype=object)
        if any(value != value.strip() for value in self._sample(values)):
            values = np.array([*(value.strip() for value in values), None], dtype=object)[:-1]
        us, good = np.zeros(len(values), dtype=np.int64), np.zeros(len(values), dtype=bool)
        left = np.arange(len(values))
        for shape in self._shapes(values):
            times, fine = self._by_shape(values[left], shape)
            us[left[fine]], good[left[fine]] = times[fine], True
            left = left[~fine]
            if not len(left):
                return us, good
        self._settle(values[left])
        for place in left:
            with contextlib.suppress(NoTime):
                us[place], good[place] = self.us(values[place]), True
        return us, good

    # ---------------------------------------------------------------- texts

    def _ordered(self, text: str) -> datetime:
        """A stamp whose day and month are both numbers."""
        match = _ORDERED.fullmatch(text)
        if not match:
            raise NoTime(why_not(text))
        self._settle(np.array([text], dtype=object))
        first, second = int(match["a"]), int(match["b"])
        return _moment(match, *((second, first) if self._day_first else (first, second)))

    def _settle(self, values: np.ndarray) -> None:
        """Find whether the day or the month stands first in dates such as 03/04/2025."""
        unsettled = ""
        for value in values:
            match = _ORDERED.fullmatch(value.strip())
            if not match or (int(match["a"]) > 12) == (int(match["b"]) > 12):
                unsettled = unsettled or (value if match and int(match["a"]) <= 12 else "")
                continue
            day_first = int(match["a"]) > 12
            if self._day_first is None:
                self._day_first = day_first
                self._ledger.note(f"in dates the {'day' if day_first else 'month'} stands first, as {value!r} shows")
            elif self._day_first != day_first:
                raise InputError(f"dates must keep one order of day and month; {value!r} breaks it. Write 2025-04-03")
        if unsettled and self._day_first is None:
            raise InputError(
                f"dates must say which part is the month; {unsettled!r} does not, nor does any near it. Write ISO "
                "dates, such as 2025-04-03"
            )

    @staticmethod
    def _sample(values: np.ndarray) -> np.ndarray:
        return values[:: max(1, len(values) // _N_SAMPLES)]

    def _shapes(self, values: np.ndarray) -> list[str]:
        """Ways in which a sample of the texts is written, the commonest first: ``number`` or a strptime format."""
        shapes = Counter(_shape(value) for value in self._sample(values))
        return [shape for shape, _ in shapes.most_common() if shape]

    def _by_shape(self, values: np.ndarray, shape: str) -> tuple[np.ndarray, np.ndarray]:
        import pandas as pd

        if shape == "number":
            return self._numbers(pd.to_numeric(pd.Series(values, dtype=object), errors="coerce").to_numpy(dtype=float))
        aware = shape.endswith("%z")
        moments = pd.to_datetime(pd.Series(values, dtype=object), format=shape, errors="coerce", utc=aware)
        fine = moments.notna().to_numpy(copy=True)
        if aware:
            moments = moments.dt.tz_localize(None)
        us = moments.to_numpy(dtype="datetime64[us]").astype(np.int64, copy=True)
        fine &= (us >= FIRST_US) & (us < _END)
        if aware:
            self._kinds["with a zone"] += int(fine.sum())
        else:
            us[fine] = self._utc_many(us[fine])
        return us, fine

    # ---------------------------------------------------------------- zones

    def _utc(self, local_us: int) -> int:
        """Universal time of a local time."""
        self._kinds["without a zone"] += 1
        if self._zone is None:
            return local_us
        offset, odd = self._offset(local_us // _QUARTER)
        self._twice += odd > 0
        self._never += odd < 0
        return local_us - offset

    def _utc_many(self, local_us: np.ndarray) -> np.ndarray:
        self._kinds["without a zone"] += len(local_us)
        if self._zone is None or not len(local_us):
            return local_us
        if isinstance(self._zone, timezone):  # the same at any time
            return local_us - self._zone.utcoffset(None) // _US
        quarters, places = np.unique(local_us // _QUARTER, return_inverse=True)
        offsets = np.array([self._offset(int(quarter)) for quarter in quarters], dtype=np.int64)[places]
        self._twice += int((offsets[:, 1] > 0).sum())
        self._never += int((offsets[:, 1] < 0).sum())
        return local_us - offsets[:, 0]

    def _offset(self, quarter: int) -> tuple[int, int]:
        """Offset from UTC [us] in a quarter of an hour, and 1 if it comes twice, -1 if the clock skips it."""
        known = self._offsets.get(quarter)
        if known is None:
            moment = (_EPOCH + timedelta(microseconds=quarter * _QUARTER)).replace(tzinfo=self._zone)
            first, second = (moment.replace(fold=fold).utcoffset() or timedelta() for fold in (0, 1))
            known = (first // _US, (first > second) - (first < second))
            self._offsets[quarter] = known
        return known

    # -------------------------------------------------------------- numbers

    def _numbers(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Times given as numbers, and which of them are times."""
        with np.errstate(invalid="ignore"):
            good = np.isfinite(values) & (values >= 0) & (values < 1e20)
        values = np.where(good, values, 0.0)
        if self._unit:
            scaled = values * UNITS[self._unit]
            since_1970 = scaled >= FIRST_US
        else:
            since_1970 = values >= _SMALLEST_SINCE_1970
            units = np.array(list(_SINCE_1970.values()))[np.searchsorted(_NEXT_UNIT, values, side="right")]
            scaled = values * np.where(since_1970, units, UNITS["d"])
            too_large = good & ~since_1970 & (values >= _LONGEST_DAYS)
            self._kinds["too large"] += int(too_large.sum())
            self._largest = max(self._largest, float(np.max(values, where=too_large, initial=0.0)))
            good &= ~too_large & (~since_1970 | ((scaled >= FIRST_US) & (scaled < _END)))
            self._say_unit(values[good & since_1970])
        good &= scaled < _END
        counted = good & (values > 0)  # zero fits both kinds
        self._kinds["since 1970"] += int((counted & since_1970).sum())
        self._kinds["since an origin"] += int((counted & ~since_1970).sum())
        self._largest = max(self._largest, float(np.max(values, where=good & ~since_1970, initial=0.0)))
        self._kinds["zero"] += int((good & (values == 0)).sum())
        return np.where(good, np.rint(np.where(good, scaled, 0.0)), 0).astype(np.int64), good

    def _say_unit(self, values: np.ndarray) -> None:
        if len(values):
            words = list(_SINCE_1970)[bisect_right(_NEXT_UNIT, values[0])]
            self._ledger.note(f"times are large numbers: taken as {words} since 1970 UTC; if not so, name --time-unit")

    # -------------------------------------------------------------- the end

    def _finish(self) -> None:
        """Refuse what only the whole file can show, and say what was assumed."""
        kinds = self._kinds
        aware, naive = kinds["with a zone"], kinds["without a zone"]
        if aware and naive and self._zone is None:
            raise InputError(
                f"times must all carry a zone, or the user must name it: {aware:,} carry one and {naive:,} do not. "
                "Name theirs with --zone, e.g. --zone Europe/Berlin or --zone +08:00"
            )
        on_calendar = aware + naive + kinds["since 1970"]
        if kinds["since an origin"] > _FEW_NUMBERS * on_calendar > 0:
            raise InputError(
                f"times must be of one kind: {on_calendar:,} are dates and {kinds['since an origin']:,} are small "
                f"numbers, up to {self._largest:g}. Name the unit of numbers with --time-unit, or the right columns "
                "with --map"
            )
        if naive and self._zone is None:
            self._ledger.note("times carry no zone: taken as UTC; name theirs with --zone")
        elif naive and aware:
            self._ledger.note(f"times with a zone of their own: {aware:,}; others, read in {self._zone}: {naive:,}")
        if self._twice:
            twice = "local times that came twice when clocks were set back, taken as the first"
            self._ledger.note(f"{twice}: {self._twice:,}")
        if self._never:
            never = "local times that were skipped when clocks were set forward, moved forward"
            self._ledger.note(f"{never}: {self._never:,}")
        if len(self._years) > 1:
            self._ledger.note(
                f"stamps carry no year: the first is of {self._year} and each is put within half a year of the one "
                f"before, so that they span {min(self._years)} to {max(self._years)}"
            )
        if not on_calendar and (kinds["since an origin"] or kinds["zero"] or kinds["too large"]):
            self._finish_origin()

    def _finish_origin(self) -> None:
        self._ledger.calendar = False
        unit = self._unit or "d"
        if self._kinds["too large"] and self._largest <= _LAST_SHEET_DAY:
            raise InputError(
                f"times are numbers up to {self._largest:g}: these look like spreadsheet dates: write the column as "
                f"yyyy-mm-dd hh:mm, or name --time-unit ({', '.join(UNITS)})"
            )
        if self._kinds["too large"]:
            raise InputError(
                f"times are numbers up to {self._largest:g}, too many for days. Name their unit with --time-unit "
                f"({', '.join(UNITS)}), or write dates as 2025-04-03"
            )
        words = "days since the start" if self._unit is None else f"{unit} since the start"
        self._ledger.note(f"times are numbers up to {self._largest:g}: taken as {words}; if not so, name --time-unit")


class Stamps:
    """Reads the stamps of a recording, which say the day and the second.

    Parameters
    ----------
    zone : tzinfo or None
        Of stamps that carry none; UTC if not given, with a note.
    ledger : Ledger
        Takes the note.
    """

    def __init__(self, zone: tzinfo | None, ledger: Ledger) -> None:
        self._is_told, self._ledger = zone is not None, ledger
        self._clock = Clock(Ledger(), zone)
        self._minute: tuple[str, str | None] = "", None
        self._minute_s = 0.0

    def read(self, text: str) -> float | None:
        """Seconds since 1970 UTC; None if the text is no stamp. [s]"""
        match = _TO_THE_SECOND.fullmatch(text.strip())
        if not match:
            return None
        minute, second, fraction, zone = match.groups()
        seconds = float(f"{second}.{fraction or 0}")
        if seconds >= 61:
            return None
        if (minute, zone) != self._minute:  # thousands of stamps lie in one minute
            if zone is None and not self._is_told:
                self._ledger.note("stamps carry no zone and are taken as UTC; differences of time do not depend on it")
            try:
                self._minute_s = self._clock.us(f"{minute}{zone or ''}") / SECOND
            except NoTime:
                return None
            self._minute = minute, zone
        return self._minute_s + seconds


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
        too_large = _LONGEST_DAYS <= float(text) < _SMALLEST_SINCE_1970
        return "a number too large for days" if too_large else "a number that is no time"
    iso = _ISO.fullmatch(text)
    if iso and not _FIRST_YEAR <= int(iso["y"]) <= _LAST_YEAR:
        return f"a year outside {_FIRST_YEAR}-{_LAST_YEAR}"
    return next((reason for pattern, reason in _REASONS if pattern.fullmatch(text)), NOT_A_TIME)


def _moment(match: re.Match[str], month: int, day: int) -> datetime:
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


def _shape(value: Any) -> str:
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
