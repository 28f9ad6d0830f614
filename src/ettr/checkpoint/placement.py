"""Survival of in-memory peer checkpoints: the chance that every part of the state still has a copy after a failure."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, Literal, get_args

import numpy as np

from ettr.core.errors import InputError, UnknownName
from ettr.core.validity import above_zero, at_least_zero, plain

Placement = Literal["group", "ring"]
"""``group``: nodes in a group store each other's state. ``ring``: each node's state is also on the next nodes."""

_PLACEMENTS = get_args(Placement)


def peer_survival(n_nodes: Any, n_lost: Any, copies: Any = 2, placement: Placement = "group") -> Any:
    r"""Return the probability that every part of the state survives on some node when several nodes fail at once.

    Parameters
    ----------
    n_nodes : float or ndarray
        Nodes of the job, N; rounded down to a whole number. [count]
    n_lost : int or ndarray of int
        Nodes that lose their memory at once, k; all sets of k nodes are equally likely. [count]
    copies : int or ndarray of int
        Nodes that store each part, its own node included, m; at most N. [count]
    placement : {"group", "ring"}
        ``group``: the nodes form groups of m, and a part is lost if its whole group is; if m does not divide N, the
        last m + N mod m nodes form a ring. ``ring``: a node and the m - 1 nodes after it store a part, which is lost
        if m neighbours fail.

    Returns
    -------
    float or ndarray
        Broadcast shape; in [0, 1]. 1 for k < m, 0 for k >= N (unless k is 0).

    Raises
    ------
    InputError
        If a count is negative or not a whole number, or there are more copies than nodes.
    UnknownName
        If the placement is neither ``group`` nor ``ring``.

    Notes
    -----
    Exact, by inclusion-exclusion over the groups that are lost completely, in integer arithmetic: of
    :math:`\binom{N}{k}` sets,

    .. math:: \sum_j (-1)^j \binom{N/m}{j} \binom{N - mj}{k - mj}
       \qquad\text{and}\qquad
       \frac{N}{N-k} \sum_j (-1)^j \binom{N-k}{j} \binom{N - mj - 1}{k - mj}

    leave at least one node of each group of m, and of each m neighbours in a ring (the gaps between the N - k remaining
    nodes then have fewer than m nodes each). With a remainder, the generating functions of both are multiplied.
    Stopping the first sum at j = 1 gives the published bound
    :math:`1 - \frac{N}{m}\binom{N-m}{k-m}/\binom{N}{k}`, exact for k < 2m. Placements and bound: Wang et al. (2023),
    who call the placement with a remainder mixed.

    Examples
    --------
    >>> [round(peer_survival(16, lost), 4) for lost in (1, 2, 3)]
    [1.0, 0.9333, 0.8]
    >>> round(peer_survival(16, 2, placement="ring"), 4), round(peer_survival(2048, 8, copies=3), 6)
    (0.8667, 0.999973)
    """
    if placement not in _PLACEMENTS:
        raise UnknownName("placement", placement, _PLACEMENTS)
    nodes = np.floor(at_least_zero("n_nodes", n_nodes))
    lost = whole_numbers("n_lost", at_least_zero("n_lost", n_lost))
    n_copies = whole_numbers("copies", above_zero("copies", copies))
    if np.any(n_copies > nodes):
        raise InputError(f"copies must be <= n_nodes = {nodes.min():g}, one per node, got {n_copies.max():g}")
    points = np.broadcast(nodes, lost, n_copies)
    shares = [_survival(int(n), int(k), int(m), placement) for n, k, m in points]
    return plain(np.array(shares).reshape(points.shape))


def whole_numbers(name: str, counts: np.ndarray) -> np.ndarray:
    """Check that counts are whole numbers."""
    fractional = counts != np.floor(counts)
    if np.any(fractional):
        raise InputError(f"{name} must be a whole number, got {counts[fractional].flat[0]:g}")
    return counts


@lru_cache(maxsize=1 << 16)
def _survival(n_nodes: int, n_lost: int, copies: int, placement: Placement) -> float:
    """Share of the sets of lost nodes that the state survives."""
    if n_lost < copies:
        return 1.0
    if n_lost >= n_nodes:
        return 0.0
    sets = _ring_sets if placement == "ring" else _mixed_sets
    return sets(n_nodes, n_lost, copies) / math.comb(n_nodes, n_lost)


def _mixed_sets(n_nodes: int, n_lost: int, copies: int) -> int:
    """Sets of lost nodes that the state survives in groups of m plus a last ring: a sum over the losses in the ring."""
    remainder = n_nodes % copies
    in_ring = copies + remainder if remainder else 0
    n_groups = (n_nodes - in_ring) // copies
    return sum(
        _ring_sets(in_ring, lost, copies) * _group_sets(n_groups, n_lost - lost, copies)
        for lost in range(min(in_ring, n_lost) + 1)
    )


def _group_sets(n_groups: int, n_lost: int, copies: int) -> int:
    """Sets of lost nodes that leave a node of each group, by inclusion-exclusion."""
    n_nodes = n_groups * copies
    return _alternating(n_groups, n_nodes, n_nodes - n_lost, copies)


def _ring_sets(n_nodes: int, n_lost: int, copies: int) -> int:
    """Sets of lost nodes without m neighbours in a ring: compositions of the losses into gaps shorter than m."""
    if n_lost < copies:
        return math.comb(n_nodes, n_lost)
    n_left = n_nodes - n_lost
    return _alternating(n_left, n_nodes - 1, n_left - 1, copies) * n_nodes // n_left if n_left else 0


def _alternating(choices: int, top: int, bottom: int, step: int) -> int:
    """Sum over j of (-1)^j C(choices, j) C(top - step j, bottom), each term from the previous; 0 for bottom < 0."""
    if not 0 <= bottom <= top:
        return 0
    term = math.comb(top, bottom)
    total = term
    for j in range(choices):
        if top - bottom < step:
            break
        term = -(term * (choices - j) * math.perm(top - bottom, step) // ((j + 1) * math.perm(top, step)))
        total += term
        top -= step
    return total
