"""Reading a file of any format into a failure log.

The package has its own readers because no library reads these formats and counts every record that it leaves out.
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
from ettr.files.opening import STDIN, Progress, Source
from ettr.logs.assemble import observed
from ettr.logs.events import Events, NodesWatched
from ettr.logs.formats import FORMATS
from ettr.logs.inventory import read_inventory
from ettr.logs.options import MOST_NODES, Options, WindowLike, checked_options
from ettr.logs.readers import json_events, slurm, table
from ettr.logs.rows import Batch, Rows
from ettr.logs.training.runs import refuse_training_log

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
    header: Sequence[str] | None = None,
    inventory: str | Path | None = None,
    encoding: str | None = None,
    progress: Progress | None = None,
) -> FailureLog:
    """Read a failure log of any format in ``formats``.

    Parameters
    ----------
    path : str or path
        The file, plain, ``.gz`` or ``.xz``; ``"-"`` is standard input.
    format : str or None
        Format of the file; detected from the first lines if not given.
    n_nodes : int or None
        Nodes that were watched, including healthy ones. Required unless the format has it.
    window : str or pair or None
        First and last time of the observation: ``"2024-03-30/2025-03-14"``, open as in ``"2024-03-30.."``, a pair of
        texts or datetimes, or ``"0..348.98"`` if times are numbers since an origin. A last time that is only a date
        includes that day, so the window ends at the next midnight. If not given, the first and the last time in the
        log.
    zone : str, tzinfo or None
        Time zone of times without one, e.g. ``"Europe/Berlin"`` or ``"+08:00"``; UTC if not given.
    year : int or None
        Year of the first time, if times have none.
    time_unit : str or None
        Unit of times that are numbers: ``s``, ``ms``, ``us``, ``ns``, ``min``, ``h`` or ``d``.
    columns : mapping of str to str, or sequence of str, or None
        Role to column name of the file, e.g. ``{"start": "opened_at"}`` or ``["start=opened_at", "node=rack+slot"]``
        (the texts of several columns make the name of a node). Any other key becomes a cohort column.
    planned : str or None
        Regular expression (without case) of causes that are planned work; of components if the log has no causes.
    cohort_nodes : mapping or None
        Nodes watched for each value of a cohort column, e.g. ``{"generation": {"A": 300, "B": 100}}``.
    split : str or None
        Cohort column whose values are separate systems: a name in two of them is two nodes.
    where : mapping or None
        For tables and JSON: column to a regular expression (without case) that its text must match for a record to
        count.
    down, up : str or sequence of str or None
        Words for a node that is down and for one that is up again, if they are not detected correctly. Without words
        for up, every record with a word for down is a failure.
    failure_severity : str or None
        Lowest severity that counts: ``debug``, ``info``, ``warning``, ``error`` (default) or ``critical``.
    header : sequence of str or None
        For a table without a header: the names of its columns in order, e.g. ``["start", "node", "cause"]``; those of
        sacct for a file of ``sacct --noheader``.
    inventory : str or path or None
        Instead of ``n_nodes``, a table of nodes with the times of each in service: columns node, in and out.
    encoding : str or None
        Encoding of the file, by its Python name; UTF-8 if not given.
    progress : callable or None
        Called with the bytes read and the size of the file.

    Returns
    -------
    FailureLog

    Raises
    ------
    UnknownName
        A format, zone or unit that does not exist.
    InputError
        The file cannot be read, or the number of nodes or another option is needed.

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
        header=header,
    )
    if options.header and format is None:
        format = slurm.FORMAT.name if slurm.FORMAT.sniff(["|".join(options.header)]) else table.FORMAT.name
    if inventory is not None and n_nodes is not None:
        raise InputError("`n_nodes` conflicts with `inventory`, which has the number of nodes: give one of them")
    if format is None and not options.columns:
        _refuse_training_log(Source(path, encoding=encoding))
    source, chosen = FORMATS.open(path, format, progress, encoding)
    _refuse_unread(options, chosen.name, source.name)
    ledger = Ledger()
    if inventory is not None:  # the number of nodes comes from the inventory; this only stops the format from counting
        options = replace(options, n_nodes=MOST_NODES, inventory=read_inventory(inventory, ledger, zone))
    events = Events()
    exposure = chosen.read(source, options, events, ledger)
    ledger.close()
    if source.cut:
        ledger.doubt(f"{source.name} {source.cut}; the rest of the log is missing")
    label = source.name if str(path) == STDIN else str(path)
    return observed(events, exposure, options, ledger, name=chosen.name, source=label)


def _refuse_training_log(source: Source) -> None:
    """Refuse a training log, unless it has the format of a failure log with its own marks, as that of torchrun."""
    head = source.head()
    if not any(format_.sniff(head) for format_ in FORMATS.values() if format_.name not in _MAPPED):
        refuse_training_log(source)


def _refuse_unread(options: Options, format: str, name: str) -> None:
    """Refuse options that apply only to tables and JSON."""
    if options.header and format not in (slurm.FORMAT.name, table.FORMAT.name):
        raise InputError(f"`header` applies only to tables; {name} is read as {format}")
    if format in _MAPPED:
        return
    # a column with its own name as role only becomes a cohort
    renamed = any(role != column for role, column in options.columns.items())
    table_options = {
        "`columns`": renamed,
        "`where`": options.where,
        "`down`": options.down,
        "`up`": options.up,
        "`failure_severity`": options.failure_severity,
    }
    for option, value in table_options.items():
        if value:
            formats = " and ".join(_MAPPED)
            raise InputError(f"{option} applies only to the formats {formats}; {name} is read as {format}")


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
    """Return the failure log of a table in memory.

    Parameters
    ----------
    frame : DataFrame
        One row per failure: ``start``, and optionally ``end``, ``node``, ``component``, ``cause`` and ``planned``; any
        other column is a cohort. Times are datetimes, texts, or numbers as in a file.
    n_nodes : int
        Nodes that were watched, including healthy ones.
    window : str or pair or None
        First and last time of the observation, see ``read``. If not given, the first and the last time in the table.
    zone : str, tzinfo or None
        Time zone of times without one; UTC if not given.
    planned : str or None
        Regular expression of causes that are planned work, see ``read``.
    cohort_nodes : mapping or None
        Nodes watched for each value of a cohort column, see ``read``.
    source : str
        Name of the table, for messages.

    Returns
    -------
    FailureLog

    Raises
    ------
    InputError
        No column ``start``, an invalid value, or a table with only one time and no window.

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
    """A column as texts, with blanks for missing values."""
    if pd.api.types.is_float_dtype(values.dtype):
        values = values.map(repr, na_action="ignore")
    return ["" if missing else str(value) for value, missing in zip(values, values.isna(), strict=True)]
