"""Sections about the nodes behind a job: spares, repair, going on without some, slow nodes, lemons."""

from __future__ import annotations

from typing import Annotated

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

    @property
    def rate_factor(self) -> float:
        """Failure rate of the fleet over what it was with all of its lemons."""
        more = self.share * (self.factor - 1)
        return (1 + self.left * more) / (1 + more)


class Spares(Section):
    """Nodes that can take the place of one that left the job."""

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
    n_cold: Annotated[Count, Meta(idle=0)] = Field(
        0, ge=0, description="nodes that are switched off or stand elsewhere"
    )
    fetch_min: Annotated[Number, Meta(idle=With("n_cold"))] = Field(0.0, ge=0, description="until a cold node is there")


class Repair(Section):
    """What becomes of a node that left the job: automatic repair, then people, then a new node."""

    says = "repair of nodes"

    automatic_h: Number | None = Field(None, ge=0, description="mean time of automatic repair: reset, reboot, tests")
    automatic_success: Annotated[Share, Meta(idle=1.0)] = Field(
        1.0, description="share of nodes that automatic repair helps"
    )
    manual_h: Number | None = Field(None, ge=0, description="mean time of repair by people, waiting for them aside")
    manual_success: Annotated[Share, Meta(idle=1.0)] = Field(1.0, description="share of nodes that people can repair")
    replacement_h: Number | None = Field(None, ge=0, description="until a new node is there")
    cv: Spread = Field(0.0, description="coefficient of variation of repair times, log-normal; 0: all take the mean")
    n_crew: Count | None = Field(None, ge=1, description="nodes that people repair at a time; no limit without")
    misdiagnosed: Addition = Field(
        0.0, ge=0, lt=1, description="share of failures of one node after which a healthy node leaves instead"
    )
    recurrence_h: Annotated[Number | None, Meta(idle=With("misdiagnosed"))] = Field(
        None, gt=0, description="mean exposed time until a bad node that stayed strikes again"
    )
    retire_after: Count | None = Field(
        None, ge=1, description="a node that leaves the job this often within retire_window_days is replaced"
    )
    retire_window_days: Annotated[Number | None, Meta(idle=With("retire_after"))] = Field(
        None, gt=0, description="wall clock in which retire_after counts"
    )

    @property
    def shares(self) -> tuple[float, float]:
        """Shares of nodes that people see, and that are replaced."""
        left = 1.0 if self.automatic_h is None else 1 - self.automatic_success
        return (0.0, left) if self.manual_h is None else (left, left * (1 - self.manual_success))

    @property
    def mean_h(self) -> float:
        """Mean time until a node is back, over the stages that it may go through, waiting for a crew aside. [h]

        Examples
        --------
        >>> round(Repair(automatic_h=2, automatic_success=0.2, manual_h=48).mean_h, 1)
        40.4
        """
        manual, last = self.shares
        return (self.automatic_h or 0.0) + manual * (self.manual_h or 0.0) + last * (self.replacement_h or 0.0)

    @model_validator(mode="after")
    def _stages_that_end(self) -> Repair:
        if self.automatic_h is None and self.manual_h is None:
            raise ValueError("needs automatic_h or manual_h, the time that a repair takes")
        if self.automatic_success < 1 and self.manual_h is None and self.replacement_h is None:
            raise ValueError(
                f"automatic_success = {self.automatic_success:g} needs manual_h or replacement_h, for the nodes that "
                "automatic repair does not help"
            )
        if self.manual_success < 1 and self.replacement_h is None:
            raise ValueError(
                f"manual_success = {self.manual_success:g} needs replacement_h, for the nodes that nobody can repair"
            )
        return self

    @model_validator(mode="after")
    def _what_belongs_together(self) -> Repair:
        if self.retire_after is not None and (self.retire_window_days is None or self.replacement_h is None):
            raise ValueError("retire_after needs retire_window_days and replacement_h")
        if self.misdiagnosed > 0 and self.recurrence_h is None:
            raise ValueError("misdiagnosed needs recurrence_h, the time until the bad node strikes again")
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
    """Nodes that slow the whole job until they are swapped, or recover by themselves."""

    says = "slow nodes"

    per_1000_node_days: Number = Field(ge=0, description="nodes that become slow, per node-days of training")
    loss: Number = Field(gt=0, lt=1, description="share of throughput that is lost while at least one node is slow")
    detection_h: Number | None = Field(None, gt=0, description="mean training time until a slow node is found")
    lasts_h: Number | None = Field(None, gt=0, description="mean training time until a slow node recovers by itself")

    @model_validator(mode="after")
    def _not_for_ever(self) -> SlowNodes:
        if self.detection_h is None and self.lasts_h is None:
            raise ValueError("needs detection_h or lasts_h: a slow node is found, or recovers by itself")
        return self
