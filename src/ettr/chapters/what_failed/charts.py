"""Charts on what fails, and how often."""

from __future__ import annotations

from typing import Any

import altair as alt
import pandas as pd

from ettr.chapters.common.theme import CATEGORY_COLOURS, finish, need

_CATEGORY = alt.Color(
    "category:N",
    title="Category",
    scale=alt.Scale(domain=list(CATEGORY_COLOURS), range=list(CATEGORY_COLOURS.values())),
)


def interruptions(frame: pd.DataFrame, title: str, subtitle: str = "") -> Any:
    """Interruptions by component, with exact intervals.

    Parameters
    ----------
    frame : DataFrame
        ``component``, ``category``, ``n_events``, ``low``, ``high`` (ends of the interval of the count).
    title : str
        The statement that the chart shows.
    subtitle : str
        Whose counts they are.
    """
    need(frame, "component", "category", "n_events", "low", "high")
    pick = alt.selection_point(fields=["category"], bind="legend")
    ranked = frame.sort_values("n_events", ascending=False)
    base = alt.Chart(frame).encode(
        y=alt.Y("component:N", sort=ranked["component"].tolist(), title=None),
        opacity=alt.condition(pick, alt.value(1.0), alt.value(0.2)),
    )
    bars = base.mark_bar().encode(
        x=alt.X("n_events:Q", title="Interruptions [count]", scale=alt.Scale(zero=True)),
        color=_CATEGORY,
        tooltip=[
            alt.Tooltip("component:N", title="Component"),
            alt.Tooltip("category:N", title="Category"),
            alt.Tooltip("n_events:Q", title="Interruptions"),
            alt.Tooltip("low:Q", title="95% from", format=".1f"),
            alt.Tooltip("high:Q", title="to", format=".1f"),
        ],
    )
    whiskers = base.mark_rule(strokeWidth=1.5).encode(x=alt.X("low:Q"), x2=alt.X2("high:Q"))
    top = ", ".join(f"{row.component} {row.n_events}" for row in ranked.head(3).itertuples())
    return finish(
        (bars + whiskers).add_params(pick),
        title=title,
        subtitle=subtitle or "Lines: exact 95% interval of the count. Select a category in the legend.",
        description=f"Bar chart of interruptions by {len(frame)} components, coloured by category. Longest: {top}.",
        height=24 * len(frame) + 20,
    )


def without_category(frame: pd.DataFrame, title: str, subtitle: str = "") -> Any:
    """Mean time between interruptions if one category never failed.

    Parameters
    ----------
    frame : DataFrame
        ``category`` (with the row ``nothing``), ``mtbi_h``, ``low``, ``high``. [h]
    title, subtitle
        As in :func:`interruptions`.
    """
    need(frame, "category", "mtbi_h", "low", "high")
    order = frame.sort_values("mtbi_h")["category"].tolist()
    scale = alt.Scale(domain=["nothing", *CATEGORY_COLOURS], range=["#7b7f80", *CATEGORY_COLOURS.values()])
    base = alt.Chart(frame).encode(y=alt.Y("category:N", sort=order, title="Never fails"))
    bars = base.mark_bar().encode(
        x=alt.X("mtbi_h:Q", title="Mean time between interruptions [h]", scale=alt.Scale(zero=True)),
        color=alt.Color("category:N", scale=scale, legend=None),
        tooltip=[
            alt.Tooltip("category:N", title="Never fails"),
            alt.Tooltip("mtbi_h:Q", title="Mean time between interruptions [h]", format=".2f"),
            alt.Tooltip("low:Q", title="95% from", format=".2f"),
            alt.Tooltip("high:Q", title="to", format=".2f"),
        ],
    )
    whiskers = base.mark_rule(strokeWidth=1.5).encode(x=alt.X("low:Q"), x2=alt.X2("high:Q"))
    times = ", ".join(f"without {row.category} {row.mtbi_h:.1f} h" for row in frame.itertuples())
    return finish(
        bars + whiskers,
        title=title,
        subtitle=subtitle or "Lines: exact 95% interval.",
        description=f"Bar chart of the mean time between interruptions if one category never failed: {times}.",
        height=34 * len(frame) + 20,
    )


def rates(frame: pd.DataFrame, title: str, subtitle: str = "") -> Any:
    """Published failure rates.

    Parameters
    ----------
    frame : DataFrame
        ``title``, ``rate``, ``low``, ``high`` [1 / (1000 node-days)], ``scope``, ``status``, ``source``.
    title, subtitle
        As in :func:`interruptions`.
    """
    need(frame, "title", "rate", "low", "high", "scope", "status", "source")
    order = frame.sort_values("rate", ascending=False)["title"].tolist()
    base = alt.Chart(frame).encode(y=alt.Y("title:N", sort=order, title=None, axis=alt.Axis(labelLimit=250)))
    axis = alt.X("rate:Q", title="Failures per 1000 node-days", scale=alt.Scale(type="log", nice=False, padding=12))
    dots = base.mark_point(size=90).encode(
        x=axis,
        shape=alt.Shape("status:N", title="Status"),
        color=alt.Color(
            "status:N", title="Status", scale=alt.Scale(range=["#ad470c", "#1f95ec", "#289561", "#8449bc"])
        ),
        tooltip=[
            alt.Tooltip("title:N", title="Cluster"),
            alt.Tooltip("rate:Q", title="Failures per 1000 node-days", format=".2f"),
            alt.Tooltip("low:Q", title="from", format=".2f"),
            alt.Tooltip("high:Q", title="to", format=".2f"),
            alt.Tooltip("scope:N", title="Counted"),
            alt.Tooltip("status:N", title="Status"),
            alt.Tooltip("source:N", title="Source"),
        ],
    )
    whiskers = base.mark_rule(strokeWidth=1.5).encode(x=alt.X("low:Q"), x2=alt.X2("high:Q"))
    return finish(
        whiskers + dots,
        title=title,
        subtitle=subtitle or "Lines: exact 95% interval where a count is published, else the range that is stated.",
        description=(
            f"Dot plot of {len(frame)} published failure rates per 1000 node-days on a logarithmic axis, from "
            f"{frame['rate'].min():.2f} to {frame['rate'].max():.1f}."
        ),
        height=24 * len(frame) + 20,
    )
