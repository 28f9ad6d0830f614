"""Published runs whose date is foretold from what was seen of them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd

from ettr import budget, evidence
from ettr.core.errors import InputError
from ettr.core.units import H_PER_DAY
from ettr.logs.training_logs import GROUPS, HARDWARE
from ettr_book.chapters.failure_log.tables import diary_log
from ettr_book.chapters.finishing_date.tables import ENDS
from ettr_book.chapters.scale.tables import (
    DIARY_SOURCES,
    MODELLED,
    PublishedRun,
    published_run,
    published_run_names,
)

__all__ = ["DIARY_SOURCES", "published_forecasts"]


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
