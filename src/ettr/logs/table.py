"""A team's own table: comma, semicolon, tab or bar between the columns, in any order and wording."""

from __future__ import annotations

import csv
import itertools
import re
from collections import deque
from collections.abc import Iterator, Mapping

from ettr.core.errors import InputError
from ettr.files.ledger import Ledger
from ettr.files.opening import Lines, Source
from ettr.logs.columns import find_columns, is_start, plain_name, unread
from ettr.logs.format import Exposure, Format
from ettr.logs.json_events import EVENT_WORDS, Pairs, holds_both
from ettr.logs.options import Options
from ettr.logs.raw_failures import Events
from ettr.logs.rows import Rows

_DELIMITERS = ",;\t|"
_BATCH = 10_000
_MOST_LINES = 200
_MOST_CHARACTERS = 1 << 20
_LONGEST_NAME = 60
_ANY_TIME = ("timestamp", "datetime", "time", "date", "ts", "when", "eventtime")
"""Columns of times that may be those of ends as well."""
_MEASURED = re.compile(r"\[(?:W|%|C|MHz|MiB)\]|power\.draw|temperature\.|utilization\.|clocks\.", re.IGNORECASE)


def sniff(head: list[str]) -> bool:
    """Whether the first line is a header that speaks of a start, or heads a regular table."""
    lines = [line for line in head if line.strip()][:6]
    if not lines:
        return False
    header, delimiter = _header(lines[0])
    if any(is_start(name) for name in header):
        return True
    widths = {len(_cells(line, delimiter)) for line in lines}
    return len(lines) > 1 and len(header) > 1 and widths == {len(header)} and max(map(len, header)) <= _LONGEST_NAME


def read(source: Source, options: Options, events: Events, ledger: Ledger) -> Exposure:
    """Read a table of outages, or of their starts and ends.

    Parameters
    ----------
    source : Source
        The file: a header, then a row a failure, or one for its start and one for its end with a column that says
        which.
    options : Options
        What the user knows.
    events : Events
        Filled with the failures.
    ledger : Ledger
        Takes the rest.

    Returns
    -------
    Exposure
        Nothing: a table of failures does not speak of healthy nodes.

    Raises
    ------
    InputError
        No header, none that says when failures began, or one of measurements.
    """
    table = _Table(source.lines(ledger), ledger)
    measured = [name for name in table.header if _MEASURED.search(name)]
    if measured and not options.columns:
        raise InputError(
            f"{source.name} must hold a row a failure, but columns such as {measured[0]!r} are measured. If its "
            "rows are failures, name the columns, e.g. --map start=timestamp"
        )
    columns = find_columns(table.header, options.columns, source.name)
    batches = table.batches()
    head = list(itertools.islice(batches, 1))
    event = _event_column(table.header, columns, options.columns, [row for _, cells in head for row in cells])
    if event:
        columns = find_columns(table.header, {**options.columns, "event": event}, source.name)
    origins = ", ".join(f"{ours} from {theirs!r}" for ours, theirs in columns.items())
    ledger.note(f"columns read: {origins}{unread(table.header, list(columns.values()))}")
    places = {ours: table.header.index(theirs) for ours, theirs in columns.items()}
    rows = Rows(options.clock(ledger), events, ledger, "line")
    pairs = Pairs(rows, ledger, "line", event) if event else None
    for numbers, cells in itertools.chain(head, batches):
        across = list(zip(*cells, strict=True))
        (pairs or rows).take({ours: across[place] for ours, place in places.items()}, numbers)
    if pairs:
        pairs.join(events)
    return Exposure()


def _event_column(
    header: list[str], columns: Mapping[str, str], mapping: Mapping[str, str], rows: list[list[str]]
) -> str | None:
    """The column that says whether a row is a start or an end, if there is one.

    A table with a column of ends, or of times that only starts can have, holds an outage a row, whatever its status.
    """
    taken = {theirs for ours, theirs in columns.items() if ours in mapping}
    if "end" in columns or not (plain_name(columns["start"]) in _ANY_TIME or "event" in mapping):
        return None
    for place, name in enumerate(header):
        asked = columns.get("event") == name
        if (asked or (plain_name(name) in EVENT_WORDS and name not in taken)) and holds_both(
            [row[place] for row in rows]
        ):
            return name
    return None


class _Table:
    """Splits lines into cells. A quote that never closes costs its line, not the rest of the file."""

    def __init__(self, lines: Lines, ledger: Ledger) -> None:
        self._lines, self._ledger = lines, ledger
        self._back: deque[tuple[int, str]] = deque()
        self._stream = self._again()
        first = next(((number, line) for number, line in lines if line.strip()), None)
        if first is None:
            raise InputError("a table must have a header; the file holds only blank lines")
        self.header, self._delimiter = _header(first[1])

    def batches(self) -> Iterator[tuple[list[int], list[list[str]]]]:
        """Rows as wide as the header, and the numbers of their first lines, many at a time."""
        width, delimiter = len(self.header), self._delimiter
        numbers: list[int] = []
        rows: list[list[str]] = []
        for item in self._stream:
            number, line = item
            if '"' in line or line.count(delimiter) != width - 1:
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

    def _again(self) -> Lines:
        """The lines, and once more those that were handed back."""
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
        more: list[tuple[int, str]] = []
        row = self._quoted(item, more) if '"' in line else line.split(self._delimiter)
        if row is not None and len(row) == width + 1 and not row[-1].strip():
            row.pop()
        if (row is not None and len(row) == width) or not line.strip():
            return row if line.strip() else None
        reason = "a quote that never closes" if row is None else f"too {'many' if len(row) > width else 'few'} cells"
        self._ledger.not_parsed(reason, 1, f"line {number:,}")
        # what this row swallowed may be whole rows
        self._back.extendleft(reversed(more))
        return None

    def _quoted(self, first: tuple[int, str], more: list[tuple[int, str]]) -> list[str] | None:
        """Cells of a row with quotes, which may go on over further lines; None if it never ends."""
        n_characters = len(first[1])
        closed = True

        def pull() -> Iterator[str]:
            nonlocal n_characters, closed
            yield first[1] + "\n"
            while len(more) < _MOST_LINES and n_characters < _MOST_CHARACTERS:
                item = next(self._stream, None)
                if item is None:
                    break
                more.append(item)
                n_characters += len(item[1])
                yield item[1] + "\n"
            closed = False

        try:
            row = next(csv.reader(pull(), delimiter=self._delimiter, skipinitialspace=True), [])
        except csv.Error:
            return None
        return row if closed else None


def _cells(line: str, delimiter: str) -> list[str]:
    try:
        return next(csv.reader([line], delimiter=delimiter, skipinitialspace=True), [])
    except csv.Error:
        return line.split(delimiter)


def _header(line: str) -> tuple[list[str], str]:
    """Names in a header, and the delimiter that gives the most of them."""
    split = {delimiter: _cells(line, delimiter) for delimiter in _DELIMITERS}
    delimiter = max(_DELIMITERS, key=lambda each: len(split[each]))
    names = [name.strip() for name in split[delimiter]]
    while len(names) > 1 and not names[-1]:
        names.pop()
    return names, delimiter


FORMAT = Format("csv", "a table with a header: start, end, node, component, cause", sniff, read)
