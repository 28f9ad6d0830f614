"""Decimal commas in the cells of a table, and which of them may separate thousands."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ettr.core.errors import InputError
from ettr.core.numbers import with_decimal_point
from ettr.files.ledger import Ledger

_WITH_COMMA = re.compile(r"\s*[-+]?(?:\d[\d.]*)?,\d+\s*[^\W\d]*\.?\s*", re.ASCII)
_PERHAPS_THOUSANDS = re.compile(r"\s*[-+]?[1-9]\d{0,2}([.,])\d{3}\s*[^\W\d]*\.?\s*", re.ASCII)


def decimal_comma(delimiter: str) -> bool:
    """Return whether a comma in a number is a decimal sign, because semicolons separate the cells."""
    return delimiter == ";"


def cells_with_points(cells: list[str], delimiter: str, ledger: Ledger) -> list[str]:
    """Return the cells of a row with decimal points, if semicolons separate them; with a note if one had a comma."""
    if not decimal_comma(delimiter) or not any("," in cell for cell in cells):
        return cells
    changed = [with_decimal_point(cell) for cell in cells]
    if changed != cells:
        ledger.note("a comma in a number is a decimal sign, because semicolons separate the cells")
    return changed


def numbers_with_points(texts: Sequence[str], delimiter: str, name: str, ledger: Ledger) -> Sequence[str]:
    """Return a column in which the numbers with a decimal comma, also before a unit, have a decimal point.

    Parameters
    ----------
    texts : sequence of str
        Cells of the column.
    delimiter : str
        Separator of cells.
    name : str
        Name of the column, for messages.
    ledger : Ledger
        Takes a note if there is such a number, and a caution on points that may separate thousands.

    Raises
    ------
    InputError
        A comma that may also separate thousands, or decimal commas and such points.

    Examples
    --------
    >>> numbers_with_points(["2,5", "3,25 h", "7"], "|", "duration", Ledger())
    ['2.5', '3.25 h', '7']
    """
    has_commas = "," in "".join(texts)  # faster than cell by cell, and false for most columns
    changed = {text for text in texts if "," in text and _WITH_COMMA.fullmatch(text)} if has_commas else set()
    if not changed:
        if decimal_comma(delimiter) and texts and all(map(_PERHAPS_THOUSANDS.fullmatch, texts)):
            ledger.doubt(f"points in {name!r} are read as decimal signs: 1.500 is not 1500")
        return texts
    # between semicolons all commas are decimal signs, so a point may separate thousands
    doubtful = [text for text in texts if "," not in text] if decimal_comma(delimiter) else sorted(changed)
    unclear = next(filter(_PERHAPS_THOUSANDS.fullmatch, doubtful), "").strip()
    if unclear:
        plain = unclear.replace(",", ".")
        raise InputError(
            f"numbers in {name!r} must have a clear decimal sign, got {unclear!r}: write {plain.replace('.', '')} or "
            f"{plain}, with decimal points in the whole column"
        )
    ledger.note(f"commas in {name!r} are read as decimal signs: 2,5 is 2.5")
    return [with_decimal_point(text) if text in changed else text for text in texts]
