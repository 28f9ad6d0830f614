"""Words for what a failure log holds: names that others gave, counts and comparisons."""

from __future__ import annotations

import re

from ettr.core.sentences import count, number
from ettr.failures.window import LEAST_EVENTS

_LONGEST_NAME = 60
_SIGNS = re.compile(r"[\\`*<>|$\[\]]|(?<![^\W_])_|_(?![^\W_])")


def shortened(name: object) -> str:
    """A name from a log, cut where it would fill a sentence."""
    text = " ".join(str(name).split())
    return text if len(text) <= _LONGEST_NAME else f"{text[: _LONGEST_NAME - 1]}…"


def marked(text: str) -> str:
    """Text of a log in Markdown: none of its signs means anything."""
    return _SIGNS.sub(r"\\\g<0>", text)


def named(name: object) -> str:
    """A name from a log in Markdown."""
    return marked(shortened(name))


def counted(n: float, word: str) -> str:
    """A count with its noun, e.g. ``1 node``, ``2 nodes`` or ``no nodes``."""
    return f"{count(n) if n else 'no'} {word}{'' if n == 1 else 's'}"


def failures(n: float) -> str:
    """A count of failures."""
    return counted(n, "failure")


def node_days(days: float) -> str:
    """An exposure, with digits where it is short."""
    return f"{count(days) if days >= 100 else number(days)} node-day{'' if days == 1 else 's'}"


def between(low: float, high: float) -> str:
    """An interval."""
    return f"{number(low)} to {number(high)}"


def times(ratio: float, as_much: str) -> str:
    """How many times as much, or as often; for one, only that."""
    factor = number(ratio)
    return as_much if factor == "1" else f"{factor} times {as_much}"


def probability(value: float) -> str:
    """A p-value."""
    return "p < 0.001" if value < 0.001 else f"p = {value:.2g}"


def coverage(fraction: float) -> str:
    """The level of an interval, e.g. ``95%``."""
    return f"{number(100 * fraction)}%"


def too_few(what: str, n: int, least: int = LEAST_EVENTS) -> str:
    """How many failures something takes, and how many there are."""
    there = f"there {'is' if n == 1 else 'are'} {count(n) if n else 'none'}"
    return f"It takes {least} failures {what}; {there}."


def were(n: float, one: str = "was", more: str = "were") -> str:
    """The verb of a count."""
    return one if n == 1 else more
