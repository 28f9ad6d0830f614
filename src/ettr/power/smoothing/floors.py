"""Ways to fill the troughs of a load up to a floor: by the GPU itself, or by a second load in software."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ettr.core.errors import InputError
from ettr.core.units import S_PER_H
from ettr.core.validity import above_zero, at_least_zero, plain
from ettr.power.binning import PowerSeries
from ettr.power.profiles import Profile
from ettr.power.smoothing.option import (
    ENOUGH,
    Option,
    Sized,
    Smoothed,
    Target,
    burnt,
    busy_mw,
    in_three_digits,
    option_figure,
)

_FLOORS, _STEPS_DOWN = 12, 20


class Floor(Option):
    """A level over the rated power that troughs are filled up to.

    Attributes
    ----------
    floor : float
        The level, in (0, 1].
    """

    unit = "of rated"
    floor: float

    @property
    def size(self) -> float:
        return self.floor

    def hinders(self, step_s: float, used: float) -> str:
        """Why this, the best of its settings, uses more than a target allows."""
        return f"the best floor leaves {in_three_digits(used)} times what is allowed"

    def __post_init__(self) -> None:
        above_zero("floor", self.floor)
        if self.floor > 1:
            raise InputError(f"floor must be <= 1, the rated power, got {self.floor:g}")


@dataclass(frozen=True)
class SecondaryLoad(Floor):
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

    name = "secondary load"
    floor: float
    delay_s: float
    hold_s: float
    step_s: float
    n_steps: int
    ahead_per_s: float | None = None
    throughput_loss: float = 0.0

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

    def smooth(self, series: PowerSeries) -> Smoothed:
        """Fill the troughs: after a fall the grid sees the bare one until the delay, if above half a bin, is over."""
        from ettr.power.smoothing.recursions import filled, raised_ahead

        own = self.profile_of(series)
        level = self.floor * own.rated_mw
        gpus_mw = series.power_mw - own.other_mw
        after = np.empty_like(gpus_mw)
        bins = (round(seconds / series.step_s) for seconds in (self.delay_s, self.hold_s))
        step_bins = max(1, round(self.step_s / series.step_s))
        filled(gpus_mw, level, min(level, busy_mw(own)), own.rated_mw, *bins, step_bins, int(self.n_steps), after)
        if self.ahead_per_s is not None:
            raised_ahead(after, level, self.ahead_per_s * own.rated_mw * series.step_s)
        after += own.other_mw
        wasted_mwh, _ = burnt(series, after)
        return Smoothed(
            self.name,
            series,
            series.with_power(after),
            wasted_mwh,
            throughput_loss=self.throughput_loss,
            capital_usd=0.0,
            notes=("it needs no hardware; the throughput that it takes is a published bound",),
        )

    @classmethod
    def sized(cls, series: PowerSeries, target: Target) -> Sized:
        usual = cls.published()

        def tried(floor: float, ramp: float) -> SecondaryLoad:
            n_steps = max(_STEPS_DOWN, math.ceil(_STEPS_DOWN * floor / target.range_share))
            return replace(usual, floor=floor, step_s=floor / ramp / n_steps, n_steps=n_steps, ahead_per_s=ramp)

        return _best_floor(series, target, cls.profile_of(series), 1.0, tried)

    def hinders(self, step_s: float, used: float) -> str:
        if self.delay_s < step_s / 2:
            return super().hinders(step_s, used)
        return (
            f"for its delay of {self.delay_s:g} s the grid sees the bare load: {in_three_digits(used)} times the swing "
            f"allowed"
        )


@dataclass(frozen=True)
class PowerFloor(Floor):
    """A floor with a ramp on either side, which the GPU keeps by itself.

    Attributes
    ----------
    floor : float
        Over the rated power, in (0, 1].
    hold_s : float
        How long it is kept after the load has gone. [s]
    ramp_up_per_s, ramp_down_per_s : float
        Fastest change below the floor, as a share of the rated power. [1/s]
    """

    name = "GPU floor"
    floor: float
    hold_s: float
    ramp_up_per_s: float
    ramp_down_per_s: float

    @classmethod
    def published(cls, floor: float | None = None) -> PowerFloor:
        """With the figures of the table of options, and another floor."""
        ramp = option_figure("floor", "ramp_share_per_s")
        highest = option_figure("floor", "floor")
        return cls(highest if floor is None else floor, option_figure("floor", "hold_s"), ramp, ramp)

    def smooth(self, series: PowerSeries) -> Smoothed:
        """Keep the GPUs at the floor.

        Below it power changes at most as the ramps allow; above it is free. What is burnt is waste, and what the job
        wants beyond the ramp up is unserved, the only loss of throughput.

        Raises
        ------
        InputError
            A floor above what the GPU can keep, a series at the grid, or bins too long.
        """
        from ettr.power.smoothing.recursions import floored

        own = self.profile_of(series)
        highest = own.smoothing.floor if own.smoothing else self.floor
        if self.floor > highest:
            raise InputError(f"floor must be <= {highest:g}, the highest of {own.title}, got {self.floor:g}")
        gpus_mw = series.power_mw - own.other_mw
        after = np.empty_like(gpus_mw)
        up, down = (rate * own.rated_mw * series.step_s for rate in (self.ramp_up_per_s, self.ramp_down_per_s))
        level = self.floor * own.rated_mw
        floored(gpus_mw, level, min(level, busy_mw(own)), up, down, round(self.hold_s / series.step_s), after)
        wasted_mwh, unserved_mwh = burnt(series, after + own.other_mw)
        wanted_mwh = float(gpus_mw.sum()) * series.step_s / S_PER_H
        notes = () if own.smoothing else (f"{own.title} has no such floor: the figures are those of another GPU",)
        return Smoothed(
            self.name,
            series,
            series.with_power(after + own.other_mw),
            wasted_mwh,
            unserved_mwh=unserved_mwh,
            throughput_loss=unserved_mwh / wanted_mwh if wanted_mwh > 0 else 0.0,
            capital_usd=0.0,
            notes=(*notes, "it comes with the GPU, whose price with and without it is not published"),
        )

    @classmethod
    def sized(cls, series: PowerSeries, target: Target) -> Sized:
        own, usual = cls.profile_of(series), cls.published()
        if own.smoothing:
            hold_s = usual.hold_s if own.smoothing.hold_s is None else own.smoothing.hold_s
            usual = replace(usual, floor=own.smoothing.floor, hold_s=hold_s)
        left = float(floor_range(usual.floor, own.overshoot))
        if own.overshoot > 1 and left > target.range_share * ENOUGH:
            why = (
                f"the highest floor is {usual.floor:g} and peaks reach {own.overshoot:g} of the rated power, so a "
                f"range of {left:.3g} remains"
            )
            return usual.against(series, target, left / target.range_share, why)
        slowest = _slowest_ramp(own)

        def tried(floor: float, ramp: float) -> PowerFloor:
            ramp = max(ramp, slowest)
            return replace(usual, floor=floor, ramp_up_per_s=ramp, ramp_down_per_s=ramp)

        best = _best_floor(series, target, own, usual.floor, tried)
        if not best.reached and slowest * target.window_s > target.range_share:
            why = (
                f"below the floor the slowest ramp of the GPU, {slowest:.3g} of the rated power a second, crosses "
                f"{slowest * target.window_s:.3g} of it in {target.window_s:g} s"
            )
            return replace(best, why=why)
        return best


def _slowest_ramp(own: Profile) -> float:
    """Slowest ramp of the GPU, over its rated power; 0 where it does not say. [1/s]"""
    can = own.smoothing
    ramps = [w for w in (can.ramp_up_w_per_s, can.ramp_down_w_per_s) if w] if can else []
    return max(ramps, default=0.0) / own.rated_w


def _best_floor(
    series: PowerSeries, target: Target, own: Profile, highest: float, tried: Callable[[float, float], Floor]
) -> Sized:
    """The floor and ramp that add least energy of those that reach a target, or that come nearest to it."""
    peak = max(phase.gpu_w for phase in own.waveform.phases) / own.rated_w
    all_tried: list[tuple[Floor, Sized]] = []
    for floor in _floors(own, target, highest, peak).tolist():
        room = target.range_share - (peak - floor)
        allowed = max(room, 0.05 * target.range_share) / target.window_s
        setting = tried(floor, 0.98 * allowed)
        short = float(floor_range(floor, own.overshoot)) / target.range_share if own.overshoot > 1 else 0.0
        all_tried.append((setting, setting.against(series, target, short)))
    reaching = [one for _, one in all_tried if one.reached]
    if reaching:
        return min(reaching, key=_added_mwh)
    setting, best = min(all_tried, key=lambda pair: pair[1].used)
    return replace(best, why=setting.hinders(series.step_s, best.used))


def _added_mwh(sized: Sized) -> float:
    assert sized.smoothed is not None
    return sized.smoothed.wasted_mwh + sized.smoothed.unserved_mwh


def _floors(own: Profile, target: Target, highest: float, peak: float) -> np.ndarray:
    """Floors that leave room for a ramp under the target; only the highest if none does."""
    least = max(peak - target.range_share, own.overshoot - target.range_share if own.overshoot > 1 else 0.0, 1e-3)
    top = highest if own.overshoot > 1 else min(highest, peak)
    return np.linspace(least, top, _FLOORS + 1)[1:] if least < top else np.array([top])


def _share(name: str, values: Any) -> np.ndarray:
    share = at_least_zero(name, values)
    if (share > 1).any():
        raise InputError(f"{name} must be <= 1, got {share[share > 1].flat[0]:g}")
    return share


def floor_overhead(compute_share: Any, trough: Any, floor: Any, peak: Any = 1.0) -> Any:
    r"""Energy that a power floor adds, over the energy without it.

    Parameters
    ----------
    compute_share : float or ndarray
        Share of a step at the peak, d.
    trough : float or ndarray
        Power in the rest of the step, over the rated power.
    floor : float or ndarray
        The floor, over the rated power.
    peak : float or ndarray
        Power in the compute phase, over the rated power.

    Returns
    -------
    float or ndarray
        Broadcast shape; 0 where the floor is below the trough.

    Raises
    ------
    InputError
        A share outside of [0, 1], a trough above the peak, or a step that takes no energy.

    Notes
    -----
    Of a step of two levels, :math:`[d\,(\phi - p_h)^+ + (1-d)(\phi - p_l)^+] / [d\,p_h + (1-d)\,p_l]`. A floor of 90%
    cost 10.5% on a trace (Choukse et al. 2025); which step that was is not published.

    Examples
    --------
    >>> round(floor_overhead(0.8, 0.45, 0.9), 3)
    0.101
    """
    d, low, phi = _share("compute_share", compute_share), _share("trough", trough), _share("floor", floor)
    high = _share("peak", peak)
    if (low > high).any():
        raise InputError("trough must be <= peak")
    mean = d * high + (1 - d) * low
    if (mean <= 0).any():
        raise InputError("the step must take some energy: peak and trough are 0 where they last")
    return plain((d * np.maximum(phi - high, 0) + (1 - d) * np.maximum(phi - low, 0)) / mean)


def floor_range(floor: Any, overshoot: Any = 1.0) -> Any:
    """Range that is left between a power floor and the highest peak, over the rated power.

    Parameters
    ----------
    floor : float or ndarray
        The floor, over the rated power.
    overshoot : float or ndarray
        The highest peak, however short, over the rated power.

    Returns
    -------
    float or ndarray
        ``overshoot - floor``, not below 0.

    Examples
    --------
    >>> round(floor_range(0.9, 1.1), 2)
    0.2
    """
    return plain(np.maximum(above_zero("overshoot", overshoot) - at_least_zero("floor", floor), 0.0)[()])
