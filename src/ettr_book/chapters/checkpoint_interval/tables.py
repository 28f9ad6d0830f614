"""Cost of a checkpoint interval, accuracy of the published rules, and inputs that move the best interval."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ettr import budget
from ettr.budget.intervals import best_interval_min, job_mttf_h
from ettr.checkpoint import (
    availability_interval,
    daly_first_order_interval,
    daly_interval,
    exact_interval,
    young_interval,
)
from ettr.core.errors import EttrError
from ettr.core.units import H_PER_DAY, MIN_PER_H
from ettr.scenario import Scenario
from ettr.scenario.job_in_hours import SHORTEST_MIN
from ettr.scenario.paths import INTERVAL, N_GPUS, PERSIST
from ettr_book.chapters.common.steady_state import (
    ettr_at,
    part_shares,
    quietly,
    sizes_of_curve,
    valid_points,
    without_start,
)
from ettr_book.validation.comparing import steady

if TYPE_CHECKING:
    from ettr.plan import Plan

_POINTS = 120
_MOST_TIMES = 20.0
"""Ratio of the shortest and longest interval drawn to the best one."""


def parts_by_interval(scenario: Scenario, n_points: int = _POINTS) -> pd.DataFrame:
    """Return the shares of wall-clock time over the checkpoint interval, exact, in the steady state.

    Returns
    -------
    DataFrame
        ``interval_min`` [min], ``part``, ``share`` in [0, 1]; parts that are zero everywhere are left out.
    """
    steady = without_start(scenario)
    best, current = best_interval_min(steady), steady.interval_min
    shortest_possible, work_min = steady.least_interval_min * (1 + 1e-9), steady.work_h * MIN_PER_H
    shortest = max(best / _MOST_TIMES, SHORTEST_MIN)
    low, high = max(min(shortest, current), shortest_possible), min(max(best * _MOST_TIMES, current), work_min)
    intervals = np.geomspace(low, max(high, 2 * low), n_points)
    return part_shares(quietly(budget.exact, steady, {INTERVAL: intervals}), steady, interval_min=intervals)


def interval_rules(scenario: Scenario, n_points: int = _POINTS) -> pd.DataFrame:
    """Return the ETTR lost by each published interval rule against the best interval, over job size.

    Returns
    -------
    DataFrame
        ``n_gpus`` [GPUs], ``rule``, ``interval_min`` [min], from a second to all work, ``loss_points``: ETTR
        lost against the best interval, in hundredths. Background write, faster tiers, predictions, silent failures and
        maintenance are left out: the rules do not cover them.
    """
    run = steady(scenario).override({PERSIST: 0, "checkpoint.store": None})
    n_gpus = sizes_of_curve(run, n_points)
    mttf_h = job_mttf_h(run, n_gpus)
    ends_h = SHORTEST_MIN / MIN_PER_H, run.work_h
    rules_h = {
        "Young": young_interval(run.stall_h, mttf_h),
        "Daly, first order": quietly(daly_first_order_interval, run.stall_h, mttf_h, run.recovery_h),
        "Daly, higher order": daly_interval(run.stall_h, mttf_h),
        "Availability": availability_interval(run.stall_h, mttf_h, run.recovery_h),
    }
    at_best = _ettr(run, n_gpus, np.clip(exact_interval(run.stall_h, mttf_h), *ends_h))
    frames = [
        pd.DataFrame(
            {
                "n_gpus": n_gpus,
                "rule": name,
                "interval_min": np.clip(tau_h, *ends_h) * MIN_PER_H,
                "loss_points": 100 * (at_best - _ettr(run, n_gpus, np.clip(tau_h, *ends_h))),
            }
        )
        for name, tau_h in rules_h.items()
    ]
    return valid_points(frames, run)


def _ettr(scenario: Scenario, n_gpus: np.ndarray, tau_h: np.ndarray) -> np.ndarray:
    at = {N_GPUS: n_gpus, INTERVAL: np.nan_to_num(tau_h, nan=1.0) * MIN_PER_H}
    return np.where(np.isnan(tau_h), np.nan, ettr_at(scenario, at))


def losses_by_factor(plan: Plan, factors: Iterable[float]) -> dict[float, float]:
    """Return the ETTR lost in the steady state with a multiple of the best interval, maintenance included.

    Returns
    -------
    dict
        Factor to ETTR lost; intervals shorter than possible or longer than the work are left out, and so are those for
        which planned maintenance is too frequent.
    """
    run, best = plan.scenario, plan.band.interval_min
    ends = max(SHORTEST_MIN, run.least_interval_min), run.work_h * MIN_PER_H
    possible = [factor for factor in factors if ends[0] <= factor * best <= ends[1]]
    if not possible:
        return {}
    ettr = ettr_at(without_start(run), {INTERVAL: best * np.array([1.0, *possible])})
    losses = zip(possible, (ettr[0] - ettr[1:]).tolist(), strict=True)
    return {factor: loss for factor, loss in losses if np.isfinite(loss)}


def moved_by(plan: Plan) -> pd.DataFrame:
    """Return the best interval over the range of each assumed input and over the interval of the failure rate.

    Returns
    -------
    DataFrame
        ``input``, ``basis`` (``"assumed"`` or ``"counted, 95% CI"``), ``low_value``, ``high_value`` and ``unit`` of
        the input, ``low_min``, ``high_min``: the best interval at its ends. [min] Empty if no input moves it.
    """
    run = plan.scenario
    rows = [
        _moved(
            assumed.name,
            "assumed",
            (assumed.low, assumed.high),
            assumed.unit,
            _best_over(run, assumed.field, assumed.low, assumed.high),
        )
        for assumed in plan.assumptions.inputs
        if assumed.field.startswith("checkpoint.") and assumed.field != INTERVAL
    ]
    rate, interval = (plan.bands[name] for name in ("job_mttf_h", "best_interval_min"))
    if rate and interval:
        ends = (rate["low_95"], rate["high_95"])
        rows.append(_moved("MTTF", "counted, 95% CI", ends, "h", (interval["low_95"], interval["high_95"])))
    columns = ["input", "basis", "low_value", "high_value", "unit", "low_min", "high_min"]
    moved = pd.DataFrame(rows, columns=columns)
    return moved[moved["high_min"] > moved["low_min"] * (1 + 1e-6)].sort_values("high_min", ascending=False)


def best_interval_if(run: Scenario, changes: Mapping[str, Any]) -> float:
    """Return the best interval of the run with some values changed. [min]"""
    return float(best_interval_min(run.override(changes)))


def _moved(name: str, basis: str, values: tuple[float, float], unit: str, ends: tuple[float, float]) -> dict[str, Any]:
    low, high = sorted(ends)
    return {
        "input": name.removeprefix("the "),
        "basis": basis,
        "low_value": values[0],
        "high_value": values[1],
        "unit": unit,
        "low_min": low,
        "high_min": high,
    }


def _best_over(run: Scenario, field: str, *values: float) -> tuple[float, float]:
    """Return the best interval at both ends of a field; where an end has none, the current best. [min]"""
    best_min = []
    for value in values:
        try:
            best_min.append(best_interval_if(run, {field: value}))
        except EttrError:
            best_min.append(best_interval_if(run, {}))
    return best_min[0], best_min[1]


def by_hand(plan: Plan) -> dict[str, float]:
    """Return the best interval by Young's rule.

    Returns
    -------
    dict
        ``failures_per_day``, ``mttf_min`` and ``stall_min`` (including the slowdown by the background write) [min],
        ``interval_min`` [min], and ``lost``: the share of the time that stalls and rework take there.
    """
    run = plan.scenario
    mttf_min = plan.job_mttf_h * MIN_PER_H
    stall_min = (run.stall_h + run.checkpoint.persist_slowdown * run.checkpoint.persist_s / 3600) * MIN_PER_H
    interval = float(np.sqrt(2 * stall_min * mttf_min))
    return {
        "failures_per_day": H_PER_DAY / plan.job_mttf_h,
        "mttf_min": mttf_min,
        "stall_min": stall_min,
        "interval_min": interval,
        "lost": 2 * stall_min / interval if interval else 0.0,
    }
