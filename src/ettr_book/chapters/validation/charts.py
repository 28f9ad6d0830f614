"""The chart and the table of published results beside those computed here, and the table of forecasts."""

from __future__ import annotations

from typing import Any

import altair as alt
import pandas as pd

from ettr.plots.theme import BLUE, BRICK, GOLD, GREEN, STEEL, VIOLET, finish, need
from ettr_book.chapters.common import builders
from ettr_book.chapters.common.columns import tooltips
from ettr_book.chapters.common.table import CaptionedTable, heads, named
from ettr_book.chapters.validation.tables import MEANS

_COLOURS = dict(zip(MEANS, (GREEN, BLUE, STEEL, GOLD, VIOLET, BRICK), strict=True))


def validation(frame: pd.DataFrame, title: str, subtitle: str = "") -> Any:
    """Computed over published: a row a class, and a row each for what is not reproduced.

    Parameters
    ----------
    frame : DataFrame
        As from :func:`ettr_book.validation.run`: ``quantity``, ``published``, ``computed``, ``unit``, ``verdict``,
        ``kind``.
    title, subtitle : str
        The statement, and what is shown.
    """
    need(frame, "quantity", "published", "computed", "unit", "verdict", "kind")
    missed = frame["verdict"] == "not reproduced"
    rows = frame["quantity"].where(missed, frame["verdict"])
    ratios = frame.assign(ratio=frame["computed"] / frame["published"], what=rows)
    order = [row for row in (*MEANS, *rows[missed]) if row in set(rows)]
    base = alt.Chart(ratios).encode(y=builders.rows("what", order, labelLimit=300))
    colours = builders.present(_COLOURS, ratios["verdict"])
    dots = base.mark_point(size=90).encode(
        x=alt.X("ratio:Q", title="Computed / published", scale=alt.Scale(type="log", nice=False, padding=10)),
        color=builders.colours("verdict", colours, "Verdict", columns=2),
        shape=alt.Shape("verdict:N", title="Verdict", scale=alt.Scale(domain=[*colours]), legend=alt.Legend(columns=2)),
        tooltip=tooltips("quantity", "published", "computed", "unit", "kind", "verdict", kind="Kind"),
    )
    return finish(
        builders.rule(alt.X("ratio:Q"), 1.0, strokeDash=[3, 3]) + dots,
        title=title,
        subtitle=subtitle,
        description=f"Dots of computed over published for {len(frame)} results; not reproduced: "
        f"{', '.join(frame.loc[missed, 'quantity']) or 'none'}.",
        height=24 * len(order) + 20,
    )


def table(frame: pd.DataFrame) -> CaptionedTable:
    """Every published result; columns as from :func:`ettr_book.validation.run`."""
    names = heads("quantity", "published", "computed", "unit", "verdict", "kind", "tolerance", quantity="Result")
    names |= heads("tolerance_reason", "source", "status", "comment", tolerance_reason="Because", comment="Note")
    return named(frame, names, f"{len(frame)} published results, computed again")


def forecasts(frame: pd.DataFrame) -> CaptionedTable:
    """Every forecast on record; columns as from :func:`ettr_book.validation.forecasts.forecasts`."""
    names = heads("title", "low", "median", "high", "unit", "settles_by", "outcome", "state", title="Forecast")
    return named(frame, names | {"settles_by": "Settles by"}, f"{len(frame)} forecasts on record", digits=3)
