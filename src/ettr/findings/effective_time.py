"""What the chapters on effective training time say."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

from ettr import budget
from ettr.errors import NotModelled
from ettr.findings.words import Finding, count, duration, fails, gpus, listed, number, pct, points
from ettr.plan import BAND_POINTS, SHORTEST_MIN, Plan, Requirement, assumed_fields, best_interval_min
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
    "failures.rate_clock": "clock of the failure rate",
    "failures.exposed_share": "share of time at risk",
    "failures.rate_gamma.shape": "knowledge of the failure rate",
    "failures.rate_gamma.node_days": "knowledge of the failure rate",
    "job.first_queue_min": "first queue",
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
    run, hours = plan.shown
    named = [f"{name} {pct(share)}" for name, share in largest_losses(hours) if share > 0]
    taken = f" The largest losses are {listed(named)}." if len(named) > 1 else ""
    best = ""
    if not plan.band.low_min <= plan.scenario.checkpoint.interval_min <= plan.band.high_min:
        best = (
            f" With a checkpoint every {duration(plan.best.interval_h)} instead of every "
            f"{duration(plan.scenario.interval_h)} it would be {pct(plan.budget.ettr)}."
        )
    if plan.budget_as_given is None:
        best = f" That is with a checkpoint every {duration(plan.best.interval_h)}: {_no_answer(plan)}"
    often = fails(hours.total_h / hours.n_failures if hours.n_failures > 0 else math.inf)
    return Finding(
        title=f"{pct(hours.ettr)} of the wall clock is useful training",
        text=(
            f"**{run.title}: {often}; {pct(hours.ettr)} of the wall clock is useful training.**{taken}{best} "
            f"{assumptions(run)}"
        ).strip(),
    )


def _no_answer(plan: Plan) -> str:
    own = duration(plan.scenario.interval_h)
    return f"for the scenario's own interval of {own} there is no answer, since {plan.no_budget_as_given}."


def plan_lines(plan: Plan) -> list[str]:
    """The plan in a few plain lines, for the terminal."""
    band, known = plan.band, plan.job_mttf_95_h
    given = _no_answer(plan)
    if plan.budget_as_given:
        given = f"{pct(plan.budget_as_given.ettr)} at the given {duration(plan.scenario.interval_h)}"
    interval = f", 95% interval {_range(known)}" if known else ""
    often = "The job does not fail: its failure rate is 0"
    if math.isfinite(plan.job_mttf_h):
        often = (
            f"Time to failure of the job: {duration(plan.job_mttf_h)}{interval}; {number(plan.failures_per_day)} "
            f"failures a day"
        )
    best = "A checkpoint gains nothing"
    if math.isfinite(plan.job_mttf_h):
        best = (
            f"Checkpoint every {duration(band.interval_min / 60)}; between {duration(band.low_min / 60)} and "
            f"{duration(band.high_min / 60)} it costs at most {points(band.points)} of ETTR"
        )
    return [
        often,
        best,
        f"ETTR: {pct(plan.budget.ettr)} at the best interval, {given}",
    ]


def _range(ends_h: tuple[float, float]) -> str:
    return (
        f"{duration(ends_h[0])} to {duration(ends_h[1])}" if math.isfinite(ends_h[1]) else f"over {duration(ends_h[0])}"
    )


def assumptions(scenario: Scenario) -> str:
    """Which values of a scenario no source gives, as a sentence."""
    words = list(dict.fromkeys(_ASSUMED_NAMES[field] for field in assumed_fields(scenario)))
    return f"Assumed, because no source gives them: {listed(words)}." if words else ""


def time_budget(plan: Plan) -> Finding:
    """Where the hours go at the scenario's own interval."""
    run, hours = plan.shown
    lost = hours.total_h - hours.productive_h
    named = [f"{name} {pct(share)}" for name, share in largest_losses(hours, 3) if share > 0]
    gpu_h = lost * run.cluster.n_gpus
    met = "The run meets no failure."
    if hours.n_failures > 0:
        n_failures = count(hours.n_failures) if hours.n_failures >= 10 else number(hours.n_failures)
        met = (
            f"On average the run meets {n_failures} failures; each costs {duration(_cost_of_a_failure_h(run))} of "
            f"rework, detection, queue and restart."
        )
    losses = f" The largest losses are {listed(named)}." if named else ""
    return Finding(
        title=f"{pct(1 - hours.ettr)} of the wall clock is lost",
        text=(
            f"Of {duration(hours.total_h)} of wall clock {duration(lost)} are lost, which is "
            f"{count(round(gpu_h, -3)) if gpu_h > 1e4 else number(gpu_h)} GPU-hours.{losses} {met}"
        ),
    )


def _cost_of_a_failure_h(run: Scenario) -> float:
    """Hours that a failure takes in the steady state, where no start and no maintenance restarts the job."""
    hours = budget.exact(_steady(run))
    return float((hours.rework_h + hours.detection_h + hours.queue_h + hours.restart_h) / hours.n_failures)


def _steady(run: Scenario) -> Scenario:
    return run.override({"job.include_start": False, "maintenance": None})


def interval_answer(plan: Plan) -> Finding:
    """How often to checkpoint."""
    run, band = plan.scenario, plan.band
    own = f"The scenario's own interval of {duration(run.interval_h)}"
    if plan.budget_as_given is None:
        verdict = _no_answer(plan).capitalize().removesuffix(".")
    elif abs(plan.budget.ettr - plan.budget_as_given.ettr) < 1e-6:
        verdict = f"{own} gives the same"
    elif band.low_min <= run.checkpoint.interval_min <= band.high_min:
        verdict = f"{own} lies inside this range"
    else:
        verdict = f"{own} lies outside and costs {points(plan.budget.ettr - plan.budget_as_given.ettr)}"
    if math.isinf(plan.job_mttf_h):
        return Finding(
            title="No failures, no checkpoints",
            text=f"**{run.title} has no failures: a checkpoint gains nothing.** {verdict}.",
        )
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
    """What a wrong interval costs, as far as it can be longer or shorter at all."""
    best = plan.band.interval_min
    ends = max(SHORTEST_MIN, plan.scenario.least_interval_min), plan.scenario.job.productive_h * 60
    factors = {"a quarter of": 0.25, "half": 0.5, "twice": 2.0, "four times": 4.0}
    possible = {name: factor for name, factor in factors.items() if ends[0] <= factor * best <= ends[1]}
    if not possible:
        only = "There is no other interval: the work is too short, or the background write too long"
        return Finding(title="One interval is possible", text=f"{only}.")
    ettr = budget.exact(
        _steady(plan.scenario), {"checkpoint.interval_min": best * np.array([1.0, *possible.values()])}
    ).ettr
    losses = dict(zip(possible, ettr[0] - ettr[1:], strict=True))
    told = [f"{name} the best interval costs {points(loss)}" for name, loss in losses.items()]
    misjudged = _cost_of_a_wrong_rate(plan)
    known = f" A failure rate that is wrong by a factor of four costs {points(misjudged)}." if misjudged > 5e-4 else ""
    longest = list(losses)[-1]
    return Finding(
        title=f"{longest.capitalize()} the best interval costs {points(losses[longest])}",
        text=f"{listed(told).capitalize()}.{known}",
    )


def _cost_of_a_wrong_rate(plan: Plan) -> float:
    """ETTR lost with the interval that a fourfold or a quarter of the failure rate would give."""
    steady, rate = _steady(plan.scenario), plan.scenario.failures.rate
    if rate == 0:
        return 0.0
    field = "failures.rate_per_1000_node_days"
    intervals = [best_interval_min(steady.override({field: rate * factor})) for factor in (1.0, 0.25, 4.0)]
    ettr = budget.exact(steady, {"checkpoint.interval_min": np.array(intervals)}).ettr
    return float(ettr[0] - ettr[1:].min())


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
    run, rate, stall_s = plan.scenario, plan.scenario.failures.rate, plan.scenario.checkpoint.stall_s
    title = "Stall and failure rate stand under one square root"
    moves = []
    if stall_s > 0:
        longer = best_interval_min(run.override({"checkpoint.stall_s": 4 * stall_s}))
        moves.append(f"{duration(longer / 60)} with a stall of {number(4 * stall_s)} s instead of {number(stall_s)} s")
    if rate > 0:
        rarer = best_interval_min(run.override({"failures.rate_per_1000_node_days": rate / 4}))
        moves.append(f"{duration(rarer / 60)} with a quarter of the failures")
    best = f"The best interval is {duration(plan.best.interval_h)}"
    said = f"{best}; it would be {listed(moves)}." if moves else f"{best}."
    return Finding(title=title, text=f"{assumptions(run)} {said}".strip())


def interval_rules(rules: pd.DataFrame, n_gpus: int) -> Finding:
    """Which rule for the interval to use; columns as from :func:`ettr.curves.interval_rules`."""
    worst = rules.groupby("rule")["loss_points"].max().drop("Exact").sort_values()
    n_gpus = int(min(n_gpus, rules["n_gpus"].max()))
    here = rules.iloc[(np.log(rules["n_gpus"]) - math.log(n_gpus)).abs().groupby(rules["rule"]).idxmin()]
    largest = here["loss_points"].max() / 100
    moral = (
        "At this size it matters little which rule one takes; which failure rate and which stall one puts into it "
        "matters more."
        if largest < BAND_POINTS
        else "At this size the choice of the rule matters: take the exact one."
    )
    if worst.iloc[-1] < 1e-6:
        same = "Every published rule gives the best interval"
        return Finding(title=same, text=f"{same}, at all sizes.")
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
            f"At a fixed interval the simple formulas fail before the run does: {'; '.join(texts)}. They charge every "
            f"failure a whole recovery and half an interval, also where the next failure comes before either is over, "
            f"and so expect more loss than there is."
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
        f" {listed([_FIELD_NAMES[need.field][0] for need in failed]).capitalize()} cannot do it, not even at zero: the "
        f"best of them leaves {pct(max(need.best_ettr for need in failed))}."
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
