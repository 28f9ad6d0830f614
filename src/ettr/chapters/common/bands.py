"""What charts with bands say of what is known of the failure rate."""

from __future__ import annotations

ENDS = ("low_50", "high_50", "low_95", "high_95")
"""Columns with the ends of the bands."""
