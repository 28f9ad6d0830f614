"""Charts of the recorded drills beside what they should have taken."""

from __future__ import annotations

from typing import Any

import altair as alt
import pandas as pd

from ettr.plots.theme import GREEN, MODEL_COLOURS, PALE_GREY, PART_COLOURS, finish, need
from ettr_book.chapters.common import builders
from ettr_book.chapters.common.columns import axis_title, tooltips
from ettr_book.chapters.common.table import CaptionedTable, heads, named

_MEASURED = "measured"
_WAYS = {_MEASURED: (GREEN, "circle"), "by the rules": (MODEL_COLOURS["exact"], "diamond")}
_SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "stroke")
_ROW_PX = 24
"""Height of a drill's row. [px]"""


def useful(beside: pd.DataFrame, title: str, subtitle: str = "") -> Any:
    """ETTR of each drill, measured and by the rules.

    Parameters
    ----------
    beside : DataFrame
        As from ``tables.beside``.
    title, subtitle : str
        The statement, and what is shown.
    """
    need(beside, "title", "ettr", "ettr_given", "points", "n_stops")
    named = beside.rename(columns={"ettr": _MEASURED, "ettr_given": "by the rules"})
    points = named.melt(["title", "points", "n_stops"], [*_WAYS], "way", "ettr")
    y = builders.rows("title", beside["title"], grid=True)
    tips = tooltips("title", "way", "ettr", "points", "n_stops", title="Drill", points="Measured less given")
    x = builders.along("ettr", domain=[max(0.0, float(points["ettr"].min()) - 0.05), 1.0])
    widest = beside.loc[beside["points"].abs().idxmax()]
    return finish(
        builders.shapes(points, x, y, "way", _WAYS, 80, tips),
        title=title,
        subtitle=subtitle,
        description=f"Dots of ETTR for {len(beside)} drills, measured and by the rules with the faults as they struck. "
        f"They differ most for {widest['title']}: by {widest['points']:+.1f} points.",
        height=_ROW_PX * len(beside) + 20,
    )


def finishing(beside: pd.DataFrame, title: str, subtitle: str = "") -> Any:
    """Finishing time of each drill in the band that was to be expected before.

    Parameters
    ----------
    beside : DataFrame
        As from ``tables.beside``.
    title, subtitle : str
        The statement, and what is shown.
    """
    need(beside, "title", "took_s", "low_s", "median_s", "high_s", "way", "is_in_band")
    y = builders.rows("title", beside["title"], grid=True)
    tips = tooltips("title", "took_s", "low_s", "median_s", "high_s", "way", title="Drill", way="Band by")
    base = alt.Chart(beside).encode(y=y, tooltip=tips)
    x = alt.X("low_s:Q", title=axis_title("took_s"), scale=alt.Scale(zero=False))
    band = base.mark_bar(height=10, color=PALE_GREY, opacity=0.55).encode(x=x, x2=alt.X2("high_s"))
    middle = base.mark_tick(thickness=2, size=12, color=MODEL_COLOURS["exact"]).encode(x="median_s:Q")
    took = base.mark_point(size=80, color=GREEN, filled=True, opacity=1).encode(x="took_s:Q")
    outside = beside.loc[~beside["is_in_band"], "title"]
    return finish(
        band + middle + took,
        title=title,
        subtitle=subtitle,
        description=f"For each of {len(beside)} drills the band in which 95 of 100 such runs end, its middle, and the "
        f"time that this one took. Outside: {', '.join(outside) or 'none'}.",
        height=_ROW_PX * len(beside) + 20,
    )


def parts(frame: pd.DataFrame, title: str, subtitle: str = "") -> Any:
    """Lost shares of each drill, measured over those by the rules.

    Parameters
    ----------
    frame : DataFrame
        As from ``tables.parts``.
    title, subtitle : str
        The statement, and what is shown.
    """
    need(frame, "title", "part", "share", "share_given", "points")
    there = builders.present(PART_COLOURS, frame["part"])
    looks = {part: (colour, shape) for (part, colour), shape in zip(there.items(), _SHAPES, strict=False)}
    most = 1.05 * float(frame[["share", "share_given"]].max().max())
    line = alt.Chart(pd.DataFrame({"share_given": [0.0, most], "share": [0.0, most]}))
    x = builders.along("share_given", domain=[0, most])
    y = builders.up("share", domain=[0, most], title="Measured share [%]")
    tips = tooltips("title", "part", "share", "share_given", title="Drill", share="Measured")
    widest = frame.loc[frame["points"].abs().idxmax()]
    return finish(
        line.mark_line(strokeDash=[3, 3], color=PALE_GREY).encode(x=x, y=y)
        + builders.shapes(frame, x, y, "part", looks, 60, tips, "Part"),
        title=title,
        subtitle=subtitle,
        description=f"Each lost part of the time of each drill: measured share over that by the rules, with the line "
        f"on which they are equal. Farthest from it: {widest['part']} of {widest['title']}, {widest['points']:+.1f} "
        "points.",
        height=320,
    )


def table(beside: pd.DataFrame) -> CaptionedTable:
    """Every drill; columns as from ``tables.beside``."""
    shown = beside.assign(
        measured=[f"{value:.1%}" for value in beside["ettr"]],
        given=[f"{value:.1%}" for value in beside["ettr_given"]],
        expected=[f"{value:.1%}" for value in beside["ettr_expected"]],
        took=[f"{value:.1f} s" for value in beside["took_s"]],
        band=[f"{low:.0f} to {high:.0f} s" for low, high in zip(beside["low_s"], beside["high_s"], strict=True)],
    )
    names = heads(
        "title", "n_stops", "measured", "given", "expected", "took", "band", "way", title="Drill", n_stops="Stops"
    )
    names |= {"measured": "ETTR measured", "given": "by the rules", "expected": "expected", "way": "Band by"}
    return named(shown, names, f"{len(beside)} drills, measured and predicted")
