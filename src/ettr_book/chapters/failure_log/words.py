"""Text on one failure log and its limits."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from ettr.core.sentences import Finding, count, listed, number, say
from ettr.failures.node_verdict import after_repair, nodes
from ettr.failures.verdicts import shape, trend
from ettr.failures.words import components, forecast, horizon_d, rate, reading, repairs
from ettr.plan.fitted import advice, trust
from ettr.plan.fitted import interval as plan
from ettr_book.chapters.common.exercises import Exercise, numbered_exercises
from ettr_book.chapters.common.table import CaptionedTable

if TYPE_CHECKING:
    from ettr.failures import Fit
    from ettr.plan.fitted import FittedPlan

__all__ = [
    "after_repair",
    "answer",
    "by_hand",
    "components",
    "exercises",
    "forecast",
    "horizon_d",
    "little",
    "nodes",
    "plan",
    "rate",
    "reading",
    "repairs",
    "shape",
    "trend",
    "trust",
]

_QUESTIONS = {
    "trend": "a trend of the rate",
    "nodes": "differences between nodes",
    "memoryless": "the distribution of gaps",
}


def answer(fit: Fit, fitted: FittedPlan) -> Finding:
    """Return a summary of the log, under a title that names it."""
    log = advice(fitted)
    return Finding(f"{fit.log.source}: {log.title}", log.text)


def by_hand(fit: Fit) -> Finding:
    """Return the rate and its interval in three lines of arithmetic."""
    n, exposure = len(fit.start_h), fit.log.node_days / 1000
    return Finding(
        "By hand",
        say(
            "- {n_nodes:count} nodes over {days:about} days are {exposure:about} thousand node-days.\n"
            "- {n:count} failures / {exposure:about} = {rate:#.2g} per 1,000 node-days.\n"
            "- The 95% CI of a count of {n:count} is about twice its root, so that of the rate is ±2 × {root:about} / "
            "{exposure:about} = {off:.2g}, if failures are independent.\n\nThe exact 95% CI is {low:#.2g} to "
            "{high:#.2g}.",
            "Nothing failed, so three divided by the exposure is the upper 95% limit of the rate.",
            n_nodes=fit.log.n_nodes,
            days=fit.log.window_h / 24,
            exposure=exposure,
            n=n or None,
            rate=n / exposure,
            root=n**0.5,
            off=2 * n**0.5 / exposure,
            low=fit.rate.low,
            high=fit.rate.high,
        ),
    )


def rules(frame: pd.DataFrame) -> CaptionedTable:
    """Return the table of rules; ``frame`` as from ``tables.truth``."""
    rows = [
        {
            "Rule": row.what,
            "Built in": _cell(row.true),
            "Fitted": _cell(row.found) + (f" ({_cell(row.low)} to {_cell(row.high)})" if row.low == row.low else ""),
        }
        for row in frame.itertuples()
    ]
    return CaptionedTable(pd.DataFrame(rows), "Rules of the synthetic log and their fitted values")


def _cell(value: object) -> str:
    return value if isinstance(value, str) else f"{float(value):#.2g}".rstrip(".")  # type: ignore[arg-type]


def little(fit: Fit) -> Finding:
    """Return the limits of a log with few failures."""
    silent = [words for question, words in _QUESTIONS.items() if fit.verdict(question).answer == "too few"]
    return Finding(
        title=f"{count(len(fit.start_h))} failures give a rate and little else",
        text=say(
            "{source}: {n} failures in {days} node-days, so {rate:#.2g} per 1,000 node-days "
            "({low:#.2g} to {high:#.2g}). That is too few to determine {silent}.",
            "{source}: {n} failures in {days} node-days, so {rate:#.2g} per 1,000 node-days ({low:#.2g} to "
            "{high:#.2g}).",
            source=fit.log.source,
            n=count(len(fit.start_h)),
            days=count(fit.log.node_days),
            rate=fit.rate.per_1000_node_days,
            low=fit.fair_rate.low,
            high=fit.fair_rate.high,
            silent=listed(silent) if silent else None,
        ),
    )


def exercises(fit: Fit) -> Finding:
    """Return two exercises."""
    risk = fit.node_statistics.risk if fit.node_statistics else None
    return numbered_exercises(
        Exercise(
            "A node failed five times. What do you check before you replace it?",
            say(
                "The dates: in the {days:about} days after a repair nodes of this log fail {times:about} times as "
                "often as otherwise. Five failures in a week point to a bad repair; five over a year to a bad node.",
                "The dates: failures within days of each repair point to a bad repair; five over a year to a bad node.",
                days=risk.within_d if risk else None,
                times=risk.ratio if risk else None,
            ),
        ),
        Exercise(
            "How many independent failures do you need to know the rate within 20%?",
            f"About 100: twice the root of 100 is 20% of 100. This log has {number(len(fit.start_h))}.",
        ),
    )
