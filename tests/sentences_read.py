"""Read the numbers and durations in sentences, and check for text that no sentence may contain."""

from __future__ import annotations

import re

NUMBER = r"-?\d[\d,]*(?:\.\d+)?"
TENTH = {"abs": 0.0501}
THREE_DIGITS = {"rel": 5.1e-3}
TWO_DECIMALS = {"rel": 5.1e-3, "abs": 5.1e-3}  # of numbers between 0.1 and 1


def numbers(pattern: str, text: str) -> list[float]:
    """The numbers that stand where the pattern has ``#``."""
    match = re.search(pattern.replace("#", f"({NUMBER})"), text)
    assert match, f"{pattern!r} is not in {text!r}"
    return [float(group.replace(",", "")) for group in match.groups()]


def hours(pattern: str, text: str) -> list[float]:
    """The durations that stand where the pattern has ``@``. [h]"""
    units = {"s": 1 / 3600, "min": 1 / 60, "h": 1.0, "days": 24.0}
    match = re.search(pattern.replace("@", rf"({NUMBER} (?:s|min|h|days))\b"), text)
    assert match, f"{pattern!r} is not in {text!r}"
    pairs = (group.split() for group in match.groups())
    return [float(value.replace(",", "")) * units[unit] for value, unit in pairs]


def check_words(text: str, *, signed: bool = False) -> None:
    """Sane words: no trace of code, no doubled word or mark, shares within 0 and 100%, pairs that close.

    ``signed``: for gains, whose share may be negative or above 100%.
    """
    assert text and text == text.strip()
    text = re.sub(r" \{cite:p\}`\w+`", "", text)
    assert not re.search(r"\b(nan|inf|None|(?<!hardly )ever|NaN|Series|dtype|0x)\b", text), text
    assert not re.search(
        r"every (every|never)|[{}\[\]]|\b(\w+) \1\b|\d[eE][+-]?\d|(?<!\*)\*{3}|  | [.,;]|\.\.", text
    ), text
    assert text.count("(") == text.count(")") and text.count("**") % 2 == 0
    if not signed:
        assert not re.search(r"-\d", re.sub(r"[\w.]*[A-Za-z]-\d[\w.]*", "", text)), text
        for share in re.findall(rf"({NUMBER})%", text):
            assert float(share.replace(",", "")) <= 100
