"""The checkpoint section: interval, durations and storage tiers."""

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
"""Rules that compute the checkpoint interval."""


def _of_all(value: Any) -> Any:
    """Read a single number as the share of all failures."""
    return value if value is None or isinstance(value, dict) else {ALL: value}


_Minutes = Annotated[Number, Field(ge=0.0001, allow_inf_nan=False)]
Interval = _Minutes | Literal["best", "young", "daly"]
_MINUTES: TypeAdapter[float] = TypeAdapter(_Minutes)


def _minutes_or_rule(value: Any) -> Any:
    """Read minutes or a rule; errors are phrased in minutes."""
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
    """Checkpoint size and bandwidth of the store, from which write and load times follow."""

    says = "size of the state and bandwidth of the store"

    n_parameters: Annotated[
        LessIsBetter | None, Meta(says="parameters of the model", aliases=("model size", "MoE", "mixture of experts"))
    ] = Field(
        None,
        ge=1,
        description="number of model parameters; for a mixture of experts (MoE) all of them, active or not; without "
        "it, model.n_parameters",
    )
    bytes_per_parameter: Annotated[
        LessIsBetter, Meta(idle=NEVER, says="bytes per parameter", aliases=("checkpoint size", "optimizer state"))
    ] = Field(
        12.0,
        gt=0,
        description="bytes saved per parameter: master weight and two optimizer moments in fp32 (assumed: 12)",
    )
    changed_share: Annotated[
        LessIsBetter,
        Meta(
            idle=NEVER,
            says="share rewritten",
            aliases=("incremental checkpoint", "differential checkpoint", "delta checkpoint"),
        ),
    ] = Field(1.0, gt=0, le=1, description="fraction of the state that each checkpoint rewrites")
    compression_ratio: Annotated[
        MoreIsBetter, Meta(idle=NEVER, says="compression", aliases=("checkpoint compression", "quantized checkpoint"))
    ] = Field(1.0, ge=1, description="uncompressed size divided by written size")
    write_gb_s: Annotated[
        MoreIsBetter | None,
        Meta(
            says="store's write bandwidth",
            aliases=("storage bandwidth", "storage", "Lustre", "parallel file system", "NFS", "object store", "S3"),
        ),
    ] = Field(
        None,
        gt=0,
        description="total write bandwidth of the store, shared by all nodes; without it, a write takes "
        "checkpoint.persist_s, and the plan has the bandwidth that is needed",
    )
    read_gb_s: Annotated[
        MoreIsBetter | None,
        Meta(says="store's read bandwidth", aliases=("storage bandwidth", "storage", "Lustre", "parallel file system")),
    ] = Field(
        None, gt=0, description="total read bandwidth of the store; if set, loading is added to recovery.restart_min"
    )
    node_gb_s: Annotated[
        MoreIsBetter | None, Meta(amount="a node's bandwidth", aliases=("NIC bandwidth", "per-node bandwidth"))
    ] = Field(None, gt=0, description="maximum bandwidth of one node; without it, only the store limits the transfer")

    def bytes_written(self, overrides: Mapping[str, Any] | None = None) -> Any:
        """Return the size of one checkpoint as written; ``overrides`` replaces fields. [B]"""
        of = {**self.model_dump(), **(overrides or {})}
        return checkpoint_bytes(
            of["n_parameters"], of["bytes_per_parameter"], of["changed_share"], of["compression_ratio"]
        )

    def bytes_kept(self, overrides: Mapping[str, Any] | None = None) -> Any:
        """Return the size of the whole state in the store, which a restart loads. [B]"""
        return self.bytes_written({**(overrides or {}), "changed_share": 1.0})

    def write_h(self, n_nodes: Any, overrides: Mapping[str, Any] | None = None) -> Any:
        """Return the time to write one checkpoint from ``n_nodes`` nodes with ``write_gb_s``. [h]"""
        of = {**self.model_dump(), **(overrides or {})}
        return transfer_h(self.bytes_written(overrides), of["write_gb_s"], n_nodes, self._node_limit(of))

    def load_h(self, n_nodes: Any, overrides: Mapping[str, Any] | None = None, copies: int = 1) -> Any:
        """Return the time to load a number of copies of the state to ``n_nodes`` nodes; 0 without ``read_gb_s``. [h]"""
        of = {**self.model_dump(), **(overrides or {})}
        if of["read_gb_s"] is None:
            return 0.0
        return transfer_h(copies * self.bytes_kept(overrides), of["read_gb_s"], n_nodes, self._node_limit(of))

    @staticmethod
    def _node_limit(of: Mapping[str, Any]) -> Any:
        return math.inf if of["node_gb_s"] is None else of["node_gb_s"]


class Tier(Section):
    """A faster checkpoint tier above the store, such as peer memory or local disks."""

    says = "faster tiers"

    name: Annotated[Text, Meta(aliases=("checkpoint tier", "multi-tier checkpointing"))] = Field(
        description="name of the tier, e.g. peer memory"
    )
    interval_s: Annotated[Number, Meta(better="between", swept=True, says="interval", aliases=("tier interval",))] = (
        Field(
            gt=0,
            description="productive training between two copies; the next tier's interval must be a multiple of it",
        )
    )
    stall_s: Annotated[LessIsBetter, Meta(idle=NEVER, says="stall")] = Field(
        0.0, ge=0, description="time that training stops for each copy, in addition to the stalls of faster tiers"
    )
    write_s: Annotated[LessIsBetter, Meta(idle=NEVER, says="write", aliases=("async checkpoint",))] = Field(
        0.0, ge=0, description="background write after the stall until the copy is durable"
    )
    load_s: Annotated[LessIsBetter, Meta(idle=NEVER, says="load")] = Field(
        0.0, ge=0, description="time to load from this tier, in addition to recovery.restart_min"
    )
    survives: Annotated[
        Annotated[dict[Text, Share], BeforeValidator(_of_all)] | None,
        Meta(better="more", swept=True, says="survival", aliases=("survival probability",)),
    ] = Field(
        None, description="fraction of failures that the tier survives: of all, or by mode or category (others: none)"
    )
    corrupt: Annotated[Share, Meta(aliases=("corrupt checkpoint",))] = Field(
        0.0, lt=1, description="fraction of loads that find an unusable copy and fall back to the next tier"
    )
    copies: Annotated[
        Count | None, Meta(aliases=("peer memory", "in-memory peer checkpoint", "replication factor", "peer"))
    ] = Field(
        None,
        ge=1,
        description="nodes that hold each part of the state, instead of survives; for just-in-time checkpoints "
        "the replicas",
    )
    placement: Annotated[Literal["group", "ring"], Meta(aliases=("peer placement",))] = Field(
        "group", description="placement of copies on nodes: in groups, or on the next nodes in a ring"
    )

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
    """How state is saved: in the store, which survives every failure, and in faster tiers."""

    interval_min: Annotated[
        Interval,
        Meta(
            idle=NEVER,
            better="between",
            swept=True,
            says="interval",
            plausible=Plausible(5.0, 60.0, "kokolis2025", "the two intervals compared in a study of Meta's clusters"),
            aliases=("checkpoint frequency", "optimal checkpoint interval", "Young", "Daly", "Young-Daly"),
        ),
        BeforeValidator(_minutes_or_rule),
    ] = Field(
        "best", description="productive training between two checkpoints, without the stall; or best, young or daly"
    )
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
                "from a background save, 0.59 s for 405B parameters, to a synchronous one of 176B, 40 s",
            ),
            aliases=("checkpoint overhead", "blocking time", "save time", "async checkpoint", "synchronous checkpoint"),
        ),
    ] = Field(5.0, ge=0, description="time that training stops for each checkpoint (assumed: 5)")
    persist_s: Annotated[
        LessIsBetter,
        Meta(
            idle=NEVER,
            follows="checkpoint.store.write_gb_s",
            says="background write",
            plausible=Plausible(20.0, 200.0, "wan2025bytecheckpoint", "saves measured on 1,488 to 8,960 GPUs"),
            aliases=("async checkpoint", "asynchronous write", "upload time", "checkpoint write time"),
        ),
    ] = Field(0.0, ge=0, description="background write after the stall until the checkpoint is durable")
    persist_slowdown: Annotated[
        LessIsBetter,
        Meta(
            idle=WhereZero("persist_h"),
            says="slowdown by the write",
            plausible=Plausible(
                0.0, 0.035, "checkfreq2021", "the overhead allowed for a tuned save, attributed to the write"
            ),
            aliases=("checkpoint interference",),
        ),
    ] = Field(0.0, ge=0, lt=1, description="fraction of throughput lost during the background write (assumed: 0)")
    load_s: Annotated[
        LessIsBetter,
        Meta(
            idle=0.0,
            follows="checkpoint.store.read_gb_s",
            says="loading from the store",
            amount="loading from the store",
            plausible=Plausible(129.0, 266.0, "wan2025bytecheckpoint", "loads measured on 1,488 and 8,960 GPUs"),
            aliases=("checkpoint load time", "restore time"),
        ),
    ] = Field(0.0, ge=0, description="time to load from the store, if recovery.restart_min does not include it")
    store: Store | None = Field(None, description=Store.__doc__)
    tiers: tuple[Tier, ...] = Field((), description="faster checkpoint tiers, fastest first")
    n_kept: Annotated[
        Count | None, Meta(says="checkpoints that are kept", aliases=("checkpoint retention", "checkpoints to keep"))
    ] = Field(None, ge=1, description="checkpoints kept in the store; relevant with silent failures (assumed: all)")

    @model_validator(mode="after")
    def _one_way_to_give_times(self) -> Checkpoint:
        if self.store and self.store.write_gb_s and self.persist_s:
            raise ValueError(
                "takes persist_s only without store.write_gb_s, from which the write time follows: unset persist_s "
                "(null)"
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
                least, value = getattr(below, field), getattr(tier, field)
                if value < least:
                    raise ValueError(
                        f"tiers must be ordered from fast to safe: {field} of {tier.name!r} must be >= {least:g} s, "
                        f"that of {below.name!r} before it, got {value:g}"
                    )
        return self
