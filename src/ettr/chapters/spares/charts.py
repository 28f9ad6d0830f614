"""Charts on pools of spares: shares by size, cost, money and repair time."""

from __future__ import annotations

import itertools
from typing import Any

import altair as alt
import pandas as pd

from ettr.chapters.common import builders
from ettr.chapters.common.columns import Column, axis_title, tooltips
from ettr.chapters.common.encodings import rounded, with_marks
from ettr.chapters.common.table import Table, named
from ettr.chapters.common.theme import (
    BLUE,
    GREEN,
    MODEL_COLOURS,
    ORANGE,
    PART_COLOURS,
    TEAL,
    VIOLET,
    finish,
    layered,
    need,
    touchable,
)

LINES = (ORANGE, [2, 3]), (BLUE, [8, 2]), (VIOLET, [6, 3])
"""Colours and dashes of lines beside the one that matters."""
_CHEAPEST = GREEN, [1, 0]
_WAYS = dict(zip(("90%", "99%", "99.9%"), LINES, strict=True)) | {"cheapest": _CHEAPEST}
_POOLS = {
    "nodes fail one by one": (MODEL_COLOURS["simulated"], "circle"),
    "racks fail too": (ORANGE, "square"),
    "few repair crews": (TEAL, "triangle-up"),
}
_MONEY = {"spares held": (TEAL, "held"), "job waiting": (PART_COLOURS["queue"], "waited")}
_LEVEL_HEADS = {
    "pool": "Enough",
    "n_spares": "Spares",
    "binomial": "Binomial",
    "flow": "Flow of repairs",
    "normal": "Its normal approximation",
    "crews": "With few crews",
    "waiting": "Time waiting [%]",
    "extra": "Extra cost [%]",
}
_LEAST_EXTRA = 1e-4
"""Extra costs below this are drawn as this: the axis is logarithmic."""


def shares(frame: pd.DataFrame, own_nodes: float, published_share: float, title: str, subtitle: str = "") -> Any:
    """Spares over the nodes of the job by its size.

    Parameters
    ----------
    frame : DataFrame
        As from ``tables.shares_by_size``.
    own_nodes : float
        The scenario's size. [nodes]
    published_share : float
        A share to draw a line at.
    title, subtitle : str
        The statement, and the scenario.
    """
    need(frame, "way", "n_nodes", "n_spares", "share", "level")
    some = frame[frame["share"] > 0]
    points = rounded(some if len(some) else frame.assign(share=_LEAST_EXTRA), 4)
    tips = tooltips(
        *("way", "n_nodes", "n_spares", "share", "level"),
        way="Pool",
        share=Column("Share", format=".3~%"),
        level=Column("Enough at a random moment", format=".3~%"),
    )
    x = builders.across("n_nodes")
    y = builders.up("share", log=True, title="Spares over nodes of the job").axis(format=".2~p", tickCount=6)
    lines = builders.lines(points, x, y, "way", _WAYS, tips, "Enough at a time", strokeWidth=1.8)
    line = alt.Chart(pd.DataFrame({"share": [published_share], "name": ["published"]})).encode(y=alt.Y("share:Q"))
    name = line.mark_text(align="right", dy=-10).encode(x=alt.value(alt.expr("width - 4")), text=alt.Text("name:N"))
    rule = line.mark_rule(color=MODEL_COLOURS["published"], strokeWidth=2)
    last = frame.groupby("way", sort=False).last()["share"]
    at_end = "; ".join(f"{way} {share:.2%}" for way, share in last.items())
    return finish(
        layered(lines, *builders.named_rule("n_nodes", own_nodes, "this job"), rule, name),
        title=title,
        subtitle=with_marks(f"Rate and repair as in {subtitle}" if subtitle else "", "grey: the published share"),
        description=(
            f"Lines of spares over the nodes of the job by its size, both axes logarithmic, for service levels and the "
            f"cheapest pool, falling to the right; at {frame['n_nodes'].max():,.0f} nodes: {at_end}. A line marks "
            f"{published_share:.0%}."
        ),
        height=320,
    )


def levels(frame: pd.DataFrame, caption: str) -> Table:
    """Pools of one job by service level.

    Parameters
    ----------
    frame : DataFrame
        As from ``tables.pools_by_level``.
    caption : str
        What the table shows.
    """
    need(frame, "normal", "waiting_share", "cost")
    waiting, extra = 100 * frame["waiting_share"], 100 * (frame["cost"] - 1)
    cells = frame.assign(normal=frame["normal"].round(1), waiting=waiting, extra=extra)
    return named(cells, _LEVEL_HEADS, caption, 3)


def cost(closed: pd.DataFrame, simulated: pd.DataFrame, title: str, subtitle: str = "") -> Any:
    """Extra cost over the number of hot spares: the closed form, its band and flat range, and simulated pools.

    Parameters
    ----------
    closed : DataFrame
        As from ``tables.cost_by_pool``.
    simulated : DataFrame
        As from ``tables.simulated_pools``.
    title, subtitle : str
        The statement, and the scenario.
    """
    need(closed, "n_spares", "extra", "extra_low", "extra_high", "waiting_share", "is_flat")
    need(simulated, "pool", "n_spares", "extra", "extra_low", "extra_high", "ettr", "waiting_h")
    columns = ["n_spares", "extra", "extra_low", "extra_high"]
    line = rounded(_drawable(closed, columns[1:])[[*columns, "waiting_share"]], 4)
    dots = rounded(_drawable(simulated, columns[1:])[["pool", *columns, "ettr", "waiting_h"]], 5)
    x = builders.along("n_spares", zero=False, padding=10).axis(format=",d", tickMinStep=1, tickCount=7)
    y = builders.up("extra", log=True)
    flat = closed[closed["is_flat"]]
    ends = pd.DataFrame({"low": [flat["n_spares"].min() - 0.5], "high": [flat["n_spares"].max() + 0.5]})
    range_x = alt.X("low:Q", title=axis_title("n_spares"))
    blue = MODEL_COLOURS["exact"]
    base = alt.Chart(line).encode(x=x)
    tips = tooltips("pool", *columns, "ettr", "waiting_h", pool="Simulated", ettr=Column("ETTR", format=".2%"))
    kinds = builders.present(_POOLS, simulated["pool"])
    layers = [
        alt.Chart(ends).mark_rect(color=GREEN, opacity=0.15).encode(x=range_x, x2="high:Q"),
        base.mark_area(color=blue, opacity=0.22).encode(y=alt.Y("extra_low:Q"), y2=alt.Y2("extra_high:Q")),
        touchable(base.mark_line(color=blue).encode(y=y, tooltip=tooltips(*columns, "waiting_share"))),
        *builders.measured(dots, x, y, ("extra_low", "extra_high"), "pool", kinds, 60, tips, "Simulated", joined=False),
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
        As from ``tables.paid_by_pool``.
    title, subtitle : str
        The statement, and the scenario.
    """
    need(frame, "n_spares", "held_usd", "waited_usd", "held_gpu_h", "waited_gpu_h")
    rows = [
        {
            "n_spares": row["n_spares"],
            "paid for": name,
            "usd": row[f"{kind}_usd"] / 1e3,
            "gpu_h": row[f"{kind}_gpu_h"],
            "order": order,
        }
        for row in frame.to_dict("records")
        for order, (name, (_, kind)) in enumerate(_MONEY.items())
    ]
    thousand = Column("Thousand USD", format=",.3~r")
    chart = (
        alt.Chart(rounded(pd.DataFrame(rows), 4))
        .mark_bar()
        .encode(
            x=alt.X("n_spares:O", title=axis_title("n_spares"), axis=alt.Axis(labelAngle=0)),
            y=alt.Y("usd:Q", title="Thousand USD a run", stack="zero", axis=alt.Axis(format=",.0f", tickCount=6)),
            color=builders.colours("paid for", _MONEY),
            order=alt.Order("order:Q"),
            tooltip=tooltips("n_spares", "paid for", "usd", "gpu_h", usd=thousand),
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


def repair(frame: pd.DataFrame, own_h: float, staged_h: float, title: str, subtitle: str = "") -> Any:
    """Extra cost over the repair time, for fixed pools and the cheapest.

    Parameters
    ----------
    frame : DataFrame
        As from ``tables.cost_by_repair``.
    own_h : float
        Repair time of this run. [h]
    staged_h : float
        A repair time to mark beside it. [h]
    title, subtitle : str
        The statement, and the scenario.
    """
    need(frame, "pool", "repair_h", "n_spares", "extra")
    fixed = [pool for pool in dict.fromkeys(frame["pool"]) if pool != "cheapest"]
    looks = {"cheapest": _CHEAPEST} | dict(zip(fixed, itertools.cycle(LINES)))
    top = max(1.0, float(frame.loc[frame["pool"] == "cheapest", "extra"].max()) * 1.1)
    curves = rounded(_drawable(frame, ["extra"]), 4)
    curves = curves[curves["extra"] <= top]
    x, y = builders.across("repair_h"), builders.up("extra", log=True, ticks=6)
    tips = tooltips("pool", "repair_h", "n_spares", "extra")
    lines = builders.lines(curves, x, y, "pool", looks, tips, "Pool")
    places = pd.DataFrame({"name": ["this run", "published"], "repair_h": [own_h, staged_h], "row": range(2)})
    rules = alt.Chart(places).mark_rule(strokeDash=[3, 3]).encode(x=alt.X("repair_h:Q"))
    names = (
        alt.Chart(places)
        .mark_text(align="left", dx=5, baseline="bottom")
        .encode(x=alt.X("repair_h:Q"), y=alt.value(alt.expr("height - 6 - 16 * datum.row")), text=alt.Text("name:N"))
    )
    ends = frame[frame["pool"] == "cheapest"]
    return finish(
        layered(rules, lines, names),
        title=title,
        subtitle=subtitle,
        description=(
            f"Lines of the extra cost of a unit of work over the mean repair time, both logarithmic. With the cheapest "
            f"pool at each, {ends['extra'].iloc[0]:.2%} at {ends['repair_h'].iloc[0]:.3g} h and "
            f"{ends['extra'].iloc[-1]:.2%} at {ends['repair_h'].iloc[-1]:.3g} h; with {' and '.join(fixed)} it leaves "
            f"that line where the pool is too large or too small. Dashed: this run {own_h:.3g} h, published "
            f"{staged_h:.3g} h."
        ),
        height=320,
    )
