"""Every number of a scenario and of a GPU file, with a valid scenario or file in which it may stand."""

from __future__ import annotations

import functools
import math
import sys
from collections.abc import Iterator
from typing import Any

from ettr import Gpu, Scenario
from ettr.core.errors import InputError
from ettr.scenario import paths
from ettr.scenario.bounds import SMALLEST, is_number
from ettr.scenario.fields import given_at
from every_section import SECTIONS, scenario

FLOATS = (
    *(5e-324, 1e-320, sys.float_info.min, -5e-324, -1e-320, -1e308, 1e308, sys.float_info.max),
    *(math.nan, math.inf, -math.inf, 10**400, -(10**400)),
)
"""Limits of floats, and integers beyond them."""
_SPARES = {"spares": {"n_nodes": 4}}
_MORE: dict[str, dict[str, Any]] = {
    "everything of a store": {
        "checkpoint": {"store": {"n_parameters": 70e9, "write_gb_s": 50, "read_gb_s": 100, "node_gb_s": 10}}
    },
    "carbon": {"power": {"g_per_kwh": 300}},
    "counts of modes": {"failures": {"n_events": 9, "node_days": 5e3, "modes": [{"name": "GPU", "n_events": 4}]}},
    "by the wall clock": {"failures": {"rate_clock": "wall", "exposed_share": 0.9}},
    "a bound of the ETTR": {"measured": {"ettr_above": 0.3}},
    "another bound of the ETTR": {"measured": {"ettr_below": 0.99}},
    "temperate hall": {"heat": {"mean_c": 20}},
}
"""Sections beside those that every page is tried with."""


@functools.cache
def bases() -> tuple[Scenario, ...]:
    """Return valid scenarios, so that each field is allowed in at least one of them."""
    candidates = (scenario(part) for name, part in {**SECTIONS, **_MORE}.items() if "csv" not in str(part))
    return tuple(Scenario.of(values) for values in candidates if "mine-gpu" not in str(values))


def numeric_paths(model: type[Any]) -> tuple[str, ...]:
    """Return the dotted paths of all numbers of a model, ``<name>`` for the name of an item."""
    return tuple(path for path, field in paths.each_field(model, items=True) if is_number(field.annotation))


def places_of(path: str) -> Iterator[tuple[Scenario, str]]:
    """Yield scenarios with the section of a field, and the field's path in each."""
    listed = paths.list_of(path)
    for run in bases():
        sections = given_at(run, listed or path.rpartition(".")[0])
        if sections not in (None, ()):
            yield run, path.replace("<name>", sections[-1].name) if listed else path


def accepted(path: str, value: float) -> Scenario | None:
    """Return the first of these scenarios that accepts a number in a field; None if all refuse it."""
    for run, place in places_of(path):
        try:
            return run.override({place: value})
        except InputError:
            continue
    return None


def bounds_of_field(path: str, model: type[Any]) -> list[float]:
    """Return the smallest and largest number allowed for a field alone; if 0 is allowed, also the smallest above it."""
    rules = paths.bounds_at(path, model)
    low = max(limit for sign, limit in rules if sign in (">", ">="))
    high = min(limit for sign, limit in rules if sign in ("<", "<="))
    below = math.nextafter(high, -math.inf) if ("<", high) in rules else high
    above = math.nextafter(low, math.inf) if (">", low) in rules else low
    is_integer = "int" in str(paths.field_at(path, model).annotation)
    return [above, below, *([SMALLEST] if low == 0 and not is_integer else [])]


def set_number(gpu: Gpu, path: str, value: float) -> Gpu:
    """Return a GPU with another value of a number."""
    raw = gpu.model_dump(exclude_none=True)
    paths.assign(raw, path, value, Gpu)
    return Gpu.of({**raw, "evidence": {}}, "mine.yml")


def gpu_with(path: str) -> Gpu:
    """Return a preset with the section of a number."""
    gpus = map(Gpu.load, ("h100", "gb300"))
    return next(gpu for gpu in gpus if given_at(gpu, path.rpartition(".")[0]) is not None)
