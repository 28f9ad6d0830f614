"""Validation

Published results beside those computed here, and the record of forecasts.
"""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Any

import altair as alt
import pandas as pd

from ettr.core.sentences import Finding, count, say, span_of_shares
from ettr.plots.theme import BLUE, BRICK, GOLD, GREEN, STEEL, VIOLET, finish
from ettr_book.chapters.common import builders
from ettr_book.chapters.common.columns import tooltips
from ettr_book.chapters.common.table import CaptionedTable, heads, named
from ettr_book.validation import VERDICTS

if TYPE_CHECKING:
    from ettr_book.validation.forecasts import Score


MEANS = dict(
    zip(
        VERDICTS,
        (
            "inputs are published, and the result is derived from them",
            "the same, for a result that is printed as a bound",
            "the source's own sum, or what the scenario was made from",
            "more is not meant",
            "inputs were chosen so that it agrees",
            "outside its tolerance",
        ),
        strict=True,
    )
)
"""What each class of results says, the one that says most first."""


def by_class(results: pd.DataFrame) -> CaptionedTable:
    """How many results are of each class; columns as from :func:`ettr_book.validation.run`."""
    n = results["verdict"].value_counts()
    rows = [{"Class": name, "Results": int(n.get(name, 0)), "It means": means} for name, means in MEANS.items()]
    return CaptionedTable(pd.DataFrame(rows), "Published results by class")


_COLOURS = dict(zip(MEANS, (GREEN, BLUE, STEEL, GOLD, VIOLET, BRICK), strict=True))


def validation_chart(frame: pd.DataFrame, title: str, subtitle: str = "") -> Any:
    """Computed over published: a row a class, and a row each for what is not reproduced.

    Parameters
    ----------
    frame : DataFrame
        As from :func:`ettr_book.validation.run`: ``quantity``, ``published``, ``computed``, ``unit``, ``verdict``,
        ``kind``.
    title, subtitle : str
        The statement, and what is shown.
    """
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


def validation_table(frame: pd.DataFrame) -> CaptionedTable:
    """Every published result; columns as from :func:`ettr_book.validation.run`."""
    names = heads("quantity", "published", "computed", "unit", "verdict", "kind", "tolerance", quantity="Result")
    names |= heads("tolerance_reason", "source", "status", "comment", tolerance_reason="Because", comment="Note")
    return named(frame, names, f"{len(frame)} published results, computed again")


def forecasts_table(frame: pd.DataFrame) -> CaptionedTable:
    """Every forecast on record; columns as from :func:`ettr_book.validation.forecasts.forecasts`."""
    names = heads("title", "low", "median", "high", "unit", "settles_by", "outcome", "state", title="Forecast")
    return named(frame, names | {"settles_by": "Settles by"}, f"{len(frame)} forecasts on record", digits=3)


def validation(results: pd.DataFrame) -> Finding:
    """How many published results come out; columns as from :func:`ettr_book.validation.run`."""
    n = results["verdict"].value_counts().reindex([*MEANS], fill_value=0)
    counted = {"n": len(results), "reproduced": int(n["reproduced"]), "missed": int(n["not reproduced"])}
    rest = [f"{count(int(n[one]))} {words}" for one, words in _REST.items() if n[one]]
    return Finding(
        title=say("Of {n} published results {reproduced} are derived anew from published inputs", **counted),
        text=say(
            "**Of {n} published results {reproduced} come out of published inputs, and {missed} do not.** The others "
            "say less: {rest:list}.",
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
    """How many forecasts are open, when the next one settles, and how those did that are settled."""
    sentences = [
        say(
            "**Of {n} forecasts on record {n_open} are open{due}.** A band should hold its outcome with a "
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
        sentences.append(say("Lapsed, as nothing came that could settle them: {n}.", n=score.n_lapsed))
    if score.n_settled:
        sentences.append(
            say(
                "Of {n} known outcomes {n_inside} lie in their bands, or {inside:share0} where {level:share0} should; "
                "the count allows {between}.",
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
