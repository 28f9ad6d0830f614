"""The bibliography of ``data/``."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from ettr.core.errors import DataError
from ettr.evidence import bibtex
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


def entries(text: str) -> pd.DataFrame:
    """The columns of :func:`bibliography` from a BibTeX text; `DataError` where it cannot be read."""
    import pandas as pd

    try:
        rows = [_row(key, fields) for key, fields in bibtex.parse(text).items()]
    except DataError as error:
        raise DataError(f"data/references.bib cannot be read: {error}; {REMEDY}") from None
    return pd.DataFrame(rows, columns=["key", "title", "authors", "year", "publisher", "url", "note", "cited"])


def _row(key: str, fields: dict[str, str]) -> tuple[str, ...]:
    text = {name: bibtex.plain(value) for name, value in fields.items() if name not in ("author", "url")}
    people = bibtex.people(fields["author"]) if "author" in fields else []
    authors = ", ".join(whole for whole, _ in people)
    places = (text.get(name, "") for name in ("publisher", "howpublished", "journal", "archiveprefix"))
    publisher = next(filter(None, places), "")
    title, year = text.get("title", ""), text.get("year", "")
    cited = _cited([family for _, family in people], title or key, year)
    return key, title, authors, year, publisher, fields.get("url", ""), text.get("note", ""), cited


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
