"""Time budget: where the wall-clock time of a run goes."""

from __future__ import annotations

from typing import Any

import altair as alt
import pandas as pd

from ettr.core.results import TimeBudget
from ettr.core.sentences import say
from ettr.plots import builders
from ettr.plots.columns import axis_title, tooltips
from ettr.plots.encodings import but_size
from ettr.plots.theme import PART_COLOURS, finish


def time_budget(hours: TimeBudget, *, title: str = "", subtitle: str = "") -> Any:
    """Draw the lost time, one bar per part.

    Parameters
    ----------
    hours : TimeBudget
        As from :func:`ettr.budget.exact`, or the ``budget`` of a simulation.
    title : str
        Finding of the chart; by default the share of the time that is lost.
    subtitle : str
        Whose numbers these are.

    Examples
    --------
    >>> import ettr
    >>> run = ettr.Scenario.load("llama3-405b")
    >>> time_budget(ettr.budget.exact(run), subtitle=run.title).title.text
    '9.1% of the time is lost'
    """
    title = title or say("{lost:share} of the time is lost", lost=1 - hours.ettr)
    frame = hours.to_frame()
    lost = frame[(frame["part"] != "productive") & (frame["share"] > 0)]
    shares = ", ".join(f"{row.part} {row.share:.1%}" for row in frame.itertuples() if row.share > 0)
    across = alt.X(
        "share:Q", title="Share of wall-clock time [%]", axis=alt.Axis(format="%"), scale=alt.Scale(zero=True)
    )
    order = lost.sort_values("share", ascending=False)["part"].tolist()
    base = alt.Chart(lost).encode(y=builders.rows("part", order))
    colour = builders.colours("part", {part: PART_COLOURS[part] for part in order}).legend(None)
    bars = base.mark_bar().encode(x=across, color=colour, tooltip=tooltips("part", "hours", "share"))
    labels = base.mark_text(align="left", dx=4).encode(x="share:Q", text=alt.Text("share:Q", format=".1%"))
    return finish(
        bars + labels,
        title=title,
        subtitle=subtitle,
        description=f"Bars of the lost shares of wall-clock time. All parts: {shares}.",
        height=34 * len(lost) + 20,
    )


def time_budget_over(frame: pd.DataFrame, axis: str, *, title: str, subtitle: str = "") -> Any:
    """Draw the lost shares of wall-clock time, stacked, over an interval or a size.

    Parameters
    ----------
    frame : DataFrame
        ``part``, ``share`` and the column ``axis``.
    axis : str
        ``"interval_min"`` [min] or ``"n_gpus"`` [GPUs].
    title, subtitle : str
        Finding of the chart, and the scenario.
    """
    lost = frame[frame["part"] != "productive"]
    name, ends = axis_title(axis), (lost[axis].min(), lost[axis].max())
    totals = [lost.loc[lost[axis] == end, "share"].sum() for end in ends]
    tips = tooltips("part", axis, "share")
    return finish(
        builders.stacked(lost, builders.across(axis), builders.up("share"), "part", PART_COLOURS, tips),
        title=title,
        subtitle=but_size(subtitle) if axis == "n_gpus" else subtitle,
        description=(
            f"Stacked areas of lost shares over {name}: {', '.join(lost['part'].unique())}. In all {totals[0]:.0%} "
            f"are lost at {ends[0]:,.3g} and {totals[1]:.0%} at {ends[1]:,.3g}."
        ),
    )
