"""Closed forms along a curve: the sizes it goes over, the steady state of a run, and the points that have an answer."""

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
    """128 GPUs, or as many as hold a node for each copy of a checkpoint. [GPUs]"""
    copies = max([1, *(tier.copies or 1 for tier in scenario.checkpoint.tiers)])
    return float(max(128, scenario.cluster.gpus_per_node * copies))


def sizes_of_curve(scenario: Scenario, n_points: int) -> np.ndarray:
    """From 128 GPUs to a million, the powers of ten that sentences speak of among them. [GPUs]"""
    spread = np.geomspace(smallest_gpus(scenario), LARGEST_GPUS, n_points)
    return np.unique(np.concatenate([spread, [1e4, 1e5]]))


def without_start(scenario: Scenario) -> Scenario:
    """The scenario in its steady state, so that no curve is stepped by the last segment of a run."""
    return scenario.override({"job.include_start": False})


def quietly(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a closed form on an array; the caller leaves the points out that it marks as NaN."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ValidityWarning)
        return function(*arguments)


def ettr_at(run: Scenario, at: Mapping[str, Any], formula: str = "exact") -> np.ndarray:
    """ETTR by a formula at swept fields; NaN where it has no answer."""
    return np.asarray(quietly(budget.FORMULAS[formula], run, at).ettr)


def mtbf_h(run: Scenario, n_gpus: float) -> float:
    """Mean time between failures on the wall clock of the run at another size, at the best interval; NaN without. [h]

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
    """The points in which every column has an answer.

    Raises
    ------
    OutsideValidity
        If there is none; `why` says so.
    """
    there = points.dropna(ignore_index=True)
    if there.empty:
        raise OutsideValidity(why)
    return there


def valid_points(frames: list[pd.DataFrame], scenario: Scenario) -> pd.DataFrame:
    """The points at which a formula holds; OutsideValidity if there is none."""
    points = pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()
    return answered(points, f"no formula holds anywhere on this curve of {scenario.name}")


def part_shares(hours: TimeBudget, scenario: Scenario, **axis: np.ndarray) -> pd.DataFrame:
    """Shares of the wall clock by part, along an axis; parts that are nowhere above zero are left out."""
    frames = [
        pd.DataFrame({**axis, "part": part.removesuffix("_h"), "share": getattr(hours, part) / hours.total_h})
        for part in PARTS
        if np.any(getattr(hours, part) > 0)
    ]
    return valid_points(frames, scenario)
