"""Running a sweep: its unfinished points, and the table of all results."""

from __future__ import annotations

import functools
import json
import os
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pandas as pd

from ettr.core.errors import EttrError, InputError, NotebookKilled
from ettr.notebook.engine import prepare
from ettr.sweep import calls, pool
from ettr.sweep.folder import Folder
from ettr.sweep.grid import Point, load
from ettr.sweep.jobs import CallJob, NotebookJob, SweepJob
from ettr.sweep.tables import Entry, open_entry, table_at_once, table_of
from ettr.sweep.work import Outcome, Task, WorkerDiffers, do

MOST_POINTS = 100_000
"""Most points of a sweep with a file per point."""
MOST_AT_ONCE = 20_000_000
"""Most points of a sweep that the exact model evaluates as arrays."""
TABLE_EVERY_S = 60.0


@dataclass(frozen=True)
class Progress:
    """Progress of a sweep.

    Attributes
    ----------
    done, failed, total : int
        Number of points that have ended, of those among them that failed or were killed, and of all points.
    kept : int
        Finished points from an earlier run.
    threads : int
        Number of points that the workers can run in parallel; 0 without workers.
    entries : mapping of str to Entry or None
        Result of each point by id; None if it is open, and with an error if its process was killed.
    last : str
        Id of the point that has just finished; otherwise empty.

    Examples
    --------
    >>> progress = Progress(done=3, failed=1, total=6, kept=2)
    >>> progress.total - progress.done
    3
    """

    done: int
    failed: int
    total: int
    kept: int
    threads: int | None = None
    entries: Mapping[str, Entry | None] = field(default_factory=dict, compare=False, repr=False)
    last: str = ""


def limit(call: str | None, scenario: str | None = None, fields: Iterable[str] = ()) -> int:
    """Return the largest number of points of a sweep of a call, or of a notebook (None).

    It depends on the fields of the grid, unless the grid names the scenarios.

    Examples
    --------
    >>> limit("budget"), limit(None)
    (20000000, 100000)
    """
    if call == "budget" and (scenario is None or calls.accepts_arrays(scenario, fields)):
        return MOST_AT_ONCE
    return MOST_POINTS


OnProgress = Callable[[Progress], None]


@dataclass(frozen=True)
class Preview:
    """State of a sweep, and the time that its open points would take.

    Attributes
    ----------
    table : DataFrame
        One row per point with its parameters and ``status``: ``done``, ``failed`` or ``open``.
    point_s : float or None
        Run time of the point that was run as a test; None if none was run. [s]
    left_s : float or None
        Estimated run time of the open points; None if none is open, or the exact model evaluates them as arrays. [s]
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
    """Run a notebook at every point of a grid, and return a table of the recorded values.

    Results are saved in `out`; after a crash, the same call resumes the sweep. A point is repeated if the code of the
    notebook, a file among its parameters, the package, its data or the locked versions changed.

    Parameters
    ----------
    notebook : path
        Notebook with a cell tagged ``parameters``.
    grid : path, mapping or list
        Grid file, or its contents; see :func:`ettr.sweep.load`.
    out : path
        Folder of the results: ``points/ID.ipynb`` for each executed copy, and ``results.parquet``.
    workers : int, optional
        Processes on this machine; by default one per core.
    scheduler : str, optional
        Address or file of a running Dask scheduler to use instead. Anyone who can reach a scheduler at ``tcp://`` can
        run code as its owner; one at ``tls://`` uses the certificate in Dask's configuration.
    retry_failed : bool
        Repeat points that failed before.
    timeout_s : float, optional
        Longest run time of a point. [s]
    fresh_kernels : bool
        Start a kernel for each point instead of forking a prepared process.
    on_progress : callable, optional
        Called with a :class:`Progress` after each point.

    Returns
    -------
    DataFrame
        One row per point, in grid order: ``id``, ``name`` if points have names, the parameters, ``status`` (``done``,
        ``failed``, or ``open`` if its process was killed: the same call runs the point again), ``duration_s`` [s],
        ``error``, ``notebook`` (the executed copy, relative to `out`) and a column for each recorded value. It is also
        saved as ``results.parquet``.

    Raises
    ------
    InputError
        If the notebook or the grid breaks a rule, `out` has other files, or no scheduler responds.
    EttrError
        If results cannot be written, or the connection to the scheduler is lost.

    Examples
    --------
    >>> grid = {"n_gpus": [8192, 16384], "mttf_h": [3, 9]}
    >>> table = run("study.ipynb", grid, "results")  # doctest: +SKIP
    >>> table[["n_gpus", "mttf_h", "status"]].shape  # doctest: +SKIP
    (4, 3)
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
        ``"budget"`` for the exact model, ``"simulate"`` for a simulation.
    grid, out, workers, scheduler, retry_failed, on_progress
        As in :func:`run`. Parameters of the grid are fields of a scenario, e.g. ``cluster.n_gpus``, ``scenario``, and
        for a simulation ``n_runs``, ``seed`` and ``until``.
    scenario : str, optional
        Preset or scenario file, unless it is in the grid.

    Returns
    -------
    DataFrame
        Table as from :func:`run`. If all fields of the grid accept arrays, the exact model evaluates all points at
        once, without a file per point.

    Raises
    ------
    UnknownName
        If there is no such function or field.
    InputError, EttrError
        As in :func:`run`.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     table = call("budget", {"cluster.n_gpus": [16384, 100_000]}, folder, scenario="llama3-405b")
    >>> table[["cluster.n_gpus", "ettr"]].round(3).to_dict("list")
    {'cluster.n_gpus': [16384, 100000], 'ettr': [0.909, 0.573]}
    """
    job = CallJob(name, scenario, load(grid, functools.partial(limit, name, scenario)))
    return run_job(job, out, workers, scheduler, retry_failed, on_progress)


def preview(job: SweepJob, out: str | os.PathLike[str], workers: int | None = None) -> Preview:
    """Return the state of a sweep and an estimate of its run time, from a single point that is run and saved.

    Parameters
    ----------
    job : SweepJob
        Job of the sweep.
    out : path
        Folder of the results; the timed point is saved in it.
    workers : int, optional
        Number of workers; by default one per core.

    Examples
    --------
    >>> import tempfile
    >>> job = CallJob("budget", "llama3-405b", load({"cluster.n_gpus": [8192, 16384]}, most_points=10))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     preview(job, folder).table["status"].tolist()
    ['open', 'open']
    """
    folder, points = Folder(out, job), job.points()
    if _is_at_once(job):
        kept = folder.read_table()
        states = {} if kept is None else dict(zip(kept["id"], kept["status"], strict=True))
        finished = {d: Entry("", states[d], 0.0, "", {}) if d in states else None for d in points}
        return Preview(table_of(job, points, finished), None, None)
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
    on_wait: Callable[[], None] | None = None,
) -> pd.DataFrame:
    """Run the unfinished points of a job, and return the table of all; see :func:`run` and :func:`call`.

    With `on_wait`, call it and wait for another process at work in `out` instead of refusing.

    Examples
    --------
    >>> import tempfile
    >>> job = CallJob("budget", "llama3-405b", load({"cluster.n_gpus": [8192, 16384]}, most_points=10))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     run_job(job, folder)["ettr"].round(3).tolist()
    [0.941, 0.909]
    """
    pool.check(workers, scheduler)
    if _is_at_once(job):
        return _at_once(job, out)
    if job.grid.n_points > MOST_POINTS:
        raise InputError(
            f"a sweep must have at most {MOST_POINTS:,} points if its fields do not accept arrays, got "
            f"{job.grid.n_points:,}"
        )
    report = on_progress or (lambda _: None)
    folder = Folder(out, job)
    with folder.taken(on_wait):
        points = job.points()
        entries = {digest: folder.entry(digest) for digest in points}
        if retry_failed:
            entries = {d: entry if entry and entry.status == "done" else None for d, entry in entries.items()}
        waiting = deque(digest for digest, entry in entries.items() if entry is None)
        n_kept, n_failed = len(points) - len(waiting), sum(e.status == "failed" for e in entries.values() if e)
        progress = Progress(n_kept, n_failed, len(points), n_kept, entries=entries)
        report(progress)
        written_s = time.monotonic()
        try:
            outcomes = _outcomes(
                job, points, waiting, workers, scheduler, lambda threads: report(replace(progress, threads=threads))
            )
            for digest, outcome in outcomes:
                if outcome.killed:
                    entries[digest] = open_entry(outcome.text)
                else:
                    folder.keep(digest, outcome)
                    entries[digest] = folder.entry(digest)
                progress = replace(progress, done=progress.done + 1, failed=progress.failed + outcome.failed)
                report(replace(progress, last=digest))
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
    """Distribute points to the workers; yield the id and outcome of each."""

    def task(digest: str) -> Task:
        return job.task(digest, points[digest].parameters, elsewhere=scheduler is not None)

    if not waiting:
        return
    suspects: dict[str, BaseException] = {}
    with pool.connected(workers, scheduler, len(waiting)) as client:
        for key, future in pool.stream(client, do, waiting, task, look):
            digest, error = str(key), future.exception()
            if type(error).__name__ == "KilledWorker":
                suspects[digest] = error
            else:
                yield digest, _unfinished(task(digest), error) if error else future.result()
        if len(suspects) > 1:  # one of them may have killed the worker on which the others waited: run each alone
            for digest in suspects:
                for _, future in pool.stream(client, do, deque([digest]), task, look):
                    error = future.exception()
                    yield digest, _unfinished(task(digest), error) if error else future.result()
        else:
            yield from ((digest, _unfinished(task(digest), error)) for digest, error in suspects.items())


def _unfinished(task: Task, error: BaseException) -> Outcome:
    """Outcome of a point whose worker raised or died; raises for an error that affects all points."""
    if isinstance(error, WorkerDiffers | ImportError):
        raise EttrError(f"the workers cannot run this sweep: {error}") from error
    text = f"{type(error).__name__}: {error}".strip().splitlines()[0]
    reason = str(error) if isinstance(error, NotebookKilled) else ""
    if isinstance(error, OSError):  # of the worker's disk: a notebook and a call report their own errors
        reason = f"{text} on its worker"
    if type(error).__name__ == "KilledWorker":
        reason = "its worker died or froze at every attempt"
    if reason:
        return Outcome(f"{reason}; the same command runs the point again", failed=True, killed=True)
    record: dict[str, Any] = {"digest": task.digest, "parameters": dict(task.parameters), "duration_s": 0.0}
    if not task.source:
        return Outcome(json.dumps({**record, "error": text}), failed=True)
    document = json.loads(task.source)
    stopped = {"number": 0, "id": "", "error": text, "source": ""}
    document.setdefault("metadata", {})["ettr"] = {**record, "notebook": task.what, "stopped": stopped}
    return Outcome(json.dumps(document, indent=1), failed=True)


def _is_at_once(job: SweepJob) -> bool:
    """True if the exact model evaluates all points as arrays."""
    return isinstance(job, CallJob) and job.name == "budget" and calls.takes_arrays(job.grid)


def _at_once(job: SweepJob, out: str | os.PathLike[str]) -> pd.DataFrame:
    """Table of a sweep that the exact model evaluates as arrays."""
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
