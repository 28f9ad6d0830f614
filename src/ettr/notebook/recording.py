"""Recorded values: exported from a notebook as an output of the executed copy, which any runner keeps."""

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
"""Columns of every table of a sweep."""

_NOT_FINITE = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


def record(**values: Any) -> None:
    """Record values of a notebook, which become columns of the table of a sweep.

    The values are stored in the executed notebook as an output of the cell, so that papermill keeps them as well, and
    :func:`recorded` reads them. A name that is recorded again keeps its last value. Outside a notebook the function
    does nothing.

    Parameters
    ----------
    **values
        Numbers, text, true or false, None, or small arrays of these: lists, NumPy arrays, columns of a DataFrame.

    Raises
    ------
    InputError
        If a value has another type, an array has more than 10,000 elements, or a name is reserved.

    Examples
    --------
    >>> record(ettr=0.91, best_interval_min=4.2)
    """
    payload = plain(values)
    for name in payload:
        if name in RESERVED:
            raise InputError(f"{name!r} is a reserved column of every sweep; record the value under another name")
    shell = sys.modules.get("IPython") and sys.modules["IPython"].get_ipython()
    if shell is None:
        return
    from IPython.display import display

    values_text = ", ".join(f"{name} = {_short(value)}" for name, value in values.items())
    display({RECORD_TYPE: {"values": list(payload.items())}, "text/plain": f"recorded: {values_text}"}, raw=True)


def recorded(notebook: Any) -> dict[str, Any]:
    """Return the values recorded by an executed notebook.

    Parameters
    ----------
    notebook : NotebookNode or dict
        Notebook as from :func:`ettr.notebook.read`, or its JSON.

    Returns
    -------
    dict
        Values by name, in order of first occurrence; floats are exact.

    Raises
    ------
    InputError
        If an output of this type was not written by :func:`record`.

    Examples
    --------
    >>> output = {"data": {RECORD_TYPE: {"values": [["ettr", 0.91]]}}}
    >>> recorded({"cells": [{"outputs": [output]}]})
    {'ettr': 0.91}
    """
    values: dict[str, Any] = {}
    for cell in notebook["cells"]:
        for output in cell.get("outputs", []):
            payload = output.get("data", {}).get(RECORD_TYPE)
            if payload is not None:
                values.update(_payload(payload))
    return values


def plain(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return values to record for JSON; NaN and infinities become ``{"float": "nan"}`` and so on.

    Examples
    --------
    >>> plain({"ettr": 0.91, "mttf_h": math.inf})
    {'ettr': 0.91, 'mttf_h': {'float': 'inf'}}
    """
    return {name: _plain(name, value) for name, value in values.items()}


def restored(payload: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values that were converted by :func:`plain`.

    Examples
    --------
    >>> restored({"ettr": 0.91, "mttf_h": {"float": "inf"}})
    {'ettr': 0.91, 'mttf_h': inf}
    """
    return {encodable(name): _restored(value) for name, value in payload.items()}


def _payload(payload: Any) -> dict[str, Any]:
    """Values of an output of :func:`record`."""
    try:
        return restored(dict(payload["values"]))
    except (TypeError, ValueError, KeyError, AttributeError, RecursionError) as error:
        raise InputError(f"an output of type {RECORD_TYPE} must be written by ettr.record") from error


def _plain(name: str, value: Any) -> Any:
    """Value for JSON."""
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
        f"{name} must be a number, text, true or false, or a small array of these, got {type(value).__name__}"
    )


def _size(value: Any) -> int:
    """Number of elements of a nested list."""
    return sum(_size(item) for item in value) if isinstance(value, list | tuple) else 1


def _restored(value: Any) -> Any:
    """Value from JSON."""
    if isinstance(value, list):
        return [_restored(item) for item in value]
    if isinstance(value, str):
        return encodable(value)
    return _NOT_FINITE[value["float"]] if isinstance(value, Mapping) else value


def _short(value: Any) -> str:
    """Value in at most 60 characters."""
    return cut(repr(value.tolist() if hasattr(value, "tolist") else value), 60)
