"""Copies of the job's state: what is kept in each tier, what is being written, and what a recovery gives up."""

from __future__ import annotations

import numpy as np

from ettr.core.units import ROUNDING
from ettr.simulation.compiling import inner, maker
from ettr.simulation.state import CLEAN, DEGRADED, INDEX, ORIGIN, PLACE, POSITION, ROW


@inner
def copy_row(to: np.ndarray, i: int, source: np.ndarray, j: int) -> None:
    """Copy one ledger to another place."""
    for part in range(ROW):
        to[i, part] = source[j, part]


@maker
def longer_rows(rows: np.ndarray) -> np.ndarray:
    """The same rows, with room for as many more."""
    more = np.zeros((2 * rows.shape[0], rows.shape[1]))
    for i in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            more[i, j] = rows[i, j]
    return more


@inner
def snapshot(st: np.record, tier: int, write_h: float) -> None:
    """Begin to write a copy of this moment to a tier."""
    st.ledger[0, PLACE], st.ledger[0, ORIGIN] = st.place, st.origin
    copy_row(st.written, tier, st.ledger, 0)
    st.durable_at[tier] = st.trained + write_h


@inner
def promote(rules: np.record, st: np.record) -> None:
    """Take note of every copy that is durable by now."""
    for tier in range(rules.n_tiers):
        if st.durable_at[tier] <= st.trained + ROUNDING * rules.step:
            copy_row(st.kept, tier, st.written, tier)
            st.durable_at[tier] = np.inf


@inner
def secure(rules: np.record, st: np.record, hidden: np.ndarray) -> None:
    """A copy of this moment is durable in every tier; a new interval begins, and writes under way are given up."""
    promote(rules, st)
    store = rules.n_tiers - 1
    newest = st.kept[store, INDEX]
    for i in range(st.n_hidden):
        if hidden[i, INDEX] > newest:  # it counted on a copy that is given up
            for part in range(CLEAN):
                hidden[i, part] = st.kept[store, part]
    st.origin, st.place, st.since = st.ledger[0, POSITION], 0, 0.0
    st.ledger[0, INDEX] = newest + 1.0
    st.ledger[0, PLACE], st.ledger[0, ORIGIN] = 0.0, st.origin
    for tier in range(rules.n_tiers):
        copy_row(st.kept, tier, st.ledger, 0)
        st.durable_at[tier] = np.inf
    copy_row(st.written, store, st.ledger, 0)
    st.durable_at[store] = st.trained  # so that what waits for a durable checkpoint is served


@inner
def forget_old(rules: np.record, st: np.record) -> None:
    """The store deletes checkpoints that are too old, for good."""
    if rules.n_kept > 0:
        st.oldest = max(st.oldest, int(st.kept[rules.n_tiers - 1, INDEX]) - rules.n_kept + 1)


@inner
def fall_back(rules: np.record, st: np.record) -> None:
    """The failure at hand stops the job: writes that a faster tier can finish count, all others are lost."""
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
    """Go on from the copy in the tier that was loaded; return the hours that are lost."""
    source, lost = st.severity, 0.0
    for part in range(DEGRADED + 1):
        lost += st.ledger[0, part] - st.kept[source, part]
    copy_row(st.ledger, 0, st.kept, source)
    st.origin, st.place = st.ledger[0, ORIGIN], int(round(st.ledger[0, PLACE]))
    st.since = 0.0
    for tier in range(rules.n_tiers):
        st.durable_at[tier] = np.inf
        if tier < source or st.kept[tier, POSITION] > st.ledger[0, POSITION]:  # only spoiled copies lie beyond
            copy_row(st.kept, tier, st.ledger, 0)
    left = 0
    for i in range(st.n_hidden):  # what struck after the copy was taken never happened
        if hidden[i, CLEAN] < st.ledger[0, POSITION] - ROUNDING * rules.step:
            copy_row(hidden, left, hidden, i)
            left += 1
    st.n_hidden = left
    return max(0.0, lost)
