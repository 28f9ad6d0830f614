"""What a plan from a failure log says, and how far to trust it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ettr.core.report import Headline, Note, Report, without_marks
from ettr.core.sentences import Finding, duration, number, pct, points
from ettr.failures import words
from ettr.failures.log_words import counted

if TYPE_CHECKING:
    from ettr.failures import Fit
    from ettr.plan.fitted import FittedPlan


def answer(fit: Fit, fitted: FittedPlan) -> Finding:
    """The log in a paragraph: rate, what it shows, and what to do about it."""
    shown = words.answer(fit)
    advice = (
        f"A job on {counted(fitted.scenario.cluster.n_gpus, 'GPU')} should checkpoint every "
        f"{duration(fitted.plan.band.interval_min / 60)}, if checkpoints and recoveries take as long as assumed."
    )
    return Finding(title=shown.title, text=f"{shown.text} {advice}")


def _at_most(fraction: float) -> str:
    return f"at most {points(fraction)}" if abs(fraction) >= 0.0005 else "less than 0.1 points"


def plan(fitted: FittedPlan) -> Finding:
    """The interval with its band, and what the merge rules would change."""
    band, run, rules = fitted.plan.band, fitted.scenario, fitted.by_rule
    longest, shortest = rules["interval_min"].max(), rules["interval_min"].min()
    moved = (
        f" By merge rule it moves between {duration(shortest / 60)} and {duration(longest / 60)}, which costs "
        f"{_at_most(rules['loss'].max())}."
        if longest > 1.005 * shortest
        else ""
    )
    recent, past = fitted.fit.recent_rate, fitted.fit.forecast
    since = (
        f"The rate changes, so the plan takes that of the last {duration(past.past.window_h)}, "
        f"{number(recent.per_1000_node_days)} per 1,000 node-days, not the "
        f"{number(fitted.fit.rate.per_1000_node_days)} "
        "of the whole log. "
        if recent and past
        else ""
    )
    recovery_min = run.recovery.detection_min + run.recovery.queue_min + run.recovery.restart_min
    return Finding(
        title=f"Checkpoint every {duration(band.interval_min / 60)}",
        text=(
            f"{since}On {counted(run.cluster.n_gpus, 'GPU')} a checkpoint every "
            f"{duration(band.interval_min / 60)} is best; anything between {duration(band.low_min / 60)} and "
            f"{duration(band.high_min / 60)} costs at most {points(band.points)} of ETTR.{moved} Assumed, because a "
            f"log of failures does not hold it: a checkpoint stalls training for "
            f"{duration(run.checkpoint.stall_s / 3600)}, and a recovery takes {duration(recovery_min / 60)}."
        ),
    )


def trust(fitted: FittedPlan) -> Finding:
    """How far to trust the interval, and how far the ETTR."""
    splits, ahead = fitted.splits, fitted.fit.forecast
    span = f"in the next {duration(24 * ahead.horizon_d)}" if ahead else "with what is known of the rate"
    at_rate = "at the rate of the whole log" if len(fitted.fit.start_h) else "at half a failure in the whole log"
    if ahead and not ahead.past.is_whole:
        at_rate = f"at the rate of the last {duration(ahead.past.window_h)}"
    level = (
        f"The ETTR is {pct(fitted.plan.budget.ettr)} {at_rate}; {span} it may be anything from "
        f"{pct(fitted.ettr_low)} to {pct(fitted.ettr_high)}."
    )
    if len(splits) < 2:
        return Finding(
            title="Too few failures to test the plans of the past",
            text=f"{level} The log holds too few failures to test how plans from its past did.",
        )
    loss, error = splits["interval_loss"].max(), splits["level_error"].abs().max()
    return Finding(
        title="Trust the interval more than the ETTR" if error > loss else "The interval held no better than the ETTR",
        text=(
            f"Planned {len(splits)} times from the past of this log, and judged by the "
            f"{duration(24 * splits['horizon_d'].iloc[0])} that followed, the interval cost {_at_most(loss)} of ETTR; "
            f"the ETTR that was promised was off by {_at_most(error)}. {level}"
        ),
    )


def report(fitted: FittedPlan) -> Report:
    """The report of the fit, with what to do about it."""
    source, _shown, *sections = fitted.fit.report()
    opening, *ending = (
        Note(without_marks(finding.text)) for finding in (answer(fitted.fit, fitted), plan(fitted), trust(fitted))
    )
    return [source, opening, *sections, Headline("Plan", apart=True), *ending]
