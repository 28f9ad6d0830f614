"""What the command line shows: answers as text and tables, and progress on long work."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


class Report:
    """Progress on standard error: bytes of the file, then the steps of the fit."""

    def __init__(self, bar: Any = None) -> None:
        self._bar = bar
        self._task = bar.add_task("reading", total=None) if bar else None

    def bytes(self, done: int, total: int) -> None:
        if self._bar:
            self._bar.update(self._task, completed=done, total=total)

    def step(self, name: str) -> None:
        if self._bar:
            self._bar.update(self._task, description=name)


@contextmanager
def progress(quiet: bool) -> Iterator[Report]:
    """A bar on standard error; none if that is no terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    if quiet or not sys.stderr.isatty():
        yield Report()
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f}%"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        yield Report(bar)


def console() -> Any:
    """Standard output, as wide as the terminal; 110 columns where there is none."""
    from rich.console import Console

    return Console(highlight=False, emoji=False, width=None if sys.stdout.isatty() else 110)


def print_fit(fitted: Any, answer: Any, written: Path | None) -> None:
    """Show what a log says: what was read, the rate, each verdict, and the plan."""
    from rich.text import Text

    from ettr import findings

    out, log, say = console(), fitted.log, findings.failure_log

    def section(title: str, *texts: str) -> None:
        said = "".join(f"\n{_from_markdown(text)}" for text in texts)
        out.print(Text.assemble("\n", (title, "bold"), said), soft_wrap=True)

    out.print(Text.assemble((printable(log.source), "bold"), f" ({log.format})"), soft_wrap=True)
    out.print(Text(_from_markdown(say.answer(fitted, answer).text)), soft_wrap=True)
    section("What was read", say.reading(fitted).text)
    section("Failure rate", say.rate(fitted).text)
    columns = {"n_events": "failures", "share": "share", "rate": "per 1000 node-days", "interval": "95% if independent"}
    for name, table in {"component": fitted.components, fitted.split: fitted.cohorts}.items():
        if table is not None and len(table) > 1:
            out.print(_table(name, columns, say.rate_rows(table)))
    rules = {
        "n_incidents": "incidents",
        "rate": "per 1000 node-days",
        "shape": "Weibull shape",
        "best": "best fit",
        "p": "memoryless",
    }
    section("Times between failures")
    out.print(_table("merged", rules, say.rule_rows(fitted)))
    for verdict in say.verdicts(fitted):
        section(verdict.title, verdict.text)
    section("Repairs", say.repairs(fitted).text, say.lives(fitted).text)
    section(f"Next {findings.duration(24 * say.horizon_d(fitted))}", say.forecast(fitted).text)
    section("Plan", say.plan(answer).text, say.trust(answer).text)
    if written:
        path = printable(str(written))
        out.print(Text(f"\nThe scenario is at {path}: ettr plan {shlex.quote(path)}"), soft_wrap=True)


def _table(first: str | None, columns: dict[str, str], rows: list[dict[str, str]]) -> Any:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, title_justify="left")
    table.add_column(Text(printable(str(first))), overflow="fold")
    for title in columns.values():
        table.add_column(title, justify="right")
    for row in rows:
        table.add_row(*(Text(printable(row[key])) for key in ("name", *columns)))
    return table


def printable(text: str) -> str:
    """Text of a log without control characters; as ``rich.Text`` none of its brackets means anything."""
    return "".join(sign if sign.isprintable() or sign == "\n" else "?" for sign in text)


def _from_markdown(text: str) -> str:
    """A finding without the signs of Markdown."""
    return printable(re.sub(r"\\(\W|_)", r"\1", text.replace("**", "")))


def print_plan(answer: Any, changes: dict[str, Any]) -> None:
    from rich.table import Table

    from ettr import findings

    out, run = console(), answer.scenario
    out.print(f"[bold]{run.title}[/bold]", *(f"{path} = {value}" for path, value in changes.items()), sep="\n  ")
    for line in findings.effective_time.plan_lines(answer):
        out.print(line, soft_wrap=True)
    columns = {f"best interval, {findings.duration(answer.best.interval_h)}": answer.budget}
    if answer.budget_as_given:
        columns[f"as given, {findings.duration(run.interval_h)}"] = answer.budget_as_given
    table = Table(box=None, pad_edge=False, title="Time budget", title_justify="left", title_style="bold")
    table.add_column("part")
    for name in columns:
        table.add_column(name, justify="right")
        table.add_column("", justify="right")
    frames = [hours.to_frame() for hours in columns.values()]
    for rows in zip(*(frame.itertuples() for frame in frames), strict=True):
        if any(row.hours > 0 for row in rows):
            table.add_row(rows[0].part, *(cell for row in rows for cell in (f"{row.hours:,.1f} h", f"{row.share:.1%}")))
    totals = [cell for hours in columns.values() for cell in (f"{hours.total_h:,.1f} h", "")]
    table.add_row("total", *totals, style="bold")
    out.print(table)
    out.print(findings.effective_time.assumptions(run), style="dim", soft_wrap=True)
