"""Builders of charts: axes from the table of columns, and common marks.

A builder takes a tidy frame and names of its columns, and returns layers; the chart function lays them on each other,
and gives them a title and a description with :func:`~ettr.plots.theme.finish`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

import altair as alt
import pandas as pd

from ettr.plots.columns import axis_title, column
from ettr.plots.encodings import rounded
from ettr.plots.theme import (
    LINE_DASHES,
    MODEL_COLOURS,
    SERIES_COLOURS,
    touchable,
)

_Look = TypeVar("_Look")
Looks = Mapping[str, tuple[str, list[int]]]
"""Colour and dash of lines, by name."""
Colours = Mapping[str, str] | Mapping[str, tuple[str, list[int]]] | Mapping[str, tuple[str, str]]
"""A colour by name, or a look that begins with it: with a dash, a shape or an ink."""
AT_COMMAS = "split(datum.label, ', ')"
"""Breaks the name of a row at its commas, to save width on a phone."""


def across(name: str, *, title: str = "", ticks: int = 6, **scale: Any) -> alt.X:
    """Return the horizontal axis of a column, logarithmic where its column says so."""
    axis = alt.Axis(format=column(name).axis_format, labelOverlap=True, tickCount=ticks)
    return alt.X(f"{name}:Q", title=title or axis_title(name), scale=_scale(True, scale), axis=axis)


def along(name: str, *, title: str = "", **scale: Any) -> alt.X:
    """Return the horizontal linear axis of a column."""
    return alt.X(f"{name}:Q", title=title or axis_title(name), scale=_scale(False, scale), axis=_axis(name))


def up(name: str, *, log: bool = False, title: str = "", ticks: int = 5, **scale: Any) -> alt.Y:
    """Return the vertical axis of a column; `ticks` apply to a logarithmic axis."""
    axis = _axis(name, **({"tickCount": ticks} if log else {}))
    return alt.Y(f"{name}:Q", title=title or axis_title(name), scale=_scale(log, scale), axis=axis)


def rows(name: str, order: Iterable[str], **axis: Any) -> alt.Y:
    """Return a vertical axis with one name per row; other arguments go to Altair's ``Axis``."""
    return alt.Y(f"{name}:N", sort=list(order), title=None, axis=alt.Axis(**axis))


def _axis(name: str, **others: Any) -> Any:
    options = {"format": column(name).axis_format} | others
    return alt.Axis(**options) if any(options.values()) else alt.Undefined


def _scale(log: bool, scale: Mapping[str, Any]) -> Any:
    if log:
        return alt.Scale(type="log", nice=False, **scale)
    return alt.Scale(**scale) if scale else alt.Undefined


def lines(
    frame: pd.DataFrame,
    x: alt.X,
    y: alt.Y,
    by: str,
    looks: Sequence[str] | Looks,
    tips: list[alt.Tooltip],
    title: str | None = None,
    **mark: Any,
) -> Any:
    """Draw lines that differ by colour and dash, with tooltips at their visible points.

    Parameters
    ----------
    frame : DataFrame
        A row a point.
    x, y : axes
        As from :func:`across` and :func:`up`.
    by : str
        Column with the line's name.
    looks : sequence of str, or mapping
        All possible names in order, whose position gives colour and dash, or a mapping to them. Names without a point
        are left out.
    tips : list
        As from :func:`~ettr.plots.columns.tooltips`.
    title : str, optional
        Of the legend.
    **mark
        Further arguments of Altair's ``mark_line``, such as ``clip`` for lines that leave the plot.
    """
    drawn = present(looks if isinstance(looks, Mapping) else series(looks), frame[by])
    scale = alt.Scale(domain=[*drawn], range=[pattern for _, pattern in drawn.values()])
    second = alt.StrokeDash(f"{by}:N", title=title, scale=scale)
    chart = alt.Chart(frame).mark_line(**mark).encode(x=x, y=y, color=strokes(by, drawn, title), strokeDash=second)
    chart = chart.encode(tooltip=tips)
    return touchable(chart, _visible(frame, y))


def series(names: Iterable[str], colours: Sequence[str] = SERIES_COLOURS) -> Looks:
    """Return colours and dashes of lines by their position."""
    return dict(zip(names, zip(colours, LINE_DASHES, strict=False), strict=False))


def _visible(frame: pd.DataFrame, y: alt.Y) -> pd.DataFrame | None:
    """Return the points within the ends of an axis; None if all are."""
    scale = y["scale"]
    if scale is alt.Undefined or scale["domain"] is alt.Undefined:
        return None
    inside = frame[_field(y)].between(*scale["domain"])
    return None if inside.all() else frame[inside]


def shapes(
    frame: pd.DataFrame,
    x: alt.X,
    y: alt.Y,
    by: str,
    looks: Mapping[str, tuple[str, str]],
    size: Any,
    tips: list[alt.Tooltip],
    title: str | None = None,
    **mark: Any,
) -> Any:
    """Draw points that differ by colour and shape.

    Parameters
    ----------
    frame : DataFrame
        A row a point.
    x, y : axes
        As from :func:`across` and :func:`up`.
    by : str
        Column that sets colour and shape.
    looks : mapping
        A colour and a shape by its values.
    size : int or Undefined
        Of a point. [px²]
    tips : list
        As from :func:`~ettr.plots.columns.tooltips`.
    title : str, optional
        Of the legend.
    **mark
        Further arguments of Altair's ``mark_point``.
    """
    shape = alt.Scale(domain=[*looks], range=[look[1] for look in looks.values()])
    return (
        alt.Chart(frame)
        .mark_point(size=size, opacity=1, **mark)
        .encode(
            x=x,
            y=y,
            color=colours(by, looks, title),
            shape=alt.Shape(f"{by}:N", title=title, scale=shape),
            tooltip=tips,
        )
    )


def present(looks: Mapping[str, _Look], values: Iterable[str]) -> dict[str, _Look]:
    """Return the looks of the names that occur, in the order of the looks."""
    occurring = set(values)
    return {name: look for name, look in looks.items() if name in occurring}


def colours(by: str, of: Colours, title: str | None = None, **legend: Any) -> alt.Color:
    """Return a colour scale by name; other arguments go to Altair's ``Legend``."""
    scale = alt.Scale(domain=[*of], range=[look if isinstance(look, str) else look[0] for look in of.values()])
    drawn = alt.Legend(**legend) if legend else alt.Undefined
    return alt.Color(f"{by}:N", title=title, scale=scale, legend=drawn)


def squares(by: str, of: Colours, title: str | None = None, **legend: Any) -> alt.Color:
    """Return a colour scale for areas, with squares in the legend."""
    return colours(by, of, title, symbolType="square", **legend)


def strokes(by: str, of: Colours, title: str | None = None, **legend: Any) -> alt.Color:
    """Return a colour scale for lines, with strokes in the legend."""
    return colours(by, of, title, symbolType="stroke", symbolStrokeWidth=3, symbolSize=300, **legend)


def rule(axis: alt.X | alt.Y, value: float, **mark: Any) -> Any:
    """Draw a line at a value of an axis, in the style of the exact model by default."""
    look = mark or {"color": MODEL_COLOURS["exact"], "strokeWidth": 2}
    line = alt.Chart(pd.DataFrame({_field(axis): [value]})).mark_rule(**look)
    return line.encode(axis)


def stacked(
    frame: pd.DataFrame, x: alt.X, y: alt.Y, by: str, shades: Mapping[str, str], tips: list[alt.Tooltip]
) -> Any:
    """Draw shares of parts, stacked in the order of their colours.

    Parameters
    ----------
    frame : DataFrame
        The columns of the axes, and the one with the parts.
    x, y : axes
        As from :func:`across` and :func:`up`.
    by : str
        Column with the parts.
    shades : mapping
        Colour of each part; parts that do not occur are left out.
    tips : list
        As from :func:`~ettr.plots.columns.tooltips`.
    """
    drawn = present(shades, frame[by])
    areas = rounded(frame.assign(order=frame[by].map(list(drawn).index)), 4)
    return (
        alt.Chart(areas)
        .mark_area(opacity=0.85)
        .encode(
            x=x,
            y=y.stack("zero"),  # noqa: PD013  (of Altair)
            color=squares(by, drawn, column(by).title, symbolOpacity=0.85),
            order=alt.Order("order:Q"),
            tooltip=tips,
        )
    )


def _field(axis: alt.X | alt.Y) -> str:
    return str(axis.shorthand).partition(":")[0]
