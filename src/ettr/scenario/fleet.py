"""The nodes of a job: racks, spares, repair, elastic training, slow nodes and lemons."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from ettr.scenario.basics import Addition, Count, Meta, Number, Section, Share, Spread, With


class Lemons(Section):
    """Lemon nodes, which fail more often than others; the rate is the fleet's mean with all lemons in place."""

    says = "nodes that fail more often than others"

    share: Annotated[Number, Meta(aliases=("lemon nodes", "bad nodes"))] = Field(
        gt=0, lt=1, description="fraction of nodes that are lemons"
    )
    factor: Annotated[Number, Meta(aliases=("lemon nodes",))] = Field(
        ge=1, description="failure rate of a lemon relative to a normal node"
    )
    left: Annotated[Share, Meta(idle=1.0, aliases=("lemon detection",))] = Field(
        1.0, description="fraction of the lemons still in the fleet; normal nodes replaced the others (assumed: 1)"
    )

    cured_automatic: Share = Field(
        0.0,
        description="probability that automatic repair fixes a lemon for good; relevant with repair",
    )
    cured_manual: Share = Field(
        0.0,
        description="probability that manual repair fixes a lemon for good; a replacement node is drawn from the fleet",
    )

    @property
    def rate_factor(self) -> float:
        """Failure rate of the fleet relative to the fleet with all its lemons."""
        more = self.share * (self.factor - 1)
        return (1 + self.left * more) / (1 + more)


class Spares(Section):
    """Spare nodes, used in this order: hot, idle, preemptible."""

    says = "spare nodes"

    n_nodes: Annotated[
        Count,
        Meta(
            better="more",
            says="number of spares",
            aliases=("hot spare", "warm spare", "standby nodes", "spare pool", "buffer nodes"),
        ),
    ] = Field(ge=0, description="hot spares: nodes that replace a failed node at once")
    n_preemptible: Annotated[Count, Meta(idle=0, aliases=("preemptible", "preemption", "spot"))] = Field(
        0, ge=0, description="nodes busy with other work that can be preempted"
    )
    preempt_min: Annotated[
        Number,
        Meta(idle=With("n_preemptible"), aliases=("preemption", "preemptible")),
    ] = Field(0.0, ge=0, description="time until a preempted node is free")
    n_idle: Annotated[Count, Meta(idle=0, aliases=("cold spare", "free nodes"))] = Field(
        0, ge=0, description="unused nodes of the cluster, which the scheduler must find first"
    )
    select_min: Annotated[Number, Meta(idle=With("n_idle"), aliases=("provisioning time",))] = Field(
        0.0, ge=0, description="time until an idle node is found and ready"
    )
    choose: Literal["longest_idle", "random", "fewest_failures"] = Field(
        "longest_idle", description="which spare is used first"
    )
    per_1000_node_days: Addition = Field(
        0.0, ge=0, description="failure rate of hot and idle spares while they wait, per node-days of wall clock"
    )


class Repair(Section):
    """Repair of failed nodes: automatic repair first, then manual repair, or replacement if there is none."""

    says = "repair of nodes"

    automatic_h: Annotated[
        Number | None, Meta(says="time of automatic repair", aliases=("MTTR", "auto-remediation", "reboot"))
    ] = Field(None, ge=0, description="mean time of automatic repair: reset, reboot, tests")
    automatic_success: Annotated[Share, Meta(idle=1.0)] = Field(
        1.0, description="fraction of nodes that automatic repair fixes"
    )
    manual_h: Annotated[
        Number | None, Meta(says="time of repair by people", aliases=("MTTR", "time to repair", "repair turnaround"))
    ] = Field(None, ge=0, description="mean time of manual repair, without the wait for a technician")
    replacement_h: Annotated[Number | None, Meta(aliases=("RMA", "lead time"))] = Field(
        None, ge=0, description="time until a replacement node arrives"
    )
    cv: Spread = Field(0.0, description="coefficient of variation of repair times; 0: always the mean")
    distribution: Literal["lognormal", "gamma", "exponential"] = Field(
        "lognormal", description="distribution of repair times; lognormal and gamma use cv"
    )
    n_crew: Annotated[Count | None, Meta(aliases=("technicians",))] = Field(
        None, ge=1, description="nodes repaired manually at the same time; unlimited if not set"
    )
    retire_after: Annotated[Count | None, Meta(aliases=("repeat offender", "node retirement", "RMA"))] = Field(
        None, ge=1, description="replace a node once it has left the job this many times within retire_window_days"
    )
    retire_window_days: Annotated[Number | None, Meta(idle=With("retire_after"))] = Field(
        None, gt=0, description="wall-clock window for retire_after; without it, the whole life of the node"
    )
    replaced: Annotated[bool, Meta(aliases=("RMA",))] = Field(
        True, description="replace nodes that retire or cannot be repaired; false: they are lost for good"
    )

    @property
    def share_left(self) -> float:
        """Fraction of nodes that automatic repair does not fix."""
        return 1.0 if self.automatic_h is None else 1 - self.automatic_success

    @property
    def mean_h(self) -> float:
        """Mean time until a node is back, over all stages, without waiting for a crew. [h]

        Examples
        --------
        >>> round(Repair(automatic_h=2, automatic_success=0.2, manual_h=48).mean_h, 1)
        40.4
        """
        later_h = self.replacement_h if self.manual_h is None else self.manual_h
        return (self.automatic_h or 0.0) + self.share_left * (later_h or 0.0)

    @model_validator(mode="after")
    def _stages_that_end(self) -> Repair:
        if self.automatic_h is None and self.manual_h is None:
            raise ValueError("needs automatic_h or manual_h, the time that a repair takes")
        if self.replaced and self.automatic_success < 1 and self.manual_h is None and self.replacement_h is None:
            raise ValueError(
                f"automatic_success = {self.automatic_success:g} needs manual_h or replacement_h, for the nodes that "
                "automatic repair does not help"
            )
        return self

    @model_validator(mode="after")
    def _a_spread_of_one_kind(self) -> Repair:
        if self.distribution == "exponential" and self.cv not in (0, 1):
            raise ValueError(f"distribution: exponential has a fixed cv of 1: leave out cv = {self.cv:g}")
        return self

    @model_validator(mode="after")
    def _what_belongs_together(self) -> Repair:
        if self.replaced and self.retire_after is not None and self.replacement_h is None:
            raise ValueError(
                "retire_after needs replacement_h, or replaced: false where retired nodes are gone for good"
            )
        if not self.replaced and self.replacement_h is not None:
            raise ValueError(f"replaced: false conflicts with replacement_h = {self.replacement_h:g}; use one of them")
        all_come_back = self.automatic_success == 1 or self.manual_h is not None
        if not self.replaced and self.retire_after is None and all_come_back:
            raise ValueError("replaced: false needs retire_after, or automatic repair that may fail and no manual_h")
        return self


class Rack(Section):
    """Racks that form one domain, such as an NVL72: spare nodes inside, else the whole rack leaves the job."""

    says = "racks"

    n_gpus: Annotated[Count, Meta(aliases=("NVL72", "GB200", "NVLink domain", "blast radius", "scale-up domain"))] = (
        Field(gt=0, description="GPUs of a rack; relevant with spares and repair, which count nodes")
    )
    n_used: Annotated[Count | None, Meta(aliases=("rack spares", "NVL72", "in-rack spares"))] = Field(
        None, gt=0, description="GPUs of each rack that the job uses, the others are spares of the rack (default: all)"
    )
    drain_share: Annotated[Share, Meta(aliases=("backplane", "switch tray", "blast radius"))] = Field(
        0.0, description="fraction of node failures whose repair drains the whole rack, as of a backplane (assumed: 0)"
    )
    repair_h: Annotated[Number | None, Meta(aliases=("MTTR", "backplane"))] = Field(
        None,
        ge=0,
        description="mean time until a rack that left the job is back, without a technician; by default as for a node",
    )

    @property
    def gpus_used(self) -> int:
        """GPUs of a rack that the job uses. [GPUs]"""
        return self.n_used or self.n_gpus

    @model_validator(mode="after")
    def _no_more_in_use_than_there_are(self) -> Rack:
        if self.gpus_used > self.n_gpus:
            raise ValueError(f"n_used must be <= {self.n_gpus}, the n_gpus of the rack, got {self.n_used}")
        return self


class Elastic(Section):
    """Elastic training: the job continues with fewer replicas while nodes are missing."""

    says = "elastic training"

    n_replicas: Annotated[Count, Meta(aliases=("data parallelism", "elastic training", "DP size"))] = Field(
        ge=2, description="data-parallel replicas of the job, of equal size"
    )
    n_least: Annotated[Count, Meta(aliases=("elastic training", "minimum replicas"))] = Field(
        ge=1, description="minimum number of replicas with which the job continues"
    )

    @model_validator(mode="after")
    def _no_more_than_all(self) -> Elastic:
        if self.n_least > self.n_replicas:
            raise ValueError(f"n_least must be <= {self.n_replicas}, the n_replicas of the job, got {self.n_least}")
        return self


class SlowNodes(Section):
    """Stragglers: slow nodes that slow the whole job until they are replaced."""

    says = "slow nodes"

    per_1000_node_days: Annotated[Number, Meta(aliases=("straggler", "stragglers", "fail-slow"))] = Field(
        ge=0, description="rate at which nodes become slow, per node-days of training"
    )
    loss: Annotated[Number, Meta(aliases=("straggler", "stragglers", "fail-slow"))] = Field(
        gt=0, lt=1, description="fraction of throughput lost while at least one node is slow"
    )
    detection_h: Annotated[Number, Meta(aliases=("straggler detection",))] = Field(
        gt=0, description="mean training time until a slow node is detected"
    )
