"""Charts on what fails, and on what was published about it."""

from __future__ import annotations

from typing import Any

import altair as alt
import pandas as pd

from ettr.charts.theme import CATEGORY_COLOURS, finish, need

_CATEGORY = alt.Color(
    "category:N",
    title="Category",
    scale=alt.Scale(domain=list(CATEGORY_COLOURS), range=list(CATEGORY_COLOURS.values())),
)
_VERDICTS = {
    "agrees": "#289561",
    "disagrees": "#ad470c",
    "wrong framing": "#d98200",
    "unsupported": "#8449bc",
    "incomplete": "#1f95ec",
    "imprecise": "#2f6d8f",
    "consistent": "#5f9e6e",
    "irrelevant": "#8a8d8c",
}


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
    told = ", ".join(f"without {row.category} {row.mtbi_h:.1f} h" for row in frame.itertuples())
    return finish(
        bars + whiskers,
        title=title,
        subtitle=subtitle or "Lines: exact 95% interval.",
        description=f"Bar chart of the mean time between interruptions if one category never failed: {told}.",
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


def shares(frame: pd.DataFrame, title: str, subtitle: str = "") -> Any:
    """Printed shares beside those that the counts imply.

    Parameters
    ----------
    frame : DataFrame
        ``component``, ``category``, ``n_events``, ``printed_pct``, ``implied_pct``, ``agrees``.
    title, subtitle
        As in :func:`interruptions`.
    """
    need(frame, "component", "category", "n_events", "printed_pct", "implied_pct", "agrees")
    tidy = frame.melt(
        id_vars=["component", "n_events", "agrees"],
        value_vars=["printed_pct", "implied_pct"],
        var_name="kind",
        value_name="share_pct",
    ).assign(kind=lambda rows: rows["kind"].map({"printed_pct": "printed", "implied_pct": "implied by the count"}))
    base = alt.Chart(tidy).encode(y=alt.Y("component:N", sort=frame["component"].tolist(), title=None))
    links = base.mark_line(strokeWidth=2).encode(
        x=alt.X("share_pct:Q", title="Share of unexpected interruptions [%]"), detail=alt.Detail("component:N")
    )
    dots = base.mark_point(size=80).encode(
        x=alt.X("share_pct:Q"),
        color=alt.Color("kind:N", title=None, scale=alt.Scale(range=["#289561", "#ad470c"])),
        shape=alt.Shape("kind:N", title=None),
        tooltip=[
            alt.Tooltip("component:N", title="Component"),
            alt.Tooltip("n_events:Q", title="Count"),
            alt.Tooltip("kind:N", title="Share"),
            alt.Tooltip("share_pct:Q", title="[%]", format=".2f"),
        ],
    )
    odd = frame.loc[~frame["agrees"], "component"].tolist()
    return finish(
        links + dots,
        title=title,
        subtitle=subtitle,
        description=f"Dots of printed and implied share for {len(frame)} components; they part visibly for "
        f"{', '.join(odd)}.",
        height=24 * len(frame) + 20,
    )


def verdicts(frame: pd.DataFrame, title: str, subtitle: str = "") -> Any:
    """Verdicts on published statements, by document.

    Parameters
    ----------
    frame : DataFrame
        One row a statement: ``document``, ``claim``, ``verdict``, ``comment``.
    title, subtitle
        As in :func:`interruptions`.
    """
    need(frame, "document", "claim", "verdict", "comment")
    order = [verdict for verdict in _VERDICTS if verdict in set(frame["verdict"])]
    ranked = frame.assign(rank=frame["verdict"].map({verdict: i for i, verdict in enumerate(order)}))
    ranked = ranked.sort_values(["document", "rank"]).assign(place=lambda rows: rows.groupby("document").cumcount() + 1)
    pick = alt.selection_point(fields=["verdict"], bind="legend")
    chart = (
        alt.Chart(ranked)
        .mark_square(size=190)
        .encode(
            x=alt.X("place:Q", title="Statements [count]", axis=alt.Axis(tickMinStep=1, grid=False)),
            y=alt.Y("document:N", title=None, sort=alt.EncodingSortField("place", "max", "descending")),
            color=alt.Color(
                "verdict:N",
                title="Verdict",
                scale=alt.Scale(domain=order, range=[_VERDICTS[verdict] for verdict in order]),
            ),
            opacity=alt.condition(pick, alt.value(1.0), alt.value(0.15)),
            tooltip=[
                alt.Tooltip("claim:N", title="Statement"),
                alt.Tooltip("verdict:N", title="Verdict"),
                alt.Tooltip("comment:N", title="Why"),
            ],
        )
        .add_params(pick)
    )
    told = frame.groupby("document")["verdict"].apply(
        lambda column: f"{(column == 'disagrees').sum()} of {len(column)}"
    )
    return finish(
        chart,
        title=title,
        subtitle=subtitle or "One square a statement; point at it to read it. Select a verdict in the legend.",
        description="Squares for statements by document, coloured by verdict. Disagreeing: "
        + "; ".join(f"{name} {text}" for name, text in told.items()),
        height=44 * frame["document"].nunique() + 20,
    )


def readings(frame: pd.DataFrame, title: str, subtitle: str = "") -> Any:
    """GPU and hardware shares under the two readings of the odd row.

    Parameters
    ----------
    frame : DataFrame
        ``reading``, ``assumption``, ``gpu_share_pct``, ``hardware_share_pct``.
    title, subtitle
        As in :func:`interruptions`.
    """
    need(frame, "reading", "assumption", "gpu_share_pct", "hardware_share_pct")
    tidy = frame.melt(
        id_vars=["reading", "assumption"],
        value_vars=["gpu_share_pct", "hardware_share_pct"],
        var_name="group",
        value_name="share_pct",
    )
    tidy["group"] = tidy["group"].map({"gpu_share_pct": "GPU", "hardware_share_pct": "GPU, host, maintenance"})
    tidy["reading"] = tidy["reading"].map(
        dict(zip(frame["reading"], ["Count is right", "Printed share is right"], strict=True))
    )
    bars = (
        alt.Chart(tidy)
        .mark_bar()
        .encode(
            x=alt.X("share_pct:Q", title="Share of unexpected interruptions [%]", scale=alt.Scale(domain=[0, 100])),
            y=alt.Y("group:N", title=None, axis=alt.Axis(labelLimit=200)),
            yOffset=alt.YOffset("reading:N"),
            color=alt.Color("reading:N", title=None, scale=alt.Scale(range=["#289561", "#ad470c"])),
            tooltip=[
                alt.Tooltip("group:N", title="Causes"),
                alt.Tooltip("reading:N", title="Reading"),
                alt.Tooltip("assumption:N", title="Assumes that"),
                alt.Tooltip("share_pct:Q", title="[%]", format=".1f"),
            ],
        )
    )
    told = "; ".join(f"{row.group}, {row.reading}: {row.share_pct:.1f}%" for row in tidy.itertuples())
    return finish(bars, title=title, subtitle=subtitle, description=f"Bars of shares: {told}.", height=170)
