"""What a scenario says, as the rules of one run; all times in hours."""

from __future__ import annotations

import math
from dataclasses import dataclass

PARTS = (
    "productive_h",
    "checkpoint_h",
    "slowdown_h",
    "degraded_h",
    "rework_h",
    "detection_h",
    "queue_h",
    "restart_h",
    "maintenance_h",
)
IN_TRAINING = PARTS[:4]
"""Parts that become rework when the work they belong to is thrown away."""


@dataclass(frozen=True)
class Tier:
    """A place for copies: one every ``every`` places of the fastest tier."""

    every: int
    stall: float
    write: float
    load: float
    corrupt: float = 0.0


@dataclass(frozen=True)
class Mode:
    """A kind of failure.

    ``rate`` is per hour of the hazard clock for the whole job; ``survived[j]`` the probability that tier j, or a
    faster one, outlives it; ``by_node`` where the clocks of the nodes decide when it strikes; ``latency`` where it is
    silent.
    """

    rate: float
    detection: float
    restart: float
    survived: tuple[float, ...]
    n_out: int = 1
    repair: float | None = None
    latency: tuple[float, float] | None = None
    together: bool = False
    by_node: bool = False
    can_be_announced: bool = True


@dataclass(frozen=True)
class BurnIn:
    factor: float
    decay: float
    age: float


@dataclass(frozen=True)
class NodeClocks:
    """Lifetimes of nodes on the hazard clock; ``rate`` is the mean for one of them."""

    rate: float
    shape: float
    stationary: bool = True
    lemon_share: float = 0.0
    lemon_factor: float = 1.0
    cured: tuple[float, float] = (0.0, 0.0)  # by automatic repair, by people


@dataclass(frozen=True)
class Alarms:
    """A predictor that comes in time; false alarms are per hour of training."""

    recall: float
    precision: float
    action: float
    false_per_h: float


@dataclass(frozen=True)
class Spares:
    n_hot: int
    n_preemptible: int = 0
    preempt: float = 0.0
    n_idle: int = 0
    select: float = 0.0
    choose: str = "longest_idle"
    fails_per_h: float = 0.0


@dataclass(frozen=True)
class Repair:
    automatic: float | None = None
    automatic_success: float = 1.0
    manual: float | None = None
    replacement: float | None = None
    cv: float = 0.0
    n_crew: int | None = None
    retire_after: int | None = None
    retire_window: float = math.inf
    replaced: bool = True
    distribution: str = "lognormal"


@dataclass(frozen=True)
class SlowNodes:
    """Rates per hour of training: of all nodes, and of each slow one."""

    rate: float
    loss: float
    found_per_h: float


@dataclass(frozen=True)
class Rules:
    """One job; ``work`` and ``step`` (the interval of the fastest tier) are hours of training at full speed."""

    work: float
    include_start: bool
    queue: float  # at the start and after each failure
    n_nodes: int
    step: float
    tiers: tuple[Tier, ...]  # from fast to safe; the last is the store
    modes: tuple[Mode, ...]
    time_out: Mode
    restart: float
    slowdown: float = 0.0
    n_kept: int | None = None
    person_share: float = 0.0
    person: float = 0.0
    stops_per_h: float = 0.0
    stop: float = 0.0
    rolling_nodes: int | None = None
    burn_in: BurnIn | None = None
    node_clocks: NodeClocks | None = None
    alarms: Alarms | None = None
    spares: Spares | None = None
    repair: Repair | None = None
    n_replicas: int = 1
    n_least: int = 1
    slow_nodes: SlowNodes | None = None
    exposed: bool = True
    horizon: float = math.inf

    @property
    def store(self) -> int:
        return len(self.tiers) - 1

    @property
    def tau(self) -> float:
        return self.step * self.tiers[-1].every

    @property
    def poisson(self) -> tuple[Mode, ...]:
        """Modes that strike the job as a whole."""
        return tuple(mode for mode in self.modes if not mode.by_node and mode.rate > 0)

    @property
    def by_node(self) -> tuple[Mode, ...]:
        """Modes that strike through the clocks of the nodes."""
        return tuple(mode for mode in self.modes if mode.by_node and mode.rate > 0)

    @property
    def has_silent(self) -> bool:
        return any(mode.latency for mode in self.poisson)

    def due(self, step: int) -> list[int]:
        """Tiers that take a copy at a place of the fastest."""
        return [number for number, tier in enumerate(self.tiers) if step % tier.every == 0]

    def stall_at(self, step: int) -> float:
        return sum(self.tiers[number].stall for number in self.due(step))


def rules_of(scenario, horizon: float = math.inf) -> Rules:
    """What a scenario says, with the wall clock at which a run ends anyway."""
    recovery, job, repair = scenario.recovery, scenario.job, scenario.repair
    step, tiers = _tiers_of(scenario)
    modes, time_out = _modes_of(scenario)
    burn_in, maintenance, elastic = scenario.failures.burn_in, scenario.maintenance, scenario.elastic
    spares = scenario.spares
    return Rules(
        work=job.productive_h / job.throughput_factor,
        include_start=job.include_start,
        queue=recovery.queue_min / 60,
        n_nodes=scenario.n_nodes,
        step=step,
        tiers=tiers,
        modes=modes,
        time_out=time_out,
        restart=scenario.restart_h,
        slowdown=scenario.checkpoint.persist_slowdown,
        n_kept=scenario.checkpoint.n_kept,
        person_share=recovery.person_share,
        person=recovery.person_min / 60,
        stops_per_h=scenario.maintenance_rate_per_h,
        stop=scenario.maintenance_h,
        rolling_nodes=maintenance.rolling_nodes if maintenance else None,
        burn_in=burn_in and BurnIn(burn_in.factor, burn_in.decay_days * 24, burn_in.age_days * 24),
        node_clocks=_node_clocks_of(scenario, modes),
        alarms=_alarms_of(scenario, modes),
        spares=spares
        and Spares(
            spares.n_nodes,
            spares.n_preemptible,
            spares.preempt_min / 60,
            spares.n_idle,
            spares.select_min / 60,
            spares.choose,
            spares.per_1000_node_days / 24_000,
        ),
        repair=repair
        and Repair(
            repair.automatic_h,
            repair.automatic_success,
            repair.manual_h,
            repair.replacement_h,
            repair.cv,
            repair.n_crew,
            repair.retire_after,
            (repair.retire_window_days or math.inf) * 24,
            repair.replaced,
            repair.distribution,
        ),
        n_replicas=elastic.n_replicas if elastic else 1,
        n_least=elastic.n_least if elastic else 1,
        exposed=recovery.exposed,
        horizon=horizon,
        slow_nodes=_slow_nodes_of(scenario),
    )


def _tiers_of(scenario) -> tuple[float, tuple[Tier, ...]]:
    faster = scenario.checkpoint.tiers
    step = faster[0].interval_s / 3600 if faster else scenario.interval_h
    tiers = [
        Tier(
            _whole(tier.interval_s / 3600 / step),
            tier.stall_s / 3600,
            tier.write_s / 3600,
            tier.load_s / 3600,
            tier.corrupt,
        )
        for tier in faster
    ]
    store = Tier(_whole(scenario.interval_h / step), scenario.stall_h, scenario.persist_h, scenario.load_h)
    return step, (*tiers, store)


def _whole(ratio: float) -> int:
    assert abs(ratio - round(ratio)) < 1e-9, ratio
    return round(ratio)


def _modes_of(scenario) -> tuple[tuple[Mode, ...], Mode]:
    """The modes of the scenario with ``other``, and false alarms of time-outs."""
    recovery, failures = scenario.recovery, scenario.failures
    rates = scenario.node_rate_per_h * _settled_over_counted(scenario) * scenario.mode_exposure()
    survived = [*zip(*scenario.survival(), strict=True)] if scenario.checkpoint.tiers else [()] * len(rates)
    survived = [(*map(float, shares), 1.0) for shares in survived]
    clocks = _has_node_clocks(scenario)
    general = {
        "detection": recovery.detection_min / 60,
        "restart": recovery.restart_min / 60,
        "survived": survived[-1],
    }

    def hours_or(value: float | None, otherwise: float) -> float:
        return otherwise if value is None else value / 60

    named = [
        Mode(
            rate=float(rates[i]),
            detection=hours_or(mode.detection_min, general["detection"]),
            restart=hours_or(mode.restart_min, general["restart"]),
            survived=survived[i],
            n_out=mode.n_out_nodes,
            repair=mode.repair_h,
            latency=None if mode.latency_h is None else (mode.latency_h, mode.latency_cv),
            together=mode.repaired_together,
            by_node=clocks and mode.n_out_nodes == 1 and mode.latency_h is None,
            can_be_announced=mode.latency_h is None,
        )
        for i, mode in enumerate(failures.modes)
    ]
    other = Mode(rate=float(rates[-1]), by_node=clocks, **general)
    time_out = Mode(
        rate=recovery.false_alarms_per_day / 24,
        n_out=0,
        can_be_announced=False,
        **general | {"detection": 0.0, "survived": (1.0,) * len(survived[-1])},
    )
    return (*named, other), time_out


def _has_node_clocks(scenario) -> bool:
    failures, repair = scenario.failures, scenario.repair
    return bool(failures.lifetime or failures.lemons or (repair and repair.retire_after is not None))


def _node_clocks_of(scenario, modes: tuple[Mode, ...]) -> NodeClocks | None:
    if not _has_node_clocks(scenario):
        return None
    lifetime, lemons = scenario.failures.lifetime, scenario.failures.lemons
    return NodeClocks(
        rate=sum(mode.rate for mode in modes if mode.by_node) / scenario.n_nodes,
        shape=lifetime.shape if lifetime else 1.0,
        stationary=lifetime.start == "stationary" if lifetime else True,
        lemon_share=lemons.share * lemons.left if lemons else 0.0,
        lemon_factor=lemons.factor if lemons else 1.0,
        cured=(lemons.cured_automatic, lemons.cured_manual) if lemons else (0.0, 0.0),
    )


def _settled_over_counted(scenario) -> float:
    """A count of nodes that were new is read as such: the rate in the long run, relative to events over exposure."""
    failures = scenario.failures
    lifetime = failures.lifetime
    if not lifetime or lifetime.shape == 1 or lifetime.start != "new" or not failures.n_events:
        return 1.0
    from ettr.failures.hazards import settled_rate

    nodes = failures.observed_nodes or scenario.n_nodes
    exposed_h = failures.node_days * 24 / nodes * (failures.exposed_share or 1.0)
    return float(settled_rate(failures.n_events, nodes, exposed_h, lifetime.shape)) / scenario.node_rate_per_h


def _alarms_of(scenario, modes: tuple[Mode, ...]) -> Alarms | None:
    """A predictor that comes too late, or is never worth an answer, is none."""
    prediction = scenario.prediction
    if prediction is None:
        return None
    action = prediction.action_s / 3600
    if prediction.lead_s < prediction.action_s or action / prediction.precision > scenario.interval_h:
        return None
    announceable = sum(mode.rate for mode in modes if mode.can_be_announced)
    false_per_h = announceable * prediction.recall * (1 - prediction.precision) / prediction.precision
    return Alarms(prediction.recall, prediction.precision, action, false_per_h)


def _slow_nodes_of(scenario) -> SlowNodes | None:
    slow = scenario.slow_nodes
    if slow is None:
        return None
    return SlowNodes(
        rate=scenario.n_nodes * slow.per_1000_node_days / 24_000,
        loss=slow.loss,
        found_per_h=1 / slow.detection_h,
    )
