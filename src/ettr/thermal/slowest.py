"""The slowest of many chips, which sets the pace of a synchronous job."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ettr.core.errors import InputError
from ettr.core.validity import plain

_BOUND = 12.0
_GRID = np.linspace(-_BOUND, _BOUND, 4801)
_MOST = 1e9


def largest_of(n: Any) -> Any:
    r"""Return the expected maximum of n independent standard normal values.

    Parameters
    ----------
    n : int or array of int
        Sample size, from 1 to a billion.

    Returns
    -------
    float or ndarray
        Shape of ``n``; 0 for n = 1.

    Raises
    ------
    InputError
        If n is below 1 or above a billion.

    Notes
    -----
    :math:`b - \int_{-b}^b \Phi(x)^n dx` for a bound b beyond all values (12), by the trapezoidal rule.

    Examples
    --------
    >>> round(largest_of(2), 6), round(largest_of(16384), 2)
    (0.56419, 3.97)
    """
    from scipy.special import log_ndtr

    counts = np.asarray(n, dtype=float)
    if np.any(~((counts >= 1) & (counts <= _MOST))):
        raise InputError(f"n must be from 1 to {_MOST:g}, got {n}")
    cdf_of_max = np.exp(counts[..., None] * log_ndtr(_GRID))  # Phi(x)^n, in logarithms so that n may be large
    return plain(_BOUND - np.trapezoid(cdf_of_max, _GRID, axis=-1))


def largest_of_many(n: Any) -> Any:
    """Return the expected maximum of n standard normal values by interpolation, for large arrays of n.

    Parameters
    ----------
    n : float or ndarray
        Sample size, from 1 to a billion; need not be a whole number.

    Returns
    -------
    float or ndarray
        Shape of ``n``; within 1e-8 of :func:`largest_of`, and smooth, so that differences of neighbours are usable.

    Raises
    ------
    InputError
        If n is below 1 or above a billion.

    Examples
    --------
    >>> abs(largest_of_many(2048.0) - largest_of(2048)) < 1e-8
    True
    """
    counts = np.asarray(n, dtype=float)
    if np.any(~((counts >= 1) & (counts <= _MOST))):
        raise InputError(f"n must be from 1 to {_MOST:g}, got {n}")
    return plain(_spline()(np.log(counts)))


@functools.cache
def _spline() -> Any:
    """Cubic spline of the expected maximum over log n."""
    from scipy.interpolate import CubicSpline

    logs = np.linspace(0.0, np.log(_MOST), 1001)
    return CubicSpline(logs, largest_of(np.minimum(np.exp(logs), _MOST)))
