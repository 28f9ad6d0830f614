"""From records of a table or of JSON to failures; states of nodes are joined to outages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache

import numpy as np
import pandas as pd

from ettr.files.ledger import Ledger
from ettr.files.times import joined
from ettr.logs.events import DIGEST, LINE, OPEN, TEXTS, Events
from ettr.logs.meaning import Meaning
from ettr.logs.options import Options
from ettr.logs.rows import PLANNED, Batch, Rows
from ettr.logs.states import PLANNED_STATES, plain

_JOINED = "/"
_UNKNOWN_STATE = "neither a word for down nor one for up"


def take_records(
    batches: Iterable[Batch], meaning: Meaning, options: Options, events: Events, ledger: Ledger, word: str
) -> None:
    """Add the failures of all records to ``events``: each record is an outage, or a state of its node.

    Parameters
    ----------
    batches : iterable of Batch
        Records by column names of the file, with the columns that the reader adds.
    meaning : Meaning
        Meaning of the records.
    options : Options
        Options of the user.
    events : Events
        Takes the failures.
    ledger : Ledger
        Records everything else.
    word : str
        Name of a record in messages, e.g. ``line``.
    """
    end = meaning.columns.get("end", ())
    same_date = len(end) > 1 and end[0] == meaning.columns["start"][0]
    rows = Rows(options.clock(ledger), events, ledger, word, meaning.duration_us, same_date=same_date)
    states = meaning.states
    pairs = Pairs(rows, ledger, is_event=states.is_event) if states else None
    filters = [(filter_.column, cache(filter_.why_not)) for filter_ in meaning.filters]
    kind_of = cache(states.kind) if states else None
    for batch in batches:
        passing = batch
        for column, why_not in filters:
            reasons = [why_not(text) for text in passing.columns[column]]
            for reason, n in Counter(filter(None, reasons)).items():
                ledger.dropped(reason, n, f"{word} {passing.numbers[reasons.index(reason)]:,}")
            is_kept = np.array([not reason for reason in reasons], dtype=bool)
            rows.pass_by(_by_role(passing.only(~is_kept), meaning))
            passing = passing.only(is_kept)
        if states is None or pairs is None or kind_of is None:
            rows.take(_by_role(passing, meaning))
            continue
        kinds = np.array([kind_of(text) for text in passing.columns[states.column]], dtype=np.int8)
        if not kinds.all():
            place = f"{word} {passing.numbers[int(np.argmin(kinds != 0))]:,}"
            ledger.not_parsed(_UNKNOWN_STATE, int((kinds == 0).sum()), place)
        pairs.take(_by_role(passing.only(kinds != 0), meaning), kinds[kinds != 0])
    if pairs:
        pairs.join(events)


def _by_role(batch: Batch, meaning: Meaning) -> Batch:
    """The records by role instead of column names of the file."""
    in_file = batch.columns
    columns = {name: in_file[parts[0]] for name, parts in meaning.columns.items() if len(parts) == 1}
    for name, parts in meaning.columns.items():
        if len(parts) > 1:
            rows = zip(*(in_file[part] for part in parts), strict=True)
            is_time = name in ("start", "end")
            columns[name] = [joined(*texts) if is_time else _JOINED.join(map(str.strip, texts)) for texts in rows]
    if meaning.states and "planned" not in columns:
        words = in_file[meaning.states.column]
        if any(plain(text) in PLANNED_STATES for text in words):
            columns["planned"] = ["yes" if plain(text) in PLANNED_STATES else "" for text in words]
    return Batch(columns, batch.numbers, batch.digests)


# --------------------------------------------------------------------------- states of nodes


class Pairs:
    """Joins starts and ends to outages of a node.

    Events, such as start and end, are joined first in, first out for each node and fault. A state, such as down, lasts
    until the opposite one, however often it is repeated.

    Parameters
    ----------
    rows : Rows
        Reads the times.
    ledger : Ledger
        Records what is not an outage.
    is_event : bool
        Whether the records are events rather than states.
    """

    def __init__(self, rows: Rows, ledger: Ledger, *, is_event: bool) -> None:
        self._rows, self._ledger, self._is_event = rows, ledger, is_event
        self._records = Events()

    def take(self, batch: Batch, kinds: np.ndarray) -> None:
        """Add one batch; ``kinds`` is 1 for down and -1 for up."""
        self._rows.take_halves(batch, kinds < 0, self._records)

    def join(self, events: Events) -> None:
        """Add the outages to ``events``."""
        frame = self._records.frame()
        frame = self._without_duplicates(frame)
        is_end = frame.pop("planned").to_numpy()
        start = frame["start"].to_numpy()
        self._rows.passed(start)
        key = self._keys(frame, is_end)
        if not self._is_event:
            changed = _changes(key, start, is_end)
            self._ledger.merged("repeated state of the node", int((~changed).sum()), _stamp(frame, ~changed))
            frame, is_end, start, key = frame[changed], is_end[changed], start[changed], key[changed]
        end, unmatched = first_in_first_out(key, start, is_end)
        is_unmatched = np.isin(np.arange(len(key)), unmatched)
        if self._is_event:
            self._ledger.not_parsed("end without a start", len(unmatched), _stamp(frame, is_unmatched))
        else:  # the node was up before
            self._ledger.dropped("state up of a node that was up", len(unmatched), _stamp(frame, is_unmatched))
        self._ledger.merged("end of an outage, joined to its start", int(is_end.sum()) - len(unmatched))
        n_open = int((end[~is_end] == OPEN).sum())
        if n_open:
            self._ledger.note(f"outages without an end in the log, treated as open: {n_open:,}")
        self._add(frame[~is_end], end[~is_end], events)

    def _without_duplicates(self, frame: pd.DataFrame) -> pd.DataFrame:
        """The records without exact duplicates."""
        duplicate = frame.duplicated(["start", *TEXTS, "planned", DIGEST]).to_numpy()
        self._ledger.merged("exact duplicate", int(duplicate.sum()), _stamp(frame, duplicate))
        return frame[~duplicate].reset_index(drop=True)

    def _keys(self, frame: pd.DataFrame, is_end: np.ndarray) -> np.ndarray:
        """A number for each group to join: node and component, and for events the cause, if ends have them."""
        names = TEXTS if self._is_event else TEXTS[:2]
        codes = [frame[name].cat.codes.to_numpy() for name in names]
        if all((code[is_end] < 0).all() for code in codes[1:]):
            codes = codes[:1]
        key = np.zeros(len(frame), dtype=np.int64)
        for code in codes:
            key = key * (int(code.max(initial=0)) + 2) + code + 1
        return key

    @staticmethod
    def _add(starts: pd.DataFrame, end: np.ndarray, events: Events) -> None:
        """Add the outages that have these starts and ends."""
        texts = {name: starts[name].array for name in starts.columns if name not in ("start", "end", LINE, DIGEST)}
        planned = ~texts.pop(PLANNED).isna() if PLANNED in texts else None
        events.extend(
            starts["start"].to_numpy(), end, texts, planned, starts[LINE].to_numpy(), starts[DIGEST].to_numpy()
        )


def _changes(key: np.ndarray, time: np.ndarray, is_end: np.ndarray) -> np.ndarray:
    """Whether each record changes the state of its group; the first record does."""
    order = np.lexsort((time, key))  # stable: records of the same time stay in the order of the file
    new = np.ones(len(key), dtype=bool)
    new[1:] = (key[order][1:] != key[order][:-1]) | (is_end[order][1:] != is_end[order][:-1])
    changed = np.empty(len(key), dtype=bool)
    changed[order] = new
    return changed


def first_in_first_out(key: np.ndarray, time: np.ndarray, is_end: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Join ends to starts of the same key, the oldest open start first.

    Parameters
    ----------
    key : ndarray of int64
        Number of each group to join, such as a node and its fault. Shape (n,).
    time : ndarray of int64
        Shape (n,). [us]
    is_end : ndarray of bool
        Shape (n,).

    Returns
    -------
    tuple of ndarray
        The end of each start, ``OPEN`` if it has none, shape (n,) [us]; and the rows of ends without a start.

    Examples
    --------
    >>> key, time = np.array([1, 1, 2, 1, 1]), np.array([10, 20, 21, 30, 40])
    >>> end, unmatched = first_in_first_out(key, time, np.array([False, False, True, True, True]))
    >>> end[:2].tolist(), unmatched.tolist()
    ([30, 40], [2])
    """
    order = np.lexsort((is_end, time, key))
    ends, keys = is_end[order], key[order]
    group = np.cumsum(np.r_[False, keys[1:] != keys[:-1]]) if len(keys) else keys
    opened = np.cumsum(np.where(ends, -1, 1))
    opened -= np.r_[0, opened][np.searchsorted(group, group)]
    # running minimum of the number of open starts in each group: an end that lowers it had no start to close
    apart = group * (2 * len(keys) + 2)
    fewest = np.minimum.accumulate(np.minimum(opened, 0) - apart) + apart
    before = np.r_[0, fewest[:-1]]
    before[np.r_[True, group[1:] != group[:-1]][: len(group)]] = 0
    is_unmatched = ends & (opened < before)
    end = np.full(len(key), OPEN)
    starts, closing = np.flatnonzero(~ends), np.flatnonzero(ends & ~is_unmatched)
    rank = np.arange(len(closing)) - np.searchsorted(group[closing], group[closing])
    matched = starts[np.searchsorted(group[starts], group[closing]) + rank]
    end[order[matched]] = time[order[closing]]
    return end, order[np.flatnonzero(is_unmatched)]


def _stamp(frame: pd.DataFrame, chosen: np.ndarray | Sequence[bool]) -> str:
    """The time of the first of some rows."""
    rows = np.flatnonzero(chosen)
    return f"at {pd.Timestamp(frame['start'].iloc[rows[0]], unit='us'):%Y-%m-%d %H:%M:%S}" if len(rows) else ""
