"""Folder of a sweep, with the result of each finished point, from which an interrupted sweep is resumed."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Iterator, Mapping
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
_FILES = {".lock", MANIFEST, POINTS, TABLE, "report.html"}
COMPARED = 200_000
"""Largest grid that is compared point by point."""
_UNREADABLE = (ValueError, KeyError, TypeError, AttributeError, ArithmeticError, RecursionError)
"""Errors of JSON that a sweep did not write."""


class Folder:
    """Folder of a sweep.

    Points, table and manifest are synced to disk when they are written, so that a kill, a full disk or a power cut
    loses only unfinished points. A file that cannot be read is rewritten, and its point counts as open.

    Parameters
    ----------
    path : path
        Folder, created if missing.
    job : SweepJob
        Job of the sweep.

    Raises
    ------
    InputError
        If the folder has other files, a sweep of another notebook, or a grid with points that the new one lacks.
    """

    def __init__(self, path: str | os.PathLike[str], job: SweepJob) -> None:
        self.path, self._job = Path(path).absolute(), job
        self._check()

    @contextlib.contextmanager
    def taken(self, on_wait: Callable[[], None] | None = None) -> Iterator[None]:
        """Lock the folder against other sweeps; the lock is released when the process ends for any reason.

        With `on_wait`, call it and wait for another sweep instead of refusing.
        """
        with locked(self.path / ".lock", "sweep", on_wait is not None, on_wait):
            self._check()  # another sweep may have changed the folder before the lock
            for part in self.path.glob(f"**/*{durable.PART}"):
                part.unlink(missing_ok=True)  # left by an interrupted sweep
            grid = self._job.grid
            content = {"sweep": self._job.what, "n_points": grid.n_points, "grid": [vars(b) for b in grid.blocks]}
            with _writing(self.path / MANIFEST):
                (self.path / POINTS).mkdir(exist_ok=True)
                durable.write(self.path / MANIFEST, json.dumps(content, indent=1) + "\n")
            yield

    def entry(self, digest: str) -> Entry | None:
        """Return the result of a point, if it was run and its file can be read."""
        for failed, status in ((False, "done"), (True, "failed")):
            name = self._name(digest, failed)
            with contextlib.suppress(OSError, *_UNREADABLE):
                content = json.loads((self.path / name).read_text(encoding="utf-8"))
                record = content["metadata"][notebook.RECORD] if self._job.suffix == ".ipynb" else content
                if record["digest"] == digest:
                    return self._entry(name, status, content, record)
        return None

    def _name(self, digest: str, failed: bool) -> str:
        """File of a point, relative to the folder."""
        return f"{POINTS}/{digest}{'.failed' if failed else ''}{self._job.suffix}"

    def _entry(self, name: str, status: str, content: dict[str, Any], record: dict[str, Any]) -> Entry:
        """Result of a point from the contents of its file."""
        stopped, title = record.get("stopped"), record.get("notebook", self._job.what)
        error = notebook.stop_message(title, stopped) if stopped else record.get("error", "")
        recorded: Mapping[str, Any] = {}
        with contextlib.suppress(InputError):  # the notebook may have failed because of this error
            is_notebook = self._job.suffix == ".ipynb"
            recorded = notebook.recorded(content) if is_notebook else notebook.restored(record.get("recorded", {}))
        return Entry(name, status, float(record["duration_s"]), encodable(error), recorded)

    def keep(self, digest: str, outcome: Outcome) -> None:
        """Write the result of a point atomically, replacing that of an earlier attempt."""
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
        """Return the table of results, if it exists and can be read."""
        try:
            return pd.read_parquet(self.path / TABLE)
        except (OSError, NotImplementedError, *_UNREADABLE):  # these include Arrow's errors
            return None

    def _check(self) -> None:
        """Raise if the folder has other files or another sweep."""
        if self.path.exists() and not self.path.is_dir():
            raise InputError(f"a sweep needs a folder, and {self.path} is not a folder")
        if not self.path.is_dir() or not any(self.path.iterdir()):
            return
        try:
            kept = json.loads((self.path / MANIFEST).read_text(encoding="utf-8"))
            title, before = kept["sweep"], Grid(tuple(grids.Block(**block) for block in kept["grid"]))
            lost = _points_lost(before, self._job.grid)
        except (OSError, *_UNREADABLE) as error:
            if {p.name for p in self.path.iterdir() if p.suffix != durable.PART} <= _FILES:
                return  # a sweep that had just started, or a damaged manifest; points are identified by their names
            raise InputError(
                f"{self.path} contains files that are not a sweep; use an empty or a new folder"
            ) from error
        if title != self._job.what:
            raise InputError(f"{self.path} contains a sweep of {title}, not of {self._job.what}; use another folder")
        if lost:
            raise InputError(
                f"{self.path} contains a sweep of another grid: {lost:,} of its {before.n_points:,} points are not in "
                f"this one; add them to the grid, or use another folder"
            )


def _points_lost(before: Grid, now: Grid) -> int:
    """Number of points of the previous grid that are missing from the current one."""
    if max(before.n_points, now.n_points) > COMPARED:
        written = {json.dumps([[b.columns, b.rows] for b in grid.blocks]) for grid in (before, now)}
        return 0 if len(written) == 1 else before.n_points
    new = {grids.key(point.parameters) for point in now.points()}
    return sum(grids.key(point.parameters) not in new for point in before.points())


@contextlib.contextmanager
def _writing(path: Path) -> Iterator[None]:
    """Raise a clear error for files that cannot be written."""
    try:
        yield
    except OSError as error:
        raise EttrError(
            f"cannot write {path}: {error.strerror or error}; finished points are kept, and the same command resumes "
            f"the sweep"
        ) from error
