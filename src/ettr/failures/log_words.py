"""Phrases for reports on failure logs: names from the log, counts, intervals and comparisons."""

from __future__ import annotations

import re

from ettr.core.sentences import count, number
from ettr.failures.window import MIN_VERDICT_EVENTS

_LONGEST_NAME = 60
_SIGNS = re.compile(r"[\\`*<>|$\[\]]|(?<![^\W_])_|_(?![^\W_])")


def shortened(name: object) -> str:
    """Return a name from a log, cut to 60 characters."""
    text = " ".join(str(name).split())
    return text if len(text) <= _LONGEST_NAME else f"{text[: _LONGEST_NAME - 1]}…"


def marked(text: str) -> str:
    """Return text of a log with its Markdown signs escaped."""
    return _SIGNS.sub(r"\\\g<0>", text)


def named(name: object) -> str:
    """Return a name from a log, shortened and escaped for Markdown."""
    return marked(shortened(name))


def counted(n: float, word: str) -> str:
    """Return a count with its noun, e.g. ``1 node``, ``2 nodes`` or ``no nodes``."""
    return f"{count(n) if n else 'no'} {word}{'' if n == 1 else 's'}"


def failures(n: float) -> str:
    """Return a count of failures, e.g. ``3 failures``."""
    return counted(n, "failure")


def node_days(days: float) -> str:
    """Return an exposure in node-days, with decimals below 100."""
    return f"{count(days) if days >= 100 else number(days)} node-day{'' if days == 1 else 's'}"


def between(low: float, high: float) -> str:
    """Return an interval, e.g. ``3.5 to 5``."""
    return f"{number(low)} to {number(high)}"


def times(ratio: float, phrase: str) -> str:
    """Return a ratio in words, e.g. ``2 times as often as``; ``phrase`` alone for a ratio of 1."""
    factor = number(ratio)
    return phrase if factor == "1" else f"{factor} times {phrase}"


def probability(value: float) -> str:
    """Return a p-value, e.g. ``p = 0.03`` or ``p < 0.001``."""
    return "p < 0.001" if value < 0.001 else f"p = {value:.2g}"


def coverage(fraction: float) -> str:
    """Return the level of an interval, e.g. ``95%``."""
    return f"{number(100 * fraction)}%"


def too_few(statistic: str, n: int, minimum: int = MIN_VERDICT_EVENTS) -> str:
    """Return the sentence that a statistic takes ``minimum`` failures, and that there are only ``n``."""
    return f"{statistic} takes at least {minimum} failures; this log has {count(n) if n else 'none'}."


def were(n: float, singular: str = "was", plural: str = "were") -> str:
    """Return the verb that agrees with a count."""
    return singular if n == 1 else plural
