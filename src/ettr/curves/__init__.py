"""Tables behind the charts of a chapter: closed forms over an interval, a size or a pair of fields."""

from ettr.curves.effective_time import (
    against_model,
    by_interval,
    by_size,
    interval_rules,
    parts_by_interval,
    parts_by_size,
    recovery_map,
)

__all__ = [
    "against_model",
    "by_interval",
    "by_size",
    "interval_rules",
    "parts_by_interval",
    "parts_by_size",
    "recovery_map",
]
