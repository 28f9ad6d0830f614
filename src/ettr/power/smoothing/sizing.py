"""The smallest setting of an option that reaches a target, or why none does."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from ettr.core.errors import UnknownName
from ettr.power.binning import PowerSeries
from ettr.power.closed_forms import floor_range
from ettr.power.profiles import Profile
from ettr.power.smoothing import battery, power_floor, rack_storage, secondary_load
from ettr.power.smoothing.battery import Battery, with_battery
from ettr.power.smoothing.figures import option_figure
from ettr.power.smoothing.power_floor import PowerFloor, with_power_floor
from ettr.power.smoothing.rack_storage import J_PER_MWH, RackStorage, with_rack_storage
from ettr.power.smoothing.result import Smoothed, profile_of
from ettr.power.smoothing.secondary_load import SecondaryLoad, with_secondary_load
from ettr.power.smoothing.storage import Buffered, behind_store
from ettr.power.smoothing.target import Target

Option = SecondaryLoad | PowerFloor | RackStorage | Battery
_FLOORS, _STEPS_DOWN = 12, 20
_LONGEST_S, _CLOSE = 86_400.0, 1e-3
_ENOUGH = 1 + 1e-6


@dataclass(frozen=True)
class Sized:
    """What an option needs for a target.

    Attributes
    ----------
    option : str
        Name of the option.
    reached : bool
        Whether any of its settings reaches the target.
    setting : Option or None
        The smallest that does, or the best that it can do; none if it cannot be set at all.
    smoothed : Smoothed or None
        The series with it.
    used : float
        How much of the target's limits that takes: 1 at most if reached, and 2 for twice the swing allowed.
    why : str
        What stands in the way; empty if reached.
    """

    option: str
    reached: bool
    setting: Option | None
    smoothed: Smoothed | None
    used: float
    why: str = ""

    @property
    def size(self) -> float | None:
        """The floor over the rated power, or the energy stored. [1], [J] for each GPU, [MWh]"""
        if isinstance(self.setting, Battery):
            return self.setting.energy_mwh
        if isinstance(self.setting, RackStorage):
            return self.setting.energy_j
        return self.setting.floor if self.setting else None


def smooth(series: PowerSeries, option: Option) -> Smoothed:
    """Lay an option on a series.

    Parameters
    ----------
    series : PowerSeries
        Of the computers.
    option : SecondaryLoad, PowerFloor, RackStorage or Battery
        Its settings.

    Returns
    -------
    Smoothed
        The series with it, and what it cost. Energy is conserved: power after is load less unserved, plus waste, plus
        what the store gained.

    Examples
    --------
    >>> import pandas as pd
    >>> from ettr import Scenario, power
    >>> hour = pd.DataFrame({"start_h": [0.0], "end_h": [0.5], "state": ["training"]})
    >>> load = power.series(hour, power.profile(Scenario.load("llama3-405b")), 0.05, at="computers")
    >>> smoothed = power.smooth(load, power.PowerFloor.published(0.9))
    >>> round(smoothed.wasted_mwh / (load.energy_mwh - 0.5 * load.profile.other_mw), 3)
    0.088
    """
    laid: dict[type, Callable[..., Smoothed]] = {
        SecondaryLoad: with_secondary_load,
        PowerFloor: with_power_floor,
        RackStorage: with_rack_storage,
        Battery: with_battery,
    }
    if type(option) not in laid:
        raise UnknownName("option", type(option).__name__, [kind.__name__ for kind in laid])
    return laid[type(option)](series, option)


def size(series: PowerSeries, option: str, target: Target) -> Sized:
    """The smallest setting of an option that reaches a target, or why none does.

    Parameters
    ----------
    series : PowerSeries
        Of the computers, in bins that show the phases of a step.
    option : str
        One of :func:`options`.
    target : Target
        What must be kept.

    Returns
    -------
    Sized
        Of a floor and of a second load, the floor and ramp that together add least energy. Of a store, the energy and
        power of the slightest filter that is enough.

    Raises
    ------
    InputError
        An unknown option, or a series that it cannot be laid on.

    Examples
    --------
    >>> import pandas as pd
    >>> from ettr import Scenario, power
    >>> hour = pd.DataFrame({"start_h": [0.0], "end_h": [0.1], "state": ["training"]})
    >>> profile = power.profile(Scenario.load("llama3-405b"), part="gb200")
    >>> sized = power.size(power.series(hour, profile, 0.05, at="computers"), "GPU floor", power.Target(0.1))
    >>> sized.reached, sized.why
    (False, 'the highest floor is 0.9 and peaks reach 1.1 of the rated power, so a range of 0.2 remains')
    """
    sizers = {
        secondary_load.NAME: _size_secondary_load,
        power_floor.NAME: _size_floor,
        rack_storage.NAME: _size_rack_storage,
        battery.NAME: _size_battery,
    }
    if option not in sizers:
        raise UnknownName("option", option, sizers)
    return sizers[option](series, target)


def options() -> tuple[str, ...]:
    """Names of the options."""
    return secondary_load.NAME, power_floor.NAME, rack_storage.NAME, battery.NAME


def _size_floor(series: PowerSeries, target: Target) -> Sized:
    own, usual = profile_of(series, power_floor.NAME), PowerFloor.published()
    highest = own.smoothing.floor if own.smoothing else usual.floor
    hold_s = own.smoothing.hold_s if own.smoothing and own.smoothing.hold_s is not None else usual.hold_s
    usual = replace(usual, floor=highest, hold_s=hold_s)
    left = float(floor_range(highest, own.overshoot))
    if own.overshoot > 1 and left > target.range_share * _ENOUGH:
        why = (
            f"the highest floor is {highest:g} and peaks reach {own.overshoot:g} of the rated power, so a range of "
            f"{left:.3g} remains"
        )
        smoothed = with_power_floor(series, usual)
        used = max(target.load(smoothed.after), left / target.range_share)
        return Sized(power_floor.NAME, False, usual, smoothed, used, why)
    slowest = _slowest_ramp(own)

    def tried(floor: float, ramp: float) -> PowerFloor:
        return replace(usual, floor=floor, ramp_up_per_s=max(ramp, slowest), ramp_down_per_s=max(ramp, slowest))

    return _best_floor(series, target, power_floor.NAME, _floors(own, target, highest), tried, slowest)


def _slowest_ramp(own: Profile) -> float:
    """Slowest ramp of the GPU, over its rated power; 0 where it does not say. [1/s]"""
    can = own.smoothing
    ramps = [w for w in (can.ramp_up_w_per_s, can.ramp_down_w_per_s) if w] if can else []
    return max(ramps, default=0.0) / own.rated_w


def _size_secondary_load(series: PowerSeries, target: Target) -> Sized:
    own, usual = profile_of(series, secondary_load.NAME), SecondaryLoad.published()

    def tried(floor: float, ramp: float) -> SecondaryLoad:
        n_steps = max(_STEPS_DOWN, math.ceil(_STEPS_DOWN * floor / target.range_share))
        return replace(usual, floor=floor, step_s=floor / ramp / n_steps, n_steps=n_steps, ahead_per_s=ramp)

    return _best_floor(series, target, secondary_load.NAME, _floors(own, target, 1.0), tried, 0.0)


def _floors(own: Profile, target: Target, highest: float) -> np.ndarray:
    """Floors that leave room for a ramp under the target; only the highest if none does."""
    peak = max(phase.gpu_w for phase in own.waveform.phases) / own.rated_w
    least = max(peak - target.range_share, own.overshoot - target.range_share if own.overshoot > 1 else 0.0, 1e-3)
    top = highest if own.overshoot > 1 else min(highest, peak)
    return np.linspace(least, top, _FLOORS + 1)[1:] if least < top else np.array([top])


def _best_floor(
    series: PowerSeries,
    target: Target,
    name: str,
    floors: np.ndarray,
    tried: Callable[[float, float], PowerFloor | SecondaryLoad],
    slowest: float,
) -> Sized:
    own = profile_of(series, name)
    peak = max(phase.gpu_w for phase in own.waveform.phases) / own.rated_w
    tried_floors: list[Sized] = []
    for floor in floors.tolist():
        room = target.range_share - (peak - floor)
        allowed = max(room, 0.05 * target.range_share) / target.window_s
        if target.ramp_mw_per_min is not None:
            allowed = min(allowed, target.ramp_mw_per_min / 60 / own.rated_mw)
        setting = tried(floor, 0.98 * allowed)
        smoothed = smooth(series, setting)
        short = smoothed.peak_left_mw / own.rated_mw / target.range_share if own.overshoot > 1 else 0.0
        used = max(target.load(smoothed.after), short)
        tried_floors.append(Sized(name, used <= _ENOUGH, setting, smoothed, used))
    reaching = [one for one in tried_floors if one.reached]
    if reaching:
        return min(reaching, key=lambda one: _added_mwh(one.smoothed))
    best = min(tried_floors, key=lambda one: one.used)
    return replace(best, why=_what_hinders(best, target, slowest))


def _added_mwh(smoothed: Smoothed | None) -> float:
    assert smoothed is not None
    return smoothed.wasted_mwh + smoothed.unserved_mwh


def _what_hinders(best: Sized, target: Target, slowest: float) -> str:
    if slowest * target.window_s > target.range_share:
        return (
            f"below the floor the slowest ramp of the GPU, {slowest:.3g} of the rated power a second, crosses "
            f"{slowest * target.window_s:.3g} of it in {target.window_s:g} s"
        )
    step_s = best.smoothed.before.step_s if best.smoothed else 0.0
    if isinstance(best.setting, SecondaryLoad) and best.setting.delay_s >= step_s / 2:
        return (
            f"for its delay of {best.setting.delay_s:g} s the grid sees the bare load: {_plain(best.used)} times the "
            f"swing allowed"
        )
    return f"the best floor leaves {_plain(best.used)} times what is allowed"


def _size_rack_storage(series: PowerSeries, target: Target) -> Sized:
    own = profile_of(series, rack_storage.NAME)
    usual = RackStorage.published(own.rated_w)
    tau_s, store = _slightest_filter(series, target, usual.efficiency)
    if store is None:
        return Sized(rack_storage.NAME, False, None, None, target.load(series), _no_filter())
    power_w = float(np.abs(store.after_mw - series.power_mw).max()) / own.n_gpus * 1e6
    needed_j = _room_mwh(store) / own.n_gpus * J_PER_MWH
    setting = replace(usual, energy_j=max(needed_j, 1e-9), tau_s=tau_s)
    has_j = own.smoothing.storage_j if own.smoothing and own.smoothing.storage_j else usual.energy_j
    smoothed = with_rack_storage(series, setting)
    used = target.load(smoothed.after)
    if power_w > usual.power_w * _ENOUGH:
        why = f"it would give or take {_plain(power_w)} W for each GPU, and is taken to do {usual.power_w:g}"
        return Sized(rack_storage.NAME, False, setting, smoothed, used, why)
    if needed_j > has_j * _ENOUGH:
        why = f"it takes {_plain(needed_j)} J for each GPU, and a rack holds {has_j:g}"
        return Sized(rack_storage.NAME, False, setting, smoothed, used, why)
    return Sized(rack_storage.NAME, used <= _ENOUGH, setting, smoothed, used)


def _size_battery(series: PowerSeries, target: Target) -> Sized:
    tau_s, store = _slightest_filter(series, target, option_figure("battery", "efficiency"))
    if store is None:
        return Sized(battery.NAME, False, None, None, target.load(series), _no_filter())
    power_mw = max(float(np.abs(store.after_mw - series.power_mw).max()), 1e-9)
    least = Battery.published(power_mw)
    setting = replace(least, energy_mwh=max(least.energy_mwh, _room_mwh(store)), tau_s=tau_s)
    smoothed = with_battery(series, setting)
    used = target.load(smoothed.after)
    return Sized(battery.NAME, used <= _ENOUGH, setting, smoothed, used)


def _plain(value: float) -> str:
    """Three digits without an exponent."""
    return f"{float(f'{value:.3g}'):,.10g}"


def _room_mwh(store: Buffered) -> float:
    """Energy of a store that begins half full and is never full or empty."""
    above = float(store.stored_mwh.max()) - store.start_mwh
    below = store.start_mwh - float(store.stored_mwh.min())
    return 2 * max(above, below) * _ENOUGH


def _no_filter() -> str:
    return f"not even a filter of {_LONGEST_S / 3600:g} h is enough"


def _slightest_filter(series: PowerSeries, target: Target, efficiency: float) -> tuple[float, Buffered | None]:
    """The shortest time constant that reaches a target, without limits on power and energy."""

    def enough(tau_s: float) -> Buffered | None:
        store = behind_store(series, tau_s, efficiency=efficiency)
        return store if target.load(series.with_power(store.after_mw)) <= 1 else None

    low, high = series.step_s / 100, _LONGEST_S
    best = enough(high)
    if best is None:
        return high, None
    while high / low > 1 + _CLOSE:
        middle = float(np.sqrt(low * high))
        store = enough(middle)
        if store is None:
            low = middle
        else:
            high, best = middle, store
    return high, best
