"""Notebook files: finding and reading them, and the parameters declared in their cell tagged ``parameters``."""

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
    """``ettr/book`` of an installed wheel, otherwise the repository."""
    installed = Path(__file__).parents[1] / "book"
    return installed if installed.is_dir() else Path(__file__).parents[3]


BOOK = _book_folder()
"""Folder with ``_toc.yml`` and the pages in its subfolder ``book``."""


def chapter(name: str | os.PathLike[str]) -> Path:
    """Return the path of a notebook: a file, or a chapter of the book by its name or its path in the book.

    Parameters
    ----------
    name : str or path
        For example ``mine.ipynb``, ``scale`` or ``book/ettr/scale.ipynb``.

    Raises
    ------
    UnknownName
        If there is no chapter with this name.

    Examples
    --------
    >>> chapter("scale").name
    'scale.ipynb'
    """
    path = Path(name)
    if path.is_file():
        return path
    if path.suffix:  # a missing file is reported when it is read
        return BOOK / path if (BOOK / path).is_file() else path
    chapters = {notebook.stem: notebook for notebook in (BOOK / "book").rglob("*.ipynb")}
    if str(name) not in chapters:
        raise UnknownName("chapter", str(name), chapters, "or give a file that ends in .ipynb")
    return chapters[str(name)]


def repository_root(path: str | os.PathLike[str]) -> Path:
    """Return the root of a notebook's repository: the nearest parent with a table of contents or a project file.

    Examples
    --------
    >>> repository_root(chapter("scale")) == BOOK
    True
    """
    folder = Path(path).resolve()
    for mark in ROOT_FILES:
        for parent in folder.parents:
            if (parent / mark).exists():
                return parent
    return folder.parent


def read(path: str | os.PathLike[str]) -> Any:
    """Read a notebook as a ``NotebookNode`` of format 4.

    Examples
    --------
    >>> read(chapter("scale")).nbformat
    4
    """
    with extras.needed("sweep"):
        import nbformat
    path = Path(path)
    if not path.is_file():
        raise InputError(f"notebook {path_in_messages(path)} does not exist")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # old notebooks have cells without ids
            read = nbformat.reads(path.read_text(encoding="utf-8"), as_version=4)
        _refuse_odd_cells(read.cells)
        return read
    except Exception as error:
        first = (str(error).splitlines() or [type(error).__name__])[0][:200]
        raise InputError(f"{path_in_messages(path)} is not a readable notebook: {first}") from error


def _refuse_odd_cells(cells: Any) -> None:
    """Raise for a cell whose type, source or tags are not text."""
    for number, cell in enumerate(cells, 1):
        tags = cell.metadata.get("tags", [])
        if not isinstance(cell.source, str) or not isinstance(cell.cell_type, str):
            raise InputError(f"type and source of cell {number} must be text")
        if not isinstance(tags, list) or not all(isinstance(tag, str) for tag in tags):
            raise InputError(f"the tags of cell {number} must be a list of text, got {tags!r:.80}")


def text(document: Any) -> str:
    """Return a notebook as the text of its file."""
    with extras.needed("sweep"):
        import nbformat
    return str(nbformat.writes(document))


def written_ids(path: str | os.PathLike[str]) -> list[str] | None:
    """Return the cell ids in the file of a notebook, empty for cells without one; None for old formats without ids."""
    cells = json.loads(Path(path).read_text(encoding="utf-8")).get("cells")
    return None if cells is None else [cell.get("id", "") for cell in cells]


def path_in_messages(path: str | os.PathLike[str]) -> str:
    """Return a path for messages, relative to the working folder if it is inside it."""
    path = Path(path)
    return os.path.relpath(path) if path.is_absolute() and path.is_relative_to(Path.cwd()) else str(path)


def is_file(path: Path) -> bool:
    """Return True if the file exists; False for text that is not a valid path."""
    try:
        return path.is_file()
    except (OSError, ValueError):  # too long for a name, or a null byte
        return False


# --------------------------------------------------------------------------- parameters


@dataclass(frozen=True)
class Parameter:
    """Parameter declared in the cell tagged ``parameters`` of a notebook."""

    name: str
    default: Any
    comment: str
    type: str


def declared_parameters(path: str | os.PathLike[str]) -> tuple[Parameter, ...]:
    """Return the parameters declared by a notebook, in order.

    Parameters
    ----------
    path : path
        Notebook with a cell tagged ``parameters`` that assigns one literal per line.

    Returns
    -------
    tuple of Parameter
        Empty for a notebook without such a cell.

    Raises
    ------
    InputError
        If the notebook cannot be read, or the cell assigns anything other than literals.

    Examples
    --------
    >>> [parameter.name for parameter in declared_parameters(chapter("scale"))][0]
    'scenario'
    """
    cell = _parameters_cell(read(path), path)
    return () if cell is None else tuple(_declarations(cell.source, path_in_messages(path)))


def fitted(declared: Sequence[Parameter], parameters: Mapping[str, Any], place: str) -> dict[str, Any]:
    """Return the values checked against their declarations and converted; `place` is for messages."""
    by_name = {parameter.name: parameter for parameter in declared}
    if parameters and not by_name:
        raise InputError(f"{place} has no cell tagged 'parameters', got {', '.join(parameters)}")
    values = {}
    for name, value in parameters.items():
        if name not in by_name:
            raise UnknownName("parameter", str(name), by_name, place)
        values[name] = _checked(by_name[name], value, place)
    return values


def replaced_values(source: str, values: Mapping[str, Any]) -> str:
    """Return the source of a parameters cell with values instead of its defaults; comments are kept."""
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
    """Return the source text of the values in a parameters cell, by name."""
    return {name: ast.unparse(node) for name, node in _assignments(source)}


def _parameters_cell(notebook: Any, path: str | os.PathLike[str]) -> Any:
    """Cell tagged ``parameters``; None if there is none."""
    cells = [cell for cell in notebook.cells if "parameters" in cell.metadata.get("tags", [])]
    if len(cells) > 1:
        raise InputError(f"{path_in_messages(path)} must have at most one cell tagged 'parameters', got {len(cells)}")
    return cells[0] if cells else None


def _assignments(source: str) -> Iterator[tuple[str, ast.expr]]:
    """Names and values assigned at the top level of a source."""
    for statement in ast.parse(source).body:
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            yield statement.targets[0].id, statement.value
        elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name) and statement.value:
            yield statement.target.id, statement.value


def _declarations(source: str, place: str) -> Iterator[Parameter]:
    """Parameters of a parameters cell, with their comments."""
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
            raise InputError(f"{name} in the parameters cell of {place} must be a literal") from error
        yield Parameter(name, default, comments.get(node.end_lineno or 0, ""), type(default).__name__)


def _checked(parameter: Parameter, value: Any, place: str) -> Any:
    """Value converted to the declared type; raises if it does not match."""
    value = value.item() if hasattr(value, "item") and not isinstance(value, str) else value
    value = os.fspath(value) if isinstance(value, os.PathLike) else value
    kind = parameter.type

    def refuse(rule: str) -> InputError:
        return InputError(f"{parameter.name} must be {rule}, got {value!r} ({place})")

    if kind in ("int", "float"):
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise refuse("a number")
        if not abs(value) <= sys.float_info.max:  # also excludes integers beyond the range of floats
            raise refuse("a finite number")
        if kind == "int" and value != int(value):
            raise refuse("a whole number")
        return int(value) if kind == "int" else float(value)
    if kind in ("bool", "str", "list", "dict") and type(value).__name__ != kind:
        raise refuse({"bool": "true or false", "str": "text", "list": "a list", "dict": "a mapping"}[kind])
    try:
        json.dumps(value, allow_nan=False, ensure_ascii=False).encode()  # fails for lone surrogates
    except (TypeError, ValueError) as error:
        raise refuse("made of text, finite numbers, true or false, lists and mappings") from error
    if isinstance(value, str) and Path(value).suffix and is_file(Path(value)):
        return str(Path(value).resolve())  # the kernel has another working folder
    return value
