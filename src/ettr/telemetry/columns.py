"""The quantities that a table's columns hold, and its rows as samples."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ettr.core.errors import InputError
from ettr.files.ledger import Ledger
from ettr.files.recording_times import Stamps, epoch_s
from ettr.telemetry.cells import Cells, check_celsius_named
from ettr.telemetry.format import QUANTITIES
from ettr.telemetry.table import Heading, headings_of

Names = Mapping[str, Sequence[str]]
"""Of each quantity the names that its column may have, the best first."""

_LONGEST_S = 1e15
"""No recording counts so far, and differences of such floats are no times."""
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")


@dataclass(frozen=True)
class Column:
    """Where a quantity stands."""

    at: int
    heading: Heading


def find(headings: list[Heading], names: Names) -> dict[str, Column]:
    """Of each quantity the best column that is there; one that is there twice is refused."""
    names_used = {name for accepted in names.values() for name in accepted}
    once = [heading.name for heading in headings if heading.name in names_used]
    if twice := next((name for name in once if once.count(name) > 1), None):
        raise InputError(f"columns must have different names, got {twice!r} twice")
    at = {heading.name: Column(i, heading) for i, heading in reversed(list(enumerate(headings)))}
    return {
        quantity: at[next(name for name in accepted if name in at)]
        for quantity, accepted in names.items()
        if any(name in at for name in accepted)
    }


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

    def __init__(
        self, cells: Sequence[str], names: Names, ledger: Ledger, units: Mapping[str, str] | None = None
    ) -> None:
        headings = headings_of(cells)
        for heading in headings:
            check_celsius_named(heading.name)
        self.by_quantity = find(headings, names)
        self.width = len(cells)
        self.ledger = ledger
        self._cells = {
            quantity: Cells(quantity, column.heading.text, _unit(column.heading, units or {}), ledger)
            for quantity, column in self.by_quantity.items()
            if quantity in QUANTITIES
        }

    def text(self, quantity: str, row: Sequence[str]) -> str:
        """A cell as it stands; empty if the table has no such column."""
        column = self.by_quantity.get(quantity)
        return row[column.at].strip() if column is not None and column.at < len(row) else ""

    def values(self, row: Sequence[str], place: str) -> dict[str, float]:
        """The quantities of a row that are there."""
        return {name: cells.read(row[self.by_quantity[name].at], place) for name, cells in self._cells.items()}

    def whole(self, row: Sequence[str], place: str) -> bool:
        """Whether a row has all cells; one that was cut off is counted."""
        if len(row) >= self.width:
            return True
        self.ledger.not_parsed("row that is too short", place=place)
        return False


def _unit(heading: Heading, units: Mapping[str, str]) -> str:
    return heading.unit or units.get(heading.name, "")


def time_of(text: str, stamps: Stamps) -> tuple[float, bool] | None:
    """A stamp, or a number, as seconds; with whether it counts from 1970. None if it is neither."""
    if _NUMBER.fullmatch(text):
        number = float(text)
        since = epoch_s(number)
        if since is not None:
            return since, True
        return (number, False) if abs(number) < _LONGEST_S else None
    at = stamps.read(text)
    return None if at is None else (at, True)


def need(present: Mapping[str, object], quantity: str, what: str, name: str, headings: Sequence[str]) -> None:
    """Refuse a table without a column that nothing goes without."""
    if quantity not in present:
        listed = ", ".join(repr(each.strip()) for each in headings[:20])
        raise InputError(f"{name} must have {what}. Columns found: {listed}")
