"""Table of results of a sweep.

It has one row per point, with the columns ``id``, ``name`` if points have names, the parameters, ``status`` (``done``,
``failed`` or ``open``), ``duration_s`` [s], ``error``, ``notebook`` (the executed copy, relative to the folder of the
sweep), and one column per recorded value.
"""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ettr.core.sentences import encodable
from ettr.sweep.grid import Point
from ettr.sweep.jobs import SweepJob


@dataclass(frozen=True)
class Entry:
    """Result of a point.

    Attributes
    ----------
    file : str
        File, relative to the folder of the sweep.
    status : str
        ``done`` or ``failed``; ``open`` if its process was killed.
    duration_s : float
        Run time. [s]
    error : str
        Reason of a failure or a kill; otherwise empty.
    recorded : mapping
        Recorded values.
    """

    file: str
    status: str
    duration_s: float
    error: str
    recorded: Mapping[str, Any]


def open_entry(error: str = "") -> Entry:
    """Return the entry of a point without a result, with the error if its process was killed."""
    return Entry("", "open", np.nan, encodable(error), {})


def table_of(job: SweepJob, points: Mapping[str, Point], entries: Mapping[str, Entry | None]) -> pd.DataFrame:
    """Return the table of a sweep from the results of its points.

    Parameters
    ----------
    job : SweepJob
        Job of the sweep.
    points : mapping of str to Point
        Points by id.
    entries : mapping of str to Entry or None
        Result of each point; None if it is open.
    """
    results = [entries[digest] or open_entry() for digest in points]
    names = [point.name for point in points.values()]
    parameters = {name: [point.parameters[name] for point in points.values()] for name in job.grid.parameters}
    columns = _columns(job, list(points), names, parameters)
    columns["status"] = [entry.status for entry in results]
    columns["duration_s"] = [entry.duration_s for entry in results]
    columns["error"] = [entry.error for entry in results]
    columns["notebook"] = [entry.file for entry in results]
    for name in dict.fromkeys(name for entry in results for name in entry.recorded):
        column = name
        while column in columns:
            column = f"recorded_{column}"
        columns[column] = _series([entry.recorded.get(name) for entry in results])
    return pd.DataFrame(columns)


def table_at_once(job: SweepJob, ids: Sequence[str], recorded: Mapping[str, Any], taken_s: float) -> pd.DataFrame:
    """Return the table of a sweep whose points the exact model evaluated as arrays.

    Parameters
    ----------
    job : SweepJob
        Job of the sweep.
    ids : sequence of str
        Id of each point.
    recorded : mapping
        Results as arrays; NaN outside the validity of the model.
    taken_s : float
        Run time of all points together. [s]
    """
    failed = np.isnan(recorded["ettr"])
    columns = _columns(job, ids, [point.name for point in job.grid.points()], job.grid.columns())
    columns["status"] = np.where(failed, "failed", "done")
    columns["duration_s"] = taken_s / len(ids)
    columns["error"] = np.where(failed, "outside the validity of budget.exact", "")
    columns["notebook"] = ""
    return pd.DataFrame({**columns, **recorded})


def _columns(job: SweepJob, ids: Sequence[str], names: Sequence[str], parameters: Mapping[str, Any]) -> dict[str, Any]:
    """First columns: id, name and parameters of each point."""
    named = {"name": names} if any(names) else {}
    return {"id": ids, **named, **{job.column(name): values for name, values in parameters.items()}}


def as_stored(table: pd.DataFrame) -> pd.DataFrame:
    """Return the table with columns that Arrow can store; mixed types and mappings become JSON."""
    return pd.DataFrame({name: _stored(table[name]) for name in table.columns})


def _stored(values: pd.Series) -> pd.Series:
    """Column that Arrow can store."""
    import pyarrow

    if values.dtype != object:
        return values
    items = values.tolist()
    with contextlib.suppress(pyarrow.ArrowInvalid, pyarrow.ArrowTypeError, OverflowError):
        if not any(isinstance(value, dict) for value in items):  # mappings may have different keys
            pyarrow.array(items)
            return values
    return pd.Series([None if v is None else json.dumps(v) for v in items], dtype=object)


def _series(values: list[Any]) -> pd.Series:
    """Column of integers, of floats, or of objects, with missing values."""
    kinds = {type(value) for value in values if value is not None}
    if kinds == {int} and all(-(2**63) <= value < 2**63 for value in values if value is not None):
        return pd.Series(values, dtype="Int64" if None in values else "int64")
    if kinds <= {int, float} and all(value is None or _is_float(value) for value in values):
        return pd.Series(values, dtype="float64")
    return pd.Series(values, dtype=object)


def _is_float(value: Any) -> bool:
    """True if a float can represent a number exactly."""
    return isinstance(value, float) or (abs(value) <= sys.float_info.max and int(float(value)) == value)
