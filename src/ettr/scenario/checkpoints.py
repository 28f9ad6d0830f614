"""The section about checkpoints: how often, how long, and where to."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, TypeAdapter, ValidationError, model_validator
from pydantic_core import PydanticKnownError

from ettr.checkpoint.sizes import checkpoint_bytes, transfer_h
from ettr.core.quantities import advice
from ettr.scenario.basics import (
    ALL,
    NEVER,
    Count,
    LessIsBetter,
    Meta,
    MoreIsBetter,
    Number,
    Plausible,
    Section,
    Share,
    Text,
    WhereZero,
    spelled_out,
)

RULES = ("best", "young", "daly")
"""Ways to have the interval between two checkpoints found instead of given."""


def _of_all(value: Any) -> Any:
    """One number stands for all failures."""
    return value if value is None or isinstance(value, dict) else {ALL: value}


_Minutes = Annotated[Number, Field(ge=0.0001, allow_inf_nan=False)]
Interval = _Minutes | Literal["best", "young", "daly"]
_MINUTES: TypeAdapter[float] = TypeAdapter(_Minutes)


def _minutes_or_rule(value: Any) -> Any:
    """Minutes as they are, or a rule for them; refused in the words of minutes."""
    if isinstance(value, str):
        if value in RULES:
            return value
        read = spelled_out("interval_min", value)
        if isinstance(read, str):
            raise ValueError(
                f"must be a number of minutes, or one of {', '.join(RULES)}, got {value!r}: {advice(value, 'min')}"
            )
        value = read
    try:
        return _MINUTES.validate_python(value)
    except ValidationError as error:
        fault = error.errors()[0]
        if fault["type"] in ("greater_than_equal", "finite_number"):
            raise PydanticKnownError(fault["type"], fault.get("ctx")) from error  # type: ignore[arg-type]
        if fault["type"] == "value_error":
            raise fault["ctx"]["error"] from error
        raise ValueError(f"must be a number of minutes, or one of {', '.join(RULES)}, got {value!r}") from error


class Store(Section):
    """Write and load times of the store, from the size of the state and the bandwidth that all nodes share."""

    says = "size of the state and bandwidth of the store"

    n_parameters: Annotated[LessIsBetter, Meta(says="parameters of the model")] = Field(
        ge=1, description="parameters of the model"
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
    corrupt: Share = Field(
        0.0, lt=1, description="share of loads that find its copy unusable, and go on to the next tier"
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

    interval_min: Annotated[
        Interval,
        Meta(
            idle=NEVER,
            better="between",
            swept=True,
            says="interval",
            plausible=Plausible(5.0, 60.0, "kokolis2025", "the two intervals that a study of Meta's clusters compares"),
        ),
        BeforeValidator(_minutes_or_rule),
    ] = Field("best", description="productive training between two checkpoints, stall excluded; or best, young or daly")
    stall_s: Annotated[
        LessIsBetter,
        Meta(
            idle=NEVER,
            says="stall",
            amount="the checkpoint stall",
            plausible=Plausible(
                0.5,
                40.0,
                "wan2025bytecheckpoint, bigscience2022chronicles",
                "from a save in the background, 0.59 s for 405B parameters, to one of 176B that is waited for, 40 s",
            ),
        ),
    ] = Field(5.0, ge=0, description="training stands still for each checkpoint (assumed: 5)")
    persist_s: Annotated[
        LessIsBetter,
        Meta(
            idle=NEVER,
            follows="checkpoint.store",
            says="background write",
            plausible=Plausible(20.0, 200.0, "wan2025bytecheckpoint", "saves that were timed on 1,488 to 8,960 GPUs"),
        ),
    ] = Field(0.0, ge=0, description="background write after the stall until the state is durable")
    persist_slowdown: Annotated[
        LessIsBetter,
        Meta(
            idle=WhereZero("persist_h"),
            says="slowdown by the write",
            plausible=Plausible(
                0.0, 0.035, "checkfreq2021", "the overhead that a tuned save is allowed, taken as all of the write"
            ),
        ),
    ] = Field(0.0, ge=0, lt=1, description="share of throughput that the background write takes (assumed: 0)")
    load_s: Annotated[
        LessIsBetter,
        Meta(
            idle=0.0,
            follows="checkpoint.store.read_gb_s",
            says="loading from the store",
            amount="loading from the store",
            plausible=Plausible(129.0, 266.0, "wan2025bytecheckpoint", "loads that were timed on 1,488 and 8,960 GPUs"),
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
            raise ValueError(
                "takes persist_s only without store, from which the write time follows: unset persist_s (null)"
            )
        if self.store and self.store.read_gb_s and self.load_s:
            raise ValueError(
                "takes load_s only without store.read_gb_s, from which the load time follows: unset load_s (null)"
            )
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
