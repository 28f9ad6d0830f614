"""The scenario as the kernels read it: numbers in hours, in records that compiled code reads fast."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

MOST_TIERS = 8
MOST_EVENTS = 30
"""Largest number of events of a run, per failure of its limit."""
N_KINDS = 2
"""Kinds of nodes: ordinary ones, and lemons."""
LOW, HIGH, POINTS = -22.0, 4.0, 1024
"""Natural logarithms of the cumulative hazard between which a node's first failure is tabulated."""

RULES = np.dtype(
    [
        # work and checkpoints
        ("work", "f8"),
        ("n_segments", "i8"),  # store intervals within the work, including the last one
        ("rest", "f8"),  # work in the last interval
        ("tau", "f8"),
        ("stall", "f8"),
        ("persist", "f8"),
        ("slowdown", "f8"),
        ("steady", "i8"),
        ("queue", "f8"),  # for the scheduler, at the start and after each failure
        ("restart", "f8"),  # planned; loading is in ``load``
        ("load", "f8"),
        ("unexposed", "i8"),  # no failures during a restart
        ("horizon", "f8"),  # wall clock at which a run ends; infinite: when its work is done
        # tiers, fastest first, the store last
        ("n_tiers", "i8"),
        ("step", "f8"),  # interval of the fastest
        ("every", "i8", (MOST_TIERS,)),  # places of the fastest between two copies
        ("tier_stall", "f8", (MOST_TIERS,)),
        ("tier_write", "f8", (MOST_TIERS,)),
        ("tier_load", "f8", (MOST_TIERS,)),
        ("tier_corrupt", "f8", (MOST_TIERS,)),  # probability that a copy turns out to be unusable
        ("corrupts", "i8"),
        ("n_kept", "i8"),  # 0: all
        # failures per hour of the hazard clock: by time alone, without nodes' clocks
        ("rate", "f8"),
        ("only_mode", "i8"),  # if there is only one; else -1
        ("burn_in", "f8"),  # excess of the rate at the start
        ("decay", "f8"),
        ("mean_recovery", "f8"),  # of failures by time alone
        # predictions
        ("alarm_rate", "f8"),  # of false alarms
        ("heeded_from", "f8"),  # work at risk from which an alarm is answered
        ("action", "f8"),
        # people
        ("person_share", "f8"),
        ("person", "f8"),
        # nodes
        ("n_nodes", "i8"),
        ("aged", "i8"),
        ("mixes", "i8"),  # a failure by time alone takes out nodes that have clocks
        ("tracked", "i8"),  # nodes differ, or their failures are counted
        ("n_spares", "i8"),  # of all ranks
        ("shape", "f8"),
        ("scale", "f8", (N_KINDS,)),
        ("lemon_share", "f8"),
        # logarithm of a node's first failure by that of its cumulative hazard
        ("first_log", "f8", (POINTS,)),
        ("first_slope", "f8", (POINTS,)),
        # spares and repair; ranks are hot, idle, pre-emptible, in the order in which they are taken
        ("pooled", "i8"),
        ("stock", "i8", (3,)),
        ("spare_wait", "f8", (3,)),
        ("choice", "i8"),
        ("idle_rate", "f8"),  # at which each hot or idle spare fails
        ("automatic", "f8"),  # NaN: no such stage
        ("automatic_success", "f8"),
        ("manual", "f8"),
        ("replacement", "f8"),
        ("cured_automatic", "f8"),  # probability that a lemon comes back as an ordinary node
        ("cured_manual", "f8"),
        ("unreplaced", "i8"),  # a node that retires, or that no stage repairs, is not replaced
        ("repair_sigma", "f8"),
        ("tabled", "i8"),  # repair times by the table below; else log-normal
        ("repair_log", "f8", (POINTS,)),  # logarithm of a time of mean 1 by that of its cumulative hazard
        ("repair_slope", "f8", (POINTS,)),
        ("n_crew", "i8"),  # 0: no limit
        ("retire_after", "i8"),  # 0: never
        ("retire_window", "f8"),  # infinite: over the life of a node
        # elastic, slow nodes, maintenance
        ("n_replicas", "i8"),  # 0: not elastic
        ("n_least", "i8"),
        ("slow_rate", "f8"),
        ("slow_loss", "f8"),
        ("found_rate", "f8"),
        ("request_rate", "f8"),
        ("stop", "f8"),
        ("rolling", "i8"),
    ],
    align=True,
)

MODE = np.dtype(
    [
        ("detection", "f8"),
        ("restart", "f8"),
        ("recovery", "f8"),  # mean detection, queue and restart
        ("n_out", "i8"),
        ("together", "i8"),  # its nodes come back at the same time
        ("repair", "f8"),  # NaN: the general stages
        ("latency", "f8"),  # NaN: detected at once
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
    """A run in hours: its numbers, and its failure modes.

    ``modes`` are in the order of the scenario, then ``other``, false alarms, and swaps of slow nodes.
    """

    run: Any
    modes: np.ndarray
