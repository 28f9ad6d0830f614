"""Duration of a training step, term by term."""

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
"""Passes of a layer's state over the ring of tensor parallelism: two gathers and two scatters forward, as many back."""
_CONTEXT_PASSES = 3
"""Keys and values are gathered forward and backward, and their gradients scattered."""


@dataclass(frozen=True)
class Constants:
    """What isn't known of hardware and software before it is measured; each a number or an array.

    Attributes
    ----------
    kernel_efficiency : float
        Speed of a GPU that waits for nobody over its peak.
    jitter : float
        Coefficient of variation of a node's step.
    overlap : float
        Share of the data-parallel exchange that can hide behind computing.
    latency_us : float
        Time that each hop of a ring over nodes adds. [us]
    """

    kernel_efficiency: Any = 1.0
    jitter: Any = 0.0
    overlap: Any = 1.0
    latency_us: Any = 0.0


@dataclass(frozen=True)
class Sync:
    """How replicas are kept in step.

    Attributes
    ----------
    every_steps : float
        Steps between two exchanges of gradients (H of local SGD); 1: synchronous.
    compression_ratio : float
        Bytes of an exchange over its compressed bytes.
    compression_share : float
        Time that compressing takes, over that of computing.
    """

    every_steps: Any = 1.0
    compression_ratio: Any = 1.0
    compression_share: Any = 0.0


@dataclass(frozen=True)
class StepTime:
    """Parts of a step that sum to it, in the order of a chart; arrays of one shape. [s]

    Attributes
    ----------
    ideal_s : ndarray
        All GPUs at their peak.
    kernels_s : ndarray
        Kernels below the peak.
    recompute_s : ndarray
        Activations computed again.
    tensor_s, context_s : ndarray
        Exchange within layers and sequences, which nothing hides.
    bubble_s : ndarray
        Stages of the pipeline that have nothing to do at its beginning and end.
    handover_s : ndarray
        States on their way between stages meanwhile.
    data_s : ndarray
        Exchange between replicas that is not hidden, and compressing it.
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
        """The step. [s]"""
        return np.asarray(sum(getattr(self, part.name) for part in fields(self)))

    @property
    def mfu(self) -> np.ndarray:
        """Model FLOPs utilisation: the ideal step over the step."""
        return np.asarray(self.ideal_s / self.total_s)

    @property
    def waiting_share(self) -> np.ndarray:
        """Share of the step in which a GPU waits for others."""
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
    r"""Duration of a step of synchronous training, term by term [s].

    Parameters
    ----------
    model : Transformer
        The model.
    layout : Layout
        How it is cut.
    n_gpus : float or ndarray
        GPUs of the job; need not be whole multiples of a replica, which is what makes a next GPU's worth defined.
        [GPUs]
    batch_tokens : float or ndarray
        Tokens of a step over all replicas. [tokens]
    peak_tflops : float
        Of a GPU, dense, in the precision of training. [TFLOP/s]
    network : Network
        Links.
    constants : Constants
        Efficiency of kernels, jitter, overlap and latency.
    sync : Sync, optional
        Local SGD and compression; exchange in every step and in full by default.

    Returns
    -------
    StepTime
        Broadcast shape; NaN where the batch is smaller than the replicas.

    Notes
    -----
    With n GPUs, batch B, m micro-batches a replica, t, c and p GPUs of tensor, context and pipeline parallelism, v
    turns, R = n / (t p) members of a ring of replicas, and a state of :math:`A = 2 b s h / c` bytes a micro-batch:

    - ideal :math:`F B / (n \Pi)`, kernels :math:`1/e - 1` times that, recomputing a third of their sum;
    - tensor :math:`8\,\frac{t-1}{t} A` a layer, and context :math:`6 (c-1) A \kappa / t`, over the links that join
      the group;
    - bubble :math:`(p-1)/(v m)` of all of the above (Narayanan et al. 2021), and :math:`2(p-1)` hand-overs of A / t;
    - data: :math:`(2+4)\,P/(tp)\,(R-1)/R` bytes over the ring and :math:`2 (R-1)` hops; if sharded, three times
      :math:`2 P / t` bytes and :math:`3 L (R-1)` hops for each micro-batch. Of an exchange of C seconds
      :math:`\max[C (1-o), C - T]` is
      exposed, T being the time of computing: overlap hides a share, and never more than there is to hide behind;
    - stragglers: nodes' steps vary independently by the coefficient :math:`\sigma`, and the slowest of them sets the
      pace: :math:`\sigma` times the expected largest of so many normal values, exact and not by its bound.

    Local SGD with H steps divides the exchange by H and the wait by :math:`\sqrt H`; compression divides the bytes.
    Independent, normal jitter and a ring without hierarchy are the pessimistic end for very large jobs. All reduces to
    n-fold throughput where e = 1, jitter 0, links are infinite and nothing is cut.

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
    ideal = model.flop_per_token * batch / (n * peak_tflops * _FLOP_PER_TFLOP)
    recompute = np.where(layout.recompute, ideal / constants.kernel_efficiency / 3, 0.0)
    layers = model.n_layers / p
    state_gb = 2 * np.asarray(layout.micro_batch) * model.sequence_tokens / c * model.hidden / _B_PER_GB
    tensor = m * layers * _EXCHANGES * (t - 1) / t * state_gb / network.group_gb_s(t)
    context = m * layers * _CONTEXT_PASSES * 2 * (c - 1) * state_gb * model.kv_share / t / network.group_gb_s(t * c)
    busy = ideal / constants.kernel_efficiency + recompute
    worked = busy + tensor + context
    latency_s = np.asarray(constants.latency_us) * _S_PER_US
    bubble = (p - 1) / np.asarray(layout.virtual_stages) / m * worked
    handover = 2 * (p - 1) * (state_gb / t / network.group_gb_s(t * c * p) + latency_s)
    each = np.where(layout.sharded, np.maximum(m, 1.0), 1.0)
    exchange = each * _exchange_s(model, layout, n, network, latency_s, sync) / sync.every_steps
    exposed = np.maximum(exchange * (1 - constants.overlap), exchange - busy)
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
        data_s=exposed + sync.compression_share * busy,
        stragglers_s=slowest * (worked + bubble),
    )
    parts = np.broadcast_arrays(*(getattr(step, part.name) for part in fields(step)), m)
    enough = parts[-1] >= 1 - ROUNDING
    return StepTime(*(np.where(enough, part, np.nan) for part in parts[:-1]))


_MOST_NODES = 1e9
"""The slowest of more nodes is taken as that of so many."""


def _exchange_s(
    model: Transformer, layout: Layout, n: np.ndarray, network: Network, latency_s: Any, sync: Sync
) -> np.ndarray:
    """What the replicas exchange, hidden or not: in a step, or if sharded for a micro-batch. [s]"""
    t, p = np.asarray(layout.tensor, dtype=float), np.asarray(layout.pipeline, dtype=float)
    members = np.maximum(n / (t * p), 1.0)
    node_members = np.maximum(network.gpus_per_node / t, 1.0)
    ring = network.ring_gb_s(n, layout.replica_gpus, node_members)
    ring = np.where(members <= node_members, network.inside_gb_s, ring)
    own_gb = model.n_parameters / (t * p) / _B_PER_GB
    passes = np.where(layout.sharded, _GATHERS * WEIGHT_BYTES, WEIGHT_BYTES + GRADIENT_BYTES)
    hops = np.where(layout.sharded, _GATHERS * model.n_layers / p, 2.0) * (members - 1)
    return np.asarray(passes * own_gb * (members - 1) / members / sync.compression_ratio / ring + hops * latency_s)
