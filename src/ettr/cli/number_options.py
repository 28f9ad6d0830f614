"""Options that take a number read it as people write it, in the unit of the option."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable
from typing import Any

from ettr.core.errors import EttrError
from ettr.core.quantities import noun_of, parse_count, parse_quantity
from ettr.core.sentences import cut
from ettr.core.units import unit_of

_UNITS = {"S": "s", "MIN": "min", "H": "h", "DAYS": "days", "USD": "USD"}
"""Units of options whose name has none, by their placeholder in the help."""
_SHARES = ("ETTR", "SHARE")
_LONGEST = 80
"""Characters of a text that an error repeats."""


class NotANumber(EttrError):
    """An option that takes a number was given something else; no ``ValueError``, which Typer would rephrase."""


def read_numbers(function: Any) -> None:
    """Have all options of a command that take a number read it as people write numbers."""
    function = inspect.unwrap(function)  # whose annotations Typer reads
    hints = typing.get_type_hints(function, include_extras=True)
    for name, hint in hints.items():
        kind, *facts = typing.get_args(hint) or (hint,)
        kinds = {kind, *typing.get_args(kind)}
        for option in facts if {int, float} & kinds else ():
            # of an annotated option Typer keeps the first of its names as the default, until it makes a command of it
            option.metavar = option.metavar or "N"
            unit = unit_of(name) or _UNITS.get(option.metavar, "")
            noun = noun_of(unit, whole=int in kinds)
            if option.metavar in _SHARES:
                noun = "a share, e.g. 0.9 or 90%"
            option.parser = _reader(str(option.default), noun, unit, whole=int in kinds)
    function.__annotations__ = hints


def _reader(option: str, noun: str, unit: str, *, whole: bool) -> Callable[[Any], float]:
    """Return the function that reads the number of an option, or refuses it by the option's name and unit."""

    def read(text: Any) -> float:
        if not isinstance(text, str):  # the default
            return typing.cast("float", text)
        try:
            return parse_count(text, unit) if whole else parse_quantity(text, unit)
        except ValueError as error:
            raise NotANumber(f"{option} takes {noun}, got {cut(repr(text), _LONGEST)} ({error})") from None

    return read
