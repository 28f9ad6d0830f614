"""CSV that is safe to open in a spreadsheet."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from ettr.core.sentences import encodable

if TYPE_CHECKING:
    import pandas as pd

_FORMULA = ("=", "+", "-", "@", "\t", "\n")
_NUMBER = re.compile(r"[+-]?(\d[\d,]*(\.\d+)?|\.\d+)([eE][+-]?\d+)?\s?%?")


def harmless(text: str) -> str:
    """Return a text as a cell that no spreadsheet reads as a formula, with an apostrophe in front if necessary.

    Examples
    --------
    >>> harmless("=HYPERLINK(1)"), harmless("-3.5"), harmless("node-7")
    ("'=HYPERLINK(1)", '-3.5', 'node-7')
    """
    text = encodable(text).replace("\r\n", "\n").replace("\r", "\n")  # pandas leaves a lone CR unquoted
    return f"'{text}" if text.startswith(_FORMULA) and not _NUMBER.fullmatch(text) else text


def csv_text(frame: pd.DataFrame, **options: Any) -> str:
    """Return a table as CSV with texts and titles made harmless (see :func:`harmless`); numbers stay numbers.

    Parameters
    ----------
    frame : DataFrame
        The table, without its index.
    **options
        Options of ``DataFrame.to_csv``.

    Examples
    --------
    >>> import pandas as pd
    >>> print(csv_text(pd.DataFrame({"@note": ["+1+2", "ok"], "change": [-0.5, 1]})), end="")
    '@note,change
    '+1+2,-0.5
    ok,1.0
    """
    safe = frame.copy()
    for place, kind in enumerate(frame.dtypes):
        if kind.kind not in "biufcmM":
            safe.isetitem(place, [_cell(value) for value in frame.iloc[:, place]])
    safe.columns = [harmless(str(name)) for name in frame.columns]
    return str(safe.to_csv(index=False, **options))


def _cell(value: Any) -> Any:
    """A value with texts made harmless, also inside lists and the like."""
    if isinstance(value, str):
        return harmless(value)
    # integers too, as pandas 2 makes no column of those beyond floats
    return harmless(str(value)) if isinstance(value, list | tuple | dict | int) else value
