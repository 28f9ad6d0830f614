"""The answer to "what should I do": the interval to checkpoint at, what it leaves, and what a target needs."""

from ettr.plan.answer import Plan, make, presets
from ettr.plan.assumed import assumed_fields
from ettr.plan.bands import Bands, bands_of
from ettr.plan.fields import solvable
from ettr.plan.fitted import LIKE, PRODUCTIVE_H, FittedPlan, from_fit, scenario_of
from ettr.plan.frontier import Frontier, ettr_map, frontier
from ettr.plan.intervals import (
    BAND_POINTS,
    Band,
    best_interval_min,
    flat_band,
    job_mttf_h,
    longest_interval_min,
    mttf_interval_h,
    shortest_interval_min,
    whole_interval_min,
)
from ettr.plan.needs import SOLVABLE, Blocker, Requirement, required, required_at_sizes, requirements
from ettr.plan.solving import ettr_at_best
from ettr.plan.spare_nodes import LeastPool, least_pool
from ettr.plan.tiers import TierPlan, best_tiers
from ettr.scenario.job_in_hours import SHORTEST_MIN

__all__ = [
    "BAND_POINTS",
    "LIKE",
    "PRODUCTIVE_H",
    "SHORTEST_MIN",
    "SOLVABLE",
    "Band",
    "Bands",
    "Blocker",
    "FittedPlan",
    "Frontier",
    "LeastPool",
    "Plan",
    "Requirement",
    "TierPlan",
    "assumed_fields",
    "bands_of",
    "best_interval_min",
    "best_tiers",
    "ettr_at_best",
    "ettr_map",
    "flat_band",
    "from_fit",
    "frontier",
    "job_mttf_h",
    "least_pool",
    "longest_interval_min",
    "make",
    "mttf_interval_h",
    "presets",
    "required",
    "required_at_sizes",
    "requirements",
    "scenario_of",
    "shortest_interval_min",
    "solvable",
    "whole_interval_min",
]
