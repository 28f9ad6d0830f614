"""Charts on mitigations together: lost hours, steps, interactions, shares and costs."""

from __future__ import annotations

from typing import Any

import altair as alt
import pandas as pd

from ettr.chapters.common.encodings import rounded, with_marks
from ettr.chapters.common.mitigations import BASES, ROW_PX, both_names, nothing, rows_of
from ettr.chapters.common.theme import PART_COLOURS, finish, layered, need
from ettr.chapters.portfolio.tables import AFTER, BEFORE

_TOTAL = "#5f7d95"
_LOOKS = {
    "value": ("shared among all", "#8d48b3", "circle"),
    "alone": ("alone", "#1f95ec", "triangle-right"),
    "last": ("last, beside all others", "#a27505", "square"),
}
_NOTHING_DAYS = 0.05
"""Less is written as none."""
_KINDS = {
    "exact and greedy": ("#a8480a", "diamond"),
    "exact": ("#a8480a", "square"),
    "greedy": ("#8449bc", "triangle-up"),
    "on the front": ("#1f95ec", "circle"),
    "other": ("#8a8d8c", "circle"),
}
_CELLS = {
    "more together": ("#8fd0a8", "#1d2327"),
    "no difference for certain": ("#c9cccd", "#1d2327"),
    "up to a third is lost": ("#f3c99b", "#1d2327"),
    "up to two thirds are lost": ("#e08a3c", "#1d2327"),
    "nearly all is lost": ("#a8480a", "#ffffff"),
    "not together": ("#636562", "#ffffff"),
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
            tooltip=[
                alt.Tooltip("part:N", title="Part"),
                alt.Tooltip("before:Q", title="Before [h]", format=",.1f"),
                alt.Tooltip("after:Q", title="After [h]", format=",.1f"),
                alt.Tooltip("hours:Q", title="Hours", format=",.1f"),
            ],
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
    there = [name for name in BASES if name in set(frame["basis"])]
    tips = [
        alt.Tooltip("title:N", title="Mitigation"),
        alt.Tooltip("added:Q", title="Days added", format=".2f"),
        alt.Tooltip("low:Q", title="at least", format=".2f"),
        alt.Tooltip("high:Q", title="at most", format=".2f"),
        alt.Tooltip("alone:Q", title="Days alone", format=".2f"),
        alt.Tooltip("ettr:Q", title="ETTR with all so far", format=".1%"),
        alt.Tooltip("cost_usd:Q", title="Costs [USD]", format=",.0f"),
        alt.Tooltip("basis:N", title="What it changes is"),
    ]
    bars = (
        alt.Chart(rows)
        .mark_bar(opacity=0.9)
        .encode(
            y=y,
            x=alt.X("added:Q", title="Time saved [days]", axis=alt.Axis(tickCount=6)),
            color=alt.Color(
                "basis:N",
                title="What it changes is",
                scale=alt.Scale(domain=there, range=[BASES[name][0] for name in there]),
                legend=alt.Legend(symbolType="square"),
            ),
            tooltip=tips,
        )
    )
    ends = alt.Chart(rows).mark_rule(strokeWidth=2).encode(y=y, x=alt.X("low:Q"), x2="high:Q")
    alone = alt.Chart(rows).mark_tick(thickness=3, size=20, color="#1f95ec")
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
    kinds = [_cell(row) for row in frame.to_dict("records")]
    squares = rounded(
        frame.assign(
            kind=kinds,
            ink=[_CELLS[kind][1] for kind in kinds],
            told=[
                "×" if why else "0.0" if abs(beyond) < _NOTHING_DAYS else f"{beyond:+.1f}"
                for why, beyond in zip(frame["why"], frame["beyond"], strict=True)
            ],
            label=[both_names(rows[numbers[name] - 1]) for name in frame["first"]],
            number=[str(numbers[name]) for name in frame["second"]],
        ),
        4,
    )
    order = [str(i) for i in numbers.values()]
    x = alt.X("number:N", title="Beside", sort=order, axis=alt.Axis(labelAngle=0))
    there = [kind for kind in _CELLS if kind in set(kinds)]
    base = alt.Chart(squares).encode(
        x=x,
        y=rows_of(rows),
        tooltip=[
            alt.Tooltip("first_title:N", title="One"),
            alt.Tooltip("second_title:N", title="Other"),
            alt.Tooltip("beyond:Q", title="Days beyond both alone", format="+.2f"),
            alt.Tooltip("low:Q", title="at least", format="+.2f"),
            alt.Tooltip("high:Q", title="at most", format="+.2f"),
            alt.Tooltip("share:Q", title="Of the smaller gain", format="+.0%"),
            alt.Tooltip("why:N", title="Not together"),
        ],
    )
    cells = base.mark_rect(stroke="#8a8d8c", strokeWidth=0.5).encode(
        color=alt.Color(
            "kind:N",
            title=None,
            scale=alt.Scale(domain=there, range=[_CELLS[kind][0] for kind in there]),
            legend=alt.Legend(symbolType="square", symbolOpacity=1),
        ),
    )
    text = base.mark_text(fontSize=11).encode(text="told:N", color=alt.Color("ink:N", scale=None))
    once = frame[[numbers[a] < numbers[b] for a, b in zip(frame["first"], frame["second"], strict=True)]]
    pairs = "; ".join(
        f"{row.first_title} and {row.second_title} " + ("not together" if row.why else f"{row.beyond:+.2f}")
        for row in once.itertuples()
    )
    return finish(
        layered(cells, text),
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
    gains = rounded(frame.assign(label=[both_names(one) for one in frame["title"]]), 4)
    y = rows_of(frame["title"])
    long = gains.melt(["title", "label", "low", "high"], list(_LOOKS), "kind", "days")
    long["kind"] = [_LOOKS[kind][0] for kind in long["kind"]]
    names, colours, shapes = (list(part) for part in zip(*_LOOKS.values(), strict=True))
    lines = alt.Chart(gains).mark_rule(strokeWidth=1, opacity=0.5).encode(y=y, x=alt.X("last:Q"), x2="alone:Q")
    ends = alt.Chart(gains).mark_rule(strokeWidth=5, opacity=0.5, color=colours[0])
    dots = (
        alt.Chart(long)
        .mark_point(size=85, opacity=1, filled=True)
        .encode(
            y=y,
            x=alt.X("days:Q", title="Time saved [days]", axis=alt.Axis(tickCount=6)),
            color=alt.Color("kind:N", title=None, scale=alt.Scale(domain=names, range=colours)),
            shape=alt.Shape("kind:N", title=None, scale=alt.Scale(domain=names, range=shapes)),
            tooltip=[
                alt.Tooltip("title:N", title="Mitigation"),
                alt.Tooltip("kind:N", title="Counted"),
                alt.Tooltip("days:Q", title="Days", format=".2f"),
                alt.Tooltip("low:Q", title="Shared, at least", format=".2f"),
                alt.Tooltip("high:Q", title="Shared, at most", format=".2f"),
            ],
        )
    )
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
    need(frame, "names", "titles", "n", "cost_usd", "ettr", "effective_ettr", "days", "saved_usd", "pareto", "kind")
    priced = frame[frame["cost_usd"] > 0]
    if priced.empty:
        return nothing(title)
    sets = rounded(
        priced.drop(columns="titles").assign(musd=priced["cost_usd"] / 1e6, left=priced["saved_usd"] / 1e6), 5
    )
    there = [kind for kind in _KINDS if kind in set(sets["kind"])]
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
    dots = (
        alt.Chart(sets.sort_values("kind", key=lambda kinds: -kinds.map(list(_KINDS).index)))
        .mark_point(filled=True, opacity=1)
        .encode(
            x=x,
            y=y,
            size=alt.condition(alt.datum.kind == "other", alt.value(28), alt.value(110)),
            color=_of_kind(alt.Color, 0, there),
            shape=_of_kind(alt.Shape, 1, there),
            tooltip=[
                alt.Tooltip("names:N", title="Set"),
                alt.Tooltip("musd:Q", title="Costs [million USD]", format=",.3~g"),
                alt.Tooltip("effective_ettr:Q", title="ETTR at the scenario's own pace", format=".1%"),
                alt.Tooltip("ettr:Q", title="ETTR", format=".1%"),
                alt.Tooltip("days:Q", title="Days", format=".1f"),
                alt.Tooltip("left:Q", title="Left over [million USD]", format=",.3~g"),
            ],
        )
    )
    layers = [line, dots]
    least, most = sets["musd"].min(), sets["musd"].max()
    limited = least <= budget_usd / 1e6 <= most
    if limited:
        limit = alt.Chart(pd.DataFrame({"musd": [budget_usd / 1e6]}))
        layers.insert(0, limit.mark_rule(strokeDash=[3, 3]).encode(x=alt.X("musd:Q")))
    on_front = "; ".join(
        f"{row.names}: {row.cost_usd / 1e6:.2g} million, {row.effective_ettr:.1%}" for row in _on_front(frame)
    )
    return finish(
        layered(*layers),
        title=title,
        subtitle=with_marks(subtitle, "dashed: the budget" if limited else "each point is a set"),
        description=f"Points of ETTR over cost, logarithmic, a point a set of mitigations; on the front {on_front}.",
        height=340,
    )


def _on_front(frame: pd.DataFrame) -> Any:
    return frame[frame["pareto"]].sort_values("cost_usd").itertuples()


def _of_kind(channel: Any, place: int, there: list[str]) -> Any:
    return channel("kind:N", title=None, scale=alt.Scale(domain=there, range=[_KINDS[kind][place] for kind in there]))
