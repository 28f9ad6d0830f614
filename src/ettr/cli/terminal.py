"""Output that all commands share: messages, progress, and answers in words or as JSON."""

from __future__ import annotations

import ast
import json
import re
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import typer

from ettr.core.report import Answer, Headline, Note, Report, Table, plain_values
from ettr.core.sentences import printable
from ettr.core.yaml_files import inline

_COMPILES = "ettr: compiling the simulator (about 10 s, once per installation or update)"


def say(*lines: str, err: bool = False) -> None:
    """Print lines, without the control characters that names of files or columns may contain."""
    typer.echo("\n".join(map(printable, lines)), err=err)  # noqa: TID251


_SAME_NAMES = ("window", "zone", "year", "time_unit", "where", "down", "up", "failure_severity", "planned", "split")
_OPTIONS = {"n_nodes": "--nodes", "columns": "--map", "header": "--columns"} | {
    name: f"--{name.replace('_', '-')}" for name in (*_SAME_NAMES, "inventory", "encoding", "format", "until", "step_s")
}
"""Parameters of the readers of logs, with the options of the command for them."""
_CALLS = {
    "`details()`": "`--details`",
    "`to_dict()`": "`--json`",
    "`override()`": "`--set`",
    "`as_given=True`": "`--as-given`",
    "`simulate=False`": "`--quick`",
}
"""Calls and arguments in answers of the library, with the options of the command for them."""
_PARAMETER = re.compile(rf"`({'|'.join(_OPTIONS)})(?:=([^`]*))?`")


def with_options(text: str) -> str:
    """Return a message of the library with the options of the command in place of parameters.

    Examples
    --------
    >>> with_options('give `n_nodes`, or name the columns: `columns={"start": "opened_at", "node": "host"}`')
    'give --nodes, or name the columns: --map start=opened_at node=host'
    """

    def option(match: re.Match[str]) -> str:
        name, value = _OPTIONS[match[1]], match[2]
        if value is None:
            return name
        parsed = ast.literal_eval(value)
        parsed = ",".join(parsed) if isinstance(parsed, list) else parsed
        pairs = parsed.items() if isinstance(parsed, dict) else ()
        return f"{name} {' '.join(shlex.quote(f'{key}={text}') for key, text in pairs) or shlex.quote(str(parsed))}"

    for call, flag in _CALLS.items():
        text = text.replace(call, flag)
    return _PARAMETER.sub(option, text)


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


_LONGEST_WORD = 30
"""A longer word in a table is broken."""
_GAP = 2
"""Spaces between two columns."""
_NARROW, _MOST_COLUMNS = 80, 4
"""On a screen narrower than this, tables with more columns are shown as blocks of lines."""


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
    """Write a report to the terminal, with the fields changed by ``--set`` below its first line."""
    from rich.padding import Padding
    from rich.text import Text

    out = _console()
    changed = [Note(f"  {path} = {inline(value)}") for path, value in changes.items()]
    for section in [*report[:1], *changed, *report[1:]]:
        if isinstance(section, Table):
            rows = _merged(section)
            widths = None if out.width < _NARROW and len(section.columns) > _MOST_COLUMNS else _widths(rows, out.width)
            for part in _blocks(section) if widths is None else [_row_table(rows, widths)]:
                out.print(part)
            continue
        style = "bold" if isinstance(section, Headline) else "dim" if section.dim else ""
        text = printable(with_options(section.text))
        if section.apart:
            out.print()
        indent = len(text) - len(text.lstrip(" "))
        if indent and out.is_terminal:  # all lines of the paragraph are indented
            out.print(Padding(Text(text.lstrip(" "), style=style), (0, 0, 0, indent), expand=False))
        else:  # programs that read the output line by line need unbroken paragraphs
            out.print(Text(text, style=style), soft_wrap=not out.is_terminal)


def _merged(table: Table) -> Table:
    """Return the table with each column that has no heading joined to the one before, aligned, as one column."""
    columns: list[str] = []
    cells: list[list[str]] = []
    for i, (heading, *texts) in enumerate(zip(table.columns, *table.rows, strict=True)):
        column = [printable(text) for text in texts]
        if i > 1 and not heading:
            widths = [max(map(len, part), default=0) for part in (cells[-1], column)]
            pairs = zip(cells[-1], column, strict=True)
            cells[-1] = [f"{first:>{widths[0]}}{'':{_GAP}}{second:>{widths[1]}}" for first, second in pairs]
        else:
            columns.append(printable(heading))
            cells.append(column)
    return replace(table, columns=columns, rows=list(zip(*cells, strict=True)))


def _widths(table: Table, screen: int) -> list[int] | None:
    """Return the width of each column; None if the table does not fit without breaking figures or words.

    Names, words and headings may be broken at spaces. Free space goes, a character at a time, to the column that is
    most compressed: first until no cell is broken, then until no heading is.
    """
    columns = list(zip(table.columns, *table.rows, strict=True))
    widths = []
    for i, (heading, *cells) in enumerate(columns):
        unbroken = [heading, *cells] if table.is_left(i) else [heading]
        longest_word = max((len(word) for text in unbroken for word in text.split()), default=0)
        widths.append(max([min(longest_word, _LONGEST_WORD), *(len(cell) for cell in cells if not table.is_left(i))]))
    free = screen - sum(widths) - _GAP * (len(widths) - 1)
    if free < 0:
        return None
    for full in ([max([0, *map(len, cells)]) for _, *cells in columns], [max(map(len, texts)) for texts in columns]):
        while free and any(width < enough for width, enough in zip(widths, full, strict=True)):
            i = max(range(len(widths)), key=lambda i: full[i] / max(widths[i], 1))
            widths[i] += 1
            free -= 1
    return widths


def _row_table(table: Table, widths: list[int]) -> Any:
    """Return a table with a line per row, or several where cells are broken at spaces."""
    from rich.table import Table as View
    from rich.text import Text

    title = Text(printable(table.title)) if table.title else None
    view = View(box=None, pad_edge=False, title=title, title_justify="left", title_style="bold")
    for i, (name, width) in enumerate(zip(table.columns, widths, strict=True)):
        justify: Any = "left" if table.is_left(i) else "right"
        view.add_column(Text(name), justify=justify, width=width, overflow="fold")
    for i, row in enumerate(table.rows):
        view.add_row(*map(Text, row), style="bold" if table.is_total(i) else "")
    return view


def _blocks(table: Table) -> Iterator[Any]:
    """Return a table as a block of lines per row: its name, and "heading: cell" for each other cell.

    A column without a heading continues the one before.
    """
    from rich.padding import Padding
    from rich.text import Text

    for heading in filter(None, (table.title, table.columns[0])):
        yield Text(printable(heading), style="bold")
    for i, (name, *cells) in enumerate(table.rows):
        style = "bold" if table.is_total(i) else ""
        lines: list[str] = []
        for heading, cell in zip(table.columns[1:], cells, strict=True):
            if heading or not lines:
                lines.append(f"{heading}: {cell}" if heading and cell else cell)
            elif cell:
                lines[-1] += f", {cell}"
        yield Text(printable(name), style=style)
        for line in filter(None, lines):
            yield Padding(Text(printable(line), style=style), (0, 0, 0, 4), expand=False)
