"""Charts on mitigations together: lost hours, steps, interactions, shares and costs."""

from __future__ import annotations

from typing import Any

import altair as alt
import pandas as pd

from ettr.chapters.common import builders
from ettr.chapters.common.columns import Column, column, tooltips
from ettr.chapters.common.encodings import rounded, with_marks
from ettr.chapters.common.mitigations import (
    BASES,
    DARK_INK,
    LIGHT_INK,
    ROW_PX,
    both_names,
    labelled,
    nothing,
    rows_of,
)
from ettr.chapters.common.theme import (
    BLUE,
    GREY,
    OCHRE,
    PALE_GREY,
    PART_COLOURS,
    PURPLE,
    RUST,
    VIOLET,
    finish,
    layered,
    need,
)
from ettr.chapters.portfolio.tables import AFTER, BEFORE

_TOTAL = "#5f7d95"
_LOOKS = {
    "shared among all": (PURPLE, "circle"),
    "alone": (BLUE, "triangle-right"),
    "last, beside all others": (OCHRE, "square"),
}
_NOTHING_DAYS = 0.05
"""Less is written as none."""
_KINDS = {
    "exact and greedy": (RUST, "diamond"),
    "exact": (RUST, "square"),
    "greedy": (VIOLET, "triangle-up"),
    "on the front": (BLUE, "circle"),
    "other": (PALE_GREY, "circle"),
}
_CELLS = {
    "more together": ("#8fd0a8", DARK_INK),
    "no difference for certain": ("#c9cccd", DARK_INK),
    "up to a third is lost": ("#f3c99b", DARK_INK),
    "up to two thirds are lost": ("#e08a3c", DARK_INK),
    "nearly all is lost": (RUST, LIGHT_INK),
    "not together": (GREY, LIGHT_INK),
}
"""Fill and ink of a cell by what two mitigations lose beside each other, of the smaller gain."""


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
        As from ``tables.affordable_steps``.
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
    rows = rounded(frame.assign(label=[both_names(one) for one in titles]), 4)
    y = rows_of(titles)
    more = ("added", "low", "high", "alone", "ettr", "cost_usd", "basis")
    tips = tooltips("title", *more, title="Mitigation", ettr="ETTR with all so far")
    axis = alt.X("added:Q", title="Time saved [days]", axis=alt.Axis(tickCount=6))
    colour = builders.squares("basis", builders.present(BASES, frame["basis"]), column("basis").title)
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


def interactions(frame: pd.DataFrame, title: str, subtitle: str = "") -> Any:
    """A map of what two mitigations gain together beyond what each gains alone.

    Parameters
    ----------
    frame : DataFrame
        As from :func:`ettr.compare.interactions`.
    title, subtitle : str
        The statement, and the scenario.

    Returns
    -------
    altair chart or Table
        A table that says so where there is nothing to draw.
    """
    need(frame, "first", "second", "first_title", "second_title", "beyond", "low", "high", "share", "why")
    if frame.empty:
        return nothing(title)
    names = list(dict.fromkeys([*frame["first"], *frame["second"]]))
    numbers = {name: i for i, name in enumerate(names, 1)}
    titles = dict(zip(frame["first"], frame["first_title"], strict=True))
    rows = [f"{numbers[name]}. {titles[name]}" for name in names]
    told = [
        "×" if why else "0.0" if abs(beyond) < _NOTHING_DAYS else f"{beyond:+.1f}"
        for why, beyond in zip(frame["why"], frame["beyond"], strict=True)
    ]
    squares = rounded(
        frame.assign(
            kind=[_cell(row) for row in frame.to_dict("records")],
            told=told,
            label=[both_names(rows[numbers[name] - 1]) for name in frame["first"]],
            number=[str(numbers[name]) for name in frame["second"]],
        ),
        4,
    )
    x = alt.X("number:N", title="Beside", sort=[str(i) for i in numbers.values()], axis=alt.Axis(labelAngle=0))
    more = ("second_title", "beyond", "low", "high", "share", "why")
    share = Column("Of the smaller gain", format="+.0%")
    tips = tooltips("first_title", *more, share=share, why="Not together")
    once = frame[[numbers[a] < numbers[b] for a, b in zip(frame["first"], frame["second"], strict=True)]]
    pairs = "; ".join(
        f"{row.first_title} and {row.second_title} " + ("not together" if row.why else f"{row.beyond:+.2f}")
        for row in once.itertuples()
    )
    return finish(
        builders.cells(squares, x, rows_of(rows), _CELLS, tips),
        title=title,
        subtitle=with_marks(subtitle, "days beyond the sum of both; ×: not together"),
        description=f"A map of days gained by two mitigations beyond the sum of each alone: {pairs}.",
        height=34 * len(names) + 10,
    )


def _cell(row: dict[str, Any]) -> str:
    if row["why"]:
        return "not together"
    if row["low"] <= 0 <= row["high"]:
        return "no difference for certain"
    if row["beyond"] > 0:
        return "more together"
    lost = 1.0 if pd.isna(row["share"]) else -float(row["share"])
    limits = ((1 / 3, "up to a third is lost"), (2 / 3, "up to two thirds are lost"))
    return next((name for limit, name in limits if lost <= limit), "nearly all is lost")


def shares(frame: pd.DataFrame, title: str, subtitle: str = "") -> Any:
    """Shapley values with their intervals, beside the gain alone and the gain beside all others.

    Parameters
    ----------
    frame : DataFrame
        As of :class:`ettr.compare.Attribution`; may be empty.
    title, subtitle : str
        The statement, and the scenario.

    Returns
    -------
    altair chart or Table
        A table that says so where there is nothing to draw.
    """
    need(frame, "title", "value", "low", "high", "alone", "last")
    if frame.empty:
        return nothing(title)
    gains = labelled(frame)
    y = rows_of(frame["title"])
    named_gains = gains.rename(columns=dict(zip(("value", "alone", "last"), _LOOKS, strict=True)))
    long = named_gains.melt(["title", "label", "low", "high"], [*_LOOKS], "kind", "days")
    lines = alt.Chart(gains).mark_rule(strokeWidth=1, opacity=0.5).encode(y=y, x=alt.X("last:Q"), x2="alone:Q")
    ends = alt.Chart(gains).mark_rule(strokeWidth=5, opacity=0.5, color=PURPLE)
    axis = alt.X("days:Q", title="Time saved [days]", axis=alt.Axis(tickCount=6))
    named: dict[str, str | Column] = {"title": "Mitigation", "kind": "Counted", "days": Column("Days", format=".2f")}
    tips = tooltips("title", "kind", "days", "low", "high", **named, low="Shared, 95%: from", high="Shared, 95%: to")
    dots = builders.shapes(long, axis, y, "kind", _LOOKS, 85, tips, filled=True)
    days = "; ".join(
        f"{row.title} {row.value:.2f}, alone {row.alone:.2f}, last {row.last:.2f}" for row in frame.itertuples()
    )
    return finish(
        layered(lines, ends.encode(y=y, x=alt.X("low:Q"), x2="high:Q"), dots),
        title=title,
        subtitle=with_marks(subtitle, "bars: 95%"),
        description=f"Days that belong to each of several mitigations by their Shapley values: {days}.",
        height=ROW_PX * len(frame) + 20,
    )


def front(frame: pd.DataFrame, budget_usd: float, title: str, subtitle: str = "") -> Any:
    """ETTR at the scenario's own pace against cost of every set, with the front and the best within a budget.

    Parameters
    ----------
    frame : DataFrame
        As of ``tables.Choice``.
    budget_usd : float
        What may be spent. [USD]
    title, subtitle : str
        The statement, and the scenario.

    Returns
    -------
    altair chart or Table
        A table that says so where there is nothing to draw.
    """
    need(frame, "names", "titles", "cost_usd", "ettr", "effective_ettr", "days", "saved_usd", "pareto", "kind")
    priced = frame[frame["cost_usd"] > 0]
    if priced.empty:
        return nothing(title)
    sets = rounded(
        priced.drop(columns="titles").assign(musd=priced["cost_usd"] / 1e6, left=priced["saved_usd"] / 1e6), 5
    )
    looks = builders.present(_KINDS, sets["kind"])
    x = alt.X(
        "musd:Q",
        title="Cost [million USD]",
        scale=alt.Scale(type="log", nice=False, padding=10),
        axis=alt.Axis(format="~g", tickCount=5),
    )
    y = alt.Y(
        "effective_ettr:Q",
        title="ETTR at the scenario's own pace",
        scale=alt.Scale(zero=False, padding=10),
        axis=alt.Axis(format=".0%", tickCount=6),
    )
    path = sets[sets["pareto"]].sort_values("musd")
    line = alt.Chart(path).mark_line(interpolate="step-after", color=_KINDS["on the front"][0]).encode(x=x, y=y)
    tips = tooltips("names", "musd", "effective_ettr", "ettr", "days", "left")
    ordered = sets.sort_values("kind", key=lambda kinds: -kinds.map(list(_KINDS).index))
    dots = builders.shapes(ordered, x, y, "kind", looks, alt.Undefined, tips, filled=True).encode(
        size=alt.condition(alt.datum.kind == "other", alt.value(28), alt.value(110))
    )
    limited = sets["musd"].min() <= budget_usd / 1e6 <= sets["musd"].max()
    limit = [builders.rule(alt.X("musd:Q"), budget_usd / 1e6, strokeDash=[3, 3])] if limited else []
    on_front = "; ".join(
        f"{row.names}: {row.cost_usd / 1e6:.2g} million, {row.effective_ettr:.1%}"
        for row in frame[frame["pareto"]].sort_values("cost_usd").itertuples()
    )
    return finish(
        layered(*limit, line, dots),
        title=title,
        subtitle=with_marks(subtitle, "dashed: the budget" if limited else "each point is a set"),
        description=f"Points of ETTR over cost, logarithmic, a point a set of mitigations; on the front {on_front}.",
        height=340,
    )
