"""Convert a scenario, with arrays for some fields, to hours.

Fields keep the units that people say; that they become hours happens here and nowhere else.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ettr.core.errors import InputError, UnknownName
from ettr.core.units import H_PER_DAY, MIN_PER_H, S_PER_H
from ettr.core.validity import warn_outside
from ettr.scenario.job_in_hours import (
    AgeingInHours,
    JobInHours,
    ModesInHours,
    PredictionInHours,
    RestartInHours,
    TierInHours,
)
from ettr.scenario.long_run import long_run_rate, starts_new
from ettr.scenario.paths import INTERVAL, RATE, check_values, list_of
from ettr.scenario.survival import by_mode

if TYPE_CHECKING:
    from ettr.scenario.checkpoints import Tier
    from ettr.scenario.run_fields import RunFields

_IN_AN_HOUR = {"h": 1.0, "min": MIN_PER_H, "s": S_PER_H}
"""Units per hour, by the suffix of a field's name."""


def _in_an_hour(path: str) -> float:
    return _IN_AN_HOUR[path.rpartition("_")[2]]


class Values:
    """Values of a scenario's fields; those of ``at`` take precedence."""

    def __init__(self, scenario: RunFields, at: Mapping[str, Any] | None = None) -> None:
        self.scenario = scenario
        self.swept: dict[str, np.ndarray] = {}
        if not at:
            return
        for path in at:
            if path not in scenario.swept:
                _refuse(path, scenario.swept)
        self.swept = {path: check_values(path, values, type(scenario)) for path, values in at.items()}
        try:
            np.broadcast_shapes(*(values.shape for values in self.swept.values()))
        except ValueError as error:
            shapes = ", ".join(f"{path} {values.shape}" for path, values in self.swept.items())
            raise InputError(
                f"arrays must broadcast against each other, got {shapes}; for every combination pass product=True to "
                "the function of ettr.budget"
            ) from error

    def __call__(self, path: str) -> Any:
        """Return the value at a path; 0 in a missing section, such as maintenance."""
        if path in self.swept:
            return self.swept[path]
        section, field = path.split(".")
        return getattr(getattr(self.scenario, section), field, 0.0)

    def hours(self, path: str) -> Any:
        """Return a time. [h]"""
        return self(path) / _in_an_hour(path)

    def below(self, prefix: str) -> dict[str, np.ndarray]:
        """Return the values of ``at`` in one section, by field."""
        return {
            path.removeprefix(f"{prefix}."): values
            for path, values in self.swept.items()
            if path.startswith(f"{prefix}.")
        }

    @property
    def n_nodes(self) -> Any:
        """Return the nodes of the job."""
        return self("cluster.n_gpus") / self.scenario.cluster.gpus_per_node

    @property
    def persist_h(self) -> Any:
        """Return the background write of one checkpoint to the store. [h]"""
        store = self.scenario.store
        if store is None or store.write_gb_s is None:
            return self.hours("checkpoint.persist_s")
        return store.write_h(self.n_nodes, self.below("checkpoint.store"))

    @property
    def load_h(self) -> Any:
        """Return the load time from the store, in addition to the restart. [h]"""
        store = self.scenario.store
        if store is None or store.read_gb_s is None:
            return self.hours("checkpoint.load_s")
        return store.load_h(self.n_nodes, self.below("checkpoint.store"))

    @property
    def growth_h(self) -> Any:
        """Return the additional time of each start relative to where it was observed; negative for fewer GPUs. [h]"""
        beyond = self("cluster.n_gpus") - self.scenario.observed_gpus
        return self("recovery.init_s_per_1000_gpus") * beyond / (1000 * S_PER_H)

    def at_size(self, restart_h: Any) -> Any:
        """Return an observed restart time scaled to the size of the job; at least 0. [h]"""
        grown_h = restart_h + self.growth_h
        return np.maximum(grown_h, 0.0) if np.ndim(grown_h) else max(grown_h, 0.0)

    @property
    def productive_h(self) -> Any:
        """Return the work at full speed; for a job with tokens it follows from the size. [h]"""
        run, n_gpus = self.scenario, self.swept.get("cluster.n_gpus")
        if "job.productive_h" in self.swept:
            return self.swept["job.productive_h"]
        if n_gpus is None or run.job.tokens is None:
            return run.productive_h
        work_h = run.productive_h_on(n_gpus)
        nothing = np.isnan(work_h)
        if not nothing.any():
            return work_h
        if not run.starts:  # the work only scales, and shares of time hold where no layout fits, too
            return np.where(nothing, run.productive_h * run.cluster.n_gpus / n_gpus, work_h)
        n_out, n_all = int(np.count_nonzero(nothing)), int(np.size(nothing))
        warn_outside("job.tokens", "sizes that some layout of the model and batch fits", n_out, n_all)
        return work_h


def _refuse(path: str, valid: tuple[str, ...]) -> None:
    """Raise an error that names the missing section instead of an unknown name."""
    for section in ("checkpoint.store", "prediction"):
        if path.startswith(f"{section}.") and not any(name.startswith(f"{section}.") for name in valid):
            raise InputError(f"the scenario has no {section} section, so there is no {path} to sweep")
    if path == "checkpoint.persist_s":
        raise InputError("checkpoint.persist_s follows from checkpoint.store here: sweep checkpoint.store.write_gb_s")
    raise UnknownName("field to sweep", path, valid, list_of(path))


def job_in_hours(scenario: RunFields, at: Mapping[str, Any] | None = None) -> JobInHours:
    """Return a scenario, with arrays for some fields, in hours; see ``Scenario.in_hours``."""
    run, rule = before_interval(scenario, at), scenario.checkpoint.interval_min
    return replace(run, tau=run.interval_by(rule)) if isinstance(rule, str) and INTERVAL not in (at or {}) else run


def before_interval(scenario: RunFields, at: Mapping[str, Any] | None = None) -> JobInHours:
    """Return the job in hours before its interval rule is applied; the interval is infinite unless given."""
    value = Values(scenario, at)
    weight = scenario.mode_weights
    survives = _survival(scenario, value)
    modes = _modes(scenario, value, weight)
    silent = ~np.isnan(modes.latency)
    restarts, kept = _restarts(scenario, value, weight, survives)
    queue, person = value.hours("recovery.queue_min"), value.hours("recovery.person_min")
    return JobInHours(
        n_nodes=value.n_nodes,
        work=value.productive_h / scenario.speed,
        tau=math.inf if isinstance(value(INTERVAL), str) else value.hours(INTERVAL),
        stall=value.hours("checkpoint.stall_s"),
        persist=value.persist_h,
        slowdown=value("checkpoint.persist_slowdown"),
        load=value.load_h,
        rate=_rate(scenario, value),
        detection=_mean(weight, modes.detection),
        queue=queue + value("recovery.person_share") * person,
        first_queue=queue,
        restart=value.at_size(value.hours("recovery.restart_min")),
        restarts=restarts,
        stops_per_h=value("maintenance.per_day") / H_PER_DAY,
        stop=value.hours("maintenance.duration_min"),
        silent=float(weight[silent].sum()),
        latency=float(weight @ np.where(silent, modes.latency, 0.0)),
        include_start=scenario.starts,
        tiers=_tiers(scenario, value, kept),
        prediction=_prediction(value) if scenario.prediction else None,
        person_share=scenario.recovery.person_share,
        person=person,
        false_alarms_per_h=scenario.recovery.false_alarms_per_day / H_PER_DAY,
        preempt=value.hours("spares.preempt_min"),
        select=value.hours("spares.select_min"),
        retire_window=(value("repair.retire_window_days") or math.inf) * H_PER_DAY,
        modes=modes,
        ageing=_ageing(scenario),
    )


def _rate(scenario: RunFields, value: Values) -> Any:
    """Return λ, the failures of the job per exposed hour. [1/h]"""
    node_rate = scenario.failures.per_node_h(value.swept.get(RATE, scenario.failure_rate))
    n_nodes = value.n_nodes if "cluster.n_gpus" in value.swept else None
    rate = node_rate * scenario.mode_exposure(n_nodes).sum(axis=-1)
    return rate if np.ndim(rate) else float(rate)


def _survival(scenario: RunFields, value: Values) -> list[np.ndarray]:
    """Return the share of the failures of each mode that each faster tier survives, modes on the first axis."""
    tiers, swept = scenario.checkpoint.tiers, value.below("checkpoint.tiers")
    shares = {tier.name: swept[f"{tier.name}.survives"] for tier in tiers if f"{tier.name}.survives" in swept}
    return list(scenario.survival(value.n_nodes if "cluster.n_gpus" in value.swept else None, shares))


def _modes(scenario: RunFields, value: Values, weight: np.ndarray) -> ModesInHours:
    modes = scenario.failures.modes

    def own_or_general(path: str) -> np.ndarray:
        of_modes_h, general = _times_of_modes_h(scenario, path.rpartition(".")[2]), np.asarray(value.hours(path))
        of_modes_h = of_modes_h.reshape(-1, *(1,) * general.ndim)
        return np.where(np.isnan(of_modes_h), general, of_modes_h)

    return ModesInHours(
        weight=weight,
        detection=own_or_general("recovery.detection_min"),
        restart=_grown(own_or_general("recovery.restart_min"), value.growth_h),
        latency=_times_of_modes_h(scenario, "latency_h"),
        repair=_times_of_modes_h(scenario, "repair_h"),
        n_out=np.array([*(mode.n_out_nodes for mode in modes), 1]),
    )


def _grown(restart_h: np.ndarray, growth_h: Any) -> np.ndarray:
    """Return the restart times of each mode at the size of the job. [h]"""
    each, growth = by_mode(restart_h, np.asarray(growth_h, dtype=float)[None])
    return np.asarray(np.maximum(each + growth, 0.0))


def _times_of_modes_h(scenario: RunFields, field: str) -> np.ndarray:
    """Return a time of each mode, NaN if not set. [h]"""
    times = [getattr(mode, field) for mode in scenario.failures.modes]
    return np.array([math.nan if value is None else value for value in [*times, None]]) / _in_an_hour(field)


def _mean(weight: np.ndarray, of_modes: np.ndarray) -> Any:
    """Return the mean of a time over all failures. [h]"""
    weight, of_modes = by_mode(weight, of_modes)
    return (weight * of_modes).sum(axis=0)


def _restarts(
    scenario: RunFields, value: Values, weight: np.ndarray, survives: list[np.ndarray]
) -> tuple[tuple[RestartInHours, ...], list[tuple[Any, ...]]]:
    """Return the restart times of failures, the general one first; and for each tier, the share of each that it
    survives.
    """
    of_modes_h = _times_of_modes_h(scenario, "restart_min")
    weight, *survives = by_mode(weight, *survives)
    restarts = []
    kept: list[tuple[Any, ...]] = [() for _ in survives]
    general = -1.0  # in place of NaN, which equals nothing
    hours_or_general = np.where(np.isnan(of_modes_h), general, of_modes_h)
    for restart in [general, *sorted({*hours_or_general.tolist()} - {general})]:
        group = hours_or_general == restart
        hours = value.hours("recovery.restart_min") if restart == general else restart
        restarts.append(RestartInHours(weight[group].sum(axis=0), value.at_size(hours)))
        of_group = [(weight[group] * survived[group]).sum(axis=0) for survived in survives]
        kept = [(*before, share) for before, share in zip(kept, of_group, strict=True)]
    return tuple(restarts), kept


def _tiers(scenario: RunFields, value: Values, kept: list[tuple[Any, ...]]) -> tuple[TierInHours, ...]:
    swept = value.below("checkpoint.tiers")

    def hours(tier: Tier, field: str) -> Any:
        return swept.get(f"{tier.name}.{field}", getattr(tier, field)) / S_PER_H

    return tuple(
        TierInHours(
            tau=hours(tier, "interval_s"),
            stall=hours(tier, "stall_s"),
            persist=hours(tier, "write_s"),
            load=hours(tier, "load_s"),
            kept=shares,
        )
        for tier, shares in zip(scenario.checkpoint.tiers, kept, strict=True)
    )


def _prediction(value: Values) -> PredictionInHours:
    in_time = np.asarray(value("prediction.lead_s")) >= np.asarray(value("prediction.action_s"))
    return PredictionInHours(
        recall=np.where(in_time, value("prediction.recall"), 0.0),
        precision=value("prediction.precision"),
        action=value.hours("prediction.action_s"),
    )


def _ageing(scenario: RunFields) -> AgeingInHours | None:
    failures = scenario.failures
    burn_in, lifetime = failures.burn_in, failures.lifetime
    if burn_in is None and lifetime is None:
        return None
    return AgeingInHours(
        factor=burn_in.factor if burn_in else 1.0,
        decay=(burn_in.decay_days if burn_in else 1.0) * H_PER_DAY,
        age=(burn_in.age_days if burn_in else 0.0) * H_PER_DAY,
        shape=lifetime.shape if lifetime else 1.0,
        starts_new=starts_new(scenario),
        long_run=long_run_rate(scenario) / scenario.failure_rate if scenario.failure_rate else 1.0,
    )
