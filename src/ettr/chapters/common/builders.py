"""Builders of charts: axes from the table of columns, and the marks that chapters draw again and again.

A builder takes a tidy frame and names of its columns, and returns layers; the chart function lays them on each other,
and gives them a title and a description with :func:`~ettr.chapters.common.theme.finish`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

import altair as alt
import pandas as pd

from ettr.chapters.common.columns import axis_title, column, tooltips
from ettr.chapters.common.encodings import dash, line_colour, rounded
from ettr.chapters.common.theme import BAND_COLOURS, LINE_DASHES, MODEL_COLOURS, SERIES_COLOURS, touchable

_Look = TypeVar("_Look")
Looks = Mapping[str, tuple[str, list[int]]]
"""Colour and dash of lines by their names."""
AT_COMMAS = "split(datum.label, ', ')"
"""A row's name on lines of its own at its commas, so that the plot keeps room on a phone."""


def across(name: str, *, title: str = "", ticks: int = 6, form: str = "", **scale: Any) -> alt.X:
    """The axis of a column across the chart, logarithmic as sizes and durations need it."""
    axis = alt.Axis(format=form or column(name).axis_format, labelOverlap=True, tickCount=ticks)
    return alt.X(f"{name}:Q", title=title or axis_title(name), scale=_scale(True, scale), axis=axis)


def along(name: str, *, title: str = "", form: str = "", **scale: Any) -> alt.X:
    """The linear axis of a column across the chart; `form` stands for the format of the column's."""
    return alt.X(f"{name}:Q", title=title or axis_title(name), scale=_scale(False, scale), axis=_axis(name, form))


def up(name: str, *, log: bool = False, title: str = "", ticks: int = 5, form: str = "", **scale: Any) -> alt.Y:
    """The axis of a column up the chart; `ticks` are of a logarithmic one, `form` stands for the column's format."""
    axis = _axis(name, form, **({"tickCount": ticks} if log else {}))
    return alt.Y(f"{name}:Q", title=title or axis_title(name), scale=_scale(log, scale), axis=axis)


def rows(name: str, order: Iterable[str], **axis: Any) -> alt.Y:
    """The names of a column, one below the other; what else Altair's ``Axis`` takes is passed on."""
    return alt.Y(f"{name}:N", sort=list(order), title=None, axis=alt.Axis(**axis))


def _axis(name: str, form: str, **others: Any) -> Any:
    form = form or column(name).axis_format
    return alt.Axis(format=form, **others) if form or others else alt.Undefined


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
    order: str = "",
    dashes: tuple[str, Mapping[str, list[int]]] | None = None,
    clip: bool = True,
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
        As from :func:`~ettr.chapters.common.columns.tooltips`.
    title : str, optional
        Of the legend.
    order : str
        Column by which points are joined, if not by `x`.
    dashes : (str, mapping), optional
        Another column that the dash stands for, and a dash by its values.
    clip : bool
        Cut lines off where they leave the picture.
    **mark
        What else Altair's ``mark_line`` takes.
    """
    given = looks if isinstance(looks, Mapping) else series(looks)
    present = {name: given[name] for name in given if name in set(frame[by])}
    second = dash(by, title, {name: dashed for name, (_, dashed) in present.items()})
    if dashes is not None:
        column_of, all_dashes = dashes
        there = {name: dashed for name, dashed in all_dashes.items() if name in set(frame[column_of])}
        second = dash(column_of, axis_title(column_of), there).legend(symbolType="stroke", symbolSize=300)
    chart = (
        alt.Chart(frame)
        .mark_line(clip=clip or alt.Undefined, **mark)
        .encode(
            x=x,
            y=y,
            color=line_colour(by, title, {name: colour for name, (colour, _) in present.items()}),
            strokeDash=second,
            tooltip=tips,
        )
    )
    return touchable(chart.encode(order=alt.Order(f"{order}:Q")) if order else chart, _visible(frame, y))


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
        As from :func:`~ettr.chapters.common.columns.tooltips`.
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
            color=colours(by, {name: look[0] for name, look in looks.items()}, title),
            shape=alt.Shape(f"{by}:N", title=title, scale=shape),
            tooltip=tips,
        )
    )


def present(looks: Mapping[str, _Look], values: Iterable[str]) -> dict[str, _Look]:
    """The looks of the names that there are, in the order of the looks."""
    there = set(values)
    return {name: look for name, look in looks.items() if name in there}


def colours(by: str, of: Mapping[str, str], title: str | None = None) -> alt.Color:
    """Colours by name."""
    return alt.Color(f"{by}:N", title=title, scale=alt.Scale(domain=[*of], range=[*of.values()]))


def squares(by: str, colours: Mapping[str, str], title: str | None = None, **legend: Any) -> alt.Color:
    """Colours of areas by name, with squares in the legend; what else Altair's ``Legend`` takes is passed on."""
    scale = alt.Scale(domain=[*colours], range=[*colours.values()])
    return alt.Color(f"{by}:N", title=title, scale=scale, legend=alt.Legend(symbolType="square", **legend))


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


def spans(frame: pd.DataFrame, y: alt.Y, low: str = "low", high: str = "high") -> Any:
    """Lines across, from one column to another."""
    chart = alt.Chart(frame).mark_rule(strokeWidth=1.5)
    return chart.encode(y=y, x=alt.X(f"{low}:Q"), x2=alt.X2(f"{high}:Q"))


def goal(value: float, name: str = "ettr") -> Any:
    """A dashed line across at a value of a column."""
    return rule(alt.Y(f"{name}:Q"), value, strokeDash=[3, 3])


def rule(axis: alt.X | alt.Y, value: float, **mark: Any) -> Any:
    """A line at a value of an axis; as the closed form is drawn, if nothing else is said of the mark."""
    look = mark or {"color": MODEL_COLOURS["exact"], "strokeWidth": 2}
    line = alt.Chart(pd.DataFrame({_field(axis): [value]})).mark_rule(**look)
    return line.encode(axis)


def named_rule(name: str, value: float, text: str) -> list[Any]:
    """A dashed line up at a value of a column, with a text at its head."""
    at, x = alt.Chart(pd.DataFrame({name: [float(value)], "name": [text]})), alt.X(f"{name}:Q")
    label = at.mark_text(align="right", dx=-5, baseline="top").encode(x=x, y=alt.value(4), text=alt.Text("name:N"))
    return [at.mark_rule(strokeDash=[3, 3]).encode(x=x), label]


def measured(
    frame: pd.DataFrame,
    x: alt.X,
    y: alt.Y,
    ends: tuple[str, str],
    by: str,
    looks: Mapping[str, tuple[str, str]],
    size: int,
    tips: list[alt.Tooltip],
    title: str | None = None,
    joined: bool = True,
    area: bool = False,
) -> list[Any]:
    """Points with the ranges that their values lie in, told apart by colour and shape.

    Parameters
    ----------
    frame : DataFrame
        A row a point.
    x, y : axes
        As from :func:`across` and :func:`up`.
    ends : (str, str)
        Columns with the ends of the ranges.
    by : str
        Column with what is told apart.
    looks : mapping
        A colour and a shape by its values.
    size : int
        Of a point. [px²]
    tips : list
        As from :func:`~ettr.chapters.common.columns.tooltips`.
    title : str, optional
        Of the legend.
    joined : bool
        Draw lines from point to point.
    area : bool
        Draw the ranges as one area, and not as a line each.
    """
    base = alt.Chart(frame).encode(x=x, color=colours(by, {name: look[0] for name, look in looks.items()}, title))
    spread = base.mark_area(opacity=0.25) if area else base.mark_rule(strokeWidth=2)
    layers = [spread.encode(y=alt.Y(f"{ends[0]}:Q"), y2=alt.Y2(f"{ends[1]}:Q"))]
    if joined:
        layers.append(base.mark_line(strokeWidth=1.5).encode(y=y))
    return [*layers, shapes(frame, x, y, by, looks, size, tips, title)]


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
