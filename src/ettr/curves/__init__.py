"""Tables behind the charts of a chapter: closed forms over an interval, a size or a pair of fields."""

from ettr.curves.changing_rates import changing_cases, one_interval, one_interval_by_factor, rates_and_intervals
from ettr.curves.disagreement import difference_at_best, difference_cells, difference_regions, set_aside
from ettr.curves.effective_time import (
    against_model,
    by_interval,
    by_size,
    interval_rules,
    parts_by_interval,
    parts_by_size,
    recovery_map,
    recovery_regions,
)
from ettr.curves.notice import (
    announced,
    answer_s,
    found_late,
    kept_checkpoints,
    predictors_here,
    published_predictors,
    silent_share,
)
from ettr.curves.requirements import frontiers, rates_and_restarts, required_by_size
from ettr.curves.stores import bandwidth_crossings, by_bandwidth, published_stores, stored_bytes
from ettr.curves.tiers import interval_choices, ladder, placements, rungs, store_only, with_common_losses
from ettr.curves.uncertainty import band_by_size, interval_with_bands, size_with_bands

__all__ = [
    "against_model",
    "announced",
    "answer_s",
    "band_by_size",
    "bandwidth_crossings",
    "by_bandwidth",
    "by_interval",
    "by_size",
    "changing_cases",
    "difference_at_best",
    "difference_cells",
    "difference_regions",
    "found_late",
    "frontiers",
    "interval_choices",
    "interval_rules",
    "interval_with_bands",
    "kept_checkpoints",
    "ladder",
    "one_interval",
    "one_interval_by_factor",
    "parts_by_interval",
    "parts_by_size",
    "placements",
    "predictors_here",
    "published_predictors",
    "published_stores",
    "rates_and_intervals",
    "rates_and_restarts",
    "recovery_map",
    "recovery_regions",
    "required_by_size",
    "rungs",
    "set_aside",
    "silent_share",
    "size_with_bands",
    "store_only",
    "stored_bytes",
    "with_common_losses",
]
