"""Failures while they are read: a few bytes each, so that a large log fits in memory."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from ettr.core.errors import InputError
from ettr.files.ledger import Ledger

OPEN = np.iinfo(np.int64).min
"""The end of an outage that has none; NaT in pandas."""

MOST_CAUSES = 100_000
MOST_NODES = 5_000_000
MOST_VALUES = 1_000
"""Distinct values that a cohort column keeps."""
OTHER = "(other)"

_TEXTS = ("node", "component", "cause")
_LONGEST_TEXT = 300
_FLUSH = 250_000
_GROWTH = 1_000_000


class Events:
    """Failures of one log, column by column.

    Parameters
    ----------
    ledger : Ledger
        Takes a note of names that were too many to keep.

    Attributes
    ----------
    n : int
        Failures so far. [count]
    distinct : bool
        Whether the reader itself has merged what speaks of one failure; equal rows are then failures of their own.
    """

    def __init__(self, ledger: Ledger) -> None:
        self.n = 0
        self.distinct = False
        self._ledger = ledger
        self._more: list[str] = []
        self._names = {
            "node": _Names("node", MOST_NODES, may_fold=False),
            "component": _Names("component", MOST_CAUSES),
            "cause": _Names("cause", MOST_CAUSES),
        }
        self._columns = {"start": _Column(np.int64), "end": _Column(np.int64), "planned": _Column(np.bool_)}
        self._columns |= {name: _Column(np.int8) for name in _TEXTS}
        self._clear()

    def add(
        self,
        start_us: int,
        end_us: int | None = None,
        node: str | None = None,
        component: str | None = None,
        cause: str | None = None,
        planned: bool = False,
        **more: str | None,
    ) -> None:
        """Take one failure.

        Parameters
        ----------
        start_us, end_us : int
            Microseconds since 1970 UTC; no end where it is unknown. [us]
        node, component, cause : str or None
            None or blank where the log is silent.
        planned : bool
            Whether somebody scheduled it.
        **more : str or None
            Cohort columns.
        """
        self._start.append(start_us)
        self._end.append(OPEN if end_us is None else end_us)
        self._planned.append(planned)
        for name, value in zip(_TEXTS, (node, component, cause), strict=True):
            self._codes[name].append(self._names[name].code(value))
        for name, value in more.items():
            names, codes = self._cohort(name), self._codes.get(name)
            if codes is None:
                codes = self._codes[name] = array("i", [-1]) * (len(self._start) - 1)
            codes.append(names.code(value))
        if len(more) + len(_TEXTS) < len(self._codes):
            for name in self._codes.keys() - more.keys() - set(_TEXTS):
                self._codes[name].append(-1)
        self.n += 1
        if len(self._start) >= _FLUSH:
            self._flush()

    def extend(
        self,
        start_us: np.ndarray,
        end_us: np.ndarray | None = None,
        node: Any = None,
        component: Any = None,
        cause: Any = None,
        planned: np.ndarray | None = None,
        more: dict[str, Any] | None = None,
    ) -> None:
        """Take many failures at once.

        Parameters
        ----------
        start_us, end_us : ndarray of int64
            Shape (n,). An end of ``OPEN`` is unknown. [us]
        node, component, cause : array of str, Categorical or None
            Shape (n,); blank or missing where the log is silent.
        planned : ndarray of bool or None
            Shape (n,).
        more : mapping of str to array
            Cohort columns.
        """
        self._flush()
        n = len(start_us)
        for name in more or {}:
            self._cohort(name)
        columns = self._columns
        columns["start"].take(start_us)
        columns["end"].take(np.full(n, OPEN) if end_us is None else end_us)
        columns["planned"].take(np.zeros(n, dtype=bool) if planned is None else planned)
        nothing = np.full(n, -1, dtype=np.int8)
        for name, values in zip(_TEXTS, (node, component, cause), strict=True):
            columns[name].take(nothing if values is None else self._names[name].codes(values))
        for name, values in (more or {}).items():
            columns[name].take(self._names[name].codes(values))
        self._level(nothing)
        self.n += n

    def forget(self, name: str) -> None:
        """Drop a cohort column.

        Parameters
        ----------
        name : str
            As it was handed to ``add`` or ``extend``.
        """
        self._flush()
        self._more.remove(name)
        del self._names[name], self._columns[name]

    def sort(self) -> None:
        """Put the failures in the order of their starts; those with one start keep theirs."""
        self._flush()
        start = self._columns["start"].whole()
        if (start[1:] >= start[:-1]).all():
            return
        order = np.argsort(start, kind="stable")
        if len(order) < 2**31:
            order = order.astype(np.int32)
        for column in self._columns.values():
            column.reorder(order)

    def column(self, name: str) -> np.ndarray:
        """Look at one column where it stands.

        Parameters
        ----------
        name : str
            ``start``, ``end`` [us since 1970 UTC], ``planned``, or a column of texts.

        Returns
        -------
        ndarray
            Shape (n,); of texts their places in ``texts``, -1 where the log is silent. Changes change the events.
        """
        self._flush()
        return self._columns[name].whole()

    def texts(self, name: str) -> list[str]:
        """Different texts of a column, by their number.

        Parameters
        ----------
        name : str
            ``node``, ``component``, ``cause`` or a cohort.

        Returns
        -------
        list of str
        """
        return self._names[name].texts

    @property
    def cohorts(self) -> tuple[str, ...]:
        """Names of the cohort columns."""
        return tuple(self._more)

    def keep(self, rows: np.ndarray) -> None:
        """Drop the other rows, and the texts that nothing speaks of any more.

        Parameters
        ----------
        rows : ndarray of bool
            Shape (n,).
        """
        self._flush()
        if rows.all():
            return
        for column in self._columns.values():
            column.keep(rows)
        self.n = self._columns["start"].n
        for name, names in self._names.items():
            column = self._columns[name]
            used = np.zeros(len(names.texts) + 1, dtype=bool)
            for block in blocks(self.n):
                used[column.whole()[block]] = True
            places = names.drop(used[:-1])
            for block in blocks(self.n):
                column.whole()[block] = places[column.whole()[block]]

    def frame(self) -> pd.DataFrame:
        """Hand over the failures, sorted by start, and forget them.

        Returns
        -------
        DataFrame
            The columns of ``FailureLog.events``: ``start``, ``end`` (UTC), ``node``, ``component``, ``cause``
            (categories), ``planned`` (bool), then the cohorts (categories).
        """
        self.sort()
        frame: dict[str, Any] = {}
        for name in ("start", "end", *_TEXTS, "planned", *self._more):
            values = self._columns.pop(name).whole()
            if name in self._names:
                self._names[name].note_others(values, self._ledger)
                frame[name] = self._names[name].categorical(values)
            else:
                frame[name] = values if name == "planned" else _utc(values)
        self.n = 0
        return pd.DataFrame(frame, copy=False)

    def _cohort(self, name: str) -> _Names:
        """The values of a cohort column; rows before its first are silent."""
        if name not in self._names:
            self._names[name] = _Names(name, MOST_VALUES)
            self._more.append(name)
            self._columns[name] = _Column(np.int8)
            self._columns[name].take(np.full(self._columns["start"].n, -1, dtype=np.int8))
        return self._names[name]

    def _level(self, nothing: np.ndarray) -> None:
        """Cohorts that these rows do not speak of are missing in them."""
        n = self._columns["start"].n
        for name in self._more:
            if self._columns[name].n < n:
                self._columns[name].take(nothing)

    def _clear(self) -> None:
        self._start, self._end, self._planned = array("q"), array("q"), array("b")
        self._codes = {name: array("i") for name in _TEXTS}

    def _flush(self) -> None:
        if not len(self._start):
            return
        n = len(self._start)
        self._columns["start"].take(np.frombuffer(self._start, dtype=np.int64))
        self._columns["end"].take(np.frombuffer(self._end, dtype=np.int64))
        self._columns["planned"].take(np.frombuffer(self._planned, dtype=np.bool_))
        for name, codes in self._codes.items():
            self._columns[name].take(
                np.frombuffer(codes, dtype=np.int32).astype(_code_type(len(self._names[name].texts)))
            )
        self._level(np.full(n, -1, dtype=np.int8))
        self._clear()


def blocks(n: int, size: int = 1_000_000) -> Iterator[slice]:
    """Cut n rows into blocks, so that what is computed of them stays small.

    Examples
    --------
    >>> list(blocks(5, 2))
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    return (slice(first, min(first + size, n)) for first in range(0, n, size))


class _Column:
    """An array that grows where it stands: a large one is moved by the system, not copied."""

    def __init__(self, kind: Any) -> None:
        self._values = np.empty(0, dtype=kind)
        self.n = 0

    def take(self, values: np.ndarray) -> None:
        values = np.asarray(values)
        if self._values.dtype != np.bool_ and values.dtype.itemsize > self._values.dtype.itemsize:
            self._values = self._values.astype(values.dtype)
        n = self.n + len(values)
        if n > len(self._values):
            self._values.resize(n + min(n, _GROWTH), refcheck=False)
        self._values[self.n : n] = values
        self.n = n

    def whole(self) -> np.ndarray:
        return self._values[: self.n]

    def reorder(self, order: np.ndarray) -> None:
        self._values = self._values[: self.n][order]

    def keep(self, rows: np.ndarray) -> None:
        """Move the rows kept to the front, a block at a time."""
        n = 0
        for block in blocks(self.n):
            kept = self._values[block][rows[block]]
            self._values[n : n + len(kept)] = kept
            n += len(kept)
        self.n = n


class _Names:
    """Texts by number. Beyond the most that are kept, new ones are one."""

    def __init__(self, column: str, most: int, may_fold: bool = True) -> None:
        self._column, self._most, self._may_fold = column, most, may_fold
        self._known: dict[str, int] = {}
        self._full = False
        self.texts: list[str] = []

    def code(self, value: str | None) -> int:
        if value is None:
            return -1
        known = self._known.get(value)
        return self._new(value) if known is None else known

    def codes(self, values: Any) -> np.ndarray:
        """Numbers of many texts."""
        if isinstance(values, pd.Series):
            values = values.array
        if isinstance(values, pd.Categorical):
            places, texts = values.codes, list(values.categories)
        else:
            places, texts = pd.factorize(np.asarray(values, dtype=object))
        numbers = [self.code(text if isinstance(text, str) else str(text)) for text in texts]
        codes: np.ndarray = np.array([*numbers, -1], dtype=_code_type(len(self.texts)))[places]
        return codes

    def categorical(self, codes: np.ndarray) -> pd.Categorical:
        return pd.Categorical.from_codes(codes, categories=pd.Index(self.texts, dtype=object), validate=False)

    def note_others(self, codes: np.ndarray, ledger: Ledger) -> None:
        if self._full:
            n = int((codes == self._known[OTHER]).sum())
            ledger.note(
                f"more than {self._most:,} different values of {self._column}: {n:,} records with later ones stand "
                f"under {OTHER!r}"
            )

    def drop(self, used: np.ndarray) -> np.ndarray:
        """Forget texts that are not used; the new number of each, and -1 for -1 at the end."""
        places = np.where(used, np.cumsum(used) - 1, -1)
        self.texts = [text for text, kept in zip(self.texts, used, strict=True) if kept]
        self._known = {text: number for number, text in enumerate(self.texts)}
        self._full = self._full and OTHER in self._known
        return np.append(places, -1).astype(_code_type(len(used)))

    def _new(self, value: str) -> int:
        text = " ".join(value.split())[:_LONGEST_TEXT]
        if not text:
            return -1
        known = self._known.get(text)
        if known is not None:
            return known
        if len(self.texts) >= self._most:
            if not self._may_fold:
                raise InputError(
                    f"more than {self._most:,} different values of {self._column}: name the right column with --map, "
                    f"e.g. --map {self._column}=hostname"
                )
            self._full, text = True, OTHER
            if text in self._known:
                return self._known[text]
        self._known[text] = len(self.texts)
        self.texts.append(text)
        return self._known[text]


def _code_type(n: int) -> Any:
    """The smallest type that holds n numbers and -1."""
    return np.int8 if n < 127 else np.int16 if n < 32_000 else np.int32


def _utc(us: np.ndarray) -> Any:
    return pd.array(us, dtype=pd.DatetimeTZDtype("us", "UTC"), copy=False)
