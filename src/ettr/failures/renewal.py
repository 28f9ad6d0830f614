"""Expected failures of nodes that start new: the Weibull renewal process."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy

from ettr.core.errors import InputError
from ettr.core.validity import above_zero, at_least_zero, plain

LOWEST_SHAPE, HIGHEST_SHAPE = 0.2, 5.0
_FIRST, _GROWTH, _SETTLED = 1e-7, 0.04, 15.0


def renewal_count(t_h: Any, shape: float, mean_h: float) -> Any:
    r"""Return the expected failures of a node by age t, if it starts new and each repair makes it as good as new.

    Parameters
    ----------
    t_h : float or ndarray
        Time since the start of the node. [h]
    shape : float
        Weibull shape of the lifetimes, 0.2 to 5.
    mean_h : float
        Mean lifetime. [h]

    Returns
    -------
    float or ndarray
        Same shape as ``t_h``. [count]

    Raises
    ------
    InputError
        A negative time, a mean that is not positive, or a shape outside 0.2 to 5.

    Notes
    -----
    The renewal equation :math:`m(t) = F(t) + \int_0^t m(t-s)\,dF(s)` (Cox 1962), solved with :math:`m` linear between
    grid points that are dense near 0, where :math:`m` grows like :math:`t^k`, and with the exact integral of :math:`F`
    over each step; the relative error is below 1e-4. Exactly :math:`t/\mu` for shape 1; :math:`F(t)` for small, and
    :math:`t/\mu + (c^2 - 1)/2` for large :math:`t`, with :math:`c` the coefficient of variation of lifetimes.

    Examples
    --------
    >>> mean_h = 24 * 1000 / 3.789
    >>> round(2048 * renewal_count(54 * 24, 0.7, mean_h)), round(2048 * renewal_count(54 * 24, 1.0, mean_h))
    (846, 419)
    """
    time = at_least_zero("t_h", t_h, unit="h")
    mean = float(above_zero("mean_h", mean_h, unit="h"))
    if not LOWEST_SHAPE <= shape <= HIGHEST_SHAPE:
        raise InputError(f"shape must be between {LOWEST_SHAPE:g} and {HIGHEST_SHAPE:g}, got {shape:g}")
    if shape == 1:
        return plain(time / mean)
    scaled = np.atleast_1d(time) * math.gamma(1 + 1 / shape) / mean
    count = -np.expm1(-(scaled**shape))
    later = scaled > _FIRST ** (1 / shape)  # earlier, a second failure is negligible and m(t) = F(t)
    if later.any():
        grid = _grid(float(scaled.max()), shape)
        # both limits, t^k and t, are straight lines on logarithmic scales
        between = scipy.interpolate.PchipInterpolator(np.log(grid), np.log(_solved(grid, shape)))
        count[later] = np.exp(between(np.log(scaled[later])))
    return plain(count.reshape(time.shape))


def _grid(last: float, shape: float) -> np.ndarray:
    """Grid points up to ``last``, with steps that grow geometrically but stay short until m settles."""
    mean = math.gamma(1 + 1 / shape)
    spread = math.sqrt(math.gamma(1 + 2 / shape) - mean**2)
    longest = min(spread / 15, mean / 30)
    points = [_FIRST ** (1 / shape)]
    while points[-1] < last:
        step = _GROWTH * points[-1]
        points.append(points[-1] + (min(step, longest) if points[-1] < _SETTLED * mean else step))
    return np.array(points)


def _solved(grid: np.ndarray, shape: float) -> np.ndarray:
    """Renewal function m at the grid points, for scale 1."""
    edges = np.append(0.0, grid)
    count = np.zeros(len(edges))
    # m(t_i) = F(t_i) + sum over steps j of (m_j - m_{j-1}) mean F(t_i - s): convolution by parts, so that m is linear
    # in each step; the last step contains the unknown m(t_i) itself, for which the equation is solved
    for i in range(1, len(edges)):
        weight = _mean_of_cdf(edges[i] - edges[1 : i + 1], edges[i] - edges[:i], shape)
        earlier = float(np.diff(count[:i]) @ weight[:-1])
        first = -math.expm1(-(edges[i] ** shape))
        count[i] = (first + earlier - count[i - 1] * weight[-1]) / (1 - weight[-1])
    return count[1:]


def _mean_of_cdf(near: np.ndarray, far: np.ndarray, shape: float) -> np.ndarray:
    """Mean of the lifetime distribution function F between two ages, near < far."""
    width = far - near
    middle = -np.expm1(-((near + width / 2) ** shape))
    narrow = width < 1e-4 * far  # the difference of integrals would be rounding error; F at the middle is exact enough
    integral = _integral_of_cdf(np.append(far[0], near), shape)
    wide = (integral[:-1] - integral[1:]) / np.where(narrow, 1.0, width)
    return np.asarray(np.where(narrow, middle, wide))


def _integral_of_cdf(age: np.ndarray, shape: float) -> np.ndarray:
    """Integral of F from 0 to an age: t F(t) minus the partial mean, an incomplete gamma function."""
    power = age**shape
    below = math.gamma(1 + 1 / shape) * scipy.special.gammainc(1 + 1 / shape, power)
    return np.asarray(-age * np.expm1(-power) - below)
