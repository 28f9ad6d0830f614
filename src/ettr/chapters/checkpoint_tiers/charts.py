"""Charts on what tiers below the store buy."""

from __future__ import annotations

from typing import Any

import altair as alt
import pandas as pd

from ettr.chapters.common.encodings import PERCENT, dash, line_colour
from ettr.chapters.common.theme import PART_COLOURS, finish, need, touchable

_CHOICES = {"as given": "#8d48b3", "first order": "#e46d09", "exact best": "#1f95ec"}
_SHAPES = ["square", "diamond", "circle"]
_COPIES = ["#e46d09", "#1f95ec"]
_PLACED = {"group": [1, 0], "ring": [6, 3], "published bound": [1, 3]}


def ladder(frame: pd.DataFrame, title: str, subtitle: str = "") -> Any:
    """Lost shares of the wall clock, a stacked bar a set of tiers.

    Parameters
    ----------
    frame : DataFrame
        As from ``tables.ladder``: ``rung``, ``order``, ``part``, ``share``, ``ettr``, ``interval_min``
        [min], ``from_store``.
    title, subtitle : str
        The statement, and the scenario.
    """
    need(frame, "rung", "order", "part", "share", "ettr", "interval_min", "from_store")
    lost = frame[frame["part"] != "productive"].assign(
        place=lambda rows: rows["part"].map({part: i for i, part in enumerate(PART_COLOURS)})
    )
    totals = frame.drop_duplicates("rung")
    totals = totals.assign(lost=1 - totals["ettr"], label=[f"ETTR {value:.1%}" for value in totals["ettr"]])
    present = [part for part in PART_COLOURS if part in set(lost["part"])]
    y = alt.Y("rung:N", sort=totals.sort_values("order")["rung"].tolist(), title=None)
    longest = max(float(totals["lost"].max()), 1e-6)
    bars = (
        alt.Chart(lost)
        .mark_bar()
        .encode(
            y=y,
            x=alt.X(
                "share:Q",
                title="Lost share of the wall clock [%]",
                axis=PERCENT,
                stack="zero",
                scale=alt.Scale(domain=[0, 1.3 * longest], nice=False),
            ),
            color=alt.Color(
                "part:N",
                title="Part",
                scale=alt.Scale(domain=present, range=[PART_COLOURS[part] for part in present]),
            ),
            order=alt.Order("place:Q"),
            tooltip=[
                alt.Tooltip("rung:N", title="Tiers"),
                alt.Tooltip("part:N", title="Part"),
                alt.Tooltip("share:Q", title="Share", format=".2%"),
                alt.Tooltip("ettr:Q", title="ETTR", format=".2%"),
                alt.Tooltip("interval_min:Q", title="Store's interval [min]", format=",.3~g"),
                alt.Tooltip("from_store:Q", title="Failures that need the store", format=".2~%"),
            ],
        )
    )
    labels = alt.Chart(totals).mark_text(align="left", dx=4).encode(y=y, x=alt.X("lost:Q"), text=alt.Text("label:N"))
    ettrs = "; ".join(f"{row.rung} {row.ettr:.1%}" for row in totals.itertuples())
    return finish(
        bars + labels,
        title=title,
        subtitle=subtitle,
        description=f"Stacked bars of the lost shares of the wall clock, a bar a set of tiers. ETTR: {ettrs}.",
        height=44 * len(totals) + 10,
    )


def placements(frame: pd.DataFrame, n_nodes: int, title: str, subtitle: str = "") -> Any:
    """Survival of peer copies over the nodes lost at once.

    Parameters
    ----------
    frame : DataFrame
        As from ``tables.placements``: ``n_lost``, ``copies``, ``placement``, ``survival``.
    n_nodes : int
        Nodes of the job. [count]
    title, subtitle : str
        The statement, and the scenario.
    """
    need(frame, "n_lost", "copies", "placement", "survival")
    curves = frame.assign(
        held=[f"{copies} copies" if copies > 1 else "1 copy" for copies in frame["copies"]],
        placement=frame["placement"].replace("bound", "published bound"),
    )
    placed = {name: dashes for name, dashes in _PLACED.items() if name in set(curves["placement"])}
    held = list(dict.fromkeys(curves["held"]))
    lines = (
        alt.Chart(curves)
        .mark_line()
        .encode(
            x=alt.X(
                "n_lost:Q",
                title="Nodes lost at once",
                scale=alt.Scale(type="log", nice=False),
                axis=alt.Axis(format=",.0f", tickCount=6, labelOverlap=True),
            ),
            y=alt.Y("survival:Q", title="Losses that leave a copy [%]", axis=PERCENT, scale=alt.Scale(domain=[0, 1])),
            color=line_colour("held", "Copies", dict(zip(held, _COPIES, strict=False))),
            strokeDash=dash("placement", "Placement", placed).legend(symbolType="stroke", symbolSize=300),
            tooltip=[
                alt.Tooltip("held:N", title="Copies"),
                alt.Tooltip("placement:N", title="Placement"),
                alt.Tooltip("n_lost:Q", title="Nodes lost at once", format=",.0f"),
                alt.Tooltip("survival:Q", title="Leave a copy", format=".2%"),
            ],
        )
    )
    most = int(frame["n_lost"].max())
    at_most = frame[frame["n_lost"] == most]
    shares = ", ".join(
        f"{row.copies} in a {row.placement} {row.survival:.0%}"
        for row in at_most.itertuples()
        if row.placement != "bound"
    )
    return finish(
        touchable(lines),
        title=title,
        subtitle=subtitle,
        description=(
            f"Falling curves of the share of losses that leave a copy of everything, over the nodes lost at once of "
            f"{n_nodes:,}. With {most:,} lost: {shares}."
        ),
    )


def intervals(frame: pd.DataFrame, title: str, subtitle: str = "") -> Any:
    """Interval of each tier, by how it was chosen.

    Parameters
    ----------
    frame : DataFrame
        As from ``tables.interval_choices``: ``tier``, ``choice``, ``interval_s`` [s], ``ettr``.
    title, subtitle : str
        The statement, and the scenario.
    """
    need(frame, "tier", "choice", "interval_s", "ettr")
    choices = frame.assign(interval_min=frame["interval_s"] / 60, ettr=frame["ettr"].astype(object))
    choices["reached"] = ["no answer" if pd.isna(value) else f"{value:.2%}" for value in frame["ettr"]]
    choices = choices.drop(columns="ettr")
    tiers = list(dict.fromkeys(choices["tier"]))
    y = alt.Y("tier:N", sort=tiers, title=None, axis=alt.Axis(grid=True, tickBand="extent"))
    x = alt.X(
        "interval_min:Q",
        title="Interval [min]",
        scale=alt.Scale(type="log", nice=False, padding=16),
        axis=alt.Axis(format="~g", tickCount=6, labelOverlap=True),
    )
    names = list(_CHOICES)
    dots = (
        alt.Chart(choices)
        .mark_point(size=110, opacity=1)
        .encode(
            y=y,
            x=x,
            yOffset=alt.YOffset("choice:N", sort=names),
            color=alt.Color("choice:N", title="Interval", scale=alt.Scale(domain=names, range=list(_CHOICES.values()))),
            shape=alt.Shape("choice:N", title="Interval", scale=alt.Scale(domain=names, range=_SHAPES)),
            tooltip=[
                alt.Tooltip("tier:N", title="Tier"),
                alt.Tooltip("choice:N", title="Interval"),
                alt.Tooltip("interval_min:Q", title="Interval [min]", format=",.3~g"),
                alt.Tooltip("reached:N", title="ETTR with all of this choice"),
            ],
        )
    )
    best = choices[choices["choice"] == "exact best"]
    minutes = ", ".join(f"{row.tier} {row.interval_min:,.3g}" for row in best.itertuples())
    return finish(
        dots,
        title=title,
        subtitle=subtitle,
        description=f"Dots of the interval of each tier by three choices, on a logarithmic axis. Best, in minutes: "
        f"{minutes}.",
        height=58 * len(tiers) + 20,
    )


_SIZES = ["#1f95ec", "#e46d09"]


def by_bandwidth(frame: pd.DataFrame, published: pd.DataFrame, title: str, subtitle: str = "") -> Any:
    """The best interval over the bandwidth of the store, with the bandwidth below which the write sets it.

    Parameters
    ----------
    frame : DataFrame
        As from ``tables.by_bandwidth``.
    published : DataFrame
        As from ``tables.published_stores``.
    title, subtitle : str
        The statement, and the scenario.
    """
    need(frame, "write_gb_s", "n_gpus", "write_min", "interval_min", "crossing_gb_s", "ettr", "stall_interval_min")
    need(published, "store", "write_gb_s", "write_s")
    curves = frame.assign(job=[f"{size:,.0f} GPUs" for size in frame["n_gpus"]])
    jobs = list(dict.fromkeys(curves["job"]))
    low, high = float(curves["write_gb_s"].min()), float(curves["write_gb_s"].max())
    x = alt.X(
        "write_gb_s:Q",
        title="Bandwidth of the store [GB/s]",
        scale=alt.Scale(type="log", nice=False, domain=[low, high]),
        axis=alt.Axis(format=",~g", tickCount=5, labelOverlap=True),
    )
    colour = line_colour("job", "Job", dict(zip(jobs, _SIZES, strict=False)))
    lines = (
        alt.Chart(curves)
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
    crossings = curves.drop_duplicates("job")
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
    bends = "; ".join(f"{row.job} {row.crossing_gb_s:,.3g} GB/s" for row in curves.drop_duplicates("job").itertuples())
    drawn = rules + names + touchable(lines)
    return finish(
        drawn + dots if len(crossings) else drawn,  # no layer without rows
        title=title,
        subtitle=subtitle,
        description=(
            f"Curves of the best interval over the bandwidth of the store, both logarithmic: falling where the write "
            f"sets it, level where the stall does. They bend at: {bends}."
        ),
    )
