"""Charts on mitigations together: lost hours, steps, and which input decides."""

from __future__ import annotations

from typing import Any

import altair as alt
import pandas as pd

from ettr.chapters.common import builders
from ettr.chapters.common.columns import column, tooltips
from ettr.chapters.common.encodings import rounded, with_marks
from ettr.chapters.common.mitigations import (
    EFFECTS,
    ROW_PX,
    input_name,
    nothing,
    rows_of,
)
from ettr.chapters.common.theme import BLUE, GREEN, GREY, OCHRE, PART_COLOURS, PINK, RUST, VIOLET, finish, layered, need
from ettr.chapters.portfolio.tables import AFTER, BEFORE

_TOTAL = "#5f7d95"
_IDS = (BLUE, RUST, GREEN, VIOLET, OCHRE, PINK)
_GAINS = ("gain", "gain_low", "gain_high")


def lost_hours(frame: pd.DataFrame, title: str, subtitle: str = "") -> Any:
    """A waterfall of the lost hours of a run, without and with mitigations.

    Parameters
    ----------
    frame : DataFrame
        As from ``tables.lost_hours``.
    title, subtitle : str
        The statement, and the scenario.
    """
    need(frame, "part", "start", "end", "hours", "before", "after")
    parts = frame["part"].tolist()
    colours = [PART_COLOURS.get(part, _TOTAL) for part in parts]
    total = frame["part"].isin([BEFORE, AFTER])
    signed = [
        f"{row.hours:,.0f}" if name else f"{row.hours:+,.0f}"
        for row, name in zip(frame.itertuples(), total, strict=False)
    ]
    ends = frame[["start", "end"]]
    rows = rounded(frame.assign(colour=colours, told=signed, right=ends.max(axis=1)), 5)
    y = alt.Y("part:N", title=None, sort=parts, axis=alt.Axis(labelLimit=160))
    bars = (
        alt.Chart(rows)
        .mark_bar()
        .encode(
            y=y,
            x=alt.X(
                "start:Q",
                title="Lost time [h]",
                axis=alt.Axis(tickCount=5),
                scale=alt.Scale(domain=[min(0.0, float(ends.min().min())), 1.15 * float(ends.max().max())]),
            ),
            x2="end:Q",
            color=alt.Color("colour:N", scale=None),
            tooltip=tooltips("part", "before", "after", "hours"),
        )
    )
    text = alt.Chart(rows).mark_text(align="left", dx=4, fontSize=11).encode(y=y, x=alt.X("right:Q"), text="told:N")
    return finish(
        layered(bars, text),
        title=title,
        subtitle=subtitle,
        description=(
            "A waterfall of lost hours: "
            + "; ".join(f"{row.part} {change}" for row, change in zip(frame.itertuples(), signed, strict=True))
            + "."
        ),
        height=ROW_PX * len(frame) + 20,
    )


def steps(frame: pd.DataFrame, title: str, subtitle: str = "") -> Any:
    """What each mitigation adds to those before it, and what it would gain alone.

    Parameters
    ----------
    frame : DataFrame
        As from ``tables.steps_of_set``.
    title, subtitle : str
        The statement, and the scenario.

    Returns
    -------
    altair chart or Table
        A table that says so where there is nothing to draw.
    """
    need(frame, "step", "title", "basis", "added", "low", "high", "alone", "kept", "ettr", "cost_usd")
    if frame.empty:
        return nothing(title)
    titles = [f"{row.step}. {row.title}" for row in frame.itertuples()]
    rows = rounded(frame.assign(title=titles), 4)
    y = rows_of(titles)
    more = ("added", "low", "high", "alone", "ettr", "cost_usd", "basis")
    tips = tooltips("title", *more, title="Mitigation", ettr="ETTR with all so far")
    axis = alt.X("added:Q", title="Time saved [days]", axis=alt.Axis(tickCount=6))
    colour = builders.squares("basis", builders.present(EFFECTS, frame["basis"]), column("basis").title)
    bars = alt.Chart(rows).mark_bar(opacity=0.9).encode(y=y, x=axis, color=colour, tooltip=tips)
    ends = alt.Chart(rows).mark_rule(strokeWidth=2).encode(y=y, x=alt.X("low:Q"), x2="high:Q")
    alone = alt.Chart(rows).mark_tick(thickness=3, size=20, color=BLUE)
    days = "; ".join(f"{row.title} {row.added:.2f}, alone {row.alone:.2f}" for row in frame.itertuples())
    return finish(
        layered(bars, ends, alone.encode(y=y, x=alt.X("alone:Q"), tooltip=tips)),
        title=title,
        subtitle=with_marks(subtitle, "thin lines: 95%; blue ticks: alone"),
        description=f"Bars of the days that each step adds: {days}.",
        height=ROW_PX * len(frame) + 20,
    )


def tornado(frame: pd.DataFrame, title: str, subtitle: str = "", n_inputs: int = 10) -> Any:
    """Gains with one input at a time at either end of its range.

    Parameters
    ----------
    frame : DataFrame
        As from :func:`ettr.recommendation.tornado`; may be empty.
    title, subtitle : str
        The statement, and the scenario.
    n_inputs : int
        Inputs that are drawn: those with the largest swing.

    Returns
    -------
    altair chart or Table
        A table that says so where there is nothing to draw.
    """
    need(frame, "input", "status", "given", "low_value", "high_value", "title", *_GAINS, "swing")
    inputs = list(dict.fromkeys(frame["input"]))[:n_inputs]
    rows = frame[frame["input"].isin(inputs) & frame[["gain_low", "gain_high"]].notna().all(axis=1)]
    if rows.empty:
        return nothing(title)
    titles = list(dict.fromkeys(frame.sort_values("gain", ascending=False)["title"]))
    gains = rows[[*_GAINS]]
    drawn = rows.drop(columns=["best_low", "best_high"])
    ranges = rounded(
        drawn.assign(
            least=gains.min(axis=1),
            most=gains.max(axis=1),
            input=[input_name(name) for name in rows["input"]],
        ),
        4,
    )
    y = alt.Y("input:N", title=None, sort=[input_name(name) for name in inputs], axis=alt.Axis(labelLimit=280))
    offset = alt.YOffset("title:N", sort=titles, scale=alt.Scale(paddingInner=0.3))
    colours = dict(zip(titles, _IDS, strict=False))
    colour = builders.squares("title", colours, columns=1, labelLimit=260)
    ends = ("low_value", "gain_low", "high_value", "gain_high")
    tips = tooltips("input", "status", "title", *ends, "gain", title="Mitigation", status="It is")
    x = alt.X("least:Q", title="Time saved [days]", scale=alt.Scale(zero=False), axis=alt.Axis(tickCount=6))
    bars = alt.Chart(ranges).mark_bar().encode(y=y, yOffset=offset, x=x, x2="most:Q", color=colour, tooltip=tips)
    given = alt.Chart(ranges).mark_tick(thickness=2, color=GREY)
    spans = "; ".join(
        f"{input_name(row.input)}, {row.title}: {row.gain_low:.2f} to {row.gain_high:.2f}"
        for row in rows.itertuples(index=False)
    )
    return finish(
        layered(bars, given.encode(y=y, yOffset=offset, x=alt.X("gain:Q"))),
        title=title,
        subtitle=with_marks(subtitle, "ticks: as given"),
        description=f"Ranges of days saved with each input from the low to the high end of its range: {spans}.",
        height=max(18, 14 * len(titles) + 6) * len(inputs) + 10,
    )
