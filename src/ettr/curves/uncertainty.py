"""What a failure rate that is not known exactly does to the ETTR and to the interval."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd

from ettr import budget
from ettr.curves.grids import LARGEST_GPUS, smallest_gpus
from ettr.errors import OutsideValidity
from ettr.failures import gamma_interval
from ettr.plan import best_interval_min, flat_band, longest_interval_min, shortest_interval_min
from ettr.scenario import Scenario
from ettr.validity import ValidityWarning

RATE, INTERVAL, SIZE = "failures.rate_per_1000_node_days", "checkpoint.interval_min", "cluster.n_gpus"
_LEVELS = (50, 95)
_LITTLE = 0.1


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
    run = _steady(scenario)
    best = best_interval_min(run)
    low = max(min(best / 8, run.checkpoint.interval_min), shortest_interval_min(run))
    high = min(max(best * 8, run.checkpoint.interval_min), longest_interval_min(run))
    intervals = np.geomspace(low, max(high, 2 * low), n_points)
    return _answered(pd.DataFrame({"interval_min": intervals, **_with_bands(run, {INTERVAL: intervals})}), run)


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
        ``n_gpus`` [GPUs], ``interval_min`` (best for the rate itself) [min], and columns as in
        :func:`interval_with_bands`.
    """
    run = _steady(scenario)
    n_gpus = np.geomspace(smallest_gpus(run), LARGEST_GPUS, n_points)
    interval_min = best_interval_min(run, {SIZE: n_gpus})
    found = _with_bands(run, {SIZE: n_gpus, INTERVAL: interval_min})
    return _answered(pd.DataFrame({"n_gpus": n_gpus, "interval_min": interval_min, **found}), run)


def band_by_size(scenario: Scenario, n_points: int = 40) -> pd.DataFrame:
    """The best interval by size, with the range that costs at most half a point and that of the rate.

    Returns
    -------
    DataFrame
        ``n_gpus`` [GPUs, whole nodes], ``interval_min``, ``low_min``, ``high_min`` (the flat band), ``low_95_min``,
        ``high_95_min`` (the best interval for the ends of the rate's 95% interval; the best itself where nothing is
        known) [min]. Sizes at which less than a tenth of the time is left are not there: half a point says little then.
    """
    run = _steady(scenario)
    per_node = run.cluster.gpus_per_node
    nodes = np.unique(np.round(np.geomspace(smallest_gpus(run), LARGEST_GPUS, n_points) / per_node))
    nodes = _worthwhile(run, nodes)
    ends = _rates(run).get(95, (run.failures.rate, run.failures.rate))
    at = {SIZE: nodes[:, None] * per_node, RATE: np.array(ends[::-1])}
    shortest, longest = best_interval_min(run, at).T
    band = flat_band(run, at={SIZE: nodes * per_node})
    return pd.DataFrame(
        {
            "n_gpus": nodes * per_node,
            "interval_min": band.interval_min,
            "low_min": band.low_min,
            "high_min": band.high_min,
            "low_95_min": shortest,
            "high_95_min": longest,
        }
    )


def _worthwhile(run: Scenario, nodes: np.ndarray) -> np.ndarray:
    """The numbers of nodes on which a tenth of the time is left; at least the two smallest."""
    n_gpus = nodes * run.cluster.gpus_per_node
    left = _ettr(run, {SIZE: n_gpus, INTERVAL: best_interval_min(run, {SIZE: n_gpus})}) >= _LITTLE
    return np.asarray(nodes[: max(2, int(left.sum()))])


def _steady(scenario: Scenario) -> Scenario:
    return scenario.override({"job.include_start": False})


def _rates(run: Scenario) -> dict[int, tuple[float, float]]:
    """Ends of the rate by level; empty where nothing is known. [1 / (1000 node-days)]"""
    known = run.failures.posterior
    if known is None or run.failures.rate == 0:
        return {}
    intervals = {level: gamma_interval(known.shape, known.node_days, level / 100) for level in _LEVELS}
    return {level: (interval.low, interval.high) for level, interval in intervals.items()}


def _with_bands(run: Scenario, at: dict[str, Any]) -> dict[str, np.ndarray]:
    ettr = _ettr(run, at)
    columns = {"ettr": ettr}
    ends = _rates(run)
    for level in _LEVELS:
        low, high = (_ettr(run, {**at, RATE: np.array([end])}) for end in ends[level][::-1]) if ends else (ettr, ettr)
        columns |= {f"low_{level}": low, f"high_{level}": high}
    return columns


def _ettr(run: Scenario, at: dict[str, Any]) -> np.ndarray:
    """NaN where the exact form has no answer."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ValidityWarning)
        return np.asarray(budget.exact(run, at).ettr)


def _answered(table: pd.DataFrame, run: Scenario) -> pd.DataFrame:
    found = table.dropna(ignore_index=True)
    if found.empty:
        raise OutsideValidity(f"the exact form has no answer anywhere on this curve of {run.name}")
    return found
