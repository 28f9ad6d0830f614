"""Links between GPUs: bandwidth after topology, placement and failed links."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Network:
    """Bandwidth of one GPU in one direction, with topology, placement and failed links.

    Attributes
    ----------
    inside_gb_s, across_gb_s : float or ndarray
        Bandwidth within the node, and out of the node; infinite: perfect links. [GB/s]
    gpus_per_node : int
        GPUs of a node, joined by the faster links. [GPUs]
    pod_gpus : float
        GPUs of a pod, within which switches give full bandwidth; infinite: the whole cluster. [GPUs]
    oversubscription : float
        Bandwidth of a pod's switches downwards over upwards, at least 1.
    aware_placement : bool
        Topology-aware placement: rings cross pods as rarely as possible; otherwise nodes are placed at random.
    failed_share : float or ndarray
        Share of the links out of the node that have failed.
    adaptive : bool
        Adaptive routing spreads traffic over the remaining links; otherwise two flows share a link, and the slower
        flow sets the pace.

    Examples
    --------
    >>> network = Network(inside_gb_s=450, across_gb_s=50)
    >>> network.group_gb_s([8, 16]).tolist()  # GPUs of one node, and of two
    [450.0, 50.0]
    """

    inside_gb_s: Any = math.inf
    across_gb_s: Any = math.inf
    gpus_per_node: int = 8
    pod_gpus: float = math.inf
    oversubscription: Any = 1.0
    aware_placement: bool = True
    failed_share: Any = 0.0
    adaptive: bool = True

    @property
    def remaining_share(self) -> Any:
        """Share of the bandwidth that the slowest flow keeps when links have failed.

        With adaptive routing it is 1 - f. With static routes a failed link puts two flows on another link, so the share
        is at most half, as the RSC clusters measured (Kokolis et al. 2025: more than half may be lost).
        """
        failed = np.asarray(self.failed_share, dtype=float)
        return 1 - failed if self.adaptive else np.where(failed > 0, np.minimum(0.5, 1 - failed), 1.0)

    def ring_gb_s(self, n_gpus: Any, replica_gpus: Any, node_members: Any) -> Any:
        r"""Return the bandwidth per GPU of a ring over all replicas. [GB/s]

        Notes
        -----
        A ring with q members in each node (``node_members``) uses all their links out of the node, and is no faster
        than the links inside: :math:`\min(b, q B)`. With aware placement and d members in a pod, one flow of the ring
        leaves the pod, with :math:`d B / o` of the uplinks. With random placement over k pods the share
        :math:`1 - 1/k` of the flows leaves its pod, so each gets :math:`q B / [o (1 - 1/k)]`.
        """
        across = self.across_gb_s * self.remaining_share
        pods = np.maximum(np.asarray(n_gpus, dtype=float) / self.pod_gpus, 1.0)
        with np.errstate(divide="ignore"):
            uplink = node_members * across / (self.oversubscription * (1 - 1 / pods))
        if self.aware_placement:
            pod_members = np.maximum(self.pod_gpus / np.asarray(replica_gpus, dtype=float), node_members)
            uplink = np.maximum(uplink, across * pod_members / self.oversubscription)
        within_pod = np.minimum(self.inside_gb_s, node_members * across)
        return np.where(pods > 1, np.minimum(within_pod, uplink), within_pod)

    def group_gb_s(self, gpus: Any) -> Any:
        """Return the bandwidth within a group of neighbouring GPUs, which is the node's if they fit into one. [GB/s]"""
        fits = np.asarray(gpus) <= self.gpus_per_node
        return np.where(fits, self.inside_gb_s, self.across_gb_s * self.remaining_share)
