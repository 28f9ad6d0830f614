"""What all sections of a scenario are made of: kinds of values, and the base class."""

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
"""What names may hold: letters, digits and plain punctuation, so that they are safe in pages."""
ONE_LINE = r"^[ ]*[^\s\x00-\x1f\x7f-\x9f\u2028\u2029][^\x00-\x1f\x7f-\x9f\u2028\u2029]*$"
"""What titles may hold: all that can be printed; pages show it by :func:`ettr.core.sentences.literal`."""
LONGEST_TEXT, LONGEST_PATH = 200, 4096
ALL = "all"
"""Stands for every mode of failure."""


def _as_number(value: Any, info: ValidationInfo, kind: Literal["float", "int"] = "float") -> Any:
    """Read numbers as people write them, such as ``4,096`` and ``90%``; refuse true and false."""
    if isinstance(value, (bool, np.bool_)):
        raise ValueError("is not a number")
    if isinstance(value, str):
        refuse_other_digits(value)
        if LEADING_ZERO.match(value):
            raise PydanticCustomError(f"{kind}_leading_zero", "has a leading zero")
        return spelled_out(info.field_name or "_s", value)
    return value


def spelled_out(name: str, value: Any) -> Any:
    """Return the number that a text spells for a field of this name; what is no such text as it is.

    Examples
    --------
    >>> spelled_out("n_gpus", "4k"), spelled_out("persist_slowdown", "3%"), spelled_out("stall_s", "2min")
    (4000.0, 0.03, 120.0)
    """
    try:
        number = parse_quantity(value, unit_of(name)) if isinstance(value, str) else math.inf
    except ValueError:
        return value  # refused in the words of the field
    return number if math.isfinite(number) else value


def _whole(value: Any, info: ValidationInfo) -> Any:
    """Read ``1e5``, which YAML takes for text."""
    value = _as_number(value, info, "int")
    try:
        return float(value) if isinstance(value, str) and float(value).is_integer() else value
    except (ValueError, OverflowError):
        return value


@dataclass(frozen=True)
class With:
    """A field does nothing where another one of its section does nothing."""

    field: str


@dataclass(frozen=True)
class WhereZero:
    """A field does nothing where a property of the scenario is 0."""

    quantity: str


@dataclass(frozen=True)
class Plausible:
    """How far a value may be from what is assumed.

    Attributes
    ----------
    low, high : float
        Ends of the range, in the unit of the field.
    source : str
        Bibliography key of who prints such values; empty where nobody was found, so that the range is assumed too.
    reason : str
        How the range follows, in a few words.
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
    """What is known of a field beside its type, bounds and meaning; its unit follows from the ending of its name.

    Attributes
    ----------
    idle : object
        The value with which it does nothing; or :class:`With`, :class:`WhereZero`; or ``NEVER``.
    follows : str
        Path of what it follows from: where that is given, the field itself says nothing.
    better : {"less", "more", "between"} or None
        Which way it is better, of fields that can be solved for.
    swept : bool
        Whether formulas take an array for it.
    aliases : tuple of str
        Other names that people search for, such as "MTBF".
    says, amount : str
        Its name in a list, and as what a sentence speaks about; the latter is "the" and the former if not given.
    voids : tuple of str
        Paths that a new value makes void: two ways to say one thing.
    file : bool
        It may name a file, which is looked for beside the scenario's own first.
    plausible : Plausible or None
        How far it may be from what is assumed; half to double where nothing stands here. A value far outside it is
        warned of: :func:`ettr.scenario.fields.implausible`.
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
        """With the facts of the field's kind where it has none of its own."""
        pairs = ((getattr(self, one.name), getattr(kind, one.name), one.default) for one in fields(self))
        return Meta(*(general if own == unsaid else own for own, general, unsaid in pairs))


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
"""A name, or a file wherever it lies: folders may be called anything."""
Share = Annotated[Number, Field(ge=0, le=1), Meta(idle=0.0)]
LARGEST_CV = 10
"""Means of times that spread more could not be found from any number of runs."""
Spread = Annotated[Number, Field(ge=0, le=LARGEST_CV), Meta(idle=0.0)]


def _numbers_in(value: Any) -> Iterator[float]:
    """The numbers of a value: itself, those of a list, or those of a table."""
    if isinstance(value, (int, float)):
        yield value
    elif isinstance(value, (dict, tuple)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _numbers_in(item)


def _without_pydantic(names: Iterable[str]) -> list[str]:
    """Names for tab completion: the fields and methods of this package, without those of pydantic."""
    return [name for name in names if name not in _NOT_COMPLETED]


class _SectionType(ModelMetaclass):
    def __dir__(cls) -> list[str]:
        return _without_pydantic({*super().__dir__(), *getattr(cls, "model_fields", ())})


class Section(BaseModel, metaclass=_SectionType):
    """Base of all sections: frozen, unknown keys refused, every number finite and within the bounds of its field."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)
    section_path: ClassVar[str] = ""
    """Dotted path of the section in a scenario, for messages; empty for the scenario itself."""
    says: ClassVar[str] = ""
    """Name of the section where a sentence does not name its fields."""
    zero_without: ClassVar[bool] = False
    """Leaving the section out is the same as zeros in it."""

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
        """Leave out what is null: the field has its default again, and one without a default is missing."""
        if not isinstance(raw, dict) or all(value is not None for value in raw.values()):
            return raw
        return {name: value for name, value in raw.items() if value is not None or name not in cls.model_fields}

    @field_validator("*")
    @classmethod
    def _within_bounds(cls, value: Any, info: ValidationInfo) -> Any:
        """Check what the type of a field leaves open: the bounds that follow from its unit."""
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
    """Where a value comes from."""

    status: Annotated[Literal["primary", "secondary", "derived", "assumed"], Meta(aliases=("provenance",))] = Field(
        description="primary, secondary, derived or assumed"
    )
    source: Annotated[
        Text | None,
        Meta(
            aliases=(
                "reference",
                "citation",
            )
        ),
    ] = Field(None, description="bibliography key")
    note: str | None = Field(None, max_length=400, description="short note on the assumption or derivation")
    fitted: Annotated[bool, Meta(aliases=("calibrated",))] = Field(
        False, description="chosen so that the ETTR agrees with the published ETTR of the run"
    )
