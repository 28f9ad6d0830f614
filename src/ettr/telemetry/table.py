"""Tables with a header, cell by cell."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ettr.files.ledger import Ledger
from ettr.files.opening import Source

_MARKS = (",", ";", "\t", "|")
_HEADING = re.compile(r"^(.*?)\s*[\[(]([^\])]*)[\])]$")


@dataclass(frozen=True)
class Heading:
    """One column's name, in lower case, and the unit that stands in brackets behind it."""

    name: str
    unit: str
    text: str


def mark_of(line: str) -> str:
    """What stands between the cells of a header."""
    return max(_MARKS, key=line.count)


def headings_of(cells: Iterable[str]) -> list[Heading]:
    """A header's columns."""
    headings = []
    for cell in cells:
        text = cell.strip()
        parts = _HEADING.fullmatch(text)
        name, unit = (parts[1], parts[2]) if parts else (text, "")
        headings.append(Heading(name.strip().lower(), unit.strip(), text))
    return headings


def header_line(head: list[str]) -> str:
    """The first line that holds something."""
    return next((line for line in head if line.strip()), "")


def rows(source: Source, ledger: Ledger) -> Iterator[tuple[str, list[str]]]:
    """Yield every row with its place, the header among them; blank lines are left out."""
    mark = ""
    for number, line in source.lines(ledger):
        if not line.strip():
            continue
        mark = mark or mark_of(line)
        place = f"line {number:,}"
        if '"' not in line:
            yield place, line.split(mark)
            continue
        try:
            yield place, next(csv.reader([line], delimiter=mark, skipinitialspace=True))
        except (csv.Error, StopIteration):
            ledger.not_parsed("row with a broken quotation", place=place)
