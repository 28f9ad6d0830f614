"""Charts on the bandwidth of the store."""

from __future__ import annotations

from typing import Any

import altair as alt
import pandas as pd

from ettr.charts.encodings import line_colour
from ettr.charts.theme import finish, need, touchable

_SIZES = ["#1f95ec", "#e46d09"]


def by_bandwidth(frame: pd.DataFrame, published: pd.DataFrame, title: str, subtitle: str = "") -> Any:
    """The best interval over the bandwidth of the store, with the bandwidth below which the write sets it.

    Parameters
    ----------
    frame : DataFrame
        As from :func:`ettr.curves.by_bandwidth`.
    published : DataFrame
        As from :func:`ettr.curves.published_stores`.
    title, subtitle : str
        The statement, and the scenario.
    """
    need(frame, "write_gb_s", "n_gpus", "write_min", "interval_min", "crossing_gb_s", "ettr", "stall_interval_min")
    need(published, "store", "write_gb_s", "write_s")
    shown = frame.assign(job=[f"{size:,.0f} GPUs" for size in frame["n_gpus"]])
    jobs = list(dict.fromkeys(shown["job"]))
    low, high = float(shown["write_gb_s"].min()), float(shown["write_gb_s"].max())
    x = alt.X(
        "write_gb_s:Q",
        title="Bandwidth of the store [GB/s]",
        scale=alt.Scale(type="log", nice=False, domain=[low, high]),
        axis=alt.Axis(format=",~g", tickCount=5, labelOverlap=True),
    )
    colour = line_colour("job", "Job", dict(zip(jobs, _SIZES, strict=False)))
    lines = (
        alt.Chart(shown)
        .mark_line()
        .encode(
            x=x,
            y=alt.Y(
                "interval_min:Q",
                title="Best interval [min]",
                scale=alt.Scale(type="log"),
                axis=alt.Axis(format="~g", tickCount=5, labelOverlap=True),
            ),
            color=colour,
            tooltip=[
                alt.Tooltip("job:N", title="Job"),
                alt.Tooltip("write_gb_s:Q", title="Bandwidth [GB/s]", format=",.3~g"),
                alt.Tooltip("write_min:Q", title="Write [min]", format=",.3~g"),
                alt.Tooltip("interval_min:Q", title="Best interval [min]", format=",.3~g"),
                alt.Tooltip("ettr:Q", title="ETTR", format=".1%"),
            ],
        )
    )
    crossings = shown.drop_duplicates("job")
    crossings = crossings[crossings["crossing_gb_s"].between(low, high)]
    dots = (
        alt.Chart(crossings)
        .mark_point(size=130, opacity=1)
        .encode(
            x=alt.X("crossing_gb_s:Q"),
            y=alt.Y("stall_interval_min:Q"),
            color=colour,
            tooltip=[
                alt.Tooltip("job:N", title="Job"),
                alt.Tooltip("crossing_gb_s:Q", title="The write sets the interval below [GB/s]", format=",.3~g"),
                alt.Tooltip("stall_interval_min:Q", title="Best interval above [min]", format=",.3~g"),
            ],
        )
    )
    fastest_first = published.sort_values("write_gb_s", ascending=False)
    # each rule begins beside its name, so that none crosses the name of a faster store
    known = alt.Chart(fastest_first.assign(place=[8 + 16 * i for i in range(len(published))]))
    rules = known.mark_rule(strokeDash=[3, 3]).encode(
        x=alt.X("write_gb_s:Q"),
        y=alt.Y("place:Q", scale=None),
        y2=alt.value("height"),
        tooltip=[
            alt.Tooltip("store:N", title="Published"),
            alt.Tooltip("write_gb_s:Q", title="Bandwidth [GB/s]", format=",.0f"),
            alt.Tooltip("write_s:Q", title="Write [s]", format=".2f"),
        ],
    )
    names = known.mark_text(align="right", dx=-4).encode(
        x=alt.X("write_gb_s:Q"), y=alt.Y("place:Q", scale=None), text=alt.Text("store:N")
    )
    told = "; ".join(f"{row.job} {row.crossing_gb_s:,.3g} GB/s" for row in shown.drop_duplicates("job").itertuples())
    drawn = rules + names + touchable(lines)
    return finish(
        drawn + dots if len(crossings) else drawn,  # no layer without rows
        title=title,
        subtitle=subtitle,
        description=(
            f"Curves of the best interval over the bandwidth of the store, both logarithmic: falling where the write "
            f"sets it, level where the stall does. They bend at: {told}."
        ),
    )
