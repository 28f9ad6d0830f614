"""Numbers as texts: of the digits 0 to 9 alone, where Python takes those of every script."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

from ettr.core.errors import InputError

LEADING_ZERO = re.compile(r"\s*[-+]?0[0-9_]")
"""Eight, ten or a slip: nobody can say what 010 means."""


def refuse_other_digits(text: str) -> None:
    """Refuse a text that is a number in other digits than 0 to 9; any other text passes.

    Raises
    ------
    ValueError
        It is one.

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


def number_of(text: str) -> float:
    """The number that a text is.

    Raises
    ------
    ValueError
        It is none, or one in other digits than 0 to 9.
    """
    refuse_other_digits(text)
    return float(text)


def whole_number_of(text: str) -> int:
    """The whole number that a text is.

    Raises
    ------
    ValueError
        It is none, or one in other digits than 0 to 9.
    """
    refuse_other_digits(text)
    return int(text)


def refuse_infinite(name: str, value: Any, place: str) -> None:
    """Refuse a number that is not finite, in lists and mappings too.

    Raises
    ------
    InputError
        With the number's own name: ``changes.0.value``.
    """
    if isinstance(value, float) and not math.isfinite(value):
        raise InputError(f"{name} must be finite, got {value} ({place})")
    if isinstance(value, Mapping | list | tuple):
        for key, inner in value.items() if isinstance(value, Mapping) else enumerate(value):
            if isinstance(inner, float | Mapping | list | tuple):
                refuse_infinite(f"{name}.{key}" if name else str(key), inner, place)
