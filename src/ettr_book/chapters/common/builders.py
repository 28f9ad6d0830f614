"""Builders of charts: axes from the table of columns, and the marks that chapters draw again and again.

A builder takes a tidy frame and names of its columns, and returns layers; the chart function lays them on each other,
and gives them a title and a description with :func:`~ettr.plots.theme.finish`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

import altair as alt
import pandas as pd

from ettr.plots.encodings import rounded
from ettr.plots.theme import (
    LINE_DASHES,
    MODEL_COLOURS,
    SERIES_COLOURS,
    touchable,
)
from ettr_book.chapters.common.columns import axis_title, column

_Look = TypeVar("_Look")
Looks = Mapping[str, tuple[str, list[int]]]
"""Colour and dash of lines by their names."""
Colours = Mapping[str, str] | Mapping[str, tuple[str, list[int]]] | Mapping[str, tuple[str, str]]
"""A colour by name, or a look that begins with it: with a dash, a shape or an ink."""
AT_COMMAS = "split(datum.label, ', ')"
"""A row's name on lines of its own at its commas, so that the plot keeps room on a phone."""


def across(name: str, *, title: str = "", ticks: int = 6, **scale: Any) -> alt.X:
    """The axis of a column across the chart, logarithmic as sizes and durations need it."""
    axis = alt.Axis(format=column(name).axis_format, labelOverlap=True, tickCount=ticks)
    return alt.X(f"{name}:Q", title=title or axis_title(name), scale=_scale(True, scale), axis=axis)


def along(name: str, *, title: str = "", **scale: Any) -> alt.X:
    """The linear axis of a column across the chart."""
    return alt.X(f"{name}:Q", title=title or axis_title(name), scale=_scale(False, scale), axis=_axis(name))


def up(name: str, *, log: bool = False, title: str = "", ticks: int = 5, **scale: Any) -> alt.Y:
    """The axis of a column up the chart; `ticks` are of a logarithmic one."""
    axis = _axis(name, **({"tickCount": ticks} if log else {}))
    return alt.Y(f"{name}:Q", title=title or axis_title(name), scale=_scale(log, scale), axis=axis)


def rows(name: str, order: Iterable[str], **axis: Any) -> alt.Y:
    """The names of a column, one below the other; what else Altair's ``Axis`` takes is passed on."""
    return alt.Y(f"{name}:N", sort=list(order), title=None, axis=alt.Axis(**axis))


def _axis(name: str, **others: Any) -> Any:
    asked = {"format": column(name).axis_format} | others
    return alt.Axis(**asked) if any(asked.values()) else alt.Undefined


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
    """Lines told apart by colour and dash, each of whose visible points answers the pointer.

    Parameters
    ----------
    frame : DataFrame
        A row a point.
    x, y : axes
        As from :func:`across` and :func:`up`.
    by : str
        Column with the line's name.
    looks : sequence of str, or mapping
        All names that there can be, in order: the place gives colour and dash, or a mapping does. Those without a
        point are left out.
    tips : list
        As from :func:`~ettr_book.chapters.common.columns.tooltips`.
    title : str, optional
        Of the legend.
    **mark
        What else Altair's ``mark_line`` takes, as ``clip`` for lines that leave the picture.
    """
    there = present(looks if isinstance(looks, Mapping) else series(looks), frame[by])
    scale = alt.Scale(domain=[*there], range=[pattern for _, pattern in there.values()])
    second = alt.StrokeDash(f"{by}:N", title=title, scale=scale)
    chart = alt.Chart(frame).mark_line(**mark).encode(x=x, y=y, color=strokes(by, there, title), strokeDash=second)
    chart = chart.encode(tooltip=tips)
    return touchable(chart, _visible(frame, y))


def series(names: Iterable[str], colours: Sequence[str] = SERIES_COLOURS) -> Looks:
    """Colours and dashes of lines by their place."""
    return dict(zip(names, zip(colours, LINE_DASHES, strict=False), strict=False))


def _visible(frame: pd.DataFrame, y: alt.Y) -> pd.DataFrame | None:
    """The points within the ends of an axis; None if those are all."""
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
    """Points told apart by colour and shape.

    Parameters
    ----------
    frame : DataFrame
        A row a point.
    x, y : axes
        As from :func:`across` and :func:`up`.
    by : str
        Column with what is told apart.
    looks : mapping
        A colour and a shape by its values.
    size : int or Undefined
        Of a point. [px²]
    tips : list
        As from :func:`~ettr_book.chapters.common.columns.tooltips`.
    title : str, optional
        Of the legend.
    **mark
        What else Altair's ``mark_point`` takes.
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
    """The looks of the names that there are, in the order of the looks."""
    there = set(values)
    return {name: look for name, look in looks.items() if name in there}


def colours(by: str, of: Colours, title: str | None = None, **legend: Any) -> alt.Color:
    """Colours by name; what else Altair's ``Legend`` takes is passed on."""
    scale = alt.Scale(domain=[*of], range=[look if isinstance(look, str) else look[0] for look in of.values()])
    drawn = alt.Legend(**legend) if legend else alt.Undefined
    return alt.Color(f"{by}:N", title=title, scale=scale, legend=drawn)


def squares(by: str, of: Colours, title: str | None = None, **legend: Any) -> alt.Color:
    """Colours of areas by name, with squares in the legend."""
    return colours(by, of, title, symbolType="square", **legend)


def strokes(by: str, of: Colours, title: str | None = None, **legend: Any) -> alt.Color:
    """Colours of lines by name, with strokes in the legend."""
    return colours(by, of, title, symbolType="stroke", symbolStrokeWidth=3, symbolSize=300, **legend)


def rule(axis: alt.X | alt.Y, value: float, **mark: Any) -> Any:
    """A line at a value of an axis; as the closed form is drawn, if nothing else is said of the mark."""
    look = mark or {"color": MODEL_COLOURS["exact"], "strokeWidth": 2}
    line = alt.Chart(pd.DataFrame({_field(axis): [value]})).mark_rule(**look)
    return line.encode(axis)


def stacked(
    frame: pd.DataFrame, x: alt.X, y: alt.Y, by: str, shades: Mapping[str, str], tips: list[alt.Tooltip]
) -> Any:
    """Shares of parts, stacked in the order of their colours.

    Parameters
    ----------
    frame : DataFrame
        The columns of the axes, and the one with the parts.
    x, y : axes
        As from :func:`across` and :func:`up`.
    by : str
        Column with the parts.
    shades : mapping
        A colour a part; those that are nowhere are left out.
    tips : list
        As from :func:`~ettr_book.chapters.common.columns.tooltips`.
    """
    there = present(shades, frame[by])
    areas = rounded(frame.assign(order=frame[by].map(list(there).index)), 4)
    return (
        alt.Chart(areas)
        .mark_area(opacity=0.85)
        .encode(
            x=x,
            y=y.stack("zero"),  # noqa: PD013  (of Altair)
            color=squares(by, there, column(by).title, symbolOpacity=0.85),
            order=alt.Order("order:Q"),
            tooltip=tips,
        )
    )


def _field(axis: alt.X | alt.Y) -> str:
    return str(axis.shorthand).partition(":")[0]
