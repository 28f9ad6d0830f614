"""Ranges: how far an answer may be off by its assumed inputs, over their plausible ranges together."""

from ettr.ranges.assumed import Assumed, Assumptions, assumptions

__all__ = ["Assumed", "Assumptions", "assumptions"]
