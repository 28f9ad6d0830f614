"""List and search the fields of a model: unit, meaning, default, rule and metadata."""

from __future__ import annotations

import functools
import typing
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from ettr.core.search import Searchable
from ettr.core.units import unit_of
from ettr.scenario.basics import Meta, Section
from ettr.scenario.bounds import LARGEST_COUNT, bounds, of_unit
from ettr.scenario.fields import meta_of
from ettr.scenario.paths import each_field, list_of, model_of

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class ListedField:
    """A field in a list.

    Attributes
    ----------
    path : str
        Dotted path; ``<name>`` stands for the name of an item of a list.
    unit : str
        Unit; empty for a fraction, a count without a noun, and text.
    meaning : str
        Description.
    default : object
        Default value; None if the field is optional.
    required : bool
        True if its section requires it.
    low, high : float or None
        Bounds of allowed numbers; None without a bound that anybody would reach.
    rule : str
        Allowed values in short, e.g. ``>= 0, < 1``; empty for all numbers, or all text.
    meta : Meta
        Metadata.
    sections : tuple of str
        Descriptions of the sections around it, outermost first.
    """

    path: str
    unit: str
    meaning: str
    default: Any
    required: bool
    low: float | None
    high: float | None
    rule: str
    meta: Meta
    sections: tuple[str, ...]

    @property
    def section(self) -> str:
        """Path of its section; empty if none."""
        return self.path.rpartition(".")[0]

    @property
    def name(self) -> str:
        """Name within its section."""
        return self.path.rpartition(".")[2]

    @property
    def default_in_words(self) -> str:
        """Default as written in a file; empty if the field is optional."""
        if self.required:
            return "required"
        if isinstance(self.default, bool):
            return str(self.default).lower()
        if isinstance(self.default, float):
            return f"{self.default:.12g}"
        return "" if self.default in (None, ()) else str(self.default)

    @functools.cached_property
    def entry(self) -> Searchable:
        """The field as a search entry."""
        names = (self.path, self.name, *self.meta.aliases)
        text = "\n".join((self.meaning, self.unit, self.meta.says, self.meta.amount, *self.sections))
        return Searchable(self.path, names, text)


@functools.cache
def fields_of(model: type[Section]) -> tuple[ListedField, ...]:
    """Return every field of a model in order, including those of list items.

    Examples
    --------
    >>> from ettr import Scenario
    >>> restart = next(field for field in fields_of(Scenario) if field.path == "recovery.restart_min")
    >>> restart.unit, restart.default, restart.rule
    ('min', 10.0, '>= 0')
    """
    return tuple(_listed(path, field, model) for path, field in each_field(model, items=True))


def without_items(path: str) -> str:
    """Return the path of a field without the name of its list item, which may contain dots.

    Examples
    --------
    >>> without_items("failures.modes.Faulty GPU.factor"), without_items("failures.modes.<name>.factor")
    ('failures.modes.factor', 'failures.modes.factor')
    """
    listed = list_of(path)
    return f"{listed}.{path.rpartition('.')[2]}" if listed and path != listed else path.replace(".<*>", "")


def _listed(path: str, field: FieldInfo, model: type[Section]) -> ListedField:
    low, high, rule = _ends_and_rule(path, field)
    return ListedField(
        path=path,
        unit=unit_of(path),
        meaning=field.description or "",
        default=None if field.is_required() else field.default,
        required=field.is_required(),
        low=low,
        high=high,
        rule=rule,
        meta=meta_of(field),
        sections=tuple(_sections_around(path, model)),
    )


def _sections_around(path: str, model: type[Section]) -> Iterator[str]:
    section: type[Section] | None = model
    for name in path.split("."):
        if section is not None and name in section.model_fields:
            field = section.model_fields[name]
            section = model_of(field.annotation)
            if section is not None:
                yield f"{field.description or ''} {section.__doc__ or ''} {section.says}"


def _ends_and_rule(path: str, field: FieldInfo) -> tuple[float | None, float | None, str]:
    """Return the tightest bounds of a field and its rule in words, without bounds that nobody would reach."""
    limits = bounds(path, field)
    # of equal ends the one that is left out is tighter
    least = max(((limit, sign) for sign, limit in limits if sign in (">", ">=")), key=_tight(">"), default=None)
    most = min(((limit, sign) for sign, limit in limits if sign in ("<", "<=")), key=_tight("<="), default=None)
    if most and most[0] >= min(LARGEST_COUNT, of_unit(path)[1]):
        most = None
    ends = [f"{end[1]} {end[0]:g}" for end in (least, most) if end]
    choices = list(_choices(field.annotation))
    if choices:
        ends.append(f"{'or ' if ends else ''}{', '.join(choices[:-1])} or {choices[-1]}")
    return float(least[0]) if least else None, float(most[0]) if most else None, ", ".join(ends)


def _tight(larger: str) -> Any:
    """Return a sort key for bounds: by limit, and for equal limits by sign."""
    return lambda end: (end[0], end[1] == larger)


def _choices(annotation: Any) -> Iterator[str]:
    """Yield the words that an annotation allows."""
    if annotation is bool:
        yield from ("true", "false")
    elif typing.get_origin(annotation) is Literal:
        yield from map(str, typing.get_args(annotation))
    else:
        for part in typing.get_args(annotation):
            yield from _choices(part)


def dictionary(model: type[Section]) -> pd.DataFrame:
    """Return the fields of a model as a table.

    Returns
    -------
    DataFrame
        One row per field: ``field`` (dotted path), ``unit``, ``rule``, ``default``, ``meaning``, ``aliases`` (other
        common names, comma-separated).

    Examples
    --------
    >>> from ettr import Scenario
    >>> table = dictionary(Scenario).set_index("field")
    >>> table.loc["recovery.restart_min", ["unit", "rule", "default"]].tolist()
    ['min', '>= 0, <= 1e+11', '10.0']
    """
    import pandas as pd

    rows = [
        {
            "field": path,
            "unit": unit_of(path),
            "rule": ", ".join(f"{sign} {limit:g}" for sign, limit in bounds(path, field)),
            "default": _default_of(field),
            "meaning": field.description or "",
            "aliases": ", ".join(meta_of(field).aliases),
        }
        for path, field in each_field(model, items=True)
    ]
    return pd.DataFrame(rows)


def _default_of(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    return "" if field.default in (PydanticUndefined, None) else str(field.default)
