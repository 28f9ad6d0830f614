"""What a run of any size reaches, how surely, and what takes its time.

All curves are in the steady state, and each is one call of the closed forms on arrays.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

from ettr import budget
from ettr.chapters.common.steady_state import (
    LARGEST_GPUS,
    answered,
    ettr_at,
    part_shares,
    quietly,
    sizes_of_curve,
    smallest_gpus,
    valid_points,
    without_start,
)
from ettr.core.errors import NotModelled
from ettr.failures import gamma_interval
from ettr.plan import Plan, best_interval_min, flat_band, job_mttf_h
from ettr.scenario import Scenario
from ettr.scenario.paths import INTERVAL, N_GPUS, RATE, RESTART

_POINTS = 120
_MAP_POINTS = 28
_MAP_GPUS, _MAP_RESTARTS_MIN = (1000.0, 1e6), (0.1, 30.0)
_BANDS = (50, 95)
_LITTLE = 0.1
_RECOVERY = ["detection", "queue", "restart"]
"""Parts that pass between a failure and the next training."""


def by_size(scenario: Scenario, n_points: int = _POINTS) -> pd.DataFrame:
    """ETTR over the size of the job, at the scenario's interval and at the best one.

    Returns
    -------
    DataFrame
        ``n_gpus`` [GPUs], ``interval`` (``best`` or ``as given``), ``formula``, ``interval_min`` [min], ``job_mttf_h``
        [h], ``ettr``; points outside a formula's validity are left out.
    """
    steady = without_start(scenario)
    n_gpus = sizes_of_curve(steady, n_points)
    given_min = np.full(n_gpus.shape, steady.interval_min)
    frames = []
    for formula, interval, interval_min in (
        ("exact", "best", best_interval_min(steady, {N_GPUS: n_gpus})),
        ("exact", "as given", given_min),
        ("first_order", "as given", given_min),
        ("rsc", "as given", given_min),
    ):
        try:
            ettr = ettr_at(steady, {N_GPUS: n_gpus, INTERVAL: interval_min}, formula)
        except NotModelled:
            continue
        columns = {"n_gpus": n_gpus, "interval": interval, "formula": formula, "interval_min": interval_min}
        frames.append(pd.DataFrame({**columns, "job_mttf_h": job_mttf_h(steady, n_gpus), "ettr": ettr}))
    return valid_points(frames, steady)


def at_best(sizes: pd.DataFrame) -> pd.DataFrame:
    """The curve of :func:`by_size` at the best interval of each size."""
    return sizes[(sizes["formula"] == "exact") & (sizes["interval"] == "best")]


def ettr_of_sizes(plan: Plan, sizes: pd.DataFrame) -> dict[float, float]:
    """ETTR at the best interval of the scenario's own size, and of the two largest powers of ten on the curve.

    Parameters
    ----------
    plan : Plan
        Of the scenario.
    sizes : DataFrame
        As from :func:`by_size`.

    Returns
    -------
    dict
        ETTR by number of GPUs, the smallest first.
    """
    best, own = at_best(sizes), plan.scenario.cluster.n_gpus
    tens = [size for size in (1e4, 1e5, 1e6) if size <= best["n_gpus"].max() * 1.001 and size != own][-2:]
    curve = {size: float(np.interp(math.log(size), np.log(best["n_gpus"]), best["ettr"])) for size in tens}
    return dict(sorted({own: float(plan.budget.ettr), **curve}.items()))


def reach_gpus(curve: pd.DataFrame, target: float, column: str = "ettr") -> float:
    """The largest size that reaches a target, between points by the logarithm; NaN if the curve does not cross it."""
    above = curve[column].to_numpy() >= target
    if above.all() or not above[0]:
        return math.nan
    first = int(np.argmin(above))
    ends = curve.iloc[first - 1 : first + 1]
    return math.exp(np.interp(-target, -ends[column].to_numpy(), np.log(ends["n_gpus"].to_numpy())))


def formula_reach(scenario: Scenario) -> pd.DataFrame:
    """How far the simple formulas reach, of those that have a term for what the scenario holds.

    Returns
    -------
    DataFrame
        ``name``, ``near_gpus`` (up to which it is within a point of the exact one; NaN if nowhere), ``end_gpus``
        (beyond which it has no answer; NaN if it has none at all) [GPUs]. A formula that holds at any size is left out.
    """
    rows = []
    for formula, name in (("first_order", "the first-order form"), ("rsc", "the RSC formula")):
        try:
            reach = budget.validity(without_start(scenario), formula)
        except NotModelled:
            continue
        if math.isfinite(reach.max_n_gpus):
            rows.append((name, reach.one_point_n_gpus or math.nan, reach.max_n_gpus or math.nan))
    return pd.DataFrame(rows, columns=["name", "near_gpus", "end_gpus"])


def size_with_bands(scenario: Scenario, n_points: int = 60) -> pd.DataFrame:
    """Exact steady-state ETTR over the size at the best interval, with bands from what is known of the failure rate.

    Parameters
    ----------
    scenario : Scenario
        The run.
    n_points : int
        Sizes, from 128 GPUs to a million.

    Returns
    -------
    DataFrame
        ``n_gpus`` [GPUs], and the columns of :func:`ettr_with_bands`, at the interval that is best for the rate itself.
    """
    run = without_start(scenario)
    n_gpus = np.geomspace(smallest_gpus(run), LARGEST_GPUS, n_points)
    bands = ettr_with_bands(run, {N_GPUS: n_gpus, INTERVAL: best_interval_min(run, {N_GPUS: n_gpus})})
    return answered_points(pd.DataFrame({"n_gpus": n_gpus, **bands}), run)


def ettr_with_bands(run: Scenario, at: dict[str, Any]) -> dict[str, np.ndarray]:
    """ETTR at swept fields, and at the ends of the failure rate's intervals of 50% and 95%.

    Returns
    -------
    dict
        ``ettr``, ``low_50``, ``high_50``, ``low_95`` and ``high_95``, the last four equal to the first where nothing
        is known of the rate; NaN where the exact form has no answer.
    """
    ettr, ends = ettr_at(run, at), _rates(run)
    columns = {"ettr": ettr}
    for level in _BANDS:
        low, high = (ettr_at(run, {**at, RATE: np.array([end])}) for end in ends[level][::-1]) if ends else (ettr, ettr)
        columns |= {f"low_{level}": low, f"high_{level}": high}
    return columns


def answered_points(table: pd.DataFrame, run: Scenario) -> pd.DataFrame:
    """The rows in which every column has an answer; OutsideValidity if there is none."""
    return answered(table, f"the exact form has no answer anywhere on this curve of {run.name}")


def band_by_size(scenario: Scenario, n_points: int = 40) -> pd.DataFrame:
    """The best interval by size, with the range that costs at most half a point and that of the rate.

    Returns
    -------
    DataFrame
        ``n_gpus`` [GPUs, whole nodes], ``interval_min``, ``low_min``, ``high_min`` (the flat band), ``low_95_min``,
        ``high_95_min`` (the best interval for the ends of the rate's 95% interval; the best itself where nothing is
        known) [min]. Sizes at which less than a tenth of the time is left are not there: half a point says little then.
    """
    run = without_start(scenario)
    per_node = run.cluster.gpus_per_node
    nodes = np.unique(np.round(np.geomspace(smallest_gpus(run), LARGEST_GPUS, n_points) / per_node))
    n_gpus = _worthwhile(run, nodes) * per_node
    ends = _rates(run).get(95, (run.failure_rate, run.failure_rate))
    shortest, longest = best_interval_min(run, {N_GPUS: n_gpus[:, None], RATE: np.array(ends[::-1])}).T
    band = flat_band(run, at={N_GPUS: n_gpus})
    return pd.DataFrame(
        {
            "n_gpus": n_gpus,
            "interval_min": band.interval_min,
            "low_min": band.low_min,
            "high_min": band.high_min,
            "low_95_min": shortest,
            "high_95_min": longest,
        }
    )


def parts_by_size(scenario: Scenario, n_points: int = _POINTS) -> pd.DataFrame:
    """Shares of the wall clock over the size of the job, exact, at the best interval of each size.

    Returns
    -------
    DataFrame
        ``n_gpus`` [GPUs], ``part``, ``share`` in [0, 1]; parts that are nowhere above zero are left out.
    """
    steady = without_start(scenario)
    n_gpus = sizes_of_curve(steady, n_points)
    at = {N_GPUS: n_gpus, INTERVAL: best_interval_min(steady, {N_GPUS: n_gpus})}
    return part_shares(quietly(budget.exact, steady, at), steady, n_gpus=n_gpus)


def losses_near(parts: pd.DataFrame, n_gpus: float) -> pd.Series:
    """Lost shares at the size of the curve nearest to one, the largest first.

    Parameters
    ----------
    parts : DataFrame
        As from :func:`parts_by_size`.
    n_gpus : float
        The size. [GPUs]

    Returns
    -------
    Series
        Shares of the wall clock by part.
    """
    sizes = parts["n_gpus"].unique()
    nearest = sizes[np.abs(np.log(sizes / n_gpus)).argmin()]
    lost = parts[(parts["n_gpus"] == nearest) & (parts["part"] != "productive")]
    return lost.set_index("part")["share"].sort_values(ascending=False)


def share_of_recovery(losses: pd.Series) -> float:
    """Share of the lost time that passes between a failure and the next training; NaN if nothing is lost."""
    total = losses.sum()
    return float(losses.reindex(_RECOVERY).fillna(0).sum() / total) if total else math.nan


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
    sizes = {"n_gpus": size_ends[i], "n_gpus_end": size_ends[i + 1]}
    restarts = {"restart_min": restart_ends[j], "restart_min_end": restart_ends[j + 1]}
    return valid_points([pd.DataFrame({**sizes, **restarts, "ettr": ettr.ravel()})], steady)


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
    sizes = {N_GPUS: n_gpus[:, None]}
    return ettr_at(steady, {**sizes, INTERVAL: best_interval_min(steady, sizes), RESTART: restarts_min})


def _worthwhile(run: Scenario, nodes: np.ndarray) -> np.ndarray:
    """The numbers of nodes on which a tenth of the time is left; at least the two smallest."""
    n_gpus = nodes * run.cluster.gpus_per_node
    left = ettr_at(run, {N_GPUS: n_gpus, INTERVAL: best_interval_min(run, {N_GPUS: n_gpus})}) >= _LITTLE
    return np.asarray(nodes[: max(2, int(left.sum()))])


def _rates(run: Scenario) -> dict[int, tuple[float, float]]:
    """Ends of the rate by level; empty where nothing is known. [1 / (1000 node-days)]"""
    known = run.failures.posterior
    if known is None or run.failure_rate == 0:
        return {}
    intervals = {level: gamma_interval(known.shape, known.node_days, level / 100) for level in _BANDS}
    return {level: (interval.low, interval.high) for level, interval in intervals.items()}
