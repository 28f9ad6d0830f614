"""What can I learn from my failure log?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ettr.core.errors import NotModelled
from ettr.core.sentences import Finding, literal, say
from ettr.core.units import MIN_PER_H
from ettr.failures import node_verdict, verdicts, words
from ettr.scenario import Scenario

if TYPE_CHECKING:
    from ettr.failures import Fit
    from ettr.plan.fitted import FittedPlan

_FINDINGS = {
    "rate": words.rate,
    "trend": verdicts.trend,
    "nodes": node_verdict.nodes,
    "forecast": words.forecast,
}


def answer(fitted: FittedPlan, like: str) -> Finding:
    """Return a summary of the log, under a title that names it; ``like``: the scenario with the other times."""
    log = words.answer(fitted.fit)
    job = say(
        "A job on {n_gpus:gpus} should checkpoint every {interval:roughly}, assuming the checkpoint and recovery times "
        "of {like}.",
        n_gpus=fitted.scenario.cluster.n_gpus,
        interval=fitted.plan.band.interval_min / MIN_PER_H,
        like=literal(Scenario.load(like).title),
    )
    return Finding(f"{fitted.fit.log.source}: {log.title}", f"{log.text} {job}")


def with_failures(fit: Fit) -> None:
    """Refuse a log without failures, about which the rest of the page has nothing to say.

    Raises
    ------
    NotModelled
        If nothing failed.
    """
    if not len(fit.start_h):
        raise NotModelled("the log has no failures")


def finding(fit: Fit, question: str) -> Finding:
    """Return the sentences of ``ettr fit`` on ``rate``, ``trend``, ``nodes`` or ``forecast``."""
    return _FINDINGS[question](fit)
