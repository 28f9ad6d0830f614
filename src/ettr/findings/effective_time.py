"""What the first page, the terminal and the chapters on effective training time say of one run."""

from __future__ import annotations

import math

from ettr import budget
from ettr.checkpoint import heed_threshold_h
from ettr.findings.words import Finding, count, duration, fails, listed, number, pct, points
from ettr.plan import Plan, assumed_fields
from ettr.results import PARTS, TimeBudget
from ettr.scenario import Scenario

_ASSUMED_NAMES = {
    "cluster.n_gpus": "number of GPUs",
    "cluster.gpus_per_node": "GPUs per node",
    "job.productive_h": "length of the work",
    "job.tokens": "tokens to train on",
    "failures.n_events": "number of failures",
    "failures.node_days": "node-days observed",
    "failures.rate_per_1000_node_days": "failure rate",
    "failures.observed_nodes": "nodes observed",
    "failures.rate_clock": "clock of the failure rate",
    "failures.exposed_share": "share of time at risk",
    "failures.rate_gamma.shape": "knowledge of the failure rate",
    "failures.rate_gamma.node_days": "knowledge of the failure rate",
    "job.first_queue_min": "first queue",
    "job.include_start": "counting of the start",
    "job.throughput_factor": "speed of training",
    "checkpoint.interval_min": "interval",
    "checkpoint.stall_s": "stall",
    "checkpoint.persist_s": "background write",
    "checkpoint.persist_slowdown": "slowdown by the write",
    "checkpoint.load_s": "loading from the store",
    "failures.burn_in": "burn-in",
    "failures.lifetime": "lifetimes of the nodes",
    "failures.lemons": "nodes that fail more often than others",
    "failures.modes": "nodes lost at once and latencies by kind of failure",
    "checkpoint.n_kept": "checkpoints that are kept",
    "checkpoint.store": "size of the state and bandwidth of the store",
    "checkpoint.tiers": "faster tiers",
    "prediction": "predictions",
    "recovery.detection_min": "detection",
    "recovery.queue_min": "queue",
    "recovery.restart_min": "restart",
    "recovery.init_s_per_1000_gpus": "initialisation by size",
    "recovery.detection_cv": "spread of detection",
    "recovery.restart_cv": "spread of restarts",
    "recovery.person_share": "waits for a person",
    "recovery.person_min": "waits for a person",
    "recovery.false_alarms_per_day": "false alarms of time-outs",
    "maintenance.per_day": "maintenance requests",
    "maintenance.duration_min": "length of a maintenance stop",
    "maintenance.rolling_nodes": "nodes served at a time",
    "spares": "spare nodes",
    "repair": "repair of nodes",
    "elastic": "replicas that the job can do without",
    "slow_nodes": "slow nodes",
    "heat": "cooling and temperatures of the hall",
    "power": "what a step draws",
    "cost": "prices",
    "model.n_parameters": "number of parameters",
    "model.n_layers": "shape of the model",
    "model.hidden": "shape of the model",
    "model.kv_share": "shape of the model",
    "model.sequence_tokens": "length of a sequence",
    "model.batch_tokens": "batch",
    "model.reference_batch_tokens": "batch that the tokens are stated for",
    "model.critical_batch_tokens": "critical batch",
    "layout": "cut of the model over GPUs",
    "network": "links between GPUs",
    "scaling": "what slows a step",
    "sync": "how replicas are kept in step",
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
        best = f" That is with a checkpoint every {duration(plan.best.interval_h)}: {no_answer(plan)}"
    often = fails(hours.total_h / hours.n_failures if hours.n_failures > 0 else math.inf)
    return Finding(
        title=f"{pct(hours.ettr)} of the wall clock is useful training",
        text=(
            f"**{run.title}: {often}; {pct(hours.ettr)} of the wall clock is useful training.**{taken}{best} "
            f"{assumptions(run)}"
        ).strip(),
    )


def no_answer(plan: Plan) -> str:
    """Why a plan has no time budget for the scenario's own interval."""
    own = duration(plan.scenario.interval_h)
    return f"for the scenario's own interval of {own} there is no answer, since {plan.no_budget_as_given}."


def plan_lines(plan: Plan) -> list[str]:
    """The plan in a few plain lines, for the terminal."""
    band, known = plan.band, plan.job_mttf_95_h
    given = no_answer(plan)
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
            f"Checkpoint {'to the store ' if plan.scenario.checkpoint.tiers else ''}every "
            f"{duration(band.interval_min / 60)}; between {duration(band.low_min / 60)} and "
            f"{duration(band.high_min / 60)} it costs at most {points(band.points)} of ETTR"
        )
    ettr = f"ETTR: {pct(plan.budget.ettr)} at the best interval, {given}"
    return [often, best, ettr, *_speed(plan), *_unused_prediction(plan.best), *_left_out(plan)]


def _left_out(plan: Plan) -> list[str]:
    if not plan.left_out:
        return []
    return [f"Planned without what only a simulation follows (`ettr simulate`): {listed(list(plan.left_out))}"]


def _speed(plan: Plan) -> list[str]:
    """Throughput, where the job does not run at full speed, and what heat has to do with it."""
    run, heat = plan.scenario, plan.scenario.warmth
    if run.speed == 1 and heat is None:
        return []
    speed = (
        f"Effective throughput: {pct(plan.effective_throughput)} at the best interval, training at {pct(run.speed)} of "
        "full speed"
    )
    if heat is None:
        return [speed]
    table, on_rate = heat.hours, run.heat_rate_factor
    failing = f"failures at {on_rate:.2f} times the observed rate" if run.failures.modes else ""
    if failing and abs(on_rate - 1) < 5e-3:
        failing = "failures at about the observed rate"
    assert run.heat is not None
    warm = (
        f"Heat: inlet {table['inlet_c'].min():.1f} to {table['inlet_c'].max():.1f} °C "
        f"({run.heat.reference_inlet_c:.1f} °C at full speed)"
    )
    told = "; ".join(filter(None, [f"{warm}, hottest die {table['hottest_c'].max():.1f} °C", failing]))
    return [speed, told, *([f"Weather: {'; '.join(heat.notes)}"] if heat.notes else [])]


def _unused_prediction(run: Scenario) -> list[str]:
    """Why announcements gain nothing, where they do not."""
    ahead = run.prediction
    if ahead is None:
        return []
    if ahead.lead_s < ahead.action_s:
        return [
            f"Announcements are of no use: lead_s = {ahead.lead_s:g} s is shorter than action_s = {ahead.action_s:g} s"
        ]
    at_risk_h = heed_threshold_h(ahead.action_s / 3600, ahead.precision)
    if at_risk_h > run.interval_h:
        return [
            f"Announcements are of no use: an answer pays from {duration(at_risk_h)} of training at risk on, longer "
            f"than the interval"
        ]
    return []


def _range(ends_h: tuple[float, float]) -> str:
    return (
        f"{duration(ends_h[0])} to {duration(ends_h[1])}" if math.isfinite(ends_h[1]) else f"over {duration(ends_h[0])}"
    )


def assumptions(scenario: Scenario) -> str:
    """Which values of a scenario no source gives, as a sentence."""
    words = list(dict.fromkeys(_assumed_name(field) for field in assumed_fields(scenario)))
    return f"Assumed, because no source gives them: {listed(words)}." if words else ""


def _assumed_name(field: str) -> str:
    """The name of a field, or of the section that it stands in."""
    sections = field.split(".")
    paths = [".".join(sections[:n]) for n in range(len(sections), 0, -1)]
    return next((_ASSUMED_NAMES[path] for path in paths if path in _ASSUMED_NAMES), field)


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
    hours = budget.exact(steady_state(run))
    return float((hours.rework_h + hours.detection_h + hours.queue_h + hours.restart_h) / hours.n_failures)


def steady_state(run: Scenario) -> Scenario:
    """The steady state of a run, maintenance aside."""
    return run.override({"job.include_start": False, "maintenance": None})
