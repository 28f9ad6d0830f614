"""Notebooks as files: where they lie, how they are read, how a message names them."""

from __future__ import annotations

import json
import os
import warnings
from pathlib import Path
from typing import Any

from ettr.core import extras
from ettr.core.errors import InputError

ROOT_FILES = ("_toc.yml", "pyproject.toml", ".git")


def repository_root(path: str | os.PathLike[str]) -> Path:
    """The folder that holds the book: the nearest parent with a table of contents or a project file."""
    folder = Path(path).resolve()
    for mark in ROOT_FILES:
        for parent in folder.parents:
            if (parent / mark).exists():
                return parent
    return folder.parent


def read(path: str | os.PathLike[str]) -> Any:
    """The notebook as a ``NotebookNode`` of format 4."""
    with extras.needed("sweep"):
        import nbformat
    path = Path(path)
    if not path.is_file():
        raise InputError(f"there is no notebook {shown(path)}")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of cells without ids, which old notebooks have
            read = nbformat.reads(path.read_text(encoding="utf-8"), as_version=4)
        _refuse_odd_cells(read.cells)
        return read
    except Exception as error:
        first = (str(error).splitlines() or [type(error).__name__])[0][:200]
        raise InputError(f"{shown(path)} is not a notebook that can be read: {first}") from error


def _refuse_odd_cells(cells: Any) -> None:
    for number, cell in enumerate(cells, 1):
        tags = cell.metadata.get("tags", [])
        if not isinstance(cell.source, str) or not isinstance(cell.cell_type, str):
            raise InputError(f"cell {number} must have a type and a source that are texts")
        if not isinstance(tags, list) or not all(isinstance(tag, str) for tag in tags):
            raise InputError(f"the tags of cell {number} must be a list of texts, got {tags!r:.80}")


def text(document: Any) -> str:
    """The notebook as the text of its file."""
    with extras.needed("sweep"):
        import nbformat
    return str(nbformat.writes(document))


def written_ids(path: str | os.PathLike[str]) -> list[str] | None:
    """The ids of a notebook's cells as they are written, empty where there is none; None for formats without them."""
    cells = json.loads(Path(path).read_text(encoding="utf-8")).get("cells")
    return None if cells is None else [cell.get("id", "") for cell in cells]


def shown(path: str | os.PathLike[str]) -> str:
    """The path as a person would write it: relative to the working folder when it lies below it."""
    path = Path(path)
    return os.path.relpath(path) if path.is_absolute() and path.is_relative_to(Path.cwd()) else str(path)


def is_file(path: Path) -> bool:
    """Whether there is such a file; a text that is no path is none."""
    try:
        return path.is_file()
    except (OSError, ValueError):  # too long for a name, or a null byte
        return False
