"""What one failure log says, and how far to believe it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from ettr.core.sentences import Finding, count, listed, number, say
from ettr.failures.node_verdict import after_repair, nodes
from ettr.failures.verdicts import shape, trend
from ettr.failures.words import components, forecast, horizon_d, rate, reading, repairs
from ettr.plan.fitted import advice, trust
from ettr.plan.fitted import interval as plan
from ettr_book.chapters.common.exercises import Exercise, exercises
from ettr_book.chapters.common.table import CaptionedTable

if TYPE_CHECKING:
    from ettr.failures import Fit
    from ettr.plan.fitted import FittedPlan

__all__ = [
    "after_repair",
    "answer",
    "asked",
    "by_hand",
    "components",
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
    "trend": "whether the rate moves",
    "nodes": "whether nodes differ",
    "memoryless": "how gaps are distributed",
}


def answer(fit: Fit, fitted: FittedPlan) -> Finding:
    """The log in a paragraph, under a title that names it."""
    log = advice(fitted)
    return Finding(f"{fit.log.source}: {log.title}", log.text)


def by_hand(fit: Fit) -> Finding:
    """The rate and its interval in three lines."""
    n, exposure = len(fit.start_h), fit.log.node_days / 1000
    return Finding(
        "By hand",
        say(
            "- {n_nodes:count} nodes over {days:about} days are {exposure:about} thousand node-days.\n"
            "- {n:count} failures / {exposure:about} = {rate:#.2g} per 1,000 node-days.\n"
            "- A count of {n:count} is uncertain by twice its root, so the rate by 2 × {root:about} / "
            "{exposure:about} = {off:.2g}, if failures are independent.\n\nThe exact interval is {low:#.2g} to "
            "{high:#.2g}.",
            "Nothing failed, and three divided by the exposure is the largest rate that fits.",
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
    """The table of rules; ``frame`` as from ``tables.truth``."""
    rows = [
        {
            "Rule": row.what,
            "Built in": _cell(row.true),
            "Found": _cell(row.found) + (f" ({_cell(row.low)} to {_cell(row.high)})" if row.low == row.low else ""),
        }
        for row in frame.itertuples()
    ]
    return CaptionedTable(pd.DataFrame(rows), "Rules of the made-up log, and what a fit of it finds")


def _cell(value: object) -> str:
    return value if isinstance(value, str) else f"{float(value):#.2g}".rstrip(".")  # type: ignore[arg-type]


def little(fit: Fit) -> Finding:
    """What a log of few failures can and cannot say."""
    silent = [words for question, words in _QUESTIONS.items() if fit.verdict(question).answer == "too few"]
    return Finding(
        title=f"{count(len(fit.start_h))} failures are a rate, and hardly more",
        text=say(
            "{source}: {n} failures in {days} node-days, so {rate:#.2g} per 1,000 node-days "
            "({low:#.2g} to {high:#.2g}). It cannot say {silent}.",
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


def asked(fit: Fit) -> Finding:
    """Two exercises."""
    risk = fit.node_statistics.risk if fit.node_statistics else None
    return exercises(
        Exercise(
            "A node failed five times. What do you look at before you replace it?",
            say(
                "At when: in the {days:about} days after a repair nodes of this log fail {times:about} times as often "
                "as by themselves. Five failures in a week are one bad repair; five over the year may be a bad node.",
                "At when: five failures within days of each repair are a bad repair; five over the year may be a bad "
                "node.",
                days=risk.within_d if risk else None,
                times=risk.ratio if risk else None,
            ),
        ),
        Exercise(
            "How many failures does it take until the rate is known within a fifth, if they are independent?",
            f"About 100: twice the root of 100 is a fifth of it. This log has {number(len(fit.start_h))}.",
        ),
    )
