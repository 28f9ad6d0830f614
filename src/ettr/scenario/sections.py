"""The sections of a scenario, in the units that people say."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from ettr.checkpoint.sizes import checkpoint_bytes, transfer_h
from ettr.core.units import H_PER_DAY, ROUNDING
from ettr.scenario.basics import (
    ALL,
    LARGEST_CV,
    NEVER,
    Addition,
    Assumed,
    Count,
    Factor,
    LessIsBetter,
    Meta,
    MoreIsBetter,
    Number,
    Section,
    Share,
    Spread,
    Text,
    WhereZero,
    With,
)
from ettr.scenario.fleet import Lemons

OF_TOKENS = ("model", "layout", "network", "scaling", "sync")
"""Sections that say how fast tokens are trained on."""
_RATE = ("failures.rate_per_1000_node_days", "failures.rate_gamma", "failures.exposed_share")
_COUNT = ("failures.n_events", "failures.node_days", "failures.rate_gamma")
"""A count makes a rate void and the other way round. A new count is a new observation, whose conversion is computed
anew; a new rate keeps the conversion, so that a rate can be swept."""


def _of_all(value: Any) -> Any:
    """One number stands for all failures."""
    return value if value is None or isinstance(value, dict) else {ALL: value}


class Cluster(Section):
    """The machines that the job holds."""

    n_gpus: Annotated[Count, Meta(better="less", swept=True, says="number of GPUs")] = Field(
        gt=0, description="GPUs of the job"
    )
    gpus_per_node: Annotated[Count, Meta(idle=NEVER, says="GPUs per node")] = Field(
        8, gt=0, description="GPUs of one node; a node-day is of this node (assumed: 8)"
    )

    @model_validator(mode="after")
    def _whole_nodes(self) -> Cluster:
        if self.n_gpus % self.gpus_per_node:
            raise ValueError(f"n_gpus must be a multiple of gpus_per_node, got {self.n_gpus} and {self.gpus_per_node}")
        return self

    def nearest_n_gpus(self, n_gpus: float) -> int:
        """The nearest size in whole nodes, one at least. [GPUs]

        Examples
        --------
        >>> cluster = Cluster(n_gpus=16_384)
        >>> cluster.nearest_n_gpus(100_003), cluster.nearest_n_gpus(1)
        (100000, 8)
        """
        return max(1, round(n_gpus / self.gpus_per_node)) * self.gpus_per_node


class Job(Section):
    """What the job has to do."""

    productive_h: Annotated[MoreIsBetter | None, Meta(says="length of the work", voids=("job.tokens", *OF_TOKENS))] = (
        Field(None, gt=0, description="useful training that the job needs, on all its nodes; or tokens")
    )
    tokens: Annotated[Number | None, Meta(says="tokens to train on", voids=("job.productive_h",))] = Field(
        None, gt=0, description="tokens to train on, instead of productive_h, which then follows from model and size"
    )
    include_start: Annotated[bool, Meta(says="counting of the start")] = Field(
        True, description="count the first queue and start-up; false gives the steady state"
    )
    first_queue_min: Annotated[Number | None, Meta(says="first queue")] = Field(
        None, ge=0, description="wait between submission and start (assumed: recovery.queue_min)"
    )
    throughput_factor: Annotated[Factor, Meta(says="speed of training")] = Field(
        1.0, gt=0, le=1, description="speed of training over its full speed, e.g. in the heat (assumed: 1)"
    )

    @model_validator(mode="after")
    def _one_way_to_give_the_work(self) -> Job:
        if (self.productive_h is None) == (self.tokens is None):
            raise ValueError("needs exactly one of productive_h, or tokens with a section model")
        return self


class Mode(Section):
    """One kind of failure, by its share of all failures."""

    says = "nodes lost at once and latencies by kind of failure"

    name: Text = Field(description="what fails")
    category: Text = Field("other", description="group that it is counted in")
    n_events: Number | None = Field(None, ge=0, description="failures of this kind among failures.n_events")
    share: Number | None = Field(None, ge=0, le=1, description="fraction of all failures, instead of n_events")
    factor: Factor = Field(1.0, ge=0, description="multiplies this mode's rate; the shares of others stay")
    scales_with: Literal["nodes", "job"] = Field(
        "nodes",
        description="rate grows with the nodes, or belongs to the job (needs failures.observed_nodes)",
    )
    detection_min: Number | None = Field(None, ge=0, description="own detection time")
    detection_cv: Addition | None = Field(
        None, ge=0, le=LARGEST_CV, description="own spread of it, as recovery.detection_cv"
    )
    queue_min: Number | None = Field(None, ge=0, description="own queue time")
    restart_min: Number | None = Field(None, ge=0, description="own restart time")
    restart_cv: Addition | None = Field(
        None, ge=0, le=LARGEST_CV, description="own spread of it, as recovery.restart_cv"
    )
    n_lost_nodes: Annotated[Count, Meta(idle=NEVER)] = Field(
        1, ge=0, description="nodes whose memory is lost at once; matters for tiers with copies (assumed: 1)"
    )
    latency_h: Number | None = Field(None, ge=0, description="silent: found this long after it struck")
    latency_cv: Spread = Field(
        0.0, description="coefficient of variation of latency_h, log-normal; 0: always the mean (assumed: 0)"
    )
    n_out_nodes: Annotated[Count, Meta(idle=NEVER)] = Field(
        1,
        ge=0,
        description="nodes that leave the job for repair; 0 restarts in place, more than 1 is a rack or a switch; "
        "matters with spares, lemons and lifetimes (assumed: 1)",
    )
    repair_h: Number | None = Field(
        None, ge=0, description="own mean repair time, which always helps and needs no people; matters with repair"
    )

    heat_share: Share = Field(
        0.0, description="share of its failures that heat activates; matters with heat (assumed: 0)"
    )
    heat_law: Literal["arrhenius", "linear"] = Field(
        "arrhenius", description="how their rate grows with the die's temperature (assumed: arrhenius)"
    )
    heat_energy_ev: Annotated[Number, Meta(idle=With("heat_share"))] = Field(
        0.7, ge=0, le=3, description="activation energy of arrhenius (assumed: 0.7)"
    )
    heat_per_k: Annotated[Number, Meta(idle=With("heat_share"))] = Field(
        0.02, ge=0, le=1, description="rise of linear, as a share of the rate where it was observed (assumed: 0.02)"
    )
    cycle_share: Share = Field(
        0.0, description="share of its failures by thermal cycles, one a stop; matters with heat (assumed: 0)"
    )
    cycle_exponent: Annotated[Number, Meta(idle=With("cycle_share"))] = Field(
        2.0, gt=0, le=10, description="power of the swing with which those grow, as by Coffin and Manson (assumed: 2)"
    )

    @property
    def of_nodes(self) -> bool:
        """Whether it is single nodes that it strikes, lemons more often than others, and that it is noticed."""
        return self.scales_with == "nodes" and self.n_out_nodes == 1 and self.latency_h is None

    @model_validator(mode="after")
    def _shares_of_heat(self) -> Mode:
        if self.heat_share + self.cycle_share > 1 + ROUNDING:
            raise ValueError(
                f"heat_share and cycle_share must sum to at most 1, got {self.heat_share:g} and {self.cycle_share:g}"
            )
        return self

    @model_validator(mode="after")
    def _spread_of_a_latency(self) -> Mode:
        if self.latency_cv > 0 and self.latency_h is None:
            raise ValueError("latency_cv needs latency_h, the mean that it spreads around")
        return self


class BurnIn(Section):
    """More failures while the fleet is new: rate(t) = rate x [1 + (factor - 1) exp(-(t + age) / decay)].

    The scenario's rate, also one that was counted, is that of the settled fleet.
    """

    says = "burn-in"

    factor: Number = Field(ge=0, description="rate of a fleet that is new, as a multiple of the settled rate")
    decay_days: Number = Field(gt=0, description="exposed time in which the excess falls to 37%")
    age_days: Assumed = Field(0.0, ge=0, description="exposed time behind the fleet when the job starts")


class Lifetime(Section):
    """Nodes with a memory: Weibull lifetimes, new after each failure.

    A rate that is given is that of the long run; one that was counted is read as the count of nodes that were new.
    """

    says = "lifetimes of the nodes"

    shape: Number = Field(ge=0.2, le=5, description="below 1 most failures come early, above 1 late; 1 has no memory")
    start: Literal["stationary", "new"] = Field(
        "stationary", description="nodes in the middle of their lives at the start, or all new (assumed: stationary)"
    )


class Gamma(Section):
    """A gamma distribution of the failure rate: mean shape / node_days."""

    shape: Annotated[Number, Meta(says="knowledge of the failure rate")] = Field(
        gt=0, description="failures that the knowledge is worth"
    )
    node_days: Annotated[Number, Meta(says="knowledge of the failure rate")] = Field(
        gt=0, description="exposure that the knowledge is worth"
    )


class Failures(Section):
    """How often something stops the job: counts and exposure, or a rate."""

    n_events: Annotated[Number | None, Meta(says="number of failures", voids=_RATE)] = Field(
        None, ge=0, description="failures counted"
    )
    node_days: Annotated[Number | None, Meta(says="node-days observed", voids=_RATE)] = Field(
        None, gt=0, description="exposure of the count"
    )
    rate_per_1000_node_days: Annotated[LessIsBetter | None, Meta(says="failure rate", voids=_COUNT)] = Field(
        None, ge=0, description="failure rate, instead of a count"
    )
    rate_gamma: Gamma | None = Field(None, description="what is known of a given rate")
    rate_clock: Annotated[
        Literal["exposed", "wall"], Meta(says="clock of the failure rate", voids=("failures.exposed_share",))
    ] = Field(
        "exposed",
        description="node-days counted while failures can strike (training, stalls, restarts), or by the wall "
        "clock (assumed: exposed)",
    )
    exposed_share: Annotated[Number | None, Meta(says="share of time at risk")] = Field(
        None,
        gt=0,
        le=1,
        description="share of the observed wall clock in which failures could strike; computed from the scenario as "
        "first written when rate_clock is wall",
    )
    observed_nodes: Annotated[Count | None, Meta(says="nodes observed")] = Field(
        None,
        gt=0,
        description="nodes of the job on which the rate was observed (assumed: those of the cluster)",
    )
    modes: tuple[Mode, ...] = Field((), description="kinds of failure; what they leave over is a mode 'other'")
    burn_in: BurnIn | None = Field(None, description=BurnIn.__doc__)
    lifetime: Lifetime | None = Field(None, description=Lifetime.__doc__)
    lemons: Lemons | None = Field(None, description=Lemons.__doc__)

    @model_validator(mode="after")
    def _one_way_to_give_the_rate(self) -> Failures:
        counted = self.n_events is not None or self.node_days is not None
        if counted == (self.rate_per_1000_node_days is not None):
            raise ValueError("needs exactly one of n_events with node_days, or rate_per_1000_node_days")
        if counted and (self.n_events is None or self.node_days is None):
            raise ValueError("needs n_events and node_days together")
        if counted and self.rate_gamma is not None:
            raise ValueError("takes rate_gamma only with rate_per_1000_node_days; a count has its own")
        if self.rate_clock == "exposed" and self.exposed_share not in (None, 1.0):
            raise ValueError("takes exposed_share only with rate_clock: wall")
        return self

    @model_validator(mode="after")
    def _modes_add_up(self) -> Failures:
        names = [mode.name for mode in self.modes]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"has two modes named {name!r}")
        if "other" in names:
            raise ValueError("has a mode named 'other', which is the name of what the modes leave over")
        for mode in self.modes:
            if (mode.n_events is None) == (mode.share is None):
                raise ValueError(f"mode {mode.name!r} needs exactly one of n_events or share")
            if mode.n_events is not None and self.n_events is None:
                raise ValueError(f"mode {mode.name!r} counts events, but failures.n_events is not given")
            if mode.n_events and not self.n_events:
                raise ValueError(f"mode {mode.name!r} counts {mode.n_events:g} events, but failures.n_events is 0")
            if mode.scales_with == "job" and self.observed_nodes is None:
                raise ValueError(f"observed_nodes is needed: mode {mode.name!r} scales with the job")
        if sum(self.shares) > 1 + ROUNDING:
            raise ValueError(f"has modes whose shares sum to {sum(self.shares):.4g}; at most 1")
        return self

    @functools.cached_property
    def shares(self) -> tuple[float, ...]:
        """Share of each mode among all failures, in the order of ``modes``."""
        return tuple(
            mode.share if mode.share is not None else (mode.n_events or 0.0) / max(self.n_events or 0.0, 1e-300)
            for mode in self.modes
        )

    @property
    def rate(self) -> float:
        """Failures per 1000 node-days of the clock in ``rate_clock``. [1 / (1000 node-days)]"""
        if self.rate_per_1000_node_days is not None:
            return self.rate_per_1000_node_days
        return 1000.0 * (self.n_events or 0.0) / (self.node_days or math.nan)

    def per_node_h(self, rate_per_1000_node_days: Any) -> Any:
        """A rate of this clock as failures per node and exposed hour. [1/h]"""
        return rate_per_1000_node_days / (1000 * H_PER_DAY) / (self.exposed_share or 1.0)

    @property
    def posterior(self) -> Gamma | None:
        """What is known of the rate: from the count (Jeffreys prior), or as given."""
        if self.n_events is not None and self.node_days is not None:
            return Gamma(shape=self.n_events + 0.5, node_days=self.node_days)
        return self.rate_gamma


class Store(Section):
    """Write and load times of the store, from the size of the state and the bandwidth that all nodes share."""

    says = "size of the state and bandwidth of the store"

    n_parameters: Annotated[LessIsBetter, Meta(says="parameters of the model")] = Field(
        gt=0, description="parameters of the model"
    )
    bytes_per_parameter: Annotated[LessIsBetter, Meta(idle=NEVER, says="bytes a parameter")] = Field(
        12.0, gt=0, description="state saved for each: master weight and two moments in fp32 (assumed: 12)"
    )
    changed_share: Annotated[LessIsBetter, Meta(idle=NEVER, says="share written anew")] = Field(
        1.0, gt=0, le=1, description="share of the state that a checkpoint writes anew"
    )
    compression_ratio: Annotated[MoreIsBetter, Meta(idle=NEVER, says="compression")] = Field(
        1.0, ge=1, description="size of the state over its size as written"
    )
    write_gb_s: Annotated[MoreIsBetter, Meta(says="store's write bandwidth")] = Field(
        gt=0, description="bandwidth of writing to the store, shared by all nodes"
    )
    read_gb_s: Annotated[MoreIsBetter | None, Meta(says="store's read bandwidth")] = Field(
        None, gt=0, description="bandwidth of reading from it; with it, loading comes on top of recovery.restart_min"
    )
    node_gb_s: Annotated[MoreIsBetter | None, Meta(amount="a node's bandwidth")] = Field(
        None, gt=0, description="what one node can send or receive; the store sets the limit without"
    )

    def write_h(self, n_nodes: Any, given: Mapping[str, Any] | None = None) -> Any:
        """Writing one checkpoint from so many nodes; ``given`` holds other values of fields. [h]"""
        of = {**self.model_dump(), **(given or {})}
        size = checkpoint_bytes(
            of["n_parameters"], of["bytes_per_parameter"], of["changed_share"], of["compression_ratio"]
        )
        return transfer_h(size, of["write_gb_s"], n_nodes, self._node_limit(of))

    def load_h(self, n_nodes: Any, given: Mapping[str, Any] | None = None) -> Any:
        """Loading the whole state to so many nodes; 0 without ``read_gb_s``. [h]"""
        of = {**self.model_dump(), **(given or {})}
        if of["read_gb_s"] is None:
            return 0.0
        size = checkpoint_bytes(of["n_parameters"], of["bytes_per_parameter"], 1.0, of["compression_ratio"])
        return transfer_h(size, of["read_gb_s"], n_nodes, self._node_limit(of))

    @staticmethod
    def _node_limit(of: Mapping[str, Any]) -> Any:
        return math.inf if of["node_gb_s"] is None else of["node_gb_s"]


class Tier(Section):
    """A faster place for checkpoints, below the store."""

    says = "faster tiers"

    name: Text = Field(description="what holds the copies")
    interval_s: Annotated[Number, Meta(better="between", swept=True, says="interval")] = Field(
        gt=0, description="productive training between two copies; a whole part of the next one's"
    )
    stall_s: Annotated[LessIsBetter, Meta(idle=NEVER, says="stall")] = Field(
        0.0, ge=0, description="training stands still for each copy, on top of faster tiers' stalls"
    )
    write_s: Annotated[LessIsBetter, Meta(idle=NEVER, says="write")] = Field(
        0.0, ge=0, description="background write after the stall until the copy is durable"
    )
    load_s: Annotated[LessIsBetter, Meta(idle=NEVER, says="load")] = Field(
        0.0, ge=0, description="loading from it, on top of recovery.restart_min"
    )
    survives: Annotated[
        Annotated[dict[Text, Share], BeforeValidator(_of_all)] | None, Meta(better="more", swept=True, says="survival")
    ] = Field(
        None, description="share of failures that it survives: of all, or by mode or category (of the others none)"
    )
    copies: Count | None = Field(
        None, ge=1, description="nodes that hold each part, instead of survives; just in time: the replicas"
    )
    placement: Literal["group", "ring"] = Field("group", description="how copies are spread over nodes")

    @model_validator(mode="after")
    def _one_way_to_survive(self) -> Tier:
        if self.survives == {}:
            raise ValueError("needs at least one share in survives, e.g. survives: 0.9")
        if (self.survives is None) == (self.copies is None):
            raise ValueError("needs exactly one of survives or copies")
        return self

    @model_validator(mode="after")
    def _no_shorter_than_the_write(self) -> Tier:
        if self.interval_s < self.write_s:
            raise ValueError(
                f"interval_s must be >= {self.write_s:g} s, the write of {self.name!r}, got {self.interval_s:g}"
            )
        return self


class Checkpoint(Section):
    """How state is saved: in the store, which survives every failure, and in faster tiers below it."""

    interval_min: Annotated[Number, Meta(better="between", swept=True, says="interval")] = Field(
        gt=0, description="productive training between two checkpoints, stall excluded"
    )
    stall_s: Annotated[LessIsBetter, Meta(says="stall", amount="the checkpoint stall")] = Field(
        ge=0, description="training stands still for each checkpoint"
    )
    persist_s: Annotated[LessIsBetter, Meta(idle=NEVER, follows="checkpoint.store", says="background write")] = Field(
        0.0, ge=0, description="background write after the stall until the state is durable"
    )
    persist_slowdown: Annotated[LessIsBetter, Meta(idle=WhereZero("persist_h"), says="slowdown by the write")] = Field(
        0.0, ge=0, lt=1, description="share of throughput that the background write takes (assumed: 0)"
    )
    load_s: Annotated[
        LessIsBetter,
        Meta(
            idle=0.0,
            follows="checkpoint.store.read_gb_s",
            says="loading from the store",
            amount="loading from the store",
        ),
    ] = Field(0.0, ge=0, description="loading from the store, if recovery.restart_min does not hold it")
    store: Store | None = Field(None, description=Store.__doc__)
    tiers: tuple[Tier, ...] = Field((), description="faster tiers, fastest first")
    n_kept: Annotated[Count | None, Meta(says="checkpoints that are kept")] = Field(
        None, ge=1, description="checkpoints kept in the store; matters for silent failures (assumed: all)"
    )

    @model_validator(mode="after")
    def _one_way_to_give_times(self) -> Checkpoint:
        if self.store and self.persist_s:
            raise ValueError("takes persist_s only without store, from which the write time follows")
        if self.store and self.store.read_gb_s and self.load_s:
            raise ValueError("takes load_s only without store.read_gb_s, from which the load time follows")
        return self

    @model_validator(mode="after")
    def _tiers_in_order(self) -> Checkpoint:
        names = [tier.name for tier in self.tiers]
        for name in names:
            if names.count(name) > 1 or name == "store":
                raise ValueError(f"tiers must have different names, none of them 'store', got {name!r}")
        for below, tier in itertools.pairwise(self.tiers):
            for field in ("interval_s", "write_s"):
                least, given = getattr(below, field), getattr(tier, field)
                if given < least:
                    raise ValueError(
                        f"tiers go from fast to safe: {field} of {tier.name!r} must be >= {least:g} s, "
                        f"that of {below.name!r} before it, got {given:g}"
                    )
        return self


class Recovery(Section):
    """What follows a failure."""

    detection_min: Annotated[LessIsBetter, Meta(says="detection", amount="the detection time")] = Field(
        ge=0, description="from the failure until it is noticed"
    )
    queue_min: Annotated[LessIsBetter, Meta(idle=NEVER, says="queue", amount="the queue time")] = Field(
        0.0, ge=0, description="waiting for the scheduler after each failure"
    )
    restart_min: Annotated[LessIsBetter, Meta(says="restart", amount="the restart time")] = Field(
        ge=0, description="initialise and load until training goes on"
    )
    init_s_per_1000_gpus: Annotated[Addition, Meta(says="initialisation by size")] = Field(
        0.0, ge=0, description="what each start takes on top of restart_min, for 1,000 GPUs of the job (assumed: 0)"
    )
    detection_cv: Annotated[Spread, Meta(says="spread of detection")] = Field(
        0.0, description="coefficient of variation of detection, log-normal; 0: always the mean (assumed: 0)"
    )
    restart_cv: Annotated[Spread, Meta(says="spread of restarts")] = Field(
        0.0, description="coefficient of variation of restarts, log-normal; 0: always the mean (assumed: 0)"
    )
    person_share: Annotated[Share, Meta(says="waits for a person")] = Field(
        0.0, description="share of recoveries that wait for a person (assumed: 0)"
    )
    person_min: Annotated[Number, Meta(idle=With("person_share"), says="waits for a person")] = Field(
        0.0, ge=0, description="mean wait for a person, exponential (assumed: 0)"
    )
    false_alarms_per_day: Annotated[Addition, Meta(says="false alarms of time-outs")] = Field(
        0.0, ge=0, description="healthy jobs killed by a time-out, per exposed day (assumed: 0)"
    )


class Maintenance(Section):
    """Planned stops, served after the next checkpoint."""

    zero_without = True

    per_day: Annotated[LessIsBetter, Meta(says="maintenance requests", amount="the maintenance stops")] = Field(
        ge=0, description="requests per day of wall clock"
    )
    duration_min: Annotated[LessIsBetter, Meta(says="length of a maintenance stop")] = Field(
        ge=0, description="length of one stop, restart excluded"
    )
    rolling_nodes: Annotated[Count | None, Meta(says="nodes served at a time")] = Field(
        None, ge=1, description="nodes served at a time while hot spares stand in; without, the whole job stops"
    )


class Prediction(Section):
    """Warnings of failures, each answered by a checkpoint."""

    says = "predictions"

    recall: Annotated[MoreIsBetter, Meta(says="recall of predictions")] = Field(
        gt=0, le=1, description="share of failures that are announced"
    )
    precision: Annotated[MoreIsBetter, Meta(says="precision of predictions")] = Field(
        gt=0, le=1, description="share of announcements that come true"
    )
    lead_s: Annotated[MoreIsBetter, Meta(says="lead of predictions")] = Field(
        ge=0, description="from the announcement to the failure; shorter than action_s it is of no use"
    )
    action_s: Annotated[LessIsBetter, Meta(says="action on a prediction")] = Field(
        ge=0, description="training stands still until a checkpoint of that moment is durable"
    )
