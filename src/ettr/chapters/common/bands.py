"""What charts with bands say of what is known of the failure rate."""

from __future__ import annotations

from typing import Any

ENDS = ("low_50", "high_50", "low_95", "high_95")
"""Columns with the ends of the bands."""


def band_sentence(row: Any, where: str) -> str:
    """The ETTR of a row with its bands, as the end of a description."""
    if row.high_95 <= row.low_95:
        return f"{where} it is {row.ettr:.1%}; nothing is known of the rate's uncertainty, so there are no bands."
    return (
        f"{where} it is {row.ettr:.1%}, from {row.low_50:.1%} to {row.high_50:.1%} with 50% and from {row.low_95:.1%} "
        f"to {row.high_95:.1%} with 95% probability."
    )
