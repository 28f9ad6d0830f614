"""The slowest of many chips, whose pace a synchronous job keeps."""

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
    r"""Expected largest of so many independent standard normal values.

    Parameters
    ----------
    n : int or array of int
        How many; up to a billion.

    Returns
    -------
    float or ndarray
        Shape of ``n``; 0 of a single one.

    Raises
    ------
    InputError
        A number below 1 or above a billion.

    Notes
    -----
    :math:`b - \int_{-b}^b \Phi(x)^n dx` for a bound b that no value passes, by the trapezoidal rule.

    Examples
    --------
    >>> round(largest_of(2), 6), round(largest_of(16384), 2)
    (0.56419, 3.97)
    """
    from scipy.special import log_ndtr

    counts = np.asarray(n, dtype=float)
    if np.any(~((counts >= 1) & (counts <= _MOST))):
        raise InputError(f"n must be from 1 to {_MOST:g}, got {n}")
    below = np.exp(counts[..., None] * log_ndtr(_GRID))
    return plain(_BOUND - np.trapezoid(below, _GRID, axis=-1))


def largest_of_many(n: Any) -> Any:
    """As :func:`largest_of`, for millions of sizes that need not be whole.

    Parameters
    ----------
    n : float or ndarray
        How many, from 1 to a billion.

    Returns
    -------
    float or ndarray
        Shape of ``n``; within 1e-8 of :func:`largest_of`, and smooth: differences of neighbours are meant.

    Raises
    ------
    InputError
        A number below 1 or above a billion.

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
    from scipy.interpolate import CubicSpline

    logs = np.linspace(0.0, np.log(_MOST), 1001)
    return CubicSpline(logs, largest_of(np.minimum(np.exp(logs), _MOST)))
