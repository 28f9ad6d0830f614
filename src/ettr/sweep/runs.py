"""Runs the points of a sweep that are not finished, and gathers what all of them recorded."""

from __future__ import annotations

import json
import os
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pandas as pd

from ettr.core.errors import EttrError, InputError
from ettr.notebook.engine import prepare
from ettr.sweep import calls, pool
from ettr.sweep.folder import Folder
from ettr.sweep.grid import Point, load
from ettr.sweep.jobs import CallJob, NotebookJob, SweepJob
from ettr.sweep.tables import Entry, table_at_once, table_of
from ettr.sweep.work import Outcome, Task, WorkerDiffers, do

MOST_POINTS = 100_000
"""Points of one sweep that leave a file each."""
MOST_AT_ONCE = 20_000_000
"""Points of one sweep that the closed form takes all at once."""
TABLE_EVERY_S = 60.0


@dataclass(frozen=True)
class Progress:
    """How far a sweep is.

    Attributes
    ----------
    done, failed, total : int
        Points that are finished, those of them that failed, and all.
    kept : int
        Finished points that an earlier run left.
    threads : int
        How many points the workers can run side by side; 0 while none is there.
    entries : mapping of str to Entry or None
        What each point left, by its id; none of an open one.
    last : str
        Id of the point that was finished last, in what says so; empty elsewhere.
    """

    done: int
    failed: int
    total: int
    kept: int
    threads: int | None = None
    entries: Mapping[str, Entry | None] = field(default_factory=dict, compare=False, repr=False)
    last: str = ""


def limit(call: str | None) -> int:
    """The most points that a sweep of this call, or of a notebook, may have."""
    return MOST_AT_ONCE if call == "budget" else MOST_POINTS


OnProgress = Callable[[Progress], None]


@dataclass(frozen=True)
class Preview:
    """What a sweep would do.

    Attributes
    ----------
    table : DataFrame
        One row a point with its parameters and ``status``: ``done``, ``failed`` or ``open``.
    point_s : float or None
        How long the point took that was run to know it; None if none was run. [s]
    left_s : float or None
        How long the open points would take with as many workers as asked for; None if none is open, or the closed form
        takes all of them at once. [s]
    """

    table: pd.DataFrame
    point_s: float | None
    left_s: float | None


def run(
    notebook: str | os.PathLike[str],
    grid: str | os.PathLike[str] | Mapping[str, Any] | Sequence[Any],
    out: str | os.PathLike[str],
    *,
    workers: int | None = None,
    scheduler: str | None = None,
    retry_failed: bool = False,
    timeout_s: float | None = None,
    fresh_kernels: bool = False,
    on_progress: OnProgress | None = None,
) -> pd.DataFrame:
    """Run a notebook at every point of a grid, and gather what it records.

    What is finished stays in `out`: after a crash the same call goes on from there. A point is run again if the
    notebook's code, a file that its parameters name, the package, its data or the locked versions changed.

    Parameters
    ----------
    notebook : path
        A notebook with a cell tagged ``parameters``.
    grid : path, mapping or list
        A grid file, or what it would hold; see :func:`ettr.sweep.load`.
    out : path
        Folder of the results: ``points/ID.ipynb`` for each executed copy, and ``results.parquet``.
    workers : int, optional
        Processes on this machine; as many as it has cores if not given.
    scheduler : str, optional
        Address or file of a running Dask scheduler whose workers do the work instead. Whoever reaches one at ``tcp://``
        runs code as its owner; one at ``tls://`` takes the certificate that Dask's configuration names.
    retry_failed : bool
        Run points again that failed before.
    timeout_s : float, optional
        Longest time that one point may take. [s]
    fresh_kernels : bool
        Start a kernel for each point instead of forking a prepared process.
    on_progress : callable, optional
        Told a :class:`Progress` after each point.

    Returns
    -------
    DataFrame
        One row a point, in the order of the grid: ``id``, ``name`` if points have names, the parameters, ``status``
        (``done`` or ``failed``), ``duration_s`` [s], ``error``, ``notebook`` (the executed copy, relative to `out`) and
        a column for each recorded value. It is also in ``results.parquet``.

    Raises
    ------
    InputError
        If the notebook or the grid breaks a rule, `out` holds something else, or no scheduler answers.
    EttrError
        If results cannot be written, or the scheduler goes away.
    """
    job = NotebookJob(notebook, load(grid, MOST_POINTS), timeout_s=timeout_s, fresh_kernels=fresh_kernels)
    return run_job(job, out, workers, scheduler, retry_failed, on_progress)


def call(
    name: str,
    grid: str | os.PathLike[str] | Mapping[str, Any] | Sequence[Any],
    out: str | os.PathLike[str],
    *,
    scenario: str | None = None,
    workers: int | None = None,
    scheduler: str | None = None,
    retry_failed: bool = False,
    on_progress: OnProgress | None = None,
) -> pd.DataFrame:
    """Call ``budget`` or ``simulate`` at every point of a grid, without a notebook.

    Parameters
    ----------
    name : str
        ``"budget"`` for the closed form, ``"simulate"`` for a simulation.
    grid, out, workers, scheduler, retry_failed, on_progress
        As for :func:`run`. The grid's parameters are fields of a scenario, e.g. ``cluster.n_gpus``, ``scenario``, and
        for a simulation ``n_runs``, ``seed`` and ``until``.
    scenario : str, optional
        Preset or scenario file, unless the grid names it.

    Returns
    -------
    DataFrame
        As from :func:`run`. Where all fields of the grid may be arrays for the closed form, it is asked once and not
        once a point, and points leave no files of their own.

    Raises
    ------
    UnknownName
        If there is no such call or no such field.
    InputError, EttrError
        As :func:`run`.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     table = call("budget", {"cluster.n_gpus": [16384, 100_000]}, folder, scenario="llama3-405b")
    >>> table[["cluster.n_gpus", "ettr"]].round(3).to_dict("list")
    {'cluster.n_gpus': [16384, 100000], 'ettr': [0.909, 0.573]}
    """
    job = CallJob(name, scenario, load(grid, limit(name)))
    return run_job(job, out, workers, scheduler, retry_failed, on_progress)


def preview(job: SweepJob, out: str | os.PathLike[str], workers: int | None = None) -> Preview:
    """What a sweep would do, and how long it would take, from one point that is run and kept.

    Parameters
    ----------
    job : SweepJob
        What would be swept.
    out : path
        Folder of the results; the point that is timed is finished in it.
    workers : int, optional
        How many would work side by side; as many as there are cores if not given.
    """
    folder, points = Folder(out, job), job.points()
    if _is_at_once(job):
        kept = folder.read_table()
        states = {} if kept is None else dict(zip(kept["id"], kept["status"], strict=True))
        known = {d: Entry("", states[d], 0.0, "", {}) if d in states else None for d in points}
        return Preview(table_of(job, points, known), None, None)
    entries = {digest: folder.entry(digest) for digest in points}
    waiting = [digest for digest, entry in entries.items() if entry is None]
    point_s = left_s = None
    if waiting:
        digest = waiting[0]
        with folder.taken():
            task = job.task(digest, points[digest].parameters)
            if task.source and not task.fresh_kernel:
                prepare()
            started = time.monotonic()
            folder.keep(digest, do(task))
            point_s = time.monotonic() - started
        entries[digest] = folder.entry(digest)
        left_s = point_s * (len(waiting) - 1) / (workers or os.cpu_count() or 1)
    return Preview(table_of(job, points, entries), point_s, left_s)


def run_job(
    job: SweepJob,
    out: str | os.PathLike[str],
    workers: int | None = None,
    scheduler: str | None = None,
    retry_failed: bool = False,
    on_progress: OnProgress | None = None,
) -> pd.DataFrame:
    """Run the points of a job that are not finished; :func:`run` and :func:`call` say what is what."""
    pool.check(workers, scheduler)
    if _is_at_once(job):
        return _at_once(job, out)
    if job.grid.n_points > MOST_POINTS:
        raise InputError(
            f"the grid has {job.grid.n_points:,} points, and at most {MOST_POINTS:,} are swept where the closed form "
            f"takes one at a time, as it does with these fields"
        )
    hear = on_progress or (lambda _: None)
    folder = Folder(out, job)
    with folder.taken():
        points = job.points()
        entries = {digest: folder.entry(digest) for digest in points}
        if retry_failed:
            entries = {d: entry if entry and entry.status == "done" else None for d, entry in entries.items()}
        waiting = deque(digest for digest, entry in entries.items() if entry is None)
        n_kept, n_failed = len(points) - len(waiting), sum(e.status == "failed" for e in entries.values() if e)
        progress = Progress(n_kept, n_failed, len(points), n_kept, entries=entries)
        hear(progress)
        written_s = time.monotonic()
        try:
            outcomes = _outcomes(
                job, points, waiting, workers, scheduler, lambda threads: hear(replace(progress, threads=threads))
            )
            for digest, outcome in outcomes:
                folder.keep(digest, outcome)
                entries[digest] = folder.entry(digest)
                progress = replace(progress, done=progress.done + 1, failed=progress.failed + outcome.failed)
                hear(replace(progress, last=digest))
                if time.monotonic() - written_s > TABLE_EVERY_S:
                    folder.write_table(table_of(job, points, entries))
                    written_s = time.monotonic()
        finally:
            table = table_of(job, points, entries)
            folder.write_table(table)
        return table


def _outcomes(
    job: SweepJob,
    points: Mapping[str, Point],
    waiting: deque[str],
    workers: int | None,
    scheduler: str | None,
    look: Callable[[int], None],
) -> Iterator[tuple[str, Outcome]]:
    """Hand points to the workers, and give the id of each with what it left."""

    def task(digest: str) -> Task:
        return job.task(digest, points[digest].parameters, elsewhere=scheduler is not None)

    if not waiting:
        return
    with pool.connected(workers, scheduler, len(waiting)) as client:
        for key, future in pool.stream(client, do, waiting, task, look):
            digest, error = str(key), future.exception()
            yield digest, _unfinished(task(digest), error) if error else future.result()


def _unfinished(task: Task, error: BaseException) -> Outcome:
    """A point without an outcome, as a failed one; an error that concerns all points is raised."""
    if isinstance(error, WorkerDiffers | ImportError):
        raise EttrError(f"the workers cannot run this sweep: {error}") from error
    text = f"{type(error).__name__}: {error}".strip().splitlines()[0]
    if type(error).__name__ == "KilledWorker":
        text = "its worker died or froze each time that it was run"
    record: dict[str, Any] = {"digest": task.digest, "parameters": dict(task.parameters), "duration_s": 0.0}
    if not task.source:
        return Outcome(json.dumps({**record, "error": text}), failed=True)
    document = json.loads(task.source)
    stopped = {"number": 0, "id": "", "error": text, "source": ""}
    document.setdefault("metadata", {})["ettr"] = {**record, "notebook": task.what, "stopped": stopped}
    return Outcome(json.dumps(document, indent=1), failed=True)


def _is_at_once(job: SweepJob) -> bool:
    """Whether the closed form answers all points together."""
    return isinstance(job, CallJob) and job.name == "budget" and calls.takes_arrays(job.grid)


def _at_once(job: SweepJob, out: str | os.PathLike[str]) -> pd.DataFrame:
    """The table of a sweep that the closed form answers as a whole."""
    folder = Folder(out, job)
    with folder.taken():
        ids = list(job.ids())
        kept = folder.read_table()
        if kept is not None and "id" in kept and kept["id"].tolist() == ids:
            return kept
        started = time.monotonic()
        recorded = calls.at_once(job.grid)
        table = table_at_once(job, ids, recorded, time.monotonic() - started)
        folder.write_table(table)
        return table
