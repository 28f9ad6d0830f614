"""Job accounting: every run of every job on a cluster, with its GPUs, start, end and state."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import tzinfo
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ettr.core.errors import InputError
from ettr.core.sentences import count
from ettr.files.clock import StampClock
from ettr.files.columns import find_roles, origins
from ettr.files.ledger import Ledger
from ettr.files.opening import Progress, Source
from ettr.files.tables import DelimitedTable, columns_found
from ettr.files.times import HOUR
from ettr.files.zones import zone_of
from ettr.logs.options import checked_header
from ettr.logs.readers.slurm import COMMAND, FAILURES, NO_TIME, REASONS

STOPPED = ("PREEMPTED", "REQUEUED")
"""States of a run that made room for another job, or that was requeued for an unknown reason."""
UNFINISHED = ("RUNNING", "SUSPENDED")
_STATES = (*FAILURES, *REASONS)
_WORDS = {
    "job": "jobid jobidraw job id jobname name",
    "gpus": "gpus ngpus numgpus gpucount allocgpus gpu alloctres reqtres tres accelerators chips",
    "nodes": "nnodes nodes allocnodes numnodes nodecount",
    "start": "start starttime started startedat begin",
    "end": "end endtime ended endedat finished finish stop",
    "state": "state status jobstate exitstate outcome",
}
_NEEDED = ("job", "start", "end", "state")
_STEP = r"\d+(?:[_+]\d+)?\.\w+"
_OF_ANY_TYPE = re.compile(r"gres/gpu=(\d+)")
_OF_A_TYPE = re.compile(r"gres/gpu:[^=,]+=(\d+)")
_OVERLAP_H = 1 / 60
"""Longest overlap of two runs of a job that is taken for rounding. [h]"""
_LARGEST = 10_000_000


@dataclass(frozen=True, repr=False, eq=False)
class Accounting:
    """Runs of jobs on a cluster.

    Attributes
    ----------
    runs : DataFrame
        One row per run, by job and start; a job that was stopped and started again has several. ``job`` (int),
        ``n_gpus`` [GPUs], ``n_nodes`` [nodes], ``start_h`` and ``end_h`` since the first start [h], ``state`` (str).
    gpus_per_node : int
        GPUs of a node.
    source : str
        Name of the file.
    ledger : DataFrame
        Rows that were left out, by reason.
    notes, doubts : tuple of str
        Assumptions, and cautions on every result, one sentence each.

    Examples
    --------
    >>> frame = pd.DataFrame({"job": [1, 2], "gpus": [8, 64], "start": [0, 1], "end": [5.0, 9.0], "state": "COMPLETED"})
    >>> accounting = from_frame(frame)
    >>> accounting.n_jobs, accounting.gpu_h, accounting.most_gpus
    (2, 552.0, 72)
    """

    runs: pd.DataFrame
    gpus_per_node: int
    source: str
    ledger: pd.DataFrame
    notes: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()

    @property
    def n_jobs(self) -> int:
        """Number of jobs."""
        return int(self.runs["job"].nunique())

    @property
    def gpu_h(self) -> float:
        """GPU-hours of all runs. [GPU h]"""
        return float((self.runs["n_gpus"] * (self.runs["end_h"] - self.runs["start_h"])).sum())

    @property
    def window_h(self) -> float:
        """Time from the first start to the last end. [h]"""
        return float(self.runs["end_h"].max())

    @property
    def most_gpus(self) -> int:
        """Most GPUs that were in use at a time."""
        times = np.concatenate([self.runs["end_h"], self.runs["start_h"]])
        gpus = self.runs["n_gpus"].to_numpy()
        order = np.argsort(times, kind="stable")  # at the same time, ends come before starts
        return int(np.concatenate([-gpus, gpus])[order].cumsum().max())


def read_jobs(
    path: str | Path,
    gpus_per_node: int = 8,
    *,
    columns: Mapping[str, str] | None = None,
    header: Sequence[str] | None = None,
    zone: str | tzinfo | None = None,
    progress: Progress | None = None,
) -> Accounting:
    """Read the job accounting of a cluster.

    Parameters
    ----------
    path : str or path
        Output of ``sacct --parsable2``, or a table with a row per run of a job: job, GPUs, start, end and state, as
        Slurm names it.
    gpus_per_node : int
        GPUs of a node.
    columns : mapping of str to str or None
        ``job``, ``gpus``, ``nodes``, ``start``, ``end`` or ``state`` to the column name of the file, if it differs.
    header : sequence of str or None
        For a file without a header: the names of its columns in order.
    zone : str, tzinfo or None
        Time zone of times without one; UTC if not given.
    progress : callable or None
        Called with the bytes read and the size of the file.

    Returns
    -------
    Accounting
        Jobs without GPUs, steps of jobs, and jobs that never started are left out, and counted.

    Raises
    ------
    InputError
        A column is missing, there are no GPUs, or no row can be read.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "jobs.txt"
    >>> _ = path.write_text(
    ...     "JobID|State|Start|End|NNodes|AllocTRES\\n"
    ...     "71|NODE_FAIL|2026-06-01T10:00:00|2026-06-01T15:00:00|2|billing=16,gres/gpu=16,node=2\\n"
    ...     "71|COMPLETED|2026-06-01T15:10:00|2026-06-01T18:10:00|2|billing=16,gres/gpu=16,node=2\\n"
    ... )
    >>> accounting = read_jobs(path, zone="UTC")
    >>> accounting.n_jobs, len(accounting.runs), accounting.gpu_h
    (1, 2, 128.0)
    """
    source, ledger = Source(path, progress, "table of jobs"), Ledger()
    table = DelimitedTable(source.lines(ledger), ledger, checked_header(header))
    words = {role: names.split() for role, names in _WORDS.items()}
    roles = {role: names[0] for role, names in find_roles(table.header, words, columns or {}, source.name).items()}
    _refuse_missing(roles, table.header, source.name)
    reading = _Reading(roles, gpus_per_node, StampClock(ledger, zone_of(zone)), ledger)
    batches = [reading.batch(rows.frame(table.header)) for rows in table.batches()]
    ledger.close()
    ledger.note(origins("columns", {role: (name,) for role, name in roles.items()}, table.header), first=True)
    runs = pd.concat(batches) if batches else pd.DataFrame()
    return _accounting(runs, gpus_per_node, source.name, ledger)


def from_frame(frame: pd.DataFrame, gpus_per_node: int = 8, source: str = "the frame") -> Accounting:
    """Return the accounting of a table in memory.

    Parameters
    ----------
    frame : DataFrame
        One row per run of a job: ``job``, ``gpus``, ``start``, ``end`` in hours since any origin (a missing end is
        that of a job that still runs), ``state``, and optionally ``nodes``.
    gpus_per_node : int
        GPUs of a node.
    source : str
        Name of the table, for messages.

    Raises
    ------
    InputError
        A column is missing, or no row can be used.

    Examples
    --------
    >>> frame = pd.DataFrame({"job": ["a"], "gpus": [8], "start": [2.0], "end": [5.0], "state": ["completed"]})
    >>> from_frame(frame).gpu_h
    24.0
    """
    if missing := [name for name in (*_NEEDED, "gpus") if name not in frame.columns]:
        raise InputError(f"{source} has no column {missing[0]}. {columns_found(list(map(str, frame.columns)))}")
    ledger = Ledger()
    names = {"gpus": "n_gpus", "nodes": "n_nodes", "start": "start_h", "end": "end_h"}
    runs = frame.assign(nodes=frame.get("nodes", 0))[["job", *names, "state"]].rename(columns=names)
    runs = runs.set_axis([f"row {i:,}" for i in range(1, len(runs) + 1)])
    runs[[*names.values()]] = runs[[*names.values()]].apply(pd.to_numeric, errors="coerce")
    runs = runs.assign(n_gpus=runs["n_gpus"].fillna(-1), state=_plain_states(runs["state"]))
    return _accounting(_usable(runs, ledger), gpus_per_node, source, ledger)


def _refuse_missing(roles: Mapping[str, str], header: Sequence[str], name: str) -> None:
    """Refuse a table without the columns that are needed."""
    missing = [role for role in _NEEDED if role not in roles]
    if "gpus" not in roles and "nodes" not in roles:
        missing.append("gpus")
    if missing:
        raise InputError(
            f"{name} must have the columns {', '.join(_NEEDED)} and gpus or nodes; missing: {', '.join(missing)}. "
            f'{columns_found(header)} Name the columns, e.g. `columns={{"{missing[0]}": "..."}}`; from Slurm: {COMMAND}'
        )


class _Reading:
    """Turns batches of rows into numbers."""

    def __init__(self, roles: Mapping[str, str], gpus_per_node: int, clock: StampClock, ledger: Ledger) -> None:
        self.roles, self.gpus_per_node, self.clock, self.ledger = roles, gpus_per_node, clock, ledger
        if "gpus" not in roles:
            ledger.doubt(
                f"the accounting has no GPUs; {gpus_per_node} per node are assumed (AllocTRES has them in Slurm)"
            )

    def batch(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Return the runs of a batch; the index has the line numbers."""
        rows = rows.set_axis([f"line {number:,}" for number in rows.index])
        texts = {role: rows[name].str.strip() for role, name in self.roles.items()}
        nodes = texts["nodes"].map(_whole) if "nodes" in texts else pd.Series(0, rows.index)
        gpus = texts["gpus"].map(_gpus) if "gpus" in texts else nodes.where(nodes < 0, nodes * self.gpus_per_node)
        started = ~texts["start"].isin(NO_TIME)
        runs = pd.DataFrame({"job": texts["job"], "n_gpus": gpus, "n_nodes": nodes.clip(lower=0), "started": started})
        runs["state"] = _plain_states(texts["state"])
        for name in ("start", "end"):
            us, good = self.clock.us_series(texts[name].mask(texts[name].isin(NO_TIME), ""))
            runs[f"{name}_h"] = np.where(good, us / HOUR, np.nan)
        runs["unread_end"] = runs["end_h"].isna() & ~texts["end"].isin(NO_TIME)
        runs = _left(runs, runs["job"].str.fullmatch(_STEP), self.ledger.merged, "step of a job")
        runs = _left(runs, runs["unread_end"], self.ledger.not_parsed, "End is not a time")
        runs = _left(runs, ~runs["started"], self.ledger.dropped, "never started")
        return _usable(runs.drop(columns=["started", "unread_end"]), self.ledger)


def _left(runs: pd.DataFrame, bad: pd.Series, record: Any, reason: str) -> pd.DataFrame:
    """Return the runs without some, which are counted with a reason."""
    n = int(bad.sum())
    if not n:
        return runs
    record(reason, n, str(runs.index[bad.to_numpy().argmax()]))
    return runs[~bad]


def _usable(runs: pd.DataFrame, ledger: Ledger) -> pd.DataFrame:
    """Return the runs with GPUs, a known state, and times in order; the others are counted."""
    unknown = ~runs["state"].isin(_STATES)
    if unknown.any():
        example = runs["state"][unknown].iloc[0][:30]
        runs = _left(runs, unknown, ledger.not_parsed, f"unknown state, such as {example!r}")
    runs = _left(runs, runs["state"] == "PENDING", ledger.dropped, "never started")
    runs = _left(runs, (runs["n_gpus"] < 0) | (runs["n_gpus"] > _LARGEST), ledger.not_parsed, "no number of GPUs")
    runs = _left(runs, runs["n_gpus"] == 0, ledger.dropped, "no GPUs")
    runs = _left(runs, runs["start_h"].isna(), ledger.not_parsed, "Start is not a time")
    runs = _left(runs, runs["end_h"].isna() & ~runs["state"].isin(UNFINISHED), ledger.not_parsed, "no End")
    return _left(runs, runs["end_h"] < runs["start_h"], ledger.not_parsed, "End before Start")


def _accounting(runs: pd.DataFrame, gpus_per_node: int, source: str, ledger: Ledger) -> Accounting:
    """Return the accounting of usable runs, in order of job and start, without duplicates and overlaps."""
    if gpus_per_node < 1:
        raise InputError(f"gpus_per_node must be >= 1 GPU, got {gpus_per_node}")
    runs = runs.assign(end_h=runs["end_h"].fillna(runs[["start_h", "end_h"]].max(axis=None)))
    runs = _left(runs, runs["end_h"] == runs["start_h"], ledger.dropped, "ends when it starts")
    if runs.empty:
        raise InputError(f"{source}: no job could be read. {ledger.reasons()}")
    runs = runs.assign(job=pd.factorize(runs["job"])[0], failed=runs["state"].isin(FAILURES))
    runs = runs.sort_values(["job", "start_h", "failed"], ascending=[True, True, False], kind="stable")
    # Slurm may list a run twice, as failed and as requeued
    runs = _left(runs, runs.duplicated(["job", "start_h"]), ledger.merged, "another row of the same run")
    before_h = runs.groupby("job")["end_h"].cummax().groupby(runs["job"]).shift()
    overlap = runs["start_h"] < before_h - _OVERLAP_H
    runs = _left(runs, overlap, ledger.not_parsed, "starts while another run of the same job lasts")
    first_h = runs["start_h"].min()
    runs = runs.assign(start_h=runs["start_h"] - first_h, end_h=runs["end_h"] - first_h)
    n_nodes = np.where(runs["n_nodes"] > 0, runs["n_nodes"], np.ceil(runs["n_gpus"] / gpus_per_node))
    runs = runs.assign(n_nodes=n_nodes.astype(np.int64), n_gpus=runs["n_gpus"].astype(np.int64))
    maybe = runs["state"].value_counts().reindex(["FAILED", "REQUEUED"], fill_value=0)
    if maybe.any():
        ledger.doubt(
            f"only {' and '.join(FAILURES)} count as failures ({count(runs['failed'].sum())}); the "
            f"{count(maybe['FAILED'])} FAILED (usually the job's own error) and {count(maybe['REQUEUED'])} REQUEUED "
            "(cause unknown, their lost work is under pre-emption) do not"
        )
    runs = runs[["job", "n_gpus", "n_nodes", "start_h", "end_h", "state"]].reset_index(drop=True)
    return Accounting(runs, gpus_per_node, source, ledger.to_frame(), tuple(ledger.notes), tuple(ledger.doubts))


def _plain_states(states: pd.Series) -> pd.Series:
    """Return states as Slurm names them, without the user of CANCELLED and the mark of a cut name."""
    plain = states.astype(str).str.strip().str.split(" ").str[0].str.rstrip("+").str.upper()
    return plain.str.replace("-", "_", regex=False)


@cache
def _gpus(text: str) -> int:
    """Return the GPUs in a cell: a number, or a list of resources as in AllocTRES; -1 if there is none."""
    if "=" in text:
        total = _OF_ANY_TYPE.findall(text)
        return int(total[0]) if total else sum(map(int, _OF_A_TYPE.findall(text)))
    return 0 if not text else _whole(text)


@cache
def _whole(text: str) -> int:
    """Return a whole number of at least 0; -1 for anything else."""
    try:
        value = float(text.replace(",", ""))
    except ValueError:
        return -1
    return int(value) if math.isfinite(value) and value >= 0 and value == int(value) else -1
