"""The long-run failure rate of a scenario whose rate changes during the job."""

from __future__ import annotations

from typing import Any

from ettr.core.units import H_PER_DAY
from ettr.scenario.paths import RATE
from ettr.scenario.run_fields import RunFields


def changes(scenario: RunFields) -> bool:
    """Return whether the failure rate changes during the job.

    Examples
    --------
    >>> from ettr import Scenario, budget
    >>> run = Scenario.load("llama3-405b")
    >>> budget.changes(run), budget.changes(run.override({"failures.burn_in": {"factor": 5, "decay_days": 7}}))
    (False, True)
    """
    burn_in = scenario.failures.burn_in
    return (burn_in is not None and burn_in.factor != 1) or starts_new(scenario)


def starts_new(scenario: RunFields) -> bool:
    """Return whether all nodes are new at the start and age."""
    lifetime = scenario.failures.lifetime
    return lifetime is not None and lifetime.shape != 1 and lifetime.start == "new"


def long_run_rate(scenario: RunFields) -> float:
    """Return the long-run failure rate, also if it was counted on new nodes. [1 / (1000 node-days)]"""
    failures = scenario.failures
    if not starts_new(scenario) or not failures.n_events or failures.lifetime is None:
        return scenario.failure_rate
    from ettr.failures.hazards import settled_rate  # loads the statistics of scipy

    nodes = scenario.observed_nodes
    exposed_h = (failures.node_days or 0.0) * H_PER_DAY / nodes * (failures.exposed_share or 1.0)
    per_h = settled_rate(failures.n_events, nodes, exposed_h, failures.lifetime.shape)
    return float(per_h) * 1000 * H_PER_DAY * (failures.exposed_share or 1.0)


def steady(scenario: RunFields, higher: float = 1.0) -> dict[str, Any]:
    """Return overrides for a constant rate, higher by a factor and with the same relative uncertainty."""
    values: dict[str, Any] = {"failures.burn_in": None, "failures.lifetime": None}
    if higher == 1:
        return values
    posterior = scenario.failures.posterior
    values[RATE] = scenario.failure_rate * higher
    if posterior is not None:
        values["failures.rate_gamma"] = {"shape": posterior.shape, "node_days": posterior.node_days / higher}
    return values


def settled(scenario: RunFields) -> dict[str, Any]:
    """Return overrides for the same run at the long-run rate, without burn-in and lifetimes."""
    rate = scenario.failure_rate
    return steady(scenario, long_run_rate(scenario) / rate if rate else 1.0)
