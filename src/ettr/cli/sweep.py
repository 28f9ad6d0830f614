"""``ettr sweep``: run a notebook or a function of the package at every point of a grid."""

from __future__ import annotations

import functools
import math
import shlex
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ettr.cli import completion, terminal
from ettr.cli.options import JsonOption, QuietOption
from ettr.core import sentences
from ettr.core.errors import InputError
from ettr.core.report import Table

if TYPE_CHECKING:
    from ettr.sweep import OnProgress, Progress, SweepJob

SHOWN_POINTS = 12
SHOWN_FAILURES = 8
SHOWN_VALUE, SHOWN_ERROR = 80, 500
PRINTED_EVERY_S = 30.0


@terminal.stopped_with("stopped; finished points are kept, and the same command resumes")
def sweep(
    notebook: Annotated[
        Path | None,
        typer.Argument(
            metavar="NOTEBOOK", help="A notebook with a cell tagged 'parameters', or the name of a chapter."
        ),
    ] = None,
    grid: Annotated[Path | None, typer.Option("--grid", metavar="FILE", help="YAML file with the values.")] = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Folder of the results; an existing one is resumed.")
    ] = None,
    workers: Annotated[
        int | None, typer.Option("--workers", metavar="N", help="Processes on this machine.  [default: one per core]")
    ] = None,
    scheduler: Annotated[
        str | None,
        typer.Option(
            "--scheduler",
            metavar="ADDRESS",
            help="Use a running Dask scheduler, e.g. tls://10.0.0.1:8786, or its file. With tcp://, everybody who can "
            "reach it can run code as its owner.",
        ),
    ] = None,
    call: Annotated[
        str | None,
        typer.Option(
            "--call",
            metavar="NAME",
            help="Call budget or simulate at each point, instead of a notebook.",
            autocompletion=lambda: ["budget", "simulate"],
        ),
    ] = None,
    scenario: Annotated[
        str | None,
        typer.Option(
            "--scenario",
            metavar="SCENARIO",
            help="Preset or scenario file for --call.",
            autocompletion=completion.scenarios,
        ),
    ] = None,
    timeout: Annotated[
        float | None, typer.Option("--timeout", metavar="S", help="Longest time that one point may take.")
    ] = None,
    retry_failed: Annotated[bool, typer.Option("--retry-failed", help="Run points again that failed before.")] = False,
    fresh_kernels: Annotated[
        bool, typer.Option("--fresh-kernels", help="Start a new kernel per point, instead of forking a prepared one.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="List the points and estimate the time; runs one point to measure it.")
    ] = False,
    report: Annotated[bool, typer.Option("--report", help="Also write report.html: table, charts, links.")] = False,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Run a notebook, or a function of the package, at every point of a parameter grid.

    The grid file maps each parameter to a list of values, or to a range such as {from: 1024, to: 65536, count: 7,
    scale: log, multiple_of: 8}; the sweep covers all combinations. The blocks 'zip:' and 'points:' have values that
    belong together. With --call, the parameters are fields of a scenario, e.g. cluster.n_gpus.

    DIR/points keeps each notebook as soon as it is finished. DIR/results.parquet has one row per point, with the values
    that the notebook passed to ettr.record(...). The same command resumes after a stop and skips finished points. If a
    point fails, its notebook ends at the failure, and the other points still run. A point whose process is killed, for
    example when memory runs out, stays open, and the same command runs it again.

    Exit status: 0 all points done; 1 a point failed or was killed, or an extra is not installed; 2 input refused; 130
    stopped with Ctrl-C.

    Example: ettr sweep scale --grid grid.yml --out scale-sweep --report

    Example: ettr sweep --call budget --scenario mine.yml --grid fields.yml --out budgets
    """
    if (notebook is None) == (call is None):
        raise InputError("sweep needs a notebook, or --call with budget or simulate")
    if grid is None or out is None:
        missing = "--grid, the file with the values" if grid is None else "--out, the folder for the results"
        raise InputError(f"sweep needs {missing}")
    if dry_run and scheduler is not None:
        raise InputError("--dry-run measures a point on this machine; drop --scheduler")
    from ettr.sweep import report as reporting
    from ettr.sweep import run_job

    job = _job(notebook, call, scenario, grid, timeout, fresh_kernels)
    if dry_run:
        _preview(job, out, workers, as_json)
        return
    started = time.monotonic()
    n_kept = 0
    with _progress(quiet) as show:

        def on_progress(progress: Progress) -> None:
            nonlocal n_kept
            n_kept = progress.kept
            show(progress)

        table = run_job(job, out, workers, scheduler, retry_failed, on_progress)
    page = reporting.write(job, table, out) if report else None
    failed, killed = table[table["status"] == "failed"], table[table["status"] == "open"]
    summary = {
        "n_points": len(table),
        "n_done": int((table["status"] == "done").sum()),
        "n_failed": len(failed),
        "n_killed": len(killed),
        "n_kept": n_kept,
        "seconds": round(time.monotonic() - started, 3),
        "table": str(out / "results.parquet"),
        "report": str(page) if page else None,
    }
    if as_json:
        columns = ["id", *job.columns, "error"]
        terminal.write_json("sweep", {**summary, "failures": failed[columns], "killed": killed[columns]})
    else:
        _print(summary, job, failed, killed, retry_failed)
    if len(failed) or len(killed):
        raise typer.Exit(1)


def _job(
    notebook: Path | None, call: str | None, scenario: str | None, values: Path, timeout_s: float | None, fresh: bool
) -> SweepJob:
    """Return the job of a sweep, with every option checked."""
    from ettr.sweep import CallJob, NotebookJob, limit, load

    if timeout_s is not None and not timeout_s > 0:
        raise InputError(f"--timeout must be > 0 s, got {timeout_s:g}")
    grid = load(values, functools.partial(limit, call, scenario))
    if call is not None:
        for name, value in (("--timeout", timeout_s), ("--fresh-kernels", fresh)):
            if value:
                raise InputError(f"{name} is for notebooks, and conflicts with --call")
        return CallJob(call, scenario, grid)
    if scenario is not None:
        raise InputError("--scenario needs --call; for a notebook, add `scenario: rsc-1` to the grid file")
    assert notebook is not None
    return NotebookJob(notebook, grid, timeout_s=timeout_s, fresh_kernels=fresh)


def _preview(job: SweepJob, out: Path, workers: int | None, as_json: bool) -> None:
    """Show the points, and how long they would take."""
    from ettr.sweep import preview as previewed

    state = previewed(job, out, workers)
    counts = {name: int((state.table["status"] == name).sum()) for name in ("done", "failed", "open")}
    if as_json:
        summary = {"n_points": len(state.table), **counts, "point_s": state.point_s, "left_s": state.left_s}
        terminal.write_json("sweep-dry-run", {**summary, "points": state.table[["id", *job.columns, "status"]]})
        return
    columns = ["id", *(["name"] if "name" in state.table else []), *job.columns, "status"]
    cells = state.table[columns].map(_cell).to_numpy().tolist()
    if len(cells) > SHOWN_POINTS:
        cells[SHOWN_POINTS - 3 : -2] = [["..."] * len(columns)]
    terminal.render([Table(columns, cells, words=columns)])
    lines = [
        f"{len(state.table):,} points: {counts['done']:,} done, {counts['failed']:,} failed, {counts['open']:,} open."
    ]
    if state.point_s is not None and state.left_s is not None:
        lines.append(f"The first open point took {_seconds(state.point_s)} and is kept.")
        if counts["open"]:
            lines.append(f"The rest will take about {_seconds(state.left_s)}.")
    elif counts["open"]:
        lines.append("They are computed together, in seconds.")
    terminal.say(" ".join(lines))


def _print(summary: dict[str, Any], job: SweepJob, failed: Any, killed: Any, retried: bool) -> None:
    parts = [f"{summary['n_done']:,} of {summary['n_points']:,} points done"]
    if summary["n_kept"]:
        parts.append(f"{summary['n_kept']:,} kept from before")
    if summary["n_failed"]:
        parts.append(f"{summary['n_failed']:,} failed")
    if summary["n_killed"]:
        parts.append(f"{summary['n_killed']:,} killed")
    terminal.say(f"{', '.join(parts)}, in {_seconds(summary['seconds'])}.")
    for word, rows in (("failed", failed), ("killed", killed)):
        for row in rows.head(SHOWN_FAILURES).to_dict("records"):
            where = ", ".join(f"{name} = {_cell(row[job.column(name)])}" for name in job.grid.parameters)
            file = f" ({row['notebook']})" if row["notebook"] else ""
            terminal.say(f"  {word} at {where}: {sentences.cut(row['error'], SHOWN_ERROR)}{file}")
        if len(rows) > SHOWN_FAILURES:
            terminal.say(f"  and {len(rows) - SHOWN_FAILURES:,} more (see the table)")
    if len(failed) and summary["n_kept"] and not retried:
        terminal.say("Add --retry-failed to run points again that failed before.")
    terminal.say(f"The table is at {shlex.quote(summary['table'])}")
    if summary["report"]:
        terminal.say(f"The report is at {shlex.quote(summary['report'])}")


def _cell(value: Any) -> str:
    return sentences.cut(str(value), SHOWN_VALUE)


def _seconds(value: float) -> str:
    return f"{value:.2g} s" if value < 1 else sentences.duration(value / 3600)


@contextmanager
def _progress(quiet: bool) -> Iterator[OnProgress]:
    """Show a bar on a terminal; elsewhere a line at the start, at the end, and every half minute if it changed."""
    printed_s, printed = -math.inf, ""
    in_lines = not (quiet or sys.stderr.isatty())

    with terminal.progress(quiet, "points") as bar:

        def show(progress: Progress) -> None:
            nonlocal printed_s, printed
            bar.step(_state(progress))
            bar.bytes(progress.done, progress.total)
            line = f"[{progress.done}/{progress.total}] {_state(progress)}"
            is_due = progress.done == progress.total or time.monotonic() - printed_s >= PRINTED_EVERY_S
            if in_lines and is_due and line != printed:
                printed_s, printed = time.monotonic(), line
                terminal.say(line, err=True)

        yield show


def _state(progress: Progress) -> str:
    """Return the progress in a few words."""
    notes = [f"{progress.failed} failed"] if progress.failed else []
    if progress.threads == 0:
        notes.append("waiting for workers")
    return ", ".join(["points", *notes])
