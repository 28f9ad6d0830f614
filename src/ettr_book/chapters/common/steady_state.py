"""The exact model along a curve: sizes, the steady state of a run, and the points that have an answer."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from ettr import budget
from ettr.budget.intervals import at_best
from ettr.core.errors import NotModelled, OutsideValidity
from ettr.core.results import PARTS, TimeBudget
from ettr.core.validity import ValidityWarning
from ettr.scenario import Scenario
from ettr.scenario.paths import INTERVAL, N_GPUS

LARGEST_GPUS = 1e6


def smallest_gpus(scenario: Scenario) -> float:
    """Return 128 GPUs, or the GPUs that hold a node for each copy of a checkpoint. [GPUs]"""
    copies = max([1, *(tier.copies or 1 for tier in scenario.checkpoint.tiers)])
    return float(max(128, scenario.cluster.gpus_per_node * copies))


def sizes_of_curve(scenario: Scenario, n_points: int) -> np.ndarray:
    """Return sizes from 128 GPUs to a million, including the powers of ten that sentences quote. [GPUs]"""
    spread = np.geomspace(smallest_gpus(scenario), LARGEST_GPUS, n_points)
    return np.unique(np.concatenate([spread, [1e4, 1e5]]))


def without_start(scenario: Scenario) -> Scenario:
    """Return the scenario in its steady state, so that the last segment of a run causes no steps in curves."""
    return scenario.override({"job.include_start": False})


def quietly(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a model on an array without validity warnings; the caller drops the points that are NaN."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ValidityWarning)
        return function(*arguments)


def ettr_at(run: Scenario, at: Mapping[str, Any], formula: str = "exact") -> np.ndarray:
    """Return ETTR by a formula at swept fields; NaN where it has no answer."""
    return np.asarray(quietly(budget.FORMULAS[formula], run, at).ettr)


def mtbf_h(run: Scenario, n_gpus: float) -> float:
    """Return the wall-clock MTBF at another size, at the best interval; NaN without an answer. [h]

    Examples
    --------
    >>> round(60 * mtbf_h(Scenario.load("llama3-405b"), 100_000))
    31
    """
    at = {N_GPUS: np.array([float(n_gpus)])}
    try:
        hours = quietly(budget.exact, run, at | {INTERVAL: at_best(run, at).interval_min})
    except (NotModelled, OutsideValidity):
        return math.nan
    return float(hours.mtbf_h[0])


def answered(points: pd.DataFrame, why: str) -> pd.DataFrame:
    """Return the rows in which every column has an answer.

    Raises
    ------
    OutsideValidity
        If there is none, with `why` as its message.
    """
    complete = points.dropna(ignore_index=True)
    if complete.empty:
        raise OutsideValidity(why)
    return complete


def valid_points(frames: list[pd.DataFrame], scenario: Scenario) -> pd.DataFrame:
    """Return the points at which a formula is valid; raise OutsideValidity if there is none."""
    points = pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()
    return answered(points, f"no formula is valid anywhere on this curve of {scenario.name}")


def part_shares(hours: TimeBudget, scenario: Scenario, **axis: np.ndarray) -> pd.DataFrame:
    """Return shares of wall-clock time by part along an axis, without parts that are zero everywhere."""
    frames = [
        pd.DataFrame({**axis, "part": part.removesuffix("_h"), "share": getattr(hours, part) / hours.total_h})
        for part in PARTS
        if np.any(getattr(hours, part) > 0)
    ]
    return valid_points(frames, scenario)
