"""What `ettr plan` shows of a job given by its tokens: how many GPUs, and what the next one adds."""

from __future__ import annotations

import math

from rich.text import Text

from ettr.chapters.common.sentences import number, pct
from ettr.cli.terminal import console, table
from ettr.sizing import CHEAPEST, FASTEST, GREENEST, Sizing, Yields

_COLUMNS = {
    "n_gpus": "GPUs",
    "within": "90%",
    "days": "days",
    "cost": "million USD",
    "energy": "GWh",
    "carbon": "t CO2",
    "power": "MW",
    "ettr": "ETTR",
    "mfu": "MFU",
}


def print_sizing(answer: Sizing) -> None:
    """Show how many GPUs a job should have."""
    out = console()
    out.print(Text("How many GPUs", style="bold"))
    rows = [{"name": "this size", "within": "", **_amounts(answer.as_given)}]
    for goal in (FASTEST, CHEAPEST, GREENEST):
        if goal in answer.best:
            size = answer.best[goal]
            within = f"{number(size.n_gpus_low)} to {number(size.n_gpus_high)}"
            rows.append({"name": goal, "within": within, **_amounts(size.yields)})
    out.print(table("", _COLUMNS, rows))
    for line in lines(answer):
        out.print(Text(line), soft_wrap=True)
    out.print(Text(f"The bands come {answer.band_source}."), style="dim", soft_wrap=True)


def _amounts(at: Yields) -> dict[str, str]:
    return {
        "n_gpus": f"{float(at.n_gpus):,.0f}",
        "days": f"{float(at.days):,.1f}",
        "cost": f"{float(at.usd) / 1e6:,.1f}",
        "energy": f"{float(at.mwh) / 1e3:,.1f}",
        "carbon": f"{float(at.t_co2):,.0f}",
        "power": f"{float(at.power_mw):,.1f}",
        "ettr": pct(float(at.ettr)),
        "mfu": pct(float(at.mfu)),
    }


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
