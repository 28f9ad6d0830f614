"""Copies of the job's state: what is kept in each tier, what is being written, and what a recovery gives up."""

from __future__ import annotations

import numpy as np
from numba import njit

from ettr.simulation.state import CLEAN, DEGRADED, INDEX, ORIGIN, PLACE, POSITION, ROW

_HAIR = 1e-9


@njit(error_model="numpy")
def copy_row(to: np.ndarray, i: int, source: np.ndarray, j: int) -> None:
    """Copy one ledger to another place."""
    for part in range(ROW):
        to[i, part] = source[j, part]


@njit(error_model="numpy")
def add_to_row(rows: np.ndarray, i: int, source: np.ndarray, n: float) -> None:
    """Add so many times what one cycle adds to a ledger."""
    for part in range(ROW):
        rows[i, part] += n * source[0, part]


@njit(error_model="numpy")
def longer_rows(rows: np.ndarray) -> np.ndarray:
    """Twice as many ledgers."""
    more = np.zeros((2 * rows.shape[0], rows.shape[1]))
    for i in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            more[i, j] = rows[i, j]
    return more


@njit(error_model="numpy")
def snapshot(
    written: np.ndarray, durable_at: np.ndarray, tier: int, led: np.ndarray, st: np.record, write: float
) -> None:
    """Begin to write a copy of this moment to a tier."""
    copy_row(written, tier, led, 0)
    written[tier, PLACE] = st.place
    written[tier, ORIGIN] = st.origin
    durable_at[tier] = st.trained + write


@njit(error_model="numpy")
def promote(kept: np.ndarray, written: np.ndarray, durable_at: np.ndarray, st: np.record) -> None:
    """Take note of every copy that is durable by now."""
    for tier in range(durable_at.size):
        if durable_at[tier] <= st.trained + _HAIR * (1.0 + abs(st.trained)) * 1e-3:
            copy_row(kept, tier, written, tier)
            durable_at[tier] = np.inf


@njit(error_model="numpy")
def secure(kept: np.ndarray, durable_at: np.ndarray, st: np.record, led: np.ndarray) -> None:
    """A copy of this moment is durable in every tier; a new interval begins."""
    st.origin, st.place, st.since = led[0, POSITION], 0, 0.0
    led[0, INDEX] += 1.0
    for tier in range(durable_at.size):
        copy_row(kept, tier, led, 0)
        kept[tier, PLACE] = 0.0
        kept[tier, ORIGIN] = st.origin
        durable_at[tier] = np.inf


@njit(error_model="numpy")
def restore(kept: np.ndarray, durable_at: np.ndarray, st: np.record, led: np.ndarray) -> float:
    """Go back to the copy in the tier that was loaded; answers the hours that are lost."""
    source, lost = st.severity, 0.0
    for part in range(DEGRADED + 1):
        lost += led[0, part] - kept[source, part]
    copy_row(led, 0, kept, source)
    st.origin = led[0, ORIGIN]
    st.place = int(round(led[0, PLACE]))
    st.since = 0.0
    st.in_stall = st.in_action = 0
    for tier in range(durable_at.size):
        durable_at[tier] = np.inf
        if tier < source or kept[tier, POSITION] > led[0, POSITION]:  # only spoiled copies lie beyond
            copy_row(kept, tier, led, 0)
    return max(0.0, lost)


@njit(error_model="numpy")
def forget_hidden(hidden: np.ndarray, st: np.record, led: np.ndarray) -> None:
    """What struck after the copy that was loaded never happened."""
    left = 0
    for i in range(st.n_hidden):
        if hidden[i, CLEAN] < led[0, POSITION] - _HAIR:
            copy_row(hidden, left, hidden, i)
            left += 1
    st.n_hidden = left
