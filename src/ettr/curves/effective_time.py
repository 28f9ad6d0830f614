"""Tables over an interval, a size or a pair of fields: what the charts of a chapter draw.

All curves are in the steady state, so that none is stepped by the last segment of a run, and each is one call of
the closed forms on arrays. :func:`against_model` sets real runs beside the closed form.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pandas as pd

from ettr import budget, progress
from ettr.checkpoint import (
    availability_interval,
    daly_first_order_interval,
    daly_interval,
    exact_interval,
    young_interval,
)
from ettr.curves.disagreement import comparable
from ettr.curves.grids import LARGEST_GPUS, smallest_gpus
from ettr.errors import NotModelled, OutsideValidity
from ettr.plan import SHORTEST_MIN, best_interval_min, job_mttf_h
from ettr.results import PARTS, TimeBudget
from ettr.scenario import Scenario
from ettr.validity import ValidityWarning

_POINTS = 120
_MAP_POINTS = 28
_MAP_GPUS, _MAP_RESTARTS_MIN = (1000.0, 1e6), (0.1, 30.0)


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
    steady = _steady(scenario)
    intervals = _intervals_min(steady, n_points)
    frames = []
    for name, formula in budget.FORMULAS.items():
        try:
            ettr = _quietly(formula, steady, {"checkpoint.interval_min": intervals}).ettr
        except NotModelled:
            continue
        frames.append(pd.DataFrame({"interval_min": intervals, "formula": name, "ettr": ettr}))
    return _valid(frames, steady)


def parts_by_interval(scenario: Scenario, n_points: int = _POINTS) -> pd.DataFrame:
    """Shares of the wall clock over the checkpoint interval, exact.

    Returns
    -------
    DataFrame
        ``interval_min`` [min], ``part``, ``share`` in [0, 1]; parts that are nowhere above zero are left out.
    """
    steady = _steady(scenario)
    intervals = _intervals_min(steady, n_points)
    found = _quietly(budget.exact, steady, {"checkpoint.interval_min": intervals})
    return _shares(found, steady, interval_min=intervals)


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
    n_gpus = _sizes(run, n_points)
    mttf_h = job_mttf_h(run, n_gpus)
    ends_h = SHORTEST_MIN / 60, run.work_h
    best_h = exact_interval(run.stall_h, mttf_h)
    rules_h = {
        "Young": young_interval(run.stall_h, mttf_h),
        "Daly, first order": _quietly(daly_first_order_interval, run.stall_h, mttf_h, run.recovery_h),
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
    return _valid(frames, run)


def by_size(scenario: Scenario, n_points: int = _POINTS) -> pd.DataFrame:
    """ETTR over the size of the job, at the scenario's interval and at the best one.

    Returns
    -------
    DataFrame
        ``n_gpus`` [GPUs], ``interval`` (``best`` or ``as given``), ``formula``, ``interval_min`` [min], ``job_mttf_h``
        [h], ``ettr``; points outside a formula's validity are left out.
    """
    steady = _steady(scenario)
    n_gpus = _sizes(steady, n_points)
    given_min = np.full(n_gpus.shape, steady.checkpoint.interval_min)
    frames = []
    for formula, interval, interval_min in (
        ("exact", "best", best_interval_min(steady, {"cluster.n_gpus": n_gpus})),
        ("exact", "as given", given_min),
        ("first_order", "as given", given_min),
        ("rsc", "as given", given_min),
    ):
        at = {"cluster.n_gpus": n_gpus, "checkpoint.interval_min": interval_min}
        try:
            ettr = _quietly(budget.FORMULAS[formula], steady, at).ettr
        except NotModelled:
            continue
        columns = {"n_gpus": n_gpus, "interval": interval, "formula": formula, "interval_min": interval_min}
        frames.append(pd.DataFrame({**columns, "job_mttf_h": job_mttf_h(steady, n_gpus), "ettr": ettr}))
    return _valid(frames, steady)


def parts_by_size(scenario: Scenario, n_points: int = _POINTS) -> pd.DataFrame:
    """Shares of the wall clock over the size of the job, exact, at the best interval of each size.

    Returns
    -------
    DataFrame
        ``n_gpus`` [GPUs], ``part``, ``share`` in [0, 1]; parts that are nowhere above zero are left out.
    """
    steady = _steady(scenario)
    n_gpus = _sizes(steady, n_points)
    at = {"cluster.n_gpus": n_gpus, "checkpoint.interval_min": best_interval_min(steady, {"cluster.n_gpus": n_gpus})}
    return _shares(_quietly(budget.exact, steady, at), steady, n_gpus=n_gpus)


def recovery_map(scenario: Scenario, n_points: int = _MAP_POINTS) -> pd.DataFrame:
    """ETTR at the best interval over the size of the job and the restart time.

    Returns
    -------
    DataFrame
        ``n_gpus`` [GPUs], ``restart_min`` [min], ``ettr``, and the cell's ends ``n_gpus_end``, ``restart_min_end``.
    """
    size_ends = np.geomspace(*_MAP_GPUS, n_points + 1)
    restart_ends = np.geomspace(*_MAP_RESTARTS_MIN, n_points // 2 + 1)
    middles = [np.sqrt(ends[1:] * ends[:-1]) for ends in (size_ends, restart_ends)]
    steady = _steady(scenario)
    ettr = _ettr_by_restart(steady, *middles)
    i, j = np.indices(ettr.shape).reshape(2, -1)
    columns = {"n_gpus": size_ends[i], "n_gpus_end": size_ends[i + 1]}
    columns |= {"restart_min": restart_ends[j], "restart_min_end": restart_ends[j + 1]}
    return _valid([pd.DataFrame({**columns, "ettr": ettr.ravel()})], steady)


def recovery_regions(scenario: Scenario, levels: Iterable[float], n_points: int = _POINTS) -> pd.DataFrame:
    """The longest restart that still reaches an ETTR, by size, at the best interval.

    Parameters
    ----------
    scenario : Scenario
        The run.
    levels : iterable of float
        ETTRs, in [0, 1]; 0 for wherever the exact form has an answer.
    n_points : int
        Sizes.

    Returns
    -------
    DataFrame
        ``at_least``, ``n_gpus`` [GPUs], ``low_min`` (the shortest restart of the map), ``high_min`` [min], within 1%.
        Sizes at which no restart of the map reaches a level are left out.
    """
    steady = _steady(scenario)
    n_gpus, restarts = np.geomspace(*_MAP_GPUS, n_points), np.geomspace(*_MAP_RESTARTS_MIN, 600)
    ettr = np.nan_to_num(_ettr_by_restart(steady, n_gpus, restarts), nan=-1.0)
    frames = []
    for level in levels:
        reached = (ettr >= level).sum(axis=1)  # ETTR falls as the restart grows
        columns = {"n_gpus": n_gpus, "low_min": restarts[0], "high_min": restarts[np.maximum(reached - 1, 0)]}
        frames.append(pd.DataFrame({"at_least": level, **columns})[reached > 0])
    return _valid(frames, steady)


def _ettr_by_restart(steady: Scenario, n_gpus: np.ndarray, restarts_min: np.ndarray) -> np.ndarray:
    at = {
        "cluster.n_gpus": n_gpus[:, None],
        "checkpoint.interval_min": best_interval_min(steady, {"cluster.n_gpus": n_gpus})[:, None],
        "recovery.restart_min": restarts_min,
    }
    return np.asarray(_quietly(budget.exact, steady, at).ettr)


def against_model() -> pd.DataFrame:
    """The ETTR that published runs really had, beside the one that hardware failures and checkpoints alone would leave.

    Returns
    -------
    DataFrame
        ``name``, ``run`` (title), ``realised``, ``low``, ``high`` (from the resolution of the diary's time stamps),
        ``modelled`` (:func:`ettr.budget.exact` of the preset of the same name), ``difference`` (modelled less
        realised), ``wall_h``, ``lost_h`` [h] and ``modelled_lost_h``, what the model would lose of the same wall
        clock [h].

    Examples
    --------
    >>> against_model().set_index("name")["realised"].round(3).to_dict()
    {'bloom-176b': 0.926, 'glm-130b': 0.846}
    """
    rows = []
    for name in progress.published_run_names():
        run = progress.published_run(name)
        done, modelled = run.realised, float(budget.exact(run.scenario).ettr)
        rows.append(
            {
                "name": name,
                "run": run.scenario.title,
                "realised": done.ettr,
                "low": done.low,
                "high": done.high,
                "modelled": modelled,
                "difference": modelled - done.ettr,
                "wall_h": done.wall_h,
                "lost_h": done.lost_h,
                "modelled_lost_h": (1 - modelled) * done.wall_h,
            }
        )
    return pd.DataFrame(rows)


def _steady(scenario: Scenario) -> Scenario:
    return scenario.override({"job.include_start": False})


def _intervals_min(scenario: Scenario, n_points: int) -> np.ndarray:
    """Intervals around the best one, and the scenario's own among them."""
    best = best_interval_min(scenario)
    least = scenario.least_interval_min
    given = scenario.checkpoint.interval_min
    low = max(min(best / 20, given), least * (1 + 1e-9))
    high = min(max(best * 20, given), scenario.work_h * 60)
    return np.geomspace(low, max(high, 2 * low), n_points)


def _sizes(scenario: Scenario, n_points: int) -> np.ndarray:
    """From 128 GPUs to a million, the powers of ten that sentences speak of among them."""
    spread = np.geomspace(smallest_gpus(scenario), LARGEST_GPUS, n_points)
    return np.unique(np.concatenate([spread, [1e4, 1e5]]))


def _ettr(scenario: Scenario, n_gpus: np.ndarray, tau_h: np.ndarray) -> Any:
    at = {"cluster.n_gpus": n_gpus, "checkpoint.interval_min": np.nan_to_num(tau_h, nan=1.0) * 60}
    return np.where(np.isnan(tau_h), np.nan, _quietly(budget.exact, scenario, at).ettr)


def _shares(found: TimeBudget, scenario: Scenario, **axis: np.ndarray) -> pd.DataFrame:
    frames = [
        pd.DataFrame({**axis, "part": part.removesuffix("_h"), "share": getattr(found, part) / found.total_h})
        for part in PARTS
        if np.any(getattr(found, part) > 0)
    ]
    return _valid(frames, scenario)


def _valid(frames: list[pd.DataFrame], scenario: Scenario) -> pd.DataFrame:
    """The points at which a formula holds; a curve without any is an error."""
    points = pd.concat(frames, ignore_index=True).dropna(ignore_index=True) if frames else pd.DataFrame()
    if points.empty:
        raise OutsideValidity(f"no formula holds anywhere on this curve of {scenario.name}")
    return points


def _quietly(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a closed form on an array; the caller leaves the points out that it marks as NaN."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ValidityWarning)
        return function(*arguments)
