"""The answer to "what should I do": the interval to checkpoint at, what it leaves, and what a target needs."""

from ettr.plan.answer import Plan, assumed_fields, make, presets
from ettr.plan.fitted import LIKE, PRODUCTIVE_H, FittedPlan, from_fit, scenario_of
from ettr.plan.intervals import (
    BAND_POINTS,
    SHORTEST_MIN,
    Band,
    best_interval_min,
    flat_band,
    job_mttf_h,
    longest_interval_min,
    mttf_interval_h,
)
from ettr.plan.needs import SOLVABLE, Requirement, ettr_at_best, required, requirements

__all__ = [
    "BAND_POINTS",
    "LIKE",
    "PRODUCTIVE_H",
    "SHORTEST_MIN",
    "SOLVABLE",
    "Band",
    "FittedPlan",
    "Plan",
    "Requirement",
    "assumed_fields",
    "best_interval_min",
    "ettr_at_best",
    "flat_band",
    "from_fit",
    "job_mttf_h",
    "longest_interval_min",
    "make",
    "mttf_interval_h",
    "presets",
    "required",
    "requirements",
    "scenario_of",
]
