"""What formulas and the simulator need of a scenario: numbers or arrays, with all times in hours.

Fields keep the units that people say; that they become hours happens here and nowhere else.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from ettr.checkpoint.intervals import daly_interval, exact_interval, young_interval
from ettr.core.errors import InputError, NotModelled, UnknownName
from ettr.core.units import H_PER_DAY, LAST_DIGITS, MIN_PER_H, S_PER_H
from ettr.core.validity import plain, warn_outside
from ettr.scenario.basics import LARGEST_NUMBER
from ettr.scenario.long_run import long_run_rate, starts_new
from ettr.scenario.paths import INTERVAL, RATE, check_values, list_of
from ettr.scenario.survival import by_mode

if TYPE_CHECKING:
    from ettr.scenario.checkpoints import Tier
    from ettr.scenario.in_hours import InHours

SHORTEST_MIN = 1 / 60
"""Nobody checkpoints more often than each second, even where a checkpoint is free."""
_HAIR = 1 + LAST_DIGITS
"""Above a limit by this much, so that rounding does not put an interval below it."""
_IN_AN_HOUR = {"h": 1.0, "min": MIN_PER_H, "s": S_PER_H}
"""Of the unit that a field's name ends with."""


def _in_an_hour(path: str) -> float:
    return _IN_AN_HOUR[path.rpartition("_")[2]]


@dataclass(frozen=True, eq=False)
class _Numbers:
    """A record of floats and arrays that broadcast against each other."""

    def arrays(self) -> Iterator[np.ndarray]:
        """All arrays in it."""
        yield from _arrays(self)

    @functools.cached_property
    def shape(self) -> tuple[int, ...]:
        """Shape that the arrays broadcast to; () for floats alone."""
        return np.broadcast_shapes(*{array.shape for array in self.arrays()})

    def map(self, function: Callable[[np.ndarray], Any]) -> Self:
        """The same with a function of each array in its place."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        changed = {name: _mapped(value, function) for name, value in values.items()}
        return replace(self, **{name: value for name, value in changed.items() if value is not values[name]})


def _arrays(value: Any) -> Iterator[np.ndarray]:
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, tuple):
        for item in value:
            yield from _arrays(item)
    elif isinstance(value, _Numbers):
        for field in fields(value):
            yield from _arrays(getattr(value, field.name))


def _mapped(value: Any, function: Callable[[np.ndarray], Any]) -> Any:
    if isinstance(value, np.ndarray):
        return function(value) if value.ndim else value
    if isinstance(value, tuple):
        items = tuple(_mapped(item, function) for item in value)
        return value if all(new is old for new, old in zip(items, value, strict=True)) else items
    return value.map(function) if isinstance(value, _Numbers) else value


@dataclass(frozen=True, eq=False)
class ModesInHours:
    """Modes of failure, ``other`` last, on the first axis; a general time stands where a mode has no own.

    ``restart`` is without what each start takes for the number of GPUs and without loading. ``latency`` is NaN where a
    failure is noticed, ``repair`` where a node goes through the general stages. ``n_out`` are nodes that leave the job.
    The ``_cv`` are coefficients of variation. ``survives`` is the share of its failures that each faster tier survives.
    """

    weight: np.ndarray
    detection: np.ndarray
    queue: np.ndarray
    restart: np.ndarray
    latency: np.ndarray
    repair: np.ndarray
    n_out: np.ndarray
    detection_cv: np.ndarray
    restart_cv: np.ndarray
    survives: tuple[np.ndarray, ...]

    @property
    def latencies(self) -> np.ndarray:
        """Latencies of the silent modes that occur, each once. [h]"""
        weight = self.weight.reshape(self.weight.shape[0], -1).max(axis=1)
        return np.unique(self.latency[(weight > 0) & ~np.isnan(self.latency)])


@dataclass(frozen=True, eq=False)
class RestartInHours(_Numbers):
    """One of the restart times that modes have: the share of failures with it, and its hours as in ``restart``."""

    share: Any
    restart: Any


@dataclass(frozen=True, eq=False)
class TierInHours(_Numbers):
    """A faster tier; ``kept`` is the share of all failures that it survives, by restart time as in ``restarts``."""

    tau: Any
    stall: Any
    persist: Any
    load: Any
    kept: tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class PredictionInHours(_Numbers):
    """What warnings say and cost; ``recall`` is 0 where they come too late."""

    recall: Any
    precision: Any
    action: Any


@dataclass(frozen=True)
class AgeingInHours:
    """How the failure rate changes: burn-in of the fleet, or Weibull lifetimes of nodes.

    ``long_run`` is the rate in the long run over the one given, which may have been counted on new nodes.
    """

    factor: float
    decay: float
    age: float
    shape: float
    starts_new: bool
    long_run: float

    @property
    def changes(self) -> bool:
        """Whether the failure rate changes while the job runs."""
        return self.factor != 1 or (self.starts_new and self.shape != 1)


@dataclass(frozen=True, eq=False)
class JobInHours(_Numbers):
    """A scenario in hours, fields as floats or arrays that broadcast; symbols as in the methods page.

    What depends on the failure rate or on an interval is derived, so that ``dataclasses.replace`` gives the same run at
    another. ``detection`` and ``queue`` are means over all failures, the wait for a person included. ``restart`` is the
    general one, and ``restarts`` those of failures; each start takes ``init`` and ``load`` on top. ``latency`` is the
    mean over all failures, ``silent`` the share of those that are silent. ``tiers`` are those below the store. Closed
    forms ask for all up to ``person``, and the simulator for the rest too; a time is 0 where there is no such stage,
    ``failed_restart`` NaN where a restart that fails takes as long as another, ``retire_window`` infinite without one.
    """

    n_nodes: Any
    work: Any
    tau: Any
    stall: Any
    persist: Any
    slowdown: Any
    load: Any
    init: Any
    rate: Any
    detection: Any
    queue: Any
    first_queue: Any
    restart: Any
    restarts: tuple[RestartInHours, ...]
    stops_per_h: Any
    stop: Any
    silent: Any
    latency: Any
    include_start: bool
    tiers: tuple[TierInHours, ...]
    prediction: PredictionInHours | None
    modes: ModesInHours
    ageing: AgeingInHours | None
    restart_cv: float
    person_share: float
    person: float
    false_alarms_per_h: float
    preempt: float
    fetch: float
    select: float
    failed_restart: float
    retire_window: float

    @property
    def mttf(self) -> Any:
        """Mean time to failure of the job; infinite without failures. [h]"""
        with np.errstate(divide="ignore", over="ignore"):
            return 1 / np.asarray(self.rate, dtype=float)

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

    @property
    def start(self) -> Any:
        """Restart and load of a planned start, from the store. [h]"""
        return self.restart + self.init + self.load

    @property
    def restart_after(self) -> Any:
        """Mean restart and load after a failure if none strikes meanwhile, from the store. [h]"""
        return sum(one.share * one.restart for one in self.restarts) + (self.init + self.load)

    @property
    def recovery(self) -> Any:
        """Mean time from a failure to the next training if none strikes meanwhile, from the store. [h]"""
        return self.downtime + self.restart_after

    @functools.cached_property
    def survive_restart(self) -> Any:
        """Probability that none strikes in the restart and load after a failure, from the store."""
        return self._over_restarts(lambda hours: np.exp(-self.rate * hours))

    @functools.cached_property
    def cut_restart(self) -> Any:
        """One less it, with the digits that a difference would lose."""
        return self._over_restarts(lambda hours: -np.expm1(-self.rate * hours))

    def _over_restarts(self, function: Callable[[Any], Any]) -> Any:
        return sum(one.share * function(one.restart + self.init + self.load) for one in self.restarts)

    @property
    def taus(self) -> tuple[Any, ...]:
        """Interval of each tier, fastest first and the store last. [h]"""
        return (*(tier.tau for tier in self.tiers), self.tau)

    @property
    def stalls(self) -> tuple[Any, ...]:
        """Stall of each tier, the store last. [h]"""
        return (*(tier.stall for tier in self.tiers), self.stall)

    @property
    def writes(self) -> tuple[Any, ...]:
        """Background write of each tier, the store last. [h]"""
        return (*(tier.persist for tier in self.tiers), self.persist)

    @property
    def loads(self) -> tuple[Any, ...]:
        """Loading from each tier, the store last. [h]"""
        return (*(tier.load for tier in self.tiers), self.load)

    @property
    def severity(self) -> tuple[Any, ...]:
        """Probability that a tier is the fastest one that survives a failure, the store last."""
        kept = [0.0, *(sum(tier.kept) for tier in self.tiers), sum(one.share for one in self.restarts)]
        return tuple(more - less for less, more in itertools.pairwise(kept))

    @property
    def has_interval_rule(self) -> bool:
        """Whether the best interval follows by a rule: of one store, where all failures are noticed, or none."""
        silent = np.asarray(self.silent)
        alike = bool(np.all(silent == 0) or np.all(silent > 1 - LAST_DIGITS))
        return alike and not self.tiers and self.prediction is None

    @property
    def interval_ends(self) -> tuple[np.ndarray, np.ndarray]:
        """Shortest and longest interval that is worth considering, at each point. [h]"""
        low = np.maximum(np.asarray(self.head) * _HAIR, SHORTEST_MIN / MIN_PER_H)
        if self.tiers:
            low = np.maximum(low, np.asarray(self.tiers[-1].tau) * _HAIR)
        with np.errstate(divide="ignore"):
            high = np.minimum(self.work, 0.5 / np.asarray(self.stops_per_h, dtype=float))
        low = np.minimum(low, LARGEST_NUMBER / MIN_PER_H)
        high = np.clip(high, low, LARGEST_NUMBER / MIN_PER_H)
        return np.broadcast_to(low, self.shape), np.broadcast_to(high, self.shape)

    def interval_by(self, rule: str) -> Any:
        """The interval of a rule, within :attr:`interval_ends`. [h]

        Raises
        ------
        NotModelled
            With faster tiers, warnings, or some failures silent, for which there is no rule.
        """
        if not self.has_interval_rule:
            beside = "tiers" if self.tiers else "prediction" if self.prediction else "failures of which some are silent"
            instead = (
                "such as those that `ettr plan` finds" if rule == "best" else "or best, for which a plan finds them"
            )
            raise NotModelled(f"checkpoint.interval_min: {rule} has no rule for {beside}: give minutes, {instead}")
        rules = {
            "best": lambda: exact_interval(self.stall, self.mttf, self.persist, self.slowdown),
            "young": lambda: young_interval(self.stall, self.mttf),
            "daly": lambda: daly_interval(self.stall, self.mttf),
        }
        return plain(np.clip(rules[rule](), *self.interval_ends))

    def with_intervals(self, taus: tuple[Any, ...]) -> JobInHours:
        """The same with other intervals of all tiers, the store last. [h]"""
        tiers = tuple(replace(tier, tau=tau) for tier, tau in zip(self.tiers, taus[:-1], strict=True))
        return replace(self, tiers=tiers, tau=taus[-1])

    def at_points(self, where: Any) -> JobInHours:
        """The same at some points, given as an index into arrays of its :attr:`shape`."""
        shape = self.shape
        return self.map(lambda array: np.broadcast_to(array, shape)[where])


class Values:
    """Values of a scenario's fields, those of ``at`` first."""

    def __init__(self, scenario: InHours, at: Mapping[str, Any] | None = None) -> None:
        self.scenario = scenario
        self.given: dict[str, np.ndarray] = {}
        if not at:
            return
        for path in at:
            if path not in scenario.swept:
                _refuse(path, scenario.swept)
        self.given = {path: check_values(path, values, type(scenario)) for path, values in at.items()}
        try:
            np.broadcast_shapes(*(values.shape for values in self.given.values()))
        except ValueError as error:
            shapes = ", ".join(f"{path} {values.shape}" for path, values in self.given.items())
            raise InputError(f"arrays must broadcast against each other, got {shapes}") from error

    def __call__(self, path: str) -> Any:
        """The value at a path; 0 in a section that is left out, as of no maintenance."""
        if path in self.given:
            return self.given[path]
        section, field = path.split(".")
        return getattr(getattr(self.scenario, section), field, 0.0)

    def hours(self, path: str) -> Any:
        """A time. [h]"""
        return self(path) / _in_an_hour(path)

    def below(self, prefix: str) -> dict[str, np.ndarray]:
        """Those of ``at`` in one section, by field."""
        return {
            path.removeprefix(f"{prefix}."): values
            for path, values in self.given.items()
            if path.startswith(f"{prefix}.")
        }

    @property
    def n_nodes(self) -> Any:
        """Nodes of the job."""
        return self("cluster.n_gpus") / self.scenario.cluster.gpus_per_node

    @property
    def persist_h(self) -> Any:
        """Background write of one checkpoint to the store. [h]"""
        store = self.scenario.checkpoint.store
        if store is None:
            return self.hours("checkpoint.persist_s")
        return store.write_h(self.n_nodes, self.below("checkpoint.store"))

    @property
    def load_h(self) -> Any:
        """Loading from the store, on top of the restart. [h]"""
        store = self.scenario.checkpoint.store
        if store is None or store.read_gb_s is None:
            return self.hours("checkpoint.load_s")
        return store.load_h(self.n_nodes, self.below("checkpoint.store"))

    @property
    def init_h(self) -> Any:
        """What each start takes for the number of GPUs, on top of the restart and of loading. [h]"""
        return self("recovery.init_s_per_1000_gpus") * self("cluster.n_gpus") / (1000 * S_PER_H)

    @property
    def productive_h(self) -> Any:
        """Work at full speed; of a job given by its tokens it follows from the size. [h]"""
        run, n_gpus = self.scenario, self.given.get("cluster.n_gpus")
        if "job.productive_h" in self.given:
            return self.given["job.productive_h"]
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
    """Say what is missing, rather than that a name is unknown, where a section is."""
    for section in ("checkpoint.store", "prediction"):
        if path.startswith(f"{section}.") and not any(known.startswith(f"{section}.") for known in valid):
            raise InputError(f"the scenario has no {section} section, so there is no {path} to sweep")
    if path == "checkpoint.persist_s":
        raise InputError("checkpoint.persist_s follows from checkpoint.store here: sweep checkpoint.store.write_gb_s")
    raise UnknownName("field to sweep", path, valid, list_of(path))


def job_in_hours(scenario: InHours, at: Mapping[str, Any] | None = None) -> JobInHours:
    """Turn a scenario, with arrays for some of its fields, into hours; see ``Scenario.in_hours``."""
    run, rule = before_interval(scenario, at), scenario.checkpoint.interval_min
    return replace(run, tau=run.interval_by(rule)) if isinstance(rule, str) and INTERVAL not in (at or {}) else run


def before_interval(scenario: InHours, at: Mapping[str, Any] | None = None) -> JobInHours:
    """The same before a rule for the interval is followed: endless where the scenario gives one."""
    value = Values(scenario, at)
    rate, weight = _rate_and_weights(scenario, value)
    survives = _survival(scenario, value)
    modes = _modes(scenario, value, weight, survives)
    silent = ~np.isnan(modes.latency)
    restarts, kept = _restarts(scenario, value, weight, survives)
    recovery = scenario.recovery
    person = value.hours("recovery.person_min")
    first = "recovery.queue_min" if scenario.job.first_queue_min is None else "job.first_queue_min"
    return JobInHours(
        n_nodes=value.n_nodes,
        work=value.productive_h / scenario.speed,
        tau=math.inf if isinstance(value(INTERVAL), str) else value.hours(INTERVAL),
        stall=value.hours("checkpoint.stall_s"),
        persist=value.persist_h,
        slowdown=value("checkpoint.persist_slowdown"),
        load=value.load_h,
        init=value.init_h,
        rate=rate,
        detection=_mean(weight, modes.detection),
        queue=_mean(weight, modes.queue) + value("recovery.person_share") * person,
        first_queue=value.hours(first),
        restart=value.hours("recovery.restart_min"),
        restarts=restarts,
        stops_per_h=value("maintenance.per_day") / H_PER_DAY,
        stop=value.hours("maintenance.duration_min"),
        silent=weight[silent].sum(axis=0),
        latency=_mean(weight, np.where(silent, modes.latency, 0.0)),
        include_start=scenario.starts,
        tiers=_tiers(scenario, value, kept),
        prediction=_prediction(value) if scenario.prediction else None,
        restart_cv=recovery.restart_cv,
        person_share=recovery.person_share,
        person=person,
        false_alarms_per_h=recovery.false_alarms_per_day / H_PER_DAY,
        preempt=value.hours("spares.preempt_min"),
        fetch=value.hours("spares.fetch_min"),
        select=value.hours("spares.select_min"),
        failed_restart=math.nan if recovery.failed_restart_min is None else recovery.failed_restart_min / MIN_PER_H,
        retire_window=(value("repair.retire_window_days") or math.inf) * H_PER_DAY,
        modes=modes,
        ageing=_ageing(scenario),
    )


def _rate_and_weights(scenario: InHours, value: Values) -> tuple[Any, np.ndarray]:
    """λ, and the probability of each mode with the modes on the first axis."""
    node_rate = scenario.failures.per_node_h(value.given.get(RATE, scenario.failure_rate))
    exposure = own = scenario.mode_exposure()
    if "cluster.n_gpus" in value.given:
        exposure = scenario.mode_exposure(value.n_nodes)
    rate = node_rate * exposure.sum(axis=-1)
    alike = all(mode.scales_with == "nodes" for mode in scenario.failures.modes)
    return (rate if np.ndim(rate) else float(rate)), weights_of(own if alike else exposure)


def weights_of(exposure: np.ndarray) -> np.ndarray:
    """Probability of each mode, from exposures with the modes on the last axis; where none is exposed, of the last."""
    total = exposure.sum(axis=-1, keepdims=True)
    never = np.arange(exposure.shape[-1]) == exposure.shape[-1] - 1
    return np.moveaxis(np.where(total > 0, exposure / np.where(total > 0, total, 1.0), never), -1, 0)


def _survival(scenario: InHours, value: Values) -> list[np.ndarray]:
    """Share of the failures of each mode that each faster tier survives, the modes on the first axis."""
    tiers, given = scenario.checkpoint.tiers, value.below("checkpoint.tiers")
    shares = {tier.name: given[f"{tier.name}.survives"] for tier in tiers if f"{tier.name}.survives" in given}
    return list(scenario.survival(value.n_nodes if "cluster.n_gpus" in value.given else None, shares))


def _modes(scenario: InHours, value: Values, weight: np.ndarray, survives: list[np.ndarray]) -> ModesInHours:
    modes, recovery = scenario.failures.modes, scenario.recovery

    def own_or(path: str) -> np.ndarray:
        own, general = _own_h(scenario, path.rpartition(".")[2]), np.asarray(value.hours(path))
        own = own.reshape(-1, *(1,) * general.ndim)
        return np.where(np.isnan(own), general, own)

    return ModesInHours(
        weight=weight,
        detection=own_or("recovery.detection_min"),
        queue=own_or("recovery.queue_min"),
        restart=own_or("recovery.restart_min"),
        latency=_own_h(scenario, "latency_h"),
        repair=_own_h(scenario, "repair_h"),
        n_out=np.array([*(mode.n_out_nodes for mode in modes), 1]),
        detection_cv=_own_cv([mode.detection_cv for mode in modes], recovery.detection_cv),
        restart_cv=_own_cv([mode.restart_cv for mode in modes], recovery.restart_cv),
        survives=tuple(survives),
    )


def _own_cv(own: list[float | None], general: float) -> np.ndarray:
    return np.array([general if cv is None else cv for cv in [*own, None]])


def _own_h(scenario: InHours, field: str) -> np.ndarray:
    """A time of each mode, NaN where it has no own. [h]"""
    own = [getattr(mode, field) for mode in scenario.failures.modes]
    return np.array([math.nan if value is None else value for value in [*own, None]]) / _in_an_hour(field)


def _mean(weight: np.ndarray, of_modes: np.ndarray) -> Any:
    """Mean of a time over all failures. [h]"""
    weight, of_modes = by_mode(weight, of_modes)
    return (weight * of_modes).sum(axis=0)


def _restarts(
    scenario: InHours, value: Values, weight: np.ndarray, survives: list[np.ndarray]
) -> tuple[tuple[RestartInHours, ...], list[tuple[Any, ...]]]:
    """The restart times of failures, the general one first; and for each tier, the share that it survives of each."""
    own = _own_h(scenario, "restart_min")
    weight, *survives = by_mode(weight, *survives)
    restarts = []
    kept: list[tuple[Any, ...]] = [() for _ in survives]
    for restart in (None, *np.unique(own[~np.isnan(own)])):
        group = np.isnan(own) if restart is None else own == restart
        hours = value.hours("recovery.restart_min") if restart is None else restart
        restarts.append(RestartInHours(weight[group].sum(axis=0), hours))
        of_group = [(weight[group] * survived[group]).sum(axis=0) for survived in survives]
        kept = [(*before, one) for before, one in zip(kept, of_group, strict=True)]
    return tuple(restarts), kept


def _tiers(scenario: InHours, value: Values, kept: list[tuple[Any, ...]]) -> tuple[TierInHours, ...]:
    given = value.below("checkpoint.tiers")

    def hours(tier: Tier, field: str) -> Any:
        return given.get(f"{tier.name}.{field}", getattr(tier, field)) / S_PER_H

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


def _ageing(scenario: InHours) -> AgeingInHours | None:
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
