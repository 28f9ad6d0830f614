"""Days of one simulated run, and forecasts of published runs from the first part of their diaries."""

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
from ettr_book.chapters.common.failure_logs import diary_log
from ettr_book.chapters.common.runs import for_timeline
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
"""Shortest stall that is visible in a chart of a day."""
_MOST_STRETCHES = 2000


def typical_run(scenario: Scenario, seed: int = 0) -> tuple[Simulation, int]:
    """Return simulated runs, and the number of the run with the median duration.

    A run with too many failures for a timeline is cut short.
    """
    scenario = for_timeline(scenario)
    failures = float(budget.exact(budget.simplified(scenario).scenario).n_failures)
    n = affordable_runs(failures, _RUNS_TO_CHOOSE_FROM, _MOST_FAILURES)
    middle = int(np.argsort(simulation.simulate(scenario, n, seed).total_h)[n // 2])
    return simulation.simulate(scenario, n, seed, timeline=[middle]), middle


def days_of_run(simulation: Simulation, run: int = 0, n_days: int = 14) -> pd.DataFrame:
    """Return the stretches of the first days of one run, one row per stretch and day.

    Parameters
    ----------
    simulation : Simulation
        Simulation whose ``timeline`` includes this run.
    run : int
        Number of the run.
    n_days : int
        Days from submission, fewer if the run ends earlier or has too many stretches for a page. [days]

    Returns
    -------
    DataFrame
        ``day`` (from 1), ``from_h``, ``to_h`` (hours of that day, 0 to 24) [h], ``state``, ``lasts_min`` (within the
        day) [min], in the order of time. Stalls of less than a minute count as training.

    Raises
    ------
    InputError
        The run is not in the timeline.
    """
    timeline = simulation.timeline[simulation.timeline["run"] == run]
    if timeline.empty:
        raise InputError(f"run {run} is not in the timeline: simulate(..., timeline=[{run}])")
    if n_days < 1:
        raise InputError(f"n_days must be >= 1, got {n_days}")
    until_h = min(n_days * H_PER_DAY, float(timeline["end_h"].iloc[-1]))
    state, start_h = _merged(timeline)
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


def _merged(timeline: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Return states and starts of the stretches, with consecutive stretches of one state merged."""
    state, lasts_h = timeline["state"].astype(str), timeline["end_h"] - timeline["start_h"]
    state = np.where((state == "checkpoint") & (lasts_h < _SHORTEST_H), "training", state)
    begins = np.append(True, state[1:] != state[:-1])
    return state[begins], timeline["start_h"].to_numpy()[begins]


def _whole_days(stretches: pd.DataFrame) -> pd.DataFrame:
    """Return the first days that a page can hold, or the start of the first day."""
    if len(stretches) <= _MOST_STRETCHES:
        return stretches
    complete = stretches["day"] < stretches["day"].iloc[_MOST_STRETCHES]
    return stretches[complete] if complete.any() else stretches.iloc[:_MOST_STRETCHES]


def published_forecasts(share: float = 0.2) -> pd.DataFrame:
    """Return forecasts for published runs from the first part of their diaries, and the outcomes.

    Parameters
    ----------
    share : float
        Share of a run's wall-clock time before the forecast, in (0, 1). The forecast uses the last diary entry in that
        time; runs without an entry are left out.

    Returns
    -------
    DataFrame
        ``run`` (title), ``day`` of the forecast [days since the first entry at full speed], ``n_events`` (failures in
        the diary by then), ``days_watched`` [days], ``done`` (share of the work), ``ettr`` (realised by then);
        ``low_days``, ``middle_days``, ``high_days`` (remaining time with 5, 50 and 95% probability; missing without a
        failure), ``pace_days`` (remaining time at the pace so far), ``came_days`` (actual remaining time) [days];
        ``lost_days`` in the whole run, and its part ``other_days`` with causes outside the model or without a cause
        [days].

    Raises
    ------
    InputError
        A share outside (0, 1), or so small that no run has an entry within it.

    Notes
    -----
    The date is averaged over the posterior of the failure rate (Jeffreys prior, count by then); stall, detection and
    restart come from the preset of the same name, which uses the whole diary.
    """
    if not 0 < share < 1:
        raise InputError(f"seen, a share of the wall-clock time, must be > 0 and < 1, got {share:g}")
    rows = [_forecast(published_run(name), name, share) for name in published_run_names()]
    if not any(rows):
        raise InputError(f"seen must reach the first entry of a diary, e.g. 0.2, got {share:g}")
    return pd.DataFrame([row for row in rows if row])


def _forecast(published: PublishedRun, name: str, share: float) -> dict[str, Any]:
    realised, run = published.realised, published.scenario
    passed = realised.segments.assign(day=realised.segments["wall_h"].cumsum() / H_PER_DAY)
    passed = passed[passed["day"] <= share * realised.wall_h / H_PER_DAY]
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
    """Return when a diary starts to record hardware and network failures, and when they struck."""
    if name == "glm-130b":
        log = diary_log()
        return log.window[0], log.failures["start"]
    losses = evidence.table("bloom176b_losses")
    hardware = losses["kind"].map(lambda kind: GROUPS.get(kind, kind)) == HARDWARE
    return published.realised.first, pd.to_datetime(losses.loc[hardware, "date"])
