"""Tables of any team: columns in any order and with any names, separated by comma, semicolon, tab or bar."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence

from ettr.core.errors import InputError
from ettr.files.columns import origins
from ettr.files.decimal_commas import numbers_with_points
from ettr.files.formats import Format
from ettr.files.ledger import Ledger
from ettr.files.opening import Source
from ettr.files.tables import (
    DelimitedTable,
    RowBatch,
    cells_of,
    first_line,
    header_of,
    proposed_names,
    refuse_values,
    without_comments,
)
from ettr.files.times import time_part
from ettr.logs.columns import find_columns, is_start
from ettr.logs.events import Events, NodesWatched
from ettr.logs.meaning import find_meaning
from ettr.logs.options import Options
from ettr.logs.records import take_records
from ettr.logs.rows import Batch

_LONGEST_NAME = 60
_MOST_TITLES = 10
_MEASURED = re.compile(r"\[(?:W|%|C|MHz|MiB)\]|power\.draw|temperature\.|utilization\.|clocks\.", re.IGNORECASE)


def sniff(head: list[str]) -> bool:
    """Return whether the first line is a header with a start column, or the header of a regular table."""
    lines = [line for line in without_comments(head) if line.strip()][:6]
    if not lines:
        return False
    header, delimiter = header_of(lines[0])
    if any(map(is_start, header)) or (len(header) == 1 and (_header_below(lines) or _has_blanks(header[0]))):
        return True
    widths = {len(cells_of(line, delimiter) or line.split(delimiter)) for line in lines}
    return len(lines) > 1 and len(header) > 1 and len(widths) == 1 and max(map(len, header)) <= _LONGEST_NAME


def read(source: Source, options: Options, events: Events, ledger: Ledger) -> NodesWatched:
    """Read a table of outages, states of nodes, messages with a severity, or jobs.

    Parameters
    ----------
    source : Source
        The file: a header, then one row per failure or per change of a node's state.
    options : Options
        Options of the user.
    events : Events
        Takes the failures.
    ledger : Ledger
        Records everything else.

    Returns
    -------
    NodesWatched
        Empty: a table of failures does not contain healthy nodes.

    Raises
    ------
    InputError
        No header, no column with the start of failures, or a table of measurements.
    """
    table = DelimitedTable(source.lines(ledger), ledger, options.header)
    measured = [name for name in table.header if _MEASURED.search(name)]
    if measured and not options.columns:
        raise InputError(
            f"{source.name} must have one row per failure, but has columns of measurements such as {measured[0]!r}. If "
            'its rows are failures, name the columns, e.g. `columns={"start": "timestamp"}`'
        )
    raw = table.batches()
    first_rows = next(raw, RowBatch([], [[] for _ in table.header], []))
    _refuse_values(table, list(zip(*first_rows.columns, strict=True)), options, source)
    mapping = {role: name for role, name in options.columns.items() if role not in ("state", "event")}
    roles = find_columns(table.header, mapping, source.name)
    numeric = [name for role in ("start", "end", "duration") for name in roles.get(role, ())]
    batches = _batches(itertools.chain([first_rows], raw), table, numeric, ledger)
    first = next(batches)
    meaning = find_meaning(first, table.header, options, ledger, source.name)
    ledger.note(origins("columns", meaning.columns, table.header, meaning.deciding), first=True)
    take_records(itertools.chain([first], batches), meaning, options, events, ledger, "line")
    return NodesWatched()


def _header_below(lines: list[str]) -> int:
    """Number of the line with the header, if it is not the first of a few lines; else 0."""
    headers = enumerate((header_of(line)[0] for line in lines[:_MOST_TITLES]), 1)
    return next((i for i, names in headers if len(names) > 1 and any(map(is_start, names))), 0)


def _has_blanks(line: str) -> bool:
    """Whether a line is a header with blanks between the names."""
    names = re.split(r"\s{2,}", line.strip())
    return len(names) > 1 and any(map(is_start, names))


def _batches(raw: Iterable[RowBatch], table: DelimitedTable, numeric: Sequence[str], ledger: Ledger) -> Iterator[Batch]:
    """The rows of a table in batches, with decimal points in the columns that may be numbers."""
    for numbers, cells, digests in raw:
        columns = dict(zip(table.header, cells, strict=True))
        for name in numeric:
            columns[name] = numbers_with_points(columns[name], table.delimiter, name, ledger)
        yield Batch(columns, numbers, digests)


def _refuse_values(table: DelimitedTable, rows: Sequence[Sequence[str]], options: Options, source: Source) -> None:
    """Refuse a table whose first line is a title or a row, with a way to read it."""
    header, head = table.header, list(without_comments(source.head()))
    if len(header) == 1:
        below = _header_below(source.head())
        if below:
            raise InputError(
                f"the first line of {source.name} must be the header, but is a title, {header[0][:60]!r}: "
                f"tail -n +{below} FILE | ettr fit -"
            )
        if _has_blanks(header[0]):
            raise InputError(
                f"cells of {source.name} must be separated by a comma, semicolon, tab or bar, not by blanks: "
                "sed -E 's/ {2,}/;/g' FILE | ettr fit -"
            )
    has_names = bool(options.columns or options.header) or any(map(is_start, header))
    cells = cells_of(first_line(head), table.delimiter) or header  # also empty ones at the end
    names = proposed_names(max([cells, *rows[:_MOST_TITLES]], key=lambda row: sum(map(bool, map(time_part, row)))))
    refuse_values(header, rows, names, source.name, has_names=has_names)


FORMAT = Format(
    "csv",
    "a table with a header: start, end, node, component, cause",
    sniff,
    read,
    "export your tracker, inventory or monitoring as CSV: one row per failure, or per change of a node's state",
    "start,end,node,component,cause\n2025-06-01 10:00,2025-06-01 12:30,gpu-07,GPU,Xid 79",
)
