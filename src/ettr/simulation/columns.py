"""Columns of the row that a kernel writes for each run."""

from __future__ import annotations

from ettr.core.results import PARTS

COLUMNS = (*PARTS, "n_failures", "n_planned", "n_undetected", "waiting_h", "n_waits", "n_ended")
CONTROLS = (
    "failures_less_expected",
    "persons_less_expected",
    "repairs_less_expected",
    "modes_less_expected",
)
"""Control variates: sums of random numbers less their means, so that their expectation is zero."""

PRODUCTIVE, CHECKPOINT, SLOWDOWN, DEGRADED, REWORK, DETECTION, QUEUE, RESTART, MAINTENANCE = range(len(PARTS))
N_FAILURES, N_PLANNED, N_UNDETECTED, WAITING, N_WAITS, N_ENDED = range(len(PARTS), len(COLUMNS))
CONTROL = len(COLUMNS)
OUTCOME = CONTROL + len(CONTROLS)
N_COLUMNS = OUTCOME + 1

DONE, STUCK, STOPPED = 0.0, 1.0, 2.0
"""Outcome of a run: its work done, stuck at the limit of failures, or stopped from outside."""
