"""Reads the time stamps of one file, and says what it assumed. Nothing ambiguous is guessed."""

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
    why_not,
    written,
)
from ettr.files.zones import LocalTimes

if TYPE_CHECKING:
    import pandas as pd


_HALF_YEAR = timedelta(days=183)
_A_LEAP_YEAR = 2000
_N_SAMPLES = 24
_TO_THE_SECOND = re.compile(
    r"(\d{4}(?:-\d\d-|/\d\d/)\d\d[ T]\d\d:\d\d)(?::(\d\d)(?:[.,](\d+))?)?\s*(Z|[-+]\d\d:?\d\d)?", re.ASCII
)


class StampClock:
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
        self._local, self._numbers = LocalTimes(zone), TimeNumbers(ledger, time_unit)
        self._year, self._ledger = year, ledger
        self._n_with_zone = 0
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
        >>> StampClock(Ledger()).us("2024-02-13 04:12:33,5Z")
        1707797553500000
        """
        text = text.strip()
        if is_number(text):
            times, good = self._numbers.read(np.array([float(text)]))
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
        if not FIRST_YEAR <= moment.year <= LAST_YEAR:
            raise NoTime(f"a year outside {FIRST_YEAR}-{LAST_YEAR}")
        offset = moment.utcoffset()
        us = (moment.replace(tzinfo=None) - EPOCH) // ONE_US
        if offset is None:
            return self._local.utc(us)
        self._n_with_zone += 1
        return us - offset // ONE_US

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
        match = ORDERED.fullmatch(text)
        if not match:
            raise NoTime(why_not(text))
        self._settle(np.array([text], dtype=object))
        first, second = int(match["a"]), int(match["b"])
        return moment_of(match, *((second, first) if self._day_first else (first, second)))

    def _settle(self, values: np.ndarray) -> None:
        """Find whether the day or the month stands first in dates such as 03/04/2025."""
        unsettled = ""
        for value in values:
            match = ORDERED.fullmatch(value.strip())
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
        shapes = Counter(shape_of(value) for value in self._sample(values))
        return [shape for shape, _ in shapes.most_common() if shape]

    def _by_shape(self, values: np.ndarray, shape: str) -> tuple[np.ndarray, np.ndarray]:
        import pandas as pd

        if shape == "number":
            return self._numbers.read(
                pd.to_numeric(pd.Series(values, dtype=object), errors="coerce").to_numpy(dtype=float)
            )
        aware = shape.endswith("%z")
        moments = pd.to_datetime(pd.Series(values, dtype=object), format=shape, errors="coerce", utc=aware)
        fine = moments.notna().to_numpy(copy=True)
        if aware:
            moments = moments.dt.tz_localize(None)
        us = moments.to_numpy(dtype="datetime64[us]").astype(np.int64, copy=True)
        fine &= (us >= FIRST_US) & (us < END_US)
        if aware:
            self._n_with_zone += int(fine.sum())
        else:
            us[fine] = self._local.utc_many(us[fine])
        return us, fine

    # -------------------------------------------------------------- the end

    def _finish(self) -> None:
        """Refuse what only the whole file can show, and say what was assumed."""
        aware, naive, zone = self._n_with_zone, self._local.n, self._local.zone
        if aware and naive and zone is None:
            raise InputError(
                f"times must all carry a zone, or the user must name it: {aware:,} carry one and {naive:,} do not. "
                "Name theirs with --zone, e.g. --zone Europe/Berlin or --zone +08:00"
            )
        on_calendar = aware + naive + self._numbers.n_since_1970
        self._numbers.refuse_mixed(on_calendar)
        if naive and zone is None:
            self._ledger.note("times carry no zone: taken as UTC; name theirs with --zone")
        elif naive and aware:
            self._ledger.note(f"times with a zone of their own: {aware:,}; others, read in {zone}: {naive:,}")
        self._local.note(self._ledger)
        if len(self._years) > 1:
            self._ledger.note(
                f"stamps carry no year: the first is of {self._year} and each is put within half a year of the one "
                f"before, so that they span {min(self._years)} to {max(self._years)}"
            )
        if not on_calendar:
            self._numbers.finish_without_dates()


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
        self._has_zone, self._ledger = zone is not None, ledger
        self._clock = StampClock(Ledger(), zone)
        self._minute: tuple[str, str | None] = "", None
        self._minute_s = 0.0

    def read(self, text: str) -> float | None:
        """Seconds since 1970 UTC; None if the text is no stamp. [s]"""
        match = _TO_THE_SECOND.fullmatch(text.strip())
        if not match:
            return None
        minute, second, fraction, zone = match.groups()
        seconds = float(f"{second or 0}.{fraction or 0}")
        if seconds >= 61:
            return None
        if (minute, zone) != self._minute:  # thousands of stamps lie in one minute
            if zone is None and not self._has_zone:
                self._ledger.note("stamps carry no zone and are taken as UTC; differences of time do not depend on it")
            try:
                self._minute_s = self._clock.us(f"{minute}{zone or ''}") / SECOND
            except NoTime:
                return None
            self._minute = minute, zone
        return self._minute_s + seconds
