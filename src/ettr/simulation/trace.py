"""Where the hours of one run go, stretch by stretch."""

from __future__ import annotations

import numpy as np
from numba import njit

from ettr.simulation.ledger import longer_rows

STATES = ("training", "checkpoint", "rework", "detection", "queue", "restart", "maintenance")
TRAINING, CHECKPOINTING, LOST, DETECTING, QUEUEING, RESTARTING, SERVICE = range(len(STATES))
_HAIR = 1e-9


@njit(error_model="numpy")
def write(trace: np.ndarray, n: int, state: int, start: float, end: float) -> tuple[np.ndarray, int]:
    """Add a stretch of one state; the rows hold state, start and end."""
    if end <= start:
        return trace, n
    if n == trace.shape[0]:
        trace = longer_rows(trace)
    trace[n, 0], trace[n, 1], trace[n, 2] = state, start, end
    return trace, n + 1


@njit(error_model="numpy")
def lose(trace: np.ndarray, n: int, hours: float) -> None:
    """Call the last so many hours of training and stalls lost."""
    at = n - 1
    while hours > _HAIR and at >= 0:
        if trace[at, 0] <= CHECKPOINTING:
            hours -= trace[at, 2] - trace[at, 1]
            trace[at, 0] = LOST
        at -= 1
