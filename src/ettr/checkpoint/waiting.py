"""How long a run takes: mean times until a failure, or until work is done in spite of failures."""

from __future__ import annotations

from typing import Any

import numpy as np

from ettr.core.validity import above_zero, at_least_zero, valid_only

LARGEST_EXPONENT = 700.0
"""Beyond this exponent a time overflows a float."""
_REACH = 8.5
"""Standard deviations of a log-normal time's logarithm that its quadrature covers."""


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


def laplace(duration_h: Any, cv: float, rate_per_h: Any) -> Any:
    r"""Return :math:`E\,e^{-sX}` of a fixed or log-normal time X: the probability that no failure strikes within it.

    Parameters
    ----------
    duration_h : float or ndarray
        Mean of the time. [h]
    cv : float
        Its coefficient of variation; 0 for a fixed time.
    rate_per_h : float or ndarray
        The rate s of failures, or a complex argument of the transform. [1/h]
    """
    if cv == 0:
        return np.exp(-rate_per_h * duration_h)
    exponent, correction = _log_normal_laplace(duration_h, cv, rate_per_h)
    value = np.exp(exponent) * (1 + correction)
    return value if np.iscomplexobj(rate_per_h) else value.real


def laplace_complement(duration_h: Any, cv: float, rate_per_h: Any) -> Any:
    r"""Return :math:`1 - E\,e^{-sX}`, with all digits where it is small; parameters as of :func:`laplace`."""
    if cv == 0:
        return -np.expm1(-rate_per_h * duration_h)
    exponent, correction = _log_normal_laplace(duration_h, cv, rate_per_h)
    complement = -(np.expm1(exponent) + np.exp(exponent) * correction)
    return complement if np.iscomplexobj(rate_per_h) else complement.real


def _log_normal_laplace(duration_h: Any, cv: float, s: Any) -> tuple[Any, Any]:
    r"""Return the exponent at the saddle point of a log-normal time's transform, and the relative correction to it.

    The integral over :math:`\ln X` runs along the line through its saddle point, where it hardly turns however large s
    is (Asmussen, Jensen and Rojas-Nandayapa 2016, On the Laplace transform of the lognormal distribution).
    """
    from scipy.special import lambertw  # 0.1 s to load, and needed here alone

    variance = np.log1p(cv**2)
    sigma = np.sqrt(variance)
    at_saddle = lambertw(variance * np.exp(-variance / 2) * duration_h * s) / variance
    x = np.linspace(-_REACH, _REACH, int(48 + 32 * variance * (1 + variance)))
    weight = np.exp(-x * x / 2)
    correction: Any = 0.0  # one point of the line after the other: all of them together would need much memory
    for share, bend in zip(weight / weight.sum(), np.expm1(sigma * x) - sigma * x, strict=True):
        correction = correction + share * np.expm1(-bend * at_saddle)
    return -at_saddle * (1 + variance * at_saddle / 2), correction
