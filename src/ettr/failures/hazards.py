"""How the failure rate of a job changes while it runs: burn-in, and nodes that start new."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy

from ettr.core.validity import above_zero, at_least_zero, plain
from ettr.failures.renewal import renewal_count

_INVERTED_POINTS = 2000


def burn_in_count(t_h: Any, settled_rate_per_h: Any, factor: Any, decay_h: Any, age_h: Any = 0.0) -> Any:
    r"""Expected failures of a fleet that settles, since the job started. [count]

    Parameters
    ----------
    t_h : float or ndarray
        Exposed time since the job started. [h]
    settled_rate_per_h : float or ndarray
        Rate in the long run. [1/h]
    factor : float or ndarray
        Rate of a fleet of age 0, as a multiple of the settled one; below 1 for a rate that grows.
    decay_h : float or ndarray
        Exposed time in which the excess falls to 37%, θ. [h]
    age_h : float or ndarray
        Exposed time behind the fleet when the job started. [h]

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
    return plain(settled * (time - excess * decay * np.exp(-age / decay) * np.expm1(-time / decay)))


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
    renewal_count(0.0, shape, 1.0)  # refuses a shape out of range
    if shape == 1 or not np.any(count > 0):
        return plain(count / window)
    seen = count[count > 0]
    # by this age, in mean lifetimes, no more than the fewest failures are expected: m <= F / (1 - F)
    first = math.log1p(seen.min()) ** (1 / shape) / math.gamma(1 + 1 / shape)
    lives = np.geomspace(0.99 * first, seen.max() + 1, _INVERTED_POINTS)
    inverse = scipy.interpolate.PchipInterpolator(np.log(renewal_count(lives, shape, 1.0)), np.log(lives))
    rate = np.exp(inverse(np.log(np.where(count > 0, count, seen.min()))))
    return plain(np.where(count > 0, rate, 0.0) / window)
