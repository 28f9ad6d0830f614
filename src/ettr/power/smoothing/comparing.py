"""Options at an equal target: energy, throughput and money in a year."""

from __future__ import annotations

import math
from collections.abc import Mapping

import pandas as pd

from ettr.power.binning import PowerSeries
from ettr.power.smoothing.battery import Battery
from ettr.power.smoothing.rack_storage import RackStorage
from ettr.power.smoothing.result import Smoothed, profile_of
from ettr.power.smoothing.sizing import Sized, options, size
from ettr.power.smoothing.target import Target
from ettr.scenario import Scenario
from ettr.scenario.electricity import Cost

H_PER_YEAR = 8766.0
_KWH_PER_MWH = 1000.0


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
    prices = (cost.cost if isinstance(cost, Scenario) else cost) or Cost.model_validate({})
    known = sized or {name: size(series, name, target) for name in options()}
    return pd.DataFrame([_row(series, one, target, prices) for one in known.values()])


def _row(series: PowerSeries, sized: Sized, target: Target, prices: Cost) -> dict[str, object]:
    own = profile_of(series, sized.option)
    used = sized.used * target.range_share * own.rated_mw
    unit = {RackStorage: "J/GPU", Battery: "MWh"}.get(type(sized.setting), "of rated")
    missing = dict.fromkeys(
        ("wasted_share", "throughput_loss", "energy_usd", "throughput_usd", "capital_usd", "total_usd"), math.nan
    )
    costs = missing if sized.smoothed is None else _of_year(sized.smoothed, prices)
    return {
        "option": sized.option,
        "reached": sized.reached,
        "size": math.nan if sized.size is None else sized.size,
        "size_unit": unit,
        "used": sized.used,
        "swing_mw": used,
        **costs,
        "why": sized.why,
        "notes": "; ".join(sized.smoothed.notes) if sized.smoothed else "",
    }


def _of_year(smoothed: Smoothed, prices: Cost) -> dict[str, float]:
    own = profile_of(smoothed.before, smoothed.option)
    years = smoothed.before.duration_h / H_PER_YEAR
    energy = (smoothed.wasted_mwh - smoothed.unserved_mwh) / years * _KWH_PER_MWH * own.pue * prices.usd_per_kwh
    throughput = smoothed.throughput_loss * own.n_gpus * H_PER_YEAR * prices.usd_per_gpu_h
    capital = math.nan if smoothed.capital_usd is None else smoothed.capital_usd / (smoothed.life_years or 1.0)
    return {
        "wasted_share": smoothed.added_share,
        "throughput_loss": smoothed.throughput_loss,
        "energy_usd": energy,
        "throughput_usd": throughput,
        "capital_usd": capital,
        "total_usd": energy + throughput + capital,
    }
