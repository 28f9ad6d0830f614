"""Names and amounts in the chapters on mitigations."""

from __future__ import annotations

from ettr.core.sentences import about, usd

PARTS_IN_WORDS = {
    "productive": "training itself",
    "checkpoint": "checkpoints",
    "slowdown": "slower steps while a checkpoint is written",
    "degraded": "throughput lost while nodes are out or slow",
    "rework": "rework",
    "detection": "detection",
    "queue": "waiting for nodes",
    "restart": "restarts",
    "maintenance": "maintenance",
}
"""Names of the parts of the time budget, for use inside a sentence."""
MONEY, HOURS = "million USD", "h per month"
"""Units of a net saving: hours where an hour of the job costs nothing."""


def small(title: str) -> str:
    """Return a title in italics for the middle of a sentence."""
    return f"*{title}*"


def hours(value: float) -> str:
    """Return hours in the digits of chart labels; never ``-0``.

    Examples
    --------
    >>> hours(65.649), hours(5.904), hours(0.04), hours(1214.2)
    ('66', '5.9', '0', '1,214')
    """
    if abs(value) < 0.05:
        return "0"
    return f"{value:,.0f}" if abs(value) >= 9.95 else f"{value:.1f}"


def net_saving(value: float, unit: str) -> str:
    """Return a net saving in words.

    Examples
    --------
    >>> net_saving(2.565, MONEY), net_saving(52.4, HOURS)
    ('2.6 million USD', '52 h per month')
    """
    return usd(about(1e6 * value)) if unit == MONEY else f"{hours(value)} {unit}"


def span(low: str, high: str) -> str:
    """Return a range of two amounts, with their common unit once.

    Examples
    --------
    >>> span("1.9 million USD", "6.6 million USD"), span("390,000 USD", "2.9 million USD")
    ('1.9 to 6.6 million USD', '390,000 USD to 2.9 million USD')
    """
    number, _, unit = high.partition(" ")
    return f"{low.removesuffix(f' {unit}') if low.partition(' ')[2] == unit else low} to {number} {unit}"
