"""What the chapter on size says."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

from ettr import budget
from ettr.chapters.common.sentences import Finding, count, duration, gpus, limit, listed, number, pct
from ettr.core.errors import NotModelled
from ettr.plan import Plan, Requirement
from ettr.scenario import Scenario

_FIELD_NAMES = {
    "failures.rate_per_1000_node_days": ("the failure rate", "failures per 1000 node-days"),
    "checkpoint.stall_s": ("the checkpoint stall", "s"),
    "recovery.detection_min": ("the detection time", "min"),
    "recovery.queue_min": ("the queue time", "min"),
    "recovery.restart_min": ("the restart time", "min"),
}


def answer(plan: Plan, sizes: pd.DataFrame, target: float) -> Finding:
    """What a run can reach; ``sizes`` as from ``tables.by_size``."""
    best = sizes[(sizes["formula"] == "exact") & (sizes["interval"] == "best")]
    run, largest = plan.scenario, best["n_gpus"].max()
    others = [size for size in (1e4, 1e5, 1e6) if size <= largest * 1.001 and size != run.cluster.n_gpus][-2:]
    at = {size: float(np.interp(math.log(size), np.log(best["n_gpus"]), best["ettr"])) for size in others}
    own = f"{pct(plan.budget.ettr)} on {gpus(run.cluster.n_gpus)}"
    told = {run.cluster.n_gpus: own} | {size: f"{pct(ettr)} on {count(size)}" for size, ettr in at.items()}
    reached = [told[size] for size in sorted(told)]
    if best["ettr"].min() >= target:
        reach_text = f"It stays above {pct(target, 0)} at every size shown"
    elif best["ettr"].max() >= target:
        falling = best.sort_values("ettr")
        reach = math.exp(np.interp(target, falling["ettr"], np.log(falling["n_gpus"])))
        reach_text = f"It stays above {pct(target, 0)} up to about {gpus(float(f'{reach:.3g}'))}"
    else:
        reach_text = f"It reaches {pct(target, 0)} at no size"
    end = "" if largest >= 0.999e6 else f" Beyond {gpus(float(f'{largest:.2g}'))} the closed form has no answer."
    return Finding(
        title=f"An ETTR of {own}" + (f", {pct(at[others[-1]])} on {count(others[-1])}" if others else ""),
        text=(
            f"**With everything but its size as in *{run.title}*, a run reaches an ETTR of {listed(reached)}, at the "
            f"best interval of each size.** {reach_text}.{end}"
        ),
    )


def curve(scenario: Scenario) -> Finding:
    """Where the simple formulas part from the exact one, for those that have a term for what the scenario holds."""
    texts: list[str] = []
    for formula, name in (("first_order", "the first-order form"), ("rsc", "the RSC formula")):
        try:
            reach = budget.validity(scenario.override({"job.include_start": False}), formula)
        except NotModelled:
            continue
        if math.isinf(reach.max_n_gpus):
            continue
        if reach.max_n_gpus == 0:
            texts.append(f"{name} has no answer at any size")
            continue
        near = f"up to {gpus(reach.one_point_n_gpus)}" if reach.one_point_n_gpus else "nowhere"
        texts.append(
            f"{name} is within a point of the exact one {near} and has no answer beyond {gpus(reach.max_n_gpus)}"
        )
    if not texts:
        return Finding(
            title="Without failures size costs nothing",
            text="Every formula has an answer at every size: nothing fails, so nothing is lost to failures.",
        )
    return Finding(
        title="Losses grow faster than the job",
        text=(
            f"At a fixed interval a simple formula fails before the run does: {'; '.join(texts)}. It charges every "
            f"failure a whole recovery and half an interval, also where the next failure comes before either is over, "
            f"and so expects more loss than there is."
        ),
    )


def parts(parts: pd.DataFrame) -> Finding:
    """What takes the time at scale; columns as from ``tables.parts_by_size``."""
    lost = parts[parts["part"] != "productive"]
    sizes = np.sort(parts["n_gpus"].unique())

    def shares_near(size: float) -> pd.Series:
        nearest = sizes[np.abs(np.log(sizes / size)).argmin()]
        shares = lost[lost["n_gpus"] == nearest].set_index("part")["share"]
        return shares.sort_values(ascending=False)

    def of_recovery(shares: pd.Series) -> float:
        """Share of the lost time that passes between a failure and the next training."""
        return float(shares.reindex(["detection", "queue", "restart"]).fillna(0).sum() / shares.sum())

    shown = min(1e5, float(sizes[-1]))
    there, beyond = shares_near(shown), shares_near(sizes[-1])
    where = gpus(float(f"{shown:.3g}"))
    if len(there) < 2:
        what = f"Only {there.index[0]} is lost, {pct(there.iloc[0])}" if len(there) else "Nothing is lost"
        return Finding(title=f"{what} at {where}", text=f"{what} of the wall clock at {where}.")
    first, second = there.index[:2]
    grown = f", and {pct(of_recovery(beyond), 0)} at {gpus(sizes[-1])}" if sizes[-1] > 1.1 * shown else ""
    return Finding(
        title=f"At {where} {first} is the largest loss",
        text=(
            f"At {where} {first} takes {pct(there.iloc[0])} of the wall clock and {second} {pct(there.iloc[1])}. "
            f"Checkpointing more often cuts rework, but not the time to come back: detection, queue and restart are "
            f"{pct(of_recovery(there), 0)} of the losses there{grown}."
        ),
    )


def requirements(needs: list[Requirement], n_gpus: int) -> Finding:
    """What would reach the target at one size."""
    target = needs[0].target_ettr
    reached = [need for need in needs if need.value is not None]
    failed = [need for need in needs if need.value is None and need.given > 0]

    def sentence(need: Requirement) -> str:
        name, unit = _FIELD_NAMES[need.field]
        assert need.value is not None
        change = f", instead of {number(need.given)}" if need.given > 0 else ""
        return f"{name} at most {limit(need.value, 'at most')} {unit}{change}"

    if all(need.value is not None and need.value >= need.given for need in needs):
        return Finding(
            title=f"{gpus(n_gpus)} reach {pct(target, 0)} as they are",
            text=f"On {gpus(n_gpus)} the target of {pct(target, 0)} is reached already; there is room: "
            + (
                "; or ".join(sentence(need) for need in reached if math.isfinite(need.value or 0))
                or "no field limits it"
            )
            + ".",
        )
    listing = "; or ".join(sentence(need) for need in reached)
    if len(reached) > 1:
        alone = f"any one of these would do it alone: {listing}."
    else:
        alone = f"one change alone would do it: {listing}." if reached else "no single change does it."
    never = (
        f" {listed([_FIELD_NAMES[need.field][0] for need in failed]).capitalize()} cannot do it, not even at zero: "
        f"that leaves {'at best ' if len(failed) > 1 else ''}{pct(max(need.best_ettr for need in failed))}."
        if failed
        else ""
    )
    return Finding(
        title=f"What {pct(target, 0)} takes on {gpus(n_gpus)}",
        text=f"**For {pct(target, 0)} on {gpus(n_gpus)}**: {alone}{never}",
    )


def recovery(scenario: Scenario, needs: list[Requirement], n_gpus: int) -> Finding:
    """What the map of size against restart time says; ``needs`` as from :func:`ettr.plan.requirements`."""
    need = next(need for need in needs if need.field == "recovery.restart_min")
    others = [_FIELD_NAMES[one.field][0] for one in needs if one.value is not None and one is not need]
    target = pct(need.target_ettr, 0)
    if need.value is None:
        instead = f"only {listed(others)} can do it alone" if others else "no field can do it alone"
        text = (
            f"On {gpus(n_gpus)} no restart time reaches {target}: even an instant restart leaves "
            f"{pct(need.best_ettr)}; "
            f"{instead}."
        )
    elif math.isinf(need.value):
        text = f"On {gpus(n_gpus)} any restart time reaches {target}."
    else:
        text = (
            f"On {gpus(n_gpus)} a restart of at most {duration(need.value / 60)} reaches {target}; the scenario has "
            f"{duration(scenario.restart_h)}."
        )
    return Finding(title="Which sizes and restart times reach how much", text=text)
