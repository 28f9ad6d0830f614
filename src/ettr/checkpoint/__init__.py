"""When to checkpoint, where to, and how long a run then takes: closed forms on plain numbers.

Every interval is τ, the productive training between two checkpoints, stall excluded. All functions take scalars or
arrays, broadcast, and return a float for scalars.
"""

from ettr.checkpoint.intervals import (
    availability_interval,
    daly_first_order_interval,
    daly_interval,
    exact_interval,
    young_interval,
)
from ettr.checkpoint.waiting import expected_runtime, growth, mean_until

__all__ = [
    "availability_interval",
    "daly_first_order_interval",
    "daly_interval",
    "exact_interval",
    "expected_runtime",
    "growth",
    "mean_until",
    "young_interval",
]
