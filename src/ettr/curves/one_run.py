"""One simulated run, stretch by stretch, and what it lost beside what others lose."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ettr.errors import InputError
from ettr.results import PARTS, TimeBudget

if TYPE_CHECKING:
    from ettr.simulation import Simulation

_H_PER_DAY = 24.0
_SHORTEST_H = 1 / 60
"""A shorter stall is thinner than a picture of a day can show."""
_MOST_STRETCHES = 2000
_RANGE = 5, 95


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
        ``day`` (from 1), ``from_h``, ``to_h`` (hours of that day, 0 to 24) [h], ``state``, ``since_h`` (since
        submission) [h], ``lasts_min`` (within the day) [min], in the order of time. Stalls of less than a minute count
        as training.

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
    end_h, from_h = float(own["end_h"].iloc[-1]), (first_day - 1) * _H_PER_DAY
    if from_h >= end_h:
        raise InputError(f"first_day must be before the end of run {run} on day {end_h / _H_PER_DAY:.1f}")
    until_h = min(from_h + n_days * _H_PER_DAY, end_h)
    state, start_h = _merged(own)
    inside = (start_h > from_h) & (start_h < until_h)
    edges = np.union1d(start_h[inside], np.arange(from_h, until_h, _H_PER_DAY))
    ends = np.append(edges[1:], until_h)
    day = np.floor(edges / _H_PER_DAY + 1e-9).astype(int)
    found = pd.DataFrame(
        {
            "day": day + 1,
            "from_h": edges - day * _H_PER_DAY,
            "to_h": ends - day * _H_PER_DAY,
            "state": state[np.searchsorted(start_h, edges, side="right") - 1],
            "since_h": edges,
            "lasts_min": 60 * (ends - edges),
        }
    )
    return _whole_days(found)


def _merged(own: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """States and beginnings of the stretches, those of one state in a row as one."""
    state, lasts_h = own["state"].astype(str).to_numpy(), (own["end_h"] - own["start_h"]).to_numpy()
    state = np.where((state == "checkpoint") & (lasts_h < _SHORTEST_H), "training", state)
    begins = np.append(True, state[1:] != state[:-1])
    return state[begins], own["start_h"].to_numpy()[begins]


def _whole_days(found: pd.DataFrame) -> pd.DataFrame:
    """The first days that a page can hold; the beginning of the first if even that is too much."""
    if len(found) <= _MOST_STRETCHES:
        return found
    whole = found["day"] < found["day"].iloc[_MOST_STRETCHES]
    return found[whole] if whole.any() else found.iloc[:_MOST_STRETCHES]


def losses_of_runs(simulation: Simulation, closed: TimeBudget, run: int = 0) -> pd.DataFrame:
    """Hours lost by one run, by runs on average and in between, and by the closed form.

    Parameters
    ----------
    simulation : Simulation
        The runs.
    closed : TimeBudget
        Of the same work, by the closed form.
    run : int
        Number of the run to tell apart.

    Returns
    -------
    DataFrame
        ``part`` (``lost`` for all together), ``this_h``, ``mean_h``, ``error_h`` (standard error of the mean),
        ``low_h`` and ``high_h`` (five and ninety-five of a hundred runs lose less), ``closed_h`` [h]. Parts that
        nobody loses anything to are left out.
    """
    means = simulation.budget_interval.set_index("part")
    parts = [*(part.removesuffix("_h") for part in PARTS[1:]), "lost"]
    runs = simulation.runs.rename(columns=lambda name: name.removesuffix("_h"))
    runs = runs.assign(lost=runs["total"] - runs["productive"])
    expected = {part: float(getattr(closed, f"{part}_h")) for part in parts[:-1]}
    expected["lost"] = float(closed.total_h - closed.productive_h)
    low, high = np.percentile(runs[parts], _RANGE, axis=0)
    found = pd.DataFrame(
        {
            "part": parts,
            "this_h": runs.loc[run, parts].to_numpy(float),
            "mean_h": [*means.loc[parts[:-1], "mean"], means.loc["total", "mean"] - means.loc["productive", "mean"]],
            "error_h": [*means.loc[parts[:-1], "error"], means.loc["total", "error"]],
            "low_h": low,
            "high_h": high,
            "closed_h": [expected[part] for part in parts],
        }
    )
    there = (found[["high_h", "mean_h", "closed_h", "this_h"]] > 0).any(axis=1)
    return found[there].reset_index(drop=True)
