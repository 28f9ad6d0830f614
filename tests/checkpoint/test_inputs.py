"""What all functions of checkpoints have in common: arrays broadcast, and bad input is refused in the same words."""

from __future__ import annotations

import math

import numpy as np

from ettr.checkpoint import (
    availability_interval,
    checkpoints_to_keep,
    daly_first_order_interval,
    daly_interval,
    exact_interval,
    expected_runtime,
    young_interval,
)
from ettr.checkpoint.placement import peer_survival
from ettr.checkpoint.prediction import alarm_rate_per_h, heed_threshold_h, recall_of
from ettr.checkpoint.sizes import checkpoint_bytes, needed_gb_s, transfer_h
from refusals import refusal

STALLS, MTTFS, HOURS, SHARES = [0.01, 0.2], [1.0, 5.0, math.inf], [0.5, 1.0, 4.0], [0.5, 0.75, 0.9]
CALLS = [
    (young_interval, STALLS, MTTFS),
    (daly_interval, STALLS, MTTFS),
    (exact_interval, STALLS, MTTFS),
    (availability_interval, STALLS, MTTFS),
    (daly_first_order_interval, STALLS, MTTFS),
    (expected_runtime, [10.0, 20.0], HOURS, 0.1, 5.0, 0.2),
    (checkpoints_to_keep, [1.0, 6.0], HOURS),
    (peer_survival, [16, 1000], [0, 2, 3], 2),
    (alarm_rate_per_h, [0.1, 2.0], SHARES, 0.5),
    (heed_threshold_h, [0.1, 2.0], SHARES),
    (recall_of, [0.5, 0.9], [0.3, 0.4, 0.6]),
    (checkpoint_bytes, [1e9, 2e9], [2.0, 12.0, 16.0]),
    (transfer_h, [1e9, 2e9], [1.0, 2.0, 4.0]),
    (needed_gb_s, [1e9, 2e9], HOURS),
]
"""Each with two values of its first argument, three of its second, and the others."""


def test_arrays_broadcast_and_give_what_scalars_give():
    for function, first, second, *others in CALLS:
        answer = function(np.array(first), np.array(second)[:, None], *others)
        assert answer.tolist() == [[function(value, other, *others) for value in first] for other in second], function
        assert isinstance(function(first[0], second[0], *others), float)


BAD = {
    "stall_h must be >= 0 h and finite, got -1": lambda: young_interval(-1, 1),
    "stall_h must be >= 0 h and finite, got inf": lambda: exact_interval(math.inf, 1),
    "stall_h must be >= 0 h and finite, got nan": lambda: daly_interval([0.1, math.nan], 1),
    "mttf_h must be > 0 h, got 0": lambda: exact_interval(1, 0),
    "mttf_h must be > 0 h, got -3": lambda: availability_interval(1, [1, -3]),
    "stall_h must be a number or an array of numbers, got 'a'": lambda: young_interval("a", 1),
    "persist_slowdown must be >= 0 and finite, got -0.1": lambda: exact_interval(1, 1, 1, -0.1),
    "1 - persist_slowdown must be > 0 and finite, got 0": lambda: exact_interval(1, 1, 1, 1),
    "interval_h must be > 0 h and finite, got 0": lambda: expected_runtime(1, 0, 1, 1, 1),
    "n_lost must be a whole number, got 1.5": lambda: peer_survival(16, [1, 1.5]),
    "n_nodes must be >= 0 and finite, got nan": lambda: peer_survival(math.nan, 1),
    "copies must be <= n_nodes = 2, one per node, got 3": lambda: peer_survival([2.5, 9], 1, 3),
    "recall must be <= 1, got 1.2": lambda: alarm_rate_per_h(1.0, 1.2, 0.5),
    "precision must be > 0 and finite, got 0": lambda: heed_threshold_h(1.0, 0.0),
    "f1 must be <= 0.6667, its value at recall 1 and precision 0.5, got 0.7": lambda: recall_of(0.5, 0.7),
    "changed_share must be <= 1 (1 is the full state), got 1.5": lambda: checkpoint_bytes(1, 1, [0.5, 1.5]),
    "compression_ratio must be >= 1 (1 is no compression), got 0.5": lambda: checkpoint_bytes(1, 1, 1, [0.5, 2]),
    "shared_gb_s must be > 0 GB/s, got 0": lambda: transfer_h(1, 0),
}


def test_bad_input_is_refused():
    for message, call in BAD.items():
        assert refusal(call) == message
