"""What `ettr plan` shows of a job given by its tokens: how many GPUs, and what the next one adds."""

from __future__ import annotations

import math

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
    from rich.text import Text

    out = console()
    out.print(Text("How many GPUs", style="bold"))
    rows = [{"name": "this size", "within": "", **_amounts(answer.as_given)}]
    for goal in (FASTEST, CHEAPEST, GREENEST):
        if goal in answer.best:
            found = answer.best[goal]
            within = f"{number(found.n_gpus_low)} to {number(found.n_gpus_high)}"
            rows.append({"name": goal, "within": within, **_amounts(found.yields)})
    out.print(table("", _COLUMNS, rows))
    for line in lines(answer):
        out.print(Text(line), soft_wrap=True)
    out.print(Text(f"The bands come {answer.band_source}."), style="dim", soft_wrap=True)


def _amounts(found: Yields) -> dict[str, str]:
    return {
        "n_gpus": f"{float(found.n_gpus):,.0f}",
        "days": f"{float(found.days):,.1f}",
        "cost": f"{float(found.usd) / 1e6:,.1f}",
        "energy": f"{float(found.mwh) / 1e3:,.1f}",
        "carbon": f"{float(found.t_co2):,.0f}",
        "power": f"{float(found.power_mw):,.1f}",
        "ettr": pct(float(found.ettr)),
        "mfu": pct(float(found.mfu)),
    }


def lines(answer: Sizing) -> list[str]:
    """What the table doesn't say."""
    said = [_next(answer)]
    if answer.batch_ends:
        ends = answer.most_gpus if answer.turning_gpus is None else answer.turning_gpus
        said.append(
            f"More GPUs are faster up to {ends:,.0f}, where the batch leaves each replica a single micro-batch."
        )
    else:
        said.append(f"From {answer.turning_gpus:,} GPUs on the next one takes more than it gives.")
    said.append(
        f"Layout of this size: {answer.layout}, in batches of {number(answer.batch_tokens / 1e6)} million tokens."
    )
    if answer.better_gpus:
        said.append(f"With {answer.better_gpus:,} of these GPUs it would be {pct(answer.better_gain)} faster.")
    said += [f"Layout of the {goal}: {found.layout}." for goal, found in answer.best.items()]
    if answer.limits.deadline_days is None and len(answer.best) > 1:
        said.append("Without a deadline the size that wastes least is small, however long it takes.")
    if answer.limits.given:
        kept = ", ".join(f"{name} {value:,.6g}" for name, value in answer.limits.given.items())
        said.append(f"Limits kept: {kept}.")
    said += [f"No {goal}: {reason}." for goal, reason in answer.unanswered.items()]
    return said


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
