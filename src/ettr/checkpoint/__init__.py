"""Checkpoint intervals, sizes, placement, expected run times and the ETTR achieved: formulas on plain numbers.

Every interval is τ, the productive training between two checkpoints, stall excluded. All functions take scalars or
arrays, broadcast, and return a float for scalars.
"""

from ettr.checkpoint.corruption import checkpoints_to_keep
from ettr.checkpoint.intervals import (
    availability_interval,
    daly_first_order_interval,
    daly_interval,
    exact_interval,
    young_interval,
)
from ettr.checkpoint.placement import peer_survival
from ettr.checkpoint.prediction import alarm_rate_per_h, heed_threshold_h, recall_of
from ettr.checkpoint.sizes import checkpoint_bytes, needed_gb_s, transfer_h
from ettr.checkpoint.waiting import expected_runtime, growth, mean_until

__all__ = [
    "alarm_rate_per_h",
    "availability_interval",
    "checkpoint_bytes",
    "checkpoints_to_keep",
    "daly_first_order_interval",
    "daly_interval",
    "exact_interval",
    "expected_runtime",
    "growth",
    "heed_threshold_h",
    "mean_until",
    "needed_gb_s",
    "peer_survival",
    "recall_of",
    "transfer_h",
    "young_interval",
]
