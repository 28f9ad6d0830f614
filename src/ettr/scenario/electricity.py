"""Electricity of a job: its power from the grid, and the cost of power and GPUs."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from pydantic import Field, model_validator

from ettr import evidence
from ettr.core.units import KWH_PER_MWH
from ettr.scenario.basics import Addition, Assumed, FileName, Meta, Number, Section, Share, Text

PART = "h100"
"""Default GPU."""
OTHER_W = 354.0
"""Host power per GPU: the highest measured power of a node of eight H100, 8.4 kW, minus 696 W per GPU. [W]"""
G_PER_KG = 1e3
COUNTRY = "USA"
"""Default country of the electricity grid."""


class Power(Section):
    """The power of the job, from the GPU to the grid."""

    says = "what a step draws"

    part: Annotated[FileName | None, Meta(aliases=("GPU model", "accelerator type"))] = Field(
        None, description="GPU type: a preset, or a file ending in .yml (assumed: that of heat, else h100)"
    )
    step_s: Annotated[Assumed, Meta(aliases=("step time", "iteration time"))] = Field(
        5.0, gt=0, le=3600, description="duration of a training step (assumed: 5)"
    )
    floor_share: Annotated[Share, Meta(aliases=("power smoothing", "power floor"))] = Field(
        0.0,
        description="minimum power of a GPU that runs a process, relative to its limit; a higher floor smooths "
        "the load but uses more energy (assumed: 0)",
    )
    other_w: Annotated[Assumed, Meta(aliases=("host power",))] = Field(
        OTHER_W,
        ge=0,
        description="power of CPUs, network and fans per GPU (assumed: 354, the measured peak of a node minus its "
        "GPUs)",
    )
    pue: Annotated[Assumed, Meta(aliases=("PUE",))] = Field(
        1.1, ge=1, le=5, description="power usage effectiveness: facility power divided by IT power (assumed: 1.1)"
    )
    country: Annotated[Text | None, Meta(aliases=("carbon intensity",))] = Field(
        None, description="country of the electricity grid, a row of the carbon intensity table (assumed: USA)"
    )
    g_per_kwh: Annotated[Number | None, Meta(aliases=("carbon intensity", "emissions"))] = Field(
        None, ge=0, description="carbon intensity of the electricity, instead of a country"
    )

    @model_validator(mode="after")
    def _one_intensity_of_carbon(self) -> Power:
        if self.country is not None and self.g_per_kwh is not None:
            raise ValueError("takes country or g_per_kwh, not both")
        if self.country is not None:
            countries = set(evidence.table("carbon_intensity")["country"])
            if self.country not in countries:
                raise ValueError(f"country must be one of {', '.join(sorted(countries))}, got {self.country!r}")
        return self

    @property
    def carbon_g_per_kwh(self) -> float:
        """Carbon intensity of the electricity. [g/kWh]"""
        if self.g_per_kwh is not None:
            return self.g_per_kwh
        table = evidence.table("carbon_intensity").set_index("country")
        return float(table.loc[self.country or COUNTRY, "intensity_g_per_kwh"])


def priced(amount: Any, of_one: float) -> Any:
    """Return an amount times its unit price; a price of 0 gives 0, even for an infinite amount."""
    return amount * of_one if of_one > 0 else np.zeros_like(np.asarray(amount))[()]


def carbon_t(facility_mwh: Any, g_per_kwh: float) -> Any:
    """Return the carbon emissions of the facility's energy [t CO2].

    Examples
    --------
    >>> carbon_t(1000.0, 369.0)
    369.0
    """
    return priced(facility_mwh, g_per_kwh / G_PER_KG)


class Cost(Section):
    """Prices of GPUs and electricity."""

    says = "prices"

    usd_per_gpu_h: Annotated[Assumed, Meta(aliases=("GPU price", "rental price"))] = Field(
        2.0, ge=0, le=1000, description="price per GPU-hour, without electricity (assumed: 2)"
    )
    usd_per_kwh: Annotated[Assumed, Meta(aliases=("electricity price",))] = Field(
        0.08, ge=0, le=100, description="price per kWh of electricity (assumed: 0.08)"
    )
    payback_months: Annotated[Number | None, Meta(aliases=("payback time", "ROI"))] = Field(
        None,
        gt=0,
        description="time within which a mitigation must pay back its price (assumed: the length of the job; 12 "
        "if it has no end)",
    )
    usd_per_day: Annotated[Addition, Meta(aliases=("cost of delay",))] = Field(
        0.0, ge=0, description="fixed cost per day of the job at any size: people, delay (assumed: 0)"
    )

    def electricity_usd(self, facility_mwh: Any) -> Any:
        """Return the price of the facility's energy, including overhead. [USD]

        Examples
        --------
        >>> Cost(usd_per_kwh=0.08).electricity_usd(10.0)
        800.0
        """
        return priced(facility_mwh * KWH_PER_MWH, self.usd_per_kwh)

    def total_usd(self, gpu_h: Any, facility_mwh: Any, days: Any) -> Any:
        """Return the total price of GPUs, electricity and days. [USD]"""
        gpus = priced(gpu_h, self.usd_per_gpu_h)
        return gpus + self.electricity_usd(facility_mwh) + priced(days, self.usd_per_day)
