"""The table of a sweep: one row a point."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from ettr.sweep.folder import Entry
from ettr.sweep.grid import Point
from ettr.sweep.jobs import Job


def of_points(job: Job, points: Mapping[str, Point], entries: Mapping[str, Entry | None]) -> pd.DataFrame:
    """One row a point: id, name, parameters, status and what it recorded."""
    known = [entries[digest] for digest in points]
    columns: dict[str, Any] = {"id": list(points)}
    if any(point.name for point in points.values()):
        columns["name"] = [point.name for point in points.values()]
    for name in job.grid.parameters:
        columns[job.column(name)] = [point.parameters[name] for point in points.values()]
    columns["status"] = [entry.status if entry else "open" for entry in known]
    columns["duration_s"] = [entry.duration_s if entry else np.nan for entry in known]
    columns["error"] = [entry.error if entry else "" for entry in known]
    columns["notebook"] = [entry.file if entry else "" for entry in known]
    for name in dict.fromkeys(name for entry in known if entry for name in entry.recorded):
        own = name
        while own in columns:
            own = f"recorded_{own}"
        columns[own] = _series([entry.recorded.get(name) if entry else None for entry in known])
    if any(entry and entry.written for entry in known):
        columns["written"] = [list(entry.written) if entry else [] for entry in known]
    return pd.DataFrame(columns)


def written_by_several(table: pd.DataFrame) -> dict[str, int]:
    """Files that more than one point wrote, with how many did: what is in them now depends on which was last.

    Examples
    --------
    >>> written_by_several(pd.DataFrame({"written": [["/a", "/b"], ["/a"]]}))
    {'/a': 2}
    """
    if "written" not in table:
        return {}
    counts = table["written"].explode().value_counts()
    return {str(path): int(n) for path, n in counts[counts > 1].items()}


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
