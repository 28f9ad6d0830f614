"""Energy by part of the wall clock, and what it costs beside the GPUs."""

from __future__ import annotations

import numpy as np
import pandas as pd

from ettr import evidence
from ettr.core.results import TimeBudget
from ettr.core.units import S_PER_H
from ettr.core.validity import at_least_zero
from ettr.power.binning import window_s
from ettr.power.profiles import Profile
from ettr.power.segments import stretches_of
from ettr.scenario import Scenario
from ettr.scenario.electricity import Cost, carbon_t

USEFUL = ("productive", "training")
"""Parts that are not waste."""

J_PER_MWH = 3.6e9


def energy(
    time: pd.DataFrame | TimeBudget,
    profile: Profile,
    start_h: float | None = None,
    end_h: float | None = None,
) -> pd.DataFrame:
    """Energy of a run by part of its wall clock [MWh].

    Parameters
    ----------
    time : DataFrame or TimeBudget
        A timeline, whose steps are cut off where a stretch ends, or a budget, which holds mean hours.
    profile : Profile
        As from :func:`profile`.
    start_h, end_h : float, optional
        Window of a timeline, by default all of it. [h]

    Returns
    -------
    DataFrame
        ``part`` (of a timeline its states), ``hours`` [h], ``it_mwh`` (the computers) and ``facility_mwh`` (with losses
        and cooling) [MWh]. Parts of a budget that take no time are left out.

    Raises
    ------
    InputError
        A budget of arrays, or a timeline that :func:`series` would refuse.

    Notes
    -----
    Of a timeline, cooling counts in the part in which it draws its power, so that the sum is the integral of
    :func:`series` at the grid, up to rounding. Of a budget, the facility takes PUE times the computers.

    Examples
    --------
    >>> from ettr import Scenario, TimeBudget, power
    >>> spent = power.energy(TimeBudget(100.0, restart_h=1.0), power.profile(Scenario.load("llama3-405b")))
    >>> spent["it_mwh"].round(1).tolist()
    [1606.9, 9.1]
    """
    if isinstance(time, TimeBudget):
        return _of_budget(time, profile)
    laid = stretches_of(time, profile)
    from_s, to_s = window_s(laid, start_h, end_h)
    begin_s, end_s = np.clip(laid.edge_s[:-1], from_s, to_s), np.clip(laid.edge_s[1:], from_s, to_s)
    inside = end_s > begin_s
    i = np.flatnonzero(inside)
    lasts_s = end_s[i] - begin_s[i]
    it_j = laid.gpu_j(end_s[i], i) - laid.gpu_j(begin_s[i], i) + profile.other_w * lasts_s
    cooled_j = laid.cooled_j(end_s[i], i) - laid.cooled_j(begin_s[i], i)
    facility_j = (1 + profile.loss_share) * it_j + profile.cooling_share * cooled_j
    rows = pd.DataFrame({"part": laid.state[i], "hours": lasts_s / S_PER_H, "it_mwh": it_j, "facility_mwh": facility_j})
    sums = rows.groupby("part", sort=False)[["hours", "it_mwh", "facility_mwh"]].sum().reset_index()
    of_all = profile.n_gpus / J_PER_MWH
    return sums.assign(it_mwh=sums["it_mwh"] * of_all, facility_mwh=sums["facility_mwh"] * of_all)


def _of_budget(budget: TimeBudget, profile: Profile) -> pd.DataFrame:
    if np.ndim(budget.total_h):
        raise ValueError("energy is of one budget; this one holds arrays")
    rows = budget.to_frame()
    rows = rows[rows["hours"] > 0].reset_index(drop=True)
    power_mw = np.array([profile.it_mw(state_of(part)) for part in rows["part"]])
    it_mwh = power_mw * rows["hours"].to_numpy()
    return rows[["part", "hours"]].assign(it_mwh=it_mwh, facility_mwh=profile.pue * it_mwh)


def state_of(part: str) -> str:
    """State of the GPUs in a part of a time budget."""
    name = part.removesuffix("_h")
    return "training" if name in ("productive", "slowdown", "degraded") else name


def bill(
    time: pd.DataFrame | TimeBudget,
    profile: Profile,
    cost: Cost | Scenario | None = None,
) -> pd.DataFrame:
    """What a run costs by part of its wall clock: electricity, GPUs and carbon [USD, t CO2].

    Parameters
    ----------
    time : DataFrame or TimeBudget
        As for :func:`energy`.
    profile : Profile
        As from :func:`profile`; its carbon intensity holds.
    cost : Cost or Scenario, optional
        Prices, or the scenario that has them; the assumed ones by default.

    Returns
    -------
    DataFrame
        The columns of :func:`energy` with ``gpu_h`` [GPU h], ``electricity_usd``, ``gpu_usd`` [USD], ``t_co2`` [t], and
        ``wasted`` (true for all but training that counts).

    Notes
    -----
    Energy of the facility times price and intensity; GPU-hours are the job's GPUs times the wall clock. A budget's
    parts ``slowdown`` and ``degraded`` draw what training draws.

    Examples
    --------
    >>> from ettr import Scenario, TimeBudget, power
    >>> costs = power.bill(TimeBudget(0.0, rework_h=10.0), power.profile(Scenario.load("llama3-405b")))
    >>> costs[["electricity_usd", "gpu_usd"]].round(-2).values.tolist()
    [[14100.0, 327700.0]]
    """
    prices = prices_of(cost)
    rows = energy(time, profile)
    gpu_h = rows["hours"] * profile.n_gpus
    return rows.assign(
        gpu_h=gpu_h,
        electricity_usd=prices.electricity_usd(rows["facility_mwh"]),
        gpu_usd=gpu_h * prices.usd_per_gpu_h,
        t_co2=carbon_t(rows["facility_mwh"], profile.g_per_kwh),
        wasted=~rows["part"].isin(USEFUL),
    )


def prices_of(cost: Cost | Scenario | None) -> Cost:
    """Prices as given, those of a scenario, or the assumed ones."""
    return cost.prices if isinstance(cost, Scenario) else cost or Cost.model_validate({})


def carbon_by_country(facility_mwh: float) -> pd.DataFrame:
    """Carbon of the same energy from different grids [t CO2].

    Parameters
    ----------
    facility_mwh : float
        Energy of the facility. [MWh]

    Returns
    -------
    DataFrame
        ``country`` (code), ``title``, ``intensity_g_per_kwh`` [g/kWh], ``t_co2`` [t], ``source``, ``status``, from the
        highest to the lowest.

    Examples
    --------
    >>> countries = carbon_by_country(1000.0).set_index("country")
    >>> float(countries.loc["USA", "t_co2"])
    369.0
    """
    mwh = float(at_least_zero("facility_mwh", facility_mwh, unit="MWh"))
    table = evidence.table("carbon_intensity").sort_values("intensity_g_per_kwh", ascending=False)
    t_co2 = [carbon_t(mwh, intensity) for intensity in table["intensity_g_per_kwh"]]
    columns = ["country", "title", "intensity_g_per_kwh", "t_co2", "source", "status"]
    return table.assign(t_co2=t_co2)[columns].reset_index(drop=True)
