"""Weather files: outdoor temperature by the hour of the year, from EPW and CSV."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pandas as pd

from ettr.core.errors import InputError
from ettr.core.temperatures import AIR_C
from ettr.files.ledger import Ledger
from ettr.files.opening import Source

HOURS = 8760
"""Hours of the year that weather is kept for; 29 February is set aside."""
LONGEST_GAP_H = 6
"""Hours that may be missing in a row and are drawn straight between their neighbours."""

_MONTH_DAYS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_FIRST_DAY = np.concatenate([[0], np.cumsum(_MONTH_DAYS)[:-1]])
_EPW_HEADER, _EPW_FIELDS, _EPW_MISSING_C = 8, 7, 99.9
_TIMES = ("time", "timestamp", "datetime", "date_time", "date", "local_time", "valid", "utc_time", "time_utc")
_TEMPERATURES = ("temperature", "temperature_2m", "temp", "temp_air", "dry_bulb", "drybulb", "air_temperature", "t2m")
_MOST_ODD = 0.1
"""Share of temperatures that no air has, above which the file is in another unit rather than faulty."""
_SENTINELS = (99.9, 999.0, 999.9, 9999.0, -99.0, -999.0, -9999.0)
_FULL_DATE = re.compile(r"(\d{4})-(\d\d)-(\d\d)$")
_MONTH_DAY = re.compile(r"(\d\d)-(\d\d)$")


@dataclass(frozen=True)
class Weather:
    """Outdoor temperature by the hour of the year, in the local standard time of the place.

    Attributes
    ----------
    ambient_c : ndarray
        8760 values, the first for the hour from midnight of 1 January; NaN where the file says nothing. [°C]
    place : str
        Where it was measured, as the file says; may be empty.
    zone_h : float or None
        Local standard time less UTC; None where the file does not say. [h]
    years : tuple of int
        Years that the values are from. Several in a typical year, whose months were picked from different ones.
    format : str
        ``epw`` or ``csv``.
    source : str
        File.
    ledger : DataFrame
        What was done with records that became no value: ``action``, ``reason``, ``n``, ``example``.
    notes : tuple of str
        What was assumed, a sentence each.
    """

    ambient_c: np.ndarray
    place: str
    zone_h: float | None
    years: tuple[int, ...]
    format: str
    source: str
    ledger: pd.DataFrame = field(default_factory=pd.DataFrame)
    notes: tuple[str, ...] = ()

    @property
    def covers(self) -> str:
        """First and last day that the file speaks of, e.g. ``01-01 to 12-31``."""
        there = np.flatnonzero(~np.isnan(self.ambient_c)) // 24
        return f"{_day_name(int(there[0]))} to {_day_name(int(there[-1]))}"

    def window(self, starts: str | None = None, n_days: int = 365) -> pd.DataFrame:
        """The hours of some days.

        Parameters
        ----------
        starts : str, optional
            First day, ``06-15`` in any year or ``2026-06-15`` in that one; without it all that the file holds.
        n_days : int
            Days from there, around the turn of the year if need be; at most 365.

        Returns
        -------
        DataFrame
            ``hour`` of the day, its middle [h], ``ambient_c`` [°C], ``day`` (from 0), a row an hour.

        Raises
        ------
        InputError
            A day that the file does not cover, another year than the file's, or no day at all.
        """
        if starts is None:
            there = np.flatnonzero(~np.isnan(self.ambient_c))
        else:
            first = 24 * self._first_day(starts)
            there = (first + np.arange(24 * min(max(n_days, 1), 365))) % HOURS
            missing = np.isnan(self.ambient_c[there])
            if missing.any():
                first_missing = _day_name(int(there[missing][0]) // 24)
                raise InputError(
                    f"{self.source} has no weather for {first_missing}, one of the {n_days:,} days from {starts}; it "
                    f"covers {self.covers}"
                )
        return pd.DataFrame(
            {"hour": there % 24 + 0.5, "ambient_c": self.ambient_c[there], "day": (there - there[0]) % HOURS // 24}
        )

    def _first_day(self, starts: str) -> int:
        dated = _FULL_DATE.match(starts)
        day = starts[5:] if dated else starts
        parts = _MONTH_DAY.match(day)
        if not parts or not 1 <= int(parts[1]) <= 12 or not 1 <= int(parts[2]) <= _MONTH_DAYS[int(parts[1]) - 1]:
            raise InputError(f"starts must be a day such as 06-15 or 2026-06-15, and not 29 February, got {starts!r}")
        if dated and len(self.years) == 1 and int(dated[1]) != self.years[0]:
            raise InputError(
                f"{self.source} holds the weather of {self.years[0]}, not of {dated[1]}: give month and day alone, "
                f"{day}, to let it stand for any year"
            )
        return int(_FIRST_DAY[int(parts[1]) - 1]) + int(parts[2]) - 1


def read(path: str | Path, zone_h: float | None = None) -> Weather:
    """Read a weather file: EPW, or CSV with a column of times and one of temperatures.

    Parameters
    ----------
    path : str or path
        Plain text, or packed as .gz or .xz.
    zone_h : float, optional
        Local standard time less UTC, where the hall stands. Needed if times are in UTC and the hall is not; refused if
        the file itself says another one. [h]

    Returns
    -------
    Weather
        Temperatures by the hour of the year, in local standard time.

    Raises
    ------
    InputError
        No weather file, another zone than the file's or one for times that say none, more than 10% of temperatures that
        no air has, or fewer than 24 hours in a row.

    Notes
    -----
    Several values of one hour are averaged. Up to six hours missing in a row are drawn straight between their
    neighbours, and counted. 29 February is set aside. A clock that is put forward in summer shows as one missing and
    one double hour; give times with their offset, or in UTC, to avoid it.
    """
    source, ledger = Source(path, kind="weather file"), Ledger()
    if zone_h is not None and not -12 <= zone_h <= 14:
        raise InputError(f"zone_h must be from -12 to 14 h, got {zone_h:g}")
    head = source.head()
    epw = head[0].upper().startswith("LOCATION,")
    rows = _Epw(source, ledger, zone_h) if epw else _Table(source, ledger, zone_h)
    hour, year, ambient = rows.read()
    if not hour.size:
        raise InputError(f"{source.name} holds no hour of weather: {_reasons(ledger)}")
    by_hour = pd.Series(ambient).groupby(hour)
    repeated = hour.size - by_hour.ngroups
    if repeated:
        ledger.merged("another value of the same hour", repeated)
    values = _filled(by_hour.mean().reindex(range(HOURS)).to_numpy(), ledger)
    longest = _longest_run(values)
    if longest < 24:
        raise InputError(
            f"a weather file must hold at least 24 hours in a row, with gaps of up to {LONGEST_GAP_H}; {source.name} "
            f"holds {by_hour.ngroups:,} hours, {longest:,} of them in a row"
        )
    years = tuple(sorted(set(year.tolist())))
    if len(years) > 1:
        ledger.note(f"a year put together from {years[0]} to {years[-1]}: it stands for any")
    if source.cut:
        ledger.note(f"the file {source.cut}")
    return Weather(
        ambient_c=values,
        place=rows.place,
        zone_h=rows.zone_h,
        years=years,
        format="epw" if epw else "csv",
        source=source.name,
        ledger=ledger.to_frame(),
        notes=tuple(ledger.notes),
    )


class _Rows:
    """Hours of the year, years and temperatures from the records of a file."""

    def __init__(self, source: Source, ledger: Ledger, zone_h: float | None) -> None:
        self._source, self._ledger = source, ledger
        self.zone_h, self.place = zone_h, ""
        self._zone_is_given = zone_h is not None
        self._n_odd, self._first_odd = 0, ""

    def read(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        rows = list(self._hours())
        hours, years, ambient = zip(*rows, strict=True) if rows else ((), (), ())
        if self._n_odd > _MOST_ODD * (len(ambient) + self._n_odd):
            raise InputError(
                f"{self._source.name} has {self._n_odd:,} of {len(ambient) + self._n_odd:,} temperatures outside "
                f"{AIR_C[0]:g} to {AIR_C[1]:g} °C, the first in {self._first_odd}: are they in °F or K?"
            )
        return np.array(hours, dtype=int), np.array(years, dtype=int), np.array(ambient, dtype=float)

    def _hours(self) -> Iterator[tuple[int, int, float]]:
        raise NotImplementedError

    def _kept(self, moment: datetime, text: str, place: str) -> tuple[int, int, float] | None:
        ambient = self._temperature(text, place)
        if ambient is None:
            return None
        if (moment.month, moment.day) == (2, 29):
            self._ledger.dropped("29 February", place=place)
            return None
        day = int(_FIRST_DAY[moment.month - 1]) + moment.day - 1
        return 24 * day + moment.hour, moment.year, ambient

    def _temperature(self, text: str, place: str) -> float | None:
        try:
            value = float(text)
        except ValueError:
            reason = "no temperature" if text.strip().lower() in ("", "na", "nan", "null", "m", "-") else "not a number"
            self._ledger.not_parsed(reason, place=place)
            return None
        if value in _SENTINELS:
            self._ledger.not_parsed("a sentinel for no temperature", place=place)
        elif math.isnan(value):
            self._ledger.not_parsed("no temperature", place=place)
        elif not AIR_C[0] <= value <= AIR_C[1]:
            self._n_odd, self._first_odd = self._n_odd + 1, self._first_odd or place
            self._ledger.not_parsed(f"a temperature outside {AIR_C[0]:g} to {AIR_C[1]:g} °C", place=place)
        else:
            return value
        return None

    def _take_zone(self, zone_h: float) -> None:
        if self.zone_h is not None and abs(self.zone_h - zone_h) > 1e-6:
            raise InputError(
                f"{self._source.name} is in local time of UTC{zone_h:+g} h, not UTC{self.zone_h:+g} h: take a file of "
                "the hall's own place, or leave the zone out"
            )
        self.zone_h = zone_h


class _Epw(_Rows):
    """EnergyPlus weather: eight lines of header, then a line an hour, which it names by its end."""

    def _hours(self) -> Iterator[tuple[int, int, float]]:
        for number, line in self._source.lines(self._ledger):
            place = f"line {number:,}"
            cells = line.split(",")
            if number == 1:
                self._location(cells)
            if number <= _EPW_HEADER:
                continue
            if len(cells) < _EPW_FIELDS:
                self._ledger.not_parsed("fewer fields than EPW has", place=place)
                continue
            try:
                year, month, day, hour = (int(cell) for cell in cells[:4])
                moment = datetime(year, month, day) + timedelta(hours=hour - 1)
            except (ValueError, OverflowError):
                self._ledger.not_parsed("no time", place=place)
                continue
            kept = self._kept(moment, cells[6], place)
            if kept:
                yield kept

    def _location(self, cells: list[str]) -> None:
        if len(cells) < 9:
            raise InputError(f"{self._source.name} begins like EPW, but its LOCATION has {len(cells)} fields of 10")
        self.place = ", ".join(cell.strip() for cell in cells[1:4] if cell.strip() not in ("", "-"))
        try:
            self._take_zone(float(cells[8]))
        except ValueError as error:
            if isinstance(error, InputError):
                raise
            raise InputError(
                f"{self._source.name} names no time zone in field 9 of LOCATION, got {cells[8]!r}"
            ) from error


class _Table(_Rows):
    """CSV: lines of other things may stand before the header, as weather services write them."""

    def _hours(self) -> Iterator[tuple[int, int, float]]:
        columns: tuple[int, int] | None = None
        delimiter, in_utc = ",", False
        for number, line in self._source.lines(self._ledger):
            place = f"line {number:,}"
            if columns is None:
                delimiter = max(",;\t", key=line.count)
                cells = _cells(line, delimiter)
                columns = self._header(cells)
                in_utc = columns is not None and "utc" in cells[columns[0]].lower()
                if columns is None and number > 50:
                    break
                continue
            cells = _cells(line, delimiter)
            if not any(cells):
                continue
            if len(cells) <= max(columns):
                self._ledger.not_parsed("fewer cells than the header", place=place)
                continue
            moment = self._moment(cells[columns[0]], in_utc, place)
            kept = moment and self._kept(moment, cells[columns[1]], place)
            if kept:
                yield kept
        if columns is None:
            raise InputError(
                f"{self._source.name} is no weather file: neither EPW, nor CSV with a column of times "
                f"({', '.join(_TIMES[:4])}) and one of temperatures in °C ({', '.join(_TEMPERATURES[:4])})"
            )

    def _header(self, cells: list[str]) -> tuple[int, int] | None:
        plain = [re.sub(r"[^a-z0-9]+", "_", re.sub(r"[\[(].*?[\])]", "", cell.lower())).strip("_") for cell in cells]
        times = [i for i, name in enumerate(plain) if name in _TIMES]
        warm = [i for i, name in enumerate(plain) if re.sub(r"_(c|degc|celsius|f|k)$", "", name) in _TEMPERATURES]
        if not times or not warm:
            return None
        unit = cells[warm[0]].lower()
        if re.search(r"°f|fahrenheit|_f\b|\(f\)|\[f\]|\bk\b|_k\b|kelvin", unit):
            raise InputError(f"{self._source.name} must give temperatures in °C, got the column {cells[warm[0]]!r}")
        return times[0], warm[0]

    def _moment(self, text: str, in_utc: bool, place: str) -> datetime | None:
        try:
            moment = datetime.fromisoformat(text.strip().replace("/", "-"))
        except ValueError:
            self._ledger.not_parsed("no time such as 2026-06-15T14:00", place=place)
            return None
        if in_utc and moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        if moment.tzinfo is None:
            if self._zone_is_given:
                raise InputError(
                    f"{self._source.name} has times without a zone ({place}), so zone_h has nothing to convert: name "
                    "their column utc_time if they are in UTC, or leave zone_h out if they are local"
                )
            self._ledger.note("times carry no zone: taken as local standard time of the hall")
            return moment
        offset = moment.utcoffset() or timedelta()
        if self.zone_h is None:
            if not offset:
                raise InputError(
                    f"{self._source.name} has times in UTC: say how far local time is ahead of it with zone_h, e.g. -8 "
                    "for California"
                )
            self.zone_h = offset / timedelta(hours=1)
            self._ledger.note(f"local standard time taken as UTC{self.zone_h:+g} h, as in the first record")
        try:
            return (moment - offset).replace(tzinfo=None) + timedelta(hours=self.zone_h)
        except OverflowError:
            self._ledger.not_parsed("no time such as 2026-06-15T14:00", place=place)
            return None


def _cells(line: str, delimiter: str) -> list[str]:
    return [cell.strip() for cell in next(csv.reader([line], delimiter=delimiter), [])]


def _longest_run(values: np.ndarray) -> int:
    """Hours in a row that are known, around the turn of the year."""
    twice = np.tile(~np.isnan(values), 2)
    steps = np.diff(np.concatenate([[0], twice, [0]]).astype(int))
    return min(HOURS, int(np.max(np.flatnonzero(steps < 0) - np.flatnonzero(steps > 0), initial=0)))


def _filled(values: np.ndarray, ledger: Ledger) -> np.ndarray:
    """Short gaps drawn straight between their neighbours; what lies outside the file stays missing."""
    there = np.flatnonzero(~np.isnan(values))
    filled, gaps = values.copy(), np.diff(there)
    short = [i for i in np.flatnonzero(gaps > 1) if gaps[i] <= LONGEST_GAP_H + 1]
    for i in short:
        inside = np.arange(there[i] + 1, there[i + 1])
        filled[inside] = np.interp(inside, there, values[there])
    n_filled = int(sum(gaps[i] - 1 for i in short))
    n_left = int((gaps - 1).sum()) - n_filled
    if n_filled:
        ledger.note(f"{n_filled:,} missing hours are drawn straight between their neighbours")
    if n_left:
        ledger.note(f"{n_left:,} hours in longer gaps are left out")
    return filled


def _reasons(ledger: Ledger) -> str:
    rows = ledger.to_frame()
    return "; ".join(f"{row.n:,} {row.reason} ({row.example})" for row in rows.itertuples()) or "no record at all"


def _day_name(day: int) -> str:
    month = int(np.searchsorted(_FIRST_DAY, day, side="right")) - 1
    return f"{month + 1:02d}-{day - int(_FIRST_DAY[month]) + 1:02d}"
