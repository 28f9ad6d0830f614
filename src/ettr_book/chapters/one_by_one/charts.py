"""Charts on single mitigations: savings, time budget, and job size."""

from __future__ import annotations

from typing import Any

import altair as alt
import pandas as pd

from ettr.plots import builders
from ettr.plots.columns import Column, tooltips
from ettr.plots.encodings import rounded
from ettr.plots.theme import GREY, PALE_GREY, PART_COLOURS, NoChart
from ettr_book.chapters.common.mitigations import DARK_INK, LIGHT_INK, bars, of_effects, ranked, rows_of
from ettr_book.chapters.one_by_one.tables import NO_FIT, NO_PROGRESS, PAYS

_SHARES = {
    "under 1%": ("#cfe3f5", DARK_INK),
    "1 to 5%": ("#8fc1ea", DARK_INK),
    "5 to 20%": ("#2a79c9", LIGHT_INK),
    "over 20%": ("#0f4c8a", LIGHT_INK),
    "does not pay": ("#c9cccd", DARK_INK),
    "no progress": (GREY, LIGHT_INK),
    "does not fit": (PALE_GREY, DARK_INK),
}
"""Fill and text colour of a cell by the share of time saved."""
_MARKS = {"no progress": "×", "does not fit": "–"}
_SHARE_TIPS = {"saved": "Time saved", "low": "95% CI from", "high": "95% CI to"}


def ranking(frame: pd.DataFrame, title: str, subtitle: str = "") -> Any:
    """Draw the savings of mitigations in a run, with their uncertainty.

    Parameters
    ----------
    frame : DataFrame
        As from ``tables.ranking``.
    title, subtitle : str
        Finding of the chart, and the scenario.

    Returns
    -------
    altair chart or NoChart
        The title alone if there is nothing to draw.
    """
    if frame.empty:
        return NoChart(title)
    x = alt.X("low:Q", title="Net saving per run [million USD]", axis=alt.Axis(tickCount=6))
    named = {"musd": "With the values used here", "low": "Plausible range from", "high": "to", "effect": "Effect size"}
    tips = tooltips("title", "musd", "low", "high", "days", "effect", "price_usd", title="Mitigation", **named)
    colour = of_effects(frame["effect"], "Effect size")
    return ranked(
        bars(frame.sort_values("musd", ascending=False), x, "high", colour, tips, tick="musd"),
        len(frame),
        title,
        subtitle,
        "Ranges of the net saving per run in million dollars, one row per mitigation",
        (f"{row.title} {row.musd:.2g}, {row.low:.2g} to {row.high:.2g}" for row in frame.itertuples()),
        "bars: plausible range; ticks: values used here",
    )


def hours(frame: pd.DataFrame, title: str, subtitle: str = "") -> Any:
    """Draw the hours of each part of the time budget that mitigations save.

    Parameters
    ----------
    frame : DataFrame
        As from ``tables.hours_given_back``.
    title, subtitle : str
        Finding of the chart, and the scenario.

    Returns
    -------
    altair chart or NoChart
        The title alone if there is nothing to draw.
    """
    if frame.empty:
        return NoChart(title)
    colours = builders.present(PART_COLOURS, frame["part"])
    saved = rounded(frame.assign(order=frame["part"].map(list(colours).index)), 4)
    stacked = (
        alt.Chart(saved)
        .mark_bar()
        .encode(
            y=rows_of(frame["title"].unique()),
            x=alt.X("hours:Q", title="Time saved [h]", stack="zero", axis=alt.Axis(tickCount=6)),
            color=builders.squares("part", colours),
            order=alt.Order("order:Q"),
            tooltip=tooltips("title", "part", "hours", title="Mitigation", hours=Column("Hours saved", format="+.1f")),
        )
    )
    largest = frame.loc[frame.groupby("title", sort=False)["hours"].idxmax()]
    return ranked(
        [stacked],
        len(largest),
        title,
        subtitle,
        "Stacked bars of the hours that mitigations save, by part of the time budget",
        (f"{row.title} mostly {row.part}, {row.hours:.1f} h" for row in largest.itertuples()),
        "left of zero: an increase",
    )


def by_size(frame: pd.DataFrame, own_gpus: int, title: str, subtitle: str = "") -> Any:
    """Draw a map of the share of time that mitigations save, by job size.

    Parameters
    ----------
    frame : DataFrame
        As from ``tables.worth_by_size``.
    own_gpus : int
        The job's size. [GPUs]
    title, subtitle : str
        Finding of the chart, and the scenario.

    Returns
    -------
    altair chart or NoChart
        The title alone if there is nothing to draw.
    """
    if frame.empty:
        return NoChart(title)
    titles = list(dict.fromkeys(frame["title"]))
    names = {value: short_size(value) + ("*" if value == own_gpus else "") for value in sorted(set(frame["value"]))}
    kinds = [_kind(row) for row in frame.to_dict("records")]
    labels = [
        _MARKS.get(kind, f"{100 * saved + 0:.0f}%".replace("-0%", "0%"))
        for kind, saved in zip(kinds, frame["saved"], strict=True)
    ]
    squares = rounded(
        frame.assign(
            kind=kinds, label=labels, ink=[_SHARES[kind][1] for kind in kinds], size=frame["value"].map(names)
        ),
        3,
    )
    sizes = list(names.values())
    x = alt.X("size:N", title="Job size [GPUs]", sort=sizes, axis=alt.Axis(labelAngle=0, labelOverlap=False))
    share = {name: Column(title, format=".1%") for name, title in _SHARE_TIPS.items()}
    tips = tooltips("title", "value", *share, "saved_usd", "state", "why", title="Mitigation", state="Result", **share)
    most = frame[frame["state"] == PAYS].groupby("title", sort=False)["saved"].max()
    base = alt.Chart(squares).encode(x=x, y=rows_of(titles), tooltip=tips)
    colour = builders.squares("kind", builders.present(_SHARES, kinds), "Time saved", symbolOpacity=1)
    drawn = base.mark_rect(stroke=PALE_GREY, strokeWidth=0.5).encode(color=colour)
    texts = base.mark_text(fontSize=11).encode(text=alt.Text("label:N"), color=alt.Color("ink:N", scale=None))
    return ranked(
        [drawn, texts],
        len(titles),
        title,
        subtitle,
        f"A map of the share of time saved, mitigations by job sizes {', '.join(sizes)}",
        (f"{name} at most {most[name]:.0%}" if name in most else f"{name} pays nowhere" for name in titles),
        "* the job's size; ×: the job makes no progress",
    )


def _kind(row: dict[str, Any]) -> str:
    if row["state"] in (NO_PROGRESS, NO_FIT):
        return "no progress" if row["state"] == NO_PROGRESS else "does not fit"
    if row["state"] != PAYS:
        return "does not pay"
    limits = ((0.01, "under 1%"), (0.05, "1 to 5%"), (0.2, "5 to 20%"))
    return next((name for limit, name in limits if row["saved"] < limit), "over 20%")


def short_size(value: float) -> str:
    """Return a number of GPUs in few characters, e.g. ``16k``."""
    for scale, letter in ((1e6, "M"), (1e3, "k")):
        if value >= scale:
            return f"{value / scale:.2g}{letter}" if value / scale < 10 else f"{value / scale:.0f}{letter}"
    return f"{value:.0f}"
