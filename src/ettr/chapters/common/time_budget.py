"""Charts on where the hours go, over interval and size."""

from __future__ import annotations

from typing import Any

import altair as alt
import pandas as pd

from ettr.chapters.common.encodings import PERCENT, but_size, logarithmic
from ettr.chapters.common.theme import PART_COLOURS, finish, need

_PARTS = list(PART_COLOURS)


def _part_colour(frame: pd.DataFrame) -> alt.Color:
    present = [part for part in _PARTS if part in set(frame["part"])]
    return alt.Color(
        "part:N",
        title="Part",
        scale=alt.Scale(domain=present, range=[PART_COLOURS[part] for part in present]),
    )


def time_budget(frame: pd.DataFrame, title: str, subtitle: str = "") -> Any:
    """Where the wall clock goes, as one bar split into its parts and one bar of the lost ones.

    Parameters
    ----------
    frame : DataFrame
        As from :meth:`ettr.TimeBudget.to_frame`: ``part``, ``hours`` [h], ``share``.
    title : str
        The statement that the chart shows.
    subtitle : str
        The scenario.
    """
    need(frame, "part", "hours", "share")
    lost = frame[(frame["part"] != "productive") & (frame["share"] > 0)]
    order = lost.sort_values("share", ascending=False)["part"].tolist()
    base = alt.Chart(lost).encode(y=alt.Y("part:N", sort=order, title=None))
    bars = base.mark_bar().encode(
        x=alt.X(
            "share:Q",
            title="Share of the wall clock [%]",
            axis=alt.Axis(format="%"),
            scale=alt.Scale(zero=True),
        ),
        color=alt.Color(
            "part:N",
            legend=None,
            scale=alt.Scale(domain=order, range=[PART_COLOURS[part] for part in order]),
        ),
        tooltip=[
            alt.Tooltip("part:N", title="Part"),
            alt.Tooltip("hours:Q", title="Hours", format=",.1f"),
            alt.Tooltip("share:Q", title="Share", format=".2%"),
        ],
    )
    labels = base.mark_text(align="left", dx=4).encode(x=alt.X("share:Q"), text=alt.Text("share:Q", format=".1%"))
    told = ", ".join(f"{row.part} {row.share:.1%}" for row in frame.itertuples() if row.share > 0)
    return finish(
        bars + labels,
        title=title,
        subtitle=subtitle,
        description=f"Bars of the lost shares of the wall clock. All parts: {told}.",
        height=34 * len(lost) + 20,
    )


def parts(frame: pd.DataFrame, axis: str, title: str, subtitle: str = "") -> Any:
    """Lost shares of the wall clock, stacked, over an interval or a size.

    Parameters
    ----------
    frame : DataFrame
        ``part``, ``share`` and the column ``axis``.
    axis : str
        ``"interval_min"`` [min] or ``"n_gpus"`` [GPUs].
    title, subtitle : str
        The statement, and the scenario.
    """
    need(frame, axis, "part", "share")
    lost = frame[frame["part"] != "productive"].assign(
        order=lambda rows: rows["part"].map({part: i for i, part in enumerate(_PARTS)})
    )
    name = {"interval_min": "Checkpoint interval [min]", "n_gpus": "Job size [GPUs]"}[axis]
    chart = (
        alt.Chart(lost)
        .mark_area(opacity=0.85)
        .encode(
            x=logarithmic(axis, name),
            y=alt.Y(
                "share:Q",
                title="Lost share of the wall clock [%]",
                axis=PERCENT,
                stack="zero",
            ),
            color=_part_colour(lost),
            order=alt.Order("order:Q"),
            tooltip=[
                alt.Tooltip("part:N", title="Part"),
                alt.Tooltip(f"{axis}:Q", title=name, format=".3~s" if axis == "n_gpus" else ".3~g"),
                alt.Tooltip("share:Q", title="Share", format=".2%"),
            ],
        )
    )
    ends = lost[axis].min(), lost[axis].max()
    totals = [lost.loc[lost[axis] == end, "share"].sum() for end in ends]
    return finish(
        chart,
        title=title,
        subtitle=but_size(subtitle) if axis == "n_gpus" else subtitle,
        description=(
            f"Stacked areas of lost shares over {name}: {', '.join(lost['part'].unique())}. In all {totals[0]:.0%} "
            f"are lost at {ends[0]:,.3g} and {totals[1]:.0%} at {ends[1]:,.3g}."
        ),
    )
