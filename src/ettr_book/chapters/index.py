"""What do failures cost a large training run?

Answers of the first page on one run, and the cost of a failure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ettr import budget
from ettr.core.results import PARTS, TimeBudget
from ettr.core.sentences import Finding, about, count, listed, literal, pct, roughly, say
from ettr.plan.details import no_answer
from ettr.plan.report import fitted_words
from ettr.scenario import Scenario

if TYPE_CHECKING:
    from ettr.plan import Plan


def cost_of_a_failure_h(run: Scenario) -> float:
    """Return the hours lost per failure in the steady state, without the first start and maintenance. [h]

    Examples
    --------
    >>> round(cost_of_a_failure_h(Scenario.load("llama3-405b")) * 60, 1)
    11.8
    """
    hours = budget.exact(run.override({"job.include_start": False, "maintenance": None}))
    return float((hours.rework_h + hours.detection_h + hours.queue_h + hours.restart_h) / hours.n_failures)


def largest_losses(hours: TimeBudget, n: int = 2) -> list[tuple[str, float]]:
    """Return names and shares of the largest losses."""
    lost = {part.removesuffix("_h"): getattr(hours, part) / hours.total_h for part in PARTS[1:]}
    return sorted(lost.items(), key=lambda item: -item[1])[:n]


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
        "At its best interval that is {#best_ettr:share0}: {range}.",
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


def time_budget(plan: Plan) -> Finding:
    """Return the time budget at the scenario's own interval."""
    run, hours = plan.current
    lost_h = hours.total_h - hours.productive_h
    named = [f"{name} {pct(share, 0)}" for name, share in largest_losses(hours, 3) if share > 0.005]
    price = run.cost.usd_per_gpu_h if run.cost else None
    return Finding(
        title=say("{lost:share0} of the time is lost", lost=lost_h / hours.total_h),
        text=" ".join(
            filter(
                None,
                (
                    say("The largest losses are {named}.", named=listed(named)) if named else "Nothing is lost.",
                    say(
                        "Each failure costs {each:roughly} of rework, waiting and restart, and the job has {n}.",
                        "The run has no failure.",
                        each=cost_of_a_failure_h(run) if hours.n_failures > 0 else None,
                        n=count(about(hours.n_failures)) if hours.n_failures >= 1 else "less than one",
                    ),
                    say(
                        "In total {#lost_share:share} of the time is lost: {lost:roughly} of the whole cluster, worth "
                        "{usd:usd}.",
                        "In total {#lost_share:share} of the time is lost: {lost:roughly} of the whole cluster.",
                        lost_share=lost_h / hours.total_h,
                        lost=lost_h,
                        usd=lost_h * run.cluster.n_gpus * price if price else None,
                    ),
                ),
            )
        ),
    )
