"""Charts on how far the simple formulas are from the exact one."""

from __future__ import annotations

from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from ettr.chapters.common.encodings import PERCENT, logarithmic, rounded
from ettr.chapters.common.theme import MODEL_COLOURS, finish, need

_SHADES = {1.0: "#1d7f4f", 5.0: "#7fb596", 20.0: "#dfbf63", np.inf: "#c8731f"}
_HOLES = 4
"""The layer of what lies between two stretches of the interval that are within a point."""
_NO_ANSWER, _NO_ANSWER_SHADE = "no answer", "#8a8d8c"
_WAYS = {"published": "#9b8d90", "RSC formula": MODEL_COLOURS["rsc"], "exact": MODEL_COLOURS["exact"]}
_SHAPES = {"published": "diamond", "RSC formula": "circle", "exact": "square"}


def difference(
    regions: pd.DataFrame, cells: pd.DataFrame, best: pd.DataFrame, formula: str, title: str, subtitle: str = ""
) -> Any:
    """How far a simple formula is from the exact one, over size and interval.

    Parameters
    ----------
    regions : DataFrame
        As from ``disagreement_tables.difference_regions``.
    cells : DataFrame
        As from ``disagreement_tables.difference_cells``; they answer the pointer.
    best : DataFrame
        As from ``disagreement_tables.difference_at_best``.
    formula : str
        Name of the simple form, as people say it.
    title, subtitle : str
        The statement, and the scenario.
    """
    need(regions, "layer", "within", "n_gpus", "low_min", "high_min")
    need(cells, "n_gpus", "n_gpus_end", "interval_min", "interval_min_end", "ettr", "exact", "points")
    need(best, "n_gpus", "interval_min")
    x_axis = logarithmic("n_gpus", "Job size [GPUs]", domain=[cells["n_gpus"].min(), cells["n_gpus_end"].max()])
    ends_min = [cells["interval_min"].min(), cells["interval_min_end"].max()]
    y_axis = alt.Y(
        "low_min:Q",
        title="Checkpoint interval [min]",
        scale=alt.Scale(type="log", nice=False, domain=ends_min),
        axis=alt.Axis(format="~g", tickCount=5),
    )
    named = regions.assign(apart=[_class(level) for level in regions["within"]])
    nothing = pd.DataFrame({"n_gpus": cells["n_gpus"].min(), "n_gpus_end": cells["n_gpus_end"].max()}, index=[0])
    nothing = nothing.assign(low_min=ends_min[0], high_min=ends_min[1], apart=_NO_ANSWER)
    shades = {_class(level): shade for level, shade in _SHADES.items()} | {_NO_ANSWER: _NO_ANSWER_SHADE}
    colour = alt.Color(
        "apart:N",
        title=f"{formula[0].upper()}{formula[1:]} less exact",
        scale=alt.Scale(domain=list(shades), range=list(shades.values())),
        legend=alt.Legend(symbolType="square", symbolOpacity=1),
    )
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


def _class(level: float) -> str:
    ends = {1.0: "within 1 point", 5.0: "1 to 5", 20.0: "5 to 20"}
    return ends.get(level, "over 20 points")


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
    line = alt.Chart(points).mark_line(color="#16324a", strokeDash=[5, 3], strokeWidth=2, clip=True)
    named = points.iloc[[len(points) // 8]].assign(what="best interval")
    name = alt.Chart(named).mark_text(align="left", dy=-10, color="white", fontWeight=600)
    place = {"x": x_axis, "y": "interval_min:Q"}
    return [line.encode(**place), name.encode(**place, text=alt.Text("what:N"))]


def _answering(cells: pd.DataFrame, x_axis: alt.X) -> Any:
    """Unseen cells that tell their values."""
    labelled = cells.assign(
        says=[_NO_ANSWER if np.isnan(value) else f"{value:.1%}" for value in cells["ettr"]],
        off=["" if np.isnan(value) else f"{value:.2f}" for value in cells["points"]],
        exactly=["no answer" if np.isnan(value) else f"{value:.1%}" for value in cells["exact"]],
    ).drop(columns=["ettr", "exact", "points"])
    return (
        alt.Chart(rounded(labelled).rename(columns={"interval_min": "low_min", "interval_min_end": "high_min"}))
        .mark_rect()
        .encode(
            x=x_axis,
            x2=alt.X2("n_gpus_end"),
            y=alt.Y("low_min:Q"),
            y2=alt.Y2("high_min:Q"),
            opacity=alt.value(0),
            tooltip=[
                alt.Tooltip("n_gpus:Q", title="GPUs from", format=",.0f"),
                alt.Tooltip("low_min:Q", title="Interval from [min]", format=".3~g"),
                alt.Tooltip("says:N", title="Simple form"),
                alt.Tooltip("exactly:N", title="Exact form"),
                alt.Tooltip("off:N", title="Apart [points]"),
            ],
        )
    )


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
    ways = {"published": "published", "rsc": "RSC formula", "exact": "exact"}
    points = frame.melt(id_vars=["quantity", "relation", "max_n_gpus"], value_vars=list(ways), value_name="ettr")
    points["way"] = points["variable"].map(ways)
    points["what"] = [
        f"at least {row.ettr:.0%}"
        if row.way == "published" and row.relation == "at_least"
        else f"{row.ettr:.2g}"
        if row.way == "published"
        else f"{row.ettr:.1%}"
        for row in points.itertuples()
    ]
    points["ends"] = [f"{value:,.0f} GPUs" for value in points["max_n_gpus"]]
    order = frame["quantity"].tolist()
    names = alt.Axis(labelLimit=330, labelExpr=_BROKEN, labelOffset=-14, grid=True)
    lowest = min(0.45, float(points["ettr"].min()) - 0.03)
    dots = (
        alt.Chart(points)
        .mark_point(size=110, opacity=1)
        .encode(
            y=alt.Y("quantity:N", sort=order, title=None, axis=names),
            yOffset=alt.YOffset("way:N", sort=list(_WAYS)),
            x=alt.X("ettr:Q", title="ETTR", axis=PERCENT, scale=alt.Scale(domain=[lowest, 1.0])),
            color=alt.Color("way:N", title=None, scale=alt.Scale(domain=list(_WAYS), range=list(_WAYS.values()))),
            shape=alt.Shape("way:N", title=None, scale=alt.Scale(domain=list(_SHAPES), range=list(_SHAPES.values()))),
            tooltip=[
                alt.Tooltip("quantity:N", title="Result"),
                alt.Tooltip("way:N", title="By"),
                alt.Tooltip("what:N", title="ETTR"),
                alt.Tooltip("ends:N", title="RSC formula ends at"),
            ],
        )
    )
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
    )


_BROKEN = "split(replace(datum.label, ', ETTR of', ','), ', ')"
"""A row's name on lines of its own at its commas, so that the plot keeps room on a phone."""
