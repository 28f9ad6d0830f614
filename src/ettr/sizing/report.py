"""What an answer to how many GPUs says."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ettr.core.report import Headline, Note, Report, Table
from ettr.core.sentences import number, pct
from ettr.sizing.goals import GOALS
from ettr.sizing.yields import Yields

if TYPE_CHECKING:
    from ettr.sizing.answer import Sizing

_COLUMNS = ("", "GPUs", "90%", "days", "million USD", "GWh", "t CO2", "MW", "ETTR", "MFU")


def sizing_report(answer: Sizing) -> Report:
    """The best sizes by goal, and what the next GPU adds."""
    rows = [_row("this size", answer.as_given, "")]
    for goal in GOALS:
        if goal in answer.best:
            size = answer.best[goal]
            rows.append(_row(goal, size.yields, f"{number(size.n_gpus_low)} to {number(size.n_gpus_high)}"))
    bands = Note(f"The bands come {answer.band_source}.", dim=True)
    return [Headline("How many GPUs"), Table(_COLUMNS, rows), *map(Note, lines(answer)), bands]


def _row(name: str, at: Yields, within: str) -> list[str]:
    return [
        name,
        f"{float(at.n_gpus):,.0f}",
        within,
        f"{float(at.days):,.1f}",
        f"{float(at.usd) / 1e6:,.1f}",
        f"{float(at.mwh) / 1e3:,.1f}",
        f"{float(at.t_co2):,.0f}",
        f"{float(at.power_mw):,.1f}",
        pct(float(at.ettr)),
        pct(float(at.mfu)),
    ]


def lines(answer: Sizing) -> list[str]:
    """What the table does not show."""
    texts = [_next(answer)]
    if answer.batch_ends:
        ends = answer.most_gpus if answer.turning_gpus is None else answer.turning_gpus
        texts.append(
            f"More GPUs are faster up to {ends:,.0f}, where the batch leaves each replica a single micro-batch."
        )
    else:
        texts.append(f"From {answer.turning_gpus:,} GPUs on the next one takes more than it gives.")
    texts.append(
        f"Layout of this size: {answer.layout}, in batches of {number(answer.batch_tokens / 1e6)} million tokens."
    )
    if answer.better_gpus:
        texts.append(f"With {answer.better_gpus:,} of these GPUs it would be {pct(answer.better_gain)} faster.")
    texts += [f"Layout of the {goal}: {size.layout}." for goal, size in answer.best.items()]
    if answer.limits.deadline_days is None and len(answer.best) > 1:
        texts.append("Without a deadline the size that wastes least is small, however long it takes.")
    if answer.limits.given:
        kept = ", ".join(f"{name} {value:,.6g}" for name, value in answer.limits.given.items())
        texts.append(f"Limits kept: {kept}.")
    texts += [f"No {goal}: {reason}." for goal, reason in answer.unanswered.items()]
    return texts


def _next(answer: Sizing) -> str:
    share, n_gpus = answer.next.share, answer.scenario.cluster.n_gpus
    if answer.next.mean_tokens_per_day == 0:
        return f"With {n_gpus:,} GPUs the job would never end."
    if math.isnan(share):
        return f"The batch has no work for more than {n_gpus:,} GPUs."
    verb = f"adds {pct(share)}" if share >= 0 else f"takes {pct(-share)}"
    mean = number(answer.next.mean_tokens_per_day / 1e6)
    return (
        f"The next GPU {verb} of what one of {n_gpus:,} yields on average, {mean} million tokens a day, sizes taken as "
        "continuous."
    )
