"""``ettr sweep``: a notebook, or a function of the package, at every point of a grid."""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ettr.cli import terminal
from ettr.cli.options import JsonOption
from ettr.core import sentences
from ettr.core.errors import InputError
from ettr.core.report import Table

if TYPE_CHECKING:
    from ettr.sweep import OnProgress, Progress, SweepJob

SHOWN_POINTS = 12
SHOWN_FAILURES = 8
SHOWN_VALUE, SHOWN_ERROR = 80, 500
SAID_EVERY_S = 30.0


@terminal.stopped_with("stopped; finished points are kept, and the same command goes on from there")
def sweep(
    notebook: Annotated[
        Path | None,
        typer.Argument(
            metavar="NOTEBOOK", help="A notebook with a cell tagged 'parameters', or the name of a chapter."
        ),
    ] = None,
    grid: Annotated[
        Path | None, typer.Option("--grid", metavar="FILE", help="The values to go through, as YAML.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Folder of the results; the same one to go on.")
    ] = None,
    workers: Annotated[
        int | None, typer.Option("--workers", metavar="N", help="Processes on this machine; one a core if not given.")
    ] = None,
    scheduler: Annotated[
        str | None,
        typer.Option(
            "--scheduler",
            metavar="ADDRESS",
            help="A running Dask scheduler instead, e.g. tls://10.0.0.1:8786, or its file. Whoever reaches one at "
            "tcp:// runs code as its owner.",
        ),
    ] = None,
    call: Annotated[
        str | None,
        typer.Option("--call", metavar="NAME", help="budget or simulate, called at each point instead of a notebook."),
    ] = None,
    scenario: Annotated[
        str | None, typer.Option("--scenario", metavar="SCENARIO", help="Of --call: a preset, or a scenario file.")
    ] = None,
    timeout: Annotated[
        float | None, typer.Option("--timeout", metavar="SECONDS", help="Longest time that one point may take.")
    ] = None,
    retry_failed: Annotated[bool, typer.Option("--retry-failed", help="Run points again that failed before.")] = False,
    fresh_kernels: Annotated[
        bool, typer.Option("--fresh-kernels", help="Start a kernel for each point, instead of forking a prepared one.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show the points, and how long they will take; one is run to know it.")
    ] = False,
    report: Annotated[bool, typer.Option("--report", help="Write report.html as well: table, charts, links.")] = False,
    as_json: JsonOption = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")] = False,
) -> None:
    """Run a notebook, or a function of the package, at every point of a grid.

    The grid maps parameters to a list of values, or to a range such as {from: 1024, to: 65536, count: 7, scale: log,
    multiple_of: 8}, and spans their product; blocks 'zip:' and 'points:' hold values that belong together. With --call,
    parameters are a scenario's fields, e.g. cluster.n_gpus.

    Each executed notebook is kept in DIR/points as soon as it is whole, and DIR/results.parquet has a row for each
    point with what the notebook handed to ettr.record(...). What is finished is not run again: after a crash the same
    command goes on. A failed point leaves its executed part, the others go on, and the exit status is 1.

    Example: ettr sweep scale --grid grid.yml --out scale-sweep --report
    """
    if (notebook is None) == (call is None):
        raise InputError("a sweep needs a notebook, or --call with the name of a function")
    if grid is None or out is None:
        missing = "--grid, the file with the values" if grid is None else "--out, the folder of the results"
        raise InputError(f"a sweep needs {missing}")
    if dry_run and scheduler is not None:
        raise InputError("--dry-run times a point on this machine: leave --scheduler out")
    from ettr.sweep import report as reporting
    from ettr.sweep import run_job

    job = _job(notebook, call, scenario, grid, timeout, fresh_kernels)
    if dry_run:
        _preview(job, out, workers, as_json)
        return
    started = time.monotonic()
    n_kept = 0
    with _progress(quiet) as tell:

        def on_progress(progress: Progress) -> None:
            nonlocal n_kept
            n_kept = progress.kept
            tell(progress)

        table = run_job(job, out, workers, scheduler, retry_failed, on_progress)
    page = reporting.write(job, table, out) if report else None
    failed = table[table["status"] == "failed"]
    summary = {
        "n_points": len(table),
        "n_done": int((table["status"] == "done").sum()),
        "n_failed": len(failed),
        "n_kept": n_kept,
        "seconds": round(time.monotonic() - started, 3),
        "table": str(out / "results.parquet"),
        "report": str(page) if page else None,
    }
    if as_json:
        failures = failed[["id", *job.columns, "error"]]
        terminal.write_json({**summary, "failures": failures})
    else:
        _print(summary, job, failed, retry_failed)
    if len(failed):
        raise typer.Exit(1)


def _job(
    notebook: Path | None, call: str | None, scenario: str | None, values: Path, timeout_s: float | None, fresh: bool
) -> SweepJob:
    """What is to be run, with every option checked."""
    from ettr.sweep import CallJob, NotebookJob, limit, load

    if timeout_s is not None and not timeout_s > 0:
        raise InputError(f"--timeout must be > 0 s, got {timeout_s:g}")
    grid = load(values, limit(call))
    if call is not None:
        for name, given in (("--timeout", timeout_s), ("--fresh-kernels", fresh)):
            if given:
                raise InputError(f"{name} is for notebooks, and has no place beside --call")
        return CallJob(call, scenario, grid)
    if scenario is not None:
        raise InputError("--scenario goes with --call; a notebook's scenario stands in the grid, as `scenario: rsc-1`")
    assert notebook is not None
    return NotebookJob(notebook, grid, timeout_s=timeout_s, fresh_kernels=fresh)


def _preview(job: SweepJob, out: Path, workers: int | None, as_json: bool) -> None:
    """Show the points and how long they would take."""
    from ettr.sweep import preview as previewed

    state = previewed(job, out, workers)
    counts = {name: int((state.table["status"] == name).sum()) for name in ("done", "failed", "open")}
    if as_json:
        summary = {"n_points": len(state.table), **counts, "point_s": state.point_s, "left_s": state.left_s}
        terminal.write_json({**summary, "points": state.table[["id", *job.columns, "status"]]})
        return
    columns = ["id", *(["name"] if "name" in state.table else []), *job.columns, "status"]
    cells = state.table[columns].map(_cell).to_numpy().tolist()
    if len(cells) > SHOWN_POINTS:
        cells[SHOWN_POINTS - 3 : -2] = [["..."] * len(columns)]
    terminal.render([Table(columns, cells, words=columns)])
    say = [
        f"{len(state.table):,} points: {counts['done']:,} done, {counts['failed']:,} failed, {counts['open']:,} open."
    ]
    if state.point_s is not None and state.left_s is not None:
        say.append(f"The first open one took {_seconds(state.point_s)} and is kept.")
        if counts["open"]:
            say.append(f"The rest will take about {_seconds(state.left_s)}.")
    elif counts["open"]:
        say.append("They are computed together, in seconds.")
    terminal.say(" ".join(say))


def _print(summary: dict[str, Any], job: SweepJob, failed: Any, retried: bool) -> None:
    parts = [f"{summary['n_done']:,} of {summary['n_points']:,} points done"]
    if summary["n_kept"]:
        parts.append(f"{summary['n_kept']:,} of them from before")
    if summary["n_failed"]:
        parts.append(f"{summary['n_failed']:,} failed")
    terminal.say(f"{', '.join(parts)}, in {_seconds(summary['seconds'])}.")
    for row in failed.head(SHOWN_FAILURES).to_dict("records"):
        where = ", ".join(f"{name} = {_cell(row[job.column(name)])}" for name in job.grid.parameters)
        error = sentences.cut(row["error"], SHOWN_ERROR)
        terminal.say(f"  failed at {where}: {error} ({row['notebook']})")
    if len(failed) > SHOWN_FAILURES:
        terminal.say(f"  and {len(failed) - SHOWN_FAILURES:,} more, as the table says")
    if len(failed) and summary["n_kept"] and not retried:
        terminal.say("Points that failed before are not run again without --retry-failed.")
    terminal.say(f"The table is at {shlex.quote(summary['table'])}")
    if summary["report"]:
        terminal.say(f"The report is at {shlex.quote(summary['report'])}")


def _cell(value: Any) -> str:
    return sentences.cut(str(value), SHOWN_VALUE)


def _seconds(value: float) -> str:
    return f"{value:.2g} s" if value < 1 else sentences.duration(value / 3600)


@contextmanager
def _progress(quiet: bool) -> Iterator[OnProgress]:
    """A bar on a terminal; elsewhere a line at the start, at the end, and every half minute."""
    last_s = -SAID_EVERY_S
    in_lines = not (quiet or sys.stderr.isatty())

    with terminal.progress(quiet, "points") as bar:

        def hear(progress: Progress) -> None:
            nonlocal last_s
            bar.step(_state(progress))
            bar.bytes(progress.done, progress.total)
            now_s = time.monotonic()
            if in_lines and (progress.done == progress.total or now_s - last_s >= SAID_EVERY_S):
                last_s = now_s
                terminal.say(f"[{progress.done}/{progress.total}] {_state(progress)}", err=True)

        yield hear


def _state(progress: Progress) -> str:
    """How it goes, in a line."""
    notes = [f"{progress.failed} failed"] if progress.failed else []
    if progress.threads == 0:
        notes.append("waiting for workers")
    return ", ".join(["points", *notes])
