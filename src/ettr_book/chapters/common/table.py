"""Tables of the pages: named columns, units in the head, rounded numbers, no index."""

from __future__ import annotations

import html
from typing import Any

import pandas as pd

_LONG = 28
"""Text longer than this gets a column wide enough to read."""


class CaptionedTable:
    """A frame that renders as an HTML table with a caption.

    Parameters
    ----------
    frame : DataFrame
        Cells; text is escaped.
    caption : str
        Caption of the table.
    digits : int
        Significant digits of numbers; whole numbers keep all digits.
    """

    def __init__(self, frame: pd.DataFrame, caption: str, digits: int = 4) -> None:
        self.frame, self.caption, self.digits = frame, caption, digits

    def _repr_html_(self) -> str:
        # cells end in a new line: the site's search removes the tags, and would join the words of two cells
        head = "\n".join(f'<th scope="col">{html.escape(str(name))}</th>' for name in self.frame.columns)
        rows = "\n".join(
            "<tr>" + "\n".join(_cell(value, self.digits) for value in row) + "</tr>"
            for row in self.frame.itertuples(index=False, name=None)
        )
        return (
            f'<div class="book-table" role="region" aria-label="{html.escape(self.caption, quote=True)}" tabindex="0">'
            f'<table class="dataframe"><caption>{html.escape(self.caption)}</caption>\n'
            f"<thead><tr>{head}</tr></thead>\n<tbody>{rows}</tbody></table></div>"
        )

    def __repr__(self) -> str:
        return f"{self.caption}\n{self.frame.to_string(index=False)}"


def _cell(value: Any, digits: int) -> str:
    if value is None or (not isinstance(value, str) and pd.isna(value)):
        return "<td></td>"
    if isinstance(value, bool | str):
        kind = ' class="long"' if len(str(value)) > _LONG else ""
        return f"<td{kind}>{html.escape(str(value))}</td>"
    return f'<td class="number">{significant(float(value), digits)}</td>'


def significant(value: float, digits: int) -> str:
    if value == int(value) and abs(value) < 1e15:
        return f"{int(value):,}"
    return f"{float(f'{value:.{digits}g}'):,.12g}"


def named(frame: pd.DataFrame, names: dict[str, str], caption: str, digits: int = 4) -> CaptionedTable:
    """Return the columns of a frame that a table displays, renamed for display."""
    return CaptionedTable(frame[list(names)].rename(columns=names), caption, digits)


def heads(*names: str, **others: str) -> dict[str, str]:
    """Return the column heads of a table, with exceptions by name.

    Examples
    --------
    >>> heads("field", "note", note="Why")
    {'field': 'Field', 'note': 'Why'}
    """
    return {name: others.get(name, name.capitalize()) for name in names}
