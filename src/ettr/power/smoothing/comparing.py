"""The ways to smooth, laid on a series, sized for a target, and compared: energy, throughput and money in a year."""

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
    """Names of the options."""
    return tuple(OPTIONS)


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
    return option.smooth(series)


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
    if option not in OPTIONS:
        raise UnknownName("option", option, OPTIONS)
    return OPTIONS[option].sized(series, target)


def compare(
    series: PowerSeries,
    target: Target,
    cost: Cost | Scenario | None = None,
    sized: Mapping[str, Sized] | None = None,
) -> pd.DataFrame:
    """Every option sized for the same target, with what a year of it costs.

    Parameters
    ----------
    series : PowerSeries
        Of the computers; a year is taken to go on like it.
    target : Target
        What all must keep.
    cost : Cost or Scenario, optional
        Prices, or the scenario that has them; the assumed ones by default.
    sized : mapping of str to Sized, optional
        Options that are sized for this series and target already, by name.

    Returns
    -------
    DataFrame
        ``option``, ``reached``, ``size`` with ``size_unit`` (the setting, of the target or as near as it gets),
        ``used`` (of the limits; at most 1 if reached), ``swing_mw`` (left in the target's window, peaks included)
        [MW], ``wasted_share`` (over the energy of the computers), ``throughput_loss``, ``energy_usd``,
        ``throughput_usd``, ``capital_usd`` and ``total_usd``, each a year [USD], ``why`` and ``notes``. Capital is
        spread evenly over its life; where no price is known it is missing, and so is the total.

    Notes
    -----
    Waste costs PUE times its energy, as the load does. Throughput lost costs its share of all GPU-hours.

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
    known = sized or {name: size(series, name, target) for name in OPTIONS}
    return pd.DataFrame([_row(series, one, target, prices) for one in known.values()])


def _row(series: PowerSeries, sized: Sized, target: Target, prices: Cost) -> dict[str, object]:
    kind, smoothed = OPTIONS[sized.option], sized.smoothed
    return {
        "option": sized.option,
        "reached": sized.reached,
        "size": math.nan if sized.size is None else sized.size,
        "size_unit": kind.unit,
        "used": sized.used,
        "swing_mw": sized.used * target.range_share * kind.profile_of(series).rated_mw,
        **(dict.fromkeys(_COSTS, math.nan) if smoothed is None else _of_year(smoothed, kind, prices)),
        "why": sized.why,
        "notes": "; ".join(smoothed.notes) if smoothed else "",
    }


def _of_year(smoothed: Smoothed, kind: type[Option], prices: Cost) -> dict[str, float]:
    own, years = kind.profile_of(smoothed.before), smoothed.before.duration_h / H_PER_YEAR
    energy = prices.electricity_usd((smoothed.wasted_mwh - smoothed.unserved_mwh) * own.pue / years)
    throughput = smoothed.throughput_loss * own.n_gpus * H_PER_YEAR * prices.usd_per_gpu_h
    capital = math.nan if smoothed.capital_usd is None else smoothed.capital_usd / (smoothed.life_years or 1.0)
    costs = (smoothed.added_share, smoothed.throughput_loss, energy, throughput, capital, energy + throughput + capital)
    return dict(zip(_COSTS, costs, strict=True))


_COSTS = ("wasted_share", "throughput_loss", "energy_usd", "throughput_usd", "capital_usd", "total_usd")
