"""Which values of a scenario no source gives, and what is said where a plan has no answer."""

from __future__ import annotations

from ettr.chapters.common.sentences import duration, listed
from ettr.plan import Plan, assumed_fields
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


def no_answer(plan: Plan) -> str:
    """Why a plan has no time budget for the scenario's own interval."""
    own = duration(plan.scenario.interval_h)
    return f"for the scenario's own interval of {own} there is no answer, since {plan.no_budget_as_given}."


def assumptions(scenario: Scenario) -> str:
    """Which values of a scenario no source gives, as a sentence."""
    words = list(dict.fromkeys(_assumed_name(field) for field in assumed_fields(scenario)))
    return f"Assumed, because no source gives them: {listed(words)}." if words else ""


def _assumed_name(field: str) -> str:
    """The name of a field, or of the section that it stands in."""
    sections = field.split(".")
    paths = [".".join(sections[:n]) for n in range(len(sections), 0, -1)]
    return next((_ASSUMED_NAMES[path] for path in paths if path in _ASSUMED_NAMES), field)


def steady_state(run: Scenario) -> Scenario:
    """The steady state of a run, maintenance aside."""
    return run.override({"job.include_start": False, "maintenance": None})
