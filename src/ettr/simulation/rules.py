"""What the kernels need to know of a run: plain numbers, hours throughout, in records that compiled code reads fast."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

MOST_TIERS = 8
MOST_EVENTS = 30
"""Events that a run may go through for each failure that it may meet."""
LOW, HIGH, POINTS = -22.0, 4.0, 1024
"""Natural logarithms of the cumulative hazard between which a node's first failure is tabulated."""

RULES = np.dtype(
    [
        # work and checkpoints
        ("work", "f8"),
        ("n_segments", "i8"),  # store intervals that the work has, the last one included
        ("rest", "f8"),  # work in the last of them
        ("tau", "f8"),
        ("stall", "f8"),
        ("persist", "f8"),
        ("slowdown", "f8"),
        ("steady", "i8"),
        ("first_queue", "f8"),
        ("restart", "f8"),  # planned; loading is in ``load``
        ("restart_sigma", "f8"),
        ("load", "f8"),
        # tiers, fastest first, the store last
        ("n_tiers", "i8"),
        ("step", "f8"),  # interval of the fastest
        ("every", "i8", (MOST_TIERS,)),  # places of the fastest between two copies
        ("tier_stall", "f8", (MOST_TIERS,)),
        ("tier_write", "f8", (MOST_TIERS,)),
        ("tier_load", "f8", (MOST_TIERS,)),
        ("n_kept", "i8"),  # 0: all
        # what strikes, per hour of the hazard clock
        ("rate", "f8"),
        ("only_mode", "i8"),  # if there is but one; else -1
        ("recurrence_rate", "f8"),
        ("burn_in", "f8"),  # excess of the rate at the start
        ("decay", "f8"),
        ("mean_recovery", "f8"),  # of all that strikes by the clock alone
        # predictions
        ("alarm_rate", "f8"),  # false ones
        ("heeded_from", "f8"),
        ("action", "f8"),
        # people
        ("person_share", "f8"),
        ("person", "f8"),
        # nodes
        ("n_nodes", "i8"),
        ("aged", "i8"),
        ("mixes", "i8"),  # whether a failure takes out nodes with clocks that did not strike
        ("tracked", "i8"),  # nodes differ, or are counted
        ("shape", "f8"),
        ("scale_0", "f8"),  # of ordinary nodes
        ("scale_1", "f8"),  # of lemons
        ("lemon_share", "f8"),
        ("first_log", "f8", (POINTS,)),  # logarithm of a node's first failure by that of its cumulative hazard
        ("first_slope", "f8", (POINTS,)),
        # spares and repair
        ("pooled", "i8"),
        ("hot", "i8"),
        ("preemptible", "i8"),
        ("preempt", "f8"),
        ("cold", "i8"),
        ("fetch", "f8"),
        ("automatic", "f8"),  # NaN: no such stage
        ("automatic_success", "f8"),
        ("manual", "f8"),
        ("manual_success", "f8"),
        ("replacement", "f8"),
        ("repair_sigma", "f8"),
        ("n_crew", "i8"),  # 0: no limit
        ("misdiagnosed", "f8"),
        ("retire_after", "i8"),  # 0: never
        ("retire_window", "f8"),
        # elastic, slow nodes, maintenance
        ("n_replicas", "i8"),  # 0: not elastic
        ("n_least", "i8"),
        ("slow_rate", "f8"),
        ("slow_loss", "f8"),
        ("found_rate", "f8"),
        ("passed_rate", "f8"),
        ("request_rate", "f8"),
        ("stop", "f8"),
        ("rolling", "i8"),
    ],
    align=True,
)

MODE = np.dtype(
    [
        ("detection", "f8"),
        ("detection_sigma", "f8"),
        ("queue", "f8"),
        ("restart", "f8"),
        ("restart_sigma", "f8"),
        ("recovery", "f8"),  # mean detection, queue and restart
        ("n_out", "i8"),
        ("repair", "f8"),  # NaN: the general stages
        ("latency", "f8"),  # NaN: noticed at once
        ("latency_sigma", "f8"),
        ("announced", "f8"),  # probability
        ("survival", "f8", (MOST_TIERS,)),  # share that each tier survives
        # alias tables (Walker 1977): draw a row evenly, keep it with this probability, else take the other
        ("keep_of_time", "f8"),
        ("else_of_time", "i8"),
        ("keep_of_nodes", "f8"),
        ("else_of_nodes", "i8"),
    ],
    align=True,
)


class Rules(NamedTuple):
    """A run in hours.

    ``modes`` come in the order of the scenario, ``other`` last, then false alarms and repeats of a bad node.
    """

    run: Any
    modes: np.ndarray
