"""Tables behind the charts of a chapter: closed forms over an interval, a size or two fields, and simulated runs."""

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
from ettr.curves.finishing import finish_by_cause, finish_by_spares, finishing_dates
from ettr.curves.mechanisms import (
    Mechanism,
    assumed_mechanisms,
    beyond_formulas,
    formula_run,
    node_memories,
    nodes_in_repair,
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
from ettr.curves.one_run import days_of_run, losses_of_runs
from ettr.curves.replications import (
    difference_by_luck,
    error_by_runs,
    ettr_by_length,
    lesson_run,
    other_interval_min,
)
from ettr.curves.requirements import frontiers, rates_and_restarts, required_by_size
from ettr.curves.stores import bandwidth_crossings, by_bandwidth, published_stores, stored_bytes
from ettr.curves.tiers import interval_choices, ladder, placements, rungs, store_only, with_common_losses
from ettr.curves.uncertainty import band_by_size, interval_with_bands, size_with_bands

__all__ = [
    "Mechanism",
    "against_model",
    "announced",
    "answer_s",
    "assumed_mechanisms",
    "band_by_size",
    "bandwidth_crossings",
    "beyond_formulas",
    "by_bandwidth",
    "by_interval",
    "by_size",
    "changing_cases",
    "days_of_run",
    "difference_at_best",
    "difference_by_luck",
    "difference_cells",
    "difference_regions",
    "error_by_runs",
    "ettr_by_length",
    "finish_by_cause",
    "finish_by_spares",
    "finishing_dates",
    "formula_run",
    "found_late",
    "frontiers",
    "interval_choices",
    "interval_rules",
    "interval_with_bands",
    "kept_checkpoints",
    "ladder",
    "lesson_run",
    "losses_of_runs",
    "node_memories",
    "nodes_in_repair",
    "one_interval",
    "one_interval_by_factor",
    "other_interval_min",
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
