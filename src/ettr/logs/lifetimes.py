"""Tables of units and how long they lived: an age and whether it ended, or dates in and out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import tzinfo
from pathlib import Path

import numpy as np
import pandas as pd

from ettr.core.errors import InputError
from ettr.files.clock import StampClock
from ettr.files.ledger import Ledger
from ettr.files.opening import Progress, Source
from ettr.files.tables import DelimitedTable, columns_found, plain_name, refuse_twice, same_name
from ettr.files.times import UNITS
from ettr.files.zones import zone_of
from ettr.logs.durations import durations_us, unit_us, without_unit
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
"""Reasons for which a unit leaves without a failure."""
_HOUR_US = 3.6e9


@dataclass(frozen=True)
class Lives:
    """Lifetimes of units.

    Attributes
    ----------
    table : DataFrame
        A row a unit: ``duration_h`` [h], ``observed`` (False where it still lives, or left for another reason), and
        ``cohort`` (category, missing where there is none).
    split : str or None
        Column of the cohorts.
    source : str
        File that they come from.
    ledger : DataFrame
        Rows that are in none of this, as of a ``FailureLog``.
    notes : tuple of str
        What was assumed, a sentence each.
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
    encoding: str | None = None,
    progress: Progress | None = None,
) -> Lives:
    """Read a table of lifetimes.

    Parameters
    ----------
    path : str or path
        A table with a row a unit: its ``age`` and whether it ``failed``; or when it came ``in`` and went ``out``, with
        a ``reason`` perhaps.
    columns : mapping of str to str or None
        These names to the file's, where it calls them otherwise.
    split : str or None
        Column whose values are compared.
    until : str or None
        When the watch ended, for units that are still in; the last time in the file if not given.
    zone : str, tzinfo or None
        Zone of times that carry none.
    time_unit : str or None
        Unit of ages that are plain numbers, where the column's name does not end in one.
    encoding, progress
        As in ``ettr.logs.read``.

    Returns
    -------
    Lives

    Raises
    ------
    InputError
        Columns of neither kind, ages without a unit, or no row that can be read.
    """
    source, ledger = Source(path, progress, "table of lifetimes", encoding), Ledger()
    table = DelimitedTable(source.lines(ledger), ledger)
    reading = _Reading(table.header, dict(columns or {}), source.name, ledger)
    cohort = reading.column(split, "--split") if split else None
    refuse_twice([*reading.columns.values(), *([cohort] if cohort else [])], table.header, source.name)
    rows = [(number, row) for numbers, batch in table.batches() for number, row in zip(numbers, batch, strict=True)]
    frame = pd.DataFrame([row for _, row in rows], columns=table.header, dtype=object)
    numbers = np.array([number for number, _ in rows], dtype=int)
    clock = StampClock(ledger, zone_of(zone))
    end_us = None if until is None else clock.us(until)
    if "in" in reading.columns:
        lives = reading.dates(frame, numbers, clock, end_us, cohort)
    elif "age" in reading.columns:
        lives = reading.ages(frame, numbers, time_unit, cohort)
    else:
        raise InputError(
            f"{source.name} must hold ages and whether they ended, or dates in and out. "
            f"{columns_found(table.header)} Name the columns, e.g. --map in=installed out=removed"
        )
    ledger.close()
    if lives.empty:
        raise InputError(f"{source.name}: no lifetime could be read. " + "; ".join(_fates(ledger)))
    return Lives(lives, split, source.name, ledger.to_frame(), (*ledger.notes, *ledger.doubts))


class _Reading:
    """Finds the columns, and turns rows into lifetimes."""

    def __init__(self, header: Sequence[str], mapping: dict[str, str], place: str, ledger: Ledger) -> None:
        self._header, self._place, self._ledger = header, place, ledger
        unknown = [name for name in mapping if name not in _WORDS]
        if unknown:
            raise InputError(f"--map {unknown[0]}=...: lifetimes have the columns {', '.join(_WORDS)}")
        self.columns: dict[str, str] = {ours: self.column(theirs, f"--map {ours}") for ours, theirs in mapping.items()}
        for ours, words in _WORDS.items():
            free = {
                plain_name(without_unit(name) if ours == "age" else name): name
                for name in reversed(header)
                if name not in self.columns.values()
            }
            found = next((free[word] for word in words.split() if word in free), None)
            if ours not in self.columns and found:
                self.columns[ours] = found

    def column(self, name: str, option: str) -> str:
        """The column of that name."""
        found = same_name(name, self._header)
        if found is None:
            raise InputError(f"{option}: {self._place} has no column {name!r}. {columns_found(self._header)}")
        return found

    def ages(self, frame: pd.DataFrame, numbers: np.ndarray, time_unit: str | None, cohort: str | None) -> pd.DataFrame:
        """A row a unit: its age, and whether it failed."""
        column = self.columns["age"]
        unit = UNITS.get(time_unit or "") or unit_us(column)
        us, good = durations_us(frame[column].tolist(), unit)
        if not good.any():
            raise InputError(
                f"ages in {column!r} have no unit: name it {column}_d, or give --time-unit ({self._place})"
            )
        self._drop("age: no duration", ~good, numbers)
        observed = np.ones(len(frame), dtype=bool)
        if "failed" in self.columns:
            words = frame[self.columns["failed"]].map(plain)
            inverted = plain_name(self.columns["failed"]) == "censored"
            yes, no = words.isin(_YES).to_numpy(), words.isin(_NO).to_numpy()
            self._drop("neither failed nor still alive", good & ~(yes | no), numbers)
            good, observed = good & (yes | no), no if inverted else yes
        else:
            self._ledger.note("no column says which units still live: all are taken as failed")
        return self._lives(us / _HOUR_US, observed, good, frame, numbers, cohort)

    def dates(
        self, frame: pd.DataFrame, numbers: np.ndarray, clock: StampClock, until_us: int | None, cohort: str | None
    ) -> pd.DataFrame:
        """A row a unit: when it came, when it went, and perhaps why."""
        start, started = clock.us_series(frame[self.columns["in"]])
        self._drop("in: no time", ~started, numbers)
        end, ended = np.zeros(len(frame), dtype=np.int64), np.zeros(len(frame), dtype=bool)
        if "out" in self.columns:
            texts = frame[self.columns["out"]]
            is_written = texts.str.strip().ne("").to_numpy(dtype=bool)
            end[is_written], ended[is_written] = clock.us_series(texts[is_written])
        observed = ended
        if "reason" in self.columns:
            left = frame[self.columns["reason"]].map(plain).isin(_NO_FAILURE).to_numpy()
            self._ledger.note(f"units that left for another reason than a failure: {int((left & ended).sum()):,}")
            observed = ended & ~left
        last = self._until(until_us, np.concatenate([start[started], end[ended]]))
        end = np.where(ended, end, last)
        return self._lives((end - start) / _HOUR_US, observed, started, frame, numbers, cohort)

    def _until(self, until_us: int | None, times: np.ndarray) -> int:
        """When the watch ended."""
        if until_us is not None:
            return until_us
        self._ledger.note(
            "units that are still in were watched until the last time in the file; name another with --until"
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
        backwards = good & ~((hours > 0) | ((hours == 0) & ~observed))
        self._drop("a life that ends when it begins, or before", backwards, numbers)
        kept = good & ~backwards
        of = frame[cohort].to_numpy(dtype=object)[kept] if cohort else np.full(int(kept.sum()), None)
        return pd.DataFrame({"duration_h": hours[kept], "observed": observed[kept], "cohort": pd.Categorical(of)})

    def _drop(self, reason: str, rows: np.ndarray, numbers: np.ndarray) -> None:
        if rows.any():
            self._ledger.not_parsed(reason, int(rows.sum()), f"line {numbers[int(np.argmax(rows))]:,}")


def _fates(ledger: Ledger) -> list[str]:
    return [f"{row.n:,} {row.action}: {row.reason} ({row.example})" for row in ledger.to_frame().head(3).itertuples()]
