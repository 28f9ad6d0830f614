"""Failure rates that change while a job runs: burn-in, and nodes that start new."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy

from ettr.core.validity import above_zero, at_least_zero, plain
from ettr.failures.renewal import renewal_count

_INVERTED_POINTS = 2000


def burn_in_count(t_h: Any, settled_rate_per_h: Any, factor: Any, decay_h: Any, age_h: Any = 0.0) -> Any:
    r"""Return the expected failures of a fleet with burn-in since the job started. [count]

    Parameters
    ----------
    t_h : float or ndarray
        Exposed time since the start of the job. [h]
    settled_rate_per_h : float or ndarray
        Long-run failure rate. [1/h]
    factor : float or ndarray
        Rate of a fleet of age 0, as a multiple of the long-run rate; below 1 for a rate that grows.
    decay_h : float or ndarray
        Time constant θ: exposed time in which the excess falls to 1/e (37%). [h]
    age_h : float or ndarray
        Exposed time of the fleet before the job started. [h]

    Returns
    -------
    float or ndarray
        Broadcast shape, >= 0. [count]

    Raises
    ------
    InputError
        A negative value, or a decay that is not positive.

    Notes
    -----
    The rate is :math:`\lambda(t) = \lambda_\infty [1 + (f - 1)\, e^{-(t + a)/\theta}]`, and its integral
    :math:`\lambda_\infty [t + (f - 1)\, \theta\, e^{-a/\theta} (1 - e^{-t/\theta})]`.

    Examples
    --------
    >>> round(burn_in_count(54 * 24.0, 0.3, 5.0, 24.0 * 20), 1)
    926.1
    """
    settled = at_least_zero("settled_rate_per_h", settled_rate_per_h, unit="1/h")
    excess, decay = at_least_zero("factor", factor) - 1, above_zero("decay_h", decay_h, unit="h")
    age = at_least_zero("age_h", age_h, unit="h")
    time = at_least_zero("t_h", t_h, unit="h")
    # the integral of the rate from 0 to t, see Notes
    return plain(settled * (time - excess * decay * np.exp(-age / decay) * np.expm1(-time / decay)))


def settled_rate(n_events: Any, n_nodes: Any, window_h: Any, shape: float) -> Any:
    r"""Return the long-run failure rate of a node, from failures of nodes that were new when the window began. [1/h]

    Parameters
    ----------
    n_events : float or ndarray
        Failures in the window. [count]
    n_nodes : float or ndarray
        Nodes, all new at the start, N. [count]
    window_h : float or ndarray
        Exposed time in the window, T. [h]
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
    The rate for which :math:`N m(T)` equals the failures counted, with the renewal function m of
    `ettr.failures.renewal.renewal_count`. For shape 1 it is failures over node-hours; for shapes below 1 it is lower,
    because new nodes fail more often than old ones.

    Examples
    --------
    >>> round(24_000 * settled_rate(419, 2048, 54 * 24, 0.7), 3), round(24_000 * 419 / (2048 * 54 * 24), 3)
    (1.449, 3.789)
    """
    window = above_zero("window_h", window_h, unit="h")
    count = at_least_zero("n_events", n_events) / above_zero("n_nodes", n_nodes)
    renewal_count(0.0, shape, 1.0)  # raises if the shape is out of range
    if shape == 1 or not np.any(count > 0):
        return plain(count / window)
    positive = count[count > 0]
    # invert m on a grid of ages; it starts where m <= F / (1 - F) is below the smallest count
    first = math.log1p(positive.min()) ** (1 / shape) / math.gamma(1 + 1 / shape)
    lives = np.geomspace(0.99 * first, positive.max() + 1, _INVERTED_POINTS)
    inverse = scipy.interpolate.PchipInterpolator(np.log(renewal_count(lives, shape, 1.0)), np.log(lives))
    rate = np.exp(inverse(np.log(np.where(count > 0, count, positive.min()))))
    return plain(np.where(count > 0, rate, 0.0) / window)
