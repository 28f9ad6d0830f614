"""What a target needs: a table of one field alone, and a chart of two together."""

from __future__ import annotations

from typing import Any

import altair as alt
import pandas as pd

from ettr.chapters.common.encodings import dash, line_colour, logarithmic, rounded
from ettr.chapters.common.table import Table
from ettr.chapters.common.theme import MODEL_COLOURS, finish, layered, need, touchable
from ettr.scenario import Scenario

_COLOURS = ["#289561", "#1f95ec", "#e46d09", "#8d48b3", "#a27505"]
_DASHES = [[1, 0], [8, 2], [2, 3], [6, 3], [8, 2, 2, 2]]


def table(frame: pd.DataFrame, caption: str) -> Table:
    """What each field would have to be, a row a field and a column a size.

    Parameters
    ----------
    frame : DataFrame
        Cells as from ``requirement_words.cells``: ``field``, ``given``, and a column a size.
    caption : str
        What the table shows.
    """
    need(frame, "field", "given")
    return Table(frame.rename(columns={"field": "Field", "given": "Scenario"}), caption)


def frontiers(frame: pd.DataFrame, published: pd.DataFrame, scenario: Scenario, title: str, subtitle: str = "") -> Any:
    """The largest failure rate that reaches a target with each restart time, for several sizes.

    Parameters
    ----------
    frame : DataFrame
        As from ``requirement_tables.frontiers``; may be empty.
    published : DataFrame
        As from ``requirement_tables.rates_and_restarts``.
    scenario : Scenario
        The run; its own rate and restart are marked.
    title, subtitle : str
        The statement, and the scenario.
    """
    need(frame, "n_gpus", "rate", "restart_min", "interval_min")
    need(published, "run", "n_gpus", "rate", "restart_min", "restart_is")
    shown = rounded(frame.assign(size=[f"{value:,.0f} GPUs" for value in frame["n_gpus"]]))
    sizes = list(dict.fromkeys(shown["size"]))
    across = logarithmic("rate", "Failures per 1000 node-days")
    up = alt.Y(
        "restart_min:Q",
        title="Restart time [min]",
        scale=alt.Scale(type="log", nice=False),
        axis=alt.Axis(format="~g", tickCount=5),
    )
    lines = (
        alt.Chart(shown)
        .mark_line(clip=True)
        .encode(
            x=across,
            y=up,
            order=alt.Order("restart_min:Q"),
            color=line_colour("size", "Reached below the line on", dict(zip(sizes, _COLOURS, strict=False))),
            strokeDash=dash("size", "Reached below the line on", dict(zip(sizes, _DASHES, strict=False))),
            tooltip=[
                alt.Tooltip("size:N", title="Job"),
                alt.Tooltip("rate:Q", title="Failures per 1000 node-days at most", format=".3~g"),
                alt.Tooltip("restart_min:Q", title="with a restart of [min]", format=".3~g"),
                alt.Tooltip("interval_min:Q", title="Best interval [min]", format=".3~g"),
            ],
        )
    )
    dots = (
        alt.Chart(rounded(published.sort_values("restart_is")))
        .mark_point(size=100, opacity=1, color=MODEL_COLOURS["published"])
        .encode(
            x=across,
            y=up,
            shape=alt.Shape(
                "restart_is:N",
                title="Preset, its restart",
                legend=alt.Legend(orient="bottom"),
                scale=alt.Scale(domain=["published", "assumed"], range=["diamond", "cross"]),
            ),
            tooltip=[
                alt.Tooltip("run:N", title="Run"),
                alt.Tooltip("rate:Q", title="Failures per 1000 node-days", format=".3~g"),
                alt.Tooltip("restart_min:Q", title="Restart [min]", format=".3~g"),
                alt.Tooltip("restart_is:N", title="Restart is"),
            ],
        )
    )
    here = pd.DataFrame({"rate": [scenario.failures.rate], "restart_min": [scenario.recovery.restart_min]})
    named = alt.Chart(here.assign(what="scenario")).mark_text(align="right", dx=-9, dy=12, fontWeight=600)
    on_axes = scenario.failures.rate > 0 and scenario.recovery.restart_min > 0
    mark = [named.encode(x=across, y=up, text=alt.Text("what:N"))] if on_axes else []
    return finish(
        layered(*([touchable(lines)] if len(shown) else []), dots, *mark),
        title=title,
        subtitle=subtitle,
        description=_told(frame, published),
        height=360,
    )


def _told(frame: pd.DataFrame, published: pd.DataFrame) -> str:
    ends = []
    for n_gpus, line in frame.groupby("n_gpus"):
        first, last = line.iloc[0], line.iloc[-1]
        ends.append(
            f"on {n_gpus:,.0f} GPUs {first.rate:.3g} with a restart of {first.restart_min:.2g} minutes and "
            f"{last.rate:.3g} with one of {last.restart_min:.3g}"
        )
    lines = "; ".join(ends) or "no size reaches it with any restart shown"
    return (
        f"Lines of the largest failure rate, per 1000 node-days, that reaches the target with each restart time, both "
        f"logarithmic: {lines}. "
        f"{len(published)} marks stand for the presets."
    )
