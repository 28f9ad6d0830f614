"""Columns of what a kernel writes for each run."""

from __future__ import annotations

from ettr.core.results import PARTS

COLUMNS = (*PARTS, "n_failures", "n_planned", "n_undetected", "waiting_h", "n_waits", "n_ended")
CONTROLS = (
    "failures_less_expected",
    "persons_less_expected",
    "repairs_less_expected",
    "modes_less_expected",
)
"""Sums whose mean is known to be zero: they tell by how much chance favoured a run."""

PRODUCTIVE, CHECKPOINT, SLOWDOWN, DEGRADED, REWORK, DETECTION, QUEUE, RESTART, MAINTENANCE = range(len(PARTS))
N_FAILURES, N_PLANNED, N_UNDETECTED, WAITING, N_WAITS, N_ENDED = range(len(PARTS), len(COLUMNS))
CONTROL = len(COLUMNS)
OUTCOME = CONTROL + len(CONTROLS)
N_COLUMNS = OUTCOME + 1

DONE, STUCK, STOPPED = 0.0, 1.0, 2.0
"""How a run ended: with its work done, at the limit of failures, or because it was asked to stop."""
