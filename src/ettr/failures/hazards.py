"""How the failure rate of a job changes while it runs: burn-in, and nodes that start new."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
from scipy import interpolate

from ettr.core.validity import above_zero, at_least_zero, plain
from ettr.failures.renewal import renewal_count

FIRST_STRETCH = 1e-4
"""Mean lifetimes for which a fleet's rate is its mean: at age 0 it is 0 or infinite, unless the shape is 1."""

_GROWTH, _FINEST, _SETTLED, _HALF_WIDTH = 0.03, 0.02, 15.0, 0.002
_INVERTED_POINTS = 2000


def burn_in_rate(t_h: Any, settled_rate: Any, factor: Any, decay_h: Any, age_h: Any = 0.0) -> Any:
    r"""Failure rate of a fleet that settles. [unit of ``settled_rate``]

    Parameters
    ----------
    t_h : float or ndarray
        Exposed time since the job started. [h]
    settled_rate : float or ndarray
        Rate in the long run, in any unit.
    factor : float or ndarray
        Rate of a fleet of age 0, as a multiple of the settled one; below 1 for a rate that grows.
    decay_h : float or ndarray
        Exposed time in which the excess falls to 37%, θ. [h]
    age_h : float or ndarray
        Exposed time behind the fleet when the job started. [h]

    Returns
    -------
    float or ndarray
        Broadcast shape, >= 0.

    Raises
    ------
    InputError
        A negative value, or a decay that is not positive.

    Notes
    -----
    :math:`\lambda(t) = \lambda_\infty [1 + (f - 1)\, e^{-(t + a)/\theta}]`.

    Examples
    --------
    >>> [round(burn_in_rate(24.0 * day, 0.3, 5.0, 24.0 * 20), 3) for day in (0, 20, 200)]
    [1.5, 0.741, 0.3]
    """
    settled = at_least_zero("settled_rate", settled_rate)
    excess, decay, age = _burn_in(factor, decay_h, age_h)
    return plain(settled * (1 + excess * np.exp(-(at_least_zero("t_h", t_h, unit="h") + age) / decay)))


def burn_in_count(t_h: Any, settled_rate_per_h: Any, factor: Any, decay_h: Any, age_h: Any = 0.0) -> Any:
    r"""Expected failures of a fleet that settles, since the job started. [count]

    Parameters
    ----------
    t_h : float or ndarray
        Exposed time since the job started. [h]
    settled_rate_per_h : float or ndarray
        Rate in the long run. [1/h]
    factor, decay_h, age_h : float or ndarray
        As in :func:`burn_in_rate`.

    Returns
    -------
    float or ndarray
        Broadcast shape, >= 0. [count]

    Raises
    ------
    InputError
        As for :func:`burn_in_rate`.

    Notes
    -----
    The integral of :func:`burn_in_rate`:
    :math:`\lambda_\infty [t + (f - 1)\, \theta\, e^{-a/\theta} (1 - e^{-t/\theta})]`.

    Examples
    --------
    >>> round(burn_in_count(54 * 24.0, 0.3, 5.0, 24.0 * 20), 1)
    926.1
    """
    settled = at_least_zero("settled_rate_per_h", settled_rate_per_h, unit="1/h")
    excess, decay, age = _burn_in(factor, decay_h, age_h)
    time = at_least_zero("t_h", t_h, unit="h")
    return plain(settled * (time - excess * decay * np.exp(-age / decay) * np.expm1(-time / decay)))


def fleet_rate_per_h(t_h: Any, n_nodes: Any, node_rate_per_h: Any, shape: float) -> Any:
    r"""Failure rate of Weibull nodes that start new, each new again after its repair. [1/h]

    Parameters
    ----------
    t_h : float or ndarray
        Exposed time since all nodes started. [h]
    n_nodes : float or ndarray
        Nodes, N. [count]
    node_rate_per_h : float or ndarray
        Failures of a node per hour in the long run, one over its mean lifetime. [1/h]
    shape : float
        Weibull shape of lifetimes, 0.2 to 5.

    Returns
    -------
    float or ndarray
        Broadcast shape, >= 0. [1/h]

    Raises
    ------
    InputError
        A negative value, or a shape outside 0.2 to 5.

    Notes
    -----
    :math:`N m'(t)`, the slope of `ettr.failures.renewal.renewal_count`; exactly N times the rate for shape 1, and
    tending to it for every shape. At age 0 the slope is infinite for shapes below 1 and 0 above; in the first
    1e-4 mean lifetimes the rate is its mean over them, so that its integral is the expected count. The relative error
    is below 3e-3 for shapes above 3, and below 1e-3 otherwise. Cox (1962).

    Examples
    --------
    >>> [round(fleet_rate_per_h(24.0 * day, 2048, 419 / (2048 * 54 * 24), 0.7), 3) for day in (1, 54, 5400)]
    [1.433, 0.483, 0.323]
    """
    rate = at_least_zero("node_rate_per_h", node_rate_per_h, unit="1/h")
    age = at_least_zero("t_h", t_h, unit="h") * rate
    settled = at_least_zero("n_nodes", n_nodes) * rate
    _check_shape(shape)
    if shape == 1:
        return plain(settled * np.ones_like(age))
    if not age.size:
        return plain(settled * age)
    horizon = 2.0 ** math.ceil(math.log2(max(float(np.max(age)), 1.0)))
    density = np.exp(_slope(float(shape), horizon)(np.log(np.maximum(age, FIRST_STRETCH))))
    first = renewal_count(FIRST_STRETCH, shape, 1.0) / FIRST_STRETCH if np.any(age < FIRST_STRETCH) else 0.0
    return plain(settled * np.where(age < FIRST_STRETCH, first, density))


def settled_rate(n_events: Any, n_nodes: Any, window_h: Any, shape: float) -> Any:
    r"""Long-run failure rate of a node, from failures of nodes that were new when the window began. [1/h]

    Parameters
    ----------
    n_events : float or ndarray
        Failures in the window. [count]
    n_nodes : float or ndarray
        Nodes, all new at the start, N. [count]
    window_h : float or ndarray
        Exposed time that was watched, T. [h]
    shape : float
        Weibull shape of lifetimes, 0.2 to 5.

    Returns
    -------
    float or ndarray
        Broadcast shape, >= 0. [1/h]

    Raises
    ------
    InputError
        A negative number of failures, a number of nodes or a window that is not positive, or a shape outside 0.2 to 5.

    Notes
    -----
    The rate for which :math:`N m(T)` is what was seen, with m of `ettr.failures.renewal.renewal_count`; events over
    node-hours for shape 1. For shapes below 1 it is less than that: new nodes fail more often than old ones.

    Examples
    --------
    >>> round(24_000 * settled_rate(419, 2048, 54 * 24, 0.7), 3), round(24_000 * 419 / (2048 * 54 * 24), 3)
    (1.449, 3.789)
    """
    window = above_zero("window_h", window_h, unit="h")
    count = at_least_zero("n_events", n_events) / above_zero("n_nodes", n_nodes)
    _check_shape(shape)
    if shape == 1 or not np.any(count > 0):
        return plain(count / window)
    seen = count[count > 0]
    lives = np.geomspace(0.99 * _first_life(seen.min(), shape), seen.max() + 1, _INVERTED_POINTS)
    inverse = interpolate.PchipInterpolator(np.log(renewal_count(lives, shape, 1.0)), np.log(lives))
    rate = np.exp(inverse(np.log(np.where(count > 0, count, seen.min()))))
    return plain(np.where(count > 0, rate, 0.0) / window)


def _burn_in(factor: Any, decay_h: Any, age_h: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return (
        at_least_zero("factor", factor) - 1,
        above_zero("decay_h", decay_h, unit="h"),
        at_least_zero("age_h", age_h, unit="h"),
    )


def _check_shape(shape: float) -> None:
    """The range of the renewal function."""
    renewal_count(0.0, shape, 1.0)


def _first_life(count: float, shape: float) -> float:
    """Age, in mean lifetimes, by which no more than so many failures are expected: m <= F / (1 - F)."""
    return float(math.log1p(count) ** (1 / shape) / math.gamma(1 + 1 / shape))


@lru_cache(maxsize=32)
def _slope(shape: float, horizon: float) -> Any:
    """Logarithm of the renewal density by the logarithm of age, in mean lifetimes."""
    ages = [FIRST_STRETCH]
    while ages[-1] < horizon:
        step = _GROWTH * ages[-1]
        ages.append(ages[-1] + (min(step, _FINEST) if ages[-1] < _SETTLED else step))
    age = np.array(ages)
    edges = np.concatenate([age * (1 - _HALF_WIDTH), age * (1 + _HALF_WIDTH)])
    before, after = np.split(renewal_count(edges, shape, 1.0), 2)
    density = (after - before) / (2 * _HALF_WIDTH * age)
    return interpolate.PchipInterpolator(np.log(age), np.log(density))
