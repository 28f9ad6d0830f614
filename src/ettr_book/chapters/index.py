"""What do failures cost a large training run?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ettr.core.sentences import Finding, literal, roughly, say
from ettr.plan.details import no_answer
from ettr.plan.report import fitted_words

if TYPE_CHECKING:
    from ettr.plan import Plan


def headline(plan: Plan) -> Finding:
    """Return the first answer of the book: the run, its MTBF, its ETTR, and its uncertainty."""
    run, hours = plan.current
    first = say(
        "{title}: a failure every {#mttf:roughly}; {#ettr:share0} of the time is training",
        "{title}: no failures; {#ettr:share0} of the time is training",
        title=literal(run.title),
        mttf=hours.mtbf_h,
        ettr=hours.ettr,
    )
    return Finding(
        title=say("It trains {ettr:share0} of the time", ettr=hours.ettr),
        text=" ".join(
            filter(
                None,
                (f"**{first}.**", _uncertainty(plan), _published(plan), fitted_words(plan.original), _interval(plan)),
            )
        ),
    )


def _uncertainty(plan: Plan) -> str:
    if not plan.assumptions.inputs:
        return "No input is assumed."
    return say(
        "At its best interval it is {#best_ettr:share0}: {range}.",
        best_ettr=plan.budget.ettr,
        range="; ".join(
            plausible_range.words if i == 0 else plausible_range.short_words
            for i, plausible_range in enumerate(plan.ranges)
        ),
    )


def _published(plan: Plan) -> str:
    return f"{plan.published.words}." if plan.published else ""


def _interval(plan: Plan) -> str:
    """Return the gain from the best interval, if it is worth a sentence."""
    best = roughly(plan.best.interval_h)
    if plan.budget_at_current is None:
        return f"This is with a checkpoint every {best}: {no_answer(plan)}"
    if plan.band.low_min <= plan.scenario.interval_min <= plan.band.high_min:
        return ""
    return f"Checkpoints are every {roughly(plan.scenario.interval_h)}; every {best} would be best."
