"""A second load in software that fills the troughs of the first."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ettr.core.errors import InputError
from ettr.core.validity import above_zero, at_least_zero
from ettr.power.binning import PowerSeries
from ettr.power.closed_forms import floor_range
from ettr.power.smoothing.figures import option_figure
from ettr.power.smoothing.result import Smoothed, burnt, busy_mw, profile_of

NAME = "secondary load"


@dataclass(frozen=True)
class SecondaryLoad:
    """A program that burns power on the GPUs while the job waits.

    Attributes
    ----------
    floor : float
        Total that it fills up to, over the rated power, in (0, 1].
    delay_s : float
        From a change of the power to its own. [s]
    hold_s : float
        Until it begins to step down where the job does not come back. [s]
    step_s : float
        Time on each step down. [s]
    n_steps : int
        Steps down.
    ahead_per_s : float or None
        If the job announces its starts, the second load rises before them by this share of the rated power a second;
        without, the job starts at once. [1/s]
    throughput_loss : float
        Share of the training that it takes.
    """

    floor: float
    delay_s: float
    hold_s: float
    step_s: float
    n_steps: int
    ahead_per_s: float | None = None
    throughput_loss: float = 0.0

    def __post_init__(self) -> None:
        above_zero("floor", self.floor)
        if self.floor > 1:
            raise InputError(f"floor must be <= 1, the rated power, got {self.floor:g}")
        for name in ("delay_s", "hold_s"):
            at_least_zero(name, getattr(self, name), unit="s")
        above_zero("step_s", self.step_s, unit="s")
        above_zero("n_steps", self.n_steps)
        if self.ahead_per_s is not None:
            above_zero("ahead_per_s", self.ahead_per_s, unit="1/s")

    @classmethod
    def published(cls, floor: float | None = None) -> SecondaryLoad:
        """With the figures of the table of options, and another floor."""
        figures = {key: option_figure("secondary_load", key) for key in ("delay_s", "hold_s", "step_s")}
        return cls(
            floor=option_figure("secondary_load", "floor") if floor is None else floor,
            n_steps=int(option_figure("secondary_load", "n_steps")),
            throughput_loss=option_figure("secondary_load", "throughput_loss"),
            **figures,
        )


def with_secondary_load(series: PowerSeries, option: SecondaryLoad) -> Smoothed:
    """Fill the troughs of a series by a second load.

    Parameters
    ----------
    series : PowerSeries
        Of the computers, in bins that show the phases of a step.
    option : SecondaryLoad
        Its settings; a delay below half a bin counts as none.

    Returns
    -------
    Smoothed
        What it burns is waste; after a fall the grid sees the bare trough until the delay is over.

    Raises
    ------
    InputError
        A series at the grid, or bins too long.
    """
    from ettr.power.smoothing.recursions import filled, raised_ahead

    own = profile_of(series, NAME)
    level = option.floor * own.rated_mw
    gpus_mw = series.power_mw - own.other_mw
    after = np.empty_like(gpus_mw)
    bins = (round(seconds / series.step_s) for seconds in (option.delay_s, option.hold_s))
    step_bins = max(1, round(option.step_s / series.step_s))
    filled(gpus_mw, level, min(level, busy_mw(own)), own.rated_mw, *bins, step_bins, int(option.n_steps), after)
    if option.ahead_per_s is not None:
        raised_ahead(after, level, option.ahead_per_s * own.rated_mw * series.step_s)
    after += own.other_mw
    wasted_mwh, _ = burnt(series, after)
    return Smoothed(
        NAME,
        series,
        series.with_power(after),
        wasted_mwh,
        throughput_loss=option.throughput_loss,
        capital_usd=0.0,
        peak_left_mw=float(floor_range(option.floor, own.overshoot)) * own.rated_mw,
        notes=("it needs no hardware; the throughput that it takes is a published bound",),
    )
