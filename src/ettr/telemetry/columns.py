"""The columns of a table of telemetry: what quantities they hold, and in which units."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ettr.core.errors import InputError
from ettr.core.numbers import number_of
from ettr.files.ledger import Ledger
from ettr.files.opening import Source
from ettr.files.tables import first_line, header_of, rows
from ettr.telemetry.format import QUANTITIES

SILENT = frozenset({"", "-", "n/a", "na", "nan", "null", "none", "err!", "unknown", "not supported", "not available"})
"""What a tool writes where it has no value; with or without brackets."""

NAN = float("nan")
_CELL = re.compile(r"([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*(\D*)", re.ASCII)

_UNITS = {
    "power_w": {"w": 1.0, "mw": 1e-3, "kw": 1e3, "watts": 1.0, "watt": 1.0},
    "temperature_c": {"c": 1.0, "°c": 1.0, "degc": 1.0, "celsius": 1.0},
    "memory_c": {"c": 1.0, "°c": 1.0, "degc": 1.0, "celsius": 1.0},
    "clock_mhz": {"mhz": 1.0, "ghz": 1e3, "khz": 1e-3, "hz": 1e-6},
    "utilisation": {"": 1.0, "%": 0.01, "pct": 0.01, "percent": 0.01},
    "t_s": {"s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9, "min": 60.0, "h": 3600.0},
}
"""Units of each quantity, in lower case, and what one is in ours. ``mW`` is milliwatt: nothing here draws megawatts."""
_FOREIGN = re.compile(
    r"(?:.*[_. ])?temp(?:erature)?(?:[_. ].*)?[_. \[(]°?(?:f|fahrenheit|k|kelvin)[\])]?", re.IGNORECASE
)
"""A heading of temperatures in another unit: they fit as well as others, and give wrong figures."""


def scale_of(quantity: str, unit: str) -> float | None:
    """What one of a unit is in the quantity's own; None if it is no unit of it."""
    return _UNITS[quantity].get(unit.strip().lower())


class Cells:
    """Reads the cells of one column, and counts in the ledger what it could not.

    Parameters
    ----------
    quantity : str
        What the column holds, such as ``power_w``.
    column : str
        Its name in the file, for the ledger.
    unit : str
        The unit of cells that carry none; empty for the quantity's own.
    ledger : Ledger
        Takes the counts.
    """

    def __init__(self, quantity: str, column: str, unit: str, ledger: Ledger) -> None:
        self._column, self._ledger = column, ledger
        self._units = _UNITS[quantity]
        self._plain = scale_of(quantity, unit) if unit else 1.0

    def read(self, text: str, place: str) -> float:
        """A cell's number; NaN where it is silent or not understood, which is counted."""
        try:
            return number_of(text) * (self._plain or NAN) if text[-1:].isdigit() else self._careful(text, place)
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
            self._ledger.not_parsed(f"{self._column}: unknown unit {unit[:12]!r}", place=place)
            return NAN
        return number * scale


_HEADING = re.compile(r"^(.*?)\s*[\[(]([^\])]*)[\])]$")

Names = Mapping[str, Sequence[str]]
"""Of each quantity the names that its column may have, the best first."""


@dataclass(frozen=True)
class Heading:
    """One column: where it stands, its name in lower case, the unit in brackets behind it, and all of its text."""

    at: int
    name: str
    unit: str
    text: str


def _headings(cells: Iterable[str]) -> list[Heading]:
    """A header's columns."""
    headings = []
    for at, cell in enumerate(cells):
        text = cell.strip()
        parts = _HEADING.fullmatch(text)
        name, unit = (parts[1], parts[2]) if parts else (text, "")
        headings.append(Heading(at, name.strip().lower(), unit.strip(), text))
    return headings


def names_in(head: list[str]) -> set[str]:
    """Names of the columns, if the first line of a file is a header."""
    return {heading.name for heading in _headings(header_of(first_line(head))[0])}


def _find(headings: list[Heading], names: Names) -> dict[str, Heading]:
    """Of each quantity the best column that is there; one that is there twice is refused."""
    names_used = {name for accepted in names.values() for name in accepted}
    counts = Counter(heading.name for heading in headings if heading.name in names_used)
    if twice := next((name for name, n in counts.items() if n > 1), None):
        raise InputError(f"columns must have different names, got {twice!r} twice")
    by_name = {heading.name: heading for heading in headings}
    best = {quantity: next((by_name[each] for each in names[quantity] if each in by_name), None) for quantity in names}
    return {quantity: heading for quantity, heading in best.items() if heading}


class Columns:
    """A header understood: turns a row into the values of a sample.

    Parameters
    ----------
    cells : sequence of str
        The header.
    names : mapping
        Of each quantity the names that its column may have.
    ledger : Ledger
        Takes what is not understood.
    units : mapping of str to str
        Unit of columns whose heading names none, by the column's name.
    """

    def __init__(self, cells: Sequence[str], names: Names, ledger: Ledger, units: Mapping[str, str]) -> None:
        headings = _headings(cells)
        if foreign := next((heading.text for heading in headings if _FOREIGN.fullmatch(heading.text)), None):
            raise InputError(
                f"temperatures must be in °C, got the column {foreign[:40]!r}: convert it, or leave it out"
            )
        self.by_quantity = _find(headings, names)
        self.width = len(cells)
        self._units = units
        self._cells = {
            quantity: Cells(quantity, heading.text, self.unit(quantity), ledger)
            for quantity, heading in self.by_quantity.items()
            if quantity in QUANTITIES
        }

    def __contains__(self, quantity: str) -> bool:
        """Whether the table has a column of it."""
        return quantity in self.by_quantity

    def unit(self, quantity: str) -> str:
        """The unit that the heading of a quantity names; empty if none."""
        heading = self.by_quantity[quantity]
        return heading.unit or self._units.get(heading.name, "")

    def text(self, quantity: str, row: Sequence[str]) -> str:
        """A cell as it stands; empty if the table has no such column."""
        return row[self.by_quantity[quantity].at].strip() if quantity in self.by_quantity else ""

    def values(self, row: Sequence[str], place: str) -> dict[str, float]:
        """The quantities of a row that are there."""
        return {name: cells.read(row[self.by_quantity[name].at], place) for name, cells in self._cells.items()}


def table(
    source: Source,
    ledger: Ledger,
    names: Names,
    needed: Names,
    units: Mapping[str, str] | None = None,
    again: str | None = None,
) -> Iterator[tuple[str, Columns, list[str]]]:
    """Yield every whole row below a header, with its place and what the header says.

    Parameters
    ----------
    source : Source
        The file.
    ledger : Ledger
        Takes rows that are cut off, and what is not understood in cells.
    names : mapping
        Of each quantity the names that its column may have.
    needed : mapping
        What the table must have, in words for its refusal, and the quantities of which one will do.
    units : mapping of str to str or None
        Unit of columns whose heading names none, by the column's name.
    again : str or None
        First cell of a row that is a header again, as where recordings were appended; in lower case.
    """
    columns = None
    for place, row in rows(source, ledger):
        if columns is None or row[0].strip().lower() == again:
            if columns is not None:
                ledger.dropped("header again", place=place)
            columns = Columns(row, names, ledger, units or {})
            for what, quantities in needed.items():
                if not any(quantity in columns for quantity in quantities):
                    listed = ", ".join(repr(each.strip()) for each in row[:20])
                    raise InputError(f"{source.name} must have {what}. Columns found: {listed}")
        elif len(row) < columns.width:
            ledger.not_parsed("row that is too short", place=place)
        else:
            yield place, columns, row
