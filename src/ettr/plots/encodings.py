"""Labels, subtitles and rounding shared by several charts."""

from __future__ import annotations

from typing import Any

import pandas as pd


def but_size(subtitle: str) -> str:
    """Return the subtitle of a chart over cluster sizes.

    Examples
    --------
    >>> but_size("Llama 3 405B")
    'Llama 3 405B, with other sizes'
    """
    return f"{subtitle}, with other sizes" if subtitle else ""


def shared_names(frame: pd.DataFrame, x: pd.Series, y: pd.Series, name: str) -> pd.Series:
    """Return labels of points without overlap: nearby points share a label with one line per name.

    Parameters
    ----------
    frame : DataFrame
        One row per point.
    x, y : Series
        Positions, in units of the distance at which two labels touch.
    name : str
        Column of the names.

    Returns
    -------
    Series of str
        Names of each group at its leftmost point, from the top; empty at the others.

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
    """Return a subtitle with an explanation of marks that have no legend.

    Examples
    --------
    >>> with_marks("Llama 3 405B", "triangles: bounds of other runs")
    'Llama 3 405B (triangles: bounds of other runs)'
    """
    return f"{subtitle} ({marks})" if subtitle else marks


def rounded(frame: pd.DataFrame, digits: int = 5) -> pd.DataFrame:
    """Return a frame with floats rounded to significant digits, to keep pages small.

    Examples
    --------
    >>> rounded(pd.DataFrame({"ettr": [0.9086431]}))["ettr"].tolist()
    [0.90864]
    """
    columns = frame.select_dtypes("float").columns
    values = {name: [float(f"{value:.{digits}g}") for value in frame[name]] for name in columns}
    return frame.assign(**values)
