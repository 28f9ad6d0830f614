"""What the first page says of one run."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ettr.chapters.index.tables import cost_of_a_failure_h
from ettr.core.results import PARTS, TimeBudget
from ettr.core.sentences import Finding, count, duration, fails, listed, number, pct
from ettr.plan.assumed import assumptions, fitted_words, no_answer

if TYPE_CHECKING:
    from ettr.plan import Plan


def largest_losses(hours: TimeBudget, n: int = 2) -> list[tuple[str, float]]:
    """Names and shares of the parts that take most of the lost time."""
    lost = {part.removesuffix("_h"): getattr(hours, part) / hours.total_h for part in PARTS[1:]}
    return sorted(lost.items(), key=lambda item: -item[1])[:n]


def headline(plan: Plan) -> Finding:
    """The first answer of the book: how often a run fails, and what is left."""
    run, hours = plan.shown
    named = [f"{name} {pct(share)}" for name, share in largest_losses(hours) if share > 0]
    taken = f" The largest losses are {listed(named)}." if len(named) > 1 else ""
    best = ""
    if not plan.band.low_min <= plan.scenario.interval_min <= plan.band.high_min:
        best = (
            f" With a checkpoint every {duration(plan.best.interval_h)} instead of every "
            f"{duration(plan.scenario.interval_h)} it would be {pct(plan.budget.ettr)}."
        )
    if plan.budget_as_given is None:
        best = f" That is with a checkpoint every {duration(plan.best.interval_h)}: {no_answer(plan)}"
    often = fails(hours.total_h / hours.n_failures if hours.n_failures > 0 else math.inf)
    return Finding(
        title=f"{pct(hours.ettr)} of the wall clock is useful training",
        text=(
            f"**{run.title}: {often}; {pct(hours.ettr)} of the wall clock is useful training.**{taken}{best}"
            f"{_sure(plan)} {assumptions(run)} {fitted_words(plan.asked)}"
        ).strip(),
    )


def _sure(plan: Plan) -> str:
    """The range over what is assumed."""
    if not plan.assumptions.inputs:
        return ""
    return f" At the best interval the ETTR is {pct(plan.budget.ettr)}; {plan.assumptions.words}."


def time_budget(plan: Plan) -> Finding:
    """Where the hours go at the scenario's own interval."""
    run, hours = plan.shown
    lost = hours.total_h - hours.productive_h
    named = [f"{name} {pct(share)}" for name, share in largest_losses(hours, 3) if share > 0]
    gpu_h = lost * run.cluster.n_gpus
    met = "The run meets no failure."
    if hours.n_failures > 0:
        n_failures = count(hours.n_failures) if hours.n_failures >= 10 else number(hours.n_failures)
        met = (
            f"On average the run meets {n_failures} failures; each costs {duration(cost_of_a_failure_h(run))} of "
            f"rework, detection, queue and restart."
        )
    losses = f" The largest losses are {listed(named)}." if named else ""
    return Finding(
        title=f"{pct(1 - hours.ettr)} of the wall clock is lost",
        text=(
            f"Of {duration(hours.total_h)} of wall clock {duration(lost)} are lost, which is "
            f"{count(round(gpu_h, -3)) if gpu_h > 1e4 else number(gpu_h)} GPU-hours.{losses} {met}"
        ),
    )
