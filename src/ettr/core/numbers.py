"""Numbers in texts, in the digits 0 to 9 only; Python also reads digits of other scripts."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

from ettr.core.errors import InputError

_WITH_COMMA = re.compile(r"(?<![\d.,])(\d{1,3}(?:\.\d{3})+|\d+|),(\d+)(?![\d.,])", re.ASCII)
"""A number with a decimal comma, and perhaps with points between thousands."""
LEADING_ZERO = re.compile(r"\s*[-+]?0[0-9_]")
"""A leading zero, as in 010, which may mean eight, ten or a slip."""


def refuse_other_digits(text: str) -> None:
    """Refuse a number in other digits than 0 to 9; any other text passes.

    Raises
    ------
    ValueError
        The text is such a number.

    Examples
    --------
    >>> refuse_other_digits("12")
    >>> refuse_other_digits("\uff11\uff12")
    Traceback (most recent call last):
    ValueError: a number must be written with the digits 0 to 9, got '\uff11\uff12': write 12
    """
    if text.isascii() or not any(sign.isdecimal() and not sign.isascii() for sign in text):
        return
    plain = "".join(str(int(sign)) if sign.isdecimal() else sign for sign in text)
    try:
        float(text)
    except ValueError:
        return
    raise ValueError(f"a number must be written with the digits 0 to 9, got {text[:40]!r}: write {plain.strip()[:40]}")


def with_decimal_point(text: str) -> str:
    """Return a text with the decimal comma of its numbers as a point, and without points between thousands.

    Examples
    --------
    >>> with_decimal_point("114,68 W"), with_decimal_point("1.234,5"), with_decimal_point("gpu-07")
    ('114.68 W', '1234.5', 'gpu-07')
    """
    if "," not in text:
        return text
    return _WITH_COMMA.sub(lambda number: f"{number[1].replace('.', '')}.{number[2]}", text)


def number_of(text: str) -> float:
    """Return the number in a text, as Python reads it.

    Raises
    ------
    ValueError
        The text is no number, or has other digits than 0 to 9.

    Examples
    --------
    >>> number_of("1e3")
    1000.0
    """
    refuse_other_digits(text)
    return float(text)


def whole_number_of(text: str) -> int:
    """Return the whole number in a text, as Python reads it.

    Raises
    ------
    ValueError
        The text is no whole number, or has other digits than 0 to 9.

    Examples
    --------
    >>> whole_number_of("4096")
    4096
    """
    refuse_other_digits(text)
    return int(text)


def refuse_infinite(name: str, value: Any, place: str) -> None:
    """Refuse a number that is not finite, also in lists and mappings.

    Raises
    ------
    InputError
        The number is not finite; the message has its path, e.g. ``changes.0.value``.

    Examples
    --------
    >>> refuse_infinite("grid", {"n_gpus": [1024.0, math.inf]}, "grid.yml")
    Traceback (most recent call last):
    ettr.core.errors.InputError: grid.n_gpus.1 must be finite, got inf (grid.yml)
    """
    if isinstance(value, float) and not math.isfinite(value):
        raise InputError(f"{name} must be finite, got {value} ({place})")
    if isinstance(value, Mapping | list | tuple):
        for key, inner in value.items() if isinstance(value, Mapping) else enumerate(value):
            if isinstance(inner, float | Mapping | list | tuple):
                refuse_infinite(f"{name}.{key}" if name else str(key), inner, place)
