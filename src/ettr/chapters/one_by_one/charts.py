"""Charts on single mitigations: what each is worth and costs, which hours it gives back, and where it pays."""

from __future__ import annotations

from typing import Any

import altair as alt
import pandas as pd

from ettr.chapters.common.encodings import rounded, with_marks
from ettr.chapters.common.mitigations import BASES, ROW_PX, both_names, nothing, rows_of
from ettr.chapters.common.table import Table
from ettr.chapters.common.theme import MODEL_COLOURS, PART_COLOURS, finish, layered, need
from ettr.chapters.one_by_one.tables import NO_EVIDENCE, NO_FIT, NO_PROGRESS, PAYS, PUBLISHED

_SHARES = {
    "under 1%": ("#cfe3f5", "#1d2327"),
    "1 to 5%": ("#8fc1ea", "#1d2327"),
    "5 to 20%": ("#2a79c9", "#ffffff"),
    "over 20%": ("#0f4c8a", "#ffffff"),
    "does not pay": ("#c9cccd", "#1d2327"),
    "no progress": ("#636562", "#ffffff"),
    "does not fit": ("#8a8d8c", "#1d2327"),
}
"""Fill and ink of a cell by the share of time that is saved."""
_MARKS = {"no progress": "×", "does not fit": "–"}
_SPENT, _SAVED = "costs", "saves"
_MONEY = {_SPENT: ("#a8480a", "square"), _SAVED: ("#289561", "circle")}


def worth(frame: pd.DataFrame, title: str, subtitle: str = "") -> Any:
    """Days that mitigations save, with their intervals, and how well each is known.

    Parameters
    ----------
    frame : DataFrame
        As from ``tables.worth_in_days``.
    title, subtitle : str
        The statement, and the scenario.

    Returns
    -------
    altair chart or Table
        A table that says so where there is nothing to draw.
    """
    need(frame, "title", "group", "mechanism", "evidence", "basis", "state", "days", "low", "high", "rank")
    if frame.empty:
        return nothing(title)
    points = rounded(frame.assign(label=[both_names(one) for one in frame["title"]], zero=0.0), 4)
    y = rows_of(frame["title"])
    axis = alt.X("days:Q", title="Time saved [days]", axis=alt.Axis(tickCount=6))
    tips = [
        alt.Tooltip("title:N", title="Mitigation"),
        alt.Tooltip("days:Q", title="Days saved", format=".2f"),
        alt.Tooltip("low:Q", title="at least", format=".2f"),
        alt.Tooltip("high:Q", title="at most", format=".2f"),
        alt.Tooltip("state:N", title="Here"),
        alt.Tooltip("group:N", title="Acts on"),
        alt.Tooltip("basis:N", title="What it changes is"),
        alt.Tooltip("evidence:N", title="What it does is"),
        alt.Tooltip("mechanism:N", title="How"),
    ]
    base = alt.Chart(points)
    stems = base.mark_rule(strokeWidth=1, opacity=0.5).encode(y=y, x=alt.X("zero:Q"), x2="days:Q")
    ends = base.mark_rule(strokeWidth=3).encode(y=y, x=alt.X("low:Q"), x2="high:Q", color=_basis(points, "color"))
    layers = [stems, ends]
    for kind, filled in ((PUBLISHED, True), (NO_EVIDENCE, False)):
        rows = points[points["evidence"] == kind]
        if len(rows):
            dots = alt.Chart(rows).mark_point(size=90, filled=filled, opacity=1, strokeWidth=1.8)
            colours = {"color": _basis(points, "color"), "shape": _basis(points, "shape")}
            layers.append(dots.encode(y=y, x=axis, tooltip=tips, **colours))
    hollow = bool((points["evidence"] == NO_EVIDENCE).any())
    marks = "lines: 95%" + ("; hollow: nothing published of what it does" if hollow else "")
    return finish(
        layered(*layers),
        title=title,
        subtitle=with_marks(subtitle, marks),
        description=(
            f"Days saved with 95% intervals, a row a mitigation, {len(frame)} of them: "
            + "; ".join(f"{row.title} {row.days:.2f} ({row.low:.2f} to {row.high:.2f})" for row in frame.itertuples())
            + "."
        ),
        height=ROW_PX * len(frame) + 20,
    )


def _basis(frame: pd.DataFrame, channel: str) -> Any:
    there = [name for name in BASES if name in set(frame["basis"])]
    place = ("color", "shape").index(channel)
    kind = alt.Color if channel == "color" else alt.Shape
    scale = alt.Scale(domain=there, range=[BASES[name][place] for name in there])
    return kind("basis:N", title="What it changes is", scale=scale)


def closed(frame: pd.DataFrame, title: str, subtitle: str = "") -> Any:
    """Gain of ETTR by the closed form beside the simulated one.

    Parameters
    ----------
    frame : DataFrame
        As from ``tables.beside_closed_form``.
    title, subtitle : str
        The statement, and the scenario.

    Returns
    -------
    altair chart or Table
        A table that says so where there is nothing to draw.
    """
    need(frame, "title", "closed", "simulated", "low", "high", "apart")
    if frame.empty:
        return nothing(title)
    hundredths = frame.assign(**{name: 100 * frame[name] for name in ("closed", "simulated", "low", "high", "apart")})
    gains = rounded(hundredths.assign(label=[both_names(one) for one in frame["title"]]), 4)
    y = rows_of(frame["title"])
    ways = {"simulated": "simulated", "closed": "exact"}
    long = gains.melt(["title", "label", "apart"], list(ways), "way", "points")
    long = long.replace({"way": {"closed": "closed form"}})
    names = ["simulated", "closed form"]
    tips = [
        alt.Tooltip("title:N", title="Mitigation"),
        alt.Tooltip("way:N", title="By"),
        alt.Tooltip("points:Q", title="ETTR gained [points]", format=".2f"),
        alt.Tooltip("apart:Q", title="Closed form less simulated [points]", format="+.2f"),
    ]
    bars = alt.Chart(gains).mark_rule(strokeWidth=6, opacity=0.35, color=MODEL_COLOURS["simulated"])
    dots = (
        alt.Chart(long)
        .mark_point(size=80, opacity=1, filled=True)
        .encode(
            y=y,
            x=alt.X("points:Q", title="ETTR gained [points]", axis=alt.Axis(tickCount=6)),
            color=alt.Color(
                "way:N",
                title=None,
                scale=alt.Scale(domain=names, range=[MODEL_COLOURS[way] for way in ways.values()]),
            ),
            shape=alt.Shape("way:N", title=None, scale=alt.Scale(domain=names, range=["circle", "diamond"])),
            tooltip=tips,
        )
    )
    pairs = "; ".join(f"{row.title} {100 * row.closed:.2f} for {100 * row.simulated:.2f}" for row in frame.itertuples())
    return finish(
        layered(bars.encode(y=y, x=alt.X("low:Q"), x2="high:Q"), dots),
        title=title,
        subtitle=with_marks(subtitle, "bars: 95% of the simulation"),
        description=f"Points of ETTR gained by the closed form, and for how many simulated ones: {pairs}.",
        height=ROW_PX * len(frame) + 20,
    )


def money(frame: pd.DataFrame, title: str, subtitle: str = "", n_shown: int = 24) -> Any:
    """What each mitigation costs against what it saves.

    Parameters
    ----------
    frame : DataFrame
        As from ``tables.costs_and_savings``.
    title, subtitle : str
        The statement, and the scenario.
    n_shown : int
        Rows at most: those that save most, of those that save anything.

    Returns
    -------
    altair chart or Table
        A table that says so where there is nothing to draw.
    """
    need(frame, "title", "cost_usd", "saved_usd", "net_usd", "low", "high", "pays")
    chosen = frame[(frame["saved_usd"] > 0) & (frame["cost_usd"] > 0)].nlargest(n_shown, "saved_usd")
    if chosen.empty:
        return nothing(title)
    chosen = chosen.sort_values("net_usd", ascending=False)
    millions = chosen.assign(**{name: chosen[name] / 1e6 for name in ("cost_usd", "saved_usd", "net_usd")})
    amounts = rounded(millions.assign(label=[both_names(one) for one in chosen["title"]]), 4)
    y = rows_of(chosen["title"])
    x = alt.X(
        "usd:Q",
        title="Cost and saving [million USD]",
        scale=alt.Scale(type="log", nice=False, padding=8),
        axis=alt.Axis(format="~g", tickCount=5),
    )
    named = amounts.rename(columns={"cost_usd": _SPENT, "saved_usd": _SAVED})
    long = named.melt(["title", "label", "net_usd", "pays"], [_SPENT, _SAVED], "side", "usd")
    tips = [
        alt.Tooltip("title:N", title="Mitigation"),
        alt.Tooltip("side:N", title="It"),
        alt.Tooltip("usd:Q", title="Million USD", format=",.3~g"),
        alt.Tooltip("net_usd:Q", title="Left over [million USD]", format=",.3~g"),
        alt.Tooltip("pays:N", title="Pays"),
    ]
    rules = (
        alt.Chart(amounts).mark_rule(strokeWidth=2, opacity=0.6).encode(y=y, x=alt.X("cost_usd:Q"), x2="saved_usd:Q")
    )
    sides = list(_MONEY)
    dots = (
        alt.Chart(long)
        .mark_point(size=80, opacity=1, filled=True)
        .encode(
            y=y,
            x=x,
            color=alt.Color("side:N", title=None, scale=alt.Scale(domain=sides, range=[_MONEY[s][0] for s in sides])),
            shape=alt.Shape("side:N", title=None, scale=alt.Scale(domain=sides, range=[_MONEY[s][1] for s in sides])),
            tooltip=tips,
        )
    )
    each = "; ".join(
        f"{row.title} costs {row.cost_usd / 1e6:.2g} and saves {row.saved_usd / 1e6:.2g}" for row in chosen.itertuples()
    )
    return finish(
        layered(rules, dots),
        title=title,
        subtitle=with_marks(subtitle, "by what is left over; it pays where it saves more than it costs"),
        description=f"Million US dollars that each mitigation costs and saves, on a logarithmic axis: {each}.",
        height=ROW_PX * len(chosen) + 20,
    )


def hours(frame: pd.DataFrame, title: str, subtitle: str = "") -> Any:
    """Hours of each part of the time budget that mitigations save.

    Parameters
    ----------
    frame : DataFrame
        As from ``tables.hours_given_back``.
    title, subtitle : str
        The statement, and the scenario.

    Returns
    -------
    altair chart or Table
        A table that says so where there is nothing to draw.
    """
    need(frame, "title", "part", "hours")
    if frame.empty:
        return nothing(title)
    parts = [part for part in PART_COLOURS if part in set(frame["part"])]
    titles = list(dict.fromkeys(frame["title"]))
    order = [parts.index(part) for part in frame["part"]]
    saved = rounded(frame.assign(label=[both_names(one) for one in frame["title"]], order=order), 4)
    bars = (
        alt.Chart(saved)
        .mark_bar()
        .encode(
            y=rows_of(titles),
            x=alt.X("hours:Q", title="Time saved [h]", stack="zero", axis=alt.Axis(tickCount=6)),
            color=alt.Color(
                "part:N",
                title=None,
                scale=alt.Scale(domain=parts, range=[PART_COLOURS[part] for part in parts]),
                legend=alt.Legend(symbolType="square"),
            ),
            order=alt.Order("order:Q"),
            tooltip=[
                alt.Tooltip("title:N", title="Mitigation"),
                alt.Tooltip("part:N", title="Part"),
                alt.Tooltip("hours:Q", title="Hours saved", format="+.1f"),
            ],
        )
    )
    largest = frame.loc[frame.groupby("title", sort=False)["hours"].idxmax()]
    mostly = "; ".join(f"{row.title} most of {row.part}, {row.hours:.1f} h" for row in largest.itertuples())
    return finish(
        bars,
        title=title,
        subtitle=with_marks(subtitle, "left of zero: more of it than before"),
        description=f"Stacked bars of the hours that mitigations save, by part of the time budget: {mostly}.",
        height=30 * len(titles) + 20,
    )


def by_size(frame: pd.DataFrame, own_gpus: int, title: str, subtitle: str = "") -> Any:
    """A map of the share of time that mitigations save, by the size of the job.

    Parameters
    ----------
    frame : DataFrame
        As from ``tables.worth_by_size``.
    own_gpus : int
        The job's size. [GPUs]
    title, subtitle : str
        The statement, and the scenario.

    Returns
    -------
    altair chart or Table
        A table that says so where there is nothing to draw.
    """
    need(frame, "title", "value", "saved", "low", "high", "saved_usd", "state", "why")
    if frame.empty:
        return nothing(title)
    titles = list(dict.fromkeys(frame["title"]))
    sizes = [short_size(value) + ("*" if value == own_gpus else "") for value in sorted(set(frame["value"]))]
    kinds = [_kind(row) for row in frame.to_dict("records")]
    squares = rounded(
        frame.assign(
            kind=kinds,
            ink=[_SHARES[kind][1] for kind in kinds],
            told=[
                _MARKS.get(kind, f"{100 * saved + 0:.0f}%".replace("-0%", "0%"))
                for kind, saved in zip(kinds, frame["saved"], strict=True)
            ],
            label=[both_names(one) for one in frame["title"]],
            size=[short_size(value) + ("*" if value == own_gpus else "") for value in frame["value"]],
        ),
        3,
    )
    there = [kind for kind in _SHARES if kind in set(kinds)]
    x = alt.X("size:N", title="Job size [GPUs]", sort=sizes, axis=alt.Axis(labelAngle=0, labelOverlap=False))
    base = alt.Chart(squares).encode(
        x=x,
        y=rows_of(titles),
        tooltip=[
            alt.Tooltip("title:N", title="Mitigation"),
            alt.Tooltip("value:Q", title="GPUs", format=",.0f"),
            alt.Tooltip("saved:Q", title="Time saved", format=".1%"),
            alt.Tooltip("low:Q", title="at least", format=".1%"),
            alt.Tooltip("high:Q", title="at most", format=".1%"),
            alt.Tooltip("saved_usd:Q", title="USD left over", format=",.3~s"),
            alt.Tooltip("state:N", title="It"),
            alt.Tooltip("why:N", title="Why"),
        ],
    )
    cells = base.mark_rect(stroke="#8a8d8c", strokeWidth=0.5).encode(
        color=alt.Color(
            "kind:N",
            title="Time saved",
            scale=alt.Scale(domain=there, range=[_SHARES[kind][0] for kind in there]),
            legend=alt.Legend(symbolType="square", symbolOpacity=1),
        ),
    )
    text = base.mark_text(fontSize=11).encode(text="told:N", color=alt.Color("ink:N", scale=None))
    most = frame[frame["state"] == PAYS].groupby("title", sort=False)["saved"].max()
    most_saved = "; ".join(
        f"{name} at most {most[name]:.0%}" if name in most else f"{name} pays nowhere" for name in titles
    )
    return finish(
        layered(cells, text),
        title=title,
        subtitle=with_marks(subtitle, "* the job's size; ×: the job does not get on"),
        description=f"A map of the share of time saved, mitigations by job sizes {', '.join(sizes)}: {most_saved}.",
        height=ROW_PX * len(titles) + 20,
    )


def _kind(row: dict[str, Any]) -> str:
    if row["state"] in (NO_PROGRESS, NO_FIT):
        return "no progress" if row["state"] == NO_PROGRESS else "does not fit"
    if row["state"] != PAYS:
        return "does not pay"
    limits = ((0.01, "under 1%"), (0.05, "1 to 5%"), (0.2, "5 to 20%"))
    return next((name for limit, name in limits if row["saved"] < limit), "over 20%")


def short_size(value: float) -> str:
    """A number of GPUs in few characters, e.g. ``16k``."""
    for scale, letter in ((1e6, "M"), (1e3, "k")):
        if value >= scale:
            return f"{value / scale:.2g}{letter}" if value / scale < 10 else f"{value / scale:.0f}{letter}"
    return f"{value:.0f}"


def table(cells: pd.DataFrame, title: str) -> Table:
    """A table of the chapter, with the columns that it has."""
    return Table(cells, title)
