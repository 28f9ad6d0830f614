"""Sections about the nodes behind a job: spares, repair, going on without some, slow nodes, lemons."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from ettr.scenario.basics import Addition, Count, Meta, Number, Section, Share, Spread, With


class Lemons(Section):
    """Nodes that fail more often than the others; the rate is the fleet's mean while all of them are there."""

    says = "nodes that fail more often than others"

    share: Number = Field(gt=0, lt=1, description="share of nodes that are lemons")
    factor: Number = Field(ge=1, description="their failure rate over that of a normal node")
    left: Annotated[Share, Meta(idle=1.0)] = Field(
        1.0, description="share of the lemons that are still there; others gave way to normal nodes (assumed: 1)"
    )

    cured_automatic: Share = Field(
        0.0,
        description="probability that automatic repair makes a lemon a normal node; matters with repair",
    )
    cured_manual: Share = Field(0.0, description="the same of repair by people; a node that is replaced is drawn anew")

    @property
    def rate_factor(self) -> float:
        """Failure rate of the fleet over what it was with all of its lemons."""
        more = self.share * (self.factor - 1)
        return (1 + self.left * more) / (1 + more)


class Spares(Section):
    """Nodes that can take the place of one that left the job: hot ones first, then idle, then pre-emptible ones."""

    says = "spare nodes"

    n_nodes: Annotated[Count, Meta(better="more", says="number of spares")] = Field(
        ge=0, description="hot spares: take a node's place at once"
    )
    n_preemptible: Annotated[Count, Meta(idle=0)] = Field(
        0, ge=0, description="nodes busy with other work, which can be taken from it"
    )
    preempt_min: Annotated[Number, Meta(idle=With("n_preemptible"))] = Field(
        0.0, ge=0, description="until a pre-emptible node is free"
    )
    n_idle: Annotated[Count, Meta(idle=0)] = Field(
        0, ge=0, description="nodes of the cluster that nobody uses, and that the scheduler has to find"
    )
    select_min: Annotated[Number, Meta(idle=With("n_idle"))] = Field(
        0.0, ge=0, description="until an idle node is found and ready"
    )
    choose: Literal["longest_idle", "random", "fewest_failures"] = Field(
        "longest_idle", description="which of them goes in"
    )
    per_1000_node_days: Addition = Field(
        0.0, ge=0, description="hot and idle nodes that fail while they wait, per node-days of wall clock"
    )


class Repair(Section):
    """What becomes of a node that left the job: automatic repair, then people, or a new node where there are none."""

    says = "repair of nodes"

    automatic_h: Annotated[Number | None, Meta(says="time of automatic repair")] = Field(
        None, ge=0, description="mean time of automatic repair: reset, reboot, tests"
    )
    automatic_success: Annotated[Share, Meta(idle=1.0)] = Field(
        1.0, description="share of nodes that automatic repair helps"
    )
    manual_h: Annotated[Number | None, Meta(says="time of repair by people")] = Field(
        None, ge=0, description="mean time of repair by people, waiting for them aside"
    )
    replacement_h: Number | None = Field(None, ge=0, description="until a new node is there")
    cv: Spread = Field(0.0, description="coefficient of variation of repair times; 0: all take the mean")
    distribution: Literal["lognormal", "gamma", "exponential"] = Field(
        "lognormal", description="how they spread: lognormal and gamma by cv"
    )
    n_crew: Count | None = Field(None, ge=1, description="nodes that people repair at a time; no limit without")
    retire_after: Count | None = Field(
        None, ge=1, description="a node that leaves the job this often within retire_window_days is replaced"
    )
    retire_window_days: Annotated[Number | None, Meta(idle=With("retire_after"))] = Field(
        None, gt=0, description="wall clock in which retire_after counts; without, in the life of a node"
    )
    replaced: bool = Field(
        True, description="nodes that retire, or that no stage helps, are replaced; false: they are gone for good"
    )

    @property
    def share_left(self) -> float:
        """Share of nodes that automatic repair leaves to people, or to a new node where there are none."""
        return 1.0 if self.automatic_h is None else 1 - self.automatic_success

    @property
    def mean_h(self) -> float:
        """Mean time until a node is back, over the stages that it may go through, waiting for a crew aside. [h]

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
            raise ValueError(f"distribution: exponential has its own spread: leave out cv = {self.cv:g}")
        return self

    @model_validator(mode="after")
    def _what_belongs_together(self) -> Repair:
        if self.replaced and self.retire_after is not None and self.replacement_h is None:
            raise ValueError(
                "retire_after needs replacement_h, or replaced: false where retired nodes are gone for good"
            )
        if not self.replaced and self.replacement_h is not None:
            raise ValueError(f"replaced: false contradicts replacement_h = {self.replacement_h:g}: take one")
        all_come_back = self.automatic_success == 1 or self.manual_h is not None
        if not self.replaced and self.retire_after is None and all_come_back:
            raise ValueError("replaced: false needs retire_after, or automatic repair that may fail and no manual_h")
        return self


class Elastic(Section):
    """The job may go on with some of its replicas while nodes are missing."""

    says = "replicas that the job can do without"

    n_replicas: Count = Field(ge=2, description="data-parallel replicas of the job, of equal size")
    n_least: Count = Field(ge=1, description="replicas that the job needs to go on")

    @model_validator(mode="after")
    def _no_more_than_all(self) -> Elastic:
        if self.n_least > self.n_replicas:
            raise ValueError(f"n_least must be <= {self.n_replicas}, the n_replicas of the job, got {self.n_least}")
        return self


class SlowNodes(Section):
    """Nodes that slow the whole job until they are swapped."""

    says = "slow nodes"

    per_1000_node_days: Number = Field(ge=0, description="nodes that become slow, per node-days of training")
    loss: Number = Field(gt=0, lt=1, description="share of throughput that is lost while at least one node is slow")
    detection_h: Number = Field(gt=0, description="mean training time until a slow node is found")
