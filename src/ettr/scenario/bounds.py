"""How small and how large a number of a scenario or a GPU file may be.

A field states its own bounds where it has any. What it leaves open follows from its unit, which is the ending of its
name, so that every number has finite bounds and no product or quotient of two fields overflows unnoticed.
"""

from __future__ import annotations

import functools
import typing
from collections.abc import Iterator
from typing import Any, Literal

from pydantic.fields import FieldInfo

from ettr.core.units import unit_of

SMALLEST = 1e-30
"""Smallest magnitude besides 0, in any unit: far below rounding errors of a difference, and far above the range in
which products and inverses overflow.
"""
LARGEST_COUNT = 1_000_000_000_000
"""Largest count: more than any machine will have, and exact in a float."""

OF_UNIT: dict[str, tuple[float, float]] = {
    "h": (1e-6, 1e9),  # from 4 ms to 114,000 years, the mean time to failure of one FIT
    "min": (1e-6, 1e11),
    "s": (1e-6, 1e13),
    "µs": (1e-6, 1e9),
    "days": (1e-6, 1e8),
    "month": (1e-6, 1e7),
    "1/day": (1e-6, 1e9),
    "s per 1000 GPUs": (1e-6, 1e9),
    "node-days": (1e-6, 1e15),
    "failures": (1e-6, 1e12),
    "failures per 1,000 node-days": (1e-9, 1e12),
    "nodes per 1,000 node-days": (1e-9, 1e12),
    "W": (1e-3, 1e6),
    "W/s": (1e-3, 1e9),
    "J": (1e-3, 1e9),
    "K": (1e-3, 1e3),
    "K/W": (1e-6, 1e3),
    "MHz": (1e-3, 1e6),
    "TFLOP/s": (1e-3, 1e9),
    "GB": (1e-3, 1e9),
    "GB/s": (1e-6, 1e12),
    "g/kWh": (1e-3, 1e6),
    "USD": (1e-6, 1e15),
    "USD/day": (1e-6, 1e12),
    "tokens": (1.0, 1e18),
}
"""Smallest and largest number by unit; the smallest applies to numbers that must be above 0."""
OF_OTHERS = (1e-15, 1e15)
"""Smallest and largest number of fractions, factors and others without one of these units."""

Bounds = tuple[tuple[str, float], ...]
_SIGNS = {"gt": ">", "ge": ">=", "lt": "<", "le": "<="}


def of_unit(name: str) -> tuple[float, float]:
    """Return the smallest number above 0 and the largest number for the unit suffix of a field's name.

    Examples
    --------
    >>> of_unit("recovery.restart_min"), of_unit("person_share")
    ((1e-06, 100000000000.0), (1e-15, 1000000000000000.0))
    """
    return OF_UNIT.get(unit_of(name), OF_OTHERS)


def bounds(name: str, field: FieldInfo) -> Bounds:
    """Return the bounds of a field, including those of its unit; for a table those of its values.

    Parameters
    ----------
    name : str
        Name of the field, or its dotted path.
    field : FieldInfo
        As pydantic holds it.

    Returns
    -------
    tuple of (str, float)
        Pairs of sign and limit, e.g. ``((">=", 0), ("<=", 1e9))``; empty if it is not a number.
    """
    return _bounds(name.rpartition(".")[2], field) if is_number(field.annotation) else ()


def _bounds(name: str, field: FieldInfo) -> Bounds:
    least, most = (1, LARGEST_COUNT) if _is_count(field.annotation) else of_unit(name)
    stated = list(dict.fromkeys(_stated(field)))
    rules = [(">=", least) if rule == (">", 0) else rule for rule in stated]
    if not any(sign in ("<", "<=") for sign, _ in stated):
        rules.append(("<=", most))
    if not any(sign in (">", ">=") for sign, _ in stated):
        rules.append((">=", -most))
    return tuple(rules)


def _stated(field: FieldInfo) -> Iterator[tuple[str, float]]:
    """Yield the bounds stated in a field and its type."""
    for rule in [*field.metadata, *_rules_of_values(field.annotation)]:
        for key, sign in _SIGNS.items():
            if getattr(rule, key, None) is not None:
                yield sign, getattr(rule, key)


def _rules_of_values(annotation: Any) -> list[Any]:
    """Return the rules for the values of a table, anywhere in an annotation."""
    if typing.get_origin(annotation) is dict:
        inner = typing.get_args(annotation)[1]
        return [rule for outer in getattr(inner, "__metadata__", ()) for rule in getattr(outer, "metadata", ())]
    rules = [rule for outer in getattr(annotation, "__metadata__", ()) for rule in getattr(outer, "metadata", ())]
    return rules + [rule for part in typing.get_args(annotation) for rule in _rules_of_values(part)]


def is_number(annotation: Any) -> bool:
    """Return whether an annotation is or contains a number."""
    if annotation in (int, float):
        return True
    return typing.get_origin(annotation) is not Literal and any(map(is_number, typing.get_args(annotation)))


def _is_count(annotation: Any) -> bool:
    return annotation is int or any(map(_is_count, typing.get_args(annotation)))


@functools.cache
def of_section(section: type[Any]) -> dict[str, Bounds]:
    """Return the bounds of each number field of a section, by name."""
    rules_by_name = {name: bounds(name, field) for name, field in section.model_fields.items()}
    return {name: rules for name, rules in rules_by_name.items() if rules}
