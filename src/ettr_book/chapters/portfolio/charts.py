"""Charts on the recommended set: lost hours, steps, and decisive assumptions."""

from __future__ import annotations

from typing import Any

import altair as alt
import pandas as pd

from ettr.core.sentences import capital, count
from ettr.plots import builders
from ettr.plots.columns import Column, column, tooltips
from ettr.plots.encodings import rounded
from ettr.plots.theme import BLUE, ORANGE, PART_COLOURS, NoChart
from ettr_book.chapters.common.mitigations import bars, hours, net_saving, of_effects, ranked
from ettr_book.chapters.portfolio.tables import AFTER, BEFORE

_TOTAL = "#5f7d95"
_MOST_DRAWN = 12


def lost_hours(frame: pd.DataFrame, title: str, subtitle: str = "") -> Any:
    """Draw a waterfall of the lost hours of a run, without and with the recommended set.

    Parameters
    ----------
    frame : DataFrame
        As from ``tables.lost_hours``.
    title, subtitle : str
        Finding of the chart, and the scenario.

    Returns
    -------
    altair chart or NoChart
        The title alone if there is nothing to draw.
    """
    if frame.empty:
        return NoChart(title)
    parts = frame["part"].tolist()
    total = frame["part"].isin([BEFORE, AFTER])
    labels = [
        hours(row.hours) if is_total else f"{'+' if row.hours > 0 else '-'}{hours(abs(row.hours))}"
        for row, is_total in zip(frame.itertuples(), total, strict=True)
    ]
    ends = frame[["start", "end"]]
    colours = [PART_COLOURS.get(part, _TOTAL) for part in parts]
    rows = frame.assign(colour=colours, label=labels, right=ends.max(axis=1))
    scale = alt.Scale(domain=[min(0.0, float(ends.min().min())), 1.15 * float(ends.max().max())])
    x = alt.X("start:Q", title="Lost time [h per month]", axis=alt.Axis(tickCount=5), scale=scale)
    y = builders.rows("part", parts, labelLimit=160)
    colour = alt.Color("colour:N", scale=None)
    return ranked(
        bars(rows, x, "end", colour, tooltips("part", "before", "after", "hours"), y),
        len(frame),
        title,
        subtitle,
        "A waterfall of the hours lost per month",
        (f"{part} {label}" for part, label in zip(parts, labels, strict=True)),
    )


def steps(frame: pd.DataFrame, title: str, subtitle: str = "") -> Any:
    """Draw the saving of each mitigation with all others in place, alone, and on top of the steps above it.

    Parameters
    ----------
    frame : DataFrame
        As from ``tables.steps``.
    title, subtitle : str
        Finding of the chart, and the scenario.

    Returns
    -------
    altair chart or NoChart
        The title alone if there is nothing to draw.
    """
    if frame.empty:
        return NoChart(title)
    rows = frame[["effect", "saved_h", "alone_h", "total_h", "ettr", "price_usd"]].assign(
        title=[f"{i}. {name}" for i, name in enumerate(frame["title"], 1)],
        label=[f"{hours(total)} h" for total in frame["total_h"]],
        right=frame[["saved_h", "alone_h"]].max(axis=1),
    )
    named = {
        "saved_h": Column("Saves with the others in place", "h per month", ".3~g"),
        "alone_h": Column("Saves alone", "h per month", ".3~g"),
        "total_h": Column("Cumulative", "h per month", ".3~g"),
    }
    tips = tooltips("title", *named, "ettr", "price_usd", "effect", title="Mitigation", ettr="ETTR so far", **named)
    scale = alt.Scale(domain=[0, 1.15 * float(rows["right"].max())])
    x = alt.X("saved_h:Q", title="Time saved [h per month]", axis=alt.Axis(tickCount=6), scale=scale)
    each = (
        f"{row.title} {hours(row.saved_h)}, alone {hours(row.alone_h)}, cumulative {hours(row.total_h)}"
        for row in frame.itertuples()
    )
    return ranked(
        bars(rows, x, "", of_effects(frame["effect"], column("effect").title), tips, tick="alone_h"),
        len(frame),
        title,
        subtitle,
        "Bars of the hours per month that each step saves with the others in place",
        each,
        "bars: with all the others in place; ticks: alone; numbers: cumulative",
    )


def decisive(frame: pd.DataFrame, title: str, subtitle: str = "") -> Any:
    """Draw the net saving of the recommended set with one assumption at a time at either end of its range.

    Parameters
    ----------
    frame : DataFrame
        As from ``tables.decisive``; may be empty.
    title, subtitle : str
        Finding of the chart, and the scenario.

    Returns
    -------
    altair chart or NoChart
        The title alone if there is nothing to draw.
    """
    moving = frame[(frame["swing"] > 0) | frame["changes_set"]].head(_MOST_DRAWN)
    if moving.empty:
        return NoChart(title)
    nets = moving[["net", "net_low", "net_high"]]
    names, values = [capital(name) for name in moving["name"]], moving["range"].tolist()
    drawn = pd.DataFrame({"name": names, "range": values, "lowest": nets.min(axis=1), "highest": nets.max(axis=1)})
    marks = pd.DataFrame(
        [
            {"name": name, "range": span, "net": net, "set": ", ".join(ids) or "none"}
            for name, span, row in zip(names, values, moving.itertuples(), strict=True)
            for net, ids in ((row.net_low, row.ids_low), (row.net_high, row.ids_high))
            if row.changes_set and ids is not None and set(ids) != set(row.ids)
        ],
        columns=["name", "range", "net", "set"],
    )
    y = builders.rows("name", names, labelLimit=280)
    unit = moving["net_unit"].iloc[0]
    x = alt.X("lowest:Q", title=f"Net saving of the recommended set [{unit}]", axis=alt.Axis(tickCount=6))
    label = {"name": Column("Assumption"), "range": Column("Plausible range")}
    span = {"lowest": Column("Net saving from", unit, ".3~g"), "highest": Column("to", unit, ".3~g")}
    layers = bars(drawn, x, "highest", alt.value(BLUE), tooltips(*label, *span, **label, **span), y)
    current = alt.Chart(rounded(drawn.head(1).assign(net=moving["net"].iloc[0]), 4)).mark_rule(strokeWidth=1.5)
    layers.append(current.encode(x=alt.X("net:Q")))
    if len(marks):
        other = alt.Chart(rounded(marks, 4)).mark_point(shape="diamond", size=90, color=ORANGE, opacity=1)
        tips = tooltips(*label, "set", **label, set=Column("Recommended at this end"))
        layers.append(other.encode(y=y, x=alt.X("net:Q"), tooltip=tips))
    note = "line: values used here; diamonds: another set is recommended at this end"
    if len(moving) < len(frame):
        note = f"{count(len(moving))} of {count(len(frame))} assumptions; {note}"
    each = (
        f"{row.name} {net_saving(row.lowest, unit)} to {net_saving(row.highest, unit)}" for row in drawn.itertuples()
    )
    description = "Ranges of the net saving of the recommended set, one row per assumption"
    return ranked(layers, len(moving), title, subtitle, description, each, note)
