"""Errors of the formulas in use against the exact model, over size and interval."""

from __future__ import annotations

import numpy as np
import pandas as pd

from ettr import budget, simulation
from ettr.budget.intervals import best_interval_min
from ettr.core.results import TimeBudget
from ettr.core.units import MIN_PER_H, S_PER_H
from ettr.scenario import Scenario
from ettr.scenario.paths import INTERVAL, N_GPUS
from ettr.simulation import Simulation
from ettr.simulation.outlook import affordable_runs
from ettr_book.chapters.common.steady_state import LARGEST_GPUS, ettr_at, quietly, smallest_gpus
from ettr_book.chapters.common.table import CaptionedTable, named
from ettr_book.validation import CALCULATORS
from ettr_book.validation.comparing import POINT, answers, steady

LEVELS = (POINT, 5.0, 20.0)
"""Borders of the error classes, for both signs. [points]"""
NEAR, NO_ANSWER = "within 1 point", "no answer"
CLASSES = (
    "over 20 too low",
    "5 to 20 too low",
    "1 to 5 too low",
    NEAR,
    "1 to 5 too high",
    "5 to 20 too high",
    "over 20 too high",
    NO_ANSWER,
)
"""Error classes of a map, from the lowest to the highest."""

_INTERVALS_MIN = 0.5, 1440.0
_FINE = 160
"""Intervals at which a map is computed: a finer grid than a small picture can show."""
_FAILURES_OF_RUNS = 500_000
"""Largest number of failures in all simulated runs together."""


def regions(scenario: Scenario, n_sizes: int = 36) -> pd.DataFrame:
    """Return the sign and class of each calculator's error over job size and interval.

    Parameters
    ----------
    scenario : Scenario
        The run; ``ettr_book.validation.comparing.steady`` lists the features that are dropped.
    n_sizes : int
        Columns of each map.

    Returns
    -------
    DataFrame
        A row for each stretch of intervals of one class at a size: ``calculator`` (its title), ``n_gpus``,
        ``n_gpus_end`` [GPUs], ``interval_min``, ``interval_min_end`` [min], ``error`` (one of :data:`CLASSES`).
    """
    run = steady(scenario)
    sizes, intervals = _ends(run, n_sizes)
    middles = [np.sqrt(ends[1:] * ends[:-1]) for ends in (sizes, intervals)]
    at = {N_GPUS: middles[0][:, None], INTERVAL: middles[1]}
    exact = np.nan_to_num(ettr_at(run, at))  # a run that would never end trains no part of its time
    frames = [
        _stretches(CALCULATORS[name].title, _classes(100 * (ettr - exact)), sizes, intervals)
        for name, ettr in answers(budget.accepted(run, at)).items()
    ]
    return pd.concat(frames, ignore_index=True)


def _ends(run: Scenario, n_sizes: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the cell borders: from half a minute, or the shortest interval that the write allows, to a day."""
    low = max(_INTERVALS_MIN[0], run.least_interval_min * (1 + 1e-9))
    intervals = np.geomspace(low, max(_INTERVALS_MIN[1], 10 * low), _FINE + 1)
    return np.geomspace(smallest_gpus(run), LARGEST_GPUS, n_sizes + 1), intervals


def _classes(points: np.ndarray) -> np.ndarray:
    """Return indices into :data:`CLASSES`."""
    edges = [*(-level for level in reversed(LEVELS)), *LEVELS]
    return np.where(np.isnan(points), len(CLASSES) - 1, np.digitize(points, edges))


def _stretches(title: str, classes: np.ndarray, sizes: np.ndarray, intervals: np.ndarray) -> pd.DataFrame:
    changes = np.diff(classes, axis=1, prepend=-1) != 0
    i, j = np.nonzero(changes)
    last = np.append(i[1:] != i[:-1], True)
    end = np.where(last, intervals.size - 1, np.append(j[1:], 0))
    return pd.DataFrame(
        {
            "calculator": title,
            "n_gpus": sizes[i],
            "n_gpus_end": sizes[i + 1],
            "interval_min": intervals[j],
            "interval_min_end": intervals[end],
            "error": [CLASSES[place] for place in classes[i, j]],
        }
    )


def best_line(scenario: Scenario, n_points: int = 30) -> pd.DataFrame:
    """Return the best interval by size: ``n_gpus`` [GPUs], ``interval_min`` [min]."""
    run = steady(scenario)
    sizes = np.geomspace(smallest_gpus(run), LARGEST_GPUS, n_points)
    return pd.DataFrame({"n_gpus": sizes, "interval_min": quietly(best_interval_min, run, {N_GPUS: sizes})})


def comparable(scenario: Scenario) -> Scenario:
    """Return the run on which the calculators are compared: without faster tiers, at the best interval if it had any.

    With faster tiers the best interval may be as long as the run, which without those tiers would never end.
    Simulation keeps the tiers and needs a whole multiple of their longest interval.
    """
    if not scenario.checkpoint.tiers:
        return scenario
    longest_min = max(tier.interval_s for tier in scenario.checkpoint.tiers) / S_PER_H * MIN_PER_H
    n_times = max(round(best_interval_min(steady(scenario)) / longest_min), 1)
    return scenario.override({INTERVAL: n_times * longest_min})


def simulated(scenario: Scenario, n_runs: int = 1000, seed: int = 0) -> tuple[TimeBudget, Simulation]:
    """Return the exact ETTR and simulated runs, without features that the exact model lacks.

    Parameters
    ----------
    scenario : Scenario
        The run.
    n_runs, seed : int
        Simulated runs, fewer where they meet many failures, and their seed.
    """
    run = budget.simplified(scenario).scenario
    exact = budget.exact(run)
    n_runs = affordable_runs(float(exact.n_failures), n_runs, _FAILURES_OF_RUNS)
    return exact, simulation.simulate(run, n_runs, seed)


def summary(refereed: pd.DataFrame) -> CaptionedTable:
    """Return the summary table for the page; ``refereed`` as from :func:`ettr_book.validation.referee`."""
    cells = refereed.assign(
        near=[f"{share:.0%}" for share in refereed["within"]],
        middle=[f"{points:+.1f}" for points in refereed["median"]],
        ends=[f"{row.low:+.1f} to {row.high:+.1f}" for row in refereed.itertuples()],
        way=[f"{share:.0%}" for share in refereed["too_much"]],
        none=[f"{share:.0%}" for share in refereed["no_answer"]],
        safe=[f"{loss:.1%}" if loss else "nowhere" for loss in refereed["safe_loss"]],
    )
    heads = {
        "title": "Formula",
        "near": "Within a point",
        "middle": "Median error",
        "ends": "5% to 95%",
        "way": "Too high",
        "none": "No answer",
        "safe": "Safe below",
    }
    caption = "Errors in points on the same plausible runs; safe below this first-order loss"
    return named(cells.sort_values("within", ascending=False), heads, caption)


def facts() -> CaptionedTable:
    """Return a row per calculator: author, formula, what it leaves out, and where it was read."""
    rows = [
        (formula.title, f"{formula.who}, {formula.year}", formula.formula, formula.leaves_out, formula.how_read)
        for formula in CALCULATORS.values()
    ]
    heads = ("Formula", "Author", "In symbols", "Leaves out", "Read in")
    return CaptionedTable(pd.DataFrame(rows, columns=heads), "Formulas and the losses they leave out")
