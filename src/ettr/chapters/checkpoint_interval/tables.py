"""What a checkpoint interval costs, by every formula, and which rule for it comes near.

All curves are in the steady state, and each is one call of the closed forms on arrays.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ettr import budget
from ettr.chapters.checkpoint_interval.disagreement_tables import comparable
from ettr.chapters.common.steady_state import (
    ettr_at,
    part_shares,
    quietly,
    sizes_of_curve,
    valid_points,
    without_start,
)
from ettr.chapters.scale.tables import answered_points, ettr_with_bands
from ettr.checkpoint import (
    availability_interval,
    daly_first_order_interval,
    daly_interval,
    exact_interval,
    young_interval,
)
from ettr.core.errors import NotModelled
from ettr.plan import (
    BAND_POINTS,
    best_interval_min,
    job_mttf_h,
    longest_interval_min,
    shortest_interval_min,
)
from ettr.plan.assumed import steady_state
from ettr.scenario import Scenario
from ettr.scenario.job_in_hours import SHORTEST_MIN
from ettr.scenario.paths import INTERVAL, N_GPUS, RATE

if TYPE_CHECKING:
    from ettr.plan import Plan

FLAT_BAND = BAND_POINTS
"""ETTR that an interval within the flat band loses at most."""

_POINTS = 120


def by_interval(scenario: Scenario, n_points: int = _POINTS) -> pd.DataFrame:
    """ETTR over the checkpoint interval, by every formula that has a term for what the scenario holds.

    Parameters
    ----------
    scenario : Scenario
        The run.
    n_points : int
        Intervals, from a twentieth of the best one to twenty times it, on a logarithmic scale.

    Returns
    -------
    DataFrame
        ``interval_min`` [min], ``formula``, ``ettr``; points outside a formula's validity are left out.
    """
    steady = without_start(scenario)
    intervals = _intervals_min(steady, n_points)
    frames = []
    for name in budget.FORMULAS:
        try:
            ettr = ettr_at(steady, {INTERVAL: intervals}, name)
        except NotModelled:
            continue
        frames.append(pd.DataFrame({"interval_min": intervals, "formula": name, "ettr": ettr}))
    return valid_points(frames, steady)


def parts_by_interval(scenario: Scenario, n_points: int = _POINTS) -> pd.DataFrame:
    """Shares of the wall clock over the checkpoint interval, exact.

    Returns
    -------
    DataFrame
        ``interval_min`` [min], ``part``, ``share`` in [0, 1]; parts that are nowhere above zero are left out.
    """
    steady = without_start(scenario)
    intervals = _intervals_min(steady, n_points)
    hours = quietly(budget.exact, steady, {INTERVAL: intervals})
    return part_shares(hours, steady, interval_min=intervals)


def interval_rules(scenario: Scenario, n_points: int = _POINTS) -> pd.DataFrame:
    """What each published rule for the interval costs against the best one, over the job's size.

    Returns
    -------
    DataFrame
        ``n_gpus`` [GPUs], ``rule``, ``interval_min`` [min], from a second to the whole work, ``loss_points``: ETTR
        lost against the best interval, in hundredths. Background write, faster tiers, predictions, silence and
        maintenance are set aside: the rules have no term for them.
    """
    run = comparable(scenario, "rsc")
    n_gpus = sizes_of_curve(run, n_points)
    mttf_h = job_mttf_h(run, n_gpus)
    ends_h = SHORTEST_MIN / 60, run.work_h
    best_h = exact_interval(run.stall_h, mttf_h)
    rules_h = {
        "Young": young_interval(run.stall_h, mttf_h),
        "Daly, first order": quietly(daly_first_order_interval, run.stall_h, mttf_h, run.recovery_h),
        "Daly, higher order": daly_interval(run.stall_h, mttf_h),
        "Availability": availability_interval(run.stall_h, mttf_h, run.recovery_h),
        "Exact": best_h,
    }
    rules_h = {name: np.clip(tau_h, *ends_h) for name, tau_h in rules_h.items()}
    at_best = _ettr(run, n_gpus, rules_h["Exact"])
    frames = [
        pd.DataFrame(
            {
                "n_gpus": n_gpus,
                "rule": name,
                "interval_min": tau_h * 60,
                "loss_points": 100 * (at_best - _ettr(run, n_gpus, tau_h)),
            }
        )
        for name, tau_h in rules_h.items()
    ]
    return valid_points(frames, run)


def _ettr(scenario: Scenario, n_gpus: np.ndarray, tau_h: np.ndarray) -> np.ndarray:
    at = {N_GPUS: n_gpus, INTERVAL: np.nan_to_num(tau_h, nan=1.0) * 60}
    return np.where(np.isnan(tau_h), np.nan, ettr_at(scenario, at))


def _intervals_min(scenario: Scenario, n_points: int) -> np.ndarray:
    return _around_best(scenario, 20, scenario.least_interval_min * (1 + 1e-9), scenario.work_h * 60, n_points)


def _around_best(run: Scenario, factor: float, least: float, most: float, n_points: int) -> np.ndarray:
    """Intervals from a part of the best one to a multiple of it, and the scenario's own among them. [min]"""
    best, given = best_interval_min(run), run.interval_min
    low, high = max(min(best / factor, given), least), min(max(best * factor, given), most)
    return np.geomspace(low, max(high, 2 * low), n_points)


def interval_with_bands(scenario: Scenario, n_points: int = 80) -> pd.DataFrame:
    """Exact steady-state ETTR over the interval, with bands from what is known of the failure rate.

    Parameters
    ----------
    scenario : Scenario
        The run.
    n_points : int
        Intervals, from an eighth of the best one to eight times it.

    Returns
    -------
    DataFrame
        ``interval_min`` [min], ``ettr``, and ``low_50``, ``high_50``, ``low_95``, ``high_95``, which are equal to
        ``ettr`` where nothing is known. ETTR falls as the rate grows, so that each end is the ETTR at an end of the
        rate. Points without an answer at one of these rates are left out.
    """
    run = without_start(scenario)
    intervals = _around_best(run, 8, shortest_interval_min(run), longest_interval_min(run), n_points)
    return answered_points(
        pd.DataFrame({"interval_min": intervals, **ettr_with_bands(run, {INTERVAL: intervals})}), run
    )


def losses_by_factor(plan: Plan, factors: Iterable[float]) -> dict[float, float]:
    """ETTR lost in the steady state with an interval that is a multiple of the best one.

    Parameters
    ----------
    plan : Plan
        Of the run.
    factors : iterable of float
        Multiples of the best interval.

    Returns
    -------
    dict
        Factor to ETTR lost; intervals that are shorter than possible or longer than the work are left out.
    """
    run, best = plan.scenario, plan.band.interval_min
    ends = max(SHORTEST_MIN, run.least_interval_min), run.work_h * 60
    possible = [factor for factor in factors if ends[0] <= factor * best <= ends[1]]
    if not possible:
        return {}
    ettr = budget.exact(steady_state(run), {INTERVAL: best * np.array([1.0, *possible])}).ettr
    return dict(zip(possible, ettr[0] - ettr[1:], strict=True))


def loss_by_wrong_rate(plan: Plan) -> float:
    """ETTR lost with the interval that a fourfold or a quarter of the failure rate would give."""
    steady, rate = steady_state(plan.scenario), plan.scenario.failure_rate
    if rate == 0:
        return 0.0
    intervals = [best_interval_min(steady.override({RATE: rate * factor})) for factor in (1.0, 0.25, 4.0)]
    ettr = budget.exact(steady, {INTERVAL: np.array(intervals)}).ettr
    return float(ettr[0] - ettr[1:].min())


def best_interval_if(run: Scenario, changes: Mapping[str, Any]) -> float:
    """Best interval of the run with some of its values changed. [min]"""
    return float(best_interval_min(run.override(changes)))
