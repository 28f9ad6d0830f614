"""Checkpoint intervals: the published rules and the exact optimum, assuming exponential failures."""

from __future__ import annotations

from typing import Any

import numpy as np

from ettr.core.validity import above_zero, at_least_zero, plain, valid_only

_NEWTON_STEPS = 7


def young_interval(stall_h: Any, mttf_h: Any) -> Any:
    r"""Return Young's checkpoint interval. [h]

    Parameters
    ----------
    stall_h : float or ndarray
        Checkpoint stall: time for which training stops at each checkpoint, w. [h]
    mttf_h : float or ndarray
        Mean time to failure of the job, M; may be infinite. [h]

    Returns
    -------
    float or ndarray
        Productive hours between checkpoints, >= 0. [h]

    Raises
    ------
    InputError
        If the stall is negative, or the time to failure is not positive.

    Notes
    -----
    :math:`\tau = \sqrt{2 w M}` minimises the first-order loss :math:`w/\tau + \tau/2M`, valid for
    :math:`\tau \ll M`. Young (1974).

    Examples
    --------
    >>> round(young_interval(5 / 60, 24.0) * 60, 1)
    120.0
    """
    return plain(_mean_root(at_least_zero("stall_h", stall_h, unit="h"), _mttf(mttf_h)))


def daly_first_order_interval(stall_h: Any, mttf_h: Any, restart_h: Any = 0.0) -> Any:
    r"""Return Daly's first-order interval, which includes the restart. [h]

    Parameters
    ----------
    stall_h, mttf_h : float or ndarray
        As in :func:`young_interval`. [h]
    restart_h : float or ndarray
        Restart time, R. [h]

    Returns
    -------
    float or ndarray
        Productive hours between checkpoints, > 0. [h]

    Raises
    ------
    OutsideValidity
        If w >= 2 (M + R), where the formula is negative.

    Notes
    -----
    :math:`\tau = \sqrt{2 w (M + R)} - w`. Daly (2003).

    Examples
    --------
    >>> round(daly_first_order_interval(5 / 60, 24.0, 10 / 60) * 60, 2)
    115.42
    """
    stall = at_least_zero("stall_h", stall_h, unit="h")
    cycle = _mttf(mttf_h) + at_least_zero("restart_h", restart_h, unit="h")
    tau = _mean_root(stall, cycle) - stall
    return valid_only("daly_first_order_interval", "stall_h < 2 (mttf_h + restart_h)", tau, stall >= 2 * cycle)


def daly_interval(stall_h: Any, mttf_h: Any) -> Any:
    r"""Return Daly's higher-order interval. [h]

    Parameters
    ----------
    stall_h, mttf_h : float or ndarray
        As in :func:`young_interval`. [h]

    Returns
    -------
    float or ndarray
        Productive hours between checkpoints. [h]

    Notes
    -----
    :math:`\tau = \sqrt{2wM}\,[1 + \tfrac13\sqrt{w/2M} + \tfrac19 (w/2M)] - w` for :math:`w < 2M`, else
    :math:`M`: an expansion of :func:`exact_interval`. Daly (2006).

    Examples
    --------
    >>> round(daly_interval(5 / 60, 24.0) * 60), round(daly_interval(5 / 60, 6.0) * 60)
    (117, 57)
    """
    stall, mttf = np.broadcast_arrays(at_least_zero("stall_h", stall_h, unit="h"), _mttf(mttf_h))
    ratio = stall / (2 * mttf)  # w/2M, the expansion parameter
    tau = _mean_root(stall, mttf) * (1 + np.sqrt(ratio) / 3 + ratio / 9) - stall
    return plain(np.where(stall < 2 * mttf, tau, mttf))


def exact_interval(stall_h: Any, mttf_h: Any, persist_h: Any = 0.0, persist_slowdown: Any = 0.0) -> Any:
    r"""Return the interval that minimises the exact expected run time. [h]

    Parameters
    ----------
    stall_h, mttf_h : float or ndarray
        As in :func:`young_interval`. [h]
    persist_h : float or ndarray
        Background write after the stall, p. [h]
    persist_slowdown : float or ndarray
        Share of throughput lost during the write, s, in [0, 1).

    Returns
    -------
    float or ndarray
        Productive hours between checkpoints; never shorter than the training done during the write. [h]

    Raises
    ------
    InputError
        If a time is negative, or the slowdown is outside [0, 1).

    Notes
    -----
    :math:`\tau^* = \max\{(1-s)p,\; M[1 + W_0(-e^{-1-(w+sp)/M})]\}`, independent of restart and detection time
    (Bougeret et al. 2011). Substituting :math:`\tau = M(1-e^{-u})` turns it into the root of
    :math:`u + e^{-u} - 1 = (w+sp)/M`, which Newton's method solves to full precision where the Lambert function loses
    digits (small stalls).

    Examples
    --------
    >>> round(exact_interval(5 / 60, 24.0) * 60, 2), round(exact_interval(5 / 60, 6.0) * 60, 2)
    (116.69, 56.71)
    """
    persist = at_least_zero("persist_h", persist_h, unit="h")
    slowdown = at_least_zero("persist_slowdown", persist_slowdown)
    above_zero("1 - persist_slowdown", 1 - slowdown)
    mttf = _mttf(mttf_h)
    cost = at_least_zero("stall_h", stall_h, unit="h") + slowdown * persist  # w + sp, the overhead per checkpoint
    with np.errstate(invalid="ignore"):
        tau = np.where(np.isinf(mttf), np.where(cost > 0, np.inf, 0.0), -np.expm1(-_root(cost / mttf)) * mttf)
    return plain(np.maximum(tau, (1 - slowdown) * persist))  # a new checkpoint cannot start during the last write


def _root(ratio: np.ndarray) -> np.ndarray:
    """Solve u + exp(-u) - 1 = ratio for u >= 0; Newton's method from the right stays on the convex branch."""
    # Start from the expansion for small ratios, u = sqrt(2r) + r/3 + ..., shifted to the right for large ones.
    u: np.ndarray = np.sqrt(2 * ratio) + ratio / 3 + np.where(ratio > 1, ratio, 0.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        for _ in range(_NEWTON_STEPS):
            u = np.where(ratio > 0, u - (_curve(u) - ratio) / -np.expm1(-u), 0.0)
    return u


def _curve(u: np.ndarray) -> np.ndarray:
    """u + exp(-u) - 1, from its series for u < 0.2, where the difference would lose digits."""
    small = np.minimum(u, 0.2)
    term, series = small**2 / 2, small**2 / 2
    for n in range(3, 14):
        term = -term * small / n
        series = series + term
    return np.asarray(np.where(u < 0.2, series, u + np.expm1(-u)))


def availability_interval(save_h: Any, mttf_h: Any, recovery_h: Any = 0.0) -> Any:
    r"""Return NVIDIA's interval, which maximises availability, as productive time. [h]

    Parameters
    ----------
    save_h : float or ndarray
        Time to save, during which training stops, T_s. [h]
    mttf_h : float or ndarray
        Mean time to failure, T_f. [h]
    recovery_h : float or ndarray
        Time to recover, T_r. [h]

    Returns
    -------
    float or ndarray
        Productive hours between checkpoints: the published optimum is the whole cycle, save included. [h]

    Notes
    -----
    :math:`T_c - T_s = \sqrt{T_s^2 + 2 (T_f + T_r) T_s}`. Saxena et al. (2024).

    Examples
    --------
    >>> round(availability_interval(5 / 60, 24.0, 10 / 60) * 60, 2)
    120.52
    """
    save = at_least_zero("save_h", save_h, unit="h")
    recovery = at_least_zero("recovery_h", recovery_h, unit="h")
    return plain(np.hypot(save, _mean_root(save, _mttf(mttf_h) + recovery)))


def _mean_root(stall_h: np.ndarray, mttf_h: np.ndarray) -> np.ndarray:
    """√(2wM), with 0 for a free checkpoint even if nothing ever fails."""
    with np.errstate(invalid="ignore"):
        return np.where(stall_h > 0, np.sqrt(2 * stall_h) * np.sqrt(mttf_h), 0.0)


def _mttf(mttf_h: Any) -> np.ndarray:
    """Check a mean time to failure, which may be infinite."""
    return above_zero("mttf_h", mttf_h, unit="h", infinite=True)
