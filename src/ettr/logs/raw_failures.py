"""Failures while they are read: numbers in place of texts, so that a large log fits in memory."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ettr.core.errors import InputError
from ettr.files.ledger import Ledger

OPEN = np.iinfo(np.int64).min
"""The end of an outage that has none; NaT in pandas."""

LINE, DIGEST = "(line)", "(digest)"
"""Columns of where a failure stands in the file, and of what is equal for records that are equal in every column."""

NO_LINE = -1
"""The line of a failure that is of none, or of several."""

MOST_CAUSES = 100_000
MOST_NODES = 5_000_000
MOST_VALUES = 1_000
"""Distinct values that a cohort column keeps."""
OTHER = "(other)"

TEXTS = ("node", "component", "cause")
_LONGEST_TEXT = 300
_FLUSH = 50_000


@dataclass(frozen=True)
class NodesWatched:
    """What a format itself knows of nodes and time; None where it cannot.

    Attributes
    ----------
    n_nodes : int or None
        Nodes watched.
    window : tuple of int or None
        Observation, microseconds since 1970 UTC.
    node_days : float or None
        Exposure, where it is not nodes times window. [node-days]
    """

    n_nodes: int | None = None
    window: tuple[int, int] | None = None
    node_days: float | None = None


@dataclass
class Span:
    """First and last time of a log, while its records pass. [us since 1970 UTC]"""

    first_us: int | None = None
    last_us: int | None = None

    def take(self, at_us: int) -> None:
        """Reach to a time."""
        if self.first_us is None or self.last_us is None:
            self.first_us = self.last_us = at_us
        elif at_us > self.last_us:
            self.last_us = at_us
        elif at_us < self.first_us:
            self.first_us = at_us

    @property
    def window(self) -> tuple[int, int] | None:
        """Both ends; None before any time was seen."""
        return None if self.first_us is None or self.last_us is None else (self.first_us, self.last_us)


class Events:
    """Failures of one log.

    Parameters
    ----------
    ledger : Ledger
        Takes a note of names that were too many to keep.

    Attributes
    ----------
    distinct : bool
        Whether the reader itself has merged what speaks of one failure; equal rows are then failures of their own.
    """

    def __init__(self, ledger: Ledger) -> None:
        self.distinct = False
        self._ledger = ledger
        self._rows: list[dict[str, Any]] = []
        self._parts: list[dict[str, np.ndarray]] = []
        self._names = {
            "node": _Names("node", MOST_NODES, may_fold=False),
            "component": _Names("component", MOST_CAUSES),
            "cause": _Names("cause", MOST_CAUSES),
        }

    def add(self, start_us: int, end_us: int | None = None, **texts: str | None) -> None:
        """Take one failure.

        Parameters
        ----------
        start_us, end_us : int
            Microseconds since 1970 UTC; no end where it is unknown. [us]
        **texts : str or None
            ``node``, ``component``, ``cause`` and cohorts; None or blank where the log is silent.
        """
        self._rows.append({"start": start_us, "end": OPEN if end_us is None else end_us, **texts})
        if len(self._rows) >= _FLUSH:
            self._flush()

    def extend(
        self,
        start_us: np.ndarray,
        end_us: np.ndarray | None = None,
        texts: Mapping[str, Sequence[str | None] | np.ndarray | pd.Categorical] | None = None,
        planned: np.ndarray | None = None,
        line: np.ndarray | None = None,
        digest: np.ndarray | None = None,
    ) -> None:
        """Take many failures at once.

        Parameters
        ----------
        start_us, end_us : ndarray of int64
            Shape (n,). An end of ``OPEN`` is unknown. [us]
        texts : mapping of str to array of str or Categorical
            ``node``, ``component``, ``cause`` and cohorts, shape (n,); blank or missing where the log is silent.
        planned : ndarray of bool or None
            Shape (n,); whether somebody scheduled it.
        line : ndarray of int or None
            Shape (n,); where each stands in the file, if that is known.
        digest : ndarray of int64 or None
            Shape (n,); equal for records that are equal in every column of the file.
        """
        self._flush()
        n = len(start_us)
        part = {
            "start": np.asarray(start_us),
            "end": np.full(n, OPEN) if end_us is None else end_us,
            "planned": np.zeros(n, dtype=bool) if planned is None else planned,
            LINE: np.full(n, NO_LINE) if line is None else line,
            DIGEST: np.zeros(n, dtype=np.int64) if digest is None else digest,
        }
        for name, values in (texts or {}).items():
            part[name] = self._names.setdefault(name, _Names(name, MOST_VALUES)).codes(values)
        self._parts.append(part)

    def n_different(self, name: str) -> int:
        """How many different texts a column has so far. [count]"""
        self._flush()
        return self._names[name].n_different if name in self._names else 0

    def forget(self, name: str) -> None:
        """Drop a cohort column.

        Parameters
        ----------
        name : str
            As it was handed to ``add`` or ``extend``.
        """
        del self._names[name]

    def frame(self) -> pd.DataFrame:
        """Hand over the failures, sorted by start; those with one start keep their order.

        Returns
        -------
        DataFrame
            The columns of ``FailureLog.events``: ``start``, ``end`` [us since 1970 UTC, or ``OPEN``], ``node``,
            ``component``, ``cause`` (categories), ``planned`` (bool), then the cohorts (categories); and ``LINE`` and
            ``DIGEST``, as in ``extend``.
        """
        self._flush()
        frame: dict[str, Any] = {name: self._whole(name, np.dtype(np.int64)) for name in ("start", "end", LINE, DIGEST)}
        for name in (*TEXTS, "planned", *self._names):
            if name == "planned":
                frame[name] = self._whole(name, np.dtype(bool))
            elif name not in frame:
                frame[name] = self._names[name].categorical(self._whole(name, np.dtype(np.int32)))
        self._parts.clear()
        return pd.DataFrame(frame, copy=False).sort_values("start", kind="stable", ignore_index=True)

    def note_others(self, frame: pd.DataFrame) -> None:
        """Say how many of some failures have a text that was one too many to keep."""
        for name, names in self._names.items():
            n = int((frame[name] == OTHER).sum()) if names.full else 0
            if n:
                self._ledger.note(
                    f"more than {names.most:,} different values of {name}: {n:,} records with later ones stand under "
                    f"{OTHER!r}"
                )

    def _whole(self, name: str, kind: np.dtype) -> np.ndarray:
        parts = (part[name] if name in part else np.full(len(part["start"]), -1) for part in self._parts)
        return np.concatenate([np.empty(0, dtype=kind), *parts], dtype=kind)

    def _flush(self) -> None:
        rows, self._rows = self._rows, []
        if rows:
            columns = {name: [row.get(name) for row in rows] for name in dict.fromkeys(itertools.chain(*rows))}
            self.extend(np.array(columns.pop("start")), np.array(columns.pop("end")), columns)


def in_utc(frame: pd.DataFrame) -> pd.DataFrame:
    """Failures with ends that are dates, missing where they are unknown."""
    dates = {name: pd.array(frame[name].to_numpy(), dtype=pd.DatetimeTZDtype("us", "UTC")) for name in ("start", "end")}
    return frame.assign(**dates)


class _Names:
    """Texts by number. Beyond the most that are kept, new ones are one."""

    def __init__(self, column: str, most: int, may_fold: bool = True) -> None:
        self.most, self.full = most, False
        self._column, self._may_fold = column, may_fold
        self._known: dict[str, int] = {}
        self._texts: list[str] = []

    def codes(self, values: Any) -> np.ndarray:
        """Numbers of texts, -1 where there is none."""
        if isinstance(values, pd.Categorical):
            places, texts = values.codes, list(values.categories)
        else:
            places, texts = pd.factorize(np.array([*values, None], dtype=object)[:-1])
        codes: np.ndarray = np.array([*(self._code(str(text)) for text in texts), -1], dtype=np.int32)[places]
        return codes

    @property
    def n_different(self) -> int:
        """Different texts. [count]"""
        return len(self._texts)

    def categorical(self, codes: np.ndarray) -> pd.Categorical:
        return pd.Categorical.from_codes(codes, categories=pd.Index(self._texts, dtype=object), validate=False)

    def _code(self, value: str) -> int:
        known = self._known.get(value)
        if known is not None:
            return known
        text = " ".join(value.split())[:_LONGEST_TEXT]
        if not text:
            return -1
        if text not in self._known and len(self._texts) >= self.most:
            if not self._may_fold:
                raise InputError(
                    f"more than {self.most:,} different values of {self._column}: name the right column with --map, "
                    f"e.g. --map {self._column}=hostname"
                )
            self.full, text = True, OTHER
        if text not in self._known:
            self._known[text] = len(self._texts)
            self._texts.append(text)
        return self._known[text]
