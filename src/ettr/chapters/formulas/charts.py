"""Charts on how far the simple formulas are from the exact one."""

from __future__ import annotations

from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from ettr.chapters.common import builders
from ettr.chapters.common.columns import axis_title, tooltips
from ettr.chapters.common.encodings import rounded
from ettr.chapters.common.theme import DIFFERENCE_COLOURS, MAP_INK, MODEL_COLOURS, PALE_GREY, finish, need

_LEVELS = {1.0: "within 1 point", 5.0: "1 to 5", 20.0: "5 to 20", np.inf: "over 20 points"}
_HOLES = 4
"""The layer of what lies between two stretches of the interval that are within a point."""
_NO_ANSWER = "no answer"
_WAYS = {
    "published": (MODEL_COLOURS["published"], "diamond"),
    "RSC formula": (MODEL_COLOURS["rsc"], "circle"),
    "exact": (MODEL_COLOURS["exact"], "square"),
}


def difference(
    regions: pd.DataFrame, cells: pd.DataFrame, best: pd.DataFrame, formula: str, title: str, subtitle: str = ""
) -> Any:
    """How far a simple formula is from the exact one, over size and interval.

    Parameters
    ----------
    regions : DataFrame
        As from ``tables.difference_regions``.
    cells : DataFrame
        As from ``tables.difference_cells``; they answer the pointer.
    best : DataFrame
        As from ``tables.difference_at_best``.
    formula : str
        Name of the simple form, as people say it.
    title, subtitle : str
        The statement, and the scenario.
    """
    need(regions, "layer", "within", "n_gpus", "low_min", "high_min")
    need(cells, "n_gpus", "n_gpus_end", "interval_min", "interval_min_end", "ettr", "exact", "points")
    need(best, "n_gpus", "interval_min")
    x_axis = builders.across("n_gpus", domain=[cells["n_gpus"].min(), cells["n_gpus_end"].max()])
    ends_min = [cells["interval_min"].min(), cells["interval_min_end"].max()]
    y_axis = builders.up("low_min", log=True, title=axis_title("interval_min"), domain=ends_min)
    named = regions.assign(apart=regions["within"].map(_LEVELS))
    nothing = pd.DataFrame({"n_gpus": cells["n_gpus"].min(), "n_gpus_end": cells["n_gpus_end"].max()}, index=[0])
    nothing = nothing.assign(low_min=ends_min[0], high_min=ends_min[1], apart=_NO_ANSWER)
    shades = dict(zip([*_LEVELS.values(), _NO_ANSWER], [*DIFFERENCE_COLOURS, PALE_GREY], strict=True))
    colour = builders.squares("apart", shades, f"{formula[0].upper()}{formula[1:]} less exact", symbolOpacity=1)
    back = (
        alt.Chart(nothing)
        .mark_rect(opacity=1)
        .encode(x=x_axis, x2=alt.X2("n_gpus_end"), y=y_axis, y2=alt.Y2("high_min"), color=colour)
    )
    layers = [back]
    for _, region in named.groupby("layer"):
        area = alt.Chart(rounded(region.drop(columns=["layer", "within"]))).mark_area(opacity=1, line=False, clip=True)
        layers.append(area.encode(x=x_axis, y=y_axis, y2=alt.Y2("high_min:Q"), color=colour))
    layers += [*_edge(named, ends_min, x_axis), *_best_line(best, ends_min, x_axis), _answering(cells, x_axis)]
    return finish(
        alt.layer(*layers),
        title=title,
        subtitle=subtitle,
        description=_description(regions, formula, ends_min),
        height=360,
    )


def _edge(named: pd.DataFrame, ends_min: list[float], x_axis: alt.X) -> list[Any]:
    """The contour of one point, where it does not run along the frame; nothing if it does all the way."""
    paths = []
    for layer, region in named[(named["within"] == 1.0) | (named["layer"] == _HOLES)].groupby("layer"):
        there = region[["n_gpus", "high_min"]].rename(columns={"high_min": "at_min"})
        back = region[["n_gpus", "low_min"]].rename(columns={"low_min": "at_min"})[::-1]
        closing = [there.iloc[:1]] if layer == _HOLES else []
        path = pd.concat([there, back, *closing], ignore_index=True).assign(layer=layer)
        paths.append(path.assign(step=range(len(path))))
    around = pd.concat(paths) if paths else pd.DataFrame(columns=["n_gpus", "at_min", "layer", "step"])
    inside = around["at_min"].between(ends_min[0] * 1.02, ends_min[1] / 1.02)
    base = alt.Chart(rounded(around[inside])).mark_line(color="white", strokeWidth=1.5, clip=True)
    return (
        [base.encode(x=x_axis, y=alt.Y("at_min:Q"), detail=alt.Detail("layer:N"), order=alt.Order("step:Q"))]
        if inside.any()
        else []
    )


def _best_line(best: pd.DataFrame, ends_min: list[float], x_axis: alt.X) -> list[Any]:
    """The best interval where it is on the map, with its name."""
    visible = best[best["interval_min"].between(*ends_min)]
    if visible.empty:
        return []
    points = rounded(visible[["n_gpus", "interval_min"]])
    line = alt.Chart(points).mark_line(color=MAP_INK, strokeDash=[5, 3], strokeWidth=2, clip=True)
    named = points.iloc[[len(points) // 8]].assign(what="best interval")
    name = alt.Chart(named).mark_text(align="left", dy=-10, color="white", fontWeight=600)
    place = {"x": x_axis, "y": "interval_min:Q"}
    return [line.encode(**place), name.encode(**place, text=alt.Text("what:N"))]


def _answering(cells: pd.DataFrame, x_axis: alt.X) -> Any:
    """Unseen cells that tell their values."""
    labelled = cells.assign(
        says=[_NO_ANSWER if np.isnan(value) else f"{value:.1%}" for value in cells["ettr"]],
        off=["" if np.isnan(value) else f"{value:.2f}" for value in cells["points"]],
        exactly=[_NO_ANSWER if np.isnan(value) else f"{value:.1%}" for value in cells["exact"]],
    ).drop(columns=["ettr", "exact", "points"])
    named = labelled.rename(columns={"interval_min": "low_min", "interval_min_end": "high_min"})
    tips = tooltips("n_gpus", "low_min", "says", "exactly", "off", n_gpus="GPUs from", low_min="Interval from")
    return builders.answering(named, x_axis, alt.Y("low_min:Q"), "n_gpus_end", "high_min", tips)


def _description(regions: pd.DataFrame, formula: str, ends_min: list[float]) -> str:
    near = regions[regions["within"] == 1.0]
    reach = f"up to {near['n_gpus'].max():,.0f} GPUs" if len(near) else "nowhere"
    answers = regions[np.isinf(regions["within"])]["n_gpus"].max()
    return (
        f"Map over job size and checkpoint interval from {ends_min[0]:.2g} to {ends_min[1]:,.0f} minutes, both "
        f"logarithmic, of the difference between {formula} and the exact ETTR. At some interval it is within a point "
        f"{reach}; it has an answer up to {answers:,.0f} GPUs. A dashed line marks the best interval."
    )


def rsc_beside_exact(frame: pd.DataFrame, title: str, subtitle: str = "") -> Any:
    """Published RSC results beside the paper's formula and the exact form.

    Parameters
    ----------
    frame : DataFrame
        As from :func:`ettr.validation.rsc_beside_exact`.
    title, subtitle : str
        The statement, and whose results they are.
    """
    need(frame, "quantity", "published", "relation", "rsc", "exact", "max_n_gpus")
    named = frame.rename(columns={"rsc": "RSC formula"})
    points = named.melt(["quantity", "relation", "max_n_gpus"], [*_WAYS], "way", "ettr")
    points["what"] = [
        f"at least {row.ettr:.0%}"
        if row.way == "published" and row.relation == "at_least"
        else f"{row.ettr:.2g}"
        if row.way == "published"
        else f"{row.ettr:.1%}"
        for row in points.itertuples()
    ]
    points["ends"] = [f"{value:,.0f} GPUs" for value in points["max_n_gpus"]]
    names = alt.Axis(labelLimit=330, labelExpr=_BROKEN, labelOffset=-14, grid=True)
    lowest = min(0.45, float(points["ettr"].min()) - 0.03)
    y = alt.Y("quantity:N", sort=frame["quantity"].tolist(), title=None, axis=names)
    x = builders.along("ettr", domain=[lowest, 1.02])
    tips = tooltips("quantity", "way", "what", "ends", way="By", what="ETTR")
    dots = builders.shapes(points, x, y, "way", _WAYS, 110, tips).encode(yOffset=alt.YOffset("way:N", sort=[*_WAYS]))
    results = "; ".join(
        f"{row.quantity}: published {row.published:.2g}, RSC formula {row.rsc:.3f}, exact {row.exact:.3f}"
        for row in frame.itertuples()
    )
    return finish(
        dots,
        title=title,
        subtitle=subtitle,
        description=f"Dots of ETTR by result and way of reaching it. {results}.",
        height=56 * len(frame) + 20,
        sources=["kokolis2025"],
    )


_BROKEN = "split(replace(datum.label, ', ETTR of', ','), ', ')"
"""A row's name on lines of its own at its commas, so that the plot keeps room on a phone."""
