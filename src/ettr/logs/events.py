"""Failures while they are read, with texts stored as numbers so that a large log fits in memory."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

OPEN = np.iinfo(np.int64).min
"""Marks an outage without an end; NaT in pandas."""

LINE, DIGEST = "(line)", "(digest)"
"""Columns of the line of a failure in the file, and of a hash of all columns of its record."""

NO_LINE = -1
"""Line of a failure that has no line, or several."""

TEXTS = ("node", "component", "cause")
_LONGEST_TEXT = 300
_FLUSH = 50_000


@dataclass(frozen=True)
class NodesWatched:
    """Nodes and window according to the file; None if the format does not have them.

    Attributes
    ----------
    n_nodes : int or None
        Nodes watched.
    window : tuple of int or None
        Window of the observation. [us since 1970 UTC]
    node_days : float or None
        Exposure, if it is not nodes times window. [node-days]
    """

    n_nodes: int | None = None
    window: tuple[int, int] | None = None
    node_days: float | None = None


@dataclass
class Span:
    """First and last time of a log, updated record by record. [us since 1970 UTC]"""

    first_us: int | None = None
    last_us: int | None = None

    def take(self, at_us: int) -> None:
        """Extend the span to a time."""
        if self.first_us is None or self.last_us is None:
            self.first_us = self.last_us = at_us
        elif at_us > self.last_us:
            self.last_us = at_us
        elif at_us < self.first_us:
            self.first_us = at_us

    @property
    def window(self) -> tuple[int, int] | None:
        """Both ends; None before the first record."""
        return None if self.first_us is None or self.last_us is None else (self.first_us, self.last_us)


class Events:
    """Failures of one log.

    Attributes
    ----------
    distinct : bool
        Whether the reader has already merged records of the same failure, so that equal rows are separate failures.
    others : Span
        First and last time of records that are no failures.
    """

    def __init__(self) -> None:
        self.distinct = False
        self.others = Span()
        self._rows: list[dict[str, Any]] = []
        self._parts: list[dict[str, np.ndarray]] = []
        self._names = {name: _Names() for name in TEXTS}

    def add(self, start_us: int, end_us: int | None = None, **texts: str | None) -> None:
        """Add one failure.

        Parameters
        ----------
        start_us, end_us : int
            Start and end; None for an unknown end. [us since 1970 UTC]
        **texts : str or None
            ``node``, ``component``, ``cause`` and cohorts; None or blank if missing.
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
        """Add many failures at once.

        Parameters
        ----------
        start_us, end_us : ndarray of int64
            Shape (n,). ``OPEN`` for an unknown end. [us]
        texts : mapping of str to array of str or Categorical
            ``node``, ``component``, ``cause`` and cohorts, shape (n,); blank or missing values allowed.
        planned : ndarray of bool or None
            Shape (n,); whether the event was planned.
        line : ndarray of int or None
            Shape (n,); line of each failure in the file, if known.
        digest : ndarray of int64 or None
            Shape (n,); hash of all columns of the record.
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
            part[name] = self._names.setdefault(name, _Names()).codes(values)
        self._parts.append(part)

    def frame(self) -> pd.DataFrame:
        """Return the failures sorted by start (stable), and release them.

        Returns
        -------
        DataFrame
            The columns of ``FailureLog.events``: ``start``, ``end`` [us since 1970 UTC, or ``OPEN``], ``node``,
            ``component``, ``cause`` (categories), ``planned`` (bool), then the cohorts (categories); and ``LINE`` and
            ``DIGEST``, as in ``extend``.
        """
        self._flush()
        frame: dict[str, Any] = {
            name: self._column(name, np.dtype(np.int64)) for name in ("start", "end", LINE, DIGEST)
        }
        for name in (*TEXTS, "planned", *self._names):
            if name == "planned":
                frame[name] = self._column(name, np.dtype(bool))
            elif name not in frame:
                frame[name] = self._names[name].categorical(self._column(name, np.dtype(np.int32)))
        self._parts.clear()
        return pd.DataFrame(frame, copy=False).sort_values("start", kind="stable", ignore_index=True)

    def _column(self, name: str, kind: np.dtype) -> np.ndarray:
        """One column of all parts; -1 where a part does not have it."""
        parts = (part[name] if name in part else np.full(len(part["start"]), -1) for part in self._parts)
        return np.concatenate([np.empty(0, dtype=kind), *parts], dtype=kind)

    def _flush(self) -> None:
        rows, self._rows = self._rows, []
        if rows:
            columns = {name: [row.get(name) for row in rows] for name in dict.fromkeys(itertools.chain(*rows))}
            self.extend(np.array(columns.pop("start")), np.array(columns.pop("end")), columns)


def in_utc(frame: pd.DataFrame) -> pd.DataFrame:
    """Return failures with start and end as time stamps; unknown ends are missing."""
    dates = {name: pd.array(frame[name].to_numpy(), dtype=pd.DatetimeTZDtype("us", "UTC")) for name in ("start", "end")}
    return frame.assign(**dates)


class _Names:
    """Texts stored once, by number."""

    def __init__(self) -> None:
        self._codes: dict[str, int] = {}
        self._texts: dict[str, int] = {}

    def codes(self, values: Any) -> np.ndarray:
        """Return the numbers of texts, -1 for a missing text."""
        if isinstance(values, pd.Categorical):
            places, texts = values.codes, list(values.categories)
        else:
            places, texts = pd.factorize(np.array([*values, None], dtype=object)[:-1])
        numbers = self._codes
        codes: np.ndarray = np.array(
            [*(numbers[text] if text in numbers else self._code(str(text)) for text in texts), -1], dtype=np.int32
        )[places]
        return codes

    def categorical(self, codes: np.ndarray) -> pd.Categorical:
        """Return the texts of these numbers as a categorical."""
        return pd.Categorical.from_codes(codes, categories=pd.Index(self._texts, dtype=object), validate=False)

    def _code(self, value: str) -> int:
        if value not in self._codes:
            text = " ".join(value.split())[:_LONGEST_TEXT]
            self._codes[value] = self._texts.setdefault(text, len(self._texts)) if text else -1
        return self._codes[value]
