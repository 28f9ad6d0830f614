"""From a file to a failure log: one door for every format.

The readers are ours, since no library reads these formats with every record counted that it left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import tzinfo
from pathlib import Path

import pandas as pd

from ettr.core.errors import InputError
from ettr.core.results import FailureLog
from ettr.files.ledger import Ledger
from ettr.files.opening import STDIN, Progress
from ettr.logs.assemble import observed
from ettr.logs.events import Events, NodesWatched
from ettr.logs.formats import FORMATS
from ettr.logs.inventory import read_inventory
from ettr.logs.options import MOST_NODES, Options, WindowLike, checked_options
from ettr.logs.readers import json_events, table
from ettr.logs.rows import Batch, Rows

_MAPPED = (table.FORMAT.name, json_events.FORMAT.name)
_BATCH = 50_000


def read(
    path: str | Path,
    format: str | None = None,
    n_nodes: int | None = None,
    window: WindowLike = None,
    *,
    zone: str | tzinfo | None = None,
    year: int | None = None,
    time_unit: str | None = None,
    columns: Mapping[str, str] | Sequence[str] | None = None,
    planned: str | None = None,
    cohort_nodes: Mapping[str, Mapping[str, int]] | None = None,
    split: str | None = None,
    where: Mapping[str, str] | None = None,
    down: str | Sequence[str] | None = None,
    up: str | Sequence[str] | None = None,
    failure_severity: str | None = None,
    inventory: str | Path | None = None,
    encoding: str | None = None,
    progress: Progress | None = None,
) -> FailureLog:
    """Read a failure log of any format that ``formats`` lists for one.

    Parameters
    ----------
    path : str or path
        The file, plain, ``.gz`` or ``.xz``; ``"-"`` is standard input.
    format : str or None
        Its format; found from the first lines if not named.
    n_nodes : int or None
        Nodes that were watched, the healthy ones too. Needed where the format cannot know.
    window : str or pair or None
        First and last instant of the observation: ``"2024-03-30/2025-03-14"``, open as ``"2024-03-30.."``, a pair of
        texts or datetimes, or ``"0..348.98"`` where times are counted from an origin. A last instant that is only a
        date means that whole day, so that the window ends at the next midnight; a datetime is taken as it is.
        Taken from the log's first and last time if not given.
    zone : str, tzinfo or None
        Zone of times that carry none, ``"Europe/Berlin"`` or ``"+08:00"``; UTC if not given.
    year : int or None
        Year of the first time, where times carry none.
    time_unit : str or None
        Unit of times that are numbers: ``s``, ``ms``, ``us``, ``ns``, ``min``, ``h`` or ``d``.
    columns : mapping of str to str, or sequence of str, or None
        Our column to the file's, e.g. ``{"start": "opened_at"}`` or ``["start=opened_at", "node=rack+slot"]``, where
        texts of several columns name a node. Any other name becomes a cohort column.
    planned : str or None
        Regular expression; causes that hold a match, in any case, are planned work. Without causes: components.
    cohort_nodes : mapping or None
        Nodes watched in each value of a cohort column, e.g. ``{"generation": {"A": 300, "B": 100}}``.
    split : str or None
        Cohort column whose values are systems of their own: a node's name in two of them is two nodes.
    where : mapping or None
        Columns of a table or of JSON, each with a regular expression that its text must match, in any case, for a
        record to count.
    down, up : str or sequence of str or None
        Words for a node that is down and for one that is up again, where they are not found, or not the right ones.
        Without words for up every record with a word for down is a failure.
    failure_severity : str or None
        Least severity that counts, of ``debug``, ``info``, ``warning``, ``error`` (if not given) and ``critical``.
    inventory : str or path or None
        A table of nodes and when each came and went, in place of ``n_nodes``: columns node, in and out.
    encoding : str or None
        Of the file's text, as Python calls it; UTF-8 if not given.
    progress : callable or None
        Called now and then with the bytes read and the bytes there are.

    Returns
    -------
    FailureLog

    Raises
    ------
    UnknownName
        A format, zone or unit that does not exist.
    InputError
        A file that cannot be read, or something that only the user can know.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "mine.csv"
    >>> _ = path.write_text("opened,host,reason\\n2024-05-01 10:00,n7,GPU\\n2024-05-02 11:00,n9,NIC\\n")
    >>> log = read(path, n_nodes=16, window="2024-05-01/2024-05-10", zone="UTC")
    >>> len(log.failures), log.node_days
    (2, 160.0)
    """
    options = checked_options(
        n_nodes,
        window,
        zone=zone,
        year=year,
        time_unit=time_unit,
        columns=columns,
        planned=planned,
        cohort_nodes=cohort_nodes,
        split=split,
        where=where,
        down=down,
        up=up,
        failure_severity=failure_severity,
    )
    if inventory is not None and n_nodes is not None:
        raise InputError("--nodes and --inventory both say how many nodes were watched: give one")
    source, chosen = FORMATS.open(path, format, progress, encoding)
    _refuse_unread(options, chosen.name, source.name)
    ledger = Ledger()
    if inventory is not None:  # which says how many there are, whatever the format would count
        options = replace(options, n_nodes=MOST_NODES, inventory=read_inventory(inventory, ledger, zone))
    events = Events()
    exposure = chosen.read(source, options, events, ledger)
    ledger.close()
    if source.cut:
        ledger.doubt(f"{source.name} {source.cut}; the rest of the log is missing")
    named = source.name if str(path) == STDIN else str(path)
    return observed(events, exposure, options, ledger, name=chosen.name, source=named)


def _refuse_unread(options: Options, format: str, name: str) -> None:
    """Refuse what only tables can honour."""
    if format in _MAPPED:
        return
    # a name mapped to itself only asks to keep the column
    renamed = any(ours != theirs for ours, theirs in options.columns.items())
    options_given = {
        "--map": renamed,
        "--where": options.where,
        "--down and --up": options.down or options.up,
        "--failure-severity": options.failure_severity,
    }
    for option, given in options_given.items():
        if given:
            raise InputError(f"{option} is for {' and '.join(_MAPPED)} only; {name} is read as {format}")


def from_frame(
    frame: pd.DataFrame,
    n_nodes: int,
    window: WindowLike = None,
    *,
    zone: str | tzinfo | None = None,
    planned: str | None = None,
    cohort_nodes: Mapping[str, Mapping[str, int]] | None = None,
    source: str = "",
) -> FailureLog:
    """Make a failure log of a table that is already in memory.

    Parameters
    ----------
    frame : DataFrame
        A row a failure: ``start``, and if there are ``end``, ``node``, ``component``, ``cause``, ``planned``; every
        other column is a cohort. Times are datetimes, texts, or numbers as in a file.
    n_nodes : int
        Nodes that were watched, the healthy ones too.
    window : str or pair or None
        As in ``read``; taken from the first and the last time in the frame if not given.
    zone : str, tzinfo or None
        Zone of times that carry none; UTC if not given.
    planned, cohort_nodes
        As in ``read``.
    source : str
        Where it comes from, for messages.

    Returns
    -------
    FailureLog

    Raises
    ------
    InputError
        No column ``start``, a value that breaks a rule, or no window where the frame spans no time.

    Examples
    --------
    >>> frame = pd.DataFrame({"start": ["2024-05-01 10:00Z", "2024-05-02 11:00Z"], "node": ["n7", "n9"]})
    >>> log = from_frame(frame, 16, "2024-05-01/2024-05-10")
    >>> len(log.failures), log.node_days, log.n_records
    (2, 160.0, 2)
    """
    if not isinstance(frame, pd.DataFrame) or "start" not in frame.columns:
        got = ", ".join(map(str, frame.columns)) if isinstance(frame, pd.DataFrame) else type(frame).__name__
        raise InputError(f"frame must be a DataFrame with a column start, got {got}")
    if not frame.columns.is_unique:
        raise InputError(f"frame must have different columns, got {', '.join(map(str, frame.columns))}")
    options = checked_options(n_nodes, window, zone=zone, planned=planned, cohort_nodes=cohort_nodes)
    ledger = Ledger()
    events = Events()
    rows = Rows(options.clock(ledger), events, ledger, "row")
    for first in range(0, len(frame), _BATCH):
        part = frame.iloc[first : first + _BATCH]
        columns = {str(name): _texts(part[name]) for name in frame.columns}
        digests = [hash(row) for row in zip(*columns.values(), strict=True)]
        rows.take(Batch(columns, range(first + 1, first + len(part) + 1), digests))
    ledger.close()
    return observed(events, NodesWatched(), options, ledger, name="frame", source=source or "the frame")


def _texts(values: pd.Series) -> list[str]:
    """A column as texts, blank where missing."""
    if pd.api.types.is_float_dtype(values.dtype):
        values = values.map(repr, na_action="ignore")
    return ["" if missing else str(value) for value, missing in zip(values, values.isna(), strict=True)]
