"""Records of somebody's own table or JSON to failures, by what they mean."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ettr.files.ledger import Ledger
from ettr.logs.meaning import Filter, Meaning
from ettr.logs.options import Options
from ettr.logs.pairs import Pairs
from ettr.logs.raw_failures import MOST_CAUSES, Events
from ettr.logs.rows import Batch, Rows
from ettr.logs.states import PLANNED_STATES, plain

_JOINED = "/"
_UNKNOWN_STATE = "neither a word for down nor one for up"


def take_records(
    batches: Iterable[Batch], meaning: Meaning, options: Options, events: Events, ledger: Ledger, word: str
) -> None:
    """Hand over all records: each an outage, or a state of its node.

    Parameters
    ----------
    batches : iterable of Batch
        By the file's names, and any that the reader adds: those stay as they are.
    meaning : Meaning
        How they are to be read.
    options : Options
        What the user knows.
    events : Events
        Filled with the failures.
    ledger : Ledger
        Takes the rest.
    word : str
        What a record is called in messages, e.g. ``line``.
    """
    rows = Rows(options.clock(ledger), events, ledger, word, meaning.duration_us)
    states = meaning.states
    pairs = Pairs(rows, ledger, is_event=states.is_event) if states else None
    filters = [_Marks(one) for one in meaning.filters]
    kind_of = _remembered(states.kind) if states else None
    for batch in batches:
        passing = batch
        for one in filters:
            passing = one.passing(passing, ledger, word)
        if states is None or pairs is None or kind_of is None:
            rows.take(_ours(passing, meaning))
            continue
        kinds = np.array([kind_of(text) for text in passing.columns[states.column]], dtype=np.int8)
        if not kinds.all():
            place = f"{word} {passing.numbers[int(np.argmin(kinds != 0))]:,}"
            ledger.not_parsed(_UNKNOWN_STATE, int((kinds == 0).sum()), place)
        pairs.take(_ours(passing.only(kinds != 0), meaning), kinds[kinds != 0])
    if pairs:
        pairs.join(events)


class _Marks:
    """A filter that counts what it holds back."""

    def __init__(self, one: Filter) -> None:
        self._column, self._why_not = one.column, _remembered(one.why_not)

    def passing(self, batch: Batch, ledger: Ledger, word: str) -> Batch:
        """The records that may be failures."""
        reasons = [self._why_not(text) for text in batch.columns[self._column]]
        for reason, n in Counter(filter(None, reasons)).items():
            ledger.dropped(reason, n, f"{word} {batch.numbers[reasons.index(reason)]:,}")
        return batch.only(np.array([not reason for reason in reasons], dtype=bool))


def _remembered(of_text: Callable[[str], Any]) -> Callable[[str], Any]:
    """A function of a text that is not asked twice for the same one."""
    known: dict[str, Any] = {}

    def answer(text: str) -> Any:
        value = known.get(text)
        if value is None:
            value = of_text(text)
            if len(known) < MOST_CAUSES:
                known[text] = value
        return value

    return answer


def _ours(batch: Batch, meaning: Meaning) -> Batch:
    """The records by our names, with what the reader added."""
    theirs = batch.columns
    columns = {name: theirs[parts[0]] for name, parts in meaning.columns.items() if len(parts) == 1}
    for name, parts in meaning.columns.items():
        if len(parts) > 1:
            each = zip(*(theirs[part] for part in parts), strict=True)
            columns[name] = [_JOINED.join(text.strip() for text in texts) for texts in each]
    if meaning.states and "planned" not in columns:
        words = theirs[meaning.states.column]
        if any(plain(text) in PLANNED_STATES for text in words):
            columns["planned"] = ["yes" if plain(text) in PLANNED_STATES else "" for text in words]
    return Batch(columns, batch.numbers, batch.digests)
