"""Columns of a telemetry table: their quantities and units."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ettr.core.errors import InputError
from ettr.core.numbers import number_of, with_decimal_point
from ettr.files.decimal_commas import decimal_comma
from ettr.files.ledger import Ledger
from ettr.files.opening import Source
from ettr.files.tables import columns_found, first_line, header_of, listed_names, rows
from ettr.telemetry.format import NOT_READ, QUANTITIES

SILENT = frozenset({"", "-", "n/a", "na", "nan", "null", "none", "err!", "unknown", "not supported", "not available"})
"""Cells that mean no value, with or without brackets."""

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
"""Units of each quantity in lower case, with their scale. ``mW`` is milliwatt, as no GPU draws megawatts."""
_FOREIGN = re.compile(
    r"(?:.*[_. ])?temp(?:erature)?(?:[_. ].*)?[_. \[(]°?(?:f|fahrenheit|k|kelvin)[\])]?", re.IGNORECASE
)
"""Heading of a temperature column in Fahrenheit or Kelvin, which would fit without an error and give wrong figures."""


def scale_of(quantity: str, unit: str) -> float | None:
    """Return the scale of a unit relative to the unit of a quantity; None if it is not a unit of that quantity."""
    return _UNITS[quantity].get(unit.strip().lower())


class Cells:
    """Reader of the cells of a column, which counts unreadable cells in the ledger.

    Parameters
    ----------
    quantity : str
        Quantity of the column, such as ``power_w``.
    column : str
        Name of the column in the file, for the ledger.
    unit : str
        Unit of cells without one; empty for the unit of the quantity.
    ledger : Ledger
        Ledger for the counts.
    """

    def __init__(self, quantity: str, column: str, unit: str, ledger: Ledger) -> None:
        self._column, self._ledger = column, ledger
        self._units, self._unit = _UNITS[quantity], unit.lower()
        self._scale = scale_of(quantity, unit) if unit else 1.0

    def read(self, text: str, place: str) -> float:
        """Return the number in a cell; NaN, and a count in the ledger, if it is empty or not readable."""
        try:
            if text[-1:].isdigit() and self._scale is not None:
                return number_of(text) * self._scale
        except ValueError:
            pass
        return self._with_unit(text, place)

    def _with_unit(self, text: str, place: str) -> float:
        """Number of a cell that is empty or has a unit."""
        cell = text.strip()
        if cell.startswith("[") or cell.lower() in SILENT:
            self._ledger.dropped(f"{self._column}: no value", place=place)
            return NAN
        match = _CELL.fullmatch(cell)
        if not match:
            self._ledger.not_parsed(f"{self._column}: no number such as 114.68", place=f"{place}, {cell[:20]!r}")
            return NAN
        number, unit = float(match[1]), match[2].strip().lower()
        scale = self._units.get(unit) if unit else self._scale
        if scale is None:
            self._ledger.not_parsed(f"{self._column}: unknown unit {(unit or self._unit)[:12]!r}", place=place)
            return NAN
        return number * scale


_GROUPED = re.compile(r"\s*[1-9]\d{0,2}(?:\.\d{3})+\s*[^\d.,]*", re.ASCII)
_HEADING = re.compile(r"^(.*?)\s*[\[(]([^\])]*)[\])]$")

Names = Mapping[str, Sequence[str]]
"""Accepted column names of each quantity, in order of preference."""
_OTHER_PART = r"(?!.*(mem|hbm|vram|cpu|soc|fan|limit|max|video|enc|dec|jpeg|reason))"
_ALIKE = {
    "memory": ("memory_c", r".*(mem|hbm|vram).*(te?mp.*|_t|_c)"),
    "temperature": ("temperature_c", rf"{_OTHER_PART}.*(te?mp.*|_t|_c|die|junction|hot.?spot|edge)"),
    "clock": ("clock_mhz", rf"{_OTHER_PART}.*(cl(oc)?k|freq|mhz).*"),
    "utilisation": ("utilisation", rf"{_OTHER_PART}.*(util|load|busy|activity).*"),
}
"""Short name of each quantity that a table may lack, its name, and the names of columns that may hold it."""


@dataclass(frozen=True)
class Heading:
    """Heading of a column: its index, name in lower case, unit in brackets, and full text."""

    at: int
    name: str
    unit: str
    text: str


def heading_name(text: str) -> str:
    """Return the name of a column as in ``Names``: in lower case, with underscores for spaces."""
    return "_".join(text.lower().split())


def _headings(cells: Iterable[str]) -> list[Heading]:
    """Headings of a header row."""
    headings = []
    for at, cell in enumerate(cells):
        text = cell.strip()
        parts = _HEADING.fullmatch(text)
        name, unit = (parts[1], parts[2]) if parts else (text, "")
        headings.append(Heading(at, heading_name(name), unit.strip(), text))
    return headings


def names_in(head: list[str]) -> set[str]:
    """Return the column names in the first line of a file."""
    return {heading.name for heading in _headings(header_of(first_line(head))[0])}


def _find(headings: list[Heading], names: Names) -> dict[str, Heading]:
    """Preferred column of each quantity; raises if a column name occurs twice."""
    names_used = {name for accepted in names.values() for name in accepted}
    counts = Counter(heading.name for heading in headings if heading.name in names_used)
    if twice := next((name for name, n in counts.items() if n > 1), None):
        raise InputError(f"columns must have different names, got {twice!r} twice")
    by_name = {heading.name: heading for heading in headings}
    best = {quantity: next((by_name[name] for name in names[quantity] if name in by_name), None) for quantity in names}
    return {quantity: heading for quantity, heading in best.items() if heading}


class Columns:
    """Parsed header, which converts rows to the values of a sample.

    Parameters
    ----------
    cells : sequence of str
        Header row.
    names : mapping
        Accepted column names of each quantity.
    ledger : Ledger
        Ledger for cells that cannot be read.
    units : mapping of str to str
        Units of columns without one in the heading, by column name.
    """

    def __init__(self, cells: Sequence[str], names: Names, ledger: Ledger, units: Mapping[str, str]) -> None:
        headings = _headings(cells)
        if foreign := next((heading.text for heading in headings if _FOREIGN.fullmatch(heading.text)), None):
            raise InputError(
                f"temperatures must be in °C, got the column {foreign[:40]!r}: convert it, or leave it out"
            )
        self.by_quantity = _find(headings, names)
        self.width = len(cells)
        self._not_read = [heading for heading in headings if heading not in self.by_quantity.values()]
        self._units = units
        self._cells = {
            quantity: Cells(quantity, heading.text, self.unit(quantity), ledger)
            for quantity, heading in self.by_quantity.items()
            if quantity in QUANTITIES
        }

    def __contains__(self, quantity: str) -> bool:
        """Return True if the table has a column of a quantity."""
        return quantity in self.by_quantity

    def not_read(self) -> str:
        """Return a note of the columns that are not read, and how to name those that look like a missing quantity."""
        alike = {
            short: heading.name
            for short, (quantity, pattern) in _ALIKE.items()
            for heading in reversed(self._not_read)
            if quantity not in self and re.fullmatch(pattern, heading.name)
        }
        named = f"; name them, e.g. `columns={alike!r}`" if alike else ""
        texts = [heading.text for heading in self._not_read if heading.text]
        return f"{NOT_READ}: {listed_names(texts)}{named}" if texts else ""

    def unit(self, quantity: str) -> str:
        """Return the unit in the heading of a quantity; empty if there is none."""
        heading = self.by_quantity[quantity]
        return heading.unit or self._units.get(heading.name, "")

    def text(self, quantity: str, row: Sequence[str]) -> str:
        """Return the text of a cell; empty if the table has no such column."""
        return row[self.by_quantity[quantity].at].strip() if quantity in self.by_quantity else ""

    def values(self, row: Sequence[str], place: str) -> dict[str, float]:
        """Return the quantities of a row."""
        return {name: cells.read(row[self.by_quantity[name].at], place) for name, cells in self._cells.items()}


def _with_point(cell: str) -> str:
    """A cell with a decimal point, from a table with decimal commas, where 1.980 is a whole number."""
    return cell.replace(".", "") if _GROUPED.fullmatch(cell) else with_decimal_point(cell)


def table(
    source: Source,
    ledger: Ledger,
    names: Names,
    needed: Names,
    units: Mapping[str, str] | None = None,
    lines: Iterator[tuple[str, list[str]]] | None = None,
) -> Iterator[tuple[str, Columns, list[str]]]:
    """Yield every complete row below a header, with its place in the file and the parsed header.

    Parameters
    ----------
    source : Source
        File to read.
    ledger : Ledger
        Ledger for truncated rows and unreadable cells.
    names : mapping
        Accepted column names of each quantity.
    needed : mapping
        Descriptions of required columns, each with the quantities of which one is enough.
    units : mapping of str to str or None
        Units of columns without one in the heading, by column name.
    lines : iterator or None
        Place and cells of each line, for files that are not separated by commas, semicolons, tabs or bars.
    """
    columns, again = None, ""
    delimiter = header_of(first_line(source.head()))[1]
    # a comma may also begin the fraction of a second
    decimal_commas = decimal_comma(delimiter) and any(re.search(r"\d(?<!:\d\d),\d", line) for line in source.head())
    for place, cells in lines or rows(source, ledger, delimiter=delimiter):
        row = [_with_point(cell) for cell in cells] if decimal_commas else cells
        if row != cells:
            ledger.note("a comma in a number is a decimal sign, because columns are separated by semicolons")
        if columns is None or (again and row[0].strip().lower() == again):
            if columns is not None:
                ledger.dropped("repeated header", place=place)
            columns, again = Columns(row, names, ledger, units or {}), row[0].strip().lower()
            for requirement, quantities in needed.items():
                if not any(quantity in columns for quantity in quantities):
                    raise InputError(f"{source.name} must have {requirement}. {columns_found(row)}")
            if note := columns.not_read():
                ledger.note(note, first=True)
        elif len(row) < columns.width:
            ledger.not_parsed("row is too short", place=place)
        elif any(cell.strip() for cell in row[columns.width :]):  # such as decimal commas between commas
            ledger.not_parsed("row has more cells than the header, as with decimal commas", place=place)
        else:
            yield place, columns, row
