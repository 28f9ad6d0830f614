"""Hands values out of a notebook: into the executed copy itself, where any runner keeps them."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from typing import Any

from ettr.core.errors import InputError
from ettr.core.sentences import cut, encodable

RECORD_TYPE = "application/vnd.ettr.record+json"
MOST_ELEMENTS = 10_000
RESERVED = ("id", "name", "status", "duration_s", "error", "notebook")
"""Columns that a sweep's table has for each point, whatever the notebook records."""

_NOT_FINITE = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


def record(**values: Any) -> None:
    """Hand values out of a notebook, as columns of a sweep's table.

    The values go into the executed notebook as an output of the cell, so plain papermill keeps them as well, and
    :func:`recorded` reads them back. A name that is recorded again has its last value. Outside a notebook nothing
    is kept.

    Parameters
    ----------
    **values
        Numbers, texts, true or false, None, or small arrays of these: lists, NumPy arrays, columns of a DataFrame.

    Raises
    ------
    InputError
        If a value is of another kind, an array has more than 10,000 elements, or a name is one that every table has.

    Examples
    --------
    >>> record(ettr=0.91, best_interval_min=4.2)
    """
    payload = plain(values)
    for name in payload:
        if name in RESERVED:
            raise InputError(f"a value cannot be recorded as {name!r}: every table of a sweep has that column")
    shell = sys.modules.get("IPython") and sys.modules["IPython"].get_ipython()
    if shell is None:
        return
    from IPython.display import display

    values_text = ", ".join(f"{name} = {_short(value)}" for name, value in values.items())
    display({RECORD_TYPE: {"values": list(payload.items())}, "text/plain": f"recorded: {values_text}"}, raw=True)


def recorded(notebook: Any) -> dict[str, Any]:
    """What an executed notebook recorded.

    Parameters
    ----------
    notebook : NotebookNode or dict
        As :func:`ettr.notebook.read` gives it, or as its JSON reads.

    Returns
    -------
    dict
        Values by name, in the order in which the names came first; numbers are those of the notebook to the last bit.

    Raises
    ------
    InputError
        If an output of this kind is not one of :func:`record`.
    """
    values: dict[str, Any] = {}
    for cell in notebook["cells"]:
        for output in cell.get("outputs", []):
            payload = output.get("data", {}).get(RECORD_TYPE)
            if payload is not None:
                values.update(_payload(payload))
    return values


def plain(values: Mapping[str, Any]) -> dict[str, Any]:
    """Values to record as JSON holds them; numbers that JSON has no word for become ``{"float": "nan"}``."""
    return {name: _plain(name, value) for name, value in values.items()}


def restored(payload: Mapping[str, Any]) -> dict[str, Any]:
    """What :func:`plain` was given."""
    return {encodable(name): _restored(value) for name, value in payload.items()}


def _payload(payload: Any) -> dict[str, Any]:
    try:
        return restored(dict(payload["values"]))
    except (TypeError, ValueError, KeyError, AttributeError, RecursionError) as error:
        raise InputError(f"an output of type {RECORD_TYPE} must be one of ettr.record") from error


def _plain(name: str, value: Any) -> Any:
    if hasattr(value, "tolist"):  # NumPy's scalars and arrays, and pandas' columns
        value = value.tolist()
    if isinstance(value, list | tuple):
        if _size(value) > MOST_ELEMENTS:
            raise InputError(f"{name} must have at most {MOST_ELEMENTS:,} elements, got {_size(value):,}")
        return [_plain(name, item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": str(value)}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise InputError(
        f"{name} must be a number, a text, true or false, or a small array of these, got {type(value).__name__}"
    )


def _size(value: Any) -> int:
    return sum(_size(item) for item in value) if isinstance(value, list | tuple) else 1


def _restored(value: Any) -> Any:
    if isinstance(value, list):
        return [_restored(item) for item in value]
    if isinstance(value, str):
        return encodable(value)
    return _NOT_FINITE[value["float"]] if isinstance(value, Mapping) else value


def _short(value: Any) -> str:
    return cut(repr(value.tolist() if hasattr(value, "tolist") else value), 60)
