"""Builders of charts: axes from the table of columns, and the marks that chapters draw again and again.

A builder takes a tidy frame and names of its columns, and returns layers; the chart function lays them on each other,
and gives them a title and a description with :func:`~ettr.chapters.common.theme.finish`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import pandas as pd

from ettr.chapters.common.columns import axis_title, column, tooltips
from ettr.chapters.common.encodings import dash, line_colour, rounded
from ettr.chapters.common.theme import BAND_COLOURS, LINE_DASHES, MODEL_COLOURS, SERIES_COLOURS, touchable


def across(name: str, *, log: bool = True, **scale: Any) -> alt.X:
    """The axis of a column across the chart, logarithmic as sizes and durations need it."""
    axis = alt.Axis(format=column(name).axis_format, labelOverlap=True, tickCount=6)
    return alt.X(f"{name}:Q", title=axis_title(name), scale=_scale(log, scale), axis=axis)


def up(name: str, *, log: bool = False, title: str = "", **scale: Any) -> alt.Y:
    """The axis of a column up the chart."""
    form = column(name).axis_format
    axis = alt.Axis(format=form, tickCount=5) if log else alt.Axis(format=form)
    return alt.Y(f"{name}:Q", title=title or axis_title(name), scale=_scale(log, scale), axis=axis)


def _scale(log: bool, scale: Mapping[str, Any]) -> Any:
    if log:
        return alt.Scale(type="log", nice=False, **scale)
    return alt.Scale(**scale) if scale else alt.Undefined


def lines(
    frame: pd.DataFrame,
    x: alt.X,
    y: alt.Y,
    by: str,
    names: Sequence[str],
    tips: list[alt.Tooltip],
    title: str | None = None,
    order: str = "",
) -> Any:
    """Lines told apart by colour and dash, each of whose points answers the pointer.

    Parameters
    ----------
    frame : DataFrame
        A row a point.
    x, y : axes
        As from :func:`across` and :func:`up`.
    by : str
        Column with the line's name.
    names : sequence of str
        All names that there can be, in order: the place gives colour and dash. Those without a point are left out.
    tips : list
        As from :func:`~ettr.chapters.common.columns.tooltips`.
    title : str, optional
        Of the legend.
    order : str
        Column by which points are joined, if not by `x`.
    """
    present = [name for name in names if name in set(frame[by])]
    colours = dict(zip(names, SERIES_COLOURS, strict=False))
    dashes = dict(zip(names, LINE_DASHES, strict=False))
    chart = (
        alt.Chart(frame)
        .mark_line(clip=True)
        .encode(
            x=x,
            y=y,
            color=line_colour(by, title, {name: colours[name] for name in present}),
            strokeDash=dash(by, title, {name: dashes[name] for name in present}),
            tooltip=tips,
        )
    )
    return touchable(chart.encode(order=alt.Order(f"{order}:Q")) if order else chart)


def banded(frame: pd.DataFrame, x: alt.X, y: alt.Y, tips: Sequence[str]) -> list[Any]:
    """A curve on its bands of 50% and 95%, which are drawn where they have a width.

    Parameters
    ----------
    frame : DataFrame
        The columns of `x` and `y`, and ``low_50``, ``high_50``, ``low_95``, ``high_95``.
    x, y : axes
        As from :func:`across` and :func:`up`.
    tips : sequence of str
        Columns that the curve answers with; the ends of the bands follow by themselves.
    """
    name_x, name_y = (_field(axis) for axis in (x, y))
    drawn, layers, named = rounded(frame), [], [*tips]
    if has_bands(frame):
        names = alt.Scale(domain=["50%", "95%"], range=BAND_COLOURS)
        for level, opacity in ((95, 0.45), (50, 0.6)):
            band = drawn[[name_x, f"low_{level}", f"high_{level}"]].assign(level=f"{level}%")
            area = alt.Chart(band.rename(columns={f"low_{level}": name_y})).mark_area(opacity=opacity, clip=True)
            colour = alt.Color("level:N", title=column("level").title, scale=names)
            layers.append(area.encode(x=x, y=y, y2=alt.Y2(f"high_{level}:Q"), color=colour))
            named += [f"low_{level}", f"high_{level}"]
    curve = alt.Chart(drawn).mark_line(color=MODEL_COLOURS["exact"], clip=True)
    return [*layers, touchable(curve.encode(x=x, y=y, tooltip=tooltips(*named)))]


def has_bands(frame: pd.DataFrame) -> bool:
    """Whether what is known of the failure rate gives the curve a width."""
    return bool((frame["high_95"] > frame["low_95"]).any())


def ranges(
    frame: pd.DataFrame, x: alt.X, y: alt.Y, high: str, of: Mapping[str, tuple[str, str, str, float]]
) -> list[Any]:
    """Areas between two columns each, told apart by colour, on one axis.

    Parameters
    ----------
    frame : DataFrame
        A row a point.
    x, y : axes
        As from :func:`across` and :func:`up`; `y` is of the lower ends.
    high : str
        Column of the upper ends.
    of : mapping
        By the name in the legend: the columns of its lower and upper ends, its colour and opacity.
    """
    low = _field(y)
    colours = alt.Scale(domain=list(of), range=[colour for *_, colour, _ in of.values()])
    areas = []
    for name, (lower, upper, _, opacity) in of.items():
        band = frame[[_field(x), lower, upper]].rename(columns={lower: low, upper: high}).assign(what=name)
        colour = alt.Color("what:N", title=column("what").title, scale=colours)
        area = alt.Chart(band).mark_area(opacity=opacity).encode(x=x, y=y, y2=alt.Y2(f"{high}:Q"), color=colour)
        areas.append(area)
    return areas


def goal(value: float, name: str = "ettr") -> Any:
    """A dashed line across at a value of a column."""
    return alt.Chart(pd.DataFrame({name: [value]})).mark_rule(strokeDash=[3, 3]).encode(y=alt.Y(f"{name}:Q"))


def steps(regions: Sequence[tuple[str, pd.DataFrame]], x: alt.X, y: alt.Y, high: str, colour: alt.Color) -> list[Any]:
    """Areas of a map, laid on each other from the lowest level to the highest, so that no seam shows between them.

    Parameters
    ----------
    regions : sequence of (str, DataFrame)
        The name of a level, and the area in which it is reached; those without a row are left out.
    x, y : axes
        As from :func:`across` and :func:`up`.
    high : str
        Column of the upper ends.
    colour : altair.Color
        Of the column ``reach``, which gets the level's name.
    """
    return [
        alt.Chart(rounded(region.assign(reach=name)))
        .mark_area(opacity=1, clip=True)
        .encode(x=x, y=y, y2=alt.Y2(f"{high}:Q"), color=colour)
        for name, region in regions
        if len(region)
    ]


def answering(cells: pd.DataFrame, x: alt.X, y: alt.Y, x_end: str, y_end: str, tips: list[alt.Tooltip]) -> Any:
    """Unseen cells of a map, which answer the pointer."""
    unseen = alt.Chart(rounded(cells)).mark_rect()
    ends = {"x2": alt.X2(f"{x_end}:Q"), "y2": alt.Y2(f"{y_end}:Q")}
    return unseen.encode(x=x, y=y, **ends, opacity=alt.value(0), tooltip=tips)


def stacked(frame: pd.DataFrame, x: alt.X, y: alt.Y, colours: Mapping[str, str], tips: list[alt.Tooltip]) -> Any:
    """Shares of parts, stacked in the order of their colours.

    Parameters
    ----------
    frame : DataFrame
        ``part``, and the columns of the axes.
    x, y : axes
        As from :func:`across` and :func:`up`.
    colours : mapping
        A colour a part.
    tips : list
        As from :func:`~ettr.chapters.common.columns.tooltips`.
    """
    present = [part for part in colours if part in set(frame["part"])]
    places = {part: i for i, part in enumerate(colours)}
    colour = alt.Scale(domain=present, range=[colours[part] for part in present])
    return (
        alt.Chart(frame.assign(order=frame["part"].map(places)))
        .mark_area(opacity=0.85)
        .encode(
            x=x,
            y=y.stack("zero"),  # noqa: PD013  (of Altair)
            color=alt.Color("part:N", title=column("part").title, scale=colour),
            order=alt.Order("order:Q"),
            tooltip=tips,
        )
    )


def bars(frame: pd.DataFrame, name: str, x: alt.X, colours: Mapping[str, str], tips: list[alt.Tooltip]) -> Any:
    """Bars from zero, the longest first, with their values behind them.

    Parameters
    ----------
    frame : DataFrame
        A row a bar.
    name : str
        Column with the bars' names.
    x : axis
        Of the values, a share.
    colours : mapping
        A colour a name.
    tips : list
        As from :func:`~ettr.chapters.common.columns.tooltips`.
    """
    value = _field(x)
    order = frame.sort_values(value, ascending=False)[name].tolist()
    base = alt.Chart(frame).encode(y=alt.Y(f"{name}:N", sort=order, title=None))
    scale = alt.Scale(domain=order, range=[colours[one] for one in order])
    drawn = base.mark_bar().encode(x=x, color=alt.Color(f"{name}:N", legend=None, scale=scale), tooltip=tips)
    return drawn + base.mark_text(align="left", dx=4).encode(
        x=alt.X(f"{value}:Q"), text=alt.Text(f"{value}:Q", format=".1%")
    )


def dots(frame: pd.DataFrame, x: alt.X, y: alt.Y, shape: alt.Shape, size: int, tips: list[alt.Tooltip]) -> Any:
    """Published figures, told apart by shape."""
    chart = alt.Chart(frame).mark_point(size=size, color=MODEL_COLOURS["published"], opacity=1)
    return chart.encode(x=x, y=y, shape=shape, tooltip=tips)


def _field(axis: alt.X | alt.Y) -> str:
    return str(axis.shorthand).partition(":")[0]
