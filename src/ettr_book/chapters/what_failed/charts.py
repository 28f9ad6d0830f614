"""Charts on what fails, and how often."""

from __future__ import annotations

from typing import Any

import altair as alt
import pandas as pd

from ettr.plots.theme import CATEGORY_COLOURS, finish, need
from ettr_book.chapters.common import builders
from ettr_book.chapters.common.columns import tooltips
from ettr_book.chapters.common.table import CaptionedTable, named


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
        color=builders.colours("category", CATEGORY_COLOURS, "Category"),
        tooltip=tooltips("component", "category", "n_events", "low", "high", n_events="Interruptions"),
    )
    whiskers = base.mark_rule(strokeWidth=1.5).encode(x=alt.X("low:Q"), x2=alt.X2("high:Q"))
    top = ", ".join(f"{row.component} {row.n_events}" for row in ranked.head(3).itertuples())
    return finish(
        (bars + whiskers).add_params(pick),
        title=title,
        subtitle=subtitle
        or "Lines: 95% confidence interval of the mean behind the count. Select a category in the legend.",
        description=f"Bar chart of interruptions by {len(frame)} components, coloured by category. Longest: {top}.",
        height=24 * len(frame) + 20,
        sources=["dubey2024"],
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
    y = alt.Y("category:N", sort=order, title="Never fails")
    bars = (
        alt.Chart(frame)
        .mark_bar()
        .encode(
            y=y,
            x=alt.X("mtbi_h:Q", title="Mean time between interruptions [h]", scale=alt.Scale(zero=True)),
            color=alt.Color("category:N", scale=scale, legend=None),
            tooltip=tooltips("category", "mtbi_h", "low", "high", category="Never fails"),
        )
    )
    times = ", ".join(f"without {row.category} {row.mtbi_h:.1f} h" for row in frame.itertuples())
    return finish(
        bars + builders.spans(frame, y),
        title=title,
        subtitle=subtitle or "Lines: 95% confidence interval.",
        description=f"Bar chart of the mean time between interruptions if one category never failed: {times}.",
        height=34 * len(frame) + 20,
        sources=["dubey2024"],
    )


def elsewhere(causes: pd.DataFrame) -> CaptionedTable:
    """What other operators put their failures down to.

    Parameters
    ----------
    causes : DataFrame
        The table ``failure_causes``: ``title``, ``cause``, ``share_pct``, ``status``, ``source``.
    """
    ranked = causes.sort_values(["title", "share_pct"], ascending=[True, False])
    heads = {"title": "Cluster", "cause": "Cause", "share_pct": "Share [%]", "status": "Status", "source": "Source"}
    return named(ranked, heads, "Causes of failures of two other clusters")
