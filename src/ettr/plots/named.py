"""Layers of charts with named datasets, which the script of a page can replace."""

from __future__ import annotations

from typing import Any

import altair as alt
import pandas as pd

from ettr.plots import builders

Datasets = dict[str, pd.DataFrame]
"""Tables of a chart, by the names of its datasets."""
DEFAULTS = {"target": 0.9, "repair_h": 24.0, "level": 0.99, "events": 10.0, "in_days": 30.0}
"""Initial values of the questions that a reader can change (assumed)."""


def chart(rows: Datasets, name: str) -> Any:
    """Return a chart of one of the datasets, by its name."""
    values = rows[name].to_dict("records")
    return alt.Chart(alt.InlineData(values=values, name=name))


def target_line(rows: Datasets, name: str) -> Any:
    column = rows[name].columns[0]
    return chart(rows, name).mark_rule(strokeDash=[6, 4], strokeWidth=1.5).encode(y=alt.Y(f"{column}:Q"))


def interval_looks(column: str, colours: list[str], dashes: list[list[int]]) -> dict[str, Any]:
    """Return colour and dash of the best and the current interval.

    The scales have no domain, so the legend lists only intervals that occur; ``best`` always does, and comes first in
    the alphabet.
    """
    legend = alt.Legend(symbolType="stroke", symbolStrokeWidth=3, symbolSize=300)
    return {
        "color": alt.Color(f"{column}:N", title="Interval", scale=alt.Scale(range=colours), legend=legend),
        "strokeDash": alt.StrokeDash(f"{column}:N", title="Interval", scale=alt.Scale(range=dashes), legend=legend),
    }


def touched(chart: alt.Chart, tips: list[Any]) -> list[alt.Chart]:
    """Return a line with invisible points for its tooltips."""
    visible = chart.encode(tooltip=alt.value(None))
    return [visible, chart.mark_point(size=160).encode(opacity=alt.value(0), tooltip=tips)]


def ettr_axis() -> alt.Y:
    """Return the vertical axis of ETTR, which need not begin at zero."""
    return builders.up("ettr", zero=False)


def probability_axis(title: str) -> alt.Y:
    """Return the vertical axis of the column ``chance``, from 0 to 100%."""
    return alt.Y("chance:Q", title=title, axis=alt.Axis(format="%"), scale=alt.Scale(domain=[0, 1]))
