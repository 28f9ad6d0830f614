"""Read tables, figures and presets, each after a check of its hash."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ettr.core.errors import UnknownName
from ettr.evidence.package import DATA, KINDS, checked, refuse_unlisted, resources, state

if TYPE_CHECKING:
    import pandas as pd


_DTYPES = {"string": "str", "integer": "int64", "number": "float64", "boolean": "bool"}


def _number(cell: str) -> float:
    return float(cell or "nan")


_PARSE: dict[str, Callable[[str], Any]] = {
    "string": str,
    "integer": _number,
    "number": _number,
    "boolean": lambda cell: cell == "true",
}


@dataclass(frozen=True)
class Figure:
    """A published number.

    Attributes
    ----------
    key : str
        Name in ``data/figures.csv``.
    value : float
        The number, in ``unit``.
    unit : str
        Unit; ``1`` is a fraction, ``count`` a number of things.
    meaning : str
        Meaning of the number.
    source : str
        Bibliography key.
    status : str
        One of :data:`STATUSES`.
    note : str
        What a reader should know; may be empty.
    """

    key: str
    value: float
    unit: str
    meaning: str
    source: str
    status: str
    note: str = ""


def table(name: str, folder: Path = DATA) -> pd.DataFrame:
    """Return a table of ``data/`` with the types of its schema.

    Parameters
    ----------
    name : str
        Name of a tabular resource, e.g. ``"llama3_interruptions"``.
    folder : Path, optional
        Another folder of the same layout.

    Returns
    -------
    DataFrame
        A fresh copy; an empty text is ``""``, an empty number is missing. Units: :func:`dictionary`.

    Raises
    ------
    UnknownName
        If there is no such table.
    DataError
        If the file is missing or was changed.

    Examples
    --------
    >>> int(table("llama3_interruptions")["n_events"].sum())
    419
    """
    if name not in table_names(folder):
        raise UnknownName("table", name, table_names(folder), "data/datapackage.json")
    return _table(name, folder, state(folder, "datapackage.json"), state(folder, f"{name}.csv")).copy()


def columns(name: str, folder: Path = DATA) -> dict[str, list[Any]]:
    """Return the columns of a table of ``data/``, without pandas and NumPy.

    They take longer to load than most answers to compute.

    Returns
    -------
    dict
        Column to its values: text, truth values, or floats, NaN where a number is missing.
    """
    _, *rows = csv.reader(io.StringIO(checked(name, folder).decode()))
    fields = resources(folder)[name]["schema"]["fields"]
    return {
        field["name"]: [_PARSE[field["type"]](cell) for cell in cells]
        for field, cells in zip(fields, zip(*rows, strict=True), strict=True)
    }


def table_names(folder: Path = DATA) -> tuple[str, ...]:
    """Return the names of all tables, in the order of ``datapackage.json``."""
    return tuple(name for name, resource in resources(folder).items() if "schema" in resource)


def figure(key: str, folder: Path = DATA) -> Figure:
    """Return a published figure by its key.

    Parameters
    ----------
    key : str
        Key in ``data/figures.csv``.
    folder : Path, optional
        Another folder of the same layout.

    Returns
    -------
    Figure
        Value with unit, meaning, source and status.

    Raises
    ------
    UnknownName
        If there is no such figure.
    DataError
        If the table of figures is missing or was changed.

    Examples
    --------
    >>> figure("llama3_window_days").value
    54.0
    """
    figures = _figures(folder, state(folder, "datapackage.json"), state(folder, "figures.csv"))
    if key not in figures:
        raise UnknownName("figure", key, figures, "data/figures.csv")
    return figures[key]


def scenario_names(folder: Path = DATA) -> tuple[str, ...]:
    """Return the names of the presets, sorted."""
    return _names("scenarios", folder)


def check_scenario_name(name: str, folder: Path = DATA) -> None:
    """Refuse a name that no preset has.

    Raises
    ------
    UnknownName
        If there is no such preset.
    DataError
        If its file is not listed in ``datapackage.json``.
    """
    if name not in scenario_names(folder):
        refuse_unlisted("scenarios", name, folder)
        raise UnknownName("scenario", name, scenario_names(folder), "or give a file ending in .yml")


def scenario_text(name: str, folder: Path = DATA) -> str:
    """Return the YAML text of a preset.

    Parameters
    ----------
    name : str
        A name of :func:`scenario_names`.
    folder : Path, optional
        Another folder of the same layout.

    Returns
    -------
    str
        YAML.

    Raises
    ------
    UnknownName
        If there is no such preset.
    DataError
        If the file is missing, was changed, or is not listed.
    """
    return _text("scenarios", name, folder)


def gpu_names(folder: Path = DATA) -> tuple[str, ...]:
    """Return the names of the GPUs with built-in figures, sorted."""
    return _names("gpus", folder)


def gpu_text(name: str, folder: Path = DATA) -> str:
    """Return the YAML text of a GPU.

    Parameters
    ----------
    name : str
        A name of :func:`gpu_names`.
    folder : Path, optional
        Another folder of the same layout.

    Returns
    -------
    str
        YAML.

    Raises
    ------
    UnknownName
        If there is no such GPU.
    DataError
        If the file is missing, was changed, or is not listed.
    """
    return _text("gpus", name, folder)


def mitigations_text(folder: Path = DATA) -> str:
    """Return the YAML text of the catalogue of mitigations; raise ``DataError`` if it is missing or changed."""
    return checked("mitigations", folder).decode("utf-8")


def _names(kind: str, folder: Path) -> tuple[str, ...]:
    """Return the sorted names of the files of one kind."""
    return tuple(sorted(name.removeprefix(f"{kind}/") for name in resources(folder) if name.startswith(f"{kind}/")))


def _text(kind: str, name: str, folder: Path) -> str:
    """Return the text of a file of one kind."""
    if name not in _names(kind, folder):
        refuse_unlisted(kind, name, folder)
        raise UnknownName(KINDS[kind], name, _names(kind, folder))
    return checked(f"{kind}/{name}", folder).decode("utf-8")


def verify(folder: Path = DATA) -> None:
    """Check that every file of ``data/`` exists and has its recorded hash.

    Raises
    ------
    DataError
        About the first file that is missing or was changed.
    """
    for name, resource in resources(folder).items():
        read = table if "schema" in resource else checked
        read(name, folder)


def dictionary(folder: Path = DATA) -> pd.DataFrame:
    """Return the data dictionary: every field of every table.

    Parameters
    ----------
    folder : Path, optional
        Another folder of the same layout.

    Returns
    -------
    DataFrame
        Columns ``table``, ``field``, ``type``, ``unit``, ``title``, ``description``, ``rules``. The unit ``row``
        means that the row's ``unit`` column (``stated_unit`` for stated figures) gives it.
    """
    import pandas as pd

    columns = ("type", "unit", "title", "description")
    rows = [
        {"table": name, "field": field["name"]}
        | {key: field.get(key, "") for key in columns}
        | {"rules": "; ".join(f"{rule}: {_words(value)}" for rule, value in field.get("constraints", {}).items())}
        for name, resource in resources(folder).items()
        for field in resource.get("schema", {}).get("fields", [])
    ]
    return pd.DataFrame(rows)


def _words(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return ("yes" if value else "no") if isinstance(value, bool) else str(value)


@lru_cache(maxsize=64)
def _table(name: str, folder: Path, *states: tuple[int, int] | None) -> pd.DataFrame:
    import pandas as pd

    content = checked(name, folder)
    dtypes, blanks = {}, {}
    for field in resources(folder)[name]["schema"]["fields"]:
        optional = not field.get("constraints", {}).get("required", False)
        kind = "Int64" if field["type"] == "integer" and optional else _DTYPES[field["type"]]
        dtypes[field["name"]] = kind
        blanks[field["name"]] = [] if kind == "str" else [""]
    return pd.read_csv(io.BytesIO(content), dtype=dtypes, na_values=blanks, keep_default_na=False)


@lru_cache(maxsize=8)
def _figures(folder: Path, *states: tuple[int, int] | None) -> dict[str, Figure]:
    return {row[0]: Figure(*row) for row in zip(*columns("figures", folder).values(), strict=True)}
