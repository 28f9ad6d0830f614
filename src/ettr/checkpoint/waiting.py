"""Expected run times: mean time until a failure, and until work is finished despite failures."""

from __future__ import annotations

from typing import Any

import numpy as np

from ettr.core.validity import above_zero, at_least_zero, valid_only

LARGEST_EXPONENT = 700.0
"""Largest exponent at which exp() does not overflow a float."""


def expected_runtime(
    work_h: Any, interval_h: Any, stall_h: Any, mttf_h: Any, restart_h: Any, downtime_h: Any = 0.0
) -> Any:
    r"""Return the exact expected wall-clock time of a run, by Daly. [h]

    Parameters
    ----------
    work_h : float or ndarray
        Productive hours of the run, W. [h]
    interval_h : float or ndarray
        Productive hours between checkpoints, τ. [h]
    stall_h, mttf_h : float or ndarray
        As in :func:`young_interval`. [h]
    restart_h : float or ndarray
        Restart after a failure, during which further failures can strike, R. [h]
    downtime_h : float or ndarray
        Time after a failure during which no failure strikes (detection, queue), D. [h]

    Returns
    -------
    float or ndarray
        Expected wall-clock time, >= work. [h]

    Raises
    ------
    InputError
        If a time is negative or not finite, or a work, interval or MTTF is not positive.
    OutsideValidity
        If the result overflows a float.

    Notes
    -----
    :math:`E[T] = e^{R/M} (M + D) (e^{(\tau + w)/M} - 1)\, W/\tau`: steady state, W/τ equal segments, exponential
    failures that also strike stalls and restarts. Daly (2006); D as in Bougeret et al. (2011).

    Examples
    --------
    >>> round(expected_runtime(500.0, 116.69 / 60, 5 / 60, 24.0, 10 / 60), 2)
    547.88
    """
    tau = above_zero("interval_h", interval_h, unit="h")
    segment = tau + at_least_zero("stall_h", stall_h, unit="h")
    restart = at_least_zero("restart_h", restart_h, unit="h")
    rate = 1 / above_zero("mttf_h", mttf_h, unit="h", infinite=True)
    downtime = at_least_zero("downtime_h", downtime_h, unit="h")
    n_segments = above_zero("work_h", work_h, unit="h") / tau
    with np.errstate(over="ignore"):
        # (e^{(τ+w)/M} - 1) M, times e^{R/M} (1 + D/M), times W/τ segments.
        total = growth(rate, segment) * (np.exp(rate * restart) * (1 + rate * downtime)) * n_segments
    largest = np.max(rate) * (np.max(segment) + np.max(restart))
    overflow = np.isinf(total) if largest > LARGEST_EXPONENT else False
    return valid_only("expected_runtime", "runs whose expected time does not overflow", total, overflow)


def growth(rate_per_h: Any, duration_h: Any) -> np.ndarray:
    """Return (e^{λx} - 1)/λ, the mean total time of attempts until one of length x survives; x if λ = 0. [h]

    Examples
    --------
    >>> round(float(growth(1 / 24, 2.0)), 3)  # two hours without a failure, MTTF 24 h
    2.086
    """
    rate, duration = np.asarray(rate_per_h, dtype=float), np.asarray(duration_h, dtype=float)
    total = np.asarray(rate * duration)
    np.expm1(total, out=total)
    total /= np.where(rate > 0, rate, 1.0)
    return np.where(rate > 0, total, duration) if np.any(rate == 0) else total


def mean_until(rate_per_h: Any, duration_h: Any) -> np.ndarray:
    """Return (1 - e^{-λx})/λ, the mean time until a failure or until x, whichever is first; x if λ = 0. [h]

    Examples
    --------
    >>> round(float(mean_until(1 / 24, 2.0)), 3)  # MTTF 24 h, at most two hours
    1.919
    """
    rate, duration = np.asarray(rate_per_h, dtype=float), np.asarray(duration_h, dtype=float)
    mean = -np.expm1(-rate * duration) / np.where(rate > 0, rate, 1.0)
    return np.where(rate > 0, mean, duration) if np.any(rate == 0) else np.asarray(mean)
