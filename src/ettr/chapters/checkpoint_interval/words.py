"""Sentences of the chapter on the checkpoint interval."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ettr.chapters.checkpoint_interval.tables import (
    FLAT_BAND,
    best_interval_if,
    loss_by_wrong_rate,
    losses_by_factor,
)
from ettr.core.sentences import Finding, duration, gpus, listed, number, pct, points
from ettr.plan import assumed
from ettr.plan.assumed import no_answer

if TYPE_CHECKING:
    from ettr.plan import Plan


def answer(plan: Plan) -> Finding:
    """How often to checkpoint."""
    run, band = plan.scenario, plan.band
    own = f"The scenario's own interval of {duration(run.interval_h)}"
    if plan.budget_as_given is None:
        verdict = no_answer(plan).capitalize().removesuffix(".")
    elif abs(plan.budget.ettr - plan.budget_as_given.ettr) < 1e-6:
        verdict = f"{own} gives the same"
    elif band.low_min <= run.interval_min <= band.high_min:
        verdict = f"{own} lies inside this range"
    else:
        verdict = f"{own} lies outside and costs {points(plan.budget.ettr - plan.budget_as_given.ettr)}"
    if math.isinf(plan.job_mttf_h):
        return Finding(
            title="No failures, no checkpoints",
            text=f"**{run.title} has no failures: a checkpoint gains nothing.** {verdict}.",
        )
    between = f"between {duration(band.low_min / 60)} and {duration(band.high_min / 60)}"
    if band.ends_job:
        between = f"longer than {duration(band.low_min / 60)}, even no checkpoint before the end,"
    return Finding(
        title=f"Best interval: {duration(band.interval_min / 60)}",
        text=(
            f"**{run.title} should checkpoint every {duration(band.interval_min / 60)}; anything {between} costs at "
            f"most {points(band.points)} of ETTR.** {verdict}. The ETTR at the best interval is "
            f"{pct(plan.budget.ettr)}."
        ),
    )


def wrong(plan: Plan) -> Finding:
    """What a wrong interval costs, as far as it can be longer or shorter at all."""
    factors = {0.25: "a quarter of", 0.5: "half", 2.0: "twice", 4.0: "four times"}
    losses = {factors[factor]: loss for factor, loss in losses_by_factor(plan, factors).items()}
    if not losses:
        only = "There is no other interval: the work is too short, or the background write too long"
        return Finding(title="One interval is possible", text=f"{only}.")
    costs = [f"{name} the best interval costs {points(loss)}" for name, loss in losses.items()]
    misjudged = loss_by_wrong_rate(plan)
    known = f" A failure rate that is wrong by a factor of four costs {points(misjudged)}." if misjudged > 5e-4 else ""
    longest = list(losses)[-1]
    return Finding(
        title=f"{longest.capitalize()} the best interval costs {points(losses[longest])}",
        text=f"{listed(costs).capitalize()}.{known}",
    )


def parts(plan: Plan) -> Finding:
    """What is traded at the interval."""
    hours = plan.budget
    other = (hours.detection_h + hours.queue_h + hours.restart_h + hours.maintenance_h) / hours.total_h
    return Finding(
        title="A short interval pays in stalls, a long one in rework",
        text=(
            f"At the best interval checkpoint stalls and slowdown take "
            f"{pct((hours.checkpoint_h + hours.slowdown_h) / hours.total_h)} "
            f"and rework {pct(hours.rework_h / hours.total_h)}. The other losses, {pct(other)} together, hardly "
            f"depend on the "
            f"interval: only faster recovery, fewer failures or less maintenance reduces them."
        ),
    )


def assumptions(plan: Plan) -> Finding:
    """How the best interval moves with the stall and the failure rate."""
    run, rate, stall_s = plan.scenario, plan.scenario.failure_rate, plan.scenario.checkpoint.stall_s
    title = "Stall and failure rate stand under one square root"
    moves = []
    if stall_s > 0:
        longer = best_interval_if(run, {"checkpoint.stall_s": 4 * stall_s})
        moves.append(f"{duration(longer / 60)} with a stall of {number(4 * stall_s)} s instead of {number(stall_s)} s")
    if rate > 0:
        rarer = best_interval_if(run, {"failures.rate_per_1000_node_days": rate / 4})
        moves.append(f"{duration(rarer / 60)} with a quarter of the failures")
    best = f"The best interval is {duration(plan.best.interval_h)}"
    sentence = f"{best}; it would be {listed(moves)}." if moves else f"{best}."
    return Finding(title=title, text=f"{assumed.assumptions(run)} {sentence}".strip())


def rules(table: pd.DataFrame, n_gpus: int) -> Finding:
    """Which rule for the interval to use; columns as from ``tables.interval_rules``."""
    worst = table.groupby("rule")["loss_points"].max().drop("Exact").sort_values()
    n_gpus = int(min(n_gpus, table["n_gpus"].max()))
    here = table.iloc[(np.log(table["n_gpus"]) - math.log(n_gpus)).abs().groupby(table["rule"]).idxmin()]
    largest = here["loss_points"].max() / 100
    moral = (
        "At this size it matters little which rule one takes; which failure rate and which stall one puts into it "
        "matters more."
        if largest < FLAT_BAND
        else "At this size the choice of the rule matters: take the exact one."
    )
    if worst.iloc[-1] < 1e-6:
        same = "Every published rule gives the best interval"
        return Finding(title=same, text=f"{same}, at all sizes.")
    return Finding(
        title=f"No published rule costs more than {worst.iloc[-1]:.2g} points anywhere up to a million GPUs",
        text=(
            f"At {gpus(n_gpus)} the worst of the published rules costs {points(largest)} against the best interval. "
            f"Over "
            f"all sizes {worst.index[0]} is nearest to it and {worst.index[-1]} farthest, at "
            f"{points(worst.iloc[-1] / 100)}. {moral}"
        ),
    )


def published_stall(results: pd.DataFrame) -> Finding:
    """What a published cut of the stall does to the interval; ``results`` as from :func:`ettr.validation.run`."""
    row = results.set_index("result_id").loc["dcp-ratio"]
    return Finding(
        title="A shorter stall allows more checkpoints",
        text=(
            f"{row['quantity']}: reported as {row['published']:.2f} times, computed as {row['computed']:.2f}. "
            f"The best interval falls with the root, by {number(math.sqrt(row['computed']))} times, and so does what "
            f"stalls and rework take together."
        ),
    )


def interval_bands(plan: Plan) -> Finding:
    """How far the interval and the ETTR move with what is known of the rate."""
    title = "How well the rate is known is not said"
    if plan.bands.empty or math.isinf(plan.job_mttf_h):
        source = plan.band_source
        return Finding(title=title, text=f"{source[0].upper()}{source[1:]}.")
    rows = plan.bands.set_index("quantity")
    mttf, best, ettr = (rows.loc[name] for name in ("job_mttf_h", "best_interval_min", "ettr_at_best"))
    band = plan.band
    inside = band.low_min <= best["low_95"] and best["high_95"] <= band.high_min
    verdict = (
        "All of these intervals lie in the range that costs at most half a point: counting longer would not change the "
        "plan, only what to expect of it"
        if inside
        else "They reach beyond the range that costs at most half a point: a longer count could change the plan"
    )
    return Finding(
        title=f"The rate moves the ETTR by {points((ettr['high_95'] - ettr['low_95']) / 2)} either way",
        text=(
            f"With 95% probability the time to failure lies between {duration(mttf['low_95'])} and "
            f"{duration(mttf['high_95'])}, the best interval between {duration(best['low_95'] / 60)} and "
            f"{duration(best['high_95'] / 60)}, and the ETTR with the plan's interval between "
            f"{pct(ettr['low_95'])} and {pct(ettr['high_95'])} (with 50% between {pct(ettr['low_50'])} and "
            f"{pct(ettr['high_50'])}). {verdict}. The bands come {plan.band_source}."
        ),
    )
