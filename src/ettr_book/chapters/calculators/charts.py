"""Charts of the error of the formulas in use against the exact model."""

from __future__ import annotations

import textwrap
from typing import Any

import altair as alt
import pandas as pd

from ettr.plots import builders
from ettr.plots.columns import tooltips
from ettr.plots.encodings import rounded
from ettr.plots.theme import MAP_INK, PALE_GREY, SIGNED_COLOURS, finish
from ettr_book.chapters.calculators.tables import CLASSES, NEAR

_SHADES = dict(zip(CLASSES, [*SIGNED_COLOURS, PALE_GREY], strict=True))
_HEADER_CHARACTERS = 26


def maps(regions: pd.DataFrame, best: pd.DataFrame, title: str, subtitle: str = "") -> Any:
    """Draw one map per calculator: sign and size of its error over job size and interval.

    Parameters
    ----------
    regions : DataFrame
        As from ``tables.regions``.
    best : DataFrame
        As from ``tables.best_line``.
    title, subtitle : str
        Finding of the chart, and the scenario.
    """
    names = list(dict.fromkeys(regions["calculator"]))
    ends_min = [regions["interval_min"].min(), regions["interval_min_end"].max()]
    visible = best[best["interval_min"].between(*ends_min)]
    lines = pd.concat([visible.assign(calculator=name) for name in names], ignore_index=True)
    together = rounded(pd.concat([regions, lines], ignore_index=True))
    together["panel"] = [_broken(name) for name in together["calculator"]]
    x = builders.across("n_gpus", ticks=3, domain=[regions["n_gpus"].min(), regions["n_gpus_end"].max()])
    y = builders.up("interval_min", log=True, ticks=3, domain=ends_min)
    colour = builders.squares("error", _SHADES, "Error [points]", symbolOpacity=1, columns=2)
    alike: Any = colour.to_dict()
    edges = alt.Stroke.from_dict(alike)  # hides the seams between cells
    tips = tooltips("calculator", "error", "n_gpus", "interval_min", n_gpus="GPUs from", interval_min="Interval from")
    cells = (
        alt.Chart()
        .mark_rect(opacity=1, strokeWidth=0.8, clip=True)
        .transform_filter("isValid(datum.error)")
        .encode(x=x, x2="n_gpus_end:Q", y=y, y2="interval_min_end:Q", color=colour, stroke=edges, tooltip=tips)
    )
    dashed = (
        alt.Chart()
        .mark_line(color=MAP_INK, strokeDash=[4, 3], strokeWidth=1.5, clip=True)
        .transform_filter("!isValid(datum.error)")
        .encode(x=x, y=y)
    )
    header = alt.Header(labelLimit=220, labelExpr="split(datum.label, '|')")
    facet = alt.Facet("panel:N", title=None, sort=[_broken(name) for name in names], header=header)
    return finish(
        alt.layer(cells, dashed, data=together).facet(facet, columns=3),
        title=title,
        subtitle=subtitle,
        description=_description(regions, names, ends_min),
        height=150,
    )


def _broken(name: str) -> str:
    return "|".join(textwrap.wrap(name, _HEADER_CHARACTERS))


def _description(regions: pd.DataFrame, names: list[str], ends_min: list[float]) -> str:
    near = regions[regions["error"] == NEAR].groupby("calculator")["n_gpus_end"].max()
    reach = "; ".join(f"{name} {near[name]:,.0f}" if name in near else f"{name} none" for name in names)
    return (
        f"Maps over job size and checkpoint interval from {ends_min[0]:.2g} to {ends_min[1]:,.0f} minutes, both "
        "logarithmic, one for each formula: blue where its ETTR is too low, brown where it is too high, pale within a "
        "point of the exact ETTR, grey without an answer. A dashed line marks the best interval. Largest size with an "
        f"interval within a point, in GPUs: {reach}."
    )
