"""The heat section: site, cooling, and the conditions under which the run was observed."""

from __future__ import annotations

import difflib
import functools
from typing import Annotated

from pydantic import Field, model_validator

from ettr import evidence
from ettr.core.validity import AIR_C
from ettr.scenario.basics import NEVER, Addition, Assumed, FileName, Meta, Number, Section, Share, Text
from ettr.scenario.gpu import COLDEST_C, HOTTEST_C

COLDEST_AIR_C, HOTTEST_AIR_C = AIR_C


@functools.cache
def _plants() -> tuple[str, ...]:
    """Return the names in the cooling table."""
    return tuple(evidence.table("cooling")["name"])


class Heat(Section):
    """Heat in the data hall: the clock of the hottest GPU, and temperature-activated failures.

    Failure rates and full speed are those at ``reference_inlet_c`` in air, or for a GPU that only liquid cools in that.
    """

    says = "cooling and temperatures of the hall"

    part: Annotated[FileName, Meta(aliases=("GPU model",))] = Field(
        "h100", description="GPU type: a preset, or a file written by `ettr telemetry`"
    )
    cooling: Annotated[Text, Meta(aliases=("liquid cooling", "air cooling"))] = Field(
        "air_economiser", description="type of cooling plant, a row of the cooling table"
    )
    mean_c: Annotated[Number | None, Meta(aliases=("ambient temperature",))] = Field(
        None, ge=COLDEST_AIR_C, le=HOTTEST_AIR_C, description="outdoor temperature, daily mean; alternative to weather"
    )
    swing_k: Addition = Field(
        0.0, ge=0, le=40, description="difference between the daily mean and the hottest hour (assumed: 0)"
    )
    weather: FileName | None = Field(None, description="weather file, EPW or CSV; alternative to mean_c")
    starts: Text | None = Field(
        None,
        description="first day of the run in the weather file, e.g. 06-15 or 2026-06-15; without it, the whole "
        "file is used",
    )
    limit_w: Annotated[Number | None, Meta(aliases=("power cap", "power limit"))] = Field(
        None, gt=0, description="power limit set below the GPU's own"
    )
    compute_share: Annotated[Share, Meta(idle=NEVER)] = Field(
        0.8, description="fraction of a step that scales with the GPU clock, at the reference (assumed: 0.8)"
    )
    reference_inlet_c: Annotated[Assumed, Meta(aliases=("inlet temperature",))] = Field(
        25.0,
        ge=COLDEST_C,
        le=HOTTEST_C,
        description="inlet temperature at which failure rate and full speed were observed (assumed: 25)",
    )

    @model_validator(mode="after")
    def _one_way_to_give_the_weather(self) -> Heat:
        if (self.mean_c is None) == (self.weather is None):
            raise ValueError("needs exactly one of mean_c or weather, the outdoor temperature")
        if self.weather is None and self.starts is not None:
            raise ValueError("takes starts only with weather, the file that it belongs to")
        if self.weather is not None and self.swing_k:
            raise ValueError("takes swing_k only with mean_c; a weather file has its own days")
        return self

    @model_validator(mode="after")
    def _a_plant_that_there_is(self) -> Heat:
        plants = _plants()
        if self.cooling not in plants:
            near = difflib.get_close_matches(self.cooling, plants, n=1, cutoff=0.4)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise ValueError(f"cooling must be one of {', '.join(plants)}, got {self.cooling!r}{hint}")
        return self
