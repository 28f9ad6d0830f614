"""Charts of one run and of finishing dates."""

from __future__ import annotations

from typing import Any

import altair as alt
import pandas as pd

from ettr.plots import builders
from ettr.plots.columns import Column, tooltips
from ettr.plots.encodings import rounded, with_marks
from ettr.plots.theme import MODEL_COLOURS, ORANGE, PART_COLOURS, finish
from ettr_book.chapters.finishing_date.tables import COUNTED_RATE, KNOWN_RATE
from ettr_book.chapters.scale.tables import DIARY_SOURCES

_EXACT = MODEL_COLOURS["exact"]
_STATES = {
    "training" if part == "productive" else part: PART_COLOURS[part]
    for part in ("productive", "checkpoint", "rework", "detection", "queue", "restart", "maintenance")
}
_CASES = {KNOWN_RATE: (_EXACT, [6, 3]), COUNTED_RATE: (ORANGE, [1, 0])}
_WHO = {
    "predicted": (_EXACT, "circle"),
    "at the pace so far": (ORANGE, "diamond"),
}
_FAINT = 0.4
"""Opacity of training, so that the stops stand out."""


def rate(frame: pd.DataFrame, own_count: int | None, title: str, subtitle: str = "") -> Any:
    """Draw the width of the interval of dates over the number of failures behind the rate.

    Parameters
    ----------
    frame : DataFrame
        As from ``tables.range_by_count``.
    own : int or None
        Number of failures behind the scenario's rate.
    title, subtitle : str
        Finding of the chart, and the scenario.
    """
    x = builders.across("n_events", title="Failures behind the rate [count]")
    y = builders.up("range_days", zero=True)
    drawn = builders.lines(rounded(frame), x, y, "case", _CASES, tooltips("case", "n_events", "range_days"))
    at = alt.Chart(
        pd.DataFrame({"n_events": [float(own_count)] if own_count else [], "name": "this run's count"})
    ).encode(x=alt.X("n_events:Q"))
    name = at.mark_text(align="right", dx=-5, baseline="top").encode(y=alt.value(4), text=alt.Text("name:N"))
    marked = [at.mark_rule(strokeDash=[3, 3]), name]
    widths = "; ".join(
        f"{case} {rows['range_days'].iloc[0]:.3g} days at {rows['n_events'].iloc[0]:,} failures and "
        f"{rows['range_days'].iloc[-1]:.3g} at {rows['n_events'].iloc[-1]:,}"
        for case, rows in frame.groupby("case", sort=False)
    )
    return finish(
        alt.layer(drawn, *marked),
        title=title,
        subtitle=subtitle,
        description=f"Width of the 90% prediction interval in days, over the number of failures counted: {widths}.",
        height=260,
    )


def forecasts(frame: pd.DataFrame, title: str, subtitle: str = "") -> Any:
    """Draw predicted and actual finishing dates of published runs.

    Parameters
    ----------
    frame : DataFrame
        As from ``run_tables.published_forecasts``.
    title, subtitle : str
        Finding of the chart, and the compared runs.
    """
    y = builders.rows("run", frame["run"], labelLimit=170, labelExpr="split(datum.label, ' on ')")
    x = builders.along("off_days", zero=False, padding=20)
    named = {"middle_days": "predicted", "pace_days": "at the pace so far"}
    ends = frame[["low_days", "high_days", *named]].sub(frame["came_days"], axis=0)
    off = frame[["run"]].join(ends).rename(columns=named)
    points = rounded(off.melt("run", [*named.values()], var_name="who", value_name="off_days").dropna())
    ranges = rounded(off[["run", "low_days", "high_days"]].dropna())
    tips = tooltips("run", "who", "off_days")
    layers = [
        builders.rule(x, 0.0, color=MODEL_COLOURS["published"], strokeWidth=3),
        builders.shapes(points, x, y, "who", builders.present(_WHO, points["who"]), 110, tips),
    ]
    if len(ranges):
        bars = alt.Chart(ranges).mark_bar(height=10, opacity=0.4, color=_EXACT)
        low = alt.X("low_days:Q", title=x["title"], scale=x["scale"])
        layers.insert(1, bars.encode(y=y, x=low, x2="high_days:Q", tooltip=tooltips("run", "low_days", "high_days")))
    late = "; ".join(f"{row.run}, {row.who}: {row.off_days:+.1f}" for row in points.itertuples())
    return finish(
        alt.layer(*layers),
        title=title,
        subtitle=with_marks(subtitle, "line: actual end; bars: 90% prediction interval"),
        description=f"Days by which the end of published runs was predicted too late, or too early below zero. {late}.",
        height=70 * len(frame) + 20,
        sources=DIARY_SOURCES,
    )


def days(frame: pd.DataFrame, title: str, subtitle: str = "") -> Any:
    """Draw a run with one strip per day, coloured by activity.

    Parameters
    ----------
    frame : DataFrame
        As from ``run_tables.days_of_run``.
    title, subtitle : str
        Finding of the chart, and the scenario.
    """
    present = builders.present(_STATES, frame["state"])
    rows = sorted(frame["day"].unique())
    x = builders.along("from_h", title="Hour of the day [h]", domain=[0, 24], nice=False)
    strips = (
        alt.Chart(rounded(frame))
        .mark_bar(cornerRadius=0, cornerRadiusEnd=0)
        .encode(
            y=alt.Y("day:O", title="Day since submission", sort=rows, axis=alt.Axis(ticks=False, grid=False)),
            x=x.axis(values=list(range(0, 25, 3))),
            x2=alt.X2("to_h:Q"),
            color=builders.squares("state", present, symbolOpacity=1),
            opacity=alt.condition("datum.state == 'training'", alt.value(_FAINT), alt.value(1)),
            tooltip=tooltips("state", "day", "from_h", "lasts_min", state="State", day=Column("Day")),
        )
    )
    hours = frame.groupby("state")["lasts_min"].sum().div(60).reindex(list(present))
    totals = ", ".join(f"{state} {value:,.1f} h" for state, value in hours.items())
    return finish(
        strips,
        title=title,
        subtitle=subtitle,
        description=f"A strip of 24 hours for each of the days {rows[0]} to {rows[-1]} of one run. In all: {totals}.",
        height=18 * len(rows) + 24,
    )
