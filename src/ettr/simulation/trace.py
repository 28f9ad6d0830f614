"""The timeline of a run, stretch by stretch."""

from __future__ import annotations

import numpy as np

from ettr.core.units import ROUNDING
from ettr.simulation.compiling import inner

STATES = ("training", "checkpoint", "rework", "detection", "queue", "restart", "maintenance")
TRAINING, CHECKPOINTING, LOST, DETECTING, QUEUEING, RESTARTING, SERVICE = range(len(STATES))


@inner
def write(st: np.record, trace: np.ndarray, state: int, hours: float) -> None:
    """Add a row with state, start and end of a stretch that begins now; the array must have room for it."""
    if st.traced and hours > 0.0:
        trace[st.n_trace, 0], trace[st.n_trace, 1], trace[st.n_trace, 2] = state, st.now, st.now + hours
        st.n_trace += 1


@inner
def lose(st: np.record, trace: np.ndarray, hours: float) -> None:
    """Mark the last hours of training and stalls as lost."""
    at = st.n_trace - 1
    while hours > ROUNDING and at >= 0:
        if trace[at, 0] <= CHECKPOINTING:
            hours -= trace[at, 2] - trace[at, 1]
            trace[at, 0] = LOST
        at -= 1
