"""Energy, cost and carbon of a run by part of its wall-clock time."""

from __future__ import annotations

import numpy as np
import pandas as pd

from ettr import evidence
from ettr.core.results import TimeBudget
from ettr.core.units import S_PER_H
from ettr.core.validity import at_least_zero
from ettr.power.binning import window_s
from ettr.power.profiles import Profile
from ettr.power.segments import segments_of
from ettr.scenario import Scenario
from ettr.scenario.electricity import Cost, carbon_t

USEFUL = ("productive", "training")
"""Parts that count as useful training."""

J_PER_MWH = 3.6e9


def energy(
    time: pd.DataFrame | TimeBudget,
    profile: Profile,
    start_h: float | None = None,
    end_h: float | None = None,
) -> pd.DataFrame:
    """Return the energy of a run by part of its wall-clock time. [MWh]

    Parameters
    ----------
    time : DataFrame or TimeBudget
        Timeline of a run, or a time budget with mean hours. In a timeline, a training step ends with its segment.
    profile : Profile
        Power by state, as from :func:`profile`.
    start_h, end_h : float, optional
        Window of a timeline; by default the complete run. [h]

    Returns
    -------
    DataFrame
        ``part`` (for a timeline, its states), ``hours`` [h], ``it_mwh`` (the IT equipment) and ``facility_mwh`` (with
        losses and cooling) [MWh]. Parts of a budget without any time are left out.

    Raises
    ------
    InputError
        If the budget has arrays, or the timeline is not valid for :func:`series`.

    Notes
    -----
    For a timeline, cooling energy counts in the part during which it is drawn, so that the sum is the integral of
    :func:`series` at the grid, up to rounding. For a budget, facility energy is PUE times IT energy.

    Examples
    --------
    >>> from ettr import Scenario, TimeBudget, power
    >>> spent = power.energy(TimeBudget(100.0, restart_h=1.0), power.profile(Scenario.load("llama3-405b")))
    >>> spent["it_mwh"].round(1).tolist()
    [1606.9, 9.1]
    """
    if isinstance(time, TimeBudget):
        return _of_budget(time, profile)
    segments = segments_of(time, profile)
    from_s, to_s = window_s(segments, start_h, end_h)
    # Clip each segment to the window; its energy is the difference of the integral between its ends.
    begin_s, end_s = np.clip(segments.edge_s[:-1], from_s, to_s), np.clip(segments.edge_s[1:], from_s, to_s)
    i = np.flatnonzero(end_s > begin_s)
    duration_s = end_s[i] - begin_s[i]
    it_j = segments.gpu_j(end_s[i], i) - segments.gpu_j(begin_s[i], i) + profile.other_w * duration_s
    cooled_j = segments.cooled_j(end_s[i], i) - segments.cooled_j(begin_s[i], i)
    facility_j = (1 + profile.loss_share) * it_j + profile.cooling_share * cooled_j
    columns = {"part": segments.state[i], "hours": duration_s / S_PER_H, "it_mwh": it_j, "facility_mwh": facility_j}
    sums = pd.DataFrame(columns).groupby("part", sort=False)[["hours", "it_mwh", "facility_mwh"]].sum().reset_index()
    mwh_per_gpu_j = profile.n_gpus / J_PER_MWH
    return sums.assign(it_mwh=sums["it_mwh"] * mwh_per_gpu_j, facility_mwh=sums["facility_mwh"] * mwh_per_gpu_j)


def _of_budget(budget: TimeBudget, profile: Profile) -> pd.DataFrame:
    """Energy by part of a time budget: hours times the mean power of the part."""
    if np.ndim(budget.total_h):
        raise ValueError("energy takes a budget of numbers, got one with arrays")
    rows = budget.to_frame()
    rows = rows[rows["hours"] > 0].reset_index(drop=True)
    power_mw = np.array([profile.it_mw(state_of(part)) for part in rows["part"]])
    it_mwh = power_mw * rows["hours"].to_numpy()
    return rows[["part", "hours"]].assign(it_mwh=it_mwh, facility_mwh=profile.pue * it_mwh)


def state_of(part: str) -> str:
    """Return the state of the GPUs in a part of a time budget."""
    name = part.removesuffix("_h")
    return "training" if name in ("productive", "slowdown", "degraded") else name


def bill(
    time: pd.DataFrame | TimeBudget,
    profile: Profile,
    cost: Cost | Scenario | None = None,
) -> pd.DataFrame:
    """Return electricity, GPU cost and carbon of a run by part of its wall-clock time. [USD, t CO2]

    Parameters
    ----------
    time : DataFrame or TimeBudget
        As in :func:`energy`.
    profile : Profile
        Power by state and carbon intensity, as from :func:`profile`.
    cost : Cost or Scenario, optional
        Prices, or a scenario with prices; by default the assumed prices.

    Returns
    -------
    DataFrame
        The columns of :func:`energy` with ``gpu_h`` [GPU h], ``electricity_usd``, ``gpu_usd`` [USD], ``t_co2`` [t], and
        ``wasted`` (true for every part except useful training).

    Notes
    -----
    Facility energy times price and carbon intensity; GPU-hours are GPUs times wall-clock time. The parts ``slowdown``
    and ``degraded`` of a budget draw as much power as training.

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
    """Return the prices, those of a scenario, or the assumed prices."""
    return cost.prices if isinstance(cost, Scenario) else cost or Cost.model_validate({})


def carbon_by_country(facility_mwh: float) -> pd.DataFrame:
    """Return the carbon emissions of an amount of energy on the grids of different countries. [t CO2]

    Parameters
    ----------
    facility_mwh : float
        Facility energy. [MWh]

    Returns
    -------
    DataFrame
        ``country`` (code), ``title``, ``intensity_g_per_kwh`` [g/kWh], ``t_co2`` [t], ``source``, ``status``, highest
        first.

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
