"""The bibliography of ``data/``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

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
        Text columns ``key``, ``title``, ``authors``, ``year``, ``publisher``, ``url``, ``note``; empty where the
        source does not state it.

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
        people = entry.persons.get("author", [])
        authors = ", ".join(
            "et al."
            if str(person) == "others"
            else str(
                Text.from_latex(
                    " ".join([*person.first_names, *person.middle_names, *person.prelast_names, *person.last_names])
                )
            )
            for person in people
        )
        places = (text.get(name, "") for name in ("publisher", "howpublished", "journal", "archiveprefix"))
        publisher = next(filter(None, places), "")
        url = entry.fields.get("url", "")
        rows.append((key, text.get("title", ""), authors, text.get("year", ""), publisher, url, text.get("note", "")))
    return pd.DataFrame(rows, columns=["key", "title", "authors", "year", "publisher", "url", "note"])
