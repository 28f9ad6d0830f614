"""Charts on pools of spares: shares by size, cost, money and repair time."""

from __future__ import annotations

from typing import Any

import altair as alt
import pandas as pd

from ettr.chapters.common.encodings import dash, line_colour, logarithmic, rounded, with_marks
from ettr.chapters.common.table import Table
from ettr.chapters.common.theme import MODEL_COLOURS, PART_COLOURS, finish, layered, need, touchable

_WAYS = {
    "90%": ("#e46d09", [2, 3]),
    "99%": ("#1f95ec", [8, 2]),
    "99.9%": ("#8449bc", [6, 3]),
    "cheapest": ("#289561", [1, 0]),
}
_POOLS = {
    "nodes fail one by one": (MODEL_COLOURS["simulated"], "circle"),
    "racks fail too": ("#e46d09", "square"),
    "few repair crews": ("#297064", "triangle-up"),
}
_LINES = ["#e46d09", "#1f95ec", "#8449bc"]
_LINE_DASHES = [[2, 3], [8, 2], [6, 3]]
_CHEAPEST = "#289561"
_HELD, _WAITED = "spares held", "job waiting"
_MONEY = {_HELD: "#297064", _WAITED: PART_COLOURS["queue"]}
_SPARES = "Hot spares [nodes]"
_LEAST_EXTRA = 1e-4
"""Extra costs below this are drawn as this: the axis is logarithmic."""


def shares(frame: pd.DataFrame, own_nodes: float, published_share: float | None, title: str, subtitle: str = "") -> Any:
    """Spares over the nodes of the job by its size.

    Parameters
    ----------
    frame : DataFrame
        As from ``tables.shares_by_size``.
    own_nodes : float
        The scenario's size. [nodes]
    published_share : float or None
        A share to draw a line at.
    title, subtitle : str
        The statement, and the scenario.
    """
    need(frame, "way", "n_nodes", "n_spares", "share", "level")
    there = [way for way in _WAYS if way in set(frame["way"])]
    some = frame[frame["share"] > 0]
    points = rounded(some if len(some) else frame.assign(share=_LEAST_EXTRA), 4)
    encoding = {
        "x": logarithmic("n_nodes", "Job size [nodes]"),
        "y": alt.Y(
            "share:Q",
            title="Spares over nodes of the job",
            scale=alt.Scale(type="log", nice=False),
            axis=alt.Axis(format=".2~p", tickCount=6),
        ),
        "color": line_colour("way", "Enough at a time", {way: _WAYS[way][0] for way in there}),
        "strokeDash": dash("way", "Enough at a time", {way: _WAYS[way][1] for way in there}),
        "tooltip": [
            alt.Tooltip("way:N", title="Pool"),
            alt.Tooltip("n_nodes:Q", title="Nodes of the job", format=",.0f"),
            alt.Tooltip("n_spares:Q", title="Spares", format=",.0f"),
            alt.Tooltip("share:Q", title="Share", format=".3~%"),
            alt.Tooltip("level:Q", title="Enough at a random moment", format=".3~%"),
        ],
    }
    layers = [touchable(alt.Chart(points).mark_line(strokeWidth=1.8).encode(**encoding))]
    own = alt.Chart(pd.DataFrame({"n_nodes": [float(own_nodes)], "name": ["this job"]}))
    layers.append(own.mark_rule(strokeDash=[3, 3]).encode(x=alt.X("n_nodes:Q")))
    layers.append(
        own.mark_text(align="right", dx=-5, baseline="top").encode(
            x=alt.X("n_nodes:Q"), y=alt.value(4), text=alt.Text("name:N")
        )
    )
    if published_share is not None:
        line = alt.Chart(pd.DataFrame({"share": [published_share], "name": ["published"]}))
        layers.append(line.mark_rule(color=MODEL_COLOURS["published"], strokeWidth=2).encode(y=alt.Y("share:Q")))
        layers.append(
            line.mark_text(align="right", dy=-10).encode(
                x=alt.value(alt.expr("width - 4")), y=alt.Y("share:Q"), text=alt.Text("name:N")
            )
        )
    last = frame.groupby("way", sort=False).last()["share"]
    at_end = "; ".join(f"{way} {share:.2%}" for way, share in last.items())
    published = f" A line marks {published_share:.0%}." if published_share is not None else ""
    return finish(
        layered(*layers),
        title=title,
        subtitle=with_marks(f"Rate and repair as in {subtitle}" if subtitle else "", "grey: the published share")
        if published_share is not None
        else subtitle,
        description=(
            f"Lines of spares over the nodes of the job by its size, both axes logarithmic, for service levels and the "
            f"cheapest pool, falling to the right; at {frame['n_nodes'].max():,.0f} nodes: {at_end}.{published}"
        ),
        height=320,
    )


def levels(cells: pd.DataFrame, caption: str) -> Table:
    """Pools of one job by service level.

    Parameters
    ----------
    cells : DataFrame
        As from ``words.level_cells``.
    caption : str
        What the table shows.
    """
    return Table(need(cells, "Enough", "Spares"), caption, 3)


def cost(closed: pd.DataFrame, simulated: pd.DataFrame, title: str, subtitle: str = "") -> Any:
    """Extra cost over the number of hot spares: the closed form, its band and flat range, and simulated pools.

    Parameters
    ----------
    closed : DataFrame
        As from ``tables.cost_by_pool``.
    simulated : DataFrame
        As from ``tables``.
    title, subtitle : str
        The statement, and the scenario.
    """
    need(closed, "n_spares", "extra", "extra_low", "extra_high", "waiting_share", "is_flat")
    need(simulated, "pool", "n_spares", "extra", "extra_low", "extra_high", "ettr", "waiting_h", "n_runs")
    columns = ["n_spares", "extra", "extra_low", "extra_high"]
    line = rounded(_drawable(closed, columns[1:])[[*columns, "waiting_share"]], 4)
    dots = _drawable(simulated, columns[1:])[["pool", *columns, "ettr", "waiting_h"]]
    there = [pool for pool in _POOLS if pool in set(simulated["pool"])]
    x = alt.X(
        "n_spares:Q",
        title=_SPARES,
        scale=alt.Scale(zero=False, padding=10),
        axis=alt.Axis(format=",d", tickMinStep=1, tickCount=7),
    )
    y = alt.Y(
        "extra:Q",
        title="Extra cost of a unit of work",
        scale=alt.Scale(type="log", nice=False),
        axis=alt.Axis(format=".2~p", tickCount=5),
    )
    flat = closed[closed["is_flat"]]
    ends = pd.DataFrame({"low": [flat["n_spares"].min() - 0.5], "high": [flat["n_spares"].max() + 0.5]})
    blue = MODEL_COLOURS["exact"]
    tips = [
        alt.Tooltip("n_spares:Q", title="Hot spares"),
        alt.Tooltip("extra:Q", title="Extra cost", format=".3~%"),
        alt.Tooltip("extra_low:Q", title="95%: from", format=".3~%"),
        alt.Tooltip("extra_high:Q", title="to", format=".3~%"),
    ]
    base = alt.Chart(line).encode(x=x)
    points = alt.Chart(rounded(dots, 5)).encode(x=x)
    colour = alt.Color(
        "pool:N", title="Simulated", scale=alt.Scale(domain=there, range=[_POOLS[name][0] for name in there])
    )
    shape = alt.Shape(
        "pool:N", title="Simulated", scale=alt.Scale(domain=there, range=[_POOLS[name][1] for name in there])
    )
    of_pool = [alt.Tooltip("pool:N", title="Simulated"), *tips, alt.Tooltip("ettr:Q", title="ETTR", format=".2%")]
    layers = [
        alt.Chart(ends).mark_rect(color=_CHEAPEST, opacity=0.15).encode(x=alt.X("low:Q", title=_SPARES), x2="high:Q"),
        base.mark_area(color=blue, opacity=0.22).encode(y=alt.Y("extra_low:Q"), y2=alt.Y2("extra_high:Q")),
        touchable(
            base.mark_line(color=blue).encode(
                y=y, tooltip=[*tips, alt.Tooltip("waiting_share:Q", title="Time waiting", format=".3~%")]
            )
        ),
        points.mark_rule(strokeWidth=2).encode(y=alt.Y("extra_low:Q"), y2=alt.Y2("extra_high:Q"), color=colour),
        points.mark_point(size=60, opacity=1).encode(
            y=y,
            color=colour,
            shape=shape,
            tooltip=[*of_pool, alt.Tooltip("waiting_h:Q", title="Waiting [h]", format=",.3~g")],
        ),
    ]
    best = closed.loc[closed["extra"].idxmin()]
    minima = "; ".join(
        f"{pool}: least at {rows.loc[rows['extra'].idxmin(), 'n_spares']:,.0f} spares, {rows['extra'].min():.2%}"
        for pool, rows in simulated.groupby("pool", sort=False)
    )
    return finish(
        layered(*layers),
        title=title,
        subtitle=with_marks(subtitle, "blue: closed form with 95% of the rate; green: as cheap as the best; bars: 95%"),
        description=(
            f"Extra cost of a unit of work on a logarithmic axis over the number of hot spares. The closed form falls "
            f"steeply to {best['extra']:.2%} at {best['n_spares']:,.0f} spares and rises slowly from there. "
            f"Simulated: {minima or 'none'}."
        ),
        height=360,
    )


def _drawable(frame: pd.DataFrame, columns: list[str]) -> pd.DataFrame:
    """A logarithmic axis has no place for zero."""
    return frame.assign(**{name: frame[name].clip(lower=_LEAST_EXTRA) for name in columns})


def money(frame: pd.DataFrame, title: str, subtitle: str = "") -> Any:
    """What is paid for spares that are held, and for a job that waits, by the number of hot spares.

    Parameters
    ----------
    frame : DataFrame
        One kind of pool of ``tables``.
    title, subtitle : str
        The statement, and the scenario.
    """
    need(frame, "n_spares", "held_usd", "waited_usd", "held_gpu_h", "waited_gpu_h")
    rows = [
        {"n_spares": row.n_spares, "paid for": name, "usd": usd / 1e3, "gpu_h": gpu_h, "order": order}
        for row in frame.itertuples()
        for order, (name, usd, gpu_h) in enumerate(
            [(_HELD, row.held_usd, row.held_gpu_h), (_WAITED, row.waited_usd, row.waited_gpu_h)]
        )
    ]
    chart = (
        alt.Chart(rounded(pd.DataFrame(rows), 4))
        .mark_bar()
        .encode(
            x=alt.X("n_spares:O", title=_SPARES, axis=alt.Axis(labelAngle=0)),
            y=alt.Y("usd:Q", title="Thousand USD a run", stack="zero", axis=alt.Axis(format=",.0f", tickCount=6)),
            color=alt.Color(
                "paid for:N", title=None, scale=alt.Scale(domain=list(_MONEY), range=list(_MONEY.values()))
            ),
            order=alt.Order("order:Q"),
            tooltip=[
                alt.Tooltip("n_spares:O", title="Hot spares"),
                alt.Tooltip("paid for:N", title="Paid for"),
                alt.Tooltip("usd:Q", title="Thousand USD", format=",.3~r"),
                alt.Tooltip("gpu_h:Q", title="GPU-hours", format=",.0f"),
            ],
        )
    )
    amounts = "; ".join(
        f"{row.n_spares:,.0f} spares {row.held_usd / 1e3:,.0f} and {row.waited_usd / 1e3:,.0f}"
        for row in frame.itertuples()
    )
    return finish(
        chart,
        title=title,
        subtitle=with_marks(subtitle, "simulated, means of a run"),
        description=f"Stacked bars of thousand USD for spares held and for the job waiting, by hot spares: {amounts}.",
        height=280,
    )


def repair(frame: pd.DataFrame, own_h: float, staged_h: float | None, title: str, subtitle: str = "") -> Any:
    """Extra cost over the repair time, for fixed pools and the cheapest.

    Parameters
    ----------
    frame : DataFrame
        As from ``tables.cost_by_repair``.
    own_h : float
        Repair time of this run. [h]
    staged_h : float or None
        A repair time to mark beside it. [h]
    title, subtitle : str
        The statement, and the scenario.
    """
    need(frame, "pool", "repair_h", "n_spares", "extra")
    fixed = [pool for pool in dict.fromkeys(frame["pool"]) if pool != "cheapest"]
    looks = {"cheapest": (_CHEAPEST, [1, 0])} | {
        pool: (_LINES[i % len(_LINES)], _LINE_DASHES[i % len(_LINES)]) for i, pool in enumerate(fixed)
    }
    top = max(1.0, float(frame.loc[frame["pool"] == "cheapest", "extra"].max()) * 1.1)
    curves = rounded(_drawable(frame, ["extra"]), 4)
    curves = curves[curves["extra"] <= top]
    line = (
        alt.Chart(curves)
        .mark_line()
        .encode(
            x=logarithmic("repair_h", "Mean repair time [h]"),
            y=alt.Y(
                "extra:Q",
                title="Extra cost of a unit of work",
                scale=alt.Scale(type="log", nice=False),
                axis=alt.Axis(format=".2~p", tickCount=6),
            ),
            color=line_colour("pool", "Pool", {pool: colour for pool, (colour, _) in looks.items()}),
            strokeDash=dash("pool", "Pool", {pool: kind for pool, (_, kind) in looks.items()}),
            tooltip=[
                alt.Tooltip("pool:N", title="Pool"),
                alt.Tooltip("repair_h:Q", title="Repair [h]", format=",.3~r"),
                alt.Tooltip("n_spares:Q", title="Spares", format=",.0f"),
                alt.Tooltip("extra:Q", title="Extra cost", format=".3~%"),
            ],
        )
    )
    marks = [("this run", own_h)] + ([("published", staged_h)] if staged_h is not None else [])
    places = pd.DataFrame(marks, columns=["name", "repair_h"]).assign(row=range(len(marks)))
    rules = alt.Chart(places).mark_rule(strokeDash=[3, 3]).encode(x=alt.X("repair_h:Q"))
    names = (
        alt.Chart(places)
        .mark_text(align="left", dx=5, baseline="bottom")
        .encode(x=alt.X("repair_h:Q"), y=alt.value(alt.expr("height - 6 - 16 * datum.row")), text=alt.Text("name:N"))
    )
    ends = frame[frame["pool"] == "cheapest"]
    return finish(
        layered(rules, touchable(line), names),
        title=title,
        subtitle=subtitle,
        description=(
            f"Lines of the extra cost of a unit of work over the mean repair time, both logarithmic. With the cheapest "
            f"pool at each, {ends['extra'].iloc[0]:.2%} at {ends['repair_h'].iloc[0]:.3g} h and "
            f"{ends['extra'].iloc[-1]:.2%} at {ends['repair_h'].iloc[-1]:.3g} h; with {' and '.join(fixed)} it leaves "
            f"that line where the pool is too large or too small. Dashed: "
            f"{', '.join(f'{name} {hours:.3g} h' for name, hours in marks)}."
        ),
        height=320,
    )
