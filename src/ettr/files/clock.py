"""Reading the time stamps of a file, with notes on assumptions. Ambiguous time stamps are refused."""

from __future__ import annotations

import contextlib
import re
from collections import Counter
from datetime import datetime, timedelta, tzinfo
from typing import TYPE_CHECKING

import numpy as np

from ettr.core.errors import InputError
from ettr.files.ledger import Ledger
from ettr.files.times import (
    END_US,
    EPOCH,
    FIRST_US,
    FIRST_YEAR,
    LAST_YEAR,
    NOT_A_TIME,
    ONE_US,
    ORDERED,
    SECOND,
    NoTime,
    TimeNumbers,
    is_number,
    moment_of,
    shape_of,
    simplified,
    why_not,
    written,
)
from ettr.files.zones import LocalTimes

if TYPE_CHECKING:
    import pandas as pd


_HALF_YEAR, _QUIET = timedelta(days=183), timedelta(days=270)
"""A log may be quiet for the second; beyond it, the older of two files follows the newer one."""
_A_LEAP_YEAR = 2000
_N_SAMPLES = 24
_MAY_BE_ORDERED = re.compile(r"\W?\d{1,2}([-/.])\d{1,2}\1\d{4}", re.ASCII)
_TO_THE_SECOND = re.compile(
    r"(\d{4}(?:-\d\d-|/\d\d/)\d\d[ T]\d\d:\d\d)(?::(\d\d)(?:[.,](\d+))?)?\s*(Z|[-+]\d\d:?\d\d)?", re.ASCII
)


class StampClock:
    """Reads the time stamps of a file.

    Parameters
    ----------
    ledger : Ledger
        Takes notes on assumptions. Its ``close`` runs the checks that need the whole file.
    zone : tzinfo or None
        Time zone of time stamps without one; UTC if not given, with a note.
    year : int or None
        Year of the first time stamp, if time stamps have none.
    time_unit : str or None
        Unit of times that are plain numbers, one of ``UNITS``.
    """

    def __init__(
        self, ledger: Ledger, zone: tzinfo | None = None, year: int | None = None, time_unit: str | None = None
    ) -> None:
        self._local, self._numbers = LocalTimes(zone), TimeNumbers(ledger, time_unit)
        self._year, self._ledger = year, ledger
        self._n_with_zone = 0
        self._last: datetime | None = None
        self._years: set[int] = set()
        self._day_first: bool | None = None
        ledger.at_end(self._finish)

    def us(self, text: str) -> int:
        """Return one time stamp, in microseconds since 1970 UTC.

        Parameters
        ----------
        text : str
            ``2024-02-13 04:12:33``, with ``T``, ``/``, a fraction after ``.`` or ``,``, ``Z`` or an offset; a month by
            name; or a number.

        Returns
        -------
        int
            Time since 1970 UTC, or since the origin of the log. [us]

        Raises
        ------
        NoTime
            The text is not a time; the message is a reason for the ledger.
        InputError
            Day and month are ambiguous. Do not catch it as a ``ValueError``.

        Examples
        --------
        >>> StampClock(Ledger()).us("2024-02-13 04:12:33,5Z")
        1707797553500000
        """
        text = text.strip()
        if is_number(text):
            times, good = self._numbers.read(np.array([float(text)]))
            if not good[0]:
                raise NoTime(why_not(text))
            return int(times[0])
        moment = None if ORDERED.fullmatch(text) else written(text)
        return self.us_of(self._ordered(text) if moment is None else moment)

    def us_of_iso(self, text: str) -> int:
        """Return an ISO date with hours in microseconds since 1970 UTC, as ``us`` does, but three times as fast."""
        try:
            return self.us_of(datetime.fromisoformat(text))
        except NoTime:
            raise
        except ValueError:
            return self.us(text)

    def us_of(self, moment: datetime) -> int:
        """Return a datetime, naive or aware, in microseconds since 1970 UTC.

        Parameters
        ----------
        moment : datetime
            Naive ones are in the zone of the user, or in UTC.

        Returns
        -------
        int
            Time since 1970 UTC. [us]

        Raises
        ------
        NoTime
            A year outside 1990-2100.
        """
        if not FIRST_YEAR <= moment.year <= LAST_YEAR:
            raise NoTime(f"year outside {FIRST_YEAR}-{LAST_YEAR}")
        offset = moment.utcoffset()
        if offset is None:
            return self._local.utc((moment - EPOCH) // ONE_US)
        self._n_with_zone += 1
        return (moment.replace(tzinfo=None) - EPOCH - offset) // ONE_US

    def us_without_year(self, month: int, day: int, hour: int, minute: int, second: int, microsecond: int = 0) -> int:
        """Return a time stamp without a year, in the year that puts it nearest to the previous time stamp.

        Small steps back, as between logs of several hosts, stay in the year; a step back of more than half a year, as
        from December to January, starts the next year. A step ahead of more than nine months, as when the newer of two
        files comes first, goes to the previous year.

        Parameters
        ----------
        month, day, hour, minute, second, microsecond : int
            Parts of the time stamp.

        Returns
        -------
        int
            Time since 1970 UTC. [us]

        Raises
        ------
        InputError
            The year of the first time stamp is not given, or 29 February falls into a year without one.
        NoTime
            The day or the hour does not exist.
        """
        if self._year is None:
            raise InputError(
                "`year` must be given, because the time stamps have none: the year of the first time stamp, e.g. "
                "`year=2024`"
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
                f"the time stamp {moment:%b %d %H:%M:%S} must be in a leap year, but falls into {year} (the log starts "
                f"in {self._year}): correct `year`, the year of the first time stamp"
            ) from error
        us = self.us_of(moment)
        self._last = moment
        self._years.add(year)
        return us

    @staticmethod
    def _nearest_year(moment: datetime, last: datetime) -> int:
        """The year of a day and hour, from half a year before the previous time stamp to nine months after it."""
        ahead = moment.replace(year=_A_LEAP_YEAR) - last.replace(year=_A_LEAP_YEAR)
        return last.year + (ahead < -_HALF_YEAR) - (ahead > _QUIET)

    def us_series(self, texts: pd.Series) -> tuple[np.ndarray, np.ndarray]:
        """Return a column of time stamps, in microseconds since 1970 UTC.

        Parameters
        ----------
        texts : Series of str
            Shape (n,). Blank texts are not times.

        Returns
        -------
        tuple of ndarray
            Times, int64, 0 for invalid ones; and whether each is valid. Shape (n,). [us]

        Raises
        ------
        InputError
            Day and month are ambiguous.
        """
        values = texts.to_numpy(dtype=object)
        if any(value != value.strip() for value in self._sample(values)):
            values = np.array([*(value.strip() for value in values), None], dtype=object)[:-1]
        us, good = np.zeros(len(values), dtype=np.int64), np.zeros(len(values), dtype=bool)
        remaining = np.flatnonzero(values != "")
        for shape in self._shapes(values[remaining]):
            times, is_read = self._by_shape(values[remaining], shape)
            us[remaining[is_read]], good[remaining[is_read]] = times[is_read], True
            remaining = remaining[~is_read]
            if not len(remaining):
                return us, good
        self._settle(values[remaining])
        for place in remaining:
            with contextlib.suppress(NoTime):
                us[place], good[place] = self.us(values[place]), True
        return us, good

    # ---------------------------------------------------------------- texts

    def _ordered(self, text: str) -> datetime:
        """A time stamp with day and month as numbers in either order."""
        match = _ordered(text)
        if not match:
            raise NoTime(why_not(text))
        self._settle(np.array([text], dtype=object))
        first, second = int(match["a"]), int(match["b"])
        return moment_of(match, *((second, first) if self._day_first else (first, second)))

    def _settle(self, values: np.ndarray) -> None:
        """Find whether the day or the month is first in dates such as 03/04/2025."""
        unsettled = ""
        for value in values:
            match = _ordered(value.strip())
            if not match or (int(match["a"]) > 12) == (int(match["b"]) > 12):
                unsettled = unsettled or (value if match and int(match["a"]) <= 12 else "")
                continue
            day_first = int(match["a"]) > 12
            if self._day_first is None:
                self._day_first = day_first
                self._ledger.note(f"dates have the {'day' if day_first else 'month'} first, as in {value!r}")
            elif self._day_first != day_first:
                raise InputError(
                    f"dates must have one order of day and month, got {value!r} in the other: write 2025-04-03"
                )
        if unsettled and self._day_first is None:
            raise InputError(
                f"dates must have an unambiguous order of day and month, got {unsettled!r}: write ISO dates such as "
                "2025-04-03; if the month is first, e.g. "
                r"sed -E 's#([0-9]+)[-/.]([0-9]+)[-/.]([0-9]{4})#\3-\1-\2#g' FILE > iso.csv"
            )

    @staticmethod
    def _sample(values: np.ndarray) -> np.ndarray:
        """About two dozen of the values, evenly spaced."""
        return values[:: max(1, len(values) // _N_SAMPLES)]

    def _shapes(self, values: np.ndarray) -> list[str]:
        """Formats of a sample of the texts, most common first: ``number`` or a strptime format."""
        shapes = Counter(shape_of(value) for value in self._sample(values))
        return [shape for shape, _ in shapes.most_common() if shape]

    def _by_shape(self, values: np.ndarray, shape: str) -> tuple[np.ndarray, np.ndarray]:
        """Times of the texts with one format, and whether each has it."""
        import pandas as pd

        if shape == "number":
            return self._numbers.read(
                pd.to_numeric(pd.Series(values, dtype=object), errors="coerce").to_numpy(dtype=float)
            )
        aware = shape.endswith("%z")
        moments = pd.to_datetime(pd.Series(values, dtype=object), format=shape, errors="coerce", utc=aware)
        is_read = moments.notna().to_numpy(copy=True)
        if aware:
            moments = moments.dt.tz_localize(None)
        us = moments.to_numpy(dtype="datetime64[us]").astype(np.int64, copy=True)
        is_read &= (us >= FIRST_US) & (us < END_US)
        if aware:
            self._n_with_zone += int(is_read.sum())
        else:
            us[is_read] = self._local.utc_many(us[is_read])
        return us, is_read

    # -------------------------------------------------------------- the end

    def _finish(self) -> None:
        """Check the file as a whole, and note the assumptions."""
        aware, naive, zone = self._n_with_zone, self._local.n, self._local.zone
        if aware and naive and zone is None:
            raise InputError(
                f"times must all have a time zone, but {aware:,} have one and {naive:,} do not: give `zone` for the "
                'others, e.g. `zone="Europe/Berlin"` or `zone="+08:00"`'
            )
        on_calendar = aware + naive + self._numbers.n_since_1970
        self._numbers.refuse_mixed(on_calendar)
        if naive and zone is None:
            self._ledger.note("times have no time zone and are read as UTC; set another with `zone`")
        elif naive and aware:
            self._ledger.note(f"times with a time zone: {aware:,}; without one, read in {zone}: {naive:,}")
        self._local.note(self._ledger)
        if len(self._years) > 1:
            self._ledger.note(
                f"time stamps have no year: the first is in {self._year}, each of the others nearest to the "
                f"previous one, so they span {min(self._years)} to {max(self._years)}"
            )
        if not on_calendar:
            self._numbers.finish_without_dates()


def _ordered(text: str) -> re.Match[str] | None:
    """The parts of a time stamp with day and month as numbers in either order; None for other texts."""
    match = ORDERED.fullmatch(text)
    return match if match or not _MAY_BE_ORDERED.match(text) else ORDERED.fullmatch(simplified(text))


class Stamps:
    """Reads the time stamps of a recording, with date and seconds.

    Parameters
    ----------
    zone : tzinfo or None
        Time zone of time stamps without one; UTC if not given, with a note.
    ledger : Ledger
        Takes the note.
    """

    def __init__(self, zone: tzinfo | None, ledger: Ledger) -> None:
        self._has_zone, self._ledger = zone is not None, ledger
        self._clock = StampClock(Ledger(), zone)
        self._minute: tuple[str, str | None] = "", None
        self._minute_s = 0.0

    def read(self, text: str) -> float | None:
        """Return a time stamp in seconds since 1970 UTC; None if the text is not a time stamp."""
        match = _TO_THE_SECOND.fullmatch(text.strip())
        if not match:
            return None
        minute, second, fraction, zone = match.groups()
        seconds = float(f"{second or 0}.{fraction or 0}")
        if seconds >= 61:
            return None
        if (minute, zone) != self._minute:  # cached, because thousands of time stamps share a minute
            if zone is None and not self._has_zone:
                self._ledger.note("times have no time zone and are read as UTC; time differences do not depend on it")
            try:
                self._minute_s = self._clock.us(f"{minute}{zone or ''}") / SECOND
            except NoTime:
                return None
            self._minute = minute, zone
        return self._minute_s + seconds
