"""Text tables: a header, then rows, with cells separated by commas, semicolons, tabs or bars."""

from __future__ import annotations

import csv
import itertools
import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ettr.core.errors import InputError
from ettr.files.ledger import Ledger
from ettr.files.opening import Lines, Source
from ettr.files.times import is_number, time_part

if TYPE_CHECKING:
    import pandas as pd


_DELIMITERS = ",;\t|"
COMMENT = "#"
"""Start of a comment line."""

_SEPARATOR_LINE = re.compile(r'"?sep=.?"?\s*', re.IGNORECASE)
"""First line with which a spreadsheet names the separator of cells."""
_FIRST_ROWS = 100
_NODE_NAME = re.compile(r"^[a-z][\w.-]*\d[\w.\[\]-]*$", re.IGNORECASE)
_WORD = re.compile(r"[a-z]{3}", re.IGNORECASE)
_EPOCH = re.compile(r"^1\d{9,18}(?:\.\d+)?$")
_IN_BRACKETS = re.compile(r"[(\[][^()\[\]]*[)\]]")
_SIGNS = re.compile(r"[\W_]+")
_SHOWN = 300
_BATCH = 10_000
_MOST_LINES = 200
_MOST_CHARACTERS = 1 << 20


def first_line(head: Iterable[str]) -> str:
    """Return the first line that is not blank and does not name the separator as Excel does; empty if there is none."""
    return next((line for line in head if line.strip() and not _SEPARATOR_LINE.fullmatch(line)), "")


def without_comments(lines: Iterable[str]) -> Iterator[str]:
    """Return the lines that do not start with a hash, and do not name the separator."""
    return (line for line in lines if not (line.lstrip().startswith(COMMENT) or _SEPARATOR_LINE.fullmatch(line)))


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


def proposed_names(cells: Sequence[str]) -> list[str]:
    """Return names for the columns of a table of failures without a header, guessed from one of its rows.

    Examples
    --------
    >>> proposed_names(["2025-06-01 10:00", "gpu-07", "Xid 79", "3"])
    ['start', 'node', 'cause', 'column4']
    """
    names = {"both": ["end", "start"], "date": ["date"], "hour": ["time"]}
    proposed = [(names.get(time_part(cell)) or [""]).pop() for cell in cells]
    for role, pattern in (("node", _NODE_NAME), ("cause", _WORD), *([] if any(proposed) else [("start", _EPOCH)])):
        free = [i for i, cell in enumerate(cells) if not proposed[i] and pattern.search(cell.strip())]
        if free:
            proposed[free[0]] = role
    return [name or f"column{i}" for i, name in enumerate(proposed, 1)]


def value_in_header(header: Sequence[str], rows: Sequence[Sequence[str]], *, has_names: bool) -> str:
    """Return a cell of a first line that is a value as in the lines below, so that it is no header; empty if none is.

    Parameters
    ----------
    header : sequence of str
        Cells of the first line.
    rows : sequence of sequence of str
        Cells of the lines below.
    has_names : bool
        Whether some cell is a usual name of a column. Then only times in all lines are values.
    """
    below = [
        [row[place].strip() for row in rows[:_FIRST_ROWS] if list(row) != list(header)] for place in range(len(header))
    ]
    for name, cells in zip(header, below, strict=True):
        if time_part(name) and (not any(cells) or any(map(time_part, cells))):
            return name
    for name, cells in zip(header, below, strict=True):
        filled = [cell for cell in cells if cell]
        if not has_names and name and filled and (name in filled or all(map(is_number, [name, *filled]))):
            return name
    return ""


def refuse_values(
    header: Sequence[str], rows: Sequence[Sequence[str]], proposed: Sequence[str], name: str, *, has_names: bool
) -> None:
    """Refuse a table whose first line is a row, with names for its columns; for ``has_names`` see `value_in_header`.

    Raises
    ------
    InputError
        If it is.
    """
    if value := value_in_header(header, rows, has_names=has_names):
        listed = ", ".join(f'"{column}"' for column in proposed)
        raise InputError(
            f"{name} must have a header: its first line has the value {value!r}, as the lines below have. Name the "
            f"columns in order, e.g. `header=[{listed}]`"
        )


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
        if number <= skip or not line.strip() or _SEPARATOR_LINE.fullmatch(line):
            continue
        delimiter = delimiter or header_of(line)[1]
        cells = cells_of(line, delimiter)
        if cells is None:
            ledger.not_parsed("row with a broken quotation", place=f"line {number:,}")
        else:
            yield f"line {number:,}", cells


class RowBatch(NamedTuple):
    """Some rows of a table, as texts.

    Attributes
    ----------
    numbers : sequence of int
        Number of the first line of each row. Shape (n,).
    columns : sequence of sequence of str
        The cells of each column. Shape (n_columns, n).
    digests : sequence of int
        Hash of each row. Shape (n,).
    """

    numbers: Sequence[int]
    columns: Sequence[Sequence[str]]
    digests: Sequence[int]

    def frame(self, header: Sequence[str]) -> pd.DataFrame:
        """Return the rows with the numbers of their lines as index."""
        import pandas as pd

        frame = pd.DataFrame(dict(enumerate(self.columns)), self.numbers, dtype=object)
        return frame.set_axis(pd.Index(header, dtype=object), axis=1)


class DelimitedTable:
    """A table whose rows have as many cells as its header, and may span several lines inside quotes.

    An unclosed quote costs its line, not the rest of the file.

    Parameters
    ----------
    lines : iterator
        Lines of the file with their numbers.
    ledger : Ledger
        Records rows with more or fewer cells.
    header : sequence of str
        Names of the columns, for a table whose first line has values.

    Attributes
    ----------
    header : list of str
        Names of the columns.
    delimiter : str
        Separator of cells.

    Raises
    ------
    InputError
        If there are only blank lines, or the first line has more or fewer cells than ``header``.
    """

    def __init__(self, lines: Lines, ledger: Ledger, header: Sequence[str] = ()) -> None:
        self._lines, self._ledger = lines, ledger
        self._back: deque[tuple[int, str]] = deque()
        self._stream = self._with_returned()
        first = first_line(without_comments(self._counting_comments(lines)))
        if not first:
            raise InputError("a table must have a header; the file has only blank lines")
        self.header, self.delimiter = header_of(first)
        self._last_short = 0
        if header:
            n_cells = {sign: len(cells_of(first, sign) or ()) for sign in _DELIMITERS}
            ends = {sign: first.rstrip().endswith(sign) for sign in _DELIMITERS}  # with an empty cell, or with none
            fitting = [sign for sign in _DELIMITERS if len(header) in (n_cells[sign], n_cells[sign] - ends[sign])]
            if not fitting:
                raise InputError(
                    f"`header` must have a name for each cell of a line, got {len(header)} for "
                    f"{n_cells[self.delimiter]} cells: {listed_names(header)}; the first line is {first.strip()[:80]!r}"
                )
            self.delimiter = max(fitting, key=lambda sign: (n_cells[sign] == len(header), sign == self.delimiter))
            self.header = list(header)
            self._back.append((self._n_passed, first))

    def batches(self) -> Iterator[RowBatch]:
        """Yield the rows in batches, column by column."""
        number = 0
        while items := list(itertools.islice(self._stream, _BATCH)):
            numbers, lines = zip(*items, strict=True)
            number = numbers[-1]
            if columns := self._plain_columns(lines):
                yield RowBatch(numbers, columns, list(map(hash, lines)))
                continue
            self._back.extendleft(reversed(items))
            self._stream = self._with_returned()
            rows = list(self._rows_until(number))
            if rows:
                numbers, cells = zip(*rows, strict=True)
                columns = list(map(list, zip(*cells, strict=True)))
                yield RowBatch(numbers, columns, [hash(self.delimiter.join(row)) for row in cells])
        if number and number == self._last_short:
            self._ledger.doubt(f"the last line, {number:,}, is truncated: the file may have been longer")

    def _plain_columns(self, lines: Sequence[str]) -> list[list[str]]:
        """Cells of lines by column, all at once; empty if some line has quotes, a comment or another width."""
        width = len(self.header)
        text = "\n".join(lines)
        has_comments = f"\n{COMMENT}" in f"\n{text}"
        if '"' in text or has_comments or {line.count(self.delimiter) for line in lines} != {width - 1}:
            return []
        cells = text.replace("\n", self.delimiter).split(self.delimiter)
        return [cells[place::width] for place in range(width)]

    def _rows_until(self, last: int) -> Iterator[tuple[int, list[str]]]:
        """The rows that begin up to line ``last``, one by one, with the numbers of their first lines."""
        width, delimiter = len(self.header), self.delimiter
        for item in self._stream:
            number, line = item
            if '"' in line or line.count(delimiter) != width - 1 or line.startswith(COMMENT):
                row = self._odd_row(item)
            else:
                row = line.split(delimiter)
            if row is not None:
                yield number, row
            if number >= last or (self._back and self._back[0][0] > last):
                return

    def frame(self) -> pd.DataFrame:
        """Return all rows as texts, with the numbers of their first lines as index."""
        import pandas as pd

        batches = [batch.frame(self.header) for batch in self.batches()]
        return pd.concat(batches) if batches else pd.DataFrame(columns=self.header, dtype=object)

    def _counting_comments(self, lines: Lines) -> Iterator[str]:
        """The lines up to the header, with comments counted."""
        for self._n_passed, line in lines:
            self._is_comment(self._n_passed, line)
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
        row = self._quoted(item, following) if '"' in line else line.split(self.delimiter)
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
            row = next(csv.reader(pull(), delimiter=self.delimiter, skipinitialspace=True), [])
        except csv.Error:
            return None
        return row if closed else None
