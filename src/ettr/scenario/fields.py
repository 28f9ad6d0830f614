"""Metadata of the fields of a scenario."""

from __future__ import annotations

import functools
import typing
from collections.abc import Iterator
from typing import Any

from pydantic.fields import FieldInfo

from ettr.core.units import unit_of
from ettr.scenario.basics import Meta, Plausible, Section, WhereZero, With
from ettr.scenario.paths import each_field, field_at, list_of, model_of


def meta_of(field: FieldInfo) -> Meta:
    """Return the metadata of a field, completed by those of its type."""
    return functools.reduce(lambda kind, meta: meta.over(kind), _metas(field), Meta())


def _metas(field: FieldInfo) -> Iterator[Meta]:
    """Yield the metadata of a field, those of its types first."""
    for kind in typing.get_args(field.annotation):
        yield from (fact for fact in getattr(kind, "__metadata__", ()) if isinstance(fact, Meta))
    yield from (fact for fact in field.metadata if isinstance(fact, Meta))


@functools.lru_cache(maxsize=1024)
def meta_at(path: str, model: type[Section]) -> Meta:
    """Return the metadata of the field at a dotted path."""
    return meta_of(field_at(path, model))


@functools.cache
def _known_of(section: type[Section]) -> list[tuple[str, type[Section] | None, Meta, bool]]:
    """Return name, section class, metadata, and whether every scenario has it, for each field of a section."""
    return [
        (name, model_of(field.annotation), meta_of(field), field.is_required() or field.default_factory is not None)
        for name, field in section.model_fields.items()
    ]


def _walk(
    section: type[Section], values: Any, prefix: str = "", in_every_scenario: bool = True
) -> Iterator[tuple[str, Any, Meta, bool]]:
    """Yield path, value, metadata, and whether every scenario has it, for each field below a section."""
    for name, inner, meta, always in _known_of(section):
        value, path = getattr(values, name, None), prefix + name
        if inner is None:
            yield path, value, meta, in_every_scenario
        elif isinstance(value, tuple):
            for item in value:
                yield from _walk(inner, item, f"{path}.{item.name}.", False)
        elif value is not None or inner.zero_without:
            yield from _walk(inner, value, f"{path}.", in_every_scenario and (always or inner.zero_without))


def swept(scenario: Section) -> tuple[str, ...]:
    """Return the fields that accept arrays in this scenario, including its store, tiers and prediction.

    Examples
    --------
    >>> from ettr import Scenario
    >>> swept(Scenario.load("rsc-1"))[:2]
    ('cluster.n_gpus', 'job.productive_h')
    """
    always: list[str] = []
    optional: list[str] = []
    for path, value, meta, in_every_scenario in _walk(type(scenario), scenario):
        if meta.swept and not (meta.follows and given_at(scenario, meta.follows)):
            if in_every_scenario:
                always.append(path)
            elif value is not None:
                optional.append(path)
    return (*always, *optional)


def given_at(section: Section, path: str) -> Any:
    """Return the value at a dotted path; None if a section on the way is missing."""
    value: Any = section
    for part in path.split("."):
        value = getattr(value, part, None)
    return value


def is_written(section: Section, path: str) -> bool:
    """Return whether the value at a dotted path was written explicitly, even if it equals the default."""
    value: Any = section
    for part in path.split("."):
        if part not in getattr(value, "model_fields_set", ()):
            return False
        value = getattr(value, part)
    return True


def idle(scenario: Section) -> set[str]:
    """Return the paths of the fields without effect at their values, except those in lists."""
    fields = {path: (value, meta) for path, value, meta, _ in _walk(type(scenario), scenario) if not list_of(path)}

    def rests(path: str) -> bool:
        value, meta = fields[path]
        if isinstance(meta.idle, With):
            return rests(f"{path.rpartition('.')[0]}.{meta.idle.field}")
        if isinstance(meta.idle, WhereZero):
            return bool(getattr(scenario, meta.idle.quantity) == 0)
        return value is None or value == meta.idle or bool(meta.follows and given_at(scenario, meta.follows))

    return {path for path in fields if rests(path)}


FAR = 20.0
"""Factor beyond which a value is far outside its plausible range (assumed: ranges cover published large runs, and
small runs differ by up to a factor of 12).
"""
_OTHER_UNITS = {
    "s": {"milliseconds": 1e-3, "minutes": 60.0, "hours": 3600.0},
    "min": {"seconds": 1 / 60, "hours": 60.0},
    "h": {"seconds": 1 / 3600, "minutes": 1 / 60},
}
"""Units that a user may have meant instead of the unit of the field, with their size in it."""


def implausible(scenario: Section) -> tuple[str, ...]:
    """Return a sentence for each value that is far outside the plausible range of its field; 0 is never.

    Examples
    --------
    >>> from ettr import Scenario
    >>> run = Scenario.load("rsc-1").override({"recovery.restart_min": 720})
    >>> print(implausible(run)[0].partition(" (")[0])
    recovery.restart_min = 720 min is far outside its plausible range of 2.5 to 20 min
    """
    return tuple(
        _implausible(path, value, meta.plausible)
        for path, value, meta, _ in _walk(type(scenario), scenario)
        if meta.plausible is not None and _is_far(value, meta.plausible)
    )


def _is_far(value: Any, ends: Plausible, far: float = FAR) -> bool:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return number and value != 0 and not ends.low / far <= value <= ends.high * far


def _implausible(path: str, value: float, ends: Plausible) -> str:
    unit = unit_of(path)
    unit_text = f" {unit}" if unit else ""
    others = _OTHER_UNITS.get(unit, {})
    near = [name for far in (1.0, FAR) for name, size in others.items() if not _is_far(value * size, ends, far)]
    hint = f"; were {near[0]} meant?" if near else ""
    return (
        f"{path} = {value:,.6g}{unit_text} is far outside its plausible range of {ends.low:,.6g} to "
        f"{ends.high:,.6g}{unit_text} ({ends.reason}; {ends.source or 'assumed'}){hint}"
    )


@functools.cache
def naming_files(model: type[Section]) -> tuple[str, ...]:
    """Return the paths of fields that may name a file."""
    return tuple(path for path, field in each_field(model) if meta_of(field).file)


@functools.cache
def sections_of_solvable(model: type[Section]) -> tuple[str, ...]:
    """Return optional sections with fields that can be solved for."""
    holding = {
        path.replace(".<name>", "").rpartition(".")[0]
        for path, field in each_field(model, items=True)
        if meta_of(field).better
    }
    return tuple(section for section in sorted(holding) if not field_at(section, model).is_required())


def idle_value(path: str, model: type[Section]) -> Any:
    """Return the value at which a field has no effect; None, which unsets it, if it has no other."""
    value = meta_at(path, model).idle
    return value if isinstance(value, (int, float, tuple)) else None


def name_of(path: str, model: type[Section]) -> str:
    """Return the name of a field in lists: the outermost section with a name, or else the field."""
    section: Any = model
    for part in path.split("."):
        field = section.model_fields[part]
        section = model_of(field.annotation)
        if section is None:
            return meta_of(field).says or path
        if section.says:
            return str(section.says)
    return path


def amount_of(path: str, model: type[Section]) -> str:
    """Return the noun phrase for the amount of a field in sentences, such as "the queue time"."""
    meta, listed = meta_at(path, model), list_of(path)
    amount = meta.amount or (f"the {meta.says}" if meta.says else path)
    item = path.removeprefix(f"{listed}.").rpartition(".")[0]
    return f"{amount} of {item}" if listed and item else amount
