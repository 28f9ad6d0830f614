"""A scenario in hours, with arrays where it is swept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ettr.errors import InputError, UnknownName
from ettr.scenario import Scenario

SWEPT = (
    "cluster.n_gpus",
    "job.productive_h",
    "failures.rate_per_1000_node_days",
    "checkpoint.interval_min",
    "checkpoint.stall_s",
    "checkpoint.persist_s",
    "checkpoint.persist_slowdown",
    "recovery.detection_min",
    "recovery.queue_min",
    "recovery.restart_min",
    "maintenance.per_day",
    "maintenance.duration_min",
)
"""Fields that ``at`` may hold arrays for."""


@dataclass(frozen=True)
class Rules:
    """A scenario in hours, fields as floats or arrays; symbols as in the methods page.

    ``restart`` is that of a planned start, ``restart_after`` the mean over the modes of a failure.
    """

    work: Any
    tau: Any
    stall: Any
    persist: Any
    slowdown: Any
    rate: Any
    detection: Any
    queue: Any
    first_queue: Any
    restart: Any
    restart_after: Any
    survive_restart: Any
    cut_restart: Any
    stops_per_h: Any
    stop: Any
    include_start: bool

    @property
    def cycle(self) -> Any:
        """Wall clock of a cycle without failure, L = τ + w + s p. [h]"""
        return self.tau + self.stall + self.slowdown * self.persist

    @property
    def head(self) -> Any:
        """Training done while a background write lasts, (1 - s) p. [h]"""
        return (1 - self.slowdown) * self.persist

    @property
    def downtime(self) -> Any:
        """Detection and queue of a failure, D. [h]"""
        return self.detection + self.queue


def rules(scenario: Scenario, at: Mapping[str, Any] | None) -> Rules:
    """Turn a scenario, with arrays for some of its fields, into hours."""
    given = {path: scenario.check_values(path, values) for path, values in (at or {}).items()}
    for path in given:
        if path not in SWEPT:
            raise UnknownName("field to sweep", path, SWEPT)
    try:
        np.broadcast_shapes(*(values.shape for values in given.values()))
    except ValueError as error:
        shapes = ", ".join(f"{path} {values.shape}" for path, values in given.items())
        raise InputError(f"arrays must broadcast against each other, got {shapes}") from error

    def value(path: str) -> Any:
        if path in given:
            return given[path]
        section, field = path.split(".")
        return getattr(getattr(scenario, section), field, 0.0)  # no maintenance section: no maintenance

    rate, weights = _rate_and_weights(scenario, given)

    def mean(field: str) -> Any:
        own = scenario.own_h(field)
        general = np.isnan(own)
        of_own = np.tensordot(np.where(general, 0.0, own), weights, axes=(0, 0))
        return of_own + value(f"recovery.{field}") / 60 * weights[general].sum(axis=0)

    queue = mean("queue_min")
    first_queue = scenario.first_queue_h
    if scenario.job.first_queue_min is None:
        first_queue = value("recovery.queue_min") / 60
    restart = value("recovery.restart_min") / 60
    return Rules(
        work=value("job.productive_h"),
        tau=value("checkpoint.interval_min") / 60,
        stall=value("checkpoint.stall_s") / 3600,
        persist=value("checkpoint.persist_s") / 3600,
        slowdown=value("checkpoint.persist_slowdown"),
        rate=rate,
        detection=mean("detection_min"),
        queue=queue,
        first_queue=first_queue,
        restart=restart,
        restart_after=mean("restart_min"),
        survive_restart=_over_modes(np.exp, rate, weights, scenario.own_h("restart_min"), restart),
        cut_restart=-_over_modes(np.expm1, rate, weights, scenario.own_h("restart_min"), restart),
        stops_per_h=value("maintenance.per_day") / 24,
        stop=value("maintenance.duration_min") / 60,
        include_start=scenario.job.include_start,
    )


def _rate_and_weights(scenario: Scenario, given: Mapping[str, np.ndarray]) -> tuple[Any, np.ndarray]:
    """λ, and the probability of each mode with the modes on the first axis."""
    node_rate: Any = scenario.node_rate_per_h
    if "failures.rate_per_1000_node_days" in given:
        unit = scenario.override({"failures.rate_per_1000_node_days": 1.0})
        node_rate = unit.node_rate_per_h * given["failures.rate_per_1000_node_days"]
    if "cluster.n_gpus" not in given:
        return node_rate * float(scenario.mode_exposure().sum()), scenario.mode_weights
    exposure = scenario.mode_exposure(given["cluster.n_gpus"] / scenario.cluster.gpus_per_node)
    rate = node_rate * exposure.sum(axis=-1)
    if all(mode.scales_with == "nodes" for mode in scenario.failures.modes):
        return rate, scenario.mode_weights
    return rate, np.moveaxis(exposure / exposure.sum(axis=-1, keepdims=True), -1, 0)


def _over_modes(function: Any, rate: Any, weights: np.ndarray, own_h: np.ndarray, restart_h: Any) -> Any:
    """Mean of function(-λr) over the modes' restart times.

    With ``exp`` it is the probability that no failure strikes during a restart, and with ``expm1`` minus that of one:
    each without the digits that a difference to 1 would lose.
    """
    general = np.isnan(own_h)
    total = weights[general].sum(axis=0) * function(-rate * restart_h)
    for own in np.unique(own_h[~general]):
        total = total + weights[own_h == own].sum(axis=0) * function(-rate * own)
    return total
