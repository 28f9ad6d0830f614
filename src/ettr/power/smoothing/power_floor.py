"""A power floor that the GPU keeps by itself."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ettr.core.errors import InputError
from ettr.core.validity import above_zero, at_least_zero
from ettr.power.binning import PowerSeries
from ettr.power.closed_forms import floor_range
from ettr.power.smoothing.figures import option_figure
from ettr.power.smoothing.result import Smoothed, burnt, busy_mw, profile_of
from ettr.scenario import Gpu

NAME = "GPU floor"


@dataclass(frozen=True)
class PowerFloor:
    """A floor with a ramp on either side.

    Attributes
    ----------
    floor : float
        Over the rated power, in (0, 1].
    hold_s : float
        How long it is kept after the load has gone. [s]
    ramp_up_per_s, ramp_down_per_s : float
        Fastest change below the floor, as a share of the rated power. [1/s]
    """

    floor: float
    hold_s: float
    ramp_up_per_s: float
    ramp_down_per_s: float

    def __post_init__(self) -> None:
        above_zero("floor", self.floor)
        if self.floor > 1:
            raise InputError(f"floor must be <= 1, the rated power, got {self.floor:g}")
        at_least_zero("hold_s", self.hold_s, unit="s")
        for name in ("ramp_up_per_s", "ramp_down_per_s"):
            above_zero(name, getattr(self, name), unit="1/s")

    @classmethod
    def published(cls, floor: float | None = None) -> PowerFloor:
        """With the figures of the table of options, and another floor."""
        ramp = option_figure("floor", "ramp_share_per_s")
        highest = option_figure("floor", "floor")
        return cls(highest if floor is None else floor, option_figure("floor", "hold_s"), ramp, ramp)

    @classmethod
    def of_part(cls, part: Gpu, floor: float | None = None) -> PowerFloor:
        """With the figures of a GPU; those that it does not give are those of the table of options.

        Raises
        ------
        InputError
            A GPU without such a floor.
        """
        can = part.smoothing
        if can is None:
            raise InputError(f"{part.name} has no power floor of its own: this GPU has no section smoothing")
        usual = cls.published()
        up, down = (
            None if w is None else w / part.limits.power_w for w in (can.ramp_up_w_per_s, can.ramp_down_w_per_s)
        )
        return cls(
            floor=can.floor if floor is None else floor,
            hold_s=usual.hold_s if can.hold_s is None else can.hold_s,
            ramp_up_per_s=up or usual.ramp_up_per_s,
            ramp_down_per_s=down or usual.ramp_down_per_s,
        )


def with_power_floor(series: PowerSeries, option: PowerFloor) -> Smoothed:
    """Keep the GPUs of a series at a power floor.

    Parameters
    ----------
    series : PowerSeries
        Of the computers, in bins that show the phases of a step.
    option : PowerFloor
        Its settings.

    Returns
    -------
    Smoothed
        Below the floor power changes at most as the ramps allow; above it is free. What is burnt is waste, and what the
        job wants beyond the ramp up is unserved, the only loss of throughput.

    Raises
    ------
    InputError
        A floor above what the GPU can keep, a series at the grid, or bins too long.
    """
    from ettr.power.smoothing.recursions import floored

    own = profile_of(series, NAME)
    highest = own.smoothing.floor if own.smoothing else option.floor
    if option.floor > highest:
        raise InputError(f"floor must be <= {highest:g}, the highest of {own.title}, got {option.floor:g}")
    gpus_mw = series.power_mw - own.other_mw
    after = np.empty_like(gpus_mw)
    up, down = (rate * own.rated_mw * series.step_s for rate in (option.ramp_up_per_s, option.ramp_down_per_s))
    hold = round(option.hold_s / series.step_s)
    level = option.floor * own.rated_mw
    floored(gpus_mw, level, min(level, busy_mw(own)), up, down, hold, after)
    wasted_mwh, unserved_mwh = burnt(series, after + own.other_mw)
    wanted_mwh = float(gpus_mw.sum()) * series.step_s / 3600
    notes = () if own.smoothing else (f"{own.title} has no such floor: the figures are those of another GPU",)
    return Smoothed(
        NAME,
        series,
        series.with_power(after + own.other_mw),
        wasted_mwh,
        unserved_mwh=unserved_mwh,
        throughput_loss=unserved_mwh / wanted_mwh if wanted_mwh > 0 else 0.0,
        capital_usd=0.0,
        peak_left_mw=float(floor_range(option.floor, own.overshoot)) * own.rated_mw,
        notes=(*notes, "it comes with the GPU, whose price with and without it is not published"),
    )
