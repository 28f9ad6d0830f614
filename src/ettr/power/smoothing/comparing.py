"""Smoothing options applied to a series, sized for a target, and compared by energy, throughput and yearly cost."""

from __future__ import annotations

import math
from collections.abc import Mapping

import pandas as pd

from ettr.core.errors import UnknownName
from ettr.core.units import H_PER_YEAR
from ettr.power.bills import prices_of
from ettr.power.binning import PowerSeries
from ettr.power.smoothing.floors import PowerFloor, SecondaryLoad
from ettr.power.smoothing.option import Option, Sized, Smoothed, Target
from ettr.power.smoothing.stores import Battery, RackStorage
from ettr.scenario import Scenario
from ettr.scenario.electricity import Cost

OPTIONS: Mapping[str, type[Option]] = {kind.name: kind for kind in (SecondaryLoad, PowerFloor, RackStorage, Battery)}


def options() -> tuple[str, ...]:
    """Return the names of the smoothing options.

    Examples
    --------
    >>> options()
    ('secondary load', 'GPU floor', 'rack storage', 'battery')
    """
    return tuple(OPTIONS)


def smooth(series: PowerSeries, option: Option) -> Smoothed:
    """Apply a smoothing option to a series.

    Parameters
    ----------
    series : PowerSeries
        Power of the IT equipment.
    option : SecondaryLoad, PowerFloor, RackStorage or Battery
        Option with its settings.

    Returns
    -------
    Smoothed
        Smoothed series with its cost. Energy is conserved: energy after is the load minus unserved energy, plus wasted
        energy, plus the energy gained by the store.

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
    return option.smooth(series)


def size(series: PowerSeries, option: str, target: Target) -> Sized:
    """Return the smallest setting of an option that meets a target, or the reason why none does.

    Parameters
    ----------
    series : PowerSeries
        Power of the IT equipment, in bins that resolve the phases of a step.
    option : str
        One of :func:`options`.
    target : Target
        Limits to meet.

    Returns
    -------
    Sized
        For a floor or a secondary load, the floor and ramp that add the least energy. For a store, the energy and
        power of the filter with the shortest time constant that meets the target.

    Raises
    ------
    InputError
        If the option is unknown, or cannot be applied to the series.

    Examples
    --------
    >>> import pandas as pd
    >>> from ettr import Scenario, power
    >>> hour = pd.DataFrame({"start_h": [0.0], "end_h": [0.1], "state": ["training"]})
    >>> profile = power.profile(Scenario.load("llama3-405b"), part="gb200")
    >>> sized = power.size(power.series(hour, profile, 0.05, at="computers"), "GPU floor", power.Target(0.1))
    >>> sized.reached, sized.why
    (False, 'the highest floor is 0.9 and peaks reach 1.1 of rated power, which leaves a range of 0.2')
    """
    if option not in OPTIONS:
        raise UnknownName("option", option, OPTIONS)
    return OPTIONS[option].sized(series, target)


def compare(
    series: PowerSeries,
    target: Target,
    cost: Cost | Scenario | None = None,
    sized: Mapping[str, Sized] | None = None,
) -> pd.DataFrame:
    """Size every option for the same target, and return its cost per year.

    Parameters
    ----------
    series : PowerSeries
        Power of the IT equipment, assumed to continue for a year.
    target : Target
        Limits to meet.
    cost : Cost or Scenario, optional
        Prices, or a scenario with prices; by default the assumed prices.
    sized : mapping of str to Sized, optional
        Options already sized for this series and target, by name.

    Returns
    -------
    DataFrame
        ``option``, ``reached``, ``size`` with ``size_unit`` (the setting that meets the target or comes closest),
        ``used`` (share of the limits; at most 1 if reached), ``swing_mw`` (remaining swing in the target's window,
        peaks included) [MW], ``wasted_share`` (relative to IT energy), ``throughput_loss``, ``energy_usd``,
        ``throughput_usd``, ``capital_usd`` and ``total_usd`` [USD/year], ``why`` and ``notes``. Capital is spread
        evenly over the life of the option; without a published price it is missing, and so is the total.

    Notes
    -----
    Wasted energy costs PUE times its amount, like the load. Lost throughput costs its share of all GPU-hours.

    Examples
    --------
    >>> import pandas as pd
    >>> from ettr import Scenario, power
    >>> hour = pd.DataFrame({"start_h": [0.0], "end_h": [0.1], "state": ["training"]})
    >>> load = power.series(hour, power.profile(Scenario.load("llama3-405b")), 0.05, at="computers")
    >>> table = power.compare(load, power.Target(0.2)).set_index("option")
    >>> table.loc[["GPU floor", "rack storage", "battery"], "reached"].tolist()
    [True, False, True]
    """
    prices = prices_of(cost)
    settings = sized or {name: size(series, name, target) for name in OPTIONS}
    return pd.DataFrame([_row(series, setting, target, prices) for setting in settings.values()])


def _row(series: PowerSeries, sized: Sized, target: Target, prices: Cost) -> dict[str, object]:
    """Size, effect and yearly cost of an option."""
    kind, smoothed = OPTIONS[sized.option], sized.smoothed
    return {
        "option": sized.option,
        "reached": sized.reached,
        "size": math.nan if sized.size is None else sized.size,
        "size_unit": kind.unit,
        "used": sized.used,
        "swing_mw": sized.used * target.range_share * kind.profile_of(series).rated_mw,
        **(dict.fromkeys(_COSTS, math.nan) if smoothed is None else _yearly(smoothed, kind, prices)),
        "why": sized.why,
        "notes": "; ".join(smoothed.notes) if smoothed else "",
    }


def _yearly(smoothed: Smoothed, kind: type[Option], prices: Cost) -> dict[str, float]:
    """Waste, lost throughput and cost of an option per year."""
    profile, years = kind.profile_of(smoothed.before), smoothed.before.duration_h / H_PER_YEAR
    energy = prices.electricity_usd((smoothed.wasted_mwh - smoothed.unserved_mwh) * profile.pue / years)
    throughput = smoothed.throughput_loss * profile.n_gpus * H_PER_YEAR * prices.usd_per_gpu_h
    capital = math.nan if smoothed.capital_usd is None else smoothed.capital_usd / (smoothed.life_years or 1.0)
    costs = (smoothed.added_share, smoothed.throughput_loss, energy, throughput, capital, energy + throughput + capital)
    return dict(zip(_COSTS, costs, strict=True))


_COSTS = ("wasted_share", "throughput_loss", "energy_usd", "throughput_usd", "capital_usd", "total_usd")
