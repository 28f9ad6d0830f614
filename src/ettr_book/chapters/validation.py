"""Validation

Published results compared with computed ones, and the record of forecasts.
"""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Any

import altair as alt
import pandas as pd

from ettr.core.sentences import Finding, count, say, span_of_shares
from ettr.plots import builders
from ettr.plots.columns import tooltips
from ettr.plots.theme import BLUE, BRICK, GOLD, GREEN, STEEL, VIOLET, finish
from ettr_book.chapters.common.table import CaptionedTable, heads, named
from ettr_book.validation import VERDICTS

if TYPE_CHECKING:
    from ettr_book.validation.forecasts import Score


MEANS = dict(
    zip(
        VERDICTS,
        (
            "inputs are published, and the result is derived from them",
            "inputs are published, and the derived result meets the printed bound",
            "the result is the source's own sum, or an input of the scenario",
            "only the order of magnitude is compared",
            "inputs were chosen to match the result",
            "outside the tolerance",
        ),
        strict=True,
    )
)
"""Meaning of each class of results, strongest first."""


def by_class(results: pd.DataFrame) -> CaptionedTable:
    """Return the number of results of each class; columns as from :func:`ettr_book.validation.run`."""
    n = results["verdict"].value_counts()
    rows = [{"Class": name, "Results": int(n.get(name, 0)), "Meaning": meaning} for name, meaning in MEANS.items()]
    return CaptionedTable(pd.DataFrame(rows), "Published results by class")


_COLOURS = dict(zip(MEANS, (GREEN, BLUE, STEEL, GOLD, VIOLET, BRICK), strict=True))


def validation_chart(frame: pd.DataFrame, title: str, subtitle: str = "") -> Any:
    """Draw computed over published values: one row per class, and one for each result not reproduced.

    Parameters
    ----------
    frame : DataFrame
        As from :func:`ettr_book.validation.run`: ``quantity``, ``published``, ``computed``, ``unit``, ``verdict``,
        ``kind``.
    title, subtitle : str
        Finding of the chart, and the compared results.
    """
    missed = frame["verdict"] == "not reproduced"
    rows = frame["quantity"].where(missed, frame["verdict"])
    ratios = frame.assign(ratio=frame["computed"] / frame["published"], what=rows)
    order = [row for row in (*MEANS, *rows[missed]) if row in set(rows)]
    base = alt.Chart(ratios).encode(y=builders.rows("what", order, labelLimit=300))
    colours = builders.present(_COLOURS, ratios["verdict"])
    dots = base.mark_point(size=90).encode(
        x=alt.X("ratio:Q", title="Computed / published", scale=alt.Scale(type="log", nice=False, padding=10)),
        color=builders.colours("verdict", colours).legend(None),  # the rows name the verdicts
        shape=alt.Shape("verdict:N", scale=alt.Scale(domain=[*colours]), legend=None),
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


def validation_table(frame: pd.DataFrame) -> CaptionedTable:
    """Return every published result; columns as from :func:`ettr_book.validation.run`."""
    names = heads("quantity", "published", "computed", "unit", "verdict", "kind", "tolerance", quantity="Result")
    names |= heads("tolerance_reason", "source", "status", "comment", tolerance_reason="Reason", comment="Note")
    return named(frame, names, f"{len(frame)} published results, recomputed")


def forecasts_table(frame: pd.DataFrame) -> CaptionedTable:
    """Return every forecast on record; columns as from :func:`ettr_book.validation.forecasts.forecasts`."""
    names = heads("title", "low", "median", "high", "unit", "settles_by", "outcome", "state", title="Forecast")
    return named(frame, names | {"settles_by": "Settles by"}, f"{len(frame)} forecasts on record", digits=3)


def validation(results: pd.DataFrame) -> Finding:
    """Return how many published results are reproduced; columns as from :func:`ettr_book.validation.run`."""
    n = results["verdict"].value_counts().reindex([*MEANS], fill_value=0)
    counted = {"n": len(results), "reproduced": int(n["reproduced"]), "missed": int(n["not reproduced"])}
    rest = [f"{count(int(n[verdict]))} {words}" for verdict, words in _REST.items() if n[verdict]]
    return Finding(
        title=say("{reproduced} of {n} published results are reproduced from published inputs", **counted),
        text=say(
            "**{reproduced} of {n} published results are reproduced from published inputs, and {missed} are not.** The "
            "others are weaker tests: {rest:list}.",
            **counted,
            rest=rest or ["nothing"],
        ),
    )


_REST = {
    "bound met": "bounds are met",
    "follows from the same input": "follow from the same input",
    "order of magnitude": "agree in order of magnitude",
    "fitted": "were fitted",
}


def forecasts(score: Score) -> Finding:
    """Return open forecasts, the next due day, and the score of the settled ones."""
    sentences = [
        say(
            "**{n_open} of {n} forecasts on record are open{due}.** Each interval should contain its outcome with a "
            "probability of {level:share0}.",
            n=score.n,
            n_open=score.n_open,
            level=score.rows["level"].mean(),
            due=f", and the next one settles by {_day(score.due)}" if score.due else "",
        )
    ]
    if score.n_overdue:
        sentences.append(say("Overdue: {n}.", n=score.n_overdue))
    if score.n_lapsed:
        sentences.append(say("Lapsed, because nothing was published to settle them: {n}.", n=score.n_lapsed))
    if score.n_settled:
        sentences.append(
            say(
                "{n_inside} of {n} outcomes lie in their intervals: {inside:share0}, where {level:share0} is expected "
                "(95% CI {between}).",
                n=score.n_settled,
                n_inside=score.n_inside,
                inside=score.inside,
                level=score.level,
                between=span_of_shares(score.low, score.high),
            )
        )
    return Finding(title=say("{n} forecasts are on record", n=score.n), text=" ".join(sentences))


def _day(iso: str) -> str:
    day = date.fromisoformat(iso)
    return f"{day.day} {day:%B %Y}"
