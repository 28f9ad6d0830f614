"""The sections of a scenario, in user-facing units."""

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
    {
        *("failures", "checkpoint", "recovery", "maintenance", "prediction"),
        *("rack", "spares", "repair", "elastic", "slow_nodes"),
    }
)
"""Sections that determine how the hours of a run are spent; a measured ETTR is void if they change."""
OF_TOKENS = ("model", "layout", "network", "scaling", "sync")
"""Sections that determine the training throughput."""


class Cluster(Section):
    """The GPUs and nodes of the job."""

    n_gpus: Annotated[
        Count,
        Meta(
            better="less",
            swept=True,
            says="number of GPUs",
            plausible=Plausible(
                8, 100_000, "salpekar2026fthsdp", "from one node to the largest published training job"
            ),
            aliases=("cluster size", "world size", "accelerators", "TPU", "number of GPUs"),
        ),
    ] = Field(gt=0, description="GPUs of the job, or other accelerators, such as TPU chips")
    gpus_per_node: Annotated[
        Count, Meta(idle=NEVER, says="GPUs per node", aliases=("GPUs per server", "chips per host", "TPU"))
    ] = Field(
        8,
        gt=0,
        description="GPUs (or other accelerators, such as TPU chips) per node; a node-day refers to such a node "
        "(assumed: 8)",
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
        """Return the nearest size in whole nodes, at least one. [GPUs]

        Examples
        --------
        >>> cluster = Cluster(n_gpus=16_384)
        >>> cluster.nearest_n_gpus(100_003), cluster.nearest_n_gpus(1)
        (100000, 8)
        """
        return max(1, round(n_gpus / self.gpus_per_node)) * self.gpus_per_node


class Job(Section):
    """The work of the job: hours or tokens. A job without either has no end, and only shares of time are computed."""

    productive_h: Annotated[
        MoreIsBetter | None,
        Meta(
            says="length of the work",
            voids=("job.tokens", *OF_TOKENS),
            aliases=("training time", "job length", "ideal training time"),
        ),
    ] = Field(
        None,
        gt=0,
        description="failure-free training time that the job needs, on all nodes at full speed; alternative to tokens",
    )
    tokens: Annotated[
        Number | None,
        Meta(says="tokens to train on", voids=("job.productive_h",), aliases=("token budget", "dataset size")),
    ] = Field(
        None,
        gt=0,
        description="training tokens, instead of productive_h, which then follows from model and cluster size",
    )
    include_start: Annotated[bool, Meta(says="start-up included", aliases=("start-up", "cold start"))] = Field(
        True, description="include the first queue and start-up; false gives the steady state"
    )
    throughput_factor: Annotated[
        Factor, Meta(says="speed of training", aliases=("throughput", "slowdown", "relative speed"))
    ] = Field(
        1.0, gt=0, le=1, description="training speed relative to full speed, e.g. lower if GPUs throttle (assumed: 1)"
    )

    @model_validator(mode="after")
    def _one_way_to_give_the_work(self) -> Job:
        if self.productive_h is not None and self.tokens is not None:
            raise ValueError(
                "takes productive_h, or tokens with a section model, not both; a job with neither has no end"
            )
        return self


class Recovery(Section):
    """The steps after a failure: detection, queue and restart."""

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
                "from metric-based fault detection to the timeout that ends a hang",
            ),
            aliases=("failure detection", "MTTD", "NCCL timeout", "watchdog timeout", "timeout", "hang detection"),
        ),
    ] = Field(5.0, ge=0, description="time from a failure until it is detected (assumed: 5)")
    queue_min: Annotated[
        LessIsBetter,
        Meta(
            idle=NEVER,
            says="queue",
            amount="the queue time",
            plausible=Plausible(
                0.0, 3.0, "pattabiraman2026airesim", "time a scheduler takes to find a host if no spare is ready"
            ),
            aliases=("queue time", "scheduling delay", "requeue"),
        ),
    ] = Field(0.0, ge=0, description="wait for the scheduler, at the start and after each failure")
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
                "from checkpoint-free recovery to the slowest restarts of Meta's clusters",
            ),
            aliases=("MTTR", "recovery time", "time to restart", "restart overhead"),
        ),
    ] = Field(
        10.0, ge=0, description="time to restart: initialize, load the checkpoint and resume training (assumed: 10)"
    )
    init_s_per_1000_gpus: Annotated[
        Number,
        Meta(
            idle=WhereZero("gpus_beyond_observed"),
            swept=True,
            says="start-up growth",
            amount="the start-up growth per GPU",
            plausible=Plausible(
                0.0,
                9.0,
                "flashrecovery2025, salpekar2026fthsdp",
                "from a recovery time independent of size to cold starts on 16,000 to 98,000 GPUs",
            ),
            aliases=("NCCL initialization", "NCCL init", "start-up scaling", "rendezvous"),
        ),
    ] = Field(
        2.5,
        ge=0,
        description="additional start-up time per 1,000 GPUs beyond failures.observed_nodes; smaller jobs start "
        "faster (assumed: 2.5, which agrees with MegaScale's starts of under 5 s on 2,048 GPUs and "
        "under 30 s on 12,288)",
    )
    person_share: Annotated[
        Share,
        Meta(
            swept=True,
            says="waits for a person",
            amount="the failures that need a person",
            plausible=Plausible(0.0, 0.1, "jiang2024megascale", "software handled more than 90% of faults"),
            aliases=("manual intervention", "on-call", "operator"),
        ),
    ] = Field(0.0, description="fraction of recoveries that wait for a person (assumed: 0)")
    person_min: Annotated[
        Number,
        Meta(
            idle=With("person_share"),
            swept=True,
            says="waits for a person",
            amount="the wait for a person",
            plausible=Plausible(0.0, 116.0, "zeng2022glm", "mean of the stops in a training log, restart included"),
            aliases=("on-call response", "manual intervention"),
        ),
    ] = Field(0.0, ge=0, description="mean wait for a person, exponentially distributed (assumed: 0)")
    exposed: Annotated[bool, Meta(idle=True, says="failures in restarts", aliases=("failure during restart",))] = Field(
        True, description="failures can also strike during restarts; false: they cannot, as simpler formulas assume"
    )
    false_alarms_per_day: Annotated[
        Addition,
        Meta(says="false alarms of timeouts", aliases=("false positives", "spurious timeouts", "false alarms")),
    ] = Field(0.0, ge=0, description="healthy jobs killed by a timeout, per exposed day (assumed: 0)")


class Measured(Section):
    """The measured ETTR of the run, which the assumed values must not contradict."""

    says = "the measured ETTR"

    ettr: Annotated[
        Number | None,
        Meta(
            voids=("measured.ettr_above", "measured.ettr_below", "measured.n_gpus"),
            aliases=("goodput", "ETTR", "effective training time ratio", "measured ETTR"),
        ),
    ] = Field(None, gt=0, lt=1, description="measured ETTR of the run, from its own records")
    ettr_above: Annotated[Number | None, Meta(aliases=("goodput",))] = Field(
        None, gt=0, lt=1, description="lower bound of the measured ETTR, if only a bound is available"
    )
    ettr_below: Annotated[Number | None, Meta(aliases=("goodput",))] = Field(
        None, gt=0, lt=1, description="upper bound of the measured ETTR"
    )
    n_gpus: Count | None = Field(
        None, gt=0, description="GPUs of the job on which the ETTR was measured (assumed: those of the cluster)"
    )

    @model_validator(mode="after")
    def _something_was_measured(self) -> Measured:
        if self.ettr is None and self.ettr_above is None and self.ettr_below is None:
            raise ValueError("needs ettr, or ettr_above or ettr_below if only a bound is available")
        if self.ettr is not None and (self.ettr_above is not None or self.ettr_below is not None):
            raise ValueError("takes ettr, or ettr_above and ettr_below, not both")
        if self.ettr_above is not None and self.ettr_below is not None and self.ettr_above >= self.ettr_below:
            raise ValueError(f"ettr_below must be > {self.ettr_above:g}, the ettr_above, got {self.ettr_below:g}")
        return self


class Maintenance(Section):
    """Planned maintenance, which starts after the next checkpoint."""

    zero_without = True

    per_day: Annotated[
        LessIsBetter,
        Meta(says="maintenance requests", amount="the maintenance stops", aliases=("planned maintenance",)),
    ] = Field(ge=0, description="maintenance requests per day (wall clock)")
    duration_min: Annotated[
        LessIsBetter, Meta(says="length of a maintenance stop", aliases=("maintenance window", "downtime"))
    ] = Field(ge=0, description="duration of one maintenance stop, without the restart")
    rolling_nodes: Annotated[
        Count | None, Meta(says="nodes served at a time", aliases=("rolling maintenance", "maintenance train"))
    ] = Field(
        None,
        ge=1,
        description="nodes maintained at a time while hot spares replace them; without it, the whole job stops",
    )


class Prediction(Section):
    """Failure prediction: each warning triggers a checkpoint."""

    says = "predictions"

    recall: Annotated[MoreIsBetter, Meta(says="recall of predictions", aliases=("failure prediction",))] = Field(
        gt=0, le=1, description="fraction of failures that are predicted"
    )
    precision: Annotated[MoreIsBetter, Meta(says="precision of predictions", aliases=("failure prediction",))] = Field(
        gt=0, le=1, description="fraction of predictions that a failure follows"
    )
    lead_s: Annotated[
        MoreIsBetter,
        Meta(says="lead of predictions", aliases=("lead time", "spot preemption notice", "reclaim notice")),
    ] = Field(ge=0, description="lead time from the warning to the failure; useful only if longer than action_s")
    action_s: Annotated[LessIsBetter, Meta(says="action on a prediction", aliases=("proactive checkpoint",))] = Field(
        ge=0, description="time that training stops to write a durable checkpoint after a warning"
    )
