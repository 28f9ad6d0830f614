"""Notebooks as files: where they lie, how they are read, and what they declare in their cell tagged ``parameters``."""

from __future__ import annotations

import ast
import io
import json
import os
import sys
import tokenize
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ettr.core import extras
from ettr.core.errors import InputError, UnknownName

ROOT_FILES = ("_toc.yml", "pyproject.toml", ".git")


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
    known = {notebook.stem: notebook for notebook in (BOOK / "book").rglob("*.ipynb")}
    if str(name) not in known:
        raise UnknownName("chapter", str(name), known, "or give a file that ends in .ipynb")
    return known[str(name)]


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


# --------------------------------------------------------------------------- parameters


@dataclass(frozen=True)
class Parameter:
    """One parameter that a notebook declares in its cell tagged ``parameters``."""

    name: str
    default: Any
    comment: str
    type: str


def declared_parameters(path: str | os.PathLike[str]) -> tuple[Parameter, ...]:
    """The parameters that a notebook declares, in the order in which they are written.

    Parameters
    ----------
    path : path
        A notebook with one cell tagged ``parameters`` that holds one plain literal a line.

    Returns
    -------
    tuple of Parameter
        Empty for a notebook without such a cell.

    Raises
    ------
    InputError
        If the notebook cannot be read, or the cell holds anything else than literals.
    """
    cell = _parameters_cell(read(path), path)
    return () if cell is None else tuple(_declarations(cell.source, shown(path)))


def fitted(declared: Sequence[Parameter], parameters: Mapping[str, Any], place: str) -> dict[str, Any]:
    """The values as they will be passed on, each checked against its declaration; `place` is for messages."""
    by_name = {parameter.name: parameter for parameter in declared}
    if parameters and not by_name:
        raise InputError(f"{place} has no cell tagged 'parameters', so it takes none; got {', '.join(parameters)}")
    values = {}
    for name, value in parameters.items():
        if name not in by_name:
            raise UnknownName("parameter", str(name), by_name, place)
        values[name] = _fitting(by_name[name], value, place)
    return values


def replaced_values(source: str, values: Mapping[str, Any]) -> str:
    """The source of a parameters cell with the given values in place of its defaults; comments stay."""
    text = source.encode()
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    for name, node in sorted(_assignments(source), key=lambda pair: -pair[1].lineno):
        if name in values:
            begin = starts[node.lineno - 1] + node.col_offset
            end = starts[(node.end_lineno or node.lineno) - 1] + (node.end_col_offset or 0)
            text = text[:begin] + repr(values[name]).encode() + text[end:]
    return text.decode()


def assigned(source: str) -> dict[str, str]:
    """The values in a parameters cell, as they are written, by name."""
    return {name: ast.unparse(node) for name, node in _assignments(source)}


def _parameters_cell(notebook: Any, path: str | os.PathLike[str]) -> Any:
    cells = [cell for cell in notebook.cells if "parameters" in cell.metadata.get("tags", [])]
    if len(cells) > 1:
        raise InputError(f"{shown(path)} has {len(cells)} cells tagged 'parameters'; there may be one")
    return cells[0] if cells else None


def _assignments(source: str) -> Iterator[tuple[str, ast.expr]]:
    for statement in ast.parse(source).body:
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            yield statement.targets[0].id, statement.value
        elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name) and statement.value:
            yield statement.target.id, statement.value


def _declarations(source: str, place: str) -> Iterator[Parameter]:
    try:
        assignments = list(_assignments(source))
        tokens = list(tokenize.generate_tokens(io.StringIO(source).readline))
    except (SyntaxError, ValueError, MemoryError, RecursionError, tokenize.TokenError) as error:
        raise InputError(f"the parameters cell of {place} is not Python: {error}") from error
    comments = {token.start[0]: token.string.lstrip("# ") for token in tokens if token.type == tokenize.COMMENT}
    for name, node in assignments:
        try:
            default = ast.literal_eval(node)
        except (ValueError, TypeError, MemoryError, RecursionError) as error:
            raise InputError(f"{name} in the parameters cell of {place} must be a plain value") from error
        yield Parameter(name, default, comments.get(node.end_lineno or 0, ""), type(default).__name__)


def _fitting(parameter: Parameter, value: Any, place: str) -> Any:
    """The value, or an error that names the parameter, the rule and what was given."""
    value = value.item() if hasattr(value, "item") and not isinstance(value, str) else value
    value = os.fspath(value) if isinstance(value, os.PathLike) else value
    kind = parameter.type

    def refuse(rule: str) -> InputError:
        return InputError(f"{parameter.name} must be {rule}, got {value!r} ({place})")

    if kind in ("int", "float"):
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise refuse("a number")
        if not abs(value) <= sys.float_info.max:  # nor a whole number that no float can hold
            raise refuse("a finite number")
        if kind == "int" and value != int(value):
            raise refuse("a whole number")
        return int(value) if kind == "int" else float(value)
    if kind in ("bool", "str", "list", "dict") and type(value).__name__ != kind:
        raise refuse({"bool": "true or false", "str": "a text", "list": "a list", "dict": "a mapping"}[kind])
    try:
        json.dumps(value, allow_nan=False, ensure_ascii=False).encode()  # half a character is no text
    except (TypeError, ValueError) as error:
        raise refuse("made of texts, finite numbers, true or false, lists and mappings") from error
    if isinstance(value, str) and Path(value).suffix and is_file(Path(value)):
        return str(Path(value).resolve())  # the kernel's working folder is another one
    return value
