"""Copies of the job's state: the durable copy of each tier, the one being written, and the loss in a recovery."""

from __future__ import annotations

import numpy as np

from ettr.core.units import ROUNDING
from ettr.simulation.compiling import inner, maker
from ettr.simulation.state import CLEAN, DEGRADED, INDEX, ORIGIN, PLACE, POSITION, ROW


@inner
def copy_row(to: np.ndarray, i: int, source: np.ndarray, j: int) -> None:
    """Copy a ledger from row j of ``source`` to row i of ``to``."""
    for part in range(ROW):
        to[i, part] = source[j, part]


@maker
def longer_rows(rows: np.ndarray) -> np.ndarray:
    """Copy of an array, with twice the rows."""
    copy = np.zeros((2 * rows.shape[0], rows.shape[1]))
    for i in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            copy[i, j] = rows[i, j]
    return copy


@inner
def snapshot(st: np.record, tier: int, write_h: float) -> None:
    """Begin to write a copy of the current state to a tier."""
    st.ledger[0, PLACE], st.ledger[0, ORIGIN] = st.place, st.origin
    copy_row(st.written, tier, st.ledger, 0)
    st.durable_at[tier] = st.trained + write_h


@inner
def promote(rules: np.record, st: np.record) -> None:
    """Make every copy whose write has ended the durable copy of its tier."""
    for tier in range(rules.n_tiers):
        if st.durable_at[tier] <= st.trained + ROUNDING * rules.step:
            copy_row(st.kept, tier, st.written, tier)
            st.durable_at[tier] = np.inf


@inner
def secure(rules: np.record, st: np.record, hidden: np.ndarray) -> None:
    """Make the current state durable in every tier, cancel the writes under way, and begin a new interval."""
    promote(rules, st)
    store = rules.n_tiers - 1
    newest = st.kept[store, INDEX]
    for i in range(st.n_hidden):
        if hidden[i, INDEX] > newest:  # its clean copy was still being written, and is cancelled
            for part in range(CLEAN):
                hidden[i, part] = st.kept[store, part]
    st.origin, st.place, st.since = st.ledger[0, POSITION], 0, 0.0
    st.ledger[0, INDEX] = newest + 1.0
    st.ledger[0, PLACE], st.ledger[0, ORIGIN] = 0.0, st.origin
    for tier in range(rules.n_tiers):
        copy_row(st.kept, tier, st.ledger, 0)
        st.durable_at[tier] = np.inf
    copy_row(st.written, store, st.ledger, 0)
    st.durable_at[store] = st.trained  # so that requests that wait for a durable checkpoint are served


@inner
def forget_old(rules: np.record, st: np.record) -> None:
    """Delete the checkpoints of the store that are too old."""
    if rules.n_kept > 0:
        st.oldest = max(st.oldest, int(st.kept[rules.n_tiers - 1, INDEX]) - rules.n_kept + 1)


@inner
def fall_back(rules: np.record, st: np.record) -> None:
    """Stop the job for the current failure: writes that the surviving tier can finish count, the others are lost."""
    st.in_action = 0
    st.in_stall = 0
    forget_old(rules, st)
    for tier in range(st.severity + 1, rules.n_tiers):
        kept = st.kept[st.severity, POSITION] + ROUNDING * rules.step
        if st.durable_at[tier] < np.inf and st.written[tier, POSITION] <= kept:
            copy_row(st.kept, tier, st.written, tier)
    for tier in range(rules.n_tiers):
        st.durable_at[tier] = np.inf


@inner
def restore(rules: np.record, st: np.record, hidden: np.ndarray) -> float:
    """Continue from the copy in the tier that was loaded; return the lost hours."""
    # lost: all that the ledger has beyond the copy, in training, stalls and slowdown
    source, lost = st.severity, 0.0
    for part in range(DEGRADED + 1):
        lost += st.ledger[0, part] - st.kept[source, part]
    copy_row(st.ledger, 0, st.kept, source)
    st.origin, st.place = st.ledger[0, ORIGIN], int(round(st.ledger[0, PLACE]))
    st.since = 0.0
    for tier in range(rules.n_tiers):
        st.durable_at[tier] = np.inf
        if tier < source or st.kept[tier, POSITION] > st.ledger[0, POSITION]:  # a later copy is corrupt
            copy_row(st.kept, tier, st.ledger, 0)
    left = 0
    for i in range(st.n_hidden):  # drop the silent failures that struck after the copy was taken
        if hidden[i, CLEAN] < st.ledger[0, POSITION] - ROUNDING * rules.step:
            copy_row(hidden, left, hidden, i)
            left += 1
    st.n_hidden = left
    return max(0.0, lost)
