"""Step time of a synchronous training job, term by term."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from ettr.core.units import ROUNDING
from ettr.scaling.layout import GRADIENT_BYTES, WEIGHT_BYTES, Layout, micro_batches
from ettr.scaling.network import Network
from ettr.scaling.transformer import Transformer
from ettr.thermal.slowest import largest_of_many

_FLOP_PER_TFLOP, _B_PER_GB, _S_PER_US = 1e12, 1e9, 1e-6
_GATHERS = 3
"""Sharded weights are gathered forward and backward, and gradients scattered, in each layer and micro-batch."""
_EXCHANGES = 8
"""Passes of a layer's state over the tensor-parallel ring: two gathers and two scatters forward, and again backward."""
_CONTEXT_PASSES = 3
"""Keys and values are gathered forward and backward, and their gradients scattered."""


@dataclass(frozen=True)
class Constants:
    """Constants of hardware and software that must be measured; each a number or an array.

    Attributes
    ----------
    kernel_efficiency : float
        Speed of a GPU that never waits, relative to its peak.
    jitter : float
        Coefficient of variation of a node's step time.
    overlap : float
        Share of the data-parallel exchange that overlaps with compute.
    latency_us : float
        Latency per hop of a ring over nodes. [us]
    """

    kernel_efficiency: Any = 1.0
    jitter: Any = 0.0
    overlap: Any = 1.0
    latency_us: Any = 0.0


@dataclass(frozen=True)
class Sync:
    """Synchronisation of the replicas: local SGD and gradient compression.

    Attributes
    ----------
    every_steps : float
        Steps between two gradient exchanges (H of local SGD); 1: synchronous.
    compression_ratio : float
        Bytes of an exchange divided by its compressed bytes.
    compression_share : float
        Time for compression, relative to compute time.
    """

    every_steps: Any = 1.0
    compression_ratio: Any = 1.0
    compression_share: Any = 0.0


@dataclass(frozen=True)
class StepTime:
    """Step time by part, in the order of the charts; arrays of one shape that sum to the step time. [s]

    Attributes
    ----------
    ideal_s : ndarray
        Compute with all GPUs at their peak.
    kernels_s : ndarray
        Extra compute time because kernels run below the peak.
    recompute_s : ndarray
        Activation recomputation.
    tensor_s, context_s : ndarray
        Tensor-parallel and context-parallel exchange, which does not overlap with compute.
    bubble_s : ndarray
        Pipeline bubble: stages that are idle at the start and the end of a step.
    handover_s : ndarray
        Transfer of activations between stages during the bubble.
    data_s : ndarray
        Data-parallel exchange that is not overlapped, and gradient compression.
    stragglers_s : ndarray
        Waiting for the slowest node.
    """

    ideal_s: np.ndarray
    kernels_s: np.ndarray
    recompute_s: np.ndarray
    tensor_s: np.ndarray
    context_s: np.ndarray
    bubble_s: np.ndarray
    handover_s: np.ndarray
    data_s: np.ndarray
    stragglers_s: np.ndarray

    @property
    def total_s(self) -> np.ndarray:
        """Step time. [s]"""
        return np.asarray(sum(getattr(self, part.name) for part in fields(self)))

    @property
    def mfu(self) -> np.ndarray:
        """Model FLOPs utilisation: ideal step time divided by step time."""
        return np.asarray(self.ideal_s / self.total_s)

    @property
    def waiting_share(self) -> np.ndarray:
        """Share of the step in which a GPU waits for other GPUs."""
        waits = self.tensor_s + self.context_s + self.bubble_s + self.handover_s + self.data_s + self.stragglers_s
        return np.asarray(waits / self.total_s)


def step_time(
    model: Transformer,
    layout: Layout,
    n_gpus: Any,
    batch_tokens: Any,
    peak_tflops: float,
    network: Network,
    constants: Constants,
    sync: Sync | None = None,
) -> StepTime:
    r"""Return the step time of synchronous training, term by term. [s]

    Parameters
    ----------
    model : Transformer
        Model.
    layout : Layout
        Parallelism layout.
    n_gpus : float or ndarray
        GPUs of the job; need not be a multiple of the replica size, so that the value of the next GPU is defined.
        [GPUs]
    batch_tokens : float or ndarray
        Tokens per step over all replicas. [tokens]
    peak_tflops : float
        Dense peak of a GPU in the training precision. [TFLOP/s]
    network : Network
        Links.
    constants : Constants
        Kernel efficiency, jitter, overlap and latency.
    sync : Sync, optional
        Local SGD and compression; by default an uncompressed exchange in every step.

    Returns
    -------
    StepTime
        Broadcast shape; NaN where the batch has fewer sequences than there are replicas.

    Notes
    -----
    With n GPUs, batch B, m micro-batches per replica, degrees t, c and p of tensor, context and pipeline parallelism, v
    virtual stages, R = n / (t p) members of a ring of replicas, and activations of :math:`A = 2 b s h / c` bytes per
    micro-batch:

    - ideal :math:`F B / (n \Pi)`, kernels :math:`1/e - 1` times that, recomputation one third of their sum;
    - tensor :math:`8\,\frac{t-1}{t} A` per layer, and context :math:`6 (c-1) A \kappa / t`, over the links that join
      the group;
    - bubble :math:`(p-1)/(v m)` times the sum of the above (Narayanan et al. 2021), and :math:`2(p-1)` transfers of
      A / t;
    - data: :math:`(2+4)\,P/(tp)\,(R-1)/R` bytes over the ring and :math:`2 (R-1)` hops; if sharded, three times
      :math:`2 P / t` bytes and :math:`3 L (R-1)` hops per micro-batch. Of an exchange of C seconds,
      :math:`\max[C (1-o), C - T]` is exposed, where T is the compute time: at most the share o overlaps, and never for
      longer than the compute lasts;
    - stragglers: step times of nodes vary independently with coefficient of variation :math:`\sigma`, and the slowest
      node sets the pace: :math:`\sigma` times the exact expected maximum of n/8 standard normal values (for nodes of
      8 GPUs).

    Local SGD with H steps divides the exchange by H and the wait by :math:`\sqrt H`; compression divides the bytes.
    Independent, normal jitter and a ring without hierarchy are pessimistic for very large jobs. With e = 1, no jitter,
    infinite links and data parallelism alone, throughput is n times that of one GPU.

    Examples
    --------
    >>> llama = Transformer(405e9, 126, 16384, 8192, 1 / 16)
    >>> step = step_time(llama, Layout(8, 1, 16, 8), 16384, 2**24, 989.4, Network(450, 50), Constants(0.56, 0.01))
    >>> round(float(step.mfu), 3)
    0.434
    """
    sync = sync or Sync()
    n, batch = np.asarray(n_gpus, dtype=float), np.asarray(batch_tokens, dtype=float)
    t, c, p = (np.asarray(cut, dtype=float) for cut in (layout.tensor, layout.context, layout.pipeline))
    m = micro_batches(model, layout, n, batch)
    # Compute: F B / (n Pi), divided by the kernel efficiency, plus one forward pass if recomputed.
    ideal = model.flop_per_token * batch / (n * peak_tflops * _FLOP_PER_TFLOP)
    recompute = np.where(layout.recompute, ideal / constants.kernel_efficiency / 3, 0.0)
    # Exchange within a replica, m micro-batches times L/p layers: activations of A = 2 b s h / c bytes.
    layers = model.n_layers / p
    state_gb = 2 * np.asarray(layout.micro_batch) * model.sequence_tokens / c * model.hidden / _B_PER_GB
    tensor = m * layers * _EXCHANGES * (t - 1) / t * state_gb / network.group_gb_s(t)
    context = m * layers * _CONTEXT_PASSES * 2 * (c - 1) * state_gb * model.kv_share / t / network.group_gb_s(t * c)
    compute = ideal / constants.kernel_efficiency + recompute
    busy = compute + tensor + context
    # Pipeline: a bubble of (p-1)/(v m) of the busy time, and 2 (p-1) transfers between stages.
    latency_s = np.asarray(constants.latency_us) * _S_PER_US
    bubble = (p - 1) / np.asarray(layout.virtual_stages) / m * busy
    handover = 2 * (p - 1) * (state_gb / t / network.group_gb_s(t * c * p) + latency_s)
    # Exchange between replicas: once per step, or once per micro-batch if the weights are sharded.
    n_exchanges = np.where(layout.sharded, np.maximum(m, 1.0), 1.0)
    exchange = n_exchanges * _exchange_s(model, layout, n, network, latency_s, sync) / sync.every_steps
    exposed = np.maximum(exchange * (1 - constants.overlap), exchange - compute)
    # Stragglers: sigma times the expected maximum of one standard normal value per node, averaged over H steps.
    slowest = (
        constants.jitter
        * largest_of_many(np.clip(n / network.gpus_per_node, 1.0, _MOST_NODES))
        / np.sqrt(sync.every_steps)
    )
    step = StepTime(
        ideal_s=ideal,
        kernels_s=ideal * (1 / np.asarray(constants.kernel_efficiency) - 1),
        recompute_s=recompute,
        tensor_s=tensor,
        context_s=context,
        bubble_s=bubble,
        handover_s=handover,
        data_s=exposed + sync.compression_share * compute,
        stragglers_s=slowest * (busy + bubble),
    )
    parts = np.broadcast_arrays(*(getattr(step, part.name) for part in fields(step)), m)
    enough = parts[-1] >= 1 - ROUNDING
    return StepTime(*(np.where(enough, part, np.nan) for part in parts[:-1]))


_MOST_NODES = 1e9
"""Largest number of nodes for the slowest of them; more nodes count as this number."""


def _exchange_s(
    model: Transformer, layout: Layout, n: np.ndarray, network: Network, latency_s: Any, sync: Sync
) -> np.ndarray:
    """Time of an exchange between replicas before overlap: per step or, if sharded, per micro-batch. [s]"""
    t, p = np.asarray(layout.tensor, dtype=float), np.asarray(layout.pipeline, dtype=float)
    members = np.maximum(n / (t * p), 1.0)
    node_members = np.maximum(network.gpus_per_node / t, 1.0)
    ring = network.ring_gb_s(n, layout.replica_gpus, node_members)
    ring = np.where(members <= node_members, network.inside_gb_s, ring)
    # Ring collectives: each pass moves (R-1)/R of the weights per GPU and takes R-1 hops.
    weights_gb = model.n_parameters / (t * p) / _B_PER_GB
    passes = np.where(layout.sharded, _GATHERS * WEIGHT_BYTES, WEIGHT_BYTES + GRADIENT_BYTES)
    hops = np.where(layout.sharded, _GATHERS * model.n_layers / p, 2.0) * (members - 1)
    return np.asarray(passes * weights_gb * (members - 1) / members / sync.compression_ratio / ring + hops * latency_s)
