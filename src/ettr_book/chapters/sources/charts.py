"""Charts and tables on published figures: shares, verdicts, and the origin of every value."""

from __future__ import annotations

from typing import Any

import altair as alt
import pandas as pd

from ettr.plots import builders
from ettr.plots.columns import tooltips
from ettr.plots.theme import BLUE, BRICK, GREEN, PALE_GREY, STEEL, VIOLET, finish
from ettr_book.chapters.common.table import CaptionedTable, heads, named, significant

_VERDICTS = {
    "agrees": GREEN,
    "disagrees": BRICK,
    "wrong framing": "#d98200",
    "unsupported": VIOLET,
    "incomplete": BLUE,
    "imprecise": STEEL,
    "consistent": "#5f9e6e",
    "irrelevant": PALE_GREY,
}


def shares(frame: pd.DataFrame, title: str, subtitle: str = "") -> Any:
    """Draw printed shares against those that the counts imply.

    Parameters
    ----------
    frame : DataFrame
        ``component``, ``category``, ``n_events``, ``printed_pct``, ``implied_pct``, ``agrees``.
    title, subtitle : str
        Finding of the chart, and the source of the figures.
    """
    tidy = frame.melt(
        id_vars=["component", "n_events", "agrees"],
        value_vars=["printed_pct", "implied_pct"],
        var_name="kind",
        value_name="share_pct",
    ).assign(kind=lambda rows: rows["kind"].map({"printed_pct": "printed", "implied_pct": "implied by the count"}))
    base = alt.Chart(tidy).encode(y=alt.Y("component:N", sort=frame["component"].tolist(), title=None))
    links = base.mark_line(strokeWidth=2).encode(
        x=alt.X("share_pct:Q", title="Share of unexpected interruptions [%]"), detail=alt.Detail("component:N")
    )
    dots = base.mark_point(size=80).encode(
        x=alt.X("share_pct:Q"),
        color=alt.Color("kind:N", title=None, scale=alt.Scale(range=[GREEN, BRICK])),
        shape=alt.Shape("kind:N", title=None),
        tooltip=tooltips("component", "n_events", "kind", "share_pct", n_events="Count", kind="Share"),
    )
    odd = frame.loc[~frame["agrees"], "component"].tolist()
    return finish(
        links + dots,
        title=title,
        subtitle=subtitle,
        description=f"Dots of printed and implied share for {len(frame)} components; they differ visibly for "
        f"{', '.join(odd)}.",
        height=24 * len(frame) + 20,
    )


def verdicts(frame: pd.DataFrame, title: str, subtitle: str = "") -> Any:
    """Draw verdicts on published statements, by document.

    Parameters
    ----------
    frame : DataFrame
        One row per statement: ``document``, ``claim``, ``verdict``, ``comment``.
    title, subtitle : str
        Finding of the chart, and the source of the figures.
    """
    colours = builders.present(_VERDICTS, frame["verdict"])
    ranked = frame.assign(rank=frame["verdict"].map({verdict: i for i, verdict in enumerate(colours)}))
    ranked = ranked.sort_values(["document", "rank"]).assign(place=lambda rows: rows.groupby("document").cumcount() + 1)
    pick = alt.selection_point(fields=["verdict"], bind="legend")
    chart = (
        alt.Chart(ranked)
        .mark_square(size=190)
        .encode(
            x=alt.X("place:Q", title="Statements [count]", axis=alt.Axis(tickMinStep=1, grid=False)),
            y=alt.Y("document:N", title=None, sort=alt.EncodingSortField("place", "max", "descending")),
            color=builders.colours("verdict", colours, "Verdict"),
            opacity=alt.condition(pick, alt.value(1.0), alt.value(0.15)),
            tooltip=tooltips("claim", "verdict", "comment"),
        )
        .add_params(pick)
    )
    disagreeing = frame.groupby("document")["verdict"].apply(
        lambda column: f"{(column == 'disagrees').sum()} of {len(column)}"
    )
    return finish(
        chart,
        title=title,
        subtitle=subtitle or "One square per statement; point at it to read it. Select a verdict in the legend.",
        description="Squares for statements by document, coloured by verdict. Disagreeing: "
        + "; ".join(f"{name} {text}" for name, text in disagreeing.items()),
        height=44 * frame["document"].nunique() + 20,
    )


def claims(frame: pd.DataFrame) -> CaptionedTable:
    """Return every audited statement; columns as from ``tables.audit``, and ``document``."""
    values = {
        name: [_with_unit(value, unit) for value, unit in zip(frame[name], frame["unit"], strict=True)]
        for name in ("stated_value", "implied_value")
    }
    others = {"claim_id": "No.", "claim": "Statement", "comment": "Why"}
    others |= {"stated_value": "Stated", "implied_value": "Implied"}
    names = heads("claim_id", "claim", "verdict", *values, "comment", "document", **others)
    return named(frame.assign(**values), names, f"{len(frame)} published statements and their verdicts")


def _with_unit(value: float, unit: str) -> str:
    """Return a number and its unit as one cell; empty without a number, no unit for a count."""
    return "" if pd.isna(value) else f"{significant(value, 4)} {'' if unit in ('count', '1') else unit}".strip()


def scenario(frame: pd.DataFrame, title: str) -> CaptionedTable:
    """Return every value of a scenario with its origin; columns as from :meth:`ettr.Scenario.to_frame`."""
    names = heads("field", "value", "unit", "status", "source", "note")
    return named(frame, names, f"Values of the scenario {title}, with their sources", digits=8)
