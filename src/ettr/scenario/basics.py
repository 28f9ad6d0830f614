"""Types of values and the base class of all sections of a scenario."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationInfo, field_validator, model_validator
from pydantic_core import PydanticCustomError, PydanticKnownError

from ettr.core.errors import InputError
from ettr.core.numbers import LEADING_ZERO, refuse_other_digits
from ettr.core.quantities import parse_quantity
from ettr.core.units import unit_of
from ettr.scenario.bounds import LARGEST_COUNT, SMALLEST, of_section

if TYPE_CHECKING:
    from pydantic._internal._model_construction import ModelMetaclass
else:
    ModelMetaclass = type(BaseModel)

PLAIN_TEXT = r"^ *[\w.,;+&()/:'%#–—-][\w .,;+&()/:'%#–—-]*$"
"""Characters allowed in names: letters, digits and plain punctuation, which are safe in pages."""
ONE_LINE = r"^[ ]*[^\s\x00-\x1f\x7f-\x9f\u2028\u2029][^\x00-\x1f\x7f-\x9f\u2028\u2029]*$"
"""Characters allowed in titles: everything printable; pages escape it with :func:`ettr.core.sentences.literal`."""
LONGEST_TEXT, LONGEST_PATH = 200, 4096
ALL = "all"
"""Refers to every failure mode."""


def _as_number(value: Any, info: ValidationInfo, kind: Literal["float", "int"] = "float") -> Any:
    """Read numbers as people write them, such as ``4,096`` and ``90%``; reject true and false."""
    if isinstance(value, (bool, np.bool_)):
        raise ValueError("is not a number")
    if isinstance(value, str):
        refuse_other_digits(value)
        if LEADING_ZERO.match(value):
            raise PydanticCustomError(f"{kind}_leading_zero", "has a leading zero")
        return spelled_out(info.field_name or "_s", value)
    return value


def spelled_out(name: str, value: Any) -> Any:
    """Return the number in a text for a field of this name; other values unchanged.

    Examples
    --------
    >>> spelled_out("n_gpus", "4k"), spelled_out("persist_slowdown", "3%"), spelled_out("stall_s", "2min")
    (4000.0, 0.03, 120.0)
    """
    try:
        number = parse_quantity(value, unit_of(name)) if isinstance(value, str) else math.inf
    except ValueError:
        return value  # the field rejects it with its own message
    return number if math.isfinite(number) else value


def _whole(value: Any, info: ValidationInfo) -> Any:
    """Read ``1e5``, which YAML parses as text."""
    value = _as_number(value, info, "int")
    try:
        return float(value) if isinstance(value, str) and float(value).is_integer() else value
    except (ValueError, OverflowError):
        return value


@dataclass(frozen=True)
class With:
    """Marks a field without effect if another field of its section has none."""

    field: str


@dataclass(frozen=True)
class WhereZero:
    """Marks a field without effect if a property of the scenario is 0."""

    quantity: str


@dataclass(frozen=True)
class Plausible:
    """The plausible range of an assumed value.

    Attributes
    ----------
    low, high : float
        Ends of the range, in the unit of the field.
    source : str
        Bibliography key of the published values; empty if there are none, so that the range is assumed too.
    reason : str
        Derivation of the range, in a few words.
    """

    low: float
    high: float
    source: str
    reason: str


NEVER = "every value has an effect"
UNSAID = object()
_OF_SECTIONS = {"says", "zero_without", "section_path"}
_NOT_COMPLETED = {name for name in dir(BaseModel) if not name.startswith("__")} | _OF_SECTIONS


@dataclass(frozen=True)
class Meta:
    """Metadata of a field beyond type, bounds and meaning; its unit follows from the suffix of its name.

    Attributes
    ----------
    idle : object
        The value at which the field has no effect; or :class:`With`, :class:`WhereZero`; or ``NEVER``.
    follows : str
        Path of a field that determines this one; if that is set, this field is ignored.
    better : {"less", "more", "between"} or None
        Direction that improves ETTR, for fields that can be solved for.
    swept : bool
        True if formulas accept an array.
    aliases : tuple of str
        Other names that people search for, such as "MTBF".
    says, amount : str
        Name in lists, and noun phrase in sentences; the latter defaults to "the" and the former.
    voids : tuple of str
        Paths that a new value replaces, as alternatives for the same quantity.
    file : bool
        True if it may name a file, which is first searched beside the scenario's file.
    plausible : Plausible or None
        Plausible range; half to double the value if None. A value far outside it triggers a warning:
        :func:`ettr.scenario.fields.implausible`.
    """

    idle: Any = UNSAID
    follows: str = ""
    better: Literal["less", "more", "between"] | None = None
    swept: bool = False
    aliases: tuple[str, ...] = ()
    says: str = ""
    amount: str = ""
    voids: tuple[str, ...] = ()
    file: bool = False
    plausible: Plausible | None = None

    def over(self, kind: Meta) -> Meta:
        """Return these metadata, completed by those of the field's type."""
        pairs = ((getattr(self, field.name), getattr(kind, field.name), field.default) for field in fields(self))
        return Meta(*(general if value == unset else value for value, general, unset in pairs))


Number = Annotated[float, BeforeValidator(_as_number)]
LessIsBetter = Annotated[Number, Meta(better="less", swept=True)]
MoreIsBetter = Annotated[Number, Meta(better="more", swept=True)]
Addition = Annotated[Number, Meta(idle=0.0)]
Factor = Annotated[Number, Meta(idle=1.0)]
Assumed = Annotated[Number, Meta(idle=NEVER)]
"""A number whose default is an assumption like any other."""
Count = Annotated[int, BeforeValidator(_whole), Field(le=LARGEST_COUNT)]
Text = Annotated[str, Field(pattern=PLAIN_TEXT, max_length=LONGEST_TEXT)]
Title = Annotated[str, Field(pattern=ONE_LINE, max_length=LONGEST_TEXT)]
FileName = Annotated[str, Field(pattern=ONE_LINE, max_length=LONGEST_PATH), Meta(file=True)]
"""A preset name or a file path; folders may have any name."""
Share = Annotated[Number, Field(ge=0, le=1), Meta(idle=0.0)]
LARGEST_CV = 10
"""Upper bound: with a larger spread, simulated means do not converge."""
Spread = Annotated[Number, Field(ge=0, le=LARGEST_CV), Meta(idle=0.0)]


def _numbers_in(value: Any) -> Iterator[float]:
    """Yield the numbers in a value, a list or a table."""
    if isinstance(value, (int, float)):
        yield value
    elif isinstance(value, (dict, tuple)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _numbers_in(item)


def _without_pydantic(names: Iterable[str]) -> list[str]:
    """Return the names for tab completion: fields and methods of this package, without those of pydantic."""
    return [name for name in names if name not in _NOT_COMPLETED]


class _SectionType(ModelMetaclass):
    def __dir__(cls) -> list[str]:
        return _without_pydantic({*super().__dir__(), *getattr(cls, "model_fields", ())})


class Section(BaseModel, metaclass=_SectionType):
    """Base of all sections: immutable, without unknown keys, every number finite and within its bounds."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, defer_build=True)
    section_path: ClassVar[str] = ""
    """Dotted path of the section in a scenario, for messages; empty for the scenario itself."""
    says: ClassVar[str] = ""
    """Name of the section in sentences that do not name its fields."""
    zero_without: ClassVar[bool] = False
    """True if leaving the section out is equivalent to zeros in it."""

    def __dir__(self) -> list[str]:
        return _without_pydantic(super().__dir__())

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in type(self).model_fields:
            super().__setattr__(name, value)
            return
        path = f"{self.section_path}.{name}".lstrip(".")
        instead = f"use scenario.override({{{path!r}: {value!r:.80}}})"
        if not self.section_path and not hasattr(self, "override"):  # no part of a scenario, such as a GPU
            instead = "make another one from changed values"
        raise InputError(f"{type(self).__name__} objects do not change: {instead}")

    @model_validator(mode="before")
    @classmethod
    def _null_unsets(cls, raw: Any) -> Any:
        """Drop null values, so that each field has its default, or is missing if it has none."""
        if not isinstance(raw, dict) or all(value is not None for value in raw.values()):
            return raw
        return {name: value for name, value in raw.items() if value is not None or name not in cls.model_fields}

    @field_validator("*")
    @classmethod
    def _within_bounds(cls, value: Any, info: ValidationInfo) -> Any:
        """Check the bounds that follow from the unit of the field."""
        rules = of_section(cls).get(info.field_name or "")
        for number in _numbers_in(value) if rules else ():
            for sign, limit in rules or ():
                if sign == ">=" and number < limit:
                    raise PydanticKnownError("greater_than_equal", {"ge": limit})
                if sign == "<=" and number > limit:
                    raise PydanticKnownError("less_than_equal", {"le": limit})
            if 0 < abs(number) < SMALLEST:
                unit = f" {unit_of(info.field_name or '')}".rstrip()
                raise ValueError(f"must be 0 or >= {SMALLEST:g}{unit}, got {number!r}")
        return value


class Origin(Section):
    """The origin of a value."""

    status: Annotated[Literal["primary", "secondary", "derived", "assumed"], Meta(aliases=("provenance",))] = Field(
        description="primary, secondary, derived or assumed"
    )
    source: Annotated[Text | None, Meta(aliases=("reference", "citation"))] = Field(
        None, description="bibliography key"
    )
    note: str | None = Field(None, max_length=400, description="short note on the assumption or derivation")
    fitted: Annotated[bool, Meta(aliases=("calibrated",))] = Field(
        False, description="chosen so that the ETTR agrees with the published ETTR of the run"
    )
