"""Dotted paths into a scenario: find a field with its unit and rule, assign a value, list all paths."""

from __future__ import annotations

import functools
import sys
import typing
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from pydantic.fields import FieldInfo

from ettr.core.errors import InputError, UnknownName
from ettr.core.units import unit_of
from ettr.scenario.basics import Origin, Section
from ettr.scenario.bounds import SMALLEST, Bounds, bounds

N_GPUS, RATE, INTERVAL = "cluster.n_gpus", "failures.rate_per_1000_node_days", "checkpoint.interval_min"
RESTART, SPARES, GPU_PRICE = "recovery.restart_min", "spares.n_nodes", "cost.usd_per_gpu_h"
PERSIST, SLOWDOWN = "checkpoint.persist_s", "checkpoint.persist_slowdown"
JOB_MTTF, OBSERVED = "failures.job_mttf_h", "failures.observed_nodes"
INIT, PER_NODE = "recovery.init_s_per_1000_gpus", "cluster.gpus_per_node"
TIERS, PREDICTION = "checkpoint.tiers", "prediction"
"""Paths that several subpackages use."""


class Listed(NamedTuple):
    """Nouns for a list item in messages, short and long, and an example field."""

    short: str
    kind: str
    example: str


LISTS = {
    "failures.modes": Listed("mode", "failure mode", "factor"),
    "checkpoint.tiers": Listed("tier", "tier", "interval_s"),
}
"""Lists whose items have a ``name``."""


def model_of(annotation: Any) -> type[Section] | None:
    """Return the section class in an annotation such as ``Maintenance | None`` or ``tuple[Mode, ...]``."""
    for candidate in (annotation, *typing.get_args(annotation)):
        if isinstance(candidate, type) and issubclass(candidate, Section):
            return candidate
    return None


@functools.lru_cache(maxsize=1024)
def bounds_at(path: str, model: type[Section]) -> Bounds:
    """Return the bounds of the field at a dotted path, as pairs of sign and limit, e.g. ``((">=", 0), ("<=", 1))``."""
    return bounds(path, field_at(path, model))


def field_at(path: str, model: type[Section]) -> FieldInfo:
    """Return the field at a dotted path; items of a list by their name.

    Raises
    ------
    UnknownName
        If a part does not exist; with the nearest valid path.
    """
    item = list_of(path)
    if item and path != item:
        section = model_of(field_at(item, model).annotation)
        last = path.rpartition(".")[2]
        if section is None or last not in section.model_fields:
            raise UnknownName(f"field of a {LISTS[item].kind}", last, section.model_fields if section else (), path)
        return section.model_fields[last]
    field: FieldInfo | None = None
    section = model
    for part in path.split("."):
        if section is None or part not in section.model_fields:
            raise UnknownName("field", path, paths_of(model))
        field = section.model_fields[part]
        section = model_of(field.annotation)
    assert field is not None
    return field


def sections_of(model: type[Section], prefix: str = "") -> Iterator[tuple[str, type[Section]]]:
    """Yield path and class of every section below a model; ``<name>`` refers to an item of a list."""
    for name, field in model.model_fields.items():
        section, origin = model_of(field.annotation), typing.get_origin(field.annotation)
        if section and origin is not dict:
            path = f"{prefix}{name}" + (".<name>" if origin is tuple else "")
            yield path, section
            yield from sections_of(section, f"{path}.")


@functools.lru_cache(maxsize=1024)
def list_of(path: str) -> str:
    """Return the list that a path leads into, e.g. ``failures.modes``; empty if none."""
    return next((name for name in LISTS if path == name or path.startswith(f"{name}.")), "")


def each_field(model: type[Section], prefix: str = "", *, items: bool = False) -> Iterator[tuple[str, FieldInfo]]:
    """Yield path and field of everything below a model; ``items`` includes lists and tables."""
    for name, field in model.model_fields.items():
        inner, origin = model_of(field.annotation), typing.get_origin(field.annotation)
        listed = "<name>." if origin is tuple else "<*>." if origin is dict else ""
        if inner is not None and (items or not listed):
            yield from each_field(inner, f"{prefix}{name}.{listed}", items=items)
        else:
            yield prefix + name, field


def paths_of(model: type[Section]) -> list[str]:
    """Return every path below a model, without list items."""
    return [path for path, _ in each_field(model)]


def assign(raw: dict[str, Any], path: str, value: Any, model: type[Section]) -> None:
    """Assign a value at a dotted path of nested dicts.

    An item of a list is found by its ``name``, which may itself hold dots: ``failures.modes.NIC.factor``.
    """
    listed = list_of(path)
    if listed and path != listed:
        _assign_to_item(raw, listed, path, value, model)
        return
    field_at(path, model)
    *sections, last = path.split(".")
    where = raw
    for section in sections:
        if where.get(section) is None:
            if value is None:  # already unset
                return
            where[section] = {}
        where = where[section]
        if not isinstance(where, dict):
            raise InputError(f"{section} must be a section with its fields, got {where!r}, so {path} has no place")
    where[last] = value


def _assign_to_item(raw: dict[str, Any], listed: str, path: str, value: Any, model: type[Section]) -> None:
    item, rest = LISTS[listed], path.removeprefix(f"{listed}.")
    section, _, name_of_list = listed.partition(".")
    items = raw[section].get(name_of_list) if isinstance(raw.get(section), dict) else None
    by_name = {entry["name"]: entry for entry in items or () if isinstance(entry, dict) and "name" in entry}
    if not by_name:
        raise InputError(f"the scenario names no {item.kind}s, so it has no {path}")
    name, dot, field = rest.rpartition(".")
    if not dot:
        raise InputError(f"{path} must end in a field of the {item.short}, e.g. {path}.{item.example}")
    if name not in by_name:
        raise UnknownName(item.kind, name, by_name, path)
    field_at(path, model)
    by_name[name][field] = value


def leaves(section: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield dotted path and value of everything in nested dicts, without lists."""
    for name, value in section.items():
        if isinstance(value, dict):
            yield from leaves(value, f"{prefix}{name}.")
        elif not isinstance(value, (list, tuple)):
            yield prefix + name, value


def row_of(
    field: str, path: str, value: Any, origin: Origin | None, written: bool, model: type[Section]
) -> dict[str, Any]:
    """Return a value with its unit and origin for a table; a default without origin is assumed."""
    default = not written and field_at(path, model).default == value
    return {
        "field": field,
        "value": value,
        "unit": unit_of(path),
        "status": origin.status if origin else "assumed" if default else "given",
        "source": (origin.source if origin else None) or "",
        "note": (origin.note if origin else None) or ("default" if default and not origin else ""),
    }


def check_values(path: str, values: Any, model: type[Section]) -> np.ndarray:
    """Check an array of values against the rule of one field.

    Parameters
    ----------
    path : str
        Dotted path, e.g. ``"checkpoint.interval_min"``.
    values : array-like
        Numbers in the field's unit.
    model : type
        The scenario class.

    Returns
    -------
    ndarray
        The values as float64, same shape.

    Raises
    ------
    InputError
        Unknown path, something that is not a number, not finite, or outside the field's bounds.
    """
    limits, unit = bounds_at(path, model), f" {unit_of(path)}".rstrip()
    try:
        if np.asarray(values).dtype.kind not in "iufO":
            raise TypeError  # text and true or false
        array = np.asarray(values, dtype=float)
    except (TypeError, ValueError) as error:
        raise InputError(f"{path} must be numbers, got {values!r}") from error
    except OverflowError as error:
        raise InputError(f"{path} must be finite, got a whole number beyond all floats") from error
    if not np.isfinite(array).all():
        raise InputError(f"{path} must be finite, got {array[~np.isfinite(array)].flat[0]}")
    tests = {">": np.greater, ">=": np.greater_equal, "<": np.less, "<=": np.less_equal}
    for sign, limit in limits:
        good = tests[sign](array, limit)
        if not good.all():
            raise InputError(f"{path} must be {sign} {limit:g}{unit}, got {_first_bad(array[~good])}")
    small = (array != 0) & (np.abs(array) < SMALLEST)
    if small.any():
        raise InputError(f"{path} must be 0 or >= {SMALLEST:g}{unit}, got {_first_bad(array[small])}")
    return array


def _first_bad(values: np.ndarray) -> str:
    """Return the first number as text; exact if it is below the normal floats."""
    first = float(values.flat[0])
    return repr(first) if 0 < abs(first) < sys.float_info.min else f"{first:g}"
