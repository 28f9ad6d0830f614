"""A scenario in hours, with arrays where it is swept."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ettr.checkpoint import mean_until
from ettr.core.errors import InputError, UnknownName
from ettr.core.validity import warn_outside
from ettr.scenario import Scenario
from ettr.scenario.paths import list_of
from ettr.scenario.survival import by_mode

SWEPT = (
    "cluster.n_gpus",
    "job.productive_h",
    "failures.rate_per_1000_node_days",
    "checkpoint.interval_min",
    "checkpoint.stall_s",
    "checkpoint.persist_s",
    "checkpoint.persist_slowdown",
    "checkpoint.load_s",
    "recovery.detection_min",
    "recovery.queue_min",
    "recovery.restart_min",
    "maintenance.per_day",
    "maintenance.duration_min",
)
"""Fields that ``at`` may hold arrays for, in every scenario."""

_OF_STORE = ("n_parameters", "bytes_per_parameter", "changed_share", "compression_ratio")
_BANDWIDTHS = ("write_gb_s", "read_gb_s", "node_gb_s")
_OF_TIER = ("interval_s", "stall_s", "write_s", "load_s", "survives")
_OF_PREDICTION = ("recall", "precision", "lead_s", "action_s")


def swept(scenario: Scenario) -> tuple[str, ...]:
    """Fields that ``at`` may hold arrays for in this scenario: its store, tiers and prediction have their own."""
    store, paths = scenario.checkpoint.store, [*SWEPT]
    if store:
        given = [name for name in _BANDWIDTHS if getattr(store, name) is not None]
        paths += [f"checkpoint.store.{name}" for name in (*_OF_STORE, *given)]
        paths.remove("checkpoint.persist_s")
        if store.read_gb_s:
            paths.remove("checkpoint.load_s")
    for tier in scenario.checkpoint.tiers:
        paths += [f"checkpoint.tiers.{tier.name}.{name}" for name in _OF_TIER if getattr(tier, name) is not None]
    if scenario.prediction:
        paths += [f"prediction.{name}" for name in _OF_PREDICTION]
    return tuple(paths)


@dataclass(frozen=True)
class TiersInHours:
    """Tiers in hours, fastest first, the store last; every item a float or an array.

    ``lands[f][t]`` is the probability that a failure is answered from tier t, if tier f was being loaded (f = 0: while
    training); ``loads[f][t]`` that its restart and load then also survive; and ``load_cut[f][t]`` the hours of these
    until a failure or their end, as a mean over all failures. ``restart_after`` is the mean restart and load of a
    failure, if none strikes meanwhile.
    """

    tau: tuple[Any, ...]
    stall: tuple[Any, ...]
    write: tuple[Any, ...]
    lands: tuple[tuple[Any, ...], ...]
    loads: tuple[tuple[Any, ...], ...]
    load_cut: tuple[tuple[Any, ...], ...]
    restart_after: Any

    @property
    def severity(self) -> tuple[Any, ...]:
        """Probability that a tier is the fastest one that survives a failure."""
        return self.lands[0]


@dataclass(frozen=True)
class PredictionInHours:
    """What warnings say and cost; ``recall`` is 0 where they come too late."""

    recall: Any
    precision: Any
    action: Any


@dataclass(frozen=True)
class JobInHours:
    """A scenario in hours, fields as floats or arrays; symbols as in the methods page.

    ``restart`` is that of a planned start, ``restart_after`` the mean over the modes of a failure; both load from the
    store. ``latency`` is the mean latency of a silent failure, ``silent`` their share.
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
    silent: Any
    latency: Any
    include_start: bool
    tiers: TiersInHours | None = None
    prediction: PredictionInHours | None = None

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


class _Values:
    """Values of a scenario's fields, those of ``at`` first."""

    def __init__(self, scenario: Scenario, at: Mapping[str, Any] | None) -> None:
        valid = swept(scenario)
        for path in at or {}:
            if path not in valid:
                _refuse(path, valid)
        self.given = {path: scenario.check_values(path, values) for path, values in (at or {}).items()}
        try:
            np.broadcast_shapes(*(values.shape for values in self.given.values()))
        except ValueError as error:
            shapes = ", ".join(f"{path} {values.shape}" for path, values in self.given.items())
            raise InputError(f"arrays must broadcast against each other, got {shapes}") from error
        self.scenario = scenario

    def __call__(self, path: str) -> Any:
        if path in self.given:
            return self.given[path]
        if path == "job.productive_h":  # of a job given by its tokens it follows from the size
            return self._work_h(self.given.get("cluster.n_gpus"))
        section, field = path.split(".")
        return getattr(getattr(self.scenario, section), field, 0.0)  # no maintenance section: no maintenance

    def _work_h(self, n_gpus: Any) -> Any:
        run = self.scenario
        if n_gpus is None or run.job.tokens is None:
            return run.productive_h
        work_h = run.productive_h_on(n_gpus)
        nothing = np.isnan(work_h)
        if not nothing.any():
            return work_h
        if not run.job.include_start:  # the work only scales, and shares of time hold where no layout fits, too
            return np.where(nothing, run.productive_h * run.cluster.n_gpus / n_gpus, work_h)
        n_out, n_all = int(np.count_nonzero(nothing)), int(np.size(nothing))
        warn_outside("job.tokens", "sizes that some layout of the model and batch fits", n_out, n_all)
        return work_h

    def below(self, prefix: str) -> dict[str, np.ndarray]:
        """Those of ``at`` in one section, by field."""
        return {
            path.removeprefix(f"{prefix}."): values
            for path, values in self.given.items()
            if path.startswith(f"{prefix}.")
        }

    @property
    def n_nodes(self) -> Any:
        return self("cluster.n_gpus") / self.scenario.cluster.gpus_per_node


def _refuse(path: str, valid: tuple[str, ...]) -> None:
    """Say what is missing, rather than that a name is unknown, where a section is."""
    for section, remedy in {"checkpoint.store": "checkpoint.store", "prediction": "prediction"}.items():
        if path.startswith(f"{section}.") and not any(known.startswith(f"{section}.") for known in valid):
            raise InputError(f"the scenario has no {remedy} section, so there is no {path} to sweep")
    if path == "checkpoint.persist_s":
        raise InputError("checkpoint.persist_s follows from checkpoint.store here: sweep checkpoint.store.write_gb_s")
    raise UnknownName("field to sweep", path, valid, list_of(path))


def job_in_hours(scenario: Scenario, at: Mapping[str, Any] | None) -> JobInHours:
    """Turn a scenario, with arrays for some of its fields, into hours."""
    value = _Values(scenario, at)
    rate, weights = _rate_and_weights(scenario, value)

    def mean(field: str) -> Any:
        own = scenario.own_h(field)
        general = np.isnan(own)
        if general.all():
            return value(f"recovery.{field}") / 60 * weights.sum(axis=0)
        of_own = np.tensordot(np.where(general, 0.0, own), weights, axes=(0, 0))
        return of_own + value(f"recovery.{field}") / 60 * weights[general].sum(axis=0)

    first_queue = scenario.first_queue_h
    if scenario.job.first_queue_min is None:
        first_queue = value("recovery.queue_min") / 60
    persist, load = _store_hours(scenario, value)
    general = value("recovery.restart_min") / 60
    latency = np.array([mode.latency_h or 0.0 for mode in scenario.failures.modes] + [0.0])
    silent = np.array([mode.latency_h is not None for mode in scenario.failures.modes] + [False])
    own_restart = scenario.own_h("restart_min")
    return JobInHours(
        work=value("job.productive_h") / scenario.speed,
        tau=value("checkpoint.interval_min") / 60,
        stall=value("checkpoint.stall_s") / 3600,
        persist=persist,
        slowdown=value("checkpoint.persist_slowdown"),
        rate=rate,
        detection=mean("detection_min"),
        queue=mean("queue_min") + scenario.person_h,
        first_queue=first_queue,
        restart=general + load,
        restart_after=mean("restart_min") + load,
        survive_restart=_over_restarts(lambda r: np.exp(-rate * (r + load)), weights, own_restart, general),
        cut_restart=_over_restarts(lambda r: -np.expm1(-rate * (r + load)), weights, own_restart, general),
        stops_per_h=value("maintenance.per_day") / 24,
        stop=value("maintenance.duration_min") / 60,
        silent=weights[silent].sum(axis=0),
        latency=np.tensordot(latency, weights, axes=(0, 0)),
        include_start=scenario.job.include_start,
        tiers=_tiers_in_hours(scenario, value, rate, weights) if scenario.checkpoint.tiers else None,
        prediction=_prediction_in_hours(value) if scenario.prediction else None,
    )


def _store_hours(scenario: Scenario, value: _Values) -> tuple[Any, Any]:
    """Background write of the store, and loading from it with what a start takes for the number of GPUs. [h]"""
    store, init = scenario.checkpoint.store, scenario.init_h(value("cluster.n_gpus"))
    load = value("checkpoint.load_s") / 3600 + init
    if store is None:
        return value("checkpoint.persist_s") / 3600, load
    given = value.below("checkpoint.store")
    return store.write_h(value.n_nodes, given), store.load_h(value.n_nodes, given) + init if store.read_gb_s else load


def _prediction_in_hours(value: _Values) -> PredictionInHours:
    action, lead = value("prediction.action_s"), value("prediction.lead_s")
    in_time = np.asarray(lead) >= np.asarray(action)
    return PredictionInHours(
        recall=np.where(in_time, value("prediction.recall"), 0.0),
        precision=value("prediction.precision"),
        action=action / 3600,
    )


def _tiers_in_hours(scenario: Scenario, value: _Values, rate: Any, weights: np.ndarray) -> TiersInHours:
    tiers = scenario.checkpoint.tiers
    given = value.below("checkpoint.tiers")

    def hours(field: str) -> tuple[Any, ...]:
        return tuple(given.get(f"{tier.name}.{field}", getattr(tier, field)) / 3600 for tier in tiers)

    shares = {tier.name: given[f"{tier.name}.survives"] for tier in tiers if f"{tier.name}.survives" in given}
    nodes = value.n_nodes if "cluster.n_gpus" in value.given else None
    persist, store_load = _store_hours(scenario, value)
    init = scenario.init_h(value("cluster.n_gpus"))
    loads = (*(load + init for load in hours("load_s")), store_load)
    kept = _kept_by_restart(scenario, weights, scenario.survival(nodes, shares))
    general = value("recovery.restart_min") / 60
    restarts = {own: [(general if own is None else own) + load for load in loads] for own in kept}
    cut = {own: [mean_until(rate, restart) for restart in restarts[own]] for own in kept}
    survive = {own: [np.exp(-rate * restart) for restart in restarts[own]] for own in kept}
    n = range(len(loads))

    def answered(own: float | None, floor: int, tier: int) -> Any:
        """Probability that a failure has this restart and is answered from a tier, while tier ``floor`` loads."""
        if tier + 1 < floor:
            return 0.0
        return kept[own][tier + 1] - (kept[own][tier] if tier + 1 > floor else 0.0)

    def table(hours_of: Callable[[float | None, int], Any]) -> tuple[tuple[Any, ...], ...]:
        return tuple(
            tuple(sum(answered(own, floor, tier) * hours_of(own, tier) for own in kept) for tier in n)
            for floor in range(len(loads) + 1)
        )

    return TiersInHours(
        tau=(*hours("interval_s"), value("checkpoint.interval_min") / 60),
        stall=(*hours("stall_s"), value("checkpoint.stall_s") / 3600),
        write=(*hours("write_s"), persist),
        lands=table(lambda own, tier: 1.0),
        loads=table(lambda own, tier: survive[own][tier]),
        load_cut=table(lambda own, tier: cut[own][tier]),
        restart_after=sum(answered(own, 0, tier) * restarts[own][tier] for own in kept for tier in n),
    )


def _kept_by_restart(
    scenario: Scenario, weights: np.ndarray, survival: list[np.ndarray]
) -> dict[float | None, list[Any]]:
    """Probability that a failure has one restart time and a tier survives it: none first, the store last.

    The key is the modes' own restart time [h], None for the general one.
    """
    own = scenario.own_h("restart_min")
    weights, *survival = by_mode(weights, *survival)
    shares: dict[float | None, list[Any]] = {}
    for restart in (None, *np.unique(own[~np.isnan(own)])):
        group = np.isnan(own) if restart is None else own == restart
        of_group = weights[group]
        shares[restart] = [0.0, *((of_group * share[group]).sum(axis=0) for share in survival), of_group.sum(axis=0)]
    return shares


def _rate_and_weights(scenario: Scenario, value: _Values) -> tuple[Any, np.ndarray]:
    """λ, and the probability of each mode with the modes on the first axis."""
    node_rate: Any = scenario.node_rate_per_h
    if "failures.rate_per_1000_node_days" in value.given:
        node_rate = scenario.failures.per_node_h(value.given["failures.rate_per_1000_node_days"])
    if "cluster.n_gpus" not in value.given:
        return node_rate * float(scenario.mode_exposure().sum()), scenario.mode_weights
    exposure = scenario.mode_exposure(value.n_nodes)
    rate = node_rate * exposure.sum(axis=-1)
    if all(mode.scales_with == "nodes" for mode in scenario.failures.modes):
        return rate, scenario.mode_weights
    total = exposure.sum(axis=-1, keepdims=True)
    never = np.arange(exposure.shape[-1]) == exposure.shape[-1] - 1  # as in Scenario.mode_weights
    return rate, np.moveaxis(np.where(total > 0, exposure / np.where(total > 0, total, 1.0), never), -1, 0)


def _over_restarts(function: Callable[[Any], Any], weights: np.ndarray, own_h: np.ndarray, restart_h: Any) -> Any:
    """Mean of a function of the restart time over the modes.

    Both the probability of surviving a restart and its complement are asked for: each without the digits that a
    difference to 1 would lose.
    """
    general = np.isnan(own_h)
    total = weights[general].sum(axis=0) * function(restart_h)
    for own in np.unique(own_h[~general]):
        total = total + weights[own_h == own].sum(axis=0) * function(own)
    return total
