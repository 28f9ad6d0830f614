"""Output that all commands share: messages, progress, and answers in words or as JSON."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import typer

from ettr.core.report import Answer, Headline, Note, Report, Table, plain_values
from ettr.core.sentences import printable

_COMPILES = "ettr: compiling the simulator (about 10 s, only on the first run after an installation or an update)"


def say(*lines: str, err: bool = False) -> None:
    """Print lines, without the control characters that names of files or columns may contain."""
    typer.echo("\n".join(map(printable, lines)), err=err)  # noqa: TID251


def warn(sentences: Iterable[str]) -> None:
    """Print warnings on standard error."""
    for sentence in sentences:
        say(f"ettr: warning: {sentence}", err=True)


class Steps:
    """Progress on standard error: the name of a step, and how much of it is done, e.g. bytes of a file."""

    def __init__(self, bar: Any = None, first: str = "") -> None:
        self._bar = bar
        self._task = bar.add_task(first, total=None) if bar else None

    def bytes(self, done: int, total: int) -> None:
        if self._bar:
            self._bar.update(self._task, completed=done, total=total)

    def step(self, name: str) -> None:
        if self._bar:
            self._bar.update(self._task, description=printable(name))


@contextmanager
def progress(quiet: bool, first: str = "reading") -> Iterator[Steps]:
    """Show a progress bar on standard error, starting with the name of a step; none if that is no terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    if quiet or not sys.stderr.isatty():
        yield Steps()
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        yield Steps(bar, first)


@contextmanager
def compiling_said(quiet: bool) -> Iterator[None]:
    """Print on standard error that the simulator is being compiled, when that happens."""
    from ettr.simulation.compile_notice import on_compiling

    with on_compiling(lambda: None if quiet else say(_COMPILES, err=True)):
        yield


@contextmanager
def simulating(first: str, unit: str, quiet: bool, as_json: bool = False) -> Iterator[Callable[[int, int], None]]:
    """Show the progress of simulations; yield the function that takes how many are done, and of how many."""
    with progress(quiet or as_json, first) as report, compiling_said(quiet):

        def on_progress(done: int, total: int) -> None:
            report.step(f"{done:,} of {total:,} {unit}")
            report.bytes(done, total)

        yield on_progress


@contextmanager
def stopped_with(text: str) -> Iterator[None]:
    """Print a text on standard error after Ctrl-C, and exit with the status that shells expect."""
    try:
        yield
    except KeyboardInterrupt:
        say(f"ettr: {text}", err=True)
        raise typer.Exit(130) from None


def _console() -> Any:
    """Return standard output, as wide as the terminal, or 110 columns if it is none."""
    from rich.console import Console

    return Console(highlight=False, emoji=False, width=None if sys.stdout.isatty() else 110)


_WHOLE_WORDS = 30
"""Longest name that is not broken in a table."""


_BREAKABLE = 4
"""Characters by which a table may exceed the screen, because a figure can break before its unit."""


def show(command: str, answer: Answer, as_json: bool, extra: Mapping[str, Any], report: Report | None = None) -> None:
    """Show an answer as JSON, with more keys, or in words: its own report or a longer one."""
    if as_json:
        write_json(command, {**answer.to_dict(), **extra})
    else:
        render(report or answer.report(), extra.get("changes", {}))


def write_json(command: str, record: Mapping[str, Any]) -> None:
    """Write the answer of a command as JSON, with the name and version of its schema first.

    The version rises when a key of any answer is renamed, removed or changes its meaning.
    """
    versioned = {"schema": f"ettr/{command}/1", **record}
    typer.echo(json.dumps(plain_values(versioned), indent=2, allow_nan=False))  # noqa: TID251 (ASCII, all else escaped)


def render(report: Report, changes: Mapping[str, Any] = MappingProxyType({})) -> None:
    """Write a report to the terminal, the fields that ``--set`` changes below its first line."""
    from rich.text import Text

    out = _console()
    whole = not out.is_terminal  # for what reads line by line
    changed = [Note(f"  {path} = {'null' if value is None else value}") for path, value in changes.items()]
    for section in [*report[:1], *changed, *report[1:]]:
        if isinstance(section, Table):
            fitting, below = _fitting(section, out.width)
            out.print(_table(fitting))
            for line in below:
                out.print(Text(printable(line), style="dim"))
            continue
        style = "bold" if isinstance(section, Headline) else "dim" if section.dim else ""
        gap = "\n" if section.apart else ""
        out.print(Text(f"{gap}{printable(section.text)}", style=style), soft_wrap=whole)


def _fitting(table: Table, width: int) -> tuple[Table, list[str]]:
    """Return the table without the text columns that a narrow screen would cut, and a line for each of these."""
    columns, rows, below = list(table.columns), [list(row) for row in table.rows], []
    cut = [name for name in table.columns[1:] if name in table.words]

    def least() -> int:
        """Width of the table if names and titles are broken at spaces and figures are not."""
        widths = [max(len(word) for row in rows for word in [*row[0].split(), ""])] if rows else []
        for title, *column in list(zip(columns, *rows, strict=True))[1:]:
            widths.append(max(*map(len, title.split()), *map(len, column), 0))
        return sum(widths) + 2 * len(widths)

    while cut and least() > width + _BREAKABLE:
        i = columns.index(cut.pop())
        cells = [(row[0].split()[0] if row[0].split() else "", row.pop(i)) for row in rows]
        below.append(f"{columns.pop(i)}: {'; '.join(f'{name} {cell}' for name, cell in cells if cell)}")
    return replace(table, columns=columns, rows=rows, words=[name for name in table.words if name in columns]), below


def _table(table: Table) -> Any:
    from rich.table import Table as View
    from rich.text import Text

    cells = [[Text(printable(cell)) for cell in row] for row in table.rows]
    longest = max((len(word) for row in cells for word in row[0].plain.split()), default=0)
    title = Text(printable(table.title)) if table.title else None
    view = View(box=None, pad_edge=False, title=title, title_justify="left", title_style="bold")
    for i, name in enumerate(table.columns):
        least: Any = {"overflow": "fold", "min_width": min(longest, _WHOLE_WORDS)} if i == 0 else {}
        view.add_column(Text(printable(name)), justify="left" if table.is_left(i) else "right", **least)
    for i, row in enumerate(cells):
        view.add_row(*row, style="bold" if table.is_total(i) else "")
    return view
