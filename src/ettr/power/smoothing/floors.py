"""Options that fill the troughs of a load up to a floor: a GPU power floor, or a secondary load in software."""

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
    busy_mw,
    in_three_digits,
    option_figure,
    wasted_and_unserved,
)

_FLOORS, _STEPS_DOWN = 12, 20


class Floor(Option):
    """Option that fills troughs up to a floor.

    Attributes
    ----------
    floor : float
        Floor relative to rated power, in (0, 1].
    """

    unit = "of rated"
    floor: float

    @property
    def size(self) -> float:
        """Floor relative to rated power."""
        return self.floor

    def shortfall(self, step_s: float, used: float) -> str:
        """Return the reason why the best setting exceeds the limits of a target."""
        return f"with the best floor, the swing is {in_three_digits(used)} times the limit"

    def __post_init__(self) -> None:
        above_zero("floor", self.floor)
        if self.floor > 1:
            raise InputError(f"floor must be <= 1 (1 is rated power), got {self.floor:g}")


@dataclass(frozen=True)
class SecondaryLoad(Floor):
    """Program that burns power on the GPUs while the job waits.

    Attributes
    ----------
    floor : float
        Total power to fill up to, relative to rated power, in (0, 1].
    delay_s : float
        Delay from a change of the job's power to the reaction. [s]
    hold_s : float
        Time at the floor before it steps down, if the job stays away. [s]
    step_s : float
        Time at each step down. [s]
    n_steps : int
        Number of steps down.
    ahead_per_s : float or None
        Ramp before an announced start of the job, as a share of rated power per second; None if the job starts without
        notice. [1/s]
    throughput_loss : float
        Share of training throughput that it costs.

    Examples
    --------
    >>> load = SecondaryLoad.published(floor=0.8)
    >>> load.floor, load.throughput_loss
    (0.8, 0.05)
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
        """Return the option with its published figures, optionally with another floor."""
        figures = {key: option_figure("secondary_load", key) for key in ("delay_s", "hold_s", "step_s")}
        return cls(
            floor=option_figure("secondary_load", "floor") if floor is None else floor,
            n_steps=int(option_figure("secondary_load", "n_steps")),
            throughput_loss=option_figure("secondary_load", "throughput_loss"),
            **figures,
        )

    def smooth(self, series: PowerSeries) -> Smoothed:
        """Fill the troughs; after a fall the grid sees the bare load until the delay (above half a bin) is over."""
        from ettr.power.smoothing.recursions import filled, raised_ahead

        profile = self.profile_of(series)
        level = self.floor * profile.rated_mw
        gpus_mw = series.power_mw - profile.other_mw
        after = np.empty_like(gpus_mw)
        bins = (round(seconds / series.step_s) for seconds in (self.delay_s, self.hold_s))
        step_bins = max(1, round(self.step_s / series.step_s))
        busy = min(level, busy_mw(profile))
        filled(gpus_mw, level, busy, profile.rated_mw, *bins, step_bins, int(self.n_steps), after)
        if self.ahead_per_s is not None:
            raised_ahead(after, level, self.ahead_per_s * profile.rated_mw * series.step_s)
        after += profile.other_mw
        wasted_mwh, _ = wasted_and_unserved(series, after)
        return Smoothed(
            self.name,
            series,
            series.with_power(after),
            wasted_mwh,
            throughput_loss=self.throughput_loss,
            capital_usd=0.0,
            notes=("it needs no hardware; its throughput loss is a published upper bound",),
        )

    @classmethod
    def sized(cls, series: PowerSeries, target: Target) -> Sized:
        """Return the floor and ramp that meet a target with the least energy."""
        published = cls.published()

        def setting(floor: float, ramp: float) -> SecondaryLoad:
            n_steps = max(_STEPS_DOWN, math.ceil(_STEPS_DOWN * floor / target.range_share))
            return replace(published, floor=floor, step_s=floor / ramp / n_steps, n_steps=n_steps, ahead_per_s=ramp)

        return _best_floor(series, target, cls.profile_of(series), 1.0, setting)

    def shortfall(self, step_s: float, used: float) -> str:
        """Return the reason why the best setting exceeds the limits of a target."""
        if self.delay_s < step_s / 2:
            return super().shortfall(step_s, used)
        return (
            f"during its delay of {self.delay_s:g} s the grid sees the bare load, {in_three_digits(used)} times the "
            f"allowed swing"
        )


@dataclass(frozen=True)
class PowerFloor(Floor):
    """Power floor with ramps, built into the GPU.

    Attributes
    ----------
    floor : float
        Floor relative to rated power, in (0, 1].
    hold_s : float
        Time at the floor after the load has stopped. [s]
    ramp_up_per_s, ramp_down_per_s : float
        Fastest change below the floor, as a share of rated power per second. [1/s]

    Examples
    --------
    >>> PowerFloor.published().floor
    0.9
    """

    name = "GPU floor"
    floor: float
    hold_s: float
    ramp_up_per_s: float
    ramp_down_per_s: float

    @classmethod
    def published(cls, floor: float | None = None) -> PowerFloor:
        """Return the option with its published figures, optionally with another floor."""
        ramp = option_figure("floor", "ramp_share_per_s")
        highest = option_figure("floor", "floor")
        return cls(highest if floor is None else floor, option_figure("floor", "hold_s"), ramp, ramp)

    def smooth(self, series: PowerSeries) -> Smoothed:
        """Keep the GPUs at the floor.

        Below the floor, power changes no faster than the ramps; above it there is no limit. Energy burnt at the floor
        is wasted. Power that the job demands beyond the ramp up is unserved, which is the only loss of throughput.

        Raises
        ------
        InputError
            If the floor is above the GPU's highest, the series is at the grid, or bins are too long.
        """
        from ettr.power.smoothing.recursions import floored

        profile = self.profile_of(series)
        highest = profile.smoothing.floor if profile.smoothing else self.floor
        if self.floor > highest:
            raise InputError(f"floor must be <= {highest:g}, the highest of {profile.title}, got {self.floor:g}")
        gpus_mw = series.power_mw - profile.other_mw
        after = np.empty_like(gpus_mw)
        up, down = (rate * profile.rated_mw * series.step_s for rate in (self.ramp_up_per_s, self.ramp_down_per_s))
        level = self.floor * profile.rated_mw
        floored(gpus_mw, level, min(level, busy_mw(profile)), up, down, round(self.hold_s / series.step_s), after)
        wasted_mwh, unserved_mwh = wasted_and_unserved(series, after + profile.other_mw)
        demand_mwh = float(gpus_mw.sum()) * series.step_s / S_PER_H
        notes = () if profile.smoothing else (f"the {profile.title} has no power floor; the figures are the GB200's",)
        return Smoothed(
            self.name,
            series,
            series.with_power(after + profile.other_mw),
            wasted_mwh,
            unserved_mwh=unserved_mwh,
            throughput_loss=unserved_mwh / demand_mwh if demand_mwh > 0 else 0.0,
            capital_usd=0.0,
            notes=(*notes, "it is built into the GPU, and no price without it is published"),
        )

    @classmethod
    def sized(cls, series: PowerSeries, target: Target) -> Sized:
        """Return the floor and ramp that meet a target with the least energy."""
        profile, published = cls.profile_of(series), cls.published()
        if profile.smoothing:
            hold_s = published.hold_s if profile.smoothing.hold_s is None else profile.smoothing.hold_s
            published = replace(published, floor=profile.smoothing.floor, hold_s=hold_s)
        # Peaks of milliseconds exceed rated power, so that even the highest floor leaves a range.
        smallest_range = float(floor_range(published.floor, profile.overshoot))
        if profile.overshoot > 1 and smallest_range > target.range_share * ENOUGH:
            why = (
                f"the highest floor is {published.floor:g} and peaks reach {profile.overshoot:g} of rated power, which "
                f"leaves a range of {smallest_range:.3g}"
            )
            return published.against(series, target, smallest_range / target.range_share, why)
        slowest = _slowest_ramp(profile)

        def setting(floor: float, ramp: float) -> PowerFloor:
            ramp = max(ramp, slowest)
            return replace(published, floor=floor, ramp_up_per_s=ramp, ramp_down_per_s=ramp)

        best = _best_floor(series, target, profile, published.floor, setting)
        if not best.reached and slowest * target.window_s > target.range_share:
            why = (
                f"below the floor the slowest ramp of the GPU, {slowest:.3g} of rated power per second, crosses "
                f"{slowest * target.window_s:.3g} of rated power in {target.window_s:g} s"
            )
            return replace(best, why=why)
        return best


def _slowest_ramp(profile: Profile) -> float:
    """Slowest ramp of the GPU relative to rated power; 0 if it is not published. [1/s]"""
    smoothing = profile.smoothing
    ramps = [w for w in (smoothing.ramp_up_w_per_s, smoothing.ramp_down_w_per_s) if w] if smoothing else []
    return max(ramps, default=0.0) / profile.rated_w


def _best_floor(
    series: PowerSeries, target: Target, profile: Profile, highest: float, setting_of: Callable[[float, float], Floor]
) -> Sized:
    """The floor and ramp that meet a target with the least energy, or else come closest to it."""
    peak = max(phase.gpu_w for phase in profile.waveform.phases) / profile.rated_w
    sized: list[tuple[Floor, Sized]] = []
    for floor in _floors(profile, target, highest, peak).tolist():
        # The swing is (peak - floor) plus the ramp over the window; the ramp may use the remainder of the target.
        remainder = target.range_share - (peak - floor)
        ramp = max(remainder, 0.05 * target.range_share) / target.window_s
        setting = setting_of(floor, 0.98 * ramp)
        lowest_use = float(floor_range(floor, profile.overshoot)) / target.range_share if profile.overshoot > 1 else 0.0
        sized.append((setting, setting.against(series, target, lowest_use)))
    reached = [candidate for _, candidate in sized if candidate.reached]
    if reached:
        return min(reached, key=_added_mwh)
    setting, best = min(sized, key=lambda pair: pair[1].used)
    return replace(best, why=setting.shortfall(series.step_s, best.used))


def _added_mwh(sized: Sized) -> float:
    """Wasted and unserved energy."""
    assert sized.smoothed is not None
    return sized.smoothed.wasted_mwh + sized.smoothed.unserved_mwh


def _floors(profile: Profile, target: Target, highest: float, peak: float) -> np.ndarray:
    """Floors to try: those that leave part of the target for the ramp; only the highest if none does."""
    overshoot = profile.overshoot
    lowest = max(peak - target.range_share, overshoot - target.range_share if overshoot > 1 else 0.0, 1e-3)
    top = highest if overshoot > 1 else min(highest, peak)
    return np.linspace(lowest, top, _FLOORS + 1)[1:] if lowest < top else np.array([top])


def _share(name: str, values: Any) -> np.ndarray:
    """Check shares, in [0, 1]."""
    share = at_least_zero(name, values)
    if (share > 1).any():
        raise InputError(f"{name} must be <= 1, got {share[share > 1].flat[0]:g}")
    return share


def floor_overhead(compute_share: Any, trough: Any, floor: Any, peak: Any = 1.0) -> Any:
    r"""Return the energy that a power floor adds, relative to the energy without it.

    Parameters
    ----------
    compute_share : float or ndarray
        Share of a step at the peak, d.
    trough : float or ndarray
        Power in the rest of the step, relative to rated power.
    floor : float or ndarray
        Floor, relative to rated power.
    peak : float or ndarray
        Power in the compute phase, relative to rated power.

    Returns
    -------
    float or ndarray
        Broadcast shape; 0 if the floor is below the trough.

    Raises
    ------
    InputError
        If a share is outside [0, 1], the trough is above the peak, or the step uses no energy.

    Notes
    -----
    For a step with two power levels, :math:`[d\,(\phi - p_h)^+ + (1-d)(\phi - p_l)^+] / [d\,p_h + (1-d)\,p_l]`. A floor
    of 90% cost 10.5% on a published trace, whose step is not published (Choukse et al. 2025).

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
        raise InputError("the mean power of the step must be > 0: peak and trough are 0 for all of it")
    return plain((d * np.maximum(phi - high, 0) + (1 - d) * np.maximum(phi - low, 0)) / mean)


def floor_range(floor: Any, overshoot: Any = 1.0) -> Any:
    """Return the range between a power floor and the highest peak, relative to rated power.

    Parameters
    ----------
    floor : float or ndarray
        Floor, relative to rated power.
    overshoot : float or ndarray
        Highest peak of any duration, relative to rated power.

    Returns
    -------
    float or ndarray
        ``overshoot - floor``, at least 0.

    Examples
    --------
    >>> round(floor_range(0.9, 1.1), 2)
    0.2
    """
    return plain(np.maximum(above_zero("overshoot", overshoot) - at_least_zero("floor", floor), 0.0)[()])
