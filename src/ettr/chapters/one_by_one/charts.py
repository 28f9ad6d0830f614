"""Charts on single mitigations: what each is worth and costs, which hours it gives back, and where it pays."""

from __future__ import annotations

from typing import Any

import altair as alt
import pandas as pd

from ettr.chapters.common import builders
from ettr.chapters.common.columns import Column, column, tooltips
from ettr.chapters.common.encodings import with_marks
from ettr.chapters.common.mitigations import BASES, DARK_INK, LIGHT_INK, ROW_PX, labelled, nothing, rows_of
from ettr.chapters.common.table import Table
from ettr.chapters.common.theme import GREEN, GREY, MODEL_COLOURS, PALE_GREY, PART_COLOURS, RUST, finish, layered, need
from ettr.chapters.one_by_one.tables import NO_EVIDENCE, NO_FIT, NO_PROGRESS, PAYS, PUBLISHED

_SHARES = {
    "under 1%": ("#cfe3f5", DARK_INK),
    "1 to 5%": ("#8fc1ea", DARK_INK),
    "5 to 20%": ("#2a79c9", LIGHT_INK),
    "over 20%": ("#0f4c8a", LIGHT_INK),
    "does not pay": ("#c9cccd", DARK_INK),
    "no progress": (GREY, LIGHT_INK),
    "does not fit": (PALE_GREY, DARK_INK),
}
"""Fill and ink of a cell by the share of time that is saved."""
_MARKS = {"no progress": "×", "does not fit": "–"}
_WAYS = {"simulated": (MODEL_COLOURS["simulated"], "circle"), "closed form": (MODEL_COLOURS["exact"], "diamond")}
_SPENT, _SAVED = "costs", "saves"
_MONEY = {_SPENT: (RUST, "square"), _SAVED: (GREEN, "circle")}
_DAYS = Column("Days saved", format=".2f")
_SHARE_TIPS = {"saved": "Time saved", "low": "95%: from", "high": "95%: to"}


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
    points = labelled(frame, zero=0.0)
    y = rows_of(frame["title"])
    axis = alt.X("days:Q", title="Time saved [days]", axis=alt.Axis(tickCount=6))
    about = ("state", "group", "basis", "evidence", "mechanism")
    tips = tooltips("title", "days", "low", "high", *about, title="Mitigation", days=_DAYS)
    looks, legend = builders.present(BASES, points["basis"]), column("basis").title
    base = alt.Chart(points).encode(y=y)
    stems = base.mark_rule(strokeWidth=1, opacity=0.5).encode(x=alt.X("zero:Q"), x2="days:Q")
    colour = builders.colours("basis", looks, legend)
    layers = [stems, base.mark_rule(strokeWidth=3).encode(x=alt.X("low:Q"), x2="high:Q", color=colour)]
    for kind, filled in ((PUBLISHED, True), (NO_EVIDENCE, False)):
        rows = points[points["evidence"] == kind]
        if len(rows):
            style = {"filled": filled, "strokeWidth": 1.8}
            layers.append(builders.shapes(rows, axis, y, "basis", looks, 90, tips, legend, **style))
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
    gains = labelled(hundredths)
    y = rows_of(frame["title"])
    long = gains.melt(["title", "label", "apart"], ["simulated", "closed"], "way", "points")
    long = long.replace({"way": {"closed": "closed form"}})
    bars = alt.Chart(gains).mark_rule(strokeWidth=6, opacity=0.35, color=MODEL_COLOURS["simulated"])
    axis = alt.X("points:Q", title="ETTR gained [points]", axis=alt.Axis(tickCount=6))
    tips = tooltips("title", "way", "points", "apart", title="Mitigation", way="By")
    dots = builders.shapes(long, axis, y, "way", _WAYS, 80, tips, filled=True)
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
    need(frame, "title", "cost_usd", "saved_usd", "net_usd", "pays")
    chosen = frame[(frame["saved_usd"] > 0) & (frame["cost_usd"] > 0)].nlargest(n_shown, "saved_usd")
    if chosen.empty:
        return nothing(title)
    chosen = chosen.sort_values("net_usd", ascending=False)
    millions = chosen.assign(**{name: chosen[name] / 1e6 for name in ("cost_usd", "saved_usd", "net_usd")})
    amounts = labelled(millions)
    y = rows_of(chosen["title"])
    x = alt.X(
        "usd:Q",
        title="Cost and saving [million USD]",
        scale=alt.Scale(type="log", nice=False, padding=8),
        axis=alt.Axis(format="~g", tickCount=5),
    )
    named = amounts.rename(columns={"cost_usd": _SPENT, "saved_usd": _SAVED})
    long = named.melt(["title", "label", "net_usd", "pays"], [_SPENT, _SAVED], "side", "usd")
    tips = tooltips("title", "side", "usd", "net_usd", "pays", title="Mitigation")
    rules = (
        alt.Chart(amounts).mark_rule(strokeWidth=2, opacity=0.6).encode(y=y, x=alt.X("cost_usd:Q"), x2="saved_usd:Q")
    )
    dots = builders.shapes(long, x, y, "side", _MONEY, 80, tips, filled=True)
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
    colours = builders.present(PART_COLOURS, frame["part"])
    titles = list(dict.fromkeys(frame["title"]))
    saved = labelled(frame, order=[list(colours).index(part) for part in frame["part"]])
    bars = (
        alt.Chart(saved)
        .mark_bar()
        .encode(
            y=rows_of(titles),
            x=alt.X("hours:Q", title="Time saved [h]", stack="zero", axis=alt.Axis(tickCount=6)),
            color=builders.squares("part", colours),
            order=alt.Order("order:Q"),
            tooltip=tooltips("title", "part", "hours", title="Mitigation", hours=Column("Hours saved", format="+.1f")),
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
    names = {value: short_size(value) + ("*" if value == own_gpus else "") for value in sorted(set(frame["value"]))}
    kinds = [_kind(row) for row in frame.to_dict("records")]
    told = [
        _MARKS.get(kind, f"{100 * saved + 0:.0f}%".replace("-0%", "0%"))
        for kind, saved in zip(kinds, frame["saved"], strict=True)
    ]
    squares = labelled(frame, 3, kind=kinds, told=told, size=frame["value"].map(names))
    sizes = list(names.values())
    x = alt.X("size:N", title="Job size [GPUs]", sort=sizes, axis=alt.Axis(labelAngle=0, labelOverlap=False))
    share = {name: Column(title, format=".1%") for name, title in _SHARE_TIPS.items()}
    tips = tooltips("title", "value", *share, "saved_usd", "state", "why", title="Mitigation", state="It", **share)
    most = frame[frame["state"] == PAYS].groupby("title", sort=False)["saved"].max()
    most_saved = "; ".join(
        f"{name} at most {most[name]:.0%}" if name in most else f"{name} pays nowhere" for name in titles
    )
    return finish(
        builders.cells(squares, x, rows_of(titles), _SHARES, tips, "Time saved"),
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
