"""The chapters of the book as they came with the package: in a copy of the repository, or inside of a wheel."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from ettr import evidence
from ettr.core import durable
from ettr.core.errors import UnknownName

PAGES = "book"
_SETTINGS = ("_config.yml", "_toc.yml")
_SOURCES = "data/references.bib"


def _book_folder() -> Path:
    """``ettr/book`` of an installed wheel, else the repository."""
    installed = Path(__file__).parents[1] / "book"
    return installed if installed.is_dir() else Path(__file__).parents[3]


BOOK = _book_folder()
"""The folder with ``_toc.yml`` and, below ``book``, the pages that it names."""


def chapter(name: str | os.PathLike[str]) -> Path:
    """The notebook that is meant: a file, or a chapter of the book by its name, or by its path in the book.

    Parameters
    ----------
    name : str or path
        E.g. ``mine.ipynb``, ``scale`` or ``book/ettr/scale.ipynb``.

    Raises
    ------
    UnknownName
        If it is a name, and no chapter has it.

    Examples
    --------
    >>> chapter("scale").name
    'scale.ipynb'
    """
    path = Path(name)
    if path.is_file():
        return path
    if path.suffix:  # else whoever reads it says that it is not there
        return BOOK / path if (BOOK / path).is_file() else path
    known = {notebook.stem: notebook for notebook in (BOOK / PAGES).rglob("*.ipynb")}
    if str(name) not in known:
        raise UnknownName("chapter", str(name), known, "or give a file that ends in .ipynb")
    return known[str(name)]


def unpacked(folder: Path) -> Path:
    """The book in a folder where it can be built: what differs there is replaced, pages that are no more are removed.

    Parameters
    ----------
    folder : Path
        Where; made if it is not there.

    Returns
    -------
    Path
        The same, with ``_config.yml``, ``_toc.yml`` and what both name.
    """
    wanted = dict(_files())
    for place, source in wanted.items():
        copy = folder / place
        if not copy.is_file() or copy.read_bytes() != source.read_bytes():
            copy.parent.mkdir(parents=True, exist_ok=True)
            with durable.replacing(copy) as part:
                shutil.copyfile(source, part)
    for page in (folder / PAGES).rglob("*"):
        name = page.relative_to(folder).as_posix()
        if page.is_file() and name not in wanted and page.suffix != durable.PART:
            page.unlink(missing_ok=True)
    return folder


def _files() -> Iterator[tuple[str, Path]]:
    """Where each file of the book stands in it, and the file."""
    for name in _SETTINGS:
        yield name, BOOK / name
    yield _SOURCES, evidence.DATA.parent / _SOURCES
    for page in sorted((BOOK / PAGES).rglob("*")):
        place = page.relative_to(BOOK)
        if page.is_file() and not any(part.startswith(".") for part in place.parts):
            yield place.as_posix(), page
