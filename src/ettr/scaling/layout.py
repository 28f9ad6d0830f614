"""How a model is cut over GPUs, and the memory that a cut needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ettr.scaling.transformer import Transformer

WEIGHT_BYTES, GRADIENT_BYTES, OPTIMIZER_BYTES = 2.0, 4.0, 12.0
"""Weights in 16 bit, gradients summed in 32, and a master weight with two moments in 32. [B]"""
ACTIVATION_BYTES = 20.0
"""Kept per token, width and layer: inputs of the matrix products, all else is computed again (assumed: 20). [B]"""
RECOMPUTED_BYTES = 2.0
"""Kept per token, width and layer if layers are computed again from their inputs. [B]"""
_GATHERED_LAYERS = 2
"""Layers whose sharded weights are at hand: one at work, one on its way."""
_B_PER_GB = 1e9


@dataclass(frozen=True)
class Layout:
    """A cut of a model; every field a number, or an array of them.

    Attributes
    ----------
    tensor, context, pipeline : int or ndarray
        GPUs that share a layer's matrices, a sequence, and the layers. Each exchange is taken at its best place in the
        nodes, which only tensor parallelism of whole nodes grants to all at once.
    virtual_stages : int or ndarray
        Stages that a GPU holds of the pipeline, in turn.
    micro_batch : int or ndarray
        Sequences at a time.
    sharded : bool or ndarray
        Weights are spread over all replicas and gathered for each layer (FSDP, ZeRO-3); otherwise only the state of
        the optimizer is (ZeRO-1).
    recompute : bool or ndarray
        Activations are computed again in the backward pass.
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
        """GPUs that hold one copy of the model and work on one sequence. [GPUs]"""
        return np.multiply(np.multiply(self.tensor, self.context), self.pipeline)

    def at(self, index: Any) -> Layout:
        """The layouts at some places of arrays."""
        return Layout(**{name: np.asarray(value)[index] for name, value in vars(self).items()})

    def one_axis(self) -> Layout:
        """A single layout as arrays of one place, as sizes of one axis want it."""
        return Layout(**{name: np.atleast_1d(value) for name, value in vars(self).items()})

    def __str__(self) -> str:
        cuts = [f"{name} {int(getattr(self, name))}" for name in ("tensor", "context", "pipeline")]
        cuts = [cut for cut in cuts if not cut.endswith(" 1")] or ["no cut"]
        if int(self.pipeline) > 1 and int(self.virtual_stages) > 1:
            cuts[-1] += f" in {int(self.virtual_stages)} turns"
        if int(self.micro_batch) > 1:
            cuts.append(f"micro-batch {int(self.micro_batch)}")
        cuts += [word for word, on in (("sharded", self.sharded), ("recomputed", self.recompute)) if bool(on)]
        return ", ".join(cuts)


def micro_batches(model: Transformer, layout: Layout, n_gpus: Any, batch_tokens: Any) -> Any:
    """Micro-batches that each replica works on in a step; below 1 the batch is smaller than the replicas."""
    replicas = n_gpus / layout.replica_gpus
    return batch_tokens / (replicas * layout.micro_batch * model.sequence_tokens)


def memory_gb(model: Transformer, layout: Layout, n_gpus: Any, batch_tokens: Any, own_optimizers: bool = False) -> Any:
    r"""Memory of the fullest GPU [GB].

    Parameters
    ----------
    model : Transformer
        The model.
    layout : Layout
        The cut.
    n_gpus : int or ndarray
        GPUs of the job. [GPUs]
    batch_tokens : float or ndarray
        Tokens of a step. [tokens]
    own_optimizers : bool
        Replicas step on their own, as in local SGD, so that each holds the whole state of an optimizer.

    Returns
    -------
    float or ndarray
        Broadcast shape.

    Notes
    -----
    With :math:`P_l = P/(t p)` weights a GPU and R replicas (those of the context count): :math:`P_l (2 + 4 + 12/R)`
    bytes, or :math:`P_l (2+4+12)/R` and two gathered layers if sharded. Activations: 20 bytes (2 if recomputed, and
    one layer in full) per token, width and layer over t and c, for as many micro-batches as are under way, which is
    :math:`p\,[1 + (p-1)/(p v)]` in the first stage of an interleaved pipeline (Narayanan et al. 2021; Korthikanti et
    al. 2023, whose 34 bytes keep every intermediate result). Buffers and fragments are left out.

    Examples
    --------
    >>> llama = Transformer(405e9, 126, 16384, 8192, 1 / 16)
    >>> round(float(memory_gb(llama, Layout(8, 1, 16, 8), 16384, 2**24)), 1)
    66.5
    """
    m = np.maximum(micro_batches(model, layout, n_gpus, batch_tokens), 1.0)
    own = model.n_parameters / np.multiply(layout.tensor, layout.pipeline)
    replicas = np.maximum(n_gpus / np.multiply(layout.tensor, layout.pipeline), 1.0)
    kept = own * (WEIGHT_BYTES + GRADIENT_BYTES + OPTIMIZER_BYTES / (1.0 if own_optimizers else replicas))
    gathered = _GATHERED_LAYERS * WEIGHT_BYTES * model.n_parameters / model.n_layers / np.asarray(layout.tensor)
    spread = own * (WEIGHT_BYTES + GRADIENT_BYTES + OPTIMIZER_BYTES) / replicas + gathered
    layers = model.n_layers / np.asarray(layout.pipeline)
    tokens = np.asarray(layout.micro_batch) * model.sequence_tokens / np.multiply(layout.tensor, layout.context)
    stages = np.asarray(layout.pipeline, dtype=float)
    under_way = np.where(stages > 1, np.minimum(stages, m) + (stages - 1) / np.asarray(layout.virtual_stages), 1.0)
    of_layer = np.where(layout.recompute, RECOMPUTED_BYTES, ACTIVATION_BYTES)
    one_more = np.where(layout.recompute, ACTIVATION_BYTES, 0.0)
    activations = tokens * model.hidden * (of_layer * layers * under_way + one_more)
    return (np.where(layout.sharded, spread, kept) + activations) / _B_PER_GB


def candidates(model: Transformer, gpus_per_node: int, given: Layout) -> Layout:
    """Every layout worth trying, as arrays.

    Parameters
    ----------
    model : Transformer
        The model.
    gpus_per_node : int
        Tensor parallelism stays inside a node. [GPUs]
    given : Layout
        What is fixed of ``tensor``, ``context``, ``pipeline`` and ``sharded``; those that are None are tried over.

    Returns
    -------
    Layout
        Arrays of one length. Pipelines divide the layers, or these and the two ends of the model; sharded weights go
        without pipeline; sequences up to 16,384 tokens stay whole, as in Llama 3, though the model's own terms would
        often cut them; a GPU holds up to 8 turns of the pipeline, of as many layers each.
    """
    ends = (model.n_layers, model.n_layers + _ENDS)
    stages = [p for p in range(1, min(model.n_layers, _MOST_STAGES) + 1) if any(n % p == 0 for n in ends)]
    tried = {
        "tensor": _doublings(gpus_per_node),
        "context": _doublings(_MOST_CONTEXT) if model.sequence_tokens > _LONG_TOKENS else [1],
        "pipeline": stages,
        "micro_batch": [1, 2, 4],
        "sharded": [False, True],
        "recompute": [False, True],
    }
    fixed = {name: getattr(given, name) for name in ("tensor", "context", "pipeline", "sharded")}
    tried |= {name: [value] for name, value in fixed.items() if value is not None}
    grids: list[np.ndarray] = list(np.meshgrid(*tried.values(), indexing="ij"))
    all_of = {name: grid.ravel() for name, grid in zip(tried, grids, strict=True)}
    held = [stage_layers(model.n_layers, int(p)) for p in all_of["pipeline"]]
    all_of["virtual_stages"] = np.array([_most_turns(layers) for layers in held])
    wanted = ~(all_of["sharded"] & (all_of["pipeline"] > 1)) | (given.sharded is not None)
    return Layout(**{name: values[wanted] for name, values in all_of.items()})


def stage_layers(n_layers: int, pipeline: int) -> int:
    """Layers of a stage; the two ends of the model count where only that makes stages even.

    Examples
    --------
    >>> stage_layers(126, 14), stage_layers(126, 16)
    (9, 8)
    """
    uneven = n_layers % pipeline and (n_layers + _ENDS) % pipeline == 0
    return max(1, (n_layers + _ENDS if uneven else n_layers) // pipeline)


def _most_turns(layers: int) -> int:
    return max(turns for turns in range(1, _MOST_TURNS + 1) if layers % turns == 0)


_ENDS = 2
"""The embedding before the layers and the one behind them, which take a stage's time as a layer does."""
_MOST_STAGES, _MOST_CONTEXT, _MOST_TURNS = 64, 16, 8
_LONG_TOKENS = 16_384
"""Sequences up to this length need no context parallelism."""


def _doublings(most: int) -> list[int]:
    return [2**i for i in range(most.bit_length()) if 2**i <= most]
