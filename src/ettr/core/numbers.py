"""Numbers as texts: of the digits 0 to 9 alone, where Python takes those of every script."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

from ettr.core.errors import InputError

LEADING_ZERO = re.compile(r"\s*[-+]?0[0-9_]")
"""Eight, ten or a slip: nobody can say what 010 means."""
_WRITTEN = re.compile(
    r"(?P<number>[-+]?(?:(?:[1-9]\d{0,2}(?:,\d{3})+|\d+(?:_\d+)*)(?:\.\d*)?|\.\d+)) ?(?P<ending>[kKMBT%]?)", re.ASCII
)
_POWER_OF_TEN = {"": 0, "%": -2, "k": 3, "K": 3, "M": 6, "B": 9, "T": 12}


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


def number_as_written(text: str, *, share: bool = True) -> float:
    """Return the number that a person wrote, in the spellings of which there is no doubt.

    Parameters
    ----------
    text : str
        Besides what Python reads (``4096``, ``1_000``, ``1e5``): thousands between commas (``4,096``), ``k``, ``M``,
        ``B`` and ``T`` for 10³, 10⁶, 10⁹ and 10¹² (``4k``, ``405B``), and per cent (``90%``).
    share : bool
        Whether per cent are taken: of a number with a unit they would mean nothing.

    Raises
    ------
    ValueError
        It is no number, or one that can be read in two ways, such as ``3,5`` and ``010``.

    Examples
    --------
    >>> [number_as_written(text) for text in ("4,096", "4k", "2.3M", "90%", "1_000", "1e5")]
    [4096.0, 4000.0, 2300000.0, 0.9, 1000.0, 100000.0]
    """
    refuse_other_digits(text)
    if LEADING_ZERO.match(text):
        raise ValueError(f"a number must not begin with a zero, got {text[:40]!r}")
    written = _WRITTEN.fullmatch(text.strip())
    if written is None:
        return float(text)
    number, ending = written["number"].replace(",", ""), written["ending"]
    if ending == "%" and not share:
        raise ValueError(f"a number with a unit takes no per cent, got {text[:40]!r}")
    return float(f"{number}e{_POWER_OF_TEN[ending]}")


def whole_number_as_written(text: str) -> int:
    """Return the whole number that a person wrote, as :func:`number_as_written`.

    Raises
    ------
    ValueError
        It is none.

    Examples
    --------
    >>> whole_number_as_written("4k"), whole_number_as_written("9223372036854775807")
    (4000, 9223372036854775807)
    """
    number = number_as_written(text, share=False)
    if not number.is_integer():
        raise ValueError(f"a whole number is needed, got {text[:40]!r}")
    plain = text.strip().replace(",", "").replace("_", "").lstrip("+-")
    return whole_number_of(text.replace(",", "")) if plain.isdecimal() else int(number)


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
