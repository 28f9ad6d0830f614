"""What do failures cost a cluster of many jobs?"""

from __future__ import annotations

import pandas as pd

from ettr import cluster
from ettr.core.sentences import Finding, say
from ettr_book.chapters.common.table import CaptionedTable, named

_COLUMNS = {
    "size": "GPUs",
    "planned_rate": "Failures per 1,000 node-days",
    "mttf_h": "MTTF [h]",
    "interval_min": "Interval [min]",
    "ettr": "ETTR [%]",
    "best_min": "Best interval [min]",
    "ettr_at_best": "ETTR at best [%]",
}


def answer(plan: cluster.ClusterPlan) -> Finding:
    """Return the cost of failures for the cluster, and the sizes that cause it."""
    top, none = plan.most_costly, "**{productive:share0} of the GPU-hours are productive.** No job failed."
    text = say(
        "**{productive:share0} of the GPU-hours are productive.** Failures cost {lost:share} of them: lost work, "
        "restarts and pre-emption. Jobs of {sizes:list} GPUs use {share:share0} of the GPU-hours and cause "
        "{of_lost:share0} of that loss.",
        none,
        productive=plan.totals["productive"],
        lost=plan.lost_to_failures,
        sizes=top["size"].tolist(),
        share=float(top["share"].sum()) if len(top) else None,
        of_lost=float(top["lost"].sum()),
    )
    return Finding("Productive share of a cluster", text)


def by_size(plan: cluster.ClusterPlan) -> CaptionedTable:
    """Return a table of failures and checkpoints by job size."""
    frame = plan.by_size.assign(ettr=100 * plan.by_size["ettr"], ettr_at_best=100 * plan.by_size["ettr_at_best"])
    return named(frame, _COLUMNS, "Failures and checkpoints by job size, expected in the long run", digits=3)


def mitigations(plan: cluster.ClusterPlan) -> CaptionedTable:
    """Return a table of the sets for the whole cluster and for its largest job, with the saving of each step."""
    rows = [
        {"Set for": whose, "Mitigation": step.title, "Saves [1000 USD per month]": step.saved_usd / 1e3}
        for whose, found in (("the cluster", plan.recommendation), ("its largest job", plan.of_largest))
        for step in (found.steps if found else ())
    ]
    caption = "Mitigations that pay for the whole cluster, and for its largest job"
    return CaptionedTable(pd.DataFrame(rows), caption, digits=2)
