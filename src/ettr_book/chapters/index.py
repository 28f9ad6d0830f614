"""What do failures cost a large training run?

What the first page says of one run, and what a failure costs it.
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
    """Hours that a failure takes in the steady state, where no start and no maintenance restarts the job. [h]

    Examples
    --------
    >>> round(cost_of_a_failure_h(Scenario.load("llama3-405b")) * 60, 1)
    11.8
    """
    hours = budget.exact(run.override({"job.include_start": False, "maintenance": None}))
    return float((hours.rework_h + hours.detection_h + hours.queue_h + hours.restart_h) / hours.n_failures)


def largest_losses(hours: TimeBudget, n: int = 2) -> list[tuple[str, float]]:
    """Names and shares of the parts that take most of the lost time."""
    lost = {part.removesuffix("_h"): getattr(hours, part) / hours.total_h for part in PARTS[1:]}
    return sorted(lost.items(), key=lambda item: -item[1])[:n]


def headline(plan: Plan) -> Finding:
    """The first answer of the book: what the run is, how often it fails, what is left, and how sure that is."""
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
            filter(None, (f"**{first}.**", _sure(plan), _published(plan), fitted_words(plan.original), _interval(plan)))
        ),
    )


def _sure(plan: Plan) -> str:
    if not plan.assumptions.inputs:
        return "Nothing in it is assumed."
    return say(
        "At its best interval that is {#best_ettr:share0}: {range}.",
        best_ettr=plan.budget.ettr,
        range="; ".join(one.words if i == 0 else one.short_words for i, one in enumerate(plan.ranges)),
    )


def _published(plan: Plan) -> str:
    return f"{plan.published.words}." if plan.published else ""


def _interval(plan: Plan) -> str:
    """What the best interval would change, where that is worth a sentence."""
    best = roughly(plan.best.interval_h)
    if plan.budget_as_given is None:
        return f"That is with a checkpoint every {best}: {no_answer(plan)}"
    if plan.band.low_min <= plan.scenario.interval_min <= plan.band.high_min:
        return ""
    return f"It saves every {roughly(plan.scenario.interval_h)}; every {best} would be best."


def time_budget(plan: Plan) -> Finding:
    """Where the hours go at the scenario's own interval."""
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
                    say("Most goes to {named}.", named=listed(named)) if named else "Nothing is lost.",
                    say(
                        "A failure costs {each:roughly} of rework, waiting and restart, and the job meets {n}.",
                        "The run meets no failure.",
                        each=cost_of_a_failure_h(run) if hours.n_failures > 0 else None,
                        n=count(about(hours.n_failures)) if hours.n_failures >= 1 else "less than one",
                    ),
                    say(
                        "Together {#lost_share:share} of the time is lost, {lost:roughly} of all GPUs, {usd:usd} of "
                        "their price.",
                        "Together {#lost_share:share} of the time is lost, {lost:roughly} of all GPUs.",
                        lost_share=lost_h / hours.total_h,
                        lost=lost_h,
                        usd=lost_h * run.cluster.n_gpus * price if price else None,
                    ),
                ),
            )
        ),
    )
