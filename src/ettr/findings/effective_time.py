"""What the chapters on effective training time say."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

from ettr import budget
from ettr.checkpoint import exact_interval
from ettr.errors import NotModelled
from ettr.findings.words import Finding, count, duration, fails, gpus, listed, number, pct, points
from ettr.plan import BAND_POINTS, Plan, Requirement, assumed_fields
from ettr.results import PARTS, TimeBudget
from ettr.scenario import Scenario

_FIELD_NAMES = {
    "failures.rate_per_1000_node_days": ("the failure rate", "failures per 1000 node-days"),
    "checkpoint.stall_s": ("the checkpoint stall", "s"),
    "recovery.detection_min": ("the detection time", "min"),
    "recovery.queue_min": ("the queue time", "min"),
    "recovery.restart_min": ("the restart time", "min"),
}
_ASSUMED_NAMES = {
    "cluster.n_gpus": "number of GPUs",
    "cluster.gpus_per_node": "GPUs per node",
    "job.productive_h": "length of the work",
    "failures.n_events": "number of failures",
    "failures.node_days": "node-days observed",
    "failures.rate_per_1000_node_days": "failure rate",
    "failures.observed_nodes": "nodes observed",
    "checkpoint.interval_min": "interval",
    "checkpoint.stall_s": "stall",
    "checkpoint.persist_s": "background write",
    "checkpoint.persist_slowdown": "slowdown by the write",
    "recovery.detection_min": "detection",
    "recovery.queue_min": "queue",
    "recovery.restart_min": "restart",
    "maintenance.per_day": "maintenance requests",
    "maintenance.duration_min": "length of a maintenance stop",
}


def largest_losses(hours: TimeBudget, n: int = 2) -> list[tuple[str, float]]:
    """Names and shares of the parts that take most of the lost time."""
    lost = {part.removesuffix("_h"): getattr(hours, part) / hours.total_h for part in PARTS[1:]}
    return sorted(lost.items(), key=lambda item: -item[1])[:n]


def headline(plan: Plan) -> Finding:
    """The first answer of the book: how often a run fails, and what is left."""
    run, hours = plan.scenario, plan.budget_as_given
    named = [f"{name} {pct(share)}" for name, share in largest_losses(hours) if share > 0]
    taken = f" The largest losses are {listed(named)}." if len(named) > 1 else ""
    return Finding(
        title=f"{pct(hours.ettr)} of the wall clock is useful training",
        text=(
            f"**{run.title}: {fails(plan.job_mttf_h)}; {pct(hours.ettr)} of the wall clock is useful training.**"
            f"{taken} With a checkpoint every "
            f"{duration(plan.band.interval_min / 60)} instead of every {duration(run.interval_h)} it would be "
            f"{pct(plan.budget.ettr)}. {assumptions(run)}"
        ),
    )


def plan_lines(plan: Plan) -> list[str]:
    """The plan in a few plain lines, for the terminal."""
    band, known = plan.band, plan.job_mttf_95_h
    interval = f", 95% interval {_range(known)}" if known else ""
    often = "The job does not fail: its failure rate is 0"
    if math.isfinite(plan.job_mttf_h):
        often = (
            f"Time to failure of the job: {duration(plan.job_mttf_h)}{interval}; {number(plan.failures_per_day)} "
            f"failures a day"
        )
    return [
        often,
        f"Checkpoint every {duration(band.interval_min / 60)}; between {duration(band.low_min / 60)} and "
        f"{duration(band.high_min / 60)} it costs at most {points(band.points)} of ETTR",
        f"ETTR: {pct(plan.budget.ettr)} at the best interval, {pct(plan.budget_as_given.ettr)} at the given "
        f"{duration(plan.scenario.interval_h)}",
    ]


def _range(ends_h: tuple[float, float]) -> str:
    return (
        f"{duration(ends_h[0])} to {duration(ends_h[1])}" if math.isfinite(ends_h[1]) else f"over {duration(ends_h[0])}"
    )


def assumptions(scenario: Scenario) -> str:
    """Which values of a scenario no source gives, as a sentence."""
    words = [_ASSUMED_NAMES[field] for field in assumed_fields(scenario) if field in _ASSUMED_NAMES]
    return f"Assumed, because no source gives them: {listed(words)}." if words else ""


def time_budget(plan: Plan) -> Finding:
    """Where the hours go at the scenario's own interval."""
    hours = plan.budget_as_given
    lost = hours.total_h - hours.productive_h
    named = [f"{name} {pct(share)}" for name, share in largest_losses(hours, 3) if share > 0]
    gpu_h = lost * plan.scenario.cluster.n_gpus
    recovery_h = hours.rework_h + hours.detection_h + hours.queue_h + hours.restart_h
    met = "The run meets no failure."
    if hours.n_failures > 0:
        n_failures = count(hours.n_failures) if hours.n_failures >= 10 else number(hours.n_failures)
        met = (
            f"On average the run meets {n_failures} failures; rework, detection, queue and restart take "
            f"{duration(recovery_h / hours.n_failures)} for each."
        )
    losses = f" The largest losses are {listed(named)}." if named else ""
    return Finding(
        title=f"{pct(1 - hours.ettr)} of the wall clock is lost",
        text=(
            f"Of {duration(hours.total_h)} of wall clock {duration(lost)} are lost, which is "
            f"{count(round(gpu_h, -3)) if gpu_h > 1e4 else number(gpu_h)} GPU-hours.{losses} {met}"
        ),
    )


def interval_answer(plan: Plan) -> Finding:
    """How often to checkpoint."""
    run, band = plan.scenario, plan.band
    own = f"The scenario's own interval of {duration(run.interval_h)}"
    if band.low_min <= run.checkpoint.interval_min <= band.high_min:
        verdict = f"{own} lies inside this range"
    else:
        verdict = f"{own} lies outside and costs {points(plan.budget.ettr - plan.budget_as_given.ettr)}"
    between = f"between {duration(band.low_min / 60)} and {duration(band.high_min / 60)}"
    if band.ends_job:
        between = f"longer than {duration(band.low_min / 60)}, even no checkpoint before the end,"
    return Finding(
        title=f"Best interval: {duration(band.interval_min / 60)}",
        text=(
            f"**{run.title} should checkpoint every {duration(band.interval_min / 60)}; anything {between} costs at "
            f"most {points(band.points)} of ETTR.** {verdict}. The ETTR at the best interval is "
            f"{pct(plan.budget.ettr)}."
        ),
    )


def wrong_interval(plan: Plan) -> Finding:
    """What a wrong interval costs."""
    steady = plan.scenario.override({"job.include_start": False, "maintenance": None})
    factors = np.array([0.25, 0.5, 1.0, 2.0, 4.0])
    least = (1 - steady.checkpoint.persist_slowdown) * steady.checkpoint.persist_s / 60
    intervals = np.maximum(plan.band.interval_min * factors, least * (1 + 1e-9))
    ettr = budget.exact(steady, {"checkpoint.interval_min": intervals}).ettr
    loss = ettr[2] - ettr
    worst = f"no more than {points(max(loss[1], loss[3]))}" if max(loss[1], loss[3]) >= 5e-4 else "next to nothing"
    return Finding(
        title=f"Twice the best interval costs {points(loss[3])}, four times {points(loss[4])}",
        text=(
            f"The curve is flat at its top: half the best interval costs {points(loss[1])}, twice {points(loss[3])}; a "
            f"quarter costs {points(loss[0])}, four times {points(loss[4])}. The best interval follows the square "
            f"root of "
            f"the failure rate, so a rate that is known within a factor of four costs {worst}."
        ),
    )


def interval_parts(plan: Plan) -> Finding:
    """What is traded at the interval."""
    hours = plan.budget
    other = (hours.detection_h + hours.queue_h + hours.restart_h + hours.maintenance_h) / hours.total_h
    return Finding(
        title="A short interval pays in stalls, a long one in rework",
        text=(
            f"At the best interval checkpoint stalls and slowdown take "
            f"{pct((hours.checkpoint_h + hours.slowdown_h) / hours.total_h)} "
            f"and rework {pct(hours.rework_h / hours.total_h)}. The other losses, {pct(other)} together, hardly "
            f"depend on the "
            f"interval: only faster recovery, fewer failures or less maintenance reduces them."
        ),
    )


def interval_assumptions(plan: Plan) -> Finding:
    """How the best interval moves with the stall and the failure rate."""
    run = plan.scenario
    stall_s = run.checkpoint.stall_s
    title = "Stall and failure rate stand under one square root"
    if stall_s == 0 or math.isinf(run.job_mttf_h):
        still = "Without failures" if stall_s else "Where a checkpoint costs nothing"
        what = "no interval is too long" if stall_s else "no interval is too short"
        return Finding(title=title, text=f"{assumptions(run)} {still} {what}.".strip())
    base = exact_interval(run.stall_h, run.job_mttf_h, run.persist_h, run.checkpoint.persist_slowdown)
    longer = exact_interval(4 * run.stall_h, run.job_mttf_h, run.persist_h, run.checkpoint.persist_slowdown)
    rarer = exact_interval(run.stall_h, 4 * run.job_mttf_h, run.persist_h, run.checkpoint.persist_slowdown)
    return Finding(
        title=title,
        text=(
            f"{assumptions(run)} If the stall were {number(4 * stall_s)} s instead of {number(stall_s)} s, the best "
            f"interval would be {duration(longer)} instead of {duration(base)}; with a quarter of the failures it "
            f"would "
            f"be {duration(rarer)}."
        ).strip(),
    )


def interval_rules(rules: pd.DataFrame, n_gpus: int) -> Finding:
    """Which rule for the interval to use; columns as from :func:`ettr.curves.interval_rules`."""
    worst = rules.groupby("rule")["loss_points"].max().drop("Exact").sort_values()
    here = rules.iloc[(np.log(rules["n_gpus"]) - math.log(n_gpus)).abs().groupby(rules["rule"]).idxmin()]
    largest = here["loss_points"].max() / 100
    moral = (
        "At this size it matters little which rule one takes; which failure rate and which stall one puts into it "
        "matters more."
        if largest < BAND_POINTS
        else "At this size the choice of the rule matters: take the exact one."
    )
    return Finding(
        title=f"No published rule costs more than {worst.iloc[-1]:.2g} points anywhere up to a million GPUs",
        text=(
            f"At {gpus(n_gpus)} the worst of the published rules costs {points(largest)} against the best interval. "
            f"Over "
            f"all sizes {worst.index[0]} is nearest to it and {worst.index[-1]} farthest, at "
            f"{points(worst.iloc[-1] / 100)}. {moral}"
        ),
    )


def scale_answer(plan: Plan, sizes: pd.DataFrame, target: float) -> Finding:
    """What a run can reach; ``sizes`` as from :func:`ettr.curves.by_size`."""
    best = sizes[(sizes["formula"] == "exact") & (sizes["interval"] == "best")]
    reach = best.loc[best["ettr"] >= target, "n_gpus"]
    at = {size: float(np.interp(math.log(size), np.log(best["n_gpus"]), best["ettr"])) for size in (1e5, 1e6)}
    reach_text = (
        f"It stays above {pct(target, 0)} up to about {gpus(float(f'{reach.max():.2g}'))}"
        if len(reach)
        else f"It reaches {pct(target, 0)} at no size"
    )
    if len(reach) == len(best):
        reach_text = f"It stays above {pct(target, 0)} at every size shown"
    run = plan.scenario
    return Finding(
        title=f"From {pct(plan.budget.ettr)} at {gpus(run.cluster.n_gpus)} to {pct(at[1e5])} at 100,000",
        text=(
            f"**With everything but its size as in *{run.title}*, a run reaches an ETTR of {pct(plan.budget.ettr)} on "
            f"{gpus(run.cluster.n_gpus)}, {pct(at[1e5])} on 100,000 and {pct(at[1e6])} on 1,000,000, at the best "
            f"interval of "
            f"each size.** {reach_text}."
        ),
    )


def scale_curve(scenario: Scenario) -> Finding:
    """Where the simple formulas part from the exact one, for those that have a term for what the scenario holds."""
    texts: list[str] = []
    for formula, name in (("first_order", "the first-order form"), ("rsc", "the RSC formula")):
        try:
            reach = budget.validity(scenario.override({"job.include_start": False}), formula)
        except NotModelled:
            continue
        if math.isinf(reach.max_n_gpus):
            continue
        near = gpus(reach.one_point_n_gpus) if reach.one_point_n_gpus else "no size at all"
        texts.append(
            f"{name} stays within a point of the exact one up to {near} and has no answer beyond "
            f"{gpus(reach.max_n_gpus)}"
        )
    if not texts:
        return Finding(
            title="Without failures size costs nothing",
            text="Every formula has an answer at every size: nothing fails, so nothing is lost to failures.",
        )
    return Finding(
        title="Losses grow faster than the job",
        text=(
            f"At a fixed interval the simple formulas fail long before the run does: {'; '.join(texts)}. They count no "
            f"failure during recovery and none of the repeated work, which is what large jobs are made of."
        ),
    )


def scale_parts(parts: pd.DataFrame) -> Finding:
    """What takes the time at scale; columns as from :func:`ettr.curves.parts_by_size`."""
    lost = parts[parts["part"] != "productive"]
    sizes = np.sort(parts["n_gpus"].unique())

    def shares_near(size: float) -> pd.Series:
        nearest = sizes[np.abs(np.log(sizes / size)).argmin()]
        shares = lost[lost["n_gpus"] == nearest].set_index("part")["share"]
        return shares.sort_values(ascending=False)

    def of_recovery(shares: pd.Series) -> float:
        """Share of the lost time that passes between a failure and the next training."""
        return float(shares.reindex(["detection", "queue", "restart"]).fillna(0).sum() / shares.sum())

    there, beyond = shares_near(1e5), shares_near(sizes[-1])
    if len(there) < 2:
        what = f"Only {there.index[0]} is lost, {pct(there.iloc[0])}" if len(there) else "Nothing is lost"
        return Finding(title=f"{what} at 100,000 GPUs", text=f"{what} of the wall clock at 100,000 GPUs.")
    first, second = there.index[:2]
    return Finding(
        title=f"At 100,000 GPUs {first} is the largest loss",
        text=(
            f"At 100,000 GPUs {first} takes {pct(there.iloc[0])} of the wall clock and {second} {pct(there.iloc[1])}. "
            f"Checkpointing more often cuts rework, but not the time to come back: detection, queue and restart are "
            f"{pct(of_recovery(there), 0)} of the losses there, and {pct(of_recovery(beyond), 0)} at {gpus(sizes[-1])}."
        ),
    )


def requirements(needs: list[Requirement], n_gpus: int) -> Finding:
    """What would reach the target at one size."""
    target = needs[0].target_ettr
    reached = [need for need in needs if need.value is not None]
    failed = [need for need in needs if need.value is None]

    def sentence(need: Requirement) -> str:
        name, unit = _FIELD_NAMES[need.field]
        assert need.value is not None
        change = f", instead of {number(need.given)}" if need.given > 0 else ""
        return f"{name} at most {number(need.value)} {unit}{change}"

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
        f" {listed([_FIELD_NAMES[need.field][0] for need in failed]).capitalize()} cannot do it even at zero: the "
        f"best of them leaves {pct(max(need.best_ettr for need in failed))}."
        if failed
        else ""
    )
    return Finding(
        title=f"What {pct(target, 0)} takes on {gpus(n_gpus)}",
        text=f"**For {pct(target, 0)} on {gpus(n_gpus)}**: {alone}{never}",
    )


def recovery(scenario: Scenario, needs: Requirement, n_gpus: int) -> Finding:
    """What the map of size against restart time says."""
    target = pct(needs.target_ettr, 0)
    if needs.value is None:
        text = (
            f"On {gpus(n_gpus)} no restart time reaches {target}: even an instant restart leaves "
            f"{pct(needs.best_ettr)}. "
            f"Something else has to give, the failure rate or the stall."
        )
    elif math.isinf(needs.value):
        text = f"On {gpus(n_gpus)} any restart time reaches {target}."
    else:
        text = (
            f"On {gpus(n_gpus)} a restart of at most {duration(needs.value / 60)} reaches {target}; the scenario has "
            f"{duration(scenario.restart_h)}."
        )
    return Finding(title="The larger the job, the faster it has to restart", text=text)
