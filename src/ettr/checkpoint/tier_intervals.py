"""How often to checkpoint to each of several tiers, to first order."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ettr.core.errors import InputError
from ettr.core.validity import above_zero, at_least_zero, plain


def first_order_intervals(stall_h: Any, severity_rate_per_h: Any) -> np.ndarray:
    r"""Interval of each tier that loses least, to first order. [h]

    Parameters
    ----------
    stall_h : array (..., L)
        Stall that a checkpoint of a tier adds to those of the faster ones, w; tiers on the last axis, fastest
        first. [h]
    severity_rate_per_h : array (..., L)
        Failures per hour whose fastest surviving tier this is, :math:`\lambda_l`. [1/h]

    Returns
    -------
    ndarray (..., L)
        Productive hours between checkpoints of each tier, never less than that of the tier before; infinite where
        a tier and all slower ones are never needed. [h]

    Raises
    ------
    InputError
        A negative or infinite value, or no tier.

    Notes
    -----
    Each tier alone: :math:`\tau_l = \sqrt{2 w_l / \lambda_l}`, Young's interval for the failures that only it and the
    slower tiers survive; the loss is then :math:`\sum_l \sqrt{2 w_l \lambda_l}` (Di et al. 2014; Benoit et al. 2017),
    for intervals far below the mean time to failure. A checkpoint of a tier is one of every faster tier, so intervals
    must not decrease. Where they would, the tiers share the interval
    :math:`\sqrt{2 \sum w / \sum \lambda}`. That is the optimum under the constraint: in
    :math:`x_l = \ln \tau_l` the loss :math:`\sum_l (w_l e^{-x_l} + \lambda_l e^{x_l}/2)` is convex and its only
    coupling is :math:`x_l \le x_{l+1}`; if the best :math:`x_l` of a tier lies above that of the next, moving them
    together lowers the loss until they meet, and tiers that have met behave as one with the sum of their w and
    of their :math:`\lambda` (pool adjacent violators, Ayer et al. 1955). Leaving out the faster of two tiers that
    share an interval would cost less still, by its stalls: it is worth its place only by loading faster.

    Examples
    --------
    >>> (first_order_intervals([0.5 / 3600, 10 / 3600], [0.3, 0.03]) * 60).round(2).tolist()
    [1.83, 25.82]
    >>> (first_order_intervals([10 / 3600, 10 / 3600], [0.03, 0.3]) * 60).round(2).tolist()
    [11.01, 11.01]
    """
    stall, rate = np.broadcast_arrays(
        at_least_zero("stall_h", stall_h, unit="h"),
        at_least_zero("severity_rate_per_h", severity_rate_per_h, unit="1/h"),
    )
    if stall.ndim == 0 or not stall.shape[-1]:
        raise InputError(f"stall_h and severity_rate_per_h must hold one value a tier, got shape {stall.shape}")
    n_tiers = stall.shape[-1]
    rows = [_pooled(*row) for row in zip(stall.reshape(-1, n_tiers), rate.reshape(-1, n_tiers), strict=True)]
    return np.array(rows).reshape(stall.shape)


def first_order_loss(interval_h: Any, stall_h: Any, severity_rate_per_h: Any) -> Any:
    r"""Time lost to stalls and rework per productive hour, with several tiers, to first order.

    Parameters
    ----------
    interval_h : array (..., L)
        Productive hours between checkpoints of each tier, fastest first; may be infinite. [h]
    stall_h, severity_rate_per_h : array (..., L)
        As in :func:`first_order_intervals`.

    Returns
    -------
    float or ndarray (...)
        Sum over the last axis, >= 0; infinite where a tier that failures need is never written.

    Raises
    ------
    InputError
        A negative value, or an interval of 0 for a stall that is not.

    Notes
    -----
    :math:`\sum_l (w_l/\tau_l + \lambda_l \tau_l/2)`, which is :math:`\sum_l \sqrt{2 w_l \lambda_l}` at the best
    intervals where none is shared. Detection, loading and restart come on top. Benoit et al. (2017).

    Examples
    --------
    >>> stall_h, rate = [0.5 / 3600, 10 / 3600], [0.3, 0.03]
    >>> round(first_order_loss(first_order_intervals(stall_h, rate), stall_h, rate), 5)
    0.02204
    """
    interval = at_least_zero("interval_h", interval_h, unit="h", infinite=True)
    stall = at_least_zero("stall_h", stall_h, unit="h")
    rate = at_least_zero("severity_rate_per_h", severity_rate_per_h, unit="1/h")
    above_zero("interval_h", np.where(stall > 0, interval, 1.0), unit="h", infinite=True)
    stalls = np.where(stall > 0, stall / np.where(interval > 0, interval, 1.0), 0.0)
    rework = np.where(rate > 0, rate, 0.0) * np.where(rate > 0, interval, 0.0) / 2
    return plain((stalls + rework).sum(axis=-1))


def _pooled(stall: np.ndarray, rate: np.ndarray) -> list[float]:
    """Blocks of tiers that share an interval, each with its summed stall and rate."""
    blocks: list[tuple[float, float, int]] = []
    for w, severity in zip(stall.tolist(), rate.tolist(), strict=True):
        block = (w, severity, 1)
        while blocks and _square(*blocks[-1]) > _square(*block):
            before = blocks.pop()
            block = (before[0] + block[0], before[1] + block[1], before[2] + block[2])
        blocks.append(block)
    return [math.sqrt(_square(*block)) for block in blocks for _ in range(block[2])]


def _square(stall_h: float, rate_per_h: float, _: int) -> float:
    """2w/λ; a free checkpoint is always taken, a costly one never if no failure needs it."""
    if stall_h == 0:
        return 0.0
    return 2 * stall_h / rate_per_h if rate_per_h > 0 else math.inf
