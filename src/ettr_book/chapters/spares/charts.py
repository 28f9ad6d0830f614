"""Charts on pools of spares: cost by size, and spares in racks."""

from __future__ import annotations

from typing import Any

import altair as alt
import pandas as pd

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
from ettr_book.chapters.common import builders
from ettr_book.chapters.common.columns import Column, axis_title, tooltips

_POOLS = {
    "nodes fail one by one": (MODEL_COLOURS["simulated"], "circle"),
    "racks fail too": (ORANGE, "square"),
}
_RACKS = {
    "spares in each rack": (ORANGE, [1, 0]),
    "a pool of servers": (GREEN, [8, 2]),
    "a pool of whole racks": (BLUE, [6, 3]),
}
_LEAST_EXTRA = 1e-4
"""Extra costs below this are drawn as this: the axis is logarithmic."""


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


def racks(frame: pd.DataFrame, title: str, subtitle: str = "") -> Any:
    """How often something is missing, by the spare GPUs held.

    Parameters
    ----------
    frame : DataFrame
        As from ``tables.rack_choices``.
    title, subtitle : str
        The statement, and the scenario.
    """
    x = builders.along("held", title="Spare GPUs over GPUs of the job").axis(format="%")
    y = builders.up("short", log=True, title="Time in which something is missing", ticks=7)
    held = Column("Of the job's GPUs", format=".2~%")
    tips = tooltips("way", "n_spares", "held", "short", way="Spares", n_spares="How many", held=held)
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
            f"Lines of the share of time in which something is missing, on a logarithmic axis, over the spare GPUs "
            f"held: {ends}."
        ),
        height=320,
    )
