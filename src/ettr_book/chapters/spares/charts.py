"""Charts on spare pools: cost by size, and spares in racks."""

from __future__ import annotations

from typing import Any

import altair as alt
import pandas as pd

from ettr.plots import builders
from ettr.plots.columns import Column, axis_title, tooltips
from ettr.plots.encodings import rounded, with_marks
from ettr.plots.theme import (
    BLUE,
    GREEN,
    MODEL_COLOURS,
    ORANGE,
    finish,
    layered,
    touchable,
)

_POOLS = {
    "nodes fail one by one": (MODEL_COLOURS["simulated"], "circle"),
    "racks fail too": (ORANGE, "square"),
}
_RACKS = {
    "spares in each rack": (ORANGE, [1, 0]),
    "a pool of servers": (GREEN, [8, 2]),
    "a pool of complete racks": (BLUE, [6, 3]),
}
_LEAST_EXTRA = 1e-4
"""Smallest extra cost on the logarithmic axis; smaller values are drawn here."""


def cost(closed: pd.DataFrame, simulated: pd.DataFrame, title: str, subtitle: str = "") -> Any:
    """Draw the extra cost over the number of hot spares: exact model, its uncertainty, and simulated pools.

    Parameters
    ----------
    closed : DataFrame
        As from ``tables.cost_by_pool``.
    simulated : DataFrame
        As from ``tables.simulated_pools``.
    title, subtitle : str
        Finding of the chart, and the scenario.
    """
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
    pools = builders.colours("pool", kinds, "Simulated")
    layers = [
        alt.Chart(ends).mark_rect(color=GREEN, opacity=0.15).encode(x=range_x, x2="high:Q"),
        base.mark_area(color=blue, opacity=0.22).encode(y=alt.Y("extra_low:Q"), y2=alt.Y2("extra_high:Q")),
        touchable(base.mark_line(color=blue).encode(y=y, tooltip=tooltips(*columns, "waiting_share"))),
        alt.Chart(dots)
        .mark_rule(strokeWidth=2)
        .encode(x=x, color=pools, y=alt.Y("extra_low:Q"), y2=alt.Y2("extra_high:Q")),
        builders.shapes(dots, x, y, "pool", kinds, 60, tips, "Simulated"),
    ]
    best = closed.loc[closed["extra"].idxmin()]
    minima = "; ".join(
        f"{pool}: minimum at {rows.loc[rows['extra'].idxmin(), 'n_spares']:,.0f} spares, {rows['extra'].min():.2%}"
        for pool, rows in simulated.groupby("pool", sort=False)
    )
    return finish(
        layered(*layers),
        title=title,
        subtitle=with_marks(subtitle, "blue: exact model, 95% CI of the rate; green: near the minimum; bars: 95% CI"),
        description=(
            f"Extra cost per unit of work on a logarithmic axis over the number of hot spares. The exact model falls "
            f"steeply to {best['extra']:.2%} at {best['n_spares']:,.0f} spares and rises slowly from there. "
            f"Simulated: {minima or 'none'}."
        ),
        height=360,
    )


def _drawable(frame: pd.DataFrame, columns: list[str]) -> pd.DataFrame:
    """Return only values above zero, for a logarithmic axis."""
    return frame.assign(**{name: frame[name].clip(lower=_LEAST_EXTRA) for name in columns})


def racks(frame: pd.DataFrame, title: str, subtitle: str = "") -> Any:
    """Draw the share of time with a node missing over the spare GPUs held.

    Parameters
    ----------
    frame : DataFrame
        As from ``tables.rack_choices``.
    title, subtitle : str
        Finding of the chart, and the scenario.
    """
    x = builders.along("held", title="Spare GPUs over GPUs of the job [%]").axis(format="%")
    y = builders.up("short", log=True, title="Time with a node missing [%]", ticks=7)
    held = Column("Of the job's GPUs", format=".2~%")
    tips = tooltips("way", "n_spares", "held", "short", way="Spares", n_spares="Number", held=held)
    point = alt.OverlayMarkDef(size=26, filled=True)
    lines = builders.lines(rounded(frame, 4), x, y, "way", _RACKS, tips, point=point)
    ends = "; ".join(
        f"{way} {rows['short'].iloc[0]:.2%} with none and {rows['short'].iloc[-1]:.2g} at {rows['held'].iloc[-1]:.1%}"
        for way, rows in frame.groupby("way", sort=False)
    )
    return finish(
        lines,
        title=title,
        subtitle=subtitle,
        description=(
            f"Lines of the share of time with a node missing, on a logarithmic axis, over the spare GPUs held: {ends}."
        ),
        height=320,
    )
