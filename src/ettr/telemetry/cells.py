"""One cell of a table: a number with its unit, a silence, or neither."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ettr.core.errors import InputError
from ettr.files.ledger import Ledger

SILENT = frozenset({"", "-", "n/a", "na", "nan", "null", "none", "err!", "unknown", "not supported", "not available"})
"""What a tool writes where it has no value; with or without brackets."""

NAN = float("nan")
_CELL = re.compile(r"([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*(\D*)")

UNITS: dict[str, dict[str, float]] = {
    "power_w": {"w": 1.0, "mw": 1e-3, "kw": 1e3, "watts": 1.0, "watt": 1.0},
    "temperature_c": {"c": 1.0, "°c": 1.0, "degc": 1.0, "celsius": 1.0},
    "memory_c": {"c": 1.0, "°c": 1.0, "degc": 1.0, "celsius": 1.0},
    "clock_mhz": {"mhz": 1.0, "ghz": 1e3, "khz": 1e-3, "hz": 1e-6},
    "utilisation": {"": 1.0, "%": 0.01, "pct": 0.01, "percent": 0.01},
    "energy_j": {"j": 1.0, "mj": 1e-3, "kj": 1e3, "wh": 3600.0, "kwh": 3.6e6},
    "t_s": {"s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9, "min": 60.0, "h": 3600.0},
}
"""Units of each quantity, in lower case, and what one is in ours. ``mW`` is milliwatt: nothing here draws megawatts."""


_TEMPERATURES = ("temperature_c", "memory_c")
_FOREIGN = re.compile(r"(?:°|deg(?:rees?)?)?\s*(f|fahrenheit|k|kelvin)", re.IGNORECASE)
_FOREIGN_NAME = re.compile(r"(?:.*[_. ])?(?:temp|temperature)(?:[_. ].*)?[_. ](?:f|fahrenheit|k|kelvin)")


def check_celsius(quantity: str, unit: str, column: str) -> None:
    """Refuse temperatures of another unit: they fit as well as others, and give wrong figures."""
    if quantity in _TEMPERATURES and _FOREIGN.fullmatch(unit.strip()):
        raise InputError(f"temperatures must be in °C, got {unit.strip()[:20]!r} in {column}: convert them first")


def check_celsius_named(name: str) -> None:
    """Refuse a column that holds, by its name, temperatures of another unit."""
    if _FOREIGN_NAME.fullmatch(name):
        raise InputError(f"temperatures must be in °C, got the column {name[:40]!r}: convert it, or leave it out")


def scale_of(quantity: str, unit: str) -> float | None:
    """What one of a unit is in the quantity's own; None if it is no unit of it."""
    return UNITS[quantity].get(unit.strip().lower())


class Cells:
    """Reads the cells of one column, and counts in the ledger what it could not.

    Parameters
    ----------
    quantity : str
        What the column holds, a key of ``UNITS``.
    column : str
        Its name in the file, for the ledger.
    unit : str
        The unit of cells that carry none; empty for the quantity's own.
    ledger : Ledger
        Takes the counts.
    """

    def __init__(self, quantity: str, column: str, unit: str, ledger: Ledger) -> None:
        self._units: Mapping[str, float] = UNITS[quantity]
        self._quantity, self._column, self._ledger = quantity, column, ledger
        check_celsius(quantity, unit, column)
        self._plain = scale_of(quantity, unit) if unit else 1.0

    def read(self, text: str, place: str) -> float:
        """A cell's number; NaN where it is silent or not understood, which is counted."""
        try:
            return float(text) * (self._plain or NAN) if text[-1:].isdigit() else self._careful(text, place)
        except ValueError:
            return self._careful(text, place)

    def _careful(self, text: str, place: str) -> float:
        cell = text.strip()
        if cell.startswith("[") or cell.lower() in SILENT:
            self._ledger.dropped(f"{self._column}: no value", place=place)
            return NAN
        match = _CELL.fullmatch(cell)
        if not match:
            self._ledger.not_parsed(f"{self._column}: no number", place=place)
            return NAN
        number, unit = float(match[1]), match[2].strip().lower()
        scale = self._units.get(unit) if unit else self._plain
        if scale is None:
            check_celsius(self._quantity, unit, self._column)
            self._ledger.not_parsed(f"{self._column}: unknown unit {unit[:12]!r}", place=place)
            return NAN
        return number * scale
