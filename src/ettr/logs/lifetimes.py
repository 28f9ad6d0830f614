"""Tables of lifetimes of units: an age and whether the unit failed, or dates in and out of service."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import tzinfo
from pathlib import Path

import numpy as np
import pandas as pd

from ettr.core.errors import InputError, UnknownName
from ettr.files.clock import StampClock
from ettr.files.columns import Columns, find_roles, origins
from ettr.files.decimal_commas import numbers_with_points
from ettr.files.durations import durations_us, unit_us, without_unit
from ettr.files.ledger import Ledger
from ettr.files.opening import Progress, Source
from ettr.files.tables import DelimitedTable, columns_found, plain_name, refuse_values
from ettr.files.times import HOUR, UNITS, joined
from ettr.files.zones import zone_of
from ettr.logs.options import checked_header, checked_options
from ettr.logs.states import plain

_WORDS = {
    "age": "age lifetime life duration inservice uptime hours days daysinservice hoursinservice",
    "in": "in installed installedat insert inserted start started deployed commissioned since from begin",
    "out": "out removed removedat remove end ended failedat died retired until to decommissioned replaced",
    "failed": "failed event observed died dead ended status censored outcome state fate",
    "reason": "reason cause why",
}
_ENDS = {
    True: "1 10 true yes y failed fail failure dead died broken event observed removed replaced down",
    False: "0 00 false no n running alive active ok inservice censored working up survived",
}
_YES, _NO = (frozenset(_ENDS[ended].split()) for ended in (True, False))
_NO_FAILURE = frozenset(["retire", "retired", "upgrade", "upgraded", "decommissioned", "moved", "censored"])
"""Reasons for removal that are not failures."""


@dataclass(frozen=True)
class Lives:
    """Lifetimes of units.

    Attributes
    ----------
    table : DataFrame
        One row per unit: ``duration_h`` [h], ``observed`` (False if the unit is still in service, or was removed
        without a failure), and ``cohort`` (category, missing if there is none).
    split : str or None
        Column of the cohorts.
    source : str
        Name of the file.
    ledger : DataFrame
        Rows that were left out, by reason, as in a ``FailureLog``.
    notes : tuple of str
        Assumptions, one sentence each.
    """

    table: pd.DataFrame
    split: str | None
    source: str
    ledger: pd.DataFrame
    notes: tuple[str, ...]


def read_lifetimes(
    path: str | Path,
    columns: Mapping[str, str] | None = None,
    split: str | None = None,
    *,
    until: str | None = None,
    zone: str | tzinfo | None = None,
    time_unit: str | None = None,
    header: Sequence[str] | None = None,
    encoding: str | None = None,
    progress: Progress | None = None,
) -> Lives:
    """Read a table of lifetimes.

    Parameters
    ----------
    path : str or path
        A table with one row per unit: its ``age`` and whether it ``failed``; or the times ``in`` and ``out`` of
        service, optionally with a ``reason``.
    columns : mapping of str to str or None
        These names to column names of the file, if they differ.
    split : str or None
        Column whose values are compared as cohorts.
    until : str or None
        End of the observation, for units that are still in service; the last time in the file if not given.
    zone : str, tzinfo or None
        Time zone of times without one.
    time_unit : str or None
        Unit of ages that are plain numbers, if the column's name does not end in one.
    header : sequence of str or None
        For a table without a header: the names of its columns in order, e.g. ``["unit", "age_d", "failed"]``.
    encoding : str or None
        Encoding of the file; UTF-8 if not given.
    progress : callable or None
        Called with the bytes read and the size of the file.

    Returns
    -------
    Lives

    Raises
    ------
    InputError
        Neither ages nor dates, ages without a unit, or no row that can be read.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "fans.csv"
    >>> _ = path.write_text("unit,age_d,failed\\nf1,100,yes\\nf2,250,no\\n")
    >>> read_lifetimes(path).table[["duration_h", "observed"]].to_numpy().tolist()
    [[2400.0, True], [6000.0, False]]
    """
    source, ledger = Source(path, progress, "table of lifetimes", encoding), Ledger()
    table = DelimitedTable(source.lines(ledger), ledger, checked_header(header))
    reading = _Reading(table.header, dict(columns or {}), source.name, ledger)
    cohort = find_roles(table.header, {}, {split: split}, source.name)[split][0] if split else None
    frame = table.frame()
    rows, proposed = frame.head(100).to_numpy().tolist(), ("unit", "age_d", "failed")
    refuse_values(table.header, rows, proposed, source.name, has_names=bool(reading.columns))
    numbers, frame = frame.index.to_numpy(), frame.reset_index(drop=True)
    for name, parts in reading.joined.items():
        frame[name] = [joined(*texts) for texts in frame[parts].to_numpy()]
    for name in {reading.columns[role] for role in ("age", "in", "out") if role in reading.columns}:
        frame[name] = numbers_with_points(frame[name].tolist(), table.delimiter, name, ledger)
    clock = StampClock(ledger, zone_of(zone))
    end_us = None if until is None else checked_options(window=(None, until), zone=zone).last_us
    if "in" in reading.columns:
        lives = reading.dates(frame, numbers, clock, end_us, cohort)
    elif "age" in reading.columns:
        lives = reading.ages(frame, numbers, time_unit, cohort)
    else:
        raise InputError(
            f"{source.name} must have ages and whether units failed, or dates in and out. "
            f"{columns_found(table.header)} Name the columns, e.g. "
            '`columns={"in": "installed", "out": "removed"}`'
        )
    ledger.close()
    read: Columns = {role: (name,) for role, name in reading.columns.items()}
    read |= {"cohort": (cohort,)} if cohort else {}
    ledger.note(origins("columns", read, table.header), first=True)
    if lives.empty:
        raise InputError(f"{source.name}: no lifetime could be read. {ledger.reasons()}")
    return Lives(lives, split, source.name, ledger.to_frame(), (*ledger.notes, *ledger.doubts))


class _Reading:
    """Finds the columns and turns rows into lifetimes."""

    def __init__(self, header: Sequence[str], mapping: dict[str, str], place: str, ledger: Ledger) -> None:
        self._place, self._ledger = place, ledger
        unknown = [name for name in mapping if name not in _WORDS]
        if unknown:
            raise UnknownName("column of lifetimes", unknown[0], _WORDS, "`columns`")
        roles = find_roles(header, {role: words.split() for role, words in _WORDS.items()}, mapping, place, _name_of)
        self.joined = {"+".join(names): list(names) for names in roles.values() if len(names) > 1}
        self.columns = {role: "+".join(names) for role, names in roles.items()}

    def ages(self, frame: pd.DataFrame, numbers: np.ndarray, time_unit: str | None, cohort: str | None) -> pd.DataFrame:
        """Return lifetimes from ages and whether units failed."""
        column = self.columns["age"]
        unit = UNITS.get(time_unit or "") or unit_us(column)
        us, good = durations_us(frame[column].tolist(), unit)
        if not good.any():
            raise InputError(
                f"ages in {column!r} have no unit: rename the column to {column}_d, or give `time_unit` ({self._place})"
            )
        self._drop("age: no duration", ~good, numbers, frame[column])
        observed = np.ones(len(frame), dtype=bool)
        if "failed" in self.columns:
            good, observed = self._failed(frame, good, numbers)
        else:
            self._ledger.note("no column tells which units are still in service: all are treated as failed")
        return self._lives(us / HOUR, observed, good, frame, numbers, cohort)

    def _failed(self, frame: pd.DataFrame, good: np.ndarray, numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Whether each row can be read, and whether its unit failed, from the column that says so."""
        words = frame[self.columns["failed"]].map(plain)
        inverted = plain_name(self.columns["failed"]) == "censored"
        yes, no = words.isin(_YES).to_numpy(), words.isin(_NO).to_numpy()
        self._drop("neither failed nor in service", good & ~(yes | no), numbers, frame[self.columns["failed"]])
        return good & (yes | no), no if inverted else yes

    def dates(
        self, frame: pd.DataFrame, numbers: np.ndarray, clock: StampClock, until_us: int | None, cohort: str | None
    ) -> pd.DataFrame:
        """Return lifetimes from the times in and out of service, and the reasons if there are any."""
        start, started = clock.us_series(frame[self.columns["in"]])
        self._drop("in: no time", ~started, numbers, frame[self.columns["in"]])
        end, ended = np.zeros(len(frame), dtype=np.int64), np.zeros(len(frame), dtype=bool)
        name = "" if "out" in self.columns else self.columns.get("failed", "")
        if name and clock.us_series(frame[name])[1].any():  # the column has the dates of failures
            self.columns["out"] = self.columns.pop("failed")
        if "out" in self.columns:
            end, ended = clock.us_series(frame[self.columns["out"]])
        observed = ended
        if "reason" in self.columns:
            retired = frame[self.columns["reason"]].map(plain).isin(_NO_FAILURE).to_numpy()
            self._ledger.note(f"units removed for another reason than a failure: {int((retired & ended).sum()):,}")
            observed = ended & ~retired
        if "failed" in self.columns:
            started, has_failed = self._failed(frame, started, numbers)
            observed = observed & has_failed
        last = self._until(until_us, np.concatenate([start[started], end[ended]]))
        end = np.where(ended, end, last)
        return self._lives((end - start) / HOUR, observed, started, frame, numbers, cohort)

    def _until(self, until_us: int | None, times: np.ndarray) -> int:
        """End of the observation: the given one, or the last time in the file. [us]"""
        if until_us is not None:
            return until_us
        self._ledger.note(
            "units still in service are taken as observed until the last time in the file; give "
            "the end of the window if it was later"
        )
        return int(times.max(initial=0))

    def _lives(
        self,
        hours: np.ndarray,
        observed: np.ndarray,
        good: np.ndarray,
        frame: pd.DataFrame,
        numbers: np.ndarray,
        cohort: str | None,
    ) -> pd.DataFrame:
        """Return the lifetimes that are positive, or zero and censored."""
        backwards = good & ~((hours > 0) | ((hours == 0) & ~observed))
        self._drop("end not after start", backwards, numbers)
        kept = good & ~backwards
        cohorts = frame[cohort].to_numpy(dtype=object)[kept] if cohort else np.full(int(kept.sum()), None)
        return pd.DataFrame({"duration_h": hours[kept], "observed": observed[kept], "cohort": pd.Categorical(cohorts)})

    def _drop(self, reason: str, rows: np.ndarray, numbers: np.ndarray, texts: pd.Series | None = None) -> None:
        if rows.any():
            first = int(np.argmax(rows))
            value = "" if texts is None or not texts[first].strip() else f": {texts[first].strip()[:40]!r}"
            self._ledger.not_parsed(reason, int(rows.sum()), f"line {numbers[first]:,}{value}")


def _name_of(role: str, name: str) -> str:
    """A column name in the form of ``_WORDS``, for ages without its unit."""
    return plain_name(without_unit(name) if role == "age" else name)
