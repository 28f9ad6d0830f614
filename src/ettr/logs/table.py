"""A team's own table: comma, semicolon, tab or bar between the columns, in any order and wording."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping

from ettr.core.errors import InputError
from ettr.files.formats import Format
from ettr.files.ledger import Ledger
from ettr.files.opening import Source
from ettr.files.tables import Table, cells_of, header_of
from ettr.logs.columns import find_columns, is_start, origins, plain_name
from ettr.logs.json_events import EVENT_WORDS, holds_both, take
from ettr.logs.options import Options
from ettr.logs.raw_failures import Events, Exposure
from ettr.logs.rows import Rows

_LONGEST_NAME = 60
_ANY_TIME = ("timestamp", "datetime", "time", "date", "ts", "when", "eventtime")
"""Columns of times that may be those of ends as well."""
_MEASURED = re.compile(r"\[(?:W|%|C|MHz|MiB)\]|power\.draw|temperature\.|utilization\.|clocks\.", re.IGNORECASE)


def sniff(head: list[str]) -> bool:
    """Whether the first line is a header that speaks of a start, or heads a regular table."""
    lines = [line for line in head if line.strip()][:6]
    if not lines:
        return False
    header, delimiter = header_of(lines[0])
    if any(is_start(name) for name in header):
        return True
    widths = {len(cells_of(line, delimiter) or line.split(delimiter)) for line in lines}
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
    table = Table(source.lines(ledger), ledger)
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
    ledger.note(origins("columns", columns, table.header))
    places = {ours: table.header.index(theirs) for ours, theirs in columns.items()}
    rows = Rows(options.clock(ledger), events, ledger, "line")
    across = ((list(zip(*cells, strict=True)), numbers) for numbers, cells in itertools.chain(head, batches))
    texts = (({ours: cells[place] for ours, place in places.items()}, numbers) for cells, numbers in across)
    take(texts, rows, events, ledger, "line", event)
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


FORMAT = Format("csv", "a table with a header: start, end, node, component, cause", sniff, read)
