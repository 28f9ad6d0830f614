"""The folder of a sweep: what each point left, so that a sweep goes on where it was stopped, and the table of it."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ettr import notebook
from ettr.core import durable, extras
from ettr.core.durable import locked
from ettr.core.errors import EttrError, InputError
from ettr.core.sentences import encodable
from ettr.sweep import grid as grids
from ettr.sweep import points
from ettr.sweep.grid import Grid, Point
from ettr.sweep.jobs import SweepJob
from ettr.sweep.work import Outcome, Task, sha256_of

TABLE = "results.parquet"
_OWN = {".lock", points.MANIFEST, points.FOLDER, TABLE, "report.html"}
COMPARED = 200_000
"""Grids up to this size are compared point by point."""


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
    written : tuple of str
        Files elsewhere that it opened for writing.
    """

    file: str
    status: str
    duration_s: float
    error: str
    recorded: Mapping[str, Any]
    written: tuple[str, ...] = ()


class Folder:
    """A folder that holds one sweep.

    A point, the table and the manifest are on disk when what writes them returns, whole and with a digest of their
    content. A kill, a full disk or a power cut loses only what was not finished, and a file that is not as it was
    written, by whatever it was changed, is noticed when it is read, and its point counts as open.

    Parameters
    ----------
    path : path
        Made if it is not there.
    job : SweepJob
        What is swept.

    Attributes
    ----------
    token : str
        Written into the folder, so that workers can tell whether they see the same one.
    altered : dict
        Files that were found to be not as they were written, relative to the folder, as keys.

    Raises
    ------
    InputError
        If the folder holds something else: another notebook, or a grid with points that the new one lacks.
    """

    def __init__(self, path: str | os.PathLike[str], job: SweepJob) -> None:
        self.path, self._job = Path(path).absolute(), job
        self.token = secrets.token_hex(16)
        self.altered: dict[str, None] = {}
        self._read: dict[str, tuple[tuple[int, ...], Entry]] = {}
        self._tables = self._check()

    @contextlib.contextmanager
    def taken(self, wait: bool = False) -> Iterator[None]:
        """Keep other sweeps out, or wait for one; the folder is free again when the process ends, however it ends."""
        with locked(self.path / ".lock", "sweep", wait):
            self._tables = self._check()  # another may have been at work until now
            for part in self.path.glob(f"**/*{durable.PART}"):
                part.unlink(missing_ok=True)  # of a sweep that was cut off
            with _writing(self.path / points.MANIFEST):
                (self.path / points.FOLDER).mkdir(exist_ok=True)
                self._write_manifest()
            if sha256_of(self.path / TABLE) not in ("", *self._tables):
                self.altered[TABLE] = None
            yield

    def task(self, digest: str, point: Point) -> Task:
        """A point as a worker takes it that may see this folder."""
        return replace(self._job.task(digest, point.parameters), out=str(self.path), token=self.token)

    def entry(self, digest: str) -> Entry | None:
        """What is kept of a point, if it was run and its file is as it was written."""
        for failed, status in ((False, "done"), (True, "failed")):
            name = f"{points.FOLDER}/{points.file_name(digest, self._job.suffix, failed)}"
            try:
                state = self._state(name)
                if state is None:
                    continue
                if name not in self._read or self._read[name][0] != state:
                    content_and_record = points.record(self.path / name, digest)
                    if content_and_record is None:
                        continue
                    self._read[name] = state, self._entry(name, status, *content_and_record)
            except points.Altered:
                self.altered[name] = None
                return None
            return self._read[name][1]
        return None

    def _state(self, name: str) -> tuple[int, ...] | None:
        """What changes with the content of a file, if it is there."""
        try:
            found = (self.path / name).stat()
        except OSError:
            return None
        return found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns

    def _entry(self, name: str, status: str, content: dict[str, Any], record: dict[str, Any]) -> Entry:
        stopped, what = record.get("stopped"), record.get("notebook", self._job.what)
        error = notebook.stop_message(what, stopped) if stopped else record.get("error", "")
        recorded: Mapping[str, Any] = {}
        with contextlib.suppress(InputError):  # of a notebook that failed because of it
            is_notebook = self._job.suffix == ".ipynb"
            recorded = notebook.recorded(content) if is_notebook else notebook.restored(record.get("recorded", {}))
        written = tuple(record.get("written", ()))
        return Entry(name, status, record["duration_s"], encodable(error), recorded, written)

    def keep(self, digest: str, outcome: Outcome) -> None:
        """Write what a point left, whole or not at all, unless its worker did."""
        if outcome.text:
            with _writing(self.path / points.FOLDER):
                points.keep(self.path, digest, self._job.suffix, outcome.text, outcome.failed)

    def write_table(self, table: pd.DataFrame) -> None:
        """Write the table of results."""
        with extras.needed("sweep"):
            import pyarrow
            from pyarrow import parquet
        kept = pd.DataFrame({name: _column(table[name]) for name in table.columns})
        with _writing(self.path / TABLE), durable.replacing(self.path / TABLE) as part:
            parquet.write_table(pyarrow.Table.from_pandas(kept, preserve_index=False), part)
            self._tables = (*self._tables[-1:], sha256_of(part))
            self._write_manifest()  # with both digests, as a crash may leave the one table or the other

    def read_table(self) -> pd.DataFrame | None:
        """The table of results, if there is one that is as it was written."""
        if sha256_of(self.path / TABLE) not in self._tables:
            return None
        return pd.read_parquet(self.path / TABLE)

    def _write_manifest(self) -> None:
        grid = self._job.grid
        content = {
            "sweep": self._job.what,
            "token": self.token,
            "n_points": grid.n_points,
            "grid": [vars(block) for block in grid.blocks],
            "tables": self._tables,
        }
        points.write(self.path / points.MANIFEST, content, content)

    def _check(self) -> tuple[str, ...]:
        """Refuse a folder of something else; return the digests of the tables that it may hold."""
        if self.path.exists() and not self.path.is_dir():
            raise InputError(f"a sweep needs a folder, and {self.path} is something else")
        if not self.path.is_dir() or not any(self.path.iterdir()):
            return ()
        kept = None
        try:
            kept = points.read(self.path / points.MANIFEST)
            if kept is not None:
                what, tables = kept["sweep"], tuple(kept["tables"])
                before = Grid(tuple(grids.Block(**block) for block in kept["grid"]))
        except (points.Altered, KeyError, TypeError):  # the last two: another file under this name
            kept, self.altered[points.MANIFEST] = None, None
        if kept is None:
            if {p.name for p in self.path.iterdir() if p.suffix != durable.PART} <= _OWN:
                return ()  # a sweep that had only begun, or whose manifest was damaged; points are known by their names
            raise InputError(f"{self.path} holds something that is not a sweep; choose an empty or a new folder")
        if what != self._job.what:
            raise InputError(f"{self.path} holds a sweep of {what}, not of {self._job.what}; choose another folder")
        lost = _points_lost(before, self._job.grid)
        if lost:
            raise InputError(
                f"{self.path} holds a sweep of another grid: {lost:,} of its {before.n_points:,} points are not in "
                f"this one; add them to the grid, or choose another folder"
            )
        return tables


def _points_lost(before: Grid, now: Grid) -> int:
    """How many points of the grid before are not in the one now."""
    if max(before.n_points, now.n_points) > COMPARED:
        written = {json.dumps([[b.columns, b.rows] for b in grid.blocks]) for grid in (before, now)}
        return 0 if len(written) == 1 else before.n_points
    new = {grids.key(point.parameters) for point in now.points()}
    return sum(grids.key(point.parameters) not in new for point in before.points())


def _column(values: pd.Series) -> pd.Series:
    """A column as Arrow holds it; mixed kinds and mappings become JSON."""
    import pyarrow

    if values.dtype != object:
        return values
    plain = values.tolist()
    with contextlib.suppress(pyarrow.ArrowInvalid, pyarrow.ArrowTypeError, OverflowError):
        if not any(isinstance(value, dict) for value in plain):  # they differ in their keys
            pyarrow.array(plain)
            return values
    return pd.Series([None if v is None else json.dumps(v) for v in plain], dtype=object)


@contextlib.contextmanager
def _writing(path: Path) -> Iterator[None]:
    """Say what cannot be written."""
    try:
        yield
    except OSError as error:
        raise EttrError(
            f"cannot write {path}: {error.strerror or error}; what was finished is kept, and the same command goes on "
            f"from there"
        ) from error


# --------------------------------------------------------------------------- the table


def table_of(job: SweepJob, points: Mapping[str, Point], entries: Mapping[str, Entry | None]) -> pd.DataFrame:
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
