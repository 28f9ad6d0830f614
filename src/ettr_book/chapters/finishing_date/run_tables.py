"""Days of one simulated run, and forecasts of published runs from what was seen of them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd

from ettr import budget, evidence, simulation
from ettr.core.errors import InputError
from ettr.core.units import H_PER_DAY, MIN_PER_H, ROUNDING
from ettr.logs.training_logs import GROUPS, HARDWARE
from ettr.scenario import Scenario
from ettr.simulation import Simulation
from ettr.simulation.outlook import affordable_runs
from ettr_book.chapters.common.runs import for_timeline
from ettr_book.chapters.failure_log.tables import diary_log
from ettr_book.chapters.finishing_date.tables import ENDS
from ettr_book.chapters.scale.tables import (
    MODELLED,
    PublishedRun,
    published_run,
    published_run_names,
)

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


def days_of_run(simulation: Simulation, run: int = 0, n_days: int = 14) -> pd.DataFrame:
    """The stretches of the first days of one run, a row a stretch of one day.

    Parameters
    ----------
    simulation : Simulation
        With this run in its ``timeline``.
    run : int
        Number of the run.
    n_days : int
        Days shown from submission on, or fewer if the run ends before, or if a page cannot hold so many
        stretches. [days]

    Returns
    -------
    DataFrame
        ``day`` (from 1), ``from_h``, ``to_h`` (hours of that day, 0 to 24) [h], ``state``, ``lasts_min`` (within the
        day) [min], in the order of time. Stalls of less than a minute count as training.

    Raises
    ------
    InputError
        The run was not written down.
    """
    own = simulation.timeline[simulation.timeline["run"] == run]
    if own.empty:
        raise InputError(f"run {run} is not in the timeline: simulate(..., timeline=[{run}])")
    if n_days < 1:
        raise InputError(f"n_days must be >= 1, got {n_days}")
    until_h = min(n_days * H_PER_DAY, float(own["end_h"].iloc[-1]))
    state, start_h = _merged(own)
    edges = np.union1d(start_h[start_h < until_h], np.arange(0.0, until_h, H_PER_DAY))
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


def published_forecasts(seen: float = 0.2) -> pd.DataFrame:
    """What would have been predicted for published runs from what their diaries had by then, and what came.

    Parameters
    ----------
    seen : float
        Share of a run's wall clock, in (0, 1); the forecast is made at the last entry within it. Runs without an entry
        there are left out.

    Returns
    -------
    DataFrame
        ``run`` (title), ``day`` of the forecast [days since the first entry at full speed], ``n_events`` (failures in
        the diary by then), ``days_watched`` [days], ``done`` (share of the work), ``ettr`` (realised by then);
        ``low_days``, ``middle_days``, ``high_days`` (the rest, by 5, 50 and 95%; missing where no failure was there to
        count), ``pace_days`` (the rest at the pace so far), ``came_days`` (the rest as it came) [days];
        ``lost_days`` in the whole run, and ``other_days`` of them to what no model of failures has a term for, or
        without a reason [days].

    Raises
    ------
    InputError
        A share outside (0, 1), or so small that no run has an entry within it.

    Notes
    -----
    The rate is the count by then (Jeffreys prior), mixed over; stall, detection and restart are those of the preset of
    the same name, which knew the whole diary.
    """
    if not 0 < seen < 1:
        raise InputError(f"seen, a share of the wall clock, must be above 0 and below 1, got {seen:g}")
    rows = [_forecast(published_run(name), name, seen) for name in published_run_names()]
    if not any(rows):
        raise InputError(f"seen must reach the first entry of a diary, got {seen:g}: e.g. 0.2")
    return pd.DataFrame([row for row in rows if row])


def _forecast(published: PublishedRun, name: str, seen: float) -> dict[str, Any]:
    realised, run = published.realised, published.scenario
    passed = realised.segments.assign(day=realised.segments["wall_h"].cumsum() / H_PER_DAY)
    passed = passed[passed["day"] <= seen * realised.wall_h / H_PER_DAY]
    if passed.empty:
        return {}
    now, day = passed["end"].iloc[-1], float(passed["day"].iloc[-1])
    done = float(passed["steps"].sum()) / realised.n_steps
    began, failures = _hardware_failures(name, published)
    n_events, days_watched = int((failures <= now).sum()), float((now - began) / pd.Timedelta(days=1))
    productive_days = realised.productive_h / H_PER_DAY
    ettr = done * productive_days / day
    counted = {"n_events": n_events, "node_days": run.n_nodes * days_watched, "rate_clock": "wall"}
    ends = np.full(len(ENDS), np.nan)
    if n_events:
        rest = budget.finishing(run.override({"failures": counted}), rate_known=False, done=done)
        ends = rest.quantile(np.array(ENDS)) / H_PER_DAY
    losses = published.losses
    return {
        "run": run.title,
        "day": day,
        "n_events": n_events,
        "days_watched": days_watched,
        "done": done,
        "ettr": ettr,
        **dict(zip(("low_days", "middle_days", "high_days"), map(float, ends), strict=True)),
        "pace_days": (1 - done) * productive_days / ettr if ettr > 0 else math.nan,
        "came_days": realised.wall_h / H_PER_DAY - day,
        "lost_days": realised.lost_h / H_PER_DAY,
        "other_days": float(losses.loc[losses["term"] != MODELLED, "lost_h"].sum()) / H_PER_DAY,
    }


def _hardware_failures(name: str, published: PublishedRun) -> tuple[pd.Timestamp, pd.Series]:
    """Since when a diary tells of failures of hardware and network, and when they struck."""
    if name == "glm-130b":
        log = diary_log()
        return log.window[0], log.failures["start"]
    losses = evidence.table("bloom176b_losses")
    hardware = losses["kind"].map(lambda kind: GROUPS.get(kind, kind)) == HARDWARE
    return published.realised.first, pd.to_datetime(losses.loc[hardware, "date"])
