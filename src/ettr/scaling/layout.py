"""Parallelism layouts: how a model is split over GPUs, and how much memory each layout needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ettr.scaling.transformer import Transformer

WEIGHT_BYTES, GRADIENT_BYTES, OPTIMIZER_BYTES = 2.0, 4.0, 12.0
"""Bytes per parameter: weights in 16 bits, gradients summed in 32, a master weight and two moments in 32. [B]"""
ACTIVATION_BYTES = 20.0
"""Activations stored per token, hidden unit and layer: inputs of the matrix products; the rest is recomputed
(assumed: 20). [B]"""
RECOMPUTED_BYTES = 2.0
"""Activations stored per token, hidden unit and layer with full recomputation, from the layer's input. [B]"""
_GATHERED_LAYERS = 2
"""Layers whose sharded weights are in memory at a time: the current one, and the next, being prefetched."""
_B_PER_GB = 1e9


@dataclass(frozen=True)
class Layout:
    """Parallelism layout of a model; each field is a number or an array.

    Attributes
    ----------
    tensor, context, pipeline : int or ndarray
        Degrees of tensor, context and pipeline parallelism. Each exchange is assumed to have its best placement within
        nodes, which all can have at once only if tensor parallelism fills whole nodes.
    virtual_stages : int or ndarray
        Virtual pipeline stages per GPU (interleaved schedule).
    micro_batch : int or ndarray
        Sequences per micro-batch.
    sharded : bool or ndarray
        Weights are sharded over all replicas and gathered layer by layer (FSDP, ZeRO-3); otherwise only the optimizer
        state is (ZeRO-1).
    recompute : bool or ndarray
        Activations are recomputed in the backward pass.

    Examples
    --------
    >>> layout = Layout(tensor=8, pipeline=16, virtual_stages=8)
    >>> print(layout, int(layout.replica_gpus))
    tensor 8, pipeline 16 with 8 virtual stages 128
    """

    tensor: Any = 1
    context: Any = 1
    pipeline: Any = 1
    virtual_stages: Any = 1
    micro_batch: Any = 1
    sharded: Any = False
    recompute: Any = False

    @property
    def replica_gpus(self) -> Any:
        """GPUs of one model replica. [GPUs]"""
        return np.multiply(np.multiply(self.tensor, self.context), self.pipeline)

    def at(self, index: Any) -> Layout:
        """Return the layouts at an index of the arrays."""
        return Layout(**{name: np.asarray(value)[index] for name, value in vars(self).items()})

    def one_axis(self) -> Layout:
        """Return a single layout as arrays of length one, to combine with a one-dimensional array of sizes."""
        return Layout(**{name: np.atleast_1d(value) for name, value in vars(self).items()})

    def __str__(self) -> str:
        parts = [f"{name} {int(getattr(self, name))}" for name in ("tensor", "context", "pipeline")]
        parts = [part for part in parts if not part.endswith(" 1")] or ["data parallel only"]
        if int(self.pipeline) > 1 and int(self.virtual_stages) > 1:
            parts[-1] += f" with {int(self.virtual_stages)} virtual stages"
        if int(self.micro_batch) > 1:
            parts.append(f"micro-batch {int(self.micro_batch)}")
        parts += [word for word, on in (("sharded", self.sharded), ("recomputed", self.recompute)) if bool(on)]
        return ", ".join(parts)


def micro_batches(model: Transformer, layout: Layout, n_gpus: Any, batch_tokens: Any) -> Any:
    """Return the number of micro-batches per replica and step; below 1 there are more replicas than sequences.

    Examples
    --------
    >>> llama = Transformer(405e9, 126, 16384, 8192, 1 / 16)
    >>> float(micro_batches(llama, Layout(tensor=8, pipeline=16), 16384, 2**24))  # 128 replicas, 2,048 sequences
    16.0
    """
    replicas = n_gpus / layout.replica_gpus
    return batch_tokens / (replicas * layout.micro_batch * model.sequence_tokens)


def memory_gb(
    model: Transformer, layout: Layout, n_gpus: Any, batch_tokens: Any, local_optimizers: bool = False
) -> Any:
    r"""Return the memory that the fullest GPU needs. [GB]

    Parameters
    ----------
    model : Transformer
        Model.
    layout : Layout
        Parallelism layout.
    n_gpus : int or ndarray
        GPUs of the job. [GPUs]
    batch_tokens : float or ndarray
        Tokens per step. [tokens]
    local_optimizers : bool
        Each replica keeps a complete optimizer state, as in local SGD, instead of a shard.

    Returns
    -------
    float or ndarray
        Broadcast shape.

    Notes
    -----
    With :math:`P_l = P/(t p)` weights per GPU and R replicas (context parallelism included): :math:`P_l (2 + 4 + 12/R)`
    bytes, or, if sharded, :math:`P_l (2+4+12)/R` plus two gathered layers. Activations: 20 bytes (2 if recomputed, plus
    one full layer) per token, hidden unit and layer, divided by t and c, times the number of micro-batches in flight,
    which is :math:`p\,[1 + (p-1)/(p v)]` in the first stage of an interleaved pipeline (Narayanan et al. 2021;
    Korthikanti et al. 2023, whose 34 bytes store every intermediate result). Buffers and fragmentation are left out.

    Examples
    --------
    >>> llama = Transformer(405e9, 126, 16384, 8192, 1 / 16)
    >>> round(float(memory_gb(llama, Layout(8, 1, 16, 8), 16384, 2**24)), 1)
    66.5
    """
    m = np.maximum(micro_batches(model, layout, n_gpus, batch_tokens), 1.0)
    # Model state: weights, gradients and optimizer, replicated (ZeRO-1) or sharded (ZeRO-3).
    weights = model.n_parameters / np.multiply(layout.tensor, layout.pipeline)
    replicas = np.maximum(n_gpus / np.multiply(layout.tensor, layout.pipeline), 1.0)
    replicated = weights * (WEIGHT_BYTES + GRADIENT_BYTES + OPTIMIZER_BYTES / (1.0 if local_optimizers else replicas))
    gathered = _GATHERED_LAYERS * WEIGHT_BYTES * model.n_parameters / model.n_layers / np.asarray(layout.tensor)
    sharded = weights * (WEIGHT_BYTES + GRADIENT_BYTES + OPTIMIZER_BYTES) / replicas + gathered
    # Activations of the micro-batches in flight in the first stage, which holds the most.
    layers = model.n_layers / np.asarray(layout.pipeline)
    tokens = np.asarray(layout.micro_batch) * model.sequence_tokens / np.multiply(layout.tensor, layout.context)
    stages = np.asarray(layout.pipeline, dtype=float)
    in_flight = np.where(stages > 1, np.minimum(stages, m) + (stages - 1) / np.asarray(layout.virtual_stages), 1.0)
    per_layer = np.where(layout.recompute, RECOMPUTED_BYTES, ACTIVATION_BYTES)
    current_layer = np.where(layout.recompute, ACTIVATION_BYTES, 0.0)
    activations = tokens * model.hidden * (per_layer * layers * in_flight + current_layer)
    return (np.where(layout.sharded, sharded, replicated) + activations) / _B_PER_GB


def candidates(model: Transformer, gpus_per_node: int, fixed: Layout) -> Layout:
    """Return every layout worth trying, as arrays.

    Parameters
    ----------
    model : Transformer
        Model.
    gpus_per_node : int
        GPUs of a node, the limit of tensor parallelism. [GPUs]
    fixed : Layout
        Fixed values of ``tensor``, ``context``, ``pipeline`` and ``sharded``; None where the layout is free.

    Returns
    -------
    Layout
        Arrays of one length. The pipeline divides the layers, or the layers plus the two ends of the model; sharded
        weights have no pipeline; sequences up to 16,384 tokens are not split, as in Llama 3, although the step-time
        model would often split them; a GPU has up to 8 virtual stages with equal numbers of layers.

    Examples
    --------
    >>> llama = Transformer(405e9, 126, 16384, 8192, 1 / 16)
    >>> free = candidates(llama, 8, Layout(None, None, None, sharded=None))
    >>> sorted(set(free.tensor.tolist())), sorted(set(free.context.tolist()))
    ([1, 2, 4, 8], [1])
    """
    ends = (model.n_layers, model.n_layers + _ENDS)
    stages = [p for p in range(1, min(model.n_layers, _MOST_STAGES) + 1) if any(n % p == 0 for n in ends)]
    choices = {
        "tensor": _doublings(gpus_per_node),
        "context": _doublings(_MOST_CONTEXT) if model.sequence_tokens > _LONG_TOKENS else [1],
        "pipeline": stages,
        "micro_batch": [1, 2, 4],
        "sharded": [False, True],
        "recompute": [False, True],
    }
    values = {name: getattr(fixed, name) for name in ("tensor", "context", "pipeline", "sharded")}
    choices |= {name: [value] for name, value in values.items() if value is not None}
    grids: list[np.ndarray] = list(np.meshgrid(*choices.values(), indexing="ij"))
    columns = {name: grid.ravel() for name, grid in zip(choices, grids, strict=True)}
    layers = [stage_layers(model.n_layers, int(p)) for p in columns["pipeline"]]
    columns["virtual_stages"] = np.array([_most_virtual_stages(n) for n in layers])
    usable = ~(columns["sharded"] & (columns["pipeline"] > 1)) | (fixed.sharded is not None)
    return Layout(**{name: column[usable] for name, column in columns.items()})


def stage_layers(n_layers: int, pipeline: int) -> int:
    """Return the layers per stage; the two ends of the model count as layers if only that makes the stages even.

    Examples
    --------
    >>> stage_layers(126, 14), stage_layers(126, 16)
    (9, 8)
    """
    uneven = n_layers % pipeline and (n_layers + _ENDS) % pipeline == 0
    return max(1, (n_layers + _ENDS if uneven else n_layers) // pipeline)


def _most_virtual_stages(layers: int) -> int:
    """Most virtual stages that divide a stage's layers."""
    return max(stages for stages in range(1, _MOST_VIRTUAL_STAGES + 1) if layers % stages == 0)


_ENDS = 2
"""Input and output embedding, each of which takes about as long as a layer."""
_MOST_STAGES, _MOST_CONTEXT, _MOST_VIRTUAL_STAGES = 64, 16, 8
_LONG_TOKENS = 16_384
"""Sequences up to this length need no context parallelism."""


def _doublings(largest: int) -> list[int]:
    """Powers of two up to a number."""
    return [2**i for i in range(largest.bit_length()) if 2**i <= largest]
