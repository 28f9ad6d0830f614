"""Links between GPUs: their speed, and what topology, placement and failed links leave of it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Network:
    """Links of one GPU, in one direction.

    Attributes
    ----------
    inside_gb_s, across_gb_s : float or ndarray
        To others of its node, and out of the node; infinite: perfect links. [GB/s]
    gpus_per_node : int
        GPUs that the faster links join. [GPUs]
    pod_gpus : float
        GPUs under switches that leave no speed behind; infinite: all of them. [GPUs]
    oversubscription : float
        Speed into a pod's switches from below over that from above, at least 1.
    aware : bool
        Jobs are laid out so that rings leave a pod as seldom as they can; otherwise nodes stand anywhere.
    failed_share : float or ndarray
        Links out of the node that have failed.
    adaptive : bool
        Traffic spreads over the links that are left; otherwise two flows share one, and the slower sets the pace.
    """

    inside_gb_s: Any = math.inf
    across_gb_s: Any = math.inf
    gpus_per_node: int = 8
    pod_gpus: float = math.inf
    oversubscription: Any = 1.0
    aware: bool = True
    failed_share: Any = 0.0
    adaptive: bool = True

    @property
    def left_share(self) -> Any:
        """Speed that failed links leave to the slowest flow.

        Adaptive routing leaves 1 - f; with fixed routes a single failed link leaves two flows on one of the others,
        hence at most half, as the RSC clusters saw (Kokolis et al. 2025: more than half may be lost).
        """
        failed = np.asarray(self.failed_share, dtype=float)
        return 1 - failed if self.adaptive else np.where(failed > 0, np.minimum(0.5, 1 - failed), 1.0)

    def ring_gb_s(self, n_gpus: Any, replica_gpus: Any, node_members: Any) -> Any:
        r"""Speed of a ring over all replicas, for each of its GPUs. [GB/s]

        Notes
        -----
        A ring with q members in each node (``node_members``) has all their links out of it, and is no faster than the
        links inside: :math:`\min(b, q B)`. Of a ring with d members in a pod one flow leaves it, and its share of the
        pod's links upwards is :math:`d B / o`, which aware placement is held to. With nodes anywhere the share
        :math:`1 - 1/k` of the flows leaves one of k pods, which keeps :math:`q B / [o (1 - 1/k)]`.
        """
        across = self.across_gb_s * self.left_share
        pods = np.maximum(np.asarray(n_gpus, dtype=float) / self.pod_gpus, 1.0)
        with np.errstate(divide="ignore"):
            upwards = node_members * across / (self.oversubscription * (1 - 1 / pods))
        if self.aware:
            members = np.maximum(self.pod_gpus / np.asarray(replica_gpus, dtype=float), node_members)
            upwards = np.maximum(upwards, across * members / self.oversubscription)
        free = np.minimum(self.inside_gb_s, node_members * across)
        return np.where(pods > 1, np.minimum(free, upwards), free)

    def group_gb_s(self, gpus: Any) -> Any:
        """Speed among so many neighbouring GPUs: inside a node as long as they fit into it. [GB/s]"""
        fits = np.asarray(gpus) <= self.gpus_per_node
        return np.where(fits, self.inside_gb_s, self.across_gb_s * self.left_share)
