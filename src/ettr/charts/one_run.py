"""Charts of one simulated run."""

from __future__ import annotations

from typing import Any

import altair as alt
import pandas as pd

from ettr.charts.encodings import rounded
from ettr.charts.theme import MODEL_COLOURS, PART_COLOURS, finish, need

_STATES = {"training": PART_COLOURS["productive"]} | {
    part: PART_COLOURS[part] for part in ("checkpoint", "rework", "detection", "queue", "restart", "maintenance")
}
_WHO = {"this run": "#e46d09", "mean of all runs": MODEL_COLOURS["simulated"], "closed form": MODEL_COLOURS["exact"]}
_SHAPES = {"this run": "diamond", "mean of all runs": "circle", "closed form": "square"}
_FAINT = 0.4
"""Opacity of training, which is nearly all there is, so that the stops stand out."""


def days(frame: pd.DataFrame, title: str, subtitle: str = "") -> Any:
    """A run as a strip a day, coloured by what it did.

    Parameters
    ----------
    frame : DataFrame
        As from :func:`ettr.curves.days_of_run`.
    title, subtitle : str
        The statement, and the scenario.
    """
    need(frame, "day", "from_h", "to_h", "state", "since_h", "lasts_min")
    present = {state: colour for state, colour in _STATES.items() if state in set(frame["state"])}
    rows = sorted(frame["day"].unique())
    strips = (
        alt.Chart(rounded(frame))
        .mark_bar(cornerRadius=0, cornerRadiusEnd=0)
        .encode(
            y=alt.Y("day:O", title="Day since submission", sort=rows, axis=alt.Axis(ticks=False, grid=False)),
            x=alt.X(
                "from_h:Q",
                title="Hour of the day [h]",
                scale=alt.Scale(domain=[0, 24], nice=False),
                axis=alt.Axis(values=list(range(0, 25, 3))),
            ),
            x2=alt.X2("to_h:Q"),
            color=alt.Color(
                "state:N",
                title=None,
                scale=alt.Scale(domain=list(present), range=list(present.values())),
                legend=alt.Legend(symbolType="square", symbolOpacity=1),
            ),
            opacity=alt.condition("datum.state == 'training'", alt.value(_FAINT), alt.value(1)),
            tooltip=[
                alt.Tooltip("state:N", title="State"),
                alt.Tooltip("day:O", title="Day"),
                alt.Tooltip("from_h:Q", title="From hour", format=".2f"),
                alt.Tooltip("lasts_min:Q", title="For [min]", format=",.3~g"),
            ],
        )
    )
    hours = frame.groupby("state")["lasts_min"].sum().div(60).reindex(list(present))
    told = ", ".join(f"{state} {value:,.1f} h" for state, value in hours.items())
    return finish(
        strips,
        title=title,
        subtitle=subtitle,
        description=f"A strip of 24 hours for each of the days {rows[0]} to {rows[-1]} of one run. In all: {told}.",
        height=18 * len(rows) + 24,
    )


def losses(frame: pd.DataFrame, title: str, subtitle: str = "") -> Any:
    """Hours that one run lost to each part, beside all runs and the closed form.

    Parameters
    ----------
    frame : DataFrame
        As from :func:`ettr.curves.losses_of_runs`.
    title, subtitle : str
        The statement, and the scenario.
    """
    need(frame, "part", "this_h", "mean_h", "low_h", "high_h", "closed_h")
    parts = frame["part"].tolist()
    y = alt.Y("part:N", sort=parts, title=None, axis=alt.Axis(grid=False))
    x = alt.X("hours:Q", title="Lost of one run [h]", scale=alt.Scale(zero=True))
    ranges = (
        alt.Chart(rounded(frame.rename(columns={"low_h": "hours"})))
        .mark_bar(height=16, opacity=0.3, cornerRadius=2, color=MODEL_COLOURS["simulated"])
        .encode(
            y=y,
            x=x,
            x2=alt.X2("high_h:Q"),
            tooltip=[
                alt.Tooltip("part:N", title="Part"),
                alt.Tooltip("hours:Q", title="5 in 100 runs less than [h]", format=",.4~g"),
                alt.Tooltip("high_h:Q", title="5 in 100 more than [h]", format=",.4~g"),
            ],
        )
    )
    columns = {"closed_h": "closed form", "mean_h": "mean of all runs", "this_h": "this run"}
    marks = frame.rename(columns=columns).melt("part", list(columns.values()), var_name="who", value_name="hours")
    base = alt.Chart(rounded(marks)).encode(
        y=y,
        x=x,
        color=alt.Color("who:N", title=None, scale=alt.Scale(domain=list(_WHO), range=list(_WHO.values()))),
        shape=alt.Shape("who:N", title=None, scale=alt.Scale(domain=list(_SHAPES), range=list(_SHAPES.values()))),
        tooltip=[
            alt.Tooltip("part:N", title="Part"),
            alt.Tooltip("who:N", title="By"),
            alt.Tooltip("hours:Q", title="Hours", format=",.4~g"),
        ],
    )
    form = base.transform_filter("datum.who === 'closed form'").mark_point(size=190, opacity=1, filled=False)
    runs = base.transform_filter("datum.who !== 'closed form'").mark_point(size=55, opacity=1)
    told = "; ".join(
        f"{row.part} {row.this_h:,.4g} in this run, {row.mean_h:,.4g} on average ({row.low_h:,.4g} to "
        f"{row.high_h:,.4g} in nine of ten), {row.closed_h:,.4g} by the closed form"
        for row in frame.itertuples()
    )
    return finish(
        ranges + form + runs,
        title=title,
        subtitle=subtitle,
        description=f"Hours lost of one run by part. {told}.",
        height=34 * len(parts) + 24,
    )
