"""Answers: values for JSON, and reports of headlines, tables and notes for a terminal, a notebook or a page."""

from __future__ import annotations

import html
import math
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import TYPE_CHECKING, Any

from ettr.core.extras import MissingExtra

if TYPE_CHECKING:
    import pandas as pd


_LONGEST = 100
"""Longest headline in the repr of an answer, in characters."""
_DIM = ' style="opacity: 0.7"'
_BAR = "rgba(213, 94, 0, 0.35)"
"""Colour of a bar behind a name, for light and dark pages."""


@dataclass(frozen=True)
class Headline:
    """A heading in a report.

    Attributes
    ----------
    text : str
        The heading.
    apart : bool
        Whether a terminal shows an empty line before it.

    Examples
    --------
    >>> as_html([Headline("Details")])
    '<p><strong>Details</strong></p>'
    """

    text: str
    apart: bool = False


@dataclass(frozen=True)
class Note:
    """A paragraph of text in a report.

    Attributes
    ----------
    text : str
        The paragraph.
    dim : bool
        Whether it is less important than the rest.
    apart : bool
        Whether a terminal shows an empty line before it.

    Examples
    --------
    >>> as_html([Note("Both are small.")])
    '<p>Both are small.</p>'
    """

    text: str
    dim: bool = False
    apart: bool = False


@dataclass(frozen=True)
class Table:
    """A table of text in a report.

    Attributes
    ----------
    columns : sequence of str
        Headings. The first column has the names of the rows and is left-aligned; the others are numbers, right-aligned.
        A column with an empty heading continues the one before.
    rows : sequence of sequences of str
        Cells of each row.
    title : str
        Title above the columns; empty for none.
    words : collection of str
        Headings of further columns that are text, left-aligned.
    total : bool
        Whether the last row is the sum of the others.
    bars : sequence of float
        Length of the bar behind the first cell of each row, in [0, 1]; empty for none.

    Examples
    --------
    >>> table = Table(("part", "hours", "kind"), [("restarts", "16 h", "lost"), ("total", "16 h", "")], total=True)
    >>> table.is_left(1), table.is_total(1)
    (False, True)
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    title: str = ""
    words: Sequence[str] = ()
    total: bool = False
    bars: Sequence[float] = ()

    def is_left(self, column: int) -> bool:
        """Return whether a column is left-aligned."""
        return column == 0 or self.columns[column] in self.words

    def is_total(self, row: int) -> bool:
        """Return whether a row is the sum of the others."""
        return self.total and row == len(self.rows) - 1


def table_of(rows: pd.DataFrame, cells: Mapping[str, str]) -> Table:
    """Return a table from a DataFrame: a heading and a template over the frame's columns for each column.

    Examples
    --------
    >>> import pandas as pd
    >>> table_of(pd.DataFrame({"id": ["first"], "ettr": [0.9]}), {"run": "{id}", "ETTR": "{ettr:.1%}"}).rows
    [['first', '90.0%']]
    """
    return Table(tuple(cells), [[cell.format_map(row) for cell in cells.values()] for row in rows.to_dict("records")])


Report = list[Headline | Note | Table]
"""The sections of an answer, in reading order."""


class Answer(ABC):
    """Base class of answers: ``to_dict()`` gives values for JSON, ``report()`` the text that notebooks show as HTML."""

    @property
    @abstractmethod
    def headline(self) -> str:
        """The subject of the answer and its most important number, in a few words."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Return all results for JSON."""

    @abstractmethod
    def report(self) -> Report:
        """Return the sections that a terminal or a notebook shows."""

    def __repr__(self) -> str:
        return one_line(self, self.headline)

    def _repr_html_(self) -> str:
        try:
            return as_html(self.report())
        except MissingExtra as error:
            return as_html([Headline(self.headline), Note(str(error))])


def one_line(thing: object, headline: str) -> str:
    """Return the type and the headline of an object in at most one line."""
    words = " ".join(headline.split())
    return f"{type(thing).__name__}({words if len(words) <= _LONGEST else f'{words[: _LONGEST - 1]}…'})"


def as_html(report: Report) -> str:
    """Return a report as HTML paragraphs and tables.

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
    """Return a report as a self-contained HTML page, to print or to send."""
    return _PAGE.format(title=html.escape(title), body=as_html(report))


def without_marks(text: str) -> str:
    r"""Return Markdown as plain text.

    Examples
    --------
    >>> without_marks(r"**gpu\_7** failed")
    'gpu_7 failed'
    """
    return re.sub(r"\\(\W|_)", r"\1", text.replace("**", ""))


def plain_values(value: Any) -> Any:
    """Return values as JSON has them: tables as lists of rows, times as text, missing and infinite numbers as None.

    Examples
    --------
    >>> import numpy as np, pandas as pd
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
    if type(value).__module__ == "numpy":  # an array or a number, without loading NumPy for an answer without them
        return plain_values(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value


def _without_pandas(value: Any) -> Any:
    """Return pandas tables and times as plain values; pandas is imported only here."""
    import pandas as pd

    if isinstance(value, pd.DataFrame):
        return [plain_values(row) for row in value.to_dict("records")]
    return None if value is pd.NaT else value.isoformat()
