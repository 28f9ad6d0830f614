"""The bibliography of ``data/``.  The BibTeX reader is written here, because plans and comparisons cite sources
without any extra, and Pybtex would add three packages; a test compares both readers.

Its reader of BibTeX is our own, since plans and comparisons cite sources without any extra, and Pybtex would bring
three packages; a test compares both readers.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from ettr.core.errors import DataError
from ettr.evidence.package import DATA, REMEDY, checked

if TYPE_CHECKING:
    import pandas as pd

_ACCENTS = {"`": "\u0300", "'": "\u0301", "^": "\u0302", "~": "\u0303", '"': "\u0308", "c": "\u0327"}
"""LaTeX accent commands and the combining Unicode characters."""
_ACCENT = re.compile(r"\{\\([`'^~\"]|c\s)\s*(\w)\}")
_COMMAND = re.compile(r"\\(?:emph|texttt|citet)\{([^{}]*)\}")
_SIGN = re.compile(r"\\([_&%$#])")
_BRACES = str.maketrans("", "", "{}")
_ENTRY = re.compile(r"@[a-z]+\{([a-z0-9]+),")
_FIELD = re.compile(r"\s+([a-z]+) = \{(.*)\},?")


def parse(text: str) -> dict[str, dict[str, str]]:
    """Return the fields of each entry by key, in the order of the file.

    Parameters
    ----------
    text : str
        BibTeX with a line for the key of an entry, for each field and for the closing brace; other lines are blank or
        begin with ``%``.

    Raises
    ------
    DataError
        With the number of a line of another form, or of a key or field that occurs twice.

    Examples
    --------
    >>> parse("@misc{young1974,\\n  title = {A {First} Order},\\n  year = {1974}\\n}")
    {'young1974': {'title': 'A {First} Order', 'year': '1974'}}
    """
    entries: dict[str, dict[str, str]] = {}
    fields: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("%") or line == "}":
            continue
        entry, field = _ENTRY.fullmatch(line), _FIELD.fullmatch(line)
        if entry and entry[1] not in entries:
            fields = entries[entry[1]] = {}
        elif field and field[1] not in fields and line.count("{") == line.count("}"):
            fields[field[1]] = field[2]
        else:
            raise DataError(
                f"line {number} must be a new key, @kind{{key,, or a new field, name = {{text}}, got {line!r}"
            )
    return entries


def plain(latex: str) -> str:
    r"""Return LaTeX text as plain Unicode text.

    Raises
    ------
    DataError
        If there is a command that is not known here.

    Examples
    --------
    >>> plain(r"{Fr{\'e}d{\'e}ric} on \emph{Llama} \& others")
    'Frédéric on Llama & others'
    """
    text = _ACCENT.sub(lambda match: unicodedata.normalize("NFC", match[2] + _ACCENTS[match[1].strip()]), latex)
    text = _COMMAND.sub(r"\1", text)
    text = _SIGN.sub(r"\1", text).translate(_BRACES).replace("``", "“").replace("''", "”")
    if "\\" in text:
        raise DataError(f"{latex!r} has an unsupported LaTeX command")
    return " ".join(text.split())


def people(authors: str) -> list[tuple[str, str]]:
    """Return full name and family name of each author.

    Raises
    ------
    DataError
        If a name is neither ``Family, Given`` nor in braces.

    Examples
    --------
    >>> people("Daly, John T. and {PyTorch} and others")
    [('John T. Daly', 'Daly'), ('PyTorch', 'PyTorch'), ('et al.', 'et al.')]
    """
    return [_named(name) for name in re.split(r"\s+and\s+(?![^{]*\})", authors)]


def _named(name: str) -> tuple[str, str]:
    if name == "others":
        return "et al.", "et al."
    if name.startswith("{") and name.endswith("}"):
        return plain(name), plain(name)
    family, comma, first = name.partition(", ")
    if not comma or "," in first:
        raise DataError(f"the author {name!r} must be written as Family, Given, or in braces")
    return plain(f"{first} {family}"), plain(family)


def bibliography(folder: Path = DATA) -> pd.DataFrame:
    """Return all sources, one row per bibliography key.

    Parameters
    ----------
    folder : Path, optional
        Another folder of the same layout.

    Returns
    -------
    DataFrame
        Text columns ``key``, ``title``, ``authors``, ``year``, ``publisher``, ``url``, ``note`` and ``cited`` (as a
        sentence calls it); empty where the source does not state it.

    Raises
    ------
    DataError
        If the file is missing or was changed.
    """
    return entries(checked("references", folder).decode("utf-8"))


def entries(text: str) -> pd.DataFrame:
    """Return the columns of :func:`bibliography` from BibTeX text; raise `DataError` if it cannot be read."""
    import pandas as pd

    try:
        rows = [_row(key, fields) for key, fields in parse(text).items()]
    except DataError as error:
        raise DataError(f"data/references.bib cannot be read: {error}; {REMEDY}") from None
    return pd.DataFrame(rows, columns=["key", "title", "authors", "year", "publisher", "url", "note", "cited"])


def _row(key: str, fields: dict[str, str]) -> tuple[str, ...]:
    text = {name: plain(value) for name, value in fields.items() if name not in ("author", "url")}
    persons = people(fields["author"]) if "author" in fields else []
    authors = ", ".join(whole for whole, _ in persons)
    places = (text.get(name, "") for name in ("publisher", "howpublished", "journal", "archiveprefix"))
    publisher = next(filter(None, places), "")
    title, year = text.get("title", ""), text.get("year", "")
    cited = _cited([family for _, family in persons], title or key, year)
    return key, title, authors, year, publisher, fields.get("url", ""), text.get("note", ""), cited


def _cited(families: list[str], title: str, year: str) -> str:
    if not families:
        return title
    named = " and ".join(families) if len(families) < 3 and "et al." not in families else f"{families[0]} et al."
    return f"{named} ({year})" if year else named


def cited(keys: Iterable[str]) -> list[str]:
    """Return the citations of sources as sentences use them.

    Examples
    --------
    >>> cited(["dubey2024", "young1974"])
    ['Dubey et al. (2024)', 'Young (1974)']
    """
    names = bibliography().set_index("key")["cited"]
    return [str(names[key]) for key in keys]
