"""The sections of a scenario, in the units that people say."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from ettr.scenario.basics import (
    NEVER,
    Addition,
    Count,
    Factor,
    LessIsBetter,
    Meta,
    MoreIsBetter,
    Number,
    Plausible,
    Section,
    Share,
    WhereZero,
    With,
)

OF_TIME = frozenset(
    ("failures", "checkpoint", "recovery", "maintenance", "prediction", "spares", "repair", "elastic", "slow_nodes")
)
"""Sections that set where the hours of a run go: what was measured of one says nothing of a run with others."""
OF_TOKENS = ("model", "layout", "network", "scaling", "sync")
"""Sections that say how fast tokens are trained on."""


class Cluster(Section):
    """The machines that the job holds."""

    n_gpus: Annotated[
        Count,
        Meta(
            better="less",
            swept=True,
            says="number of GPUs",
            plausible=Plausible(
                8, 100_000, "salpekar2026fthsdp", "from one node to the largest job whose training was published"
            ),
        ),
    ] = Field(gt=0, description="GPUs of the job")
    gpus_per_node: Annotated[Count, Meta(idle=NEVER, says="GPUs per node")] = Field(
        8, gt=0, description="GPUs of one node; a node-day is of this node (assumed: 8)"
    )

    @model_validator(mode="after")
    def _whole_nodes(self) -> Cluster:
        if self.n_gpus % self.gpus_per_node:
            raise ValueError(f"n_gpus must be a multiple of gpus_per_node, got {self.n_gpus} and {self.gpus_per_node}")
        return self

    @property
    def n_nodes(self) -> int:
        """Nodes of the job."""
        return self.n_gpus // self.gpus_per_node

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
    """What the job has to do; one that says nothing of it goes on for ever, and only shares of time are asked for."""

    productive_h: Annotated[MoreIsBetter | None, Meta(says="length of the work", voids=("job.tokens", *OF_TOKENS))] = (
        Field(None, gt=0, description="useful training that the job needs, on all its nodes; or tokens")
    )
    tokens: Annotated[Number | None, Meta(says="tokens to train on", voids=("job.productive_h",))] = Field(
        None, gt=0, description="tokens to train on, instead of productive_h, which then follows from model and size"
    )
    include_start: Annotated[bool, Meta(says="counting of the start")] = Field(
        True, description="count the first queue and start-up; false gives the steady state"
    )
    throughput_factor: Annotated[Factor, Meta(says="speed of training")] = Field(
        1.0, gt=0, le=1, description="speed of training over its full speed, e.g. in the heat (assumed: 1)"
    )

    @model_validator(mode="after")
    def _one_way_to_give_the_work(self) -> Job:
        if self.productive_h is not None and self.tokens is not None:
            raise ValueError("takes productive_h, or tokens with a section model, not both; with neither it never ends")
        return self


class Recovery(Section):
    """What follows a failure."""

    detection_min: Annotated[
        LessIsBetter,
        Meta(
            idle=NEVER,
            says="detection",
            amount="the detection time",
            plausible=Plausible(
                0.06,
                10.0,
                "deng2025minder, pytorch2026timeouts",
                "from a detector that watches all machines to the time-out that ends a hang",
            ),
        ),
    ] = Field(5.0, ge=0, description="from the failure until it is noticed (assumed: 5)")
    queue_min: Annotated[
        LessIsBetter,
        Meta(
            idle=NEVER,
            says="queue",
            amount="the queue time",
            plausible=Plausible(
                0.0, 3.0, "pattabiraman2026airesim", "a scheduler's search for a host, where none is held ready"
            ),
        ),
    ] = Field(0.0, ge=0, description="waiting for the scheduler, at the start and after each failure")
    restart_min: Annotated[
        LessIsBetter,
        Meta(
            idle=NEVER,
            says="restart",
            amount="the restart time",
            plausible=Plausible(
                2.5,
                20.0,
                "flashrecovery2025, kokolis2025",
                "from state that is taken from living replicas to the slowest restarts of Meta's clusters",
            ),
        ),
    ] = Field(10.0, ge=0, description="initialise and load until training goes on (assumed: 10)")
    init_s_per_1000_gpus: Annotated[
        Number,
        Meta(
            idle=WhereZero("gpus_beyond_observed"),
            swept=True,
            says="growth of the start-up",
            amount="the growth of the start-up with the GPUs",
            plausible=Plausible(
                0.0,
                9.0,
                "flashrecovery2025, salpekar2026fthsdp",
                "from a recovery that takes as long at any size to cold starts on 16,000 to 98,000 GPUs",
            ),
        ),
    ] = Field(
        2.5,
        ge=0,
        description="how much longer each start takes for 1,000 GPUs beyond failures.observed_nodes, or shorter for "
        "fewer (assumed: 2.5, which MegaScale's starts of under 5 s on 2,048 GPUs and under 30 s on 12,288 allow)",
    )
    person_share: Annotated[
        Share,
        Meta(
            swept=True,
            says="waits for a person",
            amount="the failures that need a person",
            plausible=Plausible(0.0, 0.1, "jiang2024megascale", "software handled more than nine faults in ten"),
        ),
    ] = Field(0.0, description="share of recoveries that wait for a person (assumed: 0)")
    person_min: Annotated[
        Number,
        Meta(
            idle=With("person_share"),
            swept=True,
            says="waits for a person",
            amount="the wait for a person",
            plausible=Plausible(0.0, 116.0, "zeng2022glm", "mean of the stops in a diary, the restart included"),
        ),
    ] = Field(0.0, ge=0, description="mean wait for a person, exponential (assumed: 0)")
    exposed: Annotated[bool, Meta(idle=True, says="failures in restarts")] = Field(
        True, description="failures strike in restarts, too; false: none does, as simpler formulas have it"
    )
    false_alarms_per_day: Annotated[Addition, Meta(says="false alarms of time-outs")] = Field(
        0.0, ge=0, description="healthy jobs killed by a time-out, per exposed day (assumed: 0)"
    )


class Measured(Section):
    """What is known of the run's ETTR as it is: what is assumed must not contradict it."""

    says = "the ETTR that was measured"

    ettr: Annotated[Number | None, Meta(voids=("measured.ettr_above", "measured.ettr_below", "measured.n_gpus"))] = (
        Field(None, gt=0, lt=1, description="ETTR that the run has, by its own records")
    )
    ettr_above: Number | None = Field(
        None, gt=0, lt=1, description="the least that it may be, where only that is known"
    )
    ettr_below: Number | None = Field(None, gt=0, lt=1, description="the most that it may be")
    n_gpus: Count | None = Field(
        None, gt=0, description="GPUs of the job that it was measured on (assumed: those of the cluster)"
    )

    @model_validator(mode="after")
    def _something_was_measured(self) -> Measured:
        if self.ettr is None and self.ettr_above is None and self.ettr_below is None:
            raise ValueError("needs ettr, or ettr_above or ettr_below where only a bound is known")
        if self.ettr is not None and (self.ettr_above is not None or self.ettr_below is not None):
            raise ValueError("takes ettr, or ettr_above and ettr_below, not both")
        if self.ettr_above is not None and self.ettr_below is not None and self.ettr_above >= self.ettr_below:
            raise ValueError(f"ettr_below must be > {self.ettr_above:g}, the ettr_above, got {self.ettr_below:g}")
        return self


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
