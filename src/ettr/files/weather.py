"""Weather files: outdoor temperature by hour of the year, from EPW and CSV."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ettr.core.errors import InputError
from ettr.core.numbers import number_of, whole_number_of, with_decimal_point
from ettr.core.validity import AIR_C
from ettr.files.ledger import Ledger
from ettr.files.opening import Source
from ettr.files.tables import header_of, rows
from ettr.files.times import NoTime, written

if TYPE_CHECKING:
    import pandas as pd


HOURS = 8760
"""Hours of the year; 29 February is left out."""
LONGEST_GAP_H = 6
"""Longest gap that is filled by linear interpolation. [h]"""

_NEW_YEAR = datetime(2001, 1, 1)
"""Start of a year without 29 February, from which days and hours are counted."""
_EPW_HEADER, _EPW_FIELDS = 8, 7
_TIMES = ("time", "timestamp", "datetime", "date_time", "date", "local_time", "valid", "utc_time", "time_utc")
_TEMPERATURES = ("temperature", "temperature_2m", "temp", "temp_air", "dry_bulb", "drybulb", "air_temperature", "t2m")
_MOST_BEFORE_HEADER = 51
"""The header of a table must be within this many lines."""
_MOST_ODD = 0.1
"""Share of implausible temperatures above which the file has another unit rather than errors."""
_SENTINELS = (99.9, 999.0, 999.9, 9999.0, -99.0, -999.0, -9999.0)
_DAY = re.compile(r"(?:(\d{4})-)?(\d\d-\d\d)")


@dataclass(frozen=True)
class Weather:
    """Outdoor temperature by hour of the year, in local standard time.

    Attributes
    ----------
    ambient_c : ndarray
        8760 values, the first for the hour from midnight of 1 January; NaN for missing hours. [°C]
    place : str
        Place according to the file; may be empty.
    years : tuple of int
        Years of the values; several for a typical year, which combines months of different years.
    format : str
        ``epw`` or ``csv``.
    source : str
        Name of the file.
    ledger : DataFrame
        Records that were left out: ``action``, ``reason``, ``n``, ``example``.
    notes : tuple of str
        Assumptions, one sentence each.

    Examples
    --------
    >>> weather = Weather(np.full(HOURS, 20.0), "Nowhere", (2025,), "csv", "made.csv")
    >>> weather.covers, weather.window("06-15", 2).shape
    ('01-01 to 12-31', (48, 3))
    """

    ambient_c: np.ndarray
    place: str
    years: tuple[int, ...]
    format: str
    source: str
    ledger: pd.DataFrame = field(default_factory=lambda: Ledger().to_frame())
    notes: tuple[str, ...] = ()

    @property
    def covers(self) -> str:
        """First and last day of each part of the year in the file, at most three, e.g. ``01-01 to 12-31``."""
        days = np.unique(np.flatnonzero(~np.isnan(self.ambient_c)) // 24)
        parts = np.split(days, np.flatnonzero(np.diff(days) > 1) + 1)
        spans = [f"{_day_name(int(part[0]))} to {_day_name(int(part[-1]))}" for part in parts]
        return ", ".join([*spans[:3], *(["..."] if len(spans) > 3 else [])])

    def window(self, starts: str | None = None, n_days: int = 365) -> pd.DataFrame:
        """Return the hours of some days.

        Parameters
        ----------
        starts : str, optional
            First day, ``06-15`` in any year or ``2026-06-15`` in that year; if not given, all hours of the file.
        n_days : int
            Number of days, across the turn of the year if necessary; at most 365.

        Returns
        -------
        DataFrame
            One row per hour: ``hour`` of the day (its middle) [h], ``ambient_c`` [°C], ``day`` (from 0).

        Raises
        ------
        InputError
            A day that the file does not cover, a year that is not the file's, or an invalid day.
        """
        import pandas as pd

        if starts is None:
            hours = np.flatnonzero(~np.isnan(self.ambient_c))
        else:
            first = 24 * self._first_day(starts)
            hours = (first + np.arange(24 * min(max(n_days, 1), 365))) % HOURS
            missing = np.isnan(self.ambient_c[hours])
            if missing.any():
                first_missing = _day_name(int(hours[missing][0]) // 24)
                raise InputError(
                    f"{self.source} has no weather for {first_missing}, one of the {n_days:,} days from {starts}; it "
                    f"covers {self.covers}"
                )
        return pd.DataFrame(
            {"hour": hours % 24 + 0.5, "ambient_c": self.ambient_c[hours], "day": (hours - hours[0]) % HOURS // 24}
        )

    def _first_day(self, starts: str) -> int:
        """Number of the first day, from 0 for 1 January."""
        match = _DAY.fullmatch(starts)
        try:
            first = datetime.strptime(f"{_NEW_YEAR.year}-{match[2] if match else ''}", "%Y-%m-%d")
        except ValueError as error:
            raise InputError(
                f"starts must be a day such as 06-15 or 2026-06-15, and not 29 February, got {starts!r}"
            ) from error
        if match and match[1] and len(self.years) == 1 and int(match[1]) != self.years[0]:
            raise InputError(
                f"{self.source} has the weather of {self.years[0]}, not of {match[1]}: give only month and day, "
                f"{match[2]}, to use it for any year"
            )
        return (first - _NEW_YEAR).days


def read(path: str | Path) -> Weather:
    """Read a weather file: EPW, or CSV with a column of times and one of temperatures.

    Parameters
    ----------
    path : str or path
        Plain text, or compressed as .gz or .xz; times in local standard time, or with their offset from UTC.

    Returns
    -------
    Weather
        Temperatures by hour of the year, in local standard time.

    Raises
    ------
    InputError
        Not a weather file, times in UTC, more than 10% of implausible temperatures, or fewer than 24 hours in a row.

    Notes
    -----
    Several values of one hour are averaged. Gaps of up to six hours are interpolated linearly, with a note. 29 February
    is left out. Daylight saving time shows as one missing and one double hour; give times with their offset to avoid
    this.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "june.csv"
    >>> rows = [f"2025-06-15 {hour:02d}:00,{10 + hour}" for hour in range(24)]
    >>> _ = path.write_text("\\n".join(["time,temperature", *rows]))
    >>> weather = read(path)
    >>> weather.covers, weather.window()["ambient_c"].max()
    ('06-15 to 06-15', np.float64(33.0))
    """
    source, ledger = Source(path, kind="weather file"), Ledger()
    head = source.head()
    epw = head[0].upper().startswith("LOCATION,")
    records = _Records(source, ledger)
    hours = records.hours(records.of_epw(head[0]) if epw else records.of_table(head))
    if hours.empty:
        raise InputError(f"{source.name} has no hour of weather: {ledger.reasons() or 'no records'}")
    by_hour = hours.groupby("hour")["ambient_c"]
    ledger.merged("another value of the same hour", len(hours) - by_hour.ngroups)
    values = _filled(by_hour.mean().reindex(range(HOURS)), ledger)
    longest = _longest_run(values)
    if longest < 24:
        raise InputError(
            f"a weather file must have at least 24 hours in a row, with gaps of up to {LONGEST_GAP_H} h; {source.name} "
            f"has {by_hour.ngroups:,} hours, at most {longest:,} in a row"
        )
    years = tuple(sorted(set(hours["year"].tolist())))
    if len(years) > 1:
        ledger.note(f"typical year from months of {years[0]} to {years[-1]}, used for any year")
    if source.cut:
        ledger.note(f"the file {source.cut}")
    return Weather(
        ambient_c=values,
        place=records.place,
        years=years,
        format="epw" if epw else "csv",
        source=source.name,
        ledger=ledger.to_frame(),
        notes=tuple(ledger.notes),
    )


class _Records:
    """Reads the records of a weather file, and accounts for each."""

    def __init__(self, source: Source, ledger: Ledger) -> None:
        self._source, self._ledger = source, ledger
        self.place = ""
        self._standard: timedelta | None = None  # local time minus UTC, from the first record with an offset
        self._n_odd, self._first_odd = 0, ""

    def hours(self, records: Iterator[tuple[datetime, str, str]]) -> pd.DataFrame:
        """Return ``hour`` of the year, ``year`` and ``ambient_c``, from time, temperature and place of each record."""
        import pandas as pd

        kept = []
        for moment, text, place in records:
            ambient = self._temperature(text, place)
            if ambient is not None and (moment.month, moment.day) == (2, 29):
                self._ledger.dropped("29 February", place=place)
            elif ambient is not None:
                hour = (moment.replace(year=_NEW_YEAR.year) - _NEW_YEAR) // timedelta(hours=1)
                kept.append((hour, moment.year, ambient))
        n = len(kept) + self._n_odd
        if self._n_odd > _MOST_ODD * n:
            raise InputError(
                f"{self._source.name} has {self._n_odd:,} of {n:,} temperatures outside "
                f"{AIR_C[0]:g} to {AIR_C[1]:g} °C, the first in {self._first_odd}: are they in °F or K?"
            )
        return pd.DataFrame(kept, columns=["hour", "year", "ambient_c"])

    def _temperature(self, text: str, place: str) -> float | None:
        """A plausible temperature; None for any other text, which is recorded. [°C]"""
        try:
            value = number_of(text)
        except ValueError:
            if text.strip().lower() in ("", "na", "nan", "null", "m", "-"):
                self._ledger.not_parsed("no temperature", place=place)
            else:
                self._ledger.not_parsed("not a number such as 12.5", place=f"{place}, {text.strip()[:20]!r}")
            return None
        if value in _SENTINELS:
            self._ledger.not_parsed("sentinel for a missing temperature", place=place)
        elif math.isnan(value):
            self._ledger.not_parsed("no temperature", place=place)
        elif not AIR_C[0] <= value <= AIR_C[1]:
            self._n_odd, self._first_odd = self._n_odd + 1, self._first_odd or place
            self._ledger.not_parsed(f"temperature outside {AIR_C[0]:g} to {AIR_C[1]:g} °C", place=place)
        else:
            return value
        return None

    def of_epw(self, location: str) -> Iterator[tuple[datetime, str, str]]:
        """Yield the records of EnergyPlus weather: eight header lines, then one line per hour, labelled by its end."""
        self._locate(location.split(","))
        for number, line in self._source.lines(self._ledger):
            if number <= _EPW_HEADER:
                continue
            place = f"line {number:,}"
            cells = line.split(",")
            if len(cells) < _EPW_FIELDS:
                self._ledger.not_parsed("fewer fields than EPW has", place=place)
                continue
            try:
                year, month, day, hour = (whole_number_of(cell) for cell in cells[:4])
                moment = datetime(year, month, day) + timedelta(hours=hour - 1)
            except (ValueError, OverflowError):
                self._ledger.not_parsed("no time", place=place)
                continue
            yield moment, cells[6], place

    def _locate(self, cells: list[str]) -> None:
        """Read the place from the first line of EPW."""
        if len(cells) < 9:
            raise InputError(
                f"{self._source.name} starts like EPW, but its LOCATION has {len(cells)} fields instead of 10"
            )
        self.place = ", ".join(cell.strip() for cell in cells[1:4] if cell.strip() not in ("", "-"))

    def of_table(self, head: list[str]) -> Iterator[tuple[datetime, str, str]]:
        """Yield the records of CSV, which may have other lines before the header, as from weather services."""
        headers = ((i, *header_of(line)) for i, line in enumerate(head[:_MOST_BEFORE_HEADER], 1))
        number, names, delimiter = next((header for header in headers if self._columns(header[1])), (0, [], ""))
        columns = self._columns(names)
        if columns is None:
            raise InputError(
                f"{self._source.name} is not a weather file: neither EPW, nor CSV with a column of times "
                f"({', '.join(_TIMES[:4])}) and one of temperatures in °C ({', '.join(_TEMPERATURES[:4])})"
            )
        if "utc" in names[columns[0]].lower():
            raise self._in_utc()
        for place, cells in rows(self._source, self._ledger, skip=number, delimiter=delimiter):
            if not any(cell.strip() for cell in cells):
                continue
            if len(cells) <= max(columns):
                self._ledger.not_parsed("fewer cells than the header", place=place)
                continue
            if any(cell.strip() for cell in cells[len(names) :]):  # such as decimal commas between commas
                self._ledger.not_parsed("more cells than the header", place=place)
                continue
            moment = self._moment(cells[columns[0]], place)
            text = cells[columns[1]]
            if delimiter != "," and "," in text:
                text = with_decimal_point(text)
                self._ledger.note("a comma in a temperature is a decimal sign, because columns are not separated by it")
            if moment is not None:
                yield moment, text, place

    def _columns(self, cells: list[str]) -> tuple[int, int] | None:
        """Columns of times and temperatures; None for a line that is not a header."""
        bare = (re.sub(r"[\[(][^\[\]()]*[\])]", "", cell.lower()) for cell in cells)
        names = [re.sub(r"[^a-z0-9]+", "_", name).strip("_") for name in bare]
        times = [i for i, name in enumerate(names) if name in _TIMES]
        temperatures = [
            i for i, name in enumerate(names) if re.sub(r"_(c|degc|celsius|f|k)$", "", name) in _TEMPERATURES
        ]
        if not times or not temperatures:
            return None
        column = cells[temperatures[0]]
        unit = column.lower()
        if re.search(r"°f|fahrenheit|_f\b|\(f\)|\[f\]|\bk\b|_k\b|kelvin", unit):
            raise InputError(f"{self._source.name} must have temperatures in °C, got the column {column!r}")
        return times[0], temperatures[0]

    def _moment(self, text: str, place: str) -> datetime | None:
        """Local standard time of a record; None if it cannot be read."""
        try:
            moment = written(text.strip())
        except NoTime:
            moment = None
        if moment is None:
            self._ledger.not_parsed("no time such as 2026-06-15T14:00", place=place)
            return None
        if moment.tzinfo is None:
            self._ledger.note("times have no time zone and are read as local standard time of the data hall")
            return moment
        offset = moment.utcoffset() or timedelta()
        if self._standard is None:
            if not offset:
                raise self._in_utc()
            self._standard = offset
            ahead_h = offset / timedelta(hours=1)
            self._ledger.note(f"local standard time is UTC{ahead_h:+g} h, from the first record")
        try:
            return (moment - offset).replace(tzinfo=None) + self._standard
        except OverflowError:
            self._ledger.not_parsed("no time such as 2026-06-15T14:00", place=place)
            return None

    def _in_utc(self) -> InputError:
        """The error for times in UTC."""
        return InputError(
            f"{self._source.name} has times in UTC: give them in local standard time of the data hall, e.g. "
            "2026-06-15T14:00 or 2026-06-15T14:00-08:00"
        )


def _longest_run(values: np.ndarray) -> int:
    """Longest run of hours with values, across the turn of the year."""
    hours = np.flatnonzero(np.tile(~np.isnan(values), 2))
    runs = np.split(hours, np.flatnonzero(np.diff(hours) > 1) + 1)
    return min(HOURS, max(run.size for run in runs))


def _filled(values: pd.Series, ledger: Ledger) -> np.ndarray:
    """Values with short gaps interpolated linearly; hours outside the file stay missing."""
    missing = values.isna()
    gap_h = missing.groupby((~missing).cumsum()).transform("sum")
    interpolated = values.interpolate(limit_area="inside")
    filled = interpolated.mask(missing & (gap_h > LONGEST_GAP_H))
    n_filled, n_left = (int(n) for n in (missing.sum() - filled.isna().sum(), interpolated.count() - filled.count()))
    if n_filled:
        ledger.note(f"{n_filled:,} missing hours are interpolated linearly")
    if n_left:
        ledger.note(f"{n_left:,} hours in longer gaps are left out")
    values_c: np.ndarray = filled.to_numpy()
    return values_c


def _day_name(day: int) -> str:
    """Month and day of a day number."""
    return f"{_NEW_YEAR + timedelta(days=day):%m-%d}"
