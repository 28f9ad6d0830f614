"""Forecasts of the end of two runs, from the first part of their diaries."""

from __future__ import annotations

import math
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from ettr import budget, evidence
from ettr.core.errors import InputError
from ettr.core.units import H_PER_DAY
from ettr.plots import builders
from ettr.plots.columns import tooltips
from ettr.plots.encodings import rounded
from ettr.plots.theme import MODEL_COLOURS, ORANGE, finish
from ettr_book.chapters.common.diaries import GROUPS, HARDWARE
from ettr_book.chapters.two_diaries.runs import SOURCES, PublishedRun, published_run, published_run_names

ENDS = (0.05, 0.5, 0.95)
"""Probabilities of being done by the predicted dates."""


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
        the diary by then), ``done`` (share of the work), ``ettr`` (realised by then); ``low_days``, ``middle_days``,
        ``high_days`` (remaining time with 5, 50 and 95% probability; missing without a failure), ``pace_days``
        (remaining time at the pace so far), ``came_days`` (actual remaining time) [days].

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
    rows = [_forecast(published_run(name), share) for name in published_run_names()]
    if not any(rows):
        raise InputError(f"seen must reach the first entry of a diary, e.g. 0.2, got {share:g}")
    return pd.DataFrame([row for row in rows if row])


def _forecast(published: PublishedRun, share: float) -> dict[str, Any]:
    realised, run = published.realised, published.scenario
    passed = realised.segments.assign(day=realised.segments["wall_h"].cumsum() / H_PER_DAY)
    passed = passed[passed["day"] <= share * realised.wall_h / H_PER_DAY]
    if passed.empty:
        return {}
    now, day = passed["end"].iloc[-1], float(passed["day"].iloc[-1])
    done = float(passed["steps"].sum()) / realised.n_steps
    began, failures = _hardware_failures(published)
    n_events, days_watched = int((failures <= now).sum()), float((now - began) / pd.Timedelta(days=1))
    productive_days = realised.productive_h / H_PER_DAY
    ettr = done * productive_days / day
    counted = {"n_events": n_events, "node_days": run.n_nodes * days_watched, "rate_clock": "wall"}
    ends = np.full(len(ENDS), np.nan)
    if n_events:
        rest = budget.finishing(run.override({"failures": counted}), rate_known=False, done=done)
        ends = rest.quantile(np.array(ENDS)) / H_PER_DAY
    return {
        "run": run.title,
        "day": day,
        "n_events": n_events,
        "done": done,
        "ettr": ettr,
        **dict(zip(("low_days", "middle_days", "high_days"), map(float, ends), strict=True)),
        "pace_days": (1 - done) * productive_days / ettr if ettr > 0 else math.nan,
        "came_days": realised.wall_h / H_PER_DAY - day,
    }


def _hardware_failures(published: PublishedRun) -> tuple[pd.Timestamp, pd.Series]:
    """Return when a diary starts to record hardware and network failures, and when they struck."""
    if published.scenario.name == "glm-130b":  # recorded before the steps had their full length, too
        diary = evidence.table("glm130b_events")
        time = pd.to_datetime(diary["time"])
        stopped = (diary["kind"].map(GROUPS) == HARDWARE) & (diary["kind"] != "suspect_slow_node")
        return time.iloc[0], time[stopped]
    events = published.events
    return published.realised.first, events.loc[events["reason"] == HARDWARE, "time"]


_WHO = {"predicted": (MODEL_COLOURS["exact"], "circle"), "at the pace so far": (ORANGE, "diamond")}


def forecasts(seen: float) -> Any:
    """Draw predicted and actual finishing dates of both runs.

    Parameters
    ----------
    seen : float
        As ``share`` of :func:`published_forecasts`.
    """
    frame = published_forecasts(seen)
    inside = int(frame["came_days"].between(frame["low_days"], frame["high_days"]).sum())
    y = builders.rows("run", frame["run"], labelLimit=170, labelExpr="split(datum.label, ' on ')")
    x = builders.along("off_days", zero=False, padding=20)
    named = {"middle_days": "predicted", "pace_days": "at the pace so far"}
    ends = frame[["low_days", "high_days", *named]].sub(frame["came_days"], axis=0)
    off = frame[["run"]].join(ends).rename(columns=named)
    predicted = rounded(off.melt("run", [*named.values()], var_name="who", value_name="off_days").dropna())
    ranges = rounded(off[["run", "low_days", "high_days"]].dropna())
    tips = tooltips("run", "who", "off_days")
    layers = [
        builders.rule(x, 0.0, color=MODEL_COLOURS["published"], strokeWidth=3),
        builders.shapes(predicted, x, y, "who", builders.present(_WHO, predicted["who"]), 110, tips),
    ]
    if len(ranges):
        bars = alt.Chart(ranges).mark_bar(height=10, opacity=0.4, color=MODEL_COLOURS["exact"])
        low = alt.X("low_days:Q", title=x["title"], scale=x["scale"])
        layers.insert(1, bars.encode(y=y, x=low, x2="high_days:Q", tooltip=tooltips("run", "low_days", "high_days")))
    late = "; ".join(f"{row.run}, {row.who}: {row.off_days:+.1f}" for row in predicted.itertuples())
    return finish(
        alt.layer(*layers),
        title=f"{inside} of {len(frame)} runs ended within the predicted range",
        subtitle="Line: actual end; bars: 90% prediction interval",
        description=f"Days by which the end of published runs was predicted too late, or too early below zero. {late}.",
        height=70 * len(frame) + 20,
        sources=SOURCES,
    )
