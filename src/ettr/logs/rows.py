"""From rows of texts, one per failure, to failures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ettr.core.errors import InputError
from ettr.files.clock import StampClock
from ettr.files.durations import durations_us
from ettr.files.ledger import Ledger
from ettr.files.times import DAY, why_not
from ettr.logs.events import OPEN, Events

_MISSING = frozenset({"", "-", "--", "?", "n/a", "na", "nan", "nat", "null", "none", "\\n"})
_NOT_OVER = _MISSING | {"unknown", "open", "ongoing", "now", "present", "active", "tbd"}
_YES = frozenset({"1", "1.0", "y", "yes", "t", "true", "planned", "scheduled", "maintenance", "x"})
_NO = _MISSING | {"0", "0.0", "n", "no", "f", "false", "unplanned", "unscheduled"}

PLANNED = "planned by somebody"
"""Cohort that marks planned outages until starts and ends are joined."""


@dataclass(frozen=True)
class Batch:
    """Some records of a file, as texts.

    Attributes
    ----------
    columns : mapping of str to sequence of str
        Texts of each column, shape (n,): by column names of the file, or by role.
    numbers : sequence of int
        Line or record numbers, for messages. Shape (n,).
    digests : sequence of int
        Hash of all columns of each record. Shape (n,).
    """

    columns: Mapping[str, Sequence[str]]
    numbers: Sequence[int]
    digests: Sequence[int]

    def only(self, keep: np.ndarray) -> Batch:
        """Return the records marked in ``keep``."""
        if keep.all():
            return self
        rows = np.flatnonzero(keep).tolist()
        columns = {name: [texts[row] for row in rows] for name, texts in self.columns.items()}
        return Batch(columns, [self.numbers[row] for row in rows], [self.digests[row] for row in rows])


class Rows:
    """Reads rows in batches into failures, and accounts for each row.

    Parameters
    ----------
    clock : StampClock
        Reads the times.
    events : Events
        Takes the failures.
    ledger : Ledger
        Records everything else.
    word : str
        Name of a row in messages, e.g. ``line``.
    duration_us : float or None
        Unit of durations that are plain numbers. [us]
    """

    def __init__(
        self,
        clock: StampClock,
        events: Events,
        ledger: Ledger,
        word: str,
        duration_us: float | None = None,
        *,
        same_date: bool = False,
    ) -> None:
        self._clock, self._events, self._ledger, self._word = clock, events, ledger, word
        self._duration_us, self._same_date = duration_us, same_date
        self._bad_ends, self._first_bad_end = 0, ""
        self._bad_durations, self._first_bad_duration = 0, ""
        self._odd_plans, self._first_odd_plan = 0, ""
        ledger.at_end(self._finish)

    def take(self, batch: Batch) -> None:
        """Add one batch with one outage per record; columns without a role are cohorts."""
        columns, numbers = batch.columns, batch.numbers
        start, good = self.times(columns["start"], numbers)
        end, ended = self._ends(columns.get("end"), numbers)
        if self._same_date:
            end = np.where(ended & (end < start), end + DAY, end)
        if "duration" in columns:
            duration, is_read = durations_us(columns["duration"], self._duration_us)
            self._count_bad_durations(columns["duration"], is_read | ended, numbers)
            end, ended = np.where(ended, end, start + duration), ended | (is_read & good)
        backwards = good & ended & (end < start)
        if backwards.any():
            first = int(np.argmax(backwards))
            self._ledger.not_parsed("end before start", int(backwards.sum()), self._place(numbers[first]))
        keep = good & ~backwards
        planned = self._plans(columns["planned"], numbers)[keep] if "planned" in columns else None
        self._events.extend(
            start[keep],
            np.where(ended, end, OPEN)[keep],
            _kept_texts(columns, keep),
            planned,
            np.asarray(numbers, dtype=np.int64)[keep],
            np.asarray(batch.digests, dtype=np.int64)[keep],
        )

    def take_halves(self, batch: Batch, is_end: np.ndarray, halves: Events) -> None:
        """Add one batch of starts and ends, to be joined later.

        Parameters
        ----------
        batch : Batch
            Records by role; ``start`` is the time of a start or an end.
        is_end : ndarray of bool
            Whether each record is an end. Shape (n,).
        halves : Events
            Takes the records, with ``planned`` true for an end and the cohort ``PLANNED`` for planned outages.
        """
        columns, numbers = batch.columns, batch.numbers
        start, good = self.times(columns["start"], numbers)
        texts: dict[str, Any] = _kept_texts(columns, good)
        if "planned" in columns:
            texts[PLANNED] = ["yes" if plan else None for plan in self._plans(columns["planned"], numbers)[good]]
        line, digest = (np.asarray(values, dtype=np.int64)[good] for values in (numbers, batch.digests))
        halves.extend(start[good], None, texts, is_end[good], line, digest)

    def pass_by(self, batch: Batch) -> None:
        """Note the times of one batch of records that are no failures."""
        us, good = self._clock.us_series(pd.Series(batch.columns["start"], dtype=object))
        self.passed(us[good])

    def passed(self, times_us: np.ndarray) -> None:
        """Note times at which the nodes were watched. [us]"""
        for at_us in (times_us.min(), times_us.max()) if times_us.size else ():
            self._events.others.take(int(at_us))

    def times(self, texts: Sequence[str], numbers: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
        """Read the times of rows; rows without a valid time are recorded as not parsed.

        Parameters
        ----------
        texts : sequence of str
            Shape (n,).
        numbers : sequence of int
            Shape (n,).

        Returns
        -------
        tuple of ndarray
            Times [us since 1970 UTC] and whether each is valid.
        """
        try:
            us, good = self._clock.us_series(pd.Series(texts, dtype=object))
        except InputError as error:  # day and month in an unclear order: the clock does not have the lines
            row = next((row for row, text in enumerate(texts) if text.strip() and repr(text) in str(error)), None)
            raise error if row is None else InputError(f"{self._place(numbers[row])}: {error}") from None
        reasons: Counter[str] = Counter()
        places: dict[str, str] = {}
        for row in np.flatnonzero(~good).tolist():
            reason = why_not(texts[row])
            reasons[reason] += 1
            places.setdefault(reason, self._place(numbers[row], texts[row]))
        for reason, n in reasons.items():
            self._ledger.not_parsed(f"start: {reason}", n, places[reason])
        return us, good

    def _count_bad_durations(self, texts: Sequence[str], is_known: np.ndarray, numbers: Sequence[int]) -> None:
        """Count durations that cannot be read, for a note."""
        for row in np.flatnonzero(~is_known).tolist():
            if texts[row].strip().lower() not in _NOT_OVER:
                self._first_bad_duration = self._first_bad_duration or self._place(numbers[row], texts[row])
                self._bad_durations += 1

    def _ends(self, texts: Sequence[str] | None, numbers: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
        if texts is None:
            return np.zeros(len(numbers), dtype=np.int64), np.zeros(len(numbers), dtype=bool)
        end, ended = self._clock.us_series(pd.Series(texts, dtype=object))
        wrong = ~ended
        wrong[wrong] = [texts[row].strip().lower() not in _NOT_OVER for row in np.flatnonzero(wrong).tolist()]
        if wrong.any():
            first = int(np.argmax(wrong))
            self._first_bad_end = self._first_bad_end or self._place(numbers[first], texts[first])
            self._bad_ends += int(wrong.sum())
        return end, ended

    def _plans(self, texts: Sequence[str], numbers: Sequence[int]) -> np.ndarray:
        lower = [text.strip().lower() for text in texts]
        odd = [row for row, text in enumerate(lower) if text not in _YES and text not in _NO]
        if odd:
            self._first_odd_plan = self._first_odd_plan or self._place(numbers[odd[0]], texts[odd[0]])
            self._odd_plans += len(odd)
        return np.array([text in _YES for text in lower], dtype=bool)

    def _place(self, number: int, text: str = "") -> str:
        return f"{self._word} {number:,}{f': {text.strip()[:40]!r}' if text.strip() else ''}"

    def _finish(self) -> None:
        if self._bad_ends:
            first = f"the first: {self._first_bad_end}"
            self._ledger.note(f"ends that are not times, treated as unknown: {self._bad_ends:,} ({first})")
        if self._bad_durations:
            self._ledger.note(
                f"durations that cannot be read, treated as unknown: {self._bad_durations:,} (the first: "
                f"{self._first_bad_duration})"
            )
        if self._odd_plans:
            self._ledger.note(
                f"rows with neither yes nor no in the column planned, treated as failures: {self._odd_plans:,} "
                f"({self._first_odd_plan})"
            )


def _kept_texts(columns: Mapping[str, Sequence[str]], keep: np.ndarray) -> dict[str, pd.Categorical]:
    """The columns of texts, for the rows that are kept."""
    read = ("start", "end", "duration", "planned")
    return {name: _with_missing(texts)[keep] for name, texts in columns.items() if name not in read}


def _with_missing(texts: Sequence[str]) -> pd.Categorical:
    """The texts as categories, with placeholders as missing values."""
    places, unique = pd.factorize(np.array([*texts, None], dtype=object)[:-1])
    is_text = np.array([text is not None and text.strip().lower() not in _MISSING for text in unique], dtype=bool)
    codes = np.append(np.where(is_text, np.cumsum(is_text) - 1, -1), -1)[places]
    return pd.Categorical.from_codes(codes, categories=pd.Index(unique[is_text], dtype=object), validate=False)
