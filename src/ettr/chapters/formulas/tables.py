"""How far the simple formulas are from the exact one, over size and interval."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import pandas as pd

from ettr.chapters.common.steady_state import LARGEST_GPUS, answered, ettr_at, smallest_gpus
from ettr.plan import best_interval_min
from ettr.scenario import Scenario
from ettr.scenario.paths import INTERVAL, N_GPUS, PERSIST, PREDICTION, TIERS

LEVELS = (1.0, 5.0, 20.0)
"""Differences from the exact ETTR that regions are told apart by. [points]"""

_INTERVALS_MIN = 0.5, 1440.0
_FINE = 700
"""Intervals on which the edges of the regions are looked for: closer than a picture can show."""

Simple = Literal["first_order", "rsc"]


def difference_cells(scenario: Scenario, formula: Simple, n_points: int = 28) -> pd.DataFrame:
    """A simple formula's ETTR less the exact one, over size and interval.

    Parameters
    ----------
    scenario : Scenario
        The run. Its maintenance is set aside, and for ``rsc`` all that the formula has no term for: background write,
        tiers, predictions, silence.
    formula : {"first_order", "rsc"}
        The simple form.
    n_points : int
        Cells along each axis.

    Returns
    -------
    DataFrame
        A row a cell: its ends ``n_gpus``, ``n_gpus_end`` [GPUs], ``interval_min``, ``interval_min_end`` [min], and at
        its middle ``ettr`` (NaN where the simple form has no answer), ``exact``, and ``points``, the first less the
        second, in hundredths.
    """
    run = comparable(scenario, formula)
    sizes = _sizes(run, n_points + 1)
    intervals = np.geomspace(*_ends_min(run), n_points + 1)
    middles = [np.sqrt(ends[1:] * ends[:-1]) for ends in (sizes, intervals)]
    simple, exact = _both(run, formula, {N_GPUS: middles[0][:, None], INTERVAL: middles[1]})
    i, j = np.indices(exact.shape).reshape(2, -1)
    return pd.DataFrame(
        {
            "n_gpus": sizes[i],
            "n_gpus_end": sizes[i + 1],
            "interval_min": intervals[j],
            "interval_min_end": intervals[j + 1],
            "ettr": simple.ravel(),
            "exact": exact.ravel(),
            "points": 100 * (simple - exact).ravel(),
        }
    )


def difference_regions(scenario: Scenario, formula: Simple, n_points: int = 200) -> pd.DataFrame:
    """Where a simple formula is within some points of the exact one, as ranges of the interval by size.

    Parameters
    ----------
    scenario, formula
        As for :func:`difference_cells`.
    n_points : int
        Sizes.

    Returns
    -------
    DataFrame
        ``layer`` (regions to lay on each other in this order; the last ones are holes in those before), ``within`` (one
        of ``LEVELS``, or infinite: where the simple form has an answer at all) [points], ``n_gpus`` [GPUs],
        ``low_min``, ``high_min`` [min]; sizes without such an interval are left out.

    Raises
    ------
    OutsideValidity
        The simple form has no answer anywhere.
    """
    run = comparable(scenario, formula)
    sizes = _sizes(run, n_points)
    intervals = np.geomspace(*_ends_min(run), _FINE)
    simple, exact = _both(run, formula, {N_GPUS: sizes[:, None], INTERVAL: intervals})
    apart = np.nan_to_num(100 * np.abs(simple - exact), nan=np.inf)
    levels = (*LEVELS, np.inf)
    inside = [apart <= level if np.isfinite(level) else np.isfinite(apart) for level in levels]
    hulls = [_hull(within) for within in inside]
    holes = [hull & ~within for hull, within in zip(hulls, inside, strict=True)]
    drawn = [*[*zip(levels, hulls, strict=True)][::-1], *zip(levels[1:], holes, strict=False)]
    frames = []
    for layer, (level, region) in enumerate(drawn):
        low, high = region.argmax(axis=1), region.shape[1] - 1 - region[:, ::-1].argmax(axis=1)
        columns = {"n_gpus": sizes, "low_min": intervals[low], "high_min": intervals[high]}
        frames.append(pd.DataFrame({"layer": layer, "within": level, **columns})[region.any(axis=1)])
    why = f"budget.{formula} has no answer at any size and interval of {scenario.name}"
    return answered(pd.concat(frames, ignore_index=True), why)


def _hull(inside: np.ndarray) -> np.ndarray:
    """All between the first and the last place of a row that is inside."""
    some_before = np.logical_or.accumulate(inside, axis=1)
    some_after = np.logical_or.accumulate(inside[:, ::-1], axis=1)[:, ::-1]
    return np.asarray(some_before & some_after)


def difference_at_best(scenario: Scenario, formula: Simple, n_points: int = 60) -> pd.DataFrame:
    """The best interval by size, and how far a simple formula is off there.

    Returns
    -------
    DataFrame
        ``n_gpus`` [GPUs], ``interval_min`` [min], ``ettr`` (NaN where the simple form has no answer), ``points`` (that
        less the exact one, in hundredths).
    """
    run = comparable(scenario, formula)
    sizes = _sizes(run, n_points)
    interval_min = best_interval_min(run, {N_GPUS: sizes})
    simple, exact = _both(run, formula, {N_GPUS: sizes, INTERVAL: interval_min})
    columns = {"n_gpus": sizes, "interval_min": interval_min}
    return pd.DataFrame({**columns, "ettr": simple, "points": 100 * (simple - exact)})


def comparable(scenario: Scenario, formula: Simple) -> Scenario:
    """The steady state without maintenance, and without what the RSC formula has no term for."""
    changes: dict[str, Any] = {"job.include_start": False, "maintenance": None}
    if formula == "rsc":
        changes |= {PERSIST: 0, "checkpoint.store": None, TIERS: [], PREDICTION: None}
        changes |= {f"failures.modes.{mode.name}.latency_h": None for mode in scenario.failures.modes if mode.latency_h}
    return scenario.override(changes)


def set_aside(scenario: Scenario, formula: Simple) -> list[str]:
    """What of a scenario is left out of the comparison, in words."""
    kept = comparable(scenario, formula)
    names = {
        "the background write": scenario.persist_h > kept.persist_h,
        "faster tiers": scenario.checkpoint.tiers != kept.checkpoint.tiers,
        "predictions": scenario.prediction != kept.prediction,
        "silence": scenario.latencies_h != kept.latencies_h,
        "maintenance": scenario.maintenance_rate_per_h > 0,
    }
    return [name for name, left_out in names.items() if left_out]


def _sizes(run: Scenario, n_points: int) -> np.ndarray:
    return np.geomspace(smallest_gpus(run), LARGEST_GPUS, n_points)


def _ends_min(run: Scenario) -> tuple[float, float]:
    """From half a minute, or the shortest interval that the write allows, to a day."""
    low = max(_INTERVALS_MIN[0], run.least_interval_min * (1 + 1e-9))
    return low, max(_INTERVALS_MIN[1], 10 * low)


def _both(run: Scenario, formula: str, at: dict[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """ETTR by a simple formula, and the exact one, at swept fields."""
    return ettr_at(run, at, formula), ettr_at(run, at)
