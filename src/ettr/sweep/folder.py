"""The folder of a sweep: what each point left, so that a sweep goes on where it was stopped."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from ettr import notebook
from ettr.core import durable, extras
from ettr.core.durable import locked
from ettr.core.errors import EttrError, InputError
from ettr.core.sentences import encodable
from ettr.sweep import grid as grids
from ettr.sweep.grid import Grid
from ettr.sweep.jobs import SweepJob
from ettr.sweep.tables import Entry, as_stored
from ettr.sweep.work import Outcome

MANIFEST, POINTS, TABLE = "sweep.json", "points", "results.parquet"
_OWN = {".lock", MANIFEST, POINTS, TABLE, "report.html"}
COMPARED = 200_000
"""Grids up to this size are compared point by point."""
_ODD = (ValueError, KeyError, TypeError, AttributeError, ArithmeticError, RecursionError)
"""Errors of JSON that holds something else than what a sweep wrote."""


class Folder:
    """A folder that holds one sweep.

    A point, the table and the manifest are on disk when what writes them returns, so a kill, a full disk or a power cut
    loses only what was not finished. A file that cannot be read is written again, and its point counts as open.

    Parameters
    ----------
    path : path
        Made if it is not there.
    job : SweepJob
        What is swept.

    Raises
    ------
    InputError
        If the folder holds something else: another notebook, or a grid with points that the new one lacks.
    """

    def __init__(self, path: str | os.PathLike[str], job: SweepJob) -> None:
        self.path, self._job = Path(path).absolute(), job
        self._check()

    @contextlib.contextmanager
    def taken(self) -> Iterator[None]:
        """Keep other sweeps out; the folder is free again when the process ends, however it ends."""
        with locked(self.path / ".lock", "sweep"):
            self._check()  # another may have been at work until now
            for part in self.path.glob(f"**/*{durable.PART}"):
                part.unlink(missing_ok=True)  # of a sweep that was cut off
            grid = self._job.grid
            content = {"sweep": self._job.what, "n_points": grid.n_points, "grid": [vars(b) for b in grid.blocks]}
            with _writing(self.path / MANIFEST):
                (self.path / POINTS).mkdir(exist_ok=True)
                durable.write(self.path / MANIFEST, json.dumps(content, indent=1) + "\n")
            yield

    def entry(self, digest: str) -> Entry | None:
        """What is kept of a point, if it was run and its file can be read."""
        for failed, status in ((False, "done"), (True, "failed")):
            name = self._name(digest, failed)
            with contextlib.suppress(OSError, *_ODD):
                content = json.loads((self.path / name).read_text(encoding="utf-8"))
                record = content["metadata"][notebook.RECORD] if self._job.suffix == ".ipynb" else content
                if record["digest"] == digest:
                    return self._entry(name, status, content, record)
        return None

    def _name(self, digest: str, failed: bool) -> str:
        return f"{POINTS}/{digest}{'.failed' if failed else ''}{self._job.suffix}"

    def _entry(self, name: str, status: str, content: dict[str, Any], record: dict[str, Any]) -> Entry:
        stopped, what = record.get("stopped"), record.get("notebook", self._job.what)
        error = notebook.stop_message(what, stopped) if stopped else record.get("error", "")
        recorded: Mapping[str, Any] = {}
        with contextlib.suppress(InputError):  # of a notebook that failed because of it
            is_notebook = self._job.suffix == ".ipynb"
            recorded = notebook.recorded(content) if is_notebook else notebook.restored(record.get("recorded", {}))
        return Entry(name, status, float(record["duration_s"]), encodable(error), recorded)

    def keep(self, digest: str, outcome: Outcome) -> None:
        """Write what a point left, whole or not at all, in place of what an earlier attempt left."""
        with _writing(self.path / POINTS):
            durable.write(self.path / self._name(digest, outcome.failed), outcome.text)
            (self.path / self._name(digest, not outcome.failed)).unlink(missing_ok=True)

    def write_table(self, table: pd.DataFrame) -> None:
        """Write the table of results."""
        with extras.needed("sweep"):
            import pyarrow
            from pyarrow import parquet
        with _writing(self.path / TABLE), durable.replacing(self.path / TABLE) as part:
            parquet.write_table(pyarrow.Table.from_pandas(as_stored(table), preserve_index=False), part)

    def read_table(self) -> pd.DataFrame | None:
        """The table of results, if there is one that can be read."""
        try:
            return pd.read_parquet(self.path / TABLE)
        except (OSError, NotImplementedError, *_ODD):  # Arrow's errors are among these
            return None

    def _check(self) -> None:
        """Refuse a folder of something else."""
        if self.path.exists() and not self.path.is_dir():
            raise InputError(f"a sweep needs a folder, and {self.path} is something else")
        if not self.path.is_dir() or not any(self.path.iterdir()):
            return
        try:
            kept = json.loads((self.path / MANIFEST).read_text(encoding="utf-8"))
            what, before = kept["sweep"], Grid(tuple(grids.Block(**block) for block in kept["grid"]))
            lost = _points_lost(before, self._job.grid)
        except (OSError, *_ODD) as error:
            if {p.name for p in self.path.iterdir() if p.suffix != durable.PART} <= _OWN:
                return  # a sweep that had only begun, or whose manifest was damaged; points are known by their names
            raise InputError(
                f"{self.path} holds something that is not a sweep; choose an empty or a new folder"
            ) from error
        if what != self._job.what:
            raise InputError(f"{self.path} holds a sweep of {what}, not of {self._job.what}; choose another folder")
        if lost:
            raise InputError(
                f"{self.path} holds a sweep of another grid: {lost:,} of its {before.n_points:,} points are not in "
                f"this one; add them to the grid, or choose another folder"
            )


def _points_lost(before: Grid, now: Grid) -> int:
    """How many points of the grid before are not in the one now."""
    if max(before.n_points, now.n_points) > COMPARED:
        written = {json.dumps([[b.columns, b.rows] for b in grid.blocks]) for grid in (before, now)}
        return 0 if len(written) == 1 else before.n_points
    new = {grids.key(point.parameters) for point in now.points()}
    return sum(grids.key(point.parameters) not in new for point in before.points())


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
