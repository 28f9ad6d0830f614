"""Plausible ranges of an answer, across the plausible ranges of its assumed inputs together."""

from ettr.ranges.assumed import Assumptions, across_clusters, assumptions
from ettr.ranges.drawing import TAILS, Draws, draws, even_points, range_of
from ettr.ranges.inputs import (
    Assumed,
    assumed_inputs,
    median_rate,
    rate_across_clusters,
    rate_is_assumed,
    rate_is_from_elsewhere,
)

__all__ = [
    "TAILS",
    "Assumed",
    "Assumptions",
    "Draws",
    "across_clusters",
    "assumed_inputs",
    "assumptions",
    "draws",
    "even_points",
    "median_rate",
    "range_of",
    "rate_across_clusters",
    "rate_is_assumed",
    "rate_is_from_elsewhere",
]
