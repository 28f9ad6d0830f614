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
    """A text as a cell that no spreadsheet takes for a formula: where it begins like one, an apostrophe goes before it.

    Examples
    --------
    >>> harmless("=HYPERLINK(1)"), harmless("-3.5"), harmless("node-7")
    ("'=HYPERLINK(1)", '-3.5', 'node-7')
    """
    text = encodable(text).replace("\r\n", "\n").replace("\r", "\n")  # pandas leaves a lone CR unquoted
    return f"'{text}" if text.startswith(_FORMULA) and not _NUMBER.fullmatch(text) else text


def csv_text(frame: pd.DataFrame, **options: Any) -> str:
    """A table as CSV, its texts and titles as :func:`harmless` has them; numbers stay numbers.

    Parameters
    ----------
    frame : DataFrame
        Its index is left out.
    **options
        Of ``DataFrame.to_csv``.

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
    """A value that may be a text, or hold some."""
    if isinstance(value, str):
        return harmless(value)
    return harmless(str(value)) if isinstance(value, list | tuple | dict) else value
