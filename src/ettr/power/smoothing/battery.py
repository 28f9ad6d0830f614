"""A battery for the whole job."""

from __future__ import annotations

from dataclasses import dataclass

from ettr.core.errors import InputError
from ettr.core.validity import above_zero
from ettr.power.binning import PowerSeries
from ettr.power.smoothing.figures import option_figure
from ettr.power.smoothing.rack_storage import check_efficiency, filter_for
from ettr.power.smoothing.result import Smoothed
from ettr.power.smoothing.storage import behind_store

NAME = "battery"
_KWH_PER_MWH, _H_PER_YEAR = 1000.0, 8766.0


@dataclass(frozen=True)
class Battery:
    """A battery with its converter.

    Attributes
    ----------
    power_mw, energy_mwh : float
        That it gives or takes at most, and holds. [MW], [MWh]
    efficiency : float
        Energy given back over energy taken, in (0, 1].
    c_rate_per_h : float
        Highest power over energy. [1/h]
    usd_per_kwh : float
        Price. [USD/kWh]
    tau_s : float or None
        Time constant of the filter that the grid sees; by default so that half of the battery takes up the load's
        largest swing. [s]

    Raises
    ------
    InputError
        A battery smaller than its rate allows for its power.
    """

    power_mw: float
    energy_mwh: float
    efficiency: float
    c_rate_per_h: float
    usd_per_kwh: float
    tau_s: float | None = None

    def __post_init__(self) -> None:
        for name, unit in (("power_mw", "MW"), ("energy_mwh", "MWh"), ("c_rate_per_h", "1/h")):
            above_zero(name, getattr(self, name), unit=unit)
        check_efficiency(self.efficiency)
        if self.power_mw > self.c_rate_per_h * self.energy_mwh * (1 + 1e-12):
            raise InputError(
                f"energy_mwh must be >= {self.power_mw / self.c_rate_per_h:g} MWh, which {self.power_mw:g} MW need at "
                f"{self.c_rate_per_h:g} 1/h, got {self.energy_mwh:g}"
            )

    @classmethod
    def published(cls, power_mw: float, energy_mwh: float | None = None) -> Battery:
        """With the figures of the table of options; of the least energy that its rate allows, if none is given."""
        rate = option_figure("battery", "c_rate_per_h")
        return cls(
            power_mw=power_mw,
            energy_mwh=power_mw / rate if energy_mwh is None else energy_mwh,
            efficiency=option_figure("battery", "efficiency"),
            c_rate_per_h=rate,
            usd_per_kwh=option_figure("battery", "cost_usd_per_kwh"),
        )


def with_battery(series: PowerSeries, option: Battery) -> Smoothed:
    """Put a battery between a load and the grid.

    Parameters
    ----------
    series : PowerSeries
        Of the computers or at the grid.
    option : Battery
        Its settings.

    Returns
    -------
    Smoothed
        With price, full cycles a year, and the years that it lasts: its cycles or its age, whichever ends first.
    """
    tau_s = option.tau_s or filter_for(series, option.energy_mwh)
    store = behind_store(series, tau_s, option.power_mw, option.energy_mwh, option.efficiency)
    cycles = store.given_mwh / option.energy_mwh / (series.duration_h / _H_PER_YEAR)
    years = option_figure("battery", "life_years")
    worn = option_figure("battery", "full_cycles") / cycles if cycles > 0 else years
    return Smoothed(
        NAME,
        series,
        series.with_power(store.after_mw),
        store.lost_mwh,
        stored_mwh=float(store.stored_mwh[-1]) - store.start_mwh,
        capital_usd=option.energy_mwh * _KWH_PER_MWH * option.usd_per_kwh,
        life_years=min(years, worn),
        full_cycles_per_year=cycles,
        notes=("efficiency, rate and life are assumed",),
    )
