"""What the page on validation says."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING

import pandas as pd

from ettr.core.sentences import Finding, count, say, span_of_shares
from ettr_book.chapters.validation.tables import MEANS

if TYPE_CHECKING:
    from ettr_book.validation.forecasts import Score


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
