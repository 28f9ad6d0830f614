"""Axes, colours and dashes that several charts share."""

from __future__ import annotations

from typing import Any

import pandas as pd


def but_size(subtitle: str) -> str:
    """Subtitle of a chart over sizes other than the scenario's."""
    return f"All but the size as in {subtitle}" if subtitle else ""


def shared_names(frame: pd.DataFrame, x: pd.Series, y: pd.Series, name: str) -> pd.Series:
    """Names to the left of points, those of a group in one, a line each, so that none lies on another.

    Parameters
    ----------
    frame : DataFrame
        A row a point.
    x, y : Series
        Where they lie, in units within which two names would touch.
    name : str
        Column of the names.

    Returns
    -------
    Series of str
        At the leftmost point of each group its names, from the top; empty at the others.

    Examples
    --------
    >>> points = pd.DataFrame({"run": ["a", "b", "c"], "x": [1.0, 1.5, 9.0], "y": [0.0, 0.5, 0.0]})
    >>> shared_names(points, points["x"], points["y"], "run").tolist()
    ['b\\na', '', 'c']
    """
    order = list(x.sort_values().index)
    groups: list[list[Any]] = []
    for point in order:
        near = [group for group in groups if any(abs(x[point] - x[i]) < 1 and abs(y[point] - y[i]) < 1 for i in group)]
        groups = [group for group in groups if group not in near] + [[*(i for group in near for i in group), point]]
    names = pd.Series("", index=frame.index)
    for group in groups:
        names[min(group, key=order.index)] = "\n".join(frame.loc[sorted(group, key=lambda i: -y[i]), name])
    return names


def with_marks(subtitle: str, marks: str) -> str:
    """A subtitle that also says what marks without a legend mean."""
    return f"{subtitle} ({marks})" if subtitle else marks


def rounded(frame: pd.DataFrame, digits: int = 5) -> pd.DataFrame:
    """The frame with fewer digits than it was computed with: a page holds each of them."""
    numbers = frame.select_dtypes("float").columns
    kept = {name: [float(f"{value:.{digits}g}") for value in frame[name]] for name in numbers}
    return frame.assign(**kept)
