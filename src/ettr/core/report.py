"""Answers, for machines as plain values and for people as a short report: headlines, tables and notes."""

from __future__ import annotations

import html
import math
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ettr.core.extras import MissingExtra

if TYPE_CHECKING:
    import pandas as pd


_LONGEST = 100
"""Signs of an answer in one line, its type aside."""
_DIM = ' style="opacity: 0.7"'
_BAR = "rgba(213, 94, 0, 0.35)"
"""Fill of a bar behind a name, on light and on dark."""


@dataclass(frozen=True)
class Headline:
    """A line that opens what follows.

    Attributes
    ----------
    text : str
        Plain text.
    apart : bool
        Whether an empty line stands before it in a terminal.
    """

    text: str
    apart: bool = False


@dataclass(frozen=True)
class Note:
    """A paragraph of plain text on one line.

    Attributes
    ----------
    text : str
        Plain text.
    dim : bool
        Whether it can be skipped.
    apart : bool
        Whether an empty line stands before it in a terminal.
    """

    text: str
    dim: bool = False
    apart: bool = False


@dataclass(frozen=True)
class Table:
    """Rows of text.

    Attributes
    ----------
    columns : sequence of str
        Titles. The first column names its rows and stands on the left; the others hold figures, on the right.
    rows : sequence of sequences of str
        A cell a column.
    title : str
        Above the columns; empty for none.
    words : collection of str
        Titles of further columns that hold words, on the left.
    total : bool
        Whether the last row sums up the others.
    bars : sequence of float
        For each row the share of its first cell that a page fills as a bar; empty for none.
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    title: str = ""
    words: Sequence[str] = ()
    total: bool = False
    bars: Sequence[float] = ()

    def is_left(self, column: int) -> bool:
        """Whether a column stands on the left."""
        return column == 0 or self.columns[column] in self.words

    def is_total(self, row: int) -> bool:
        """Whether a row sums up the others."""
        return self.total and row == len(self.rows) - 1


def table_of(rows: pd.DataFrame, cells: Mapping[str, str]) -> Table:
    """A table of a frame's rows: for each title a template over the frame's columns.

    Examples
    --------
    >>> import pandas as pd
    >>> table_of(pd.DataFrame({"id": ["first"], "ettr": [0.9]}), {"run": "{id}", "ETTR": "{ettr:.1%}"}).rows
    [['first', '90.0%']]
    """
    return Table(tuple(cells), [[cell.format_map(row) for cell in cells.values()] for row in rows.to_dict("records")])


Report = list[Headline | Note | Table]
"""What an answer says, in the order of reading."""


class Answer(ABC):
    """What answers a question: ``to_dict()`` for machines, ``report()`` for people, which a notebook shows as HTML."""

    @property
    @abstractmethod
    def headline(self) -> str:
        """What the answer is of, and the number that matters, in a few words."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Everything that matters, for JSON."""

    @abstractmethod
    def report(self) -> Report:
        """What a terminal and a notebook show."""

    def __repr__(self) -> str:
        return one_line(self, self.headline)

    def _repr_html_(self) -> str:
        try:
            return as_html(self.report())
        except MissingExtra as error:
            return as_html([Headline(self.headline), Note(str(error))])


def one_line(thing: object, headline: str) -> str:
    """A thing by its type and its headline, cut where it would fill more than a line."""
    words = " ".join(headline.split())
    return f"{type(thing).__name__}({words if len(words) <= _LONGEST else f'{words[: _LONGEST - 1]}…'})"


def as_html(report: Report) -> str:
    """A report as paragraphs and tables.

    Examples
    --------
    >>> print(as_html([Headline("a < b"), Note("Both are small.")]))
    <p><strong>a &lt; b</strong></p>
    <p>Both are small.</p>
    """
    return "\n".join(map(_section_html, report))


def _section_html(section: Headline | Note | Table) -> str:
    if isinstance(section, Headline):
        return f"<p><strong>{html.escape(section.text)}</strong></p>"
    if isinstance(section, Note):
        return f"<p{_DIM if section.dim else ''}>{html.escape(section.text)}</p>"
    caption = f"<caption>{html.escape(section.title)}</caption>" if section.title else ""
    rows = [
        _row_html(section, row, "th" if section.is_total(i) else "td", section.bars[i] if section.bars else 0.0)
        for i, row in enumerate(section.rows)
    ]
    head = f"<thead>{_row_html(section, section.columns, 'th')}</thead>"
    return "\n".join([f"<table>{caption}{head}<tbody>", *rows, "</tbody></table>"])


def _row_html(table: Table, cells: Sequence[str], tag: str, bar: float = 0.0) -> str:
    sides = ["text-align: left" if table.is_left(i) else "text-align: right" for i in range(len(cells))]
    if bar:
        sides[0] += f"; background: linear-gradient(to right, {_BAR} {100 * bar:.1f}%, transparent 0)"
    marked = (f'<{tag} style="{side}">{html.escape(cell)}</{tag}>' for side, cell in zip(sides, cells, strict=True))
    return f"<tr>{''.join(marked)}</tr>"


_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark }}
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 52rem; margin: 2rem auto; padding: 0 1rem }}
strong {{ font-size: 1.15em }}
table {{ border-collapse: collapse; margin: 1rem 0; display: block; overflow-x: auto }}
th, td {{ padding: 0.2rem 0.8rem 0.2rem 0.3rem; vertical-align: top; white-space: nowrap }}
td {{ font-variant-numeric: tabular-nums }}
thead th {{ border-bottom: 1px solid; font-weight: 600 }}
tr {{ break-inside: avoid; print-color-adjust: exact; -webkit-print-color-adjust: exact }}
@media print {{ body {{ margin: 0; font-size: 11pt }} }}
</style></head><body>
{body}
</body></html>
"""


def as_page(report: Report, title: str) -> str:
    """A report as a page of its own that needs nothing else: to print, or to send."""
    return _PAGE.format(title=html.escape(title), body=as_html(report))


def without_marks(text: str) -> str:
    r"""Markdown as plain text.

    Examples
    --------
    >>> without_marks(r"**gpu\_7** failed")
    'gpu_7 failed'
    """
    return re.sub(r"\\(\W|_)", r"\1", text.replace("**", ""))


def plain_values(value: Any) -> Any:
    """An answer as values that JSON has: tables as lists of rows, times as text, missing and infinite as None.

    Examples
    --------
    >>> import pandas as pd
    >>> plain_values({"ettr": np.float64(0.9), "mttf_h": math.inf, "ends": (1, pd.NaT)})
    {'ettr': 0.9, 'mttf_h': None, 'ends': [1, None]}
    """
    if type(value).__module__.startswith("pandas"):
        return _without_pandas(value)
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain_values(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain_values(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain_values(inner) for inner in value]
    if isinstance(value, np.ndarray):
        return plain_values(value.tolist())
    if isinstance(value, np.generic):
        return plain_values(value.item())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value


def _without_pandas(value: Any) -> Any:
    """Tables, and times, of which one may be missing; pandas is loaded where there are some, and for nothing else."""
    import pandas as pd

    if isinstance(value, pd.DataFrame):
        return [plain_values(row) for row in value.to_dict("records")]
    return None if value is pd.NaT else value.isoformat()
