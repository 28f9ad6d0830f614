"""How long a run takes: mean times until a failure, or until work is done in spite of failures."""

from __future__ import annotations

from typing import Any

import numpy as np

from ettr.core.validity import above_zero, at_least_zero, valid_only

LARGEST_EXPONENT = 700.0
"""Beyond this exponent a time overflows a float."""


def expected_runtime(
    work_h: Any, interval_h: Any, stall_h: Any, mttf_h: Any, restart_h: Any, downtime_h: Any = 0.0
) -> Any:
    r"""Daly's exact expected wall clock of a run. [h]

    Parameters
    ----------
    work_h : float or ndarray
        Productive hours of the run, W. [h]
    interval_h : float or ndarray
        Productive hours between checkpoints, τ. [h]
    stall_h, mttf_h : float or ndarray
        As in :func:`young_interval`. [h]
    restart_h : float or ndarray
        Restart after a failure, during which failures strike again, R. [h]
    downtime_h : float or ndarray
        Time after a failure in which none strikes (detection, queue), D. [h]

    Returns
    -------
    float or ndarray
        Expected wall clock, >= work. [h]

    Raises
    ------
    InputError
        A negative or non-finite time, or one that must be positive and is not.
    OutsideValidity
        Where the result is larger than a float can hold.

    Notes
    -----
    :math:`E[T] = e^{R/M} (M + D) (e^{(\tau + w)/M} - 1)\, W/\tau`: steady state, W/τ whole segments, exponential
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
        total = growth(rate, segment) * (np.exp(rate * restart) * (1 + rate * downtime)) * n_segments
    largest = np.max(rate) * (np.max(segment) + np.max(restart))
    overflow = np.isinf(total) if largest > LARGEST_EXPONENT else False
    return valid_only("expected_runtime", "runs whose expected time a float can hold", total, overflow)


def growth(rate_per_h: Any, duration_h: Any) -> np.ndarray:
    """(e^{λx} - 1)/λ: mean time of tries until one of length x survives; x where λ = 0. [h]"""
    rate, duration = np.asarray(rate_per_h, dtype=float), np.asarray(duration_h, dtype=float)
    grown = np.asarray(rate * duration)
    np.expm1(grown, out=grown)
    grown /= np.where(rate > 0, rate, 1.0)
    return np.where(rate > 0, grown, duration) if np.any(rate == 0) else grown


def mean_until(rate_per_h: Any, duration_h: Any) -> np.ndarray:
    """(1 - e^{-λx})/λ: mean time until a failure or until x, whichever is first; x where λ = 0. [h]"""
    rate, duration = np.asarray(rate_per_h, dtype=float), np.asarray(duration_h, dtype=float)
    cut = -np.expm1(-rate * duration) / np.where(rate > 0, rate, 1.0)
    return np.where(rate > 0, cut, duration) if np.any(rate == 0) else np.asarray(cut)
