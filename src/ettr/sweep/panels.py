"""Charts of the report of a sweep: a recorded value over a parameter."""

from __future__ import annotations

from typing import Any

import altair as alt
import pandas as pd

from ettr.plots.encodings import rounded
from ettr.plots.theme import BLUE, GREEN, ORANGE, PURPLE, finish, need

_COLOURS = [BLUE, ORANGE, GREEN, PURPLE, "#b8860b", "#d6336c"]
_DASHES = [[1, 0], [6, 3], [2, 3], [8, 3, 2, 3], [4, 2], [1, 2]]
MOST_GROUPS = len(_COLOURS)
"""Most lines of a panel."""

_WIDE_RATIO = 50


def panel(frame: pd.DataFrame, x: str, group: str, title: str, subtitle: str = "") -> Any:
    """Draw a recorded value over a parameter, with a line for each value of another parameter.

    Parameters
    ----------
    frame : DataFrame
        ``x`` (number or text), ``group`` (text; a single value has no legend), ``mean``, ``low`` and ``high`` over all
        other parameters.
    x, group : str
        Names of the two parameters for the axes.
    title, subtitle : str
        Finding, and the fixed parameters.
    """
    need(frame, "x", "group", "mean", "low", "high")
    groups = list(dict.fromkeys(frame["group"]))
    points = rounded(frame)
    axis = _across(frame["x"], x)
    y = alt.Y("mean:Q", title=None, scale=alt.Scale(zero=False, padding=8), axis=alt.Axis(tickCount=5))
    colour: Any = alt.value(_COLOURS[0])
    dash: Any = alt.value([1, 0])
    if len(groups) > 1:
        legend = alt.Legend(symbolType="stroke", columns=2, labelLimit=130, titleLimit=260)
        colour, dash = (
            channel(
                "group:N",
                title=group,
                sort=groups,
                scale=alt.Scale(domain=groups, range=looks[: len(groups)]),
                legend=legend,
            )
            for channel, looks in ((alt.Color, _COLOURS), (alt.StrokeDash, _DASHES))
        )
    base = alt.Chart(points).encode(x=axis)
    layers = []
    if (frame["high"] > frame["low"]).any():
        spread = (
            base.mark_area(opacity=0.15) if pd.api.types.is_numeric_dtype(frame["x"]) else base.mark_rule(opacity=0.5)
        )
        layers.append(spread.encode(y=alt.Y("low:Q", title=None), y2=alt.Y2("high:Q"), color=colour))
    layers.append(base.mark_line(strokeWidth=1.75).encode(y=y, color=colour, strokeDash=dash))
    layers.append(base.mark_point(size=36, opacity=1).encode(y=y, color=colour))
    ends = "; ".join(
        f"{name + ': ' if len(groups) > 1 else ''}{rows['mean'].iloc[0]:.3g} at {rows['x'].iloc[0]}, "
        f"{rows['mean'].iloc[-1]:.3g} at {rows['x'].iloc[-1]}"
        for name, rows in frame.groupby("group", sort=False)
    )
    return finish(
        alt.layer(*layers),
        title=title,
        subtitle=subtitle,
        description=f"{title}, over {x}. {ends}.",
        height=170,
        width=290,
    )


def _across(values: pd.Series, title: str) -> alt.X:
    """Horizontal axis: logarithmic over a wide range of numbers, categorical for texts."""
    if not pd.api.types.is_numeric_dtype(values):
        return alt.X(
            "x:N", title=title, sort=list(dict.fromkeys(values)), axis=alt.Axis(labelAngle=-30, labelLimit=110)
        )
    wide = values.min() > 0 and values.max() / values.min() > _WIDE_RATIO
    axis = alt.Axis(tickCount=4, labelOverlap=True, format="~s" if values.max() >= 10_000 else alt.Undefined)
    return alt.X(
        "x:Q",
        title=title,
        scale=alt.Scale(type="log" if wide else "linear", nice=False, zero=False, padding=8),
        axis=axis,
    )
