"""The rows and columns of a sweep's result.

A row is a point. Its columns are ``id``, ``name`` if points have names, the parameters, ``status`` (``done``,
``failed`` or ``open``), ``duration_s`` [s], ``error``, ``notebook`` (the executed copy, relative to the folder of the
sweep), and one for each value that a point recorded.
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

from ettr.sweep.grid import Point
from ettr.sweep.jobs import SweepJob


@dataclass(frozen=True)
class Entry:
    """What is known of a point that was run.

    Attributes
    ----------
    file : str
        Relative to the folder of the sweep.
    status : str
        ``done`` or ``failed``.
    duration_s : float
        How long it took. [s]
    error : str
        Why it failed; empty if it did not.
    recorded : mapping
        What it recorded.
    """

    file: str
    status: str
    duration_s: float
    error: str
    recorded: Mapping[str, Any]


_OPEN = Entry("", "open", np.nan, "", {})


def table_of(job: SweepJob, points: Mapping[str, Point], entries: Mapping[str, Entry | None]) -> pd.DataFrame:
    """The table of a sweep from what each of its points left.

    Parameters
    ----------
    job : SweepJob
        What is swept.
    points : mapping of str to Point
        The points by their ids.
    entries : mapping of str to Entry or None
        What each left; None of an open one.
    """
    known = [entries[digest] or _OPEN for digest in points]
    names = [point.name for point in points.values()]
    parameters = {name: [point.parameters[name] for point in points.values()] for name in job.grid.parameters}
    columns = _columns(job, list(points), names, parameters)
    columns["status"] = [entry.status for entry in known]
    columns["duration_s"] = [entry.duration_s for entry in known]
    columns["error"] = [entry.error for entry in known]
    columns["notebook"] = [entry.file for entry in known]
    for name in dict.fromkeys(name for entry in known for name in entry.recorded):
        own = name
        while own in columns:
            own = f"recorded_{own}"
        columns[own] = _series([entry.recorded.get(name) for entry in known])
    return pd.DataFrame(columns)


def table_at_once(job: SweepJob, ids: Sequence[str], recorded: Mapping[str, Any], taken_s: float) -> pd.DataFrame:
    """The table of a sweep that the closed form answers as a whole.

    Parameters
    ----------
    job : SweepJob
        What is swept.
    ids : sequence of str
        The id of each point.
    recorded : mapping
        The answers as arrays, with NaN where the form has none.
    taken_s : float
        How long all points took together. [s]
    """
    lost = np.isnan(recorded["ettr"])
    columns = _columns(job, ids, [point.name for point in job.grid.points()], job.grid.columns())
    columns["status"] = np.where(lost, "failed", "done")
    columns["duration_s"] = taken_s / len(ids)
    columns["error"] = np.where(lost, "outside the validity of budget.exact", "")
    columns["notebook"] = ""
    return pd.DataFrame({**columns, **recorded})


def _columns(job: SweepJob, ids: Sequence[str], names: Sequence[str], parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The first columns: what each point is."""
    named = {"name": names} if any(names) else {}
    return {"id": ids, **named, **{job.column(name): values for name, values in parameters.items()}}


def as_stored(table: pd.DataFrame) -> pd.DataFrame:
    """The table with columns that Arrow holds; mixed kinds and mappings become JSON."""
    return pd.DataFrame({name: _stored(table[name]) for name in table.columns})


def _stored(values: pd.Series) -> pd.Series:
    import pyarrow

    if values.dtype != object:
        return values
    plain = values.tolist()
    with contextlib.suppress(pyarrow.ArrowInvalid, pyarrow.ArrowTypeError, OverflowError):
        if not any(isinstance(value, dict) for value in plain):  # they differ in their keys
            pyarrow.array(plain)
            return values
    return pd.Series([None if v is None else json.dumps(v) for v in plain], dtype=object)


def _series(values: list[Any]) -> pd.Series:
    """Whole numbers as whole numbers, numbers as numbers, missing ones as such; all else as it is."""
    kinds = {type(value) for value in values if value is not None}
    if kinds == {int} and all(-(2**63) <= value < 2**63 for value in values if value is not None):
        return pd.Series(values, dtype="Int64" if None in values else "int64")
    if kinds <= {int, float} and all(value is None or _is_float(value) for value in values):
        return pd.Series(values, dtype="float64")
    return pd.Series(values, dtype=object)


def _is_float(value: Any) -> bool:
    """Whether a number is the same as a float."""
    return isinstance(value, float) or (abs(value) <= sys.float_info.max and int(float(value)) == value)
