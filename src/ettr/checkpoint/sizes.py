"""Checkpoint size, and the time to write or read a checkpoint."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ettr.core.errors import InputError
from ettr.core.units import S_PER_H
from ettr.core.validity import above_zero, at_least_zero, plain

_BYTES_PER_GB = 1e9


def checkpoint_bytes(
    n_parameters: Any, bytes_per_parameter: Any = 12.0, changed_share: Any = 1.0, compression_ratio: Any = 1.0
) -> Any:
    r"""Return the size of a checkpoint as written. [B]

    Parameters
    ----------
    n_parameters : float or ndarray
        Parameters of the model. [count]
    bytes_per_parameter : float or ndarray
        Bytes saved per parameter: 12 for a master weight and two moments in fp32. [B]
    changed_share : float or ndarray
        Share of the state that changed and is written, in (0, 1].
    compression_ratio : float or ndarray
        Size of the state divided by its compressed size, >= 1.

    Returns
    -------
    float or ndarray
        Broadcast shape, > 0. [B]

    Raises
    ------
    InputError
        If a value is not positive, the share is above 1, or the ratio is below 1.

    Notes
    -----
    parameters x bytes x changed share / compression ratio. The default of 12 bytes is the state of mixed-precision
    Adam according to Rajbhandari et al. (2020).

    Examples
    --------
    >>> checkpoint_bytes(405e9) / 1e12
    4.86
    """
    changed = above_zero("changed_share", changed_share)
    if np.any(changed > 1):
        raise InputError(f"changed_share must be <= 1 (1 is the full state), got {changed.max():g}")
    ratio = above_zero("compression_ratio", compression_ratio)
    if np.any(ratio < 1):
        raise InputError(f"compression_ratio must be >= 1 (1 is no compression), got {ratio.min():g}")
    state = above_zero("n_parameters", n_parameters) * above_zero("bytes_per_parameter", bytes_per_parameter, unit="B")
    return plain(state * changed / ratio)


def transfer_h(n_bytes: Any, shared_gb_s: Any, n_nodes: Any = 1, node_gb_s: Any = math.inf) -> Any:
    r"""Return the time to write a checkpoint from all nodes, or to read it back. [h]

    Parameters
    ----------
    n_bytes : float or ndarray
        Size of the checkpoint, all nodes together. [B]
    shared_gb_s : float or ndarray
        Bandwidth of the store, which the nodes share; may be infinite. [GB/s]
    n_nodes : float or ndarray
        Nodes that each move an equal part at the same time. [count]
    node_gb_s : float or ndarray
        Bandwidth of each node; infinite if only the store limits. [GB/s]

    Returns
    -------
    float or ndarray
        Broadcast shape, >= 0. [h]

    Raises
    ------
    InputError
        If the size is negative, or a bandwidth or the number of nodes is not positive.

    Notes
    -----
    :math:`S / \min(B, N b)`: the time falls with the number of nodes until B / b nodes saturate the store.
    1 GB is :math:`10^9` bytes.

    Examples
    --------
    >>> [round(transfer_h(4.86e12, shared) * 3600, 2) for shared in (2000, 7000)]
    [2.43, 0.69]
    >>> round(transfer_h(4.86e12, 2000, n_nodes=64, node_gb_s=10) * 3600, 2)
    7.59
    """
    shared, node = _bandwidth("shared_gb_s", shared_gb_s), _bandwidth("node_gb_s", node_gb_s)
    speed = np.minimum(shared, above_zero("n_nodes", n_nodes) * node)
    return plain(at_least_zero("n_bytes", n_bytes, unit="B") / (_BYTES_PER_GB * speed) / S_PER_H)


def needed_gb_s(n_bytes: Any, within_h: Any) -> Any:
    r"""Return the bandwidth that moves a checkpoint within a time. [GB/s]

    Parameters
    ----------
    n_bytes : float or ndarray
        Size of the checkpoint. [B]
    within_h : float or ndarray
        Longest acceptable time. [h]

    Returns
    -------
    float or ndarray
        Broadcast shape, >= 0; both the store and all nodes together need it. [GB/s]

    Raises
    ------
    InputError
        If the size is negative, or the time is not positive.

    Examples
    --------
    >>> needed_gb_s(4.86e12, 2.43 / 3600)
    2000.0
    """
    time = above_zero("within_h", within_h, unit="h", infinite=True)
    return plain(at_least_zero("n_bytes", n_bytes, unit="B") / (_BYTES_PER_GB * time * S_PER_H))


def _bandwidth(name: str, values: Any) -> np.ndarray:
    """Check a bandwidth, which may be infinite."""
    return above_zero(name, values, unit="GB/s", infinite=True)
