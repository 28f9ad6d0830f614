"""The bibliography of ``data/``."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ettr.core.errors import DataError
from ettr.evidence.package import DATA, REMEDY, checked

if TYPE_CHECKING:
    import pandas as pd


def bibliography(folder: Path = DATA) -> pd.DataFrame:
    """All sources, one row a bibliography key.

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


def entries(bibtex: str) -> pd.DataFrame:
    """The columns of :func:`bibliography` from a BibTeX text; `DataError` where it cannot be read."""
    import pandas as pd
    from pybtex.database import parse_string
    from pybtex.exceptions import PybtexError
    from pybtex.richtext import Text

    try:
        parsed = parse_string(bibtex, "bibtex").entries
    except PybtexError as error:
        raise DataError(f"data/references.bib cannot be read: {error}; {REMEDY}") from None
    rows = []
    for key, entry in parsed.items():
        text = {name: str(Text.from_latex(value)) for name, value in entry.fields.items() if name != "url"}
        people = [_named(person) for person in entry.persons.get("author", [])]
        authors = ", ".join(whole for whole, _ in people)
        places = (text.get(name, "") for name in ("publisher", "howpublished", "journal", "archiveprefix"))
        publisher = next(filter(None, places), "")
        url = entry.fields.get("url", "")
        cited = _cited([family for _, family in people], text.get("title", key), text.get("year", ""))
        rows.append(
            (key, text.get("title", ""), authors, text.get("year", ""), publisher, url, text.get("note", ""), cited)
        )
    return pd.DataFrame(rows, columns=["key", "title", "authors", "year", "publisher", "url", "note", "cited"])


def _named(person: Any) -> tuple[str, str]:
    """The whole name, and the family's."""
    from pybtex.richtext import Text

    if str(person) == "others":
        return "et al.", "et al."
    family = [*person.prelast_names, *person.last_names]
    names = ([*person.first_names, *person.middle_names, *family], family)
    whole, short = (str(Text.from_latex(" ".join(name))) for name in names)
    return whole, short


def _cited(families: list[str], title: str, year: str) -> str:
    if not families:
        return title
    named = " and ".join(families) if len(families) < 3 and "et al." not in families else f"{families[0]} et al."
    return f"{named} ({year})" if year else named


def cited(keys: Iterable[str]) -> list[str]:
    """How sentences call sources.

    Examples
    --------
    >>> cited(["dubey2024", "young1974"])
    ['Dubey et al. (2024)', 'Young (1974)']
    """
    names = bibliography().set_index("key")["cited"]
    return [str(names[key]) for key in keys]
