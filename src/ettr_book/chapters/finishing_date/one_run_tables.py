"""Some days of one simulated run."""

from __future__ import annotations

import numpy as np
import pandas as pd

from ettr import budget, simulation
from ettr.core.errors import InputError
from ettr.core.units import H_PER_DAY, MIN_PER_H, ROUNDING
from ettr.scenario import Scenario
from ettr.simulation import Simulation
from ettr.simulation.outlook import affordable_runs
from ettr_book.chapters.common.runs import for_timeline

_RUNS_TO_CHOOSE_FROM = 25
_MOST_FAILURES = 200_000
_SHORTEST_H = 1 / MIN_PER_H
"""A shorter stall is thinner than a picture of a day can show."""
_MOST_STRETCHES = 2000


def typical_run(scenario: Scenario, seed: int = 0) -> tuple[Simulation, int]:
    """Simulated runs, and the number of the one among them whose hours are in the middle, which is written down.

    Only the beginning of a run that meets more failures than can be written down.
    """
    scenario = for_timeline(scenario)
    failures = float(budget.exact(budget.simplified(scenario).scenario).n_failures)
    n = affordable_runs(failures, _RUNS_TO_CHOOSE_FROM, _MOST_FAILURES)
    middle = int(np.argsort(simulation.simulate(scenario, n, seed).total_h)[n // 2])
    return simulation.simulate(scenario, n, seed, timeline=[middle]), middle


def days_of_run(simulation: Simulation, run: int = 0, first_day: int = 1, n_days: int = 14) -> pd.DataFrame:
    """The stretches of some days of one run, a row a stretch of one day.

    Parameters
    ----------
    simulation : Simulation
        With this run in its ``timeline``.
    run : int
        Number of the run.
    first_day : int
        First day shown, counted from submission; the first is 1. [days]
    n_days : int
        Days shown, or fewer if the run ends before, or if there would be more stretches than a page can hold. [days]

    Returns
    -------
    DataFrame
        ``day`` (from 1), ``from_h``, ``to_h`` (hours of that day, 0 to 24) [h], ``state``, ``lasts_min`` (within the
        day) [min], in the order of time. Stalls of less than a minute count as training.

    Raises
    ------
    InputError
        The run was not written down, or ends before the first day.
    """
    own = simulation.timeline[simulation.timeline["run"] == run]
    if own.empty:
        raise InputError(f"run {run} is not in the timeline: simulate(..., timeline=[{run}])")
    if first_day < 1 or n_days < 1:
        raise InputError(f"first_day and n_days must be >= 1, got {first_day} and {n_days}")
    end_h, from_h = float(own["end_h"].iloc[-1]), (first_day - 1) * H_PER_DAY
    if from_h >= end_h:
        raise InputError(f"first_day must be before the end of run {run} on day {end_h / H_PER_DAY:.1f}")
    until_h = min(from_h + n_days * H_PER_DAY, end_h)
    state, start_h = _merged(own)
    inside = (start_h > from_h) & (start_h < until_h)
    edges = np.union1d(start_h[inside], np.arange(from_h, until_h, H_PER_DAY))
    ends = np.append(edges[1:], until_h)
    day = np.floor(edges / H_PER_DAY + ROUNDING).astype(int)
    stretches = pd.DataFrame(
        {
            "day": day + 1,
            "from_h": edges - day * H_PER_DAY,
            "to_h": ends - day * H_PER_DAY,
            "state": state[np.searchsorted(start_h, edges, side="right") - 1],
            "lasts_min": MIN_PER_H * (ends - edges),
        }
    )
    return _whole_days(stretches)


def _merged(own: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """States and beginnings of the stretches, those of one state in a row as one."""
    state, lasts_h = own["state"].astype(str), own["end_h"] - own["start_h"]
    state = np.where((state == "checkpoint") & (lasts_h < _SHORTEST_H), "training", state)
    begins = np.append(True, state[1:] != state[:-1])
    return state[begins], own["start_h"].to_numpy()[begins]


def _whole_days(stretches: pd.DataFrame) -> pd.DataFrame:
    """The first days that a page can hold; the beginning of the first if even that is too much."""
    if len(stretches) <= _MOST_STRETCHES:
        return stretches
    whole = stretches["day"] < stretches["day"].iloc[_MOST_STRETCHES]
    return stretches[whole] if whole.any() else stretches.iloc[:_MOST_STRETCHES]
