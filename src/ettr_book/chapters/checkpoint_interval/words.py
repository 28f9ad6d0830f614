"""Text of the chapter on the checkpoint interval."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ettr.core.sentences import Finding, capital, listed, literal, points, say
from ettr.plan.details import no_answer
from ettr_book.chapters.checkpoint_interval import tables
from ettr_book.chapters.common.exercises import Exercise, numbered_exercises

if TYPE_CHECKING:
    from ettr.plan import Plan

_FACTORS = {0.25: "a quarter of", 0.5: "half", 2.0: "twice", 4.0: "four times"}


def answer(plan: Plan) -> Finding:
    """Return the best checkpoint interval."""
    run, band = plan.scenario, plan.band
    if math.isinf(plan.job_mttf_h):
        none = f"**{literal(run.title)} has no failures: a checkpoint gains nothing.**"
        return Finding("No failures, no checkpoints", none)
    high = None if band.ends_job else band.high_min / 60
    values = {"best_interval": band.interval_min / 60, "flat": (band.low_min / 60, high)}
    text = say(
        "**Checkpoint every {#best_interval:roughly}; anything from {#flat:span} costs at most half a point of ETTR.**",
        "**Checkpoint every {#best_interval:roughly}; even a single checkpoint at the end costs at most half a point "
        "of ETTR.**",
        **values,
    )
    return Finding(
        say(
            "Checkpoint every {best_interval:roughly}; {flat:span} costs half a point at most",
            "Checkpoint every {best_interval:roughly}; anything longer costs half a point at most",
            **values,
        ),
        f"{text} {_uncertainty(plan)} {_current(plan)}",
    )


def _uncertainty(plan: Plan) -> str:
    """Return the range of the best interval over the assumed inputs, and over the failure rate."""
    moved = tables.moved_by(plan)
    sentences = []
    for basis, template in (
        ("assumed", "Across the plausible range of the assumed inputs it is {ends:span}, mostly by the {input}."),
        ("counted, 95% CI", "Uncertainty in the failure rate moves it from {ends:span} (95% CI)."),
    ):
        rows = moved[moved["basis"] == basis]
        if len(rows):
            widest = rows.loc[(rows["high_min"] / rows["low_min"]).idxmax()]
            ends = (rows["low_min"].min() / 60, rows["high_min"].max() / 60)
            sentences.append(say(template, ends=ends, input=widest["input"]))
    return " ".join(sentences)


def _current(plan: Plan) -> str:
    run, band = plan.scenario, plan.band
    if plan.budget_at_current is None:
        return no_answer(plan).capitalize()
    if not plan.has_fixed_interval:
        return ""
    if band.low_min <= run.interval_min <= band.high_min:
        return say("The run's own {own:roughly} lies inside that range.", own=run.interval_h)
    cost = points(plan.budget.ettr - plan.budget_at_current.ettr)
    return say("The run's own {own:roughly} lies outside and costs {cost}.", own=run.interval_h, cost=cost)


def by_hand(plan: Plan) -> Finding:
    """Return Young's rule in three lines of arithmetic."""
    if math.isinf(plan.job_mttf_h) or plan.scenario.stall_h == 0:
        return Finding("By hand", "Without failures, or without a stall, there is no trade-off.")
    hand = tables.by_hand(plan)
    return Finding(
        "By hand",
        say(
            "- Exposed to failures, the job meets {failures_per_day:about} per day: MTTF {mttf_min:about} min (MTBF "
            "{#mttf:roughly} on the wall clock, downtime included).\n"
            "- Young's rule: interval = √(2 × stall × MTTF) = √(2 × {stall_min:about} × {mttf_min:about}) = "
            "{interval_min:about} min.\n"
            "- Stalls then take {stall_min:about} / {interval_min:about}, and rework the same again: {in_all}.\n\n"
            "The exact model gives {best:about} min{floor}.",
            mttf=plan.wall_mttf_h,
            best=plan.band.interval_min,
            in_all=say("{lost:share} in all", lost=hand["lost"]) if hand["lost"] < 1 else "more than all of the time",
            floor=", since the background write must end first" if _write_sets_it(plan) else "",
            **hand,
        ),
    )


def _write_sets_it(plan: Plan) -> bool:
    return bool(plan.band.interval_min < 1.001 * plan.scenario.least_interval_min)


def wrong(plan: Plan) -> Finding:
    """Return the cost of a wrong interval."""
    losses = tables.losses_by_factor(plan, _FACTORS)
    if not losses:
        only = "There is no other interval: the work is too short, or the background write too long"
        return Finding("One interval is possible", f"{only}.")
    each = [f"{_FACTORS[factor]} the best interval costs {points(loss)}" for factor, loss in losses.items()]
    return Finding(capital(each[-1]), f"{capital(listed(each))}.")


def parts(plan: Plan) -> Finding:
    """Return the trade-off at the interval."""
    hours = plan.budget
    return Finding(
        title="A short interval pays in stalls, a long one in rework",
        text=say(
            "At the best interval stalls take {stalls:share} of the time and rework {rework:share}. What else is lost, "
            "{other:share}, hardly depends on the interval: only faster recovery, fewer failures or fewer planned "
            "stops reduce it.",
            stalls=(hours.checkpoint_h + hours.slowdown_h) / hours.total_h,
            rework=hours.rework_h / hours.total_h,
            other=(hours.detection_h + hours.queue_h + hours.restart_h + hours.maintenance_h) / hours.total_h,
        ),
    )


def moved(frame: pd.DataFrame, plan: Plan) -> Finding:
    """Return which input moves the best interval; ``frame`` as from ``tables.moved_by``."""
    if frame.empty:
        same = "No uncertain input moves the best interval"
        return Finding(same, f"{same}.")
    ratio = frame["high_min"] / frame["low_min"]
    widest = frame.loc[ratio.idxmax()]
    outside = frame[(frame["high_min"] > plan.band.high_min) | (frame["low_min"] < plan.band.low_min)]
    return Finding(
        title=say("Measure the {input} first", input=widest["input"]),
        text=say(
            "The {input} moves the best interval by a factor of {ratio:about}, from {ends:span}. {verdict}",
            input=widest["input"],
            ratio=ratio.max(),
            ends=(widest["low_min"] / 60, widest["high_min"] / 60),
            verdict=(
                "All these intervals cost at most half a point, so the plan would not change."
                if outside.empty
                else f"Only {listed([f'the {name}' for name in outside['input']])} can move it out of the range that "
                f"costs at most half a point."
            ),
        ),
    )


def rules(table: pd.DataFrame, n_gpus: int) -> Finding:
    """Return which interval rule to use; columns as from ``tables.interval_rules``."""
    worst = table.groupby("rule")["loss_points"].max().sort_values()
    n_gpus = int(min(n_gpus, table["n_gpus"].max()))
    at_size = table.iloc[(np.log(table["n_gpus"]) - math.log(n_gpus)).abs().groupby(table["rule"]).idxmin()]
    return Finding(
        title=say("No rule costs more than {worst:points} up to a million GPUs", worst=worst.iloc[-1] / 100),
        text=say(
            "On {n_gpus:gpus} the worst of four published rules costs {largest:points}. Over all sizes {first} is the "
            "most accurate and {last} the least.",
            n_gpus=n_gpus,
            largest=at_size["loss_points"].max() / 100,
            first=worst.index[0],
            last=worst.index[-1],
        ),
    )


def exercises(plan: Plan) -> Finding:
    """Return two exercises."""
    run, stall_s = plan.scenario, plan.scenario.checkpoint.stall_s or 10.0
    slower = tables.best_interval_if(run, {"checkpoint.stall_s": 4 * stall_s})
    larger = tables.best_interval_if(run, {"cluster.n_gpus": 4 * run.cluster.n_gpus})
    return numbered_exercises(
        Exercise(
            say("The store gets slower, and a stall of {stall:number} s becomes one of {four:number} s. How often now?",
                stall=stall_s, four=4 * stall_s),
            say("Half as often, every {slower:roughly}: the interval grows with the root of the stall.",
                slower=slower / 60),
            {"checkpoint.stall_s": 4 * stall_s},
        ),
        Exercise(
            say("The same job on {n:count} GPUs, four times as many. How often?", n=4 * run.cluster.n_gpus),
            say("It fails four times as often, so about twice as often: every {larger:roughly}. The share of the time "
                "that stalls and rework take doubles.", larger=larger / 60),
            {"cluster.n_gpus": 4 * run.cluster.n_gpus},
        ),
    )  # fmt: skip
