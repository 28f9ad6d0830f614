"""Tables of any team: columns in any order and with any names, separated by comma, semicolon, tab or bar."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

from ettr.core.errors import InputError
from ettr.files.formats import Format
from ettr.files.ledger import Ledger
from ettr.files.opening import Source
from ettr.files.tables import DelimitedTable, cells_of, header_of, without_comments
from ettr.logs.columns import is_start, origins
from ettr.logs.events import Events, NodesWatched
from ettr.logs.meaning import find_meaning
from ettr.logs.options import Options
from ettr.logs.records import take_records
from ettr.logs.rows import Batch

_LONGEST_NAME = 60
_MEASURED = re.compile(r"\[(?:W|%|C|MHz|MiB)\]|power\.draw|temperature\.|utilization\.|clocks\.", re.IGNORECASE)


def sniff(head: list[str]) -> bool:
    """Return whether the first line is a header with a start column, or the header of a regular table."""
    lines = [line for line in without_comments(head) if line.strip()][:6]
    if not lines:
        return False
    header, delimiter = header_of(lines[0])
    if any(is_start(name) for name in header):
        return True
    widths = {len(cells_of(line, delimiter) or line.split(delimiter)) for line in lines}
    return len(lines) > 1 and len(header) > 1 and widths == {len(header)} and max(map(len, header)) <= _LONGEST_NAME


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
    table = DelimitedTable(source.lines(ledger), ledger)
    measured = [name for name in table.header if _MEASURED.search(name)]
    if measured and not options.columns:
        raise InputError(
            f"{source.name} must have one row per failure, but has columns of measurements such as {measured[0]!r}. If "
            'its rows are failures, name the columns, e.g. `columns={"start": "timestamp"}`'
        )
    batches = _batches(table)
    first = next(batches, Batch(dict.fromkeys(table.header, ()), (), ()))
    meaning = find_meaning(first, table.header, options, ledger, source.name)
    ledger.note(origins("columns", meaning.columns, table.header, meaning.deciding), first=True)
    take_records(itertools.chain([first], batches), meaning, options, events, ledger, "line")
    return NodesWatched()


def _batches(table: DelimitedTable) -> Iterator[Batch]:
    """The rows of a table in batches."""
    for numbers, rows in table.batches():
        columns = dict(zip(table.header, zip(*rows, strict=True), strict=True))
        yield Batch(columns, numbers, [hash(tuple(row)) for row in rows])


FORMAT = Format(
    "csv",
    "a table with a header: start, end, node, component, cause",
    sniff,
    read,
    "export your tracker, inventory or monitoring as CSV: one row per failure, or per change of a node's state",
    "start,end,node,component,cause\n2025-06-01 10:00,2025-06-01 12:30,gpu-07,GPU,Xid 79",
)
