"""What all sections of a scenario are made of: kinds of values, and the base class."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field
from pydantic_core import PydanticCustomError

MIN_PER_H, S_PER_H, H_PER_DAY = 60.0, 3600.0, 24.0
PLAIN_TEXT = r"^ *[\w.,;+&()/:'%#–—-][\w .,;+&()/:'%#–—-]*$"
"""What titles and names may hold: letters, digits and plain punctuation, so that they are safe in pages."""
LARGEST_COUNT = 1_000_000_000_000
"""More than any machine will ever have, and few enough to be exact in a float."""
ALL = "all"
"""Stands for every mode of failure."""
LARGEST_NUMBER = 1e15
"""Products of larger values would overflow; no unit of a field gets near it."""


_LEADING_ZERO = re.compile(r"\s*[-+]?0[0-9_]")
"""Eight, ten or a slip: nobody can say what 010 means."""


def _refuse_booleans(value: Any, kind: Literal["float", "int"] = "float") -> Any:
    if isinstance(value, (bool, np.bool_)):
        raise ValueError("is not a number")
    if isinstance(value, str) and _LEADING_ZERO.match(value):
        raise PydanticCustomError(f"{kind}_leading_zero", "has a leading zero")
    return value


def _whole(value: Any) -> Any:
    """Read ``1e5``, which YAML takes for text."""
    value = _refuse_booleans(value, "int")
    try:
        return float(value) if isinstance(value, str) and float(value).is_integer() else value
    except (ValueError, OverflowError):
        return value


def _within_reason(value: float) -> float:
    if abs(value) > LARGEST_NUMBER:
        raise ValueError(f"must be at most {LARGEST_NUMBER:g}, got {value:g}")
    return value


Number = Annotated[float, BeforeValidator(_refuse_booleans), AfterValidator(_within_reason)]
Count = Annotated[int, BeforeValidator(_whole), Field(le=LARGEST_COUNT)]
Text = Annotated[str, Field(pattern=PLAIN_TEXT, max_length=200)]
Share = Annotated[Number, Field(ge=0, le=1)]
LARGEST_CV = 10
"""Means of times that spread more could not be found from any number of runs."""
Spread = Annotated[Number, Field(ge=0, le=LARGEST_CV)]


class Section(BaseModel):
    """Base of all sections: frozen, unknown keys refused, no NaN or infinity."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Origin(Section):
    """Where a value comes from."""

    status: Literal["primary", "secondary", "derived", "assumed"] = Field(description="how it is known")
    source: Text | None = Field(None, description="bibliography key")
    note: str | None = Field(None, max_length=400, description="what was assumed or derived, in a few words")
