"""What the chapter on size says."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ettr.chapters.scale import tables
from ettr.core.sentences import Finding, count, gpus, pct, say

if TYPE_CHECKING:
    import pandas as pd

    from ettr.plan import Plan
    from ettr.scenario import Scenario


def answer(plan: Plan, sizes: pd.DataFrame, target: float) -> Finding:
    """What a run can reach; ``sizes`` as from ``tables.by_size``."""
    best, own = tables.at_best(sizes), plan.scenario.cluster.n_gpus
    reached = tables.ettr_of_sizes(plan, sizes)
    named = {size: f"{pct(ettr)} on {gpus(size) if size == own else count(size)}" for size, ettr in reached.items()}
    others = [named[size] for size in reached if size != own]
    largest = best["n_gpus"].max()
    text = say(
        "**With everything but its size as in *{run}*, a run reaches an ETTR of {reached:list}, at the best interval "
        "of each size.** ",
        run=plan.scenario.title,
        reached=[*named.values()],
    )
    text += say(
        "It stays above {target:share0} up to about {reach:gpus3}.",
        "No size shown is where it crosses {target:share0}.",
        target=target,
        reach=tables.reach_gpus(best, target),
    )
    text += say(" Beyond {end:gpus2} the closed form has no answer.", end=largest if largest < 0.999e6 else None)
    return Finding(title=f"An ETTR of {', '.join([named[own], *others[-1:]])}", text=text)


def curve(scenario: Scenario) -> Finding:
    """Where the simple formulas part from the exact one, for those that have a term for what the scenario holds."""
    reach = tables.formula_reach(scenario)
    if reach.empty:
        return Finding(
            title="Without failures size costs nothing",
            text="Every formula has an answer at every size: nothing fails, so nothing is lost to failures.",
        )
    ends = [
        say(
            "{name} is within a point of the exact one up to {near_gpus:gpus} and has no answer beyond {end_gpus:gpus}",
            "{name} is nowhere within a point of the exact one",
            **row,
        )
        for row in reach.to_dict("records")
    ]
    return Finding(
        title="Losses grow faster than the job",
        text=(
            f"At a fixed interval a simple formula fails before the run does: {'; '.join(ends)}. It charges every "
            f"failure a whole recovery and half an interval, also where the next failure comes before either is over, "
            f"and so expects more loss than there is."
        ),
    )


def sizes_with_bands(frame: pd.DataFrame, target: float) -> Finding:
    """Up to which size a target is reached; ``frame`` as from ``tables.size_with_bands``."""
    reach = {name: tables.reach_gpus(frame, target, name) for name in ("ettr", "low_95", "high_95")}
    title = say(
        "{target:share0} is reached up to {ettr:gpus3}", "No size shown crosses {target:share0}", target=target, **reach
    )
    width = frame["high_95"] - frame["low_95"]
    if not (width > 0).any():
        return Finding(title, f"{title}. What is known of the rate's uncertainty is not said: no bands.")
    widest = frame.loc[width.idxmax()]
    text = say(
        "As far as the rate is known, that size lies between {low_95:gpus3} and {high_95:gpus3} with 95% probability. ",
        **reach,
    )
    text += say("The band is widest at {n_gpus:gpus3}, from {low_95:share} to {high_95:share}.", **widest)
    return Finding(title, f"{title}. {text}")


def band_by_size(frame: pd.DataFrame) -> Finding:
    """How the best interval and its band change with size; ``frame`` as from ``tables.band_by_size``."""
    first, last = frame.iloc[0], frame.iloc[-1]
    widths = [row["high_min"] / row["low_min"] for row in (first, last)]
    forgiving = (
        "Large jobs forgive less: there it pays to know the stall and the rate."
        if widths[1] < widths[0]
        else "The range does not narrow."
    )
    shorter = first["interval_min"] / last["interval_min"]
    return Finding(
        title=say(
            "{times:number} times the GPUs, an interval {shorter:number} times shorter",
            "The best interval is the same at every size",
            times=last["n_gpus"] / first["n_gpus"],
            shorter=shorter if shorter > 1 + 1e-6 else None,
        ),
        text=say(
            "The best interval is {first_h:duration} at {small:gpus} and {last_h:duration} at {large:gpus}. The ends "
            "of the range that costs at most half a point differ by a factor of {wide:number} at the small size and "
            "of {narrow:number} at the large one. {forgiving}",
            first_h=first["interval_min"] / 60,
            last_h=last["interval_min"] / 60,
            small=first["n_gpus"],
            large=last["n_gpus"],
            wide=widths[0],
            narrow=widths[1],
            forgiving=forgiving,
        ),
    )


def parts(parts: pd.DataFrame) -> Finding:
    """What takes the time at scale; columns as from ``tables.parts_by_size``."""
    largest = float(parts["n_gpus"].max())
    size = min(1e5, largest)
    there, beyond = tables.losses_near(parts, size), tables.losses_near(parts, largest)
    names, shares = [*there.index, "nothing", "nothing"], [*there, math.nan, math.nan]
    values = {
        "size": size,
        "lost": there.sum(),
        "first": names[0],
        "first_share": shares[0],
        "second": names[1],
        "second_share": shares[1],
        "recovery": tables.share_of_recovery(there),
    }
    grown = say(
        ", and {share:share0} at {largest:gpus}",
        share=tables.share_of_recovery(beyond) if largest > 1.1 * size else None,
        largest=largest,
    )
    return Finding(
        title=say("At {size:gpus3} {first} is the largest loss", "At {size:gpus3} {lost:share} is lost", **values),
        text=say(
            "At {size:gpus3} {first} takes {first_share:share} of the wall clock and {second} {second_share:share}. "
            "Checkpointing more often cuts rework, but not the time to come back: detection, queue and restart are "
            "{recovery:share0} of the losses there{grown}.",
            "At {size:gpus3} {lost:share} of the wall clock is lost.",
            grown=grown,
            **values,
        ),
    )
