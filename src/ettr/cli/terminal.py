"""What commands share in the terminal: progress, tables, and text that any terminal can show."""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import typer

COMPILES = "ettr: after an installation or an update the simulator is compiled first, for about a minute"


class Report:
    """Progress on standard error: bytes of a file, runs of a simulation, scenarios, or the name of a step."""

    def __init__(self, bar: Any = None, first: str = "") -> None:
        self._bar = bar
        self._task = bar.add_task(first, total=None) if bar else None

    def bytes(self, done: int, total: int) -> None:
        if self._bar:
            self._bar.update(self._task, completed=done, total=total)

    def runs(self, done: int, total: int) -> None:
        self.step(f"{done:,} of {total:,} runs")
        self.bytes(done, total)

    def scenarios(self, done: int, total: int) -> None:
        self.step(f"{done:,} of {total:,} scenarios")
        self.bytes(done, total)

    def step(self, name: str) -> None:
        if self._bar:
            self._bar.update(self._task, description=name)


@contextmanager
def progress(quiet: bool, first: str = "reading") -> Iterator[Report]:
    """A bar on standard error, with the name of its first step; none if that is no terminal."""
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
        yield Report(bar, first)


@contextmanager
def said_if_late(text: str, quiet: bool, after_s: float = 5.0) -> Iterator[Callable[[], None]]:
    """Say this on standard error unless, before so many seconds, what is yielded is called or all is over."""
    timer = threading.Timer(after_s, typer.echo, [text], {"err": True})
    timer.daemon = True
    if not quiet:
        timer.start()
    try:
        yield timer.cancel
    finally:
        timer.cancel()


@contextmanager
def stopped_with(text: str) -> Iterator[None]:
    """Say this on standard error when Ctrl-C is pressed, and end with the status that shells expect."""
    try:
        yield
    except KeyboardInterrupt:
        typer.echo(f"ettr: {text}", err=True)
        raise typer.Exit(130) from None


def console() -> Any:
    """Standard output, as wide as the terminal; 110 columns where there is none."""
    from rich.console import Console

    return Console(highlight=False, emoji=False, width=None if sys.stdout.isatty() else 110)


_WHOLE_WORDS = 30
"""Longest name that is not broken in a table."""


def table(first: str | None, columns: dict[str, str], rows: list[dict[str, str]]) -> Any:
    """Rows by the keys ``name`` and those of ``columns``, whose values are the titles."""
    from rich.table import Table
    from rich.text import Text

    view = Table(box=None, pad_edge=False, title_justify="left")
    longest = max((len(word) for row in rows for word in row["name"].split()), default=0)
    view.add_column(Text(printable(str(first))), overflow="fold", min_width=min(longest, _WHOLE_WORDS))
    for title in columns.values():
        view.add_column(title, justify="right")
    for row in rows:
        view.add_row(*(Text(printable(row[key])) for key in ("name", *columns)))
    return view


def printable(text: str) -> str:
    """Text of a log without control characters; as ``rich.Text`` none of its brackets means anything."""
    return "".join(sign if sign.isprintable() or sign == "\n" else "?" for sign in text)


def from_markdown(text: str) -> str:
    """A finding without the signs of Markdown."""
    return printable(re.sub(r"\\(\W|_)", r"\1", text.replace("**", "")))
