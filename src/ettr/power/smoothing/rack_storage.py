"""Energy stored beside each GPU, in its power supply or its rack."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ettr.core.errors import InputError
from ettr.core.validity import above_zero
from ettr.power.binning import PowerSeries
from ettr.power.smoothing.figures import option_figure
from ettr.power.smoothing.result import Smoothed, profile_of
from ettr.power.smoothing.storage import behind_store

NAME = "rack storage"
J_PER_MWH = 3.6e9


@dataclass(frozen=True)
class RackStorage:
    """A store for each GPU.

    Attributes
    ----------
    energy_j : float
        For each GPU. [J]
    power_w : float
        That it gives or takes at most, for each GPU. [W]
    efficiency : float
        Energy given back over energy taken, in (0, 1].
    tau_s : float or None
        Time constant of the filter that the grid sees; by default so that half of the store takes up the load's largest
        swing. [s]
    """

    energy_j: float
    power_w: float
    efficiency: float
    tau_s: float | None = None

    def __post_init__(self) -> None:
        above_zero("energy_j", self.energy_j, unit="J")
        above_zero("power_w", self.power_w, unit="W")
        check_efficiency(self.efficiency)
        if self.tau_s is not None:
            above_zero("tau_s", self.tau_s, unit="s")

    @classmethod
    def published(cls, rated_w: float, energy_j: float | None = None) -> RackStorage:
        """With the figures of the table of options, for a GPU of a rated power, and another energy."""
        return cls(
            energy_j=option_figure("rack_storage", "energy_j") if energy_j is None else energy_j,
            power_w=option_figure("rack_storage", "power_share") * rated_w,
            efficiency=option_figure("rack_storage", "efficiency"),
        )


def check_efficiency(efficiency: float) -> None:
    """Refuse what is no efficiency."""
    above_zero("efficiency", efficiency)
    if efficiency > 1:
        raise InputError(f"efficiency must be <= 1, got {efficiency:g}")


def with_rack_storage(series: PowerSeries, option: RackStorage) -> Smoothed:
    """Put a store between each GPU and the grid.

    Parameters
    ----------
    series : PowerSeries
        Of the computers, in bins that show the phases of a step.
    option : RackStorage
        Its settings.

    Returns
    -------
    Smoothed
        Where the store is full or empty the grid sees the bare load. Its price is not published.
    """
    own = profile_of(series, NAME)
    energy_mwh = option.energy_j * own.n_gpus / J_PER_MWH
    tau_s = option.tau_s or filter_for(series, energy_mwh)
    store = behind_store(series, tau_s, option.power_w * own.n_gpus / 1e6, energy_mwh, option.efficiency)
    return Smoothed(
        NAME,
        series,
        series.with_power(store.after_mw),
        store.lost_mwh,
        stored_mwh=float(store.stored_mwh[-1]) - store.start_mwh,
        life_years=option_figure("rack_storage", "life_years"),
        full_cycles_per_year=store.given_mwh / energy_mwh / (series.duration_h / 8766),
        notes=("its price is not published; power and efficiency are assumed",),
    )


def filter_for(series: PowerSeries, energy_mwh: float) -> float:
    """Time constant at which half of a store takes up the largest swing of a series [s].

    A filter of first order stores its time constant times the swing of what it lets through.
    """
    swing_mw = float(np.ptp(series.power_mw))
    return energy_mwh / 2 / swing_mw * 3600 if swing_mw > 0 else series.step_s
