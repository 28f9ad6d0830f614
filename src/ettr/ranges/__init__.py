"""Ranges: how far an answer may be off by its assumed inputs, over their plausible ranges together."""

from ettr.ranges.assumed import Assumptions, across_clusters, assumptions
from ettr.ranges.drawing import Draws, draws
from ettr.ranges.inputs import Assumed, is_borrowed, median_rate, rate_across_clusters, rate_is_assumed

__all__ = [
    "Assumed",
    "Assumptions",
    "Draws",
    "across_clusters",
    "assumptions",
    "draws",
    "is_borrowed",
    "median_rate",
    "rate_across_clusters",
    "rate_is_assumed",
]
