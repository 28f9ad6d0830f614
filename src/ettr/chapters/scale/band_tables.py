"""What a failure rate that is not known exactly does to the ETTR and to the interval."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd

from ettr import budget
from ettr.chapters.common.sizes import LARGEST_GPUS, smallest_gpus
from ettr.chapters.scale.tables import without_start
from ettr.core.errors import OutsideValidity
from ettr.core.validity import ValidityWarning
from ettr.failures import gamma_interval
from ettr.plan import best_interval_min, flat_band
from ettr.scenario import Scenario

RATE, INTERVAL, SIZE = "failures.rate_per_1000_node_days", "checkpoint.interval_min", "cluster.n_gpus"
_LEVELS = (50, 95)
_LITTLE = 0.1


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
    run = without_start(scenario)
    n_gpus = np.geomspace(smallest_gpus(run), LARGEST_GPUS, n_points)
    interval_min = best_interval_min(run, {SIZE: n_gpus})
    found = ettr_with_bands(run, {SIZE: n_gpus, INTERVAL: interval_min})
    return answered_points(pd.DataFrame({"n_gpus": n_gpus, "interval_min": interval_min, **found}), run)


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


def _rates(run: Scenario) -> dict[int, tuple[float, float]]:
    """Ends of the rate by level; empty where nothing is known. [1 / (1000 node-days)]"""
    known = run.failures.posterior
    if known is None or run.failures.rate == 0:
        return {}
    intervals = {level: gamma_interval(known.shape, known.node_days, level / 100) for level in _LEVELS}
    return {level: (interval.low, interval.high) for level, interval in intervals.items()}


def ettr_with_bands(run: Scenario, at: dict[str, Any]) -> dict[str, np.ndarray]:
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


def answered_points(table: pd.DataFrame, run: Scenario) -> pd.DataFrame:
    found = table.dropna(ignore_index=True)
    if found.empty:
        raise OutsideValidity(f"the exact form has no answer anywhere on this curve of {run.name}")
    return found
