"""What a target needs: a table of one field alone, and a chart of two together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import altair as alt
import pandas as pd

from ettr.chapters.common import builders
from ettr.chapters.common.columns import tooltips
from ettr.chapters.common.encodings import rounded
from ettr.chapters.common.table import Table, named
from ettr.chapters.common.theme import finish, layered, need

if TYPE_CHECKING:
    from ettr.scenario import Scenario


def table(frame: pd.DataFrame, caption: str) -> Table:
    """What each field would have to be, a row a field and a column a size.

    Parameters
    ----------
    frame : DataFrame
        Cells as from ``requirement_words.cells``: ``field``, ``given``, and a column a size.
    caption : str
        What the table shows.
    """
    sizes = [name for name in frame.columns if name not in ("field", "given")]
    return named(frame, {"field": "Field", "given": "Scenario"} | {size: size for size in sizes}, caption)


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
    need(published, "run", "rate", "restart_min", "restart_is")
    curves = rounded(frame.assign(size=[f"{value:,.0f} GPUs" for value in frame["n_gpus"]]))
    across, up = builders.across("rate"), builders.up("restart_min", log=True)
    tips = tooltips(
        "size",
        "rate",
        "restart_min",
        "interval_min",
        rate="Failures per 1000 node-days at most",
        restart_min="with a restart of",
        interval_min="Best interval",
    )
    sizes = list(dict.fromkeys(curves["size"]))
    legend, joined = "Reached below the line on", "restart_min"
    lines = builders.lines(curves, across, up, "size", sizes, tips, legend, joined, clip=True)
    shape = alt.Shape(
        "restart_is:N",
        title="Preset, its restart",
        legend=alt.Legend(orient="bottom"),
        scale=alt.Scale(domain=["published", "assumed"], range=["diamond", "cross"]),
    )
    presets = rounded(published.sort_values("restart_is"))
    dots = builders.dots(presets, across, up, shape, 100, tooltips("run", "rate", "restart_min", "restart_is"))
    rate, restart_min = scenario.failure_rate, scenario.recovery.restart_min
    here = alt.Chart(pd.DataFrame({"rate": [rate], "restart_min": [restart_min], "what": ["scenario"]}))
    named_here = here.mark_text(align="right", dx=-9, dy=12, fontWeight=600).encode(x=across, y=up, text="what:N")
    on_axes = rate > 0 and restart_min > 0
    return finish(
        layered(*([lines] if len(curves) else []), dots, *([named_here] if on_axes else [])),
        title=title,
        subtitle=subtitle,
        description=_description(frame, published),
        height=360,
    )


def _description(frame: pd.DataFrame, published: pd.DataFrame) -> str:
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
