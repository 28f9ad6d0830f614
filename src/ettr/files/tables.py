"""Text tables: a header, then rows, with cells separated by commas, semicolons, tabs or bars."""

from __future__ import annotations

import csv
import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence

from ettr.core.errors import InputError
from ettr.files.ledger import Ledger
from ettr.files.opening import Lines, Source

_DELIMITERS = ",;\t|"
COMMENT = "#"
"""Start of a comment line."""

_IN_BRACKETS = re.compile(r"[(\[][^()\[\]]*[)\]]")
_SIGNS = re.compile(r"[\W_]+")
_SHOWN = 300
_BATCH = 10_000
_MOST_LINES = 200
_MOST_CHARACTERS = 1 << 20


def first_line(head: Iterable[str]) -> str:
    """Return the first line that is not blank; empty if there is none."""
    return next((line for line in head if line.strip()), "")


def without_comments(lines: Iterable[str]) -> Iterator[str]:
    """Return the lines that do not start with a hash."""
    return (line for line in lines if not line.lstrip().startswith(COMMENT))


def cells_of(line: str, delimiter: str) -> list[str] | None:
    """Return the cells of a line; None if a quotation is broken."""
    if '"' not in line:
        return line.split(delimiter)
    try:
        return next(csv.reader([line], delimiter=delimiter, skipinitialspace=True), [])
    except csv.Error:
        return None


def header_of(line: str) -> tuple[list[str], str]:
    """Return the names in a header, and the delimiter that gives the most names.

    Examples
    --------
    >>> header_of('start; "host, rack";cause;')
    (['start', 'host, rack', 'cause'], ';')
    """
    split = {delimiter: cells_of(line, delimiter) or line.split(delimiter) for delimiter in _DELIMITERS}
    delimiter = max(_DELIMITERS, key=lambda sign: len(split[sign]))
    names = [name.strip() for name in split[delimiter]]
    while len(names) > 1 and not names[-1]:
        names.pop()
    return names, delimiter


def plain_name(name: str) -> str:
    """Return a column's name without case, spaces, signs and brackets with their contents.

    Parameters
    ----------
    name : str
        Name in the file; of ``fault_type.Class`` only the part after the last dot counts.

    Returns
    -------
    str

    Examples
    --------
    >>> plain_name("Start_Time (UTC)"), plain_name("fault_type.Class")
    ('starttime', 'class')
    """
    return _SIGNS.sub("", _IN_BRACKETS.sub("", name).rpartition(".")[2]).lower()


def same_name(wanted: str, present: Sequence[str]) -> str | None:
    """Return the column of that name, apart from case, spaces and signs; None if there is none."""
    same = [name for name in present if name == wanted] or [
        name for name in present if name.lower() == wanted.lower() or plain_name(name) == plain_name(wanted)
    ]
    return same[0] if same else None


def refuse_twice(needed: Iterable[str], header: Sequence[str], place: str) -> None:
    """Refuse a table in which a required column has the same name as another.

    Raises
    ------
    InputError
        If one does.
    """
    for name in sorted(needed):
        if list(header).count(name) > 1:
            raise InputError(f"the columns of {place} must have different names; {name!r} occurs twice")


def columns_found(present: Sequence[str]) -> str:
    """Return a sentence with the columns of a file."""
    return f"Columns found: {listed_names(present)}."


def listed_names(present: Sequence[str]) -> str:
    """Return names in quotes, shortened to 300 characters."""
    listed = ", ".join(repr(name[:60]) for name in present)
    return f"{listed[:_SHOWN]}{' ...' if len(listed) > _SHOWN else ''}"


def rows(source: Source, ledger: Ledger, skip: int = 0, delimiter: str = "") -> Iterator[tuple[str, list[str]]]:
    """Yield every row with its place, for a table with one line per row.

    Parameters
    ----------
    source : Source
        The file.
    ledger : Ledger
        Records rows with a broken quotation.
    skip : int
        Lines to skip. [count]
    delimiter : str
        Separator of cells; detected from the header if not given.

    Yields
    ------
    tuple of str and list of str
        The place, e.g. ``line 7``, and the cells. Blank lines are left out.
    """
    for number, line in source.lines(ledger):
        if number <= skip or not line.strip():
            continue
        delimiter = delimiter or header_of(line)[1]
        cells = cells_of(line, delimiter)
        if cells is None:
            ledger.not_parsed("row with a broken quotation", place=f"line {number:,}")
        else:
            yield f"line {number:,}", cells


class DelimitedTable:
    """A table whose rows have as many cells as its header, and may span several lines inside quotes.

    An unclosed quote costs its line, not the rest of the file.

    Parameters
    ----------
    lines : iterator
        Lines of the file with their numbers.
    ledger : Ledger
        Records rows with more or fewer cells.

    Attributes
    ----------
    header : list of str
        Names of the columns.

    Raises
    ------
    InputError
        If there are only blank lines.
    """

    def __init__(self, lines: Lines, ledger: Ledger) -> None:
        self._lines, self._ledger = lines, ledger
        self._back: deque[tuple[int, str]] = deque()
        self._stream = self._with_returned()
        first = first_line(without_comments(self._counting_comments(lines)))
        if not first:
            raise InputError("a table must have a header; the file has only blank lines")
        self.header, self._delimiter = header_of(first)
        self._last_short = 0

    def batches(self) -> Iterator[tuple[list[int], list[list[str]]]]:
        """Yield the rows in batches, with the numbers of their first lines."""
        width, delimiter = len(self.header), self._delimiter
        numbers: list[int] = []
        rows: list[list[str]] = []
        number = 0
        for item in self._stream:
            number, line = item
            if '"' in line or line.count(delimiter) != width - 1 or line.startswith(COMMENT):
                row = self._odd_row(item)
                if row is None:
                    continue
            else:
                row = line.split(delimiter)
            numbers.append(number)
            rows.append(row)
            if len(rows) == _BATCH:
                yield numbers, rows
                numbers, rows = [], []
        if rows:
            yield numbers, rows
        if number and number == self._last_short:
            self._ledger.doubt(f"the last line, {number:,}, is truncated: the file may have been longer")

    def _counting_comments(self, lines: Lines) -> Iterator[str]:
        """The lines up to the header, with comments counted."""
        for number, line in lines:
            self._is_comment(number, line)
            yield line

    def _is_comment(self, number: int, line: str) -> bool:
        """Whether a line is a comment; comments are counted."""
        if not line.lstrip().startswith(COMMENT):
            return False
        self._ledger.dropped("comment", place=f"line {number:,}")
        return True

    def _with_returned(self) -> Lines:
        """The lines, and again those that were put back."""
        while True:
            while self._back:
                yield self._back.popleft()
            item = next(self._lines, None)
            if item is None:
                return
            yield item

    def _odd_row(self, item: tuple[int, str]) -> list[str] | None:
        """A row with quotes or of another width; None if it is not one."""
        number, line = item
        width = len(self.header)
        if not line.strip() or self._is_comment(number, line):
            return None
        following: list[tuple[int, str]] = []
        row = self._quoted(item, following) if '"' in line else line.split(self._delimiter)
        while row is not None and len(row) > width and not row[-1].strip():
            row.pop()
        if row is not None and len(row) == width:
            return row
        self._last_short = number
        reason = "unclosed quote" if row is None else f"too {'many' if len(row) > width else 'few'} cells"
        self._ledger.not_parsed(reason, 1, f"line {number:,}")
        # the lines consumed by this row may be rows of their own
        self._back.extendleft(reversed(following))
        return None

    def _quoted(self, first: tuple[int, str], following: list[tuple[int, str]]) -> list[str] | None:
        """Cells of a row with quotes, which may span the ``following`` lines; None if a quote never closes."""
        n_characters = len(first[1])
        closed = True

        def pull() -> Iterator[str]:
            nonlocal n_characters, closed
            yield first[1] + "\n"
            while len(following) < _MOST_LINES and n_characters < _MOST_CHARACTERS:
                item = next(self._stream, None)
                if item is None:
                    break
                following.append(item)
                n_characters += len(item[1])
                yield item[1] + "\n"
            closed = False

        try:
            row = next(csv.reader(pull(), delimiter=self._delimiter, skipinitialspace=True), [])
        except csv.Error:
            return None
        return row if closed else None
