"""The trained model: shape, parallelism, links and slowdowns of a step."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from ettr.core.errors import InputError
from ettr.scaling import (
    Constants,
    Layout,
    Network,
    Sync,
    Transformer,
    calibration,
    layer_parameters,
    parameter_range,
    usual_hidden,
    usual_layers,
)
from ettr.scenario.basics import NEVER, Addition, Assumed, Count, Factor, Meta, Number, Section, Share, Text, With


def _linked(value: Any) -> Any:
    if value is not None and not isinstance(value, bool) and value in (0, 0.0, "0"):
        raise ValueError("must be > 0 GB/s, got 0: replicas could exchange nothing; a link of 400 Gb/s has 50 GB/s")
    return value


Bandwidth = Annotated[Assumed, BeforeValidator(_linked)]


class Model(Section):
    """The trained model: a transformer, dense or with a mixture of experts."""

    n_parameters: Annotated[Number, Meta(says="number of parameters", aliases=("model size",))] = Field(
        ge=1, description="number of parameters; for a mixture of experts (MoE) all of them, active or not"
    )
    n_active_parameters: Annotated[
        Number | None,
        Meta(says="number of active parameters", aliases=("active parameters", "MoE", "mixture of experts")),
    ] = Field(
        None,
        ge=1,
        description="parameters that compute each token in a mixture of experts (MoE); without it, all of them. The "
        "all-to-all exchange of expert parallelism is not in the step model",
    )
    n_layers: Annotated[Count | None, Meta(says="shape of the model", aliases=("depth",))] = Field(
        None, ge=1, description="number of layers (assumed: hidden size / layers = 128)"
    )
    hidden: Annotated[Number | None, Meta(says="shape of the model", aliases=("d_model", "width", "hidden size"))] = (
        Field(
            None,
            ge=1,
            description="hidden size, consistent with the active parameters (assumed: parameters = 12 x layers x "
            "hidden^2)",
        )
    )
    kv_share: Annotated[Assumed, Meta(says="shape of the model", aliases=("GQA", "grouped-query attention"))] = Field(
        1.0,
        gt=0,
        le=1,
        description="key and value heads divided by query heads; below 1 for grouped-query attention (assumed: 1)",
    )
    sequence_tokens: Annotated[
        Count, Meta(idle=NEVER, says="length of a sequence", aliases=("context length", "sequence length"))
    ] = Field(8192, ge=1, description="sequence length in tokens (assumed: 8192)")
    batch_tokens: Annotated[Assumed, Meta(says="batch", aliases=("global batch size",))] = Field(
        2**24, gt=0, description="global batch size in tokens per step, over all replicas (assumed: 16.8 million)"
    )
    reference_batch_tokens: Annotated[Assumed, Meta(says="reference batch")] = Field(
        2**24, gt=0, description="batch size for which job.tokens are sufficient (assumed: 16.8 million)"
    )
    critical_batch_tokens: Annotated[Assumed, Meta(says="critical batch", aliases=("critical batch size",))] = Field(
        120e6,
        gt=0,
        description="critical batch size, at which twice the minimum number of tokens is needed (assumed: 120 million)",
    )

    @model_validator(mode="after")
    def _batch_of_whole_sequences(self) -> Model:
        if self.batch_tokens < self.sequence_tokens:
            raise ValueError(
                f"batch_tokens must be >= {self.sequence_tokens}, the sequence_tokens of one sequence, "
                f"got {self.batch_tokens:g}"
            )
        return self

    @model_validator(mode="after")
    def _no_more_active_parameters_than_all(self) -> Model:
        if self.n_active > self.n_parameters:
            raise ValueError(
                f"n_active_parameters must be <= {self.n_parameters:g}, the n_parameters of the whole model, got "
                f"{self.n_active:g}"
            )
        return self

    @model_validator(mode="after")
    def _as_many_parameters_as_its_shape_has(self) -> Model:
        """Raise if parameters contradict layers and hidden size; published models are well within the range."""
        if self.hidden is None:  # which follows from the others
            return self
        shape = self.transformer.n_layers, self.hidden, self.kv_share
        low, high = parameter_range(*shape)
        if not low <= self.n_active <= high:
            dense = self.n_active_parameters is None
            way_out = " For a mixture of experts also give n_active_parameters" if dense else ""
            raise ValueError(
                f"{'n_parameters' if dense else 'n_active_parameters'} must be {low / 1e9:.3g} to {high / 1e9:.3g} "
                f"billion with {shape[0]} layers and hidden {self.hidden:g}, got {self.n_active / 1e9:.3g} billion: "
                f"n_layers x hidden^2 x (10 + 2 kv_share) = {layer_parameters(*shape) / 1e9:.3g} billion, of which "
                "published dense models have 0.8 to 2.5 times, and embeddings. Give n_layers and hidden of this "
                f"model, or unset both (null).{way_out}"
            )
        return self

    @property
    def n_active(self) -> float:
        """Parameters that compute each token: all of them in a dense model."""
        return self.n_parameters if self.n_active_parameters is None else self.n_active_parameters

    @property
    def transformer(self) -> Transformer:
        """The model as plain numbers, with missing shape values filled in."""
        layers = usual_layers(self.n_active, self.hidden) if self.n_layers is None else self.n_layers
        hidden = usual_hidden(self.n_active, layers) if self.hidden is None else self.hidden
        return Transformer(self.n_parameters, layers, hidden, self.sequence_tokens, self.kv_share, self.n_active)


class Parallelism(Section):
    """Parallelism of the model; values that are not set are chosen for the fastest layout that fits in memory."""

    says = "parallelism"

    tensor: Annotated[Count | None, Meta(aliases=("TP", "tensor parallelism"))] = Field(
        None, ge=1, description="tensor parallelism: GPUs that share the matrices of a layer"
    )
    context: Annotated[Count | None, Meta(aliases=("CP", "context parallelism"))] = Field(
        None,
        ge=1,
        description="context parallelism: GPUs that share a sequence (assumed: 1 up to 16,384 tokens per sequence)",
    )
    pipeline: Annotated[Count | None, Meta(aliases=("PP", "pipeline parallelism"))] = Field(
        None, ge=1, description="pipeline parallelism: GPUs that share the layers"
    )
    sharded: Annotated[bool | None, Meta(aliases=("FSDP", "HSDP", "ZeRO-3"))] = Field(
        None, description="weights are sharded over replicas and gathered for each layer, as in FSDP, HSDP and ZeRO-3"
    )

    @property
    def fixed(self) -> Layout:
        """Parallelism values that are set; the others are None."""
        return Layout(**self.model_dump())

    def check(self, n_layers: int) -> None:
        """Raise if a GPU would have less than one layer."""
        if self.pipeline is not None and self.pipeline > n_layers:
            raise InputError(f"layout.pipeline must be <= {n_layers}, the layers of the model, got {self.pipeline}")


class Interconnect(Section):
    """The network between GPUs."""

    says = "links between GPUs"

    across_gb_s: Annotated[
        Bandwidth, Meta(aliases=("InfiniBand", "RoCE", "scale-out bandwidth", "network bandwidth"))
    ] = Field(
        50.0, gt=0, description="bandwidth per GPU between nodes, in one direction (assumed: 50, a 400 Gb/s link)"
    )
    pod_gpus: Annotated[Count | None, Meta(aliases=("pod size", "rail group"))] = Field(
        None, ge=1, description="GPUs per pod with full bisection bandwidth; without it, all GPUs"
    )
    oversubscription: Factor = Field(
        1.0, ge=1, description="bandwidth into the pod switches from below, divided by that from above (assumed: 1)"
    )
    placement: Annotated[
        Literal["aware", "anywhere"], Meta(idle=With("oversubscription"), aliases=("topology-aware scheduling",))
    ] = Field(
        "aware", description="aware: replicas stay within pods; anywhere: nodes are placed at random (assumed: aware)"
    )
    failed_share: Annotated[Addition, Meta(aliases=("link failures",))] = Field(
        0.0, ge=0, lt=1, description="fraction of links between nodes that have failed (assumed: 0)"
    )
    routing: Annotated[
        Literal["adaptive", "static"], Meta(idle=With("failed_share"), aliases=("adaptive routing",))
    ] = Field(
        "adaptive",
        description="adaptive: traffic avoids failed links; static: fixed routes share the remaining ones "
        "(assumed: adaptive)",
    )

    def network(self, inside_gb_s: float, gpus_per_node: int) -> Network:
        """Return the links as plain numbers, with those inside the node."""
        return Network(
            inside_gb_s=inside_gb_s,
            across_gb_s=self.across_gb_s,
            gpus_per_node=gpus_per_node,
            pod_gpus=float("inf") if self.pod_gpus is None else self.pod_gpus,
            oversubscription=self.oversubscription,
            aware_placement=self.placement == "aware",
            failed_share=self.failed_share,
            adaptive=self.routing == "adaptive",
        )


class StepModel(Section):
    """Slowdowns of a step beyond communication: fitted to published runs, or given."""

    says = "step slowdowns"

    like: Text = Field("llama3", description="study whose fitted constants are used (assumed: llama3)")
    jitter: Annotated[Number | None, Meta(aliases=("step jitter",))] = Field(
        None, ge=0, le=1, description="coefficient of variation of a node's step time, instead of the study's"
    )
    overlap: Annotated[Share | None, Meta(aliases=("communication overlap",))] = Field(
        None, description="fraction of the gradient exchange that can overlap with computation, instead of the study's"
    )

    @model_validator(mode="after")
    def _valid_study(self) -> StepModel:
        if self.like not in calibration.studies():
            raise ValueError(f"like must be one of {', '.join(calibration.studies())}, got {self.like!r}")
        return self

    @property
    def fixed(self) -> tuple[str, ...]:
        """Names of the constants that are set."""
        return tuple(self.model_dump(exclude={"like"}, exclude_none=True))

    def over(self, fitted: Constants) -> Constants:
        """Return the constants of a study, replaced by those that are set."""
        return replace(fitted, **self.model_dump(exclude={"like"}, exclude_none=True))


class Synchronisation(Section):
    """Data-parallel synchronization: how often and how compactly replicas exchange gradients."""

    says = "synchronization"

    every_steps: Annotated[Factor, Meta(aliases=("local SGD", "DiLoCo"))] = Field(
        1.0, ge=1, description="steps between two exchanges; above 1 is local SGD (assumed: 1)"
    )
    compression_ratio: Annotated[Factor, Meta(aliases=("gradient compression",))] = Field(
        1.0, ge=1, description="uncompressed size of an exchange divided by its compressed size (assumed: 1)"
    )
    compression_share: Annotated[Addition, Meta(aliases=("gradient compression",))] = Field(
        0.0, ge=0, description="time for compression relative to computation (assumed: 0)"
    )
    efficiency: Annotated[Factor, Meta(aliases=("token efficiency",))] = Field(
        1.0,
        gt=0,
        le=1,
        description="tokens needed by fully synchronous training, divided by the tokens needed here for the same loss "
        "(assumed: 1)",
    )

    @property
    def sync(self) -> Sync:
        """The section as plain numbers."""
        return Sync(self.every_steps, self.compression_ratio, self.compression_share)
