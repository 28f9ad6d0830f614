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

from ettr import budget
from ettr.chapters.common.sizes import LARGEST_GPUS, smallest_gpus
from ettr.core.errors import NotModelled, OutsideValidity
from ettr.core.results import PARTS, TimeBudget
from ettr.core.validity import ValidityWarning
from ettr.plan import best_interval_min, job_mttf_h
from ettr.scenario import Scenario

POINTS = 120
_MAP_POINTS = 28
_MAP_GPUS, _MAP_RESTARTS_MIN = (1000.0, 1e6), (0.1, 30.0)


def by_size(scenario: Scenario, n_points: int = POINTS) -> pd.DataFrame:
    """ETTR over the size of the job, at the scenario's interval and at the best one.

    Returns
    -------
    DataFrame
        ``n_gpus`` [GPUs], ``interval`` (``best`` or ``as given``), ``formula``, ``interval_min`` [min], ``job_mttf_h``
        [h], ``ettr``; points outside a formula's validity are left out.
    """
    steady = without_start(scenario)
    n_gpus = sizes_shown(steady, n_points)
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
            ettr = quietly(budget.FORMULAS[formula], steady, at).ettr
        except NotModelled:
            continue
        columns = {"n_gpus": n_gpus, "interval": interval, "formula": formula, "interval_min": interval_min}
        frames.append(pd.DataFrame({**columns, "job_mttf_h": job_mttf_h(steady, n_gpus), "ettr": ettr}))
    return valid_points(frames, steady)


def parts_by_size(scenario: Scenario, n_points: int = POINTS) -> pd.DataFrame:
    """Shares of the wall clock over the size of the job, exact, at the best interval of each size.

    Returns
    -------
    DataFrame
        ``n_gpus`` [GPUs], ``part``, ``share`` in [0, 1]; parts that are nowhere above zero are left out.
    """
    steady = without_start(scenario)
    n_gpus = sizes_shown(steady, n_points)
    at = {"cluster.n_gpus": n_gpus, "checkpoint.interval_min": best_interval_min(steady, {"cluster.n_gpus": n_gpus})}
    return part_shares(quietly(budget.exact, steady, at), steady, n_gpus=n_gpus)


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
    steady = without_start(scenario)
    ettr = _ettr_by_restart(steady, *middles)
    i, j = np.indices(ettr.shape).reshape(2, -1)
    columns = {"n_gpus": size_ends[i], "n_gpus_end": size_ends[i + 1]}
    columns |= {"restart_min": restart_ends[j], "restart_min_end": restart_ends[j + 1]}
    return valid_points([pd.DataFrame({**columns, "ettr": ettr.ravel()})], steady)


def recovery_regions(scenario: Scenario, levels: Iterable[float], n_points: int = POINTS) -> pd.DataFrame:
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
    steady = without_start(scenario)
    n_gpus, restarts = np.geomspace(*_MAP_GPUS, n_points), np.geomspace(*_MAP_RESTARTS_MIN, 600)
    ettr = np.nan_to_num(_ettr_by_restart(steady, n_gpus, restarts), nan=-1.0)
    frames = []
    for level in levels:
        reached = (ettr >= level).sum(axis=1)  # ETTR falls as the restart grows
        columns = {"n_gpus": n_gpus, "low_min": restarts[0], "high_min": restarts[np.maximum(reached - 1, 0)]}
        frames.append(pd.DataFrame({"at_least": level, **columns})[reached > 0])
    return valid_points(frames, steady)


def _ettr_by_restart(steady: Scenario, n_gpus: np.ndarray, restarts_min: np.ndarray) -> np.ndarray:
    at = {
        "cluster.n_gpus": n_gpus[:, None],
        "checkpoint.interval_min": best_interval_min(steady, {"cluster.n_gpus": n_gpus})[:, None],
        "recovery.restart_min": restarts_min,
    }
    return np.asarray(quietly(budget.exact, steady, at).ettr)


def without_start(scenario: Scenario) -> Scenario:
    return scenario.override({"job.include_start": False})


def sizes_shown(scenario: Scenario, n_points: int) -> np.ndarray:
    """From 128 GPUs to a million, the powers of ten that sentences speak of among them."""
    spread = np.geomspace(smallest_gpus(scenario), LARGEST_GPUS, n_points)
    return np.unique(np.concatenate([spread, [1e4, 1e5]]))


def ettr_at(scenario: Scenario, n_gpus: np.ndarray, tau_h: np.ndarray) -> Any:
    at = {"cluster.n_gpus": n_gpus, "checkpoint.interval_min": np.nan_to_num(tau_h, nan=1.0) * 60}
    return np.where(np.isnan(tau_h), np.nan, quietly(budget.exact, scenario, at).ettr)


def part_shares(found: TimeBudget, scenario: Scenario, **axis: np.ndarray) -> pd.DataFrame:
    frames = [
        pd.DataFrame({**axis, "part": part.removesuffix("_h"), "share": getattr(found, part) / found.total_h})
        for part in PARTS
        if np.any(getattr(found, part) > 0)
    ]
    return valid_points(frames, scenario)


def valid_points(frames: list[pd.DataFrame], scenario: Scenario) -> pd.DataFrame:
    """The points at which a formula holds; a curve without any is an error."""
    points = pd.concat(frames, ignore_index=True).dropna(ignore_index=True) if frames else pd.DataFrame()
    if points.empty:
        raise OutsideValidity(f"no formula holds anywhere on this curve of {scenario.name}")
    return points


def quietly(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a closed form on an array; the caller leaves the points out that it marks as NaN."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ValidityWarning)
        return function(*arguments)
