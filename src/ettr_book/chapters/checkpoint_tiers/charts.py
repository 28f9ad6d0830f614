"""Charts of checkpoint tiers faster than the store."""

from __future__ import annotations

from typing import Any

import altair as alt
import pandas as pd

from ettr.plots import builders
from ettr.plots.columns import tooltips
from ettr.plots.encodings import with_marks
from ettr.plots.theme import (
    BLUE,
    ORANGE,
    PART_COLOURS,
    NoChart,
    finish,
    touchable,
)

_SIZES = (BLUE, ORANGE)


def ladder(frame: pd.DataFrame, title: str, subtitle: str = "") -> Any:
    """Draw the lost shares of wall-clock time, one stacked bar per set of tiers.

    Parameters
    ----------
    frame : DataFrame
        As from ``tables.ladder``: ``rung``, ``part``, ``share``, ``ettr``, ``interval_min`` [min], ``from_store``.
    title, subtitle : str
        Finding of the chart, and the scenario.
    """
    places = {part: i for i, part in enumerate(PART_COLOURS)}
    lost = frame[frame["part"] != "productive"].assign(place=frame["part"].map(places))
    totals = frame.drop_duplicates("rung")
    totals = totals.assign(lost=1 - totals["ettr"], label=[f"{value:.1%}" for value in totals["ettr"]])
    y = alt.Y("rung:N", sort=totals["rung"].tolist(), title=None, axis=alt.Axis(labelExpr=builders.AT_COMMAS))
    longest = max(float(totals["lost"].max()), 1e-6)
    bars = (
        alt.Chart(lost)
        .mark_bar()
        .encode(
            y=y,
            x=builders.along("share", domain=[0, 1.3 * longest], nice=False).stack("zero"),  # noqa: PD013  (of Altair)
            color=builders.colours("part", builders.present(PART_COLOURS, lost["part"]), "Part"),
            order=alt.Order("place:Q"),
            tooltip=tooltips(
                "rung", "part", "share", "ettr", "interval_min", "from_store", interval_min="Store's interval"
            ),
        )
    )
    labels = alt.Chart(totals).mark_text(align="left", dx=4).encode(y=y, x=alt.X("lost:Q"), text=alt.Text("label:N"))
    ettrs = "; ".join(f"{row.rung} {row.ettr:.1%}" for row in totals.itertuples())
    return finish(
        bars + labels,
        title=title,
        subtitle=with_marks(subtitle, "labels: ETTR"),
        description=f"Stacked bars of the lost shares of wall-clock time, one per set of tiers. ETTR: {ettrs}.",
        height=44 * len(totals) + 10,
    )


def by_bandwidth(frame: pd.DataFrame, published: pd.DataFrame, title: str, subtitle: str = "") -> Any:
    """Draw the best interval over the store's bandwidth, with the bandwidth below which the write sets it.

    Parameters
    ----------
    frame : DataFrame
        As from ``tables.by_bandwidth``.
    published : DataFrame
        As from ``tables.published_stores``.
    title, subtitle : str
        Finding of the chart, and the scenario.
    """
    curves = frame.assign(job=[f"{size:,.0f} GPUs" for size in frame["n_gpus"]])
    jobs = list(dict.fromkeys(curves["job"]))
    low, high = float(curves["write_gb_s"].min()), float(curves["write_gb_s"].max())
    x = builders.across("write_gb_s", ticks=5, domain=[low, high])
    y = alt.Y(
        "interval_min:Q",
        title="Best interval [min]",
        scale=alt.Scale(type="log"),
        axis=alt.Axis(format="~g", tickCount=5, labelOverlap=True),
    )
    colour = builders.strokes("job", dict(zip(jobs, _SIZES, strict=False)), "Job")
    tips = tooltips("job", "write_gb_s", "write_min", "interval_min", "ettr", interval_min="Best interval")
    lines = touchable(alt.Chart(curves).mark_line().encode(x=x, y=y, color=colour, tooltip=tips))
    crossings = curves.drop_duplicates("job")
    crossings = crossings[crossings["crossing_gb_s"].between(low, high)]
    dots = (
        alt.Chart(crossings)
        .mark_point(size=130, opacity=1)
        .encode(
            x=alt.X("crossing_gb_s:Q"),
            y=alt.Y("stall_interval_min:Q"),
            color=colour,
            tooltip=tooltips("job", "crossing_gb_s", "stall_interval_min"),
        )
    )
    fastest_first = published.sort_values("write_gb_s", ascending=False)
    # each rule starts next to its name, so that none crosses the name of a faster store
    stores = alt.Chart(fastest_first.assign(place=[8 + 16 * i for i in range(len(published))]))
    rules = stores.mark_rule(strokeDash=[3, 3]).encode(
        x=alt.X("write_gb_s:Q"),
        y=alt.Y("place:Q", scale=None),
        y2=alt.value("height"),
        tooltip=tooltips("store", "write_gb_s", "write_s"),
    )
    names = stores.mark_text(align="right", dx=-4).encode(
        x=alt.X("write_gb_s:Q"), y=alt.Y("place:Q", scale=None), text=alt.Text("store:N")
    )
    bends = "; ".join(f"{row.job} {row.crossing_gb_s:,.3g} GB/s" for row in curves.drop_duplicates("job").itertuples())
    drawn = rules + names + lines
    return finish(
        drawn + dots if len(crossings) else drawn,  # no layer without rows
        title=title,
        subtitle=subtitle,
        description=(
            f"Curves of the best interval over the bandwidth of the store, both logarithmic: falling where the write "
            f"sets it, level where the stall does. They bend at: {bends}."
        ),
    )


def found_late(frame: pd.DataFrame, title: str, subtitle: str = "") -> Any:
    """Draw the ETTR lost to silent failures over their latency.

    Parameters
    ----------
    frame : DataFrame
        As from ``silent_tables.found_late``: ``latency_h`` [h], ``ettr``, ``lost_points``.
    title, subtitle : str
        Finding of the chart, and the scenario.
    """
    if frame.empty:
        return NoChart("to first order this run never ends.")
    across, up = builders.across("latency_h", ticks=5), builders.up("lost_points", domainMin=0)
    line = alt.Chart(frame).mark_line(color=BLUE)
    return finish(
        touchable(line.encode(x=across, y=up, tooltip=tooltips("latency_h", "lost_points", "ettr"))),
        title=title,
        subtitle=subtitle,
        description=f"A rising curve of the ETTR lost over the mean latency of silent failures, on a logarithmic axis. "
        f"At most, in points: {frame['lost_points'].max():.1f}.",
        height=260,
    )
