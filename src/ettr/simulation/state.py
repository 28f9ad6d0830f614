"""State of a run between two events, in the kernel for every mechanism."""

from __future__ import annotations

import numpy as np

from ettr.simulation.rules import MOST_TIERS, N_KINDS

# a ledger: hours of the work that counts, up to some moment, and its place; of a silent failure also its detection
POSITION, STALLED, SLOWED, DEGRADED, INDEX, PLACE, ORIGIN, CLEAN, FOUND_AT, MODE_OF, KEY_OF = range(11)
ROW = 11

FAILED, LOADING, WORKING, FINISHED = range(4)
"""Status of the job: stopped by a failure, restarting, training, or finished."""

STATE = np.dtype(
    [
        ("seed", "i8"),
        ("run", "i8"),
        ("begun", "i8"),  # a run is under way
        ("room", "i8"),  # entries that one event may add
        ("status", "i8"),
        # clocks
        ("now", "f8"),  # wall clock
        ("trained", "f8"),  # hours of training and stalls, including those that are lost later
        ("exposed", "f8"),
        ("hazard", "f8"),  # the clock on which failures are drawn
        # hours lost, by cause
        ("rework", "f8"),
        ("detection", "f8"),
        ("queue", "f8"),
        ("restart", "f8"),
        ("maintenance", "f8"),
        ("waiting", "f8"),
        ("n_waits", "i8"),
        ("n_failures", "i8"),
        ("n_planned", "i8"),
        # the ledger of the job, and those of the copies of its state
        ("ledger", "f8", (1, ROW)),
        ("begin", "f8", (1, ROW)),
        ("kept", "f8", (MOST_TIERS, ROW)),  # the newest durable copy in each tier
        ("written", "f8", (MOST_TIERS, ROW)),  # the copy that is being written
        ("durable_at", "f8", (MOST_TIERS,)),  # by ``trained``; infinite: none is being written
        ("since", "f8"),  # productive hours since the last place
        ("origin", "f8"),  # productive hours at place 0
        ("place", "i8"),  # intervals of the fastest tier since the origin
        ("in_stall", "i8"),
        ("stall_left", "f8"),
        ("in_action", "i8"),
        ("action_left", "f8"),
        # next events
        ("next_time", "f8"),  # failure by time alone, on the hazard clock
        ("next_first", "f8", (N_KINDS,)),  # first failure of a node of each kind
        ("first_hazard", "f8", (N_KINDS,)),
        ("fresh", "i8", (N_KINDS,)),  # nodes of the job that never failed
        ("drawn", "i8", (N_KINDS,)),
        ("n_clocks", "i8"),
        (
            "soft_left",
            "f8",
        ),  # training hours to the next false alarm or change of slow nodes; negative: to be drawn
        ("next_request", "f8"),
        ("n_events", "i8"),
        # counters of random numbers
        ("k", "i8"),
        ("key", "i8"),  # of the current failure
        ("n_time", "i8"),  # failures by time alone
        ("n_soft", "i8"),
        ("n_requests", "i8"),
        ("n_lives", "i8"),
        ("n_kinds", "i8"),
        ("n_spares_seen", "i8"),
        ("n_chosen", "i8"),
        ("n_idle_failures", "i8"),
        ("n_idle_draws", "i8"),
        ("n_taken", "i8"),  # nodes that left for other reasons than a failure
        # the current failure
        ("mode", "i8"),
        ("node", "i8"),  # whose clock ran out; -1: none
        ("severity", "i8"),  # tier to load from
        ("pending", "f8"),  # remaining hours of the restart
        ("tried", "f8"),  # hours of loading corrupt copies
        ("is_planned", "i8"),  # the restart follows a planned stop, or the start
        ("oldest", "i8"),  # number of the oldest checkpoint in the store
        ("announced_mode", "i8"),
        ("announced_node", "i8"),
        # nodes
        ("n_slow", "i8"),
        ("n_found", "i8"),
        ("missing", "i8"),
        ("n_ids", "i8"),
        ("n_hidden", "i8"),
        # spares and repair, by rank
        ("stock", "i8", (3,)),
        ("fresh_spares", "i8", (3,)),
        ("fresh_kinds", "i8", (N_KINDS,)),  # spares that were never used, by kind
        ("first_waiting", "i8", (3,)),  # rings of spares that were used before
        ("n_waiting", "i8", (3,)),
        ("next_idle", "f8"),  # wall clock at which a spare fails
        ("n_gone", "i8"),  # nodes that were not replaced
        ("ended", "i8"),  # too few nodes are left
        ("n_repair", "i8"),
        ("n_slots", "i8"),
        ("n_free_slots", "i8"),
        ("busy", "i8"),
        ("first_queued", "i8"),  # ring of nodes that wait for a crew
        ("n_queued", "i8"),
        # controls
        ("expected", "f8"),
        ("struck", "f8"),
        ("less_person", "f8"),
        ("less_repair", "f8"),
        ("less_mix", "f8"),
        # the trace
        ("traced", "i8"),
        ("n_trace", "i8"),
    ],
    align=True,
)
