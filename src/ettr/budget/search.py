"""The lowest point of a cost, for many runs at once."""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np

_POINTS = 9
_DEGREE = 4
_SMOOTH_WIDTH = 0.1
"""Width, in the logarithm, of a window within which the cost is close enough to a polynomial."""
_FINE_WIDTH = 1e-7
_RESIDUAL = 1e-4
"""Misfit of the polynomial, relative to the range of the cost in the window, above which the cost has a kink there."""
_NOISE = 1e-14


def lowest(cost: Callable[[np.ndarray], np.ndarray], low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return the minimum of a cost that has a single one between two positive ends.

    The search uses grids of nine points on a logarithmic scale, each four times narrower, and then the minimum of a
    polynomial through the last grid. If the cost has a kink there, it continues with grids.

    Parameters
    ----------
    cost : callable
        Takes an array with one more axis, in front, than ``low`` and ``high``; NaN where the cost is not defined.
    low, high : ndarray
        Ends, of the same shape; they may be equal.
    """
    steps = np.linspace(0.0, 1.0, _POINTS).reshape(-1, *(1,) * np.ndim(low))
    left, right = np.log(low), np.log(high)

    def cost_of(log_points: np.ndarray) -> np.ndarray:  # the logarithm rounds, so keep to the ends
        return cost(np.clip(np.exp(log_points), low, high))

    grid, values = _narrowed(cost_of, left, right, steps, _SMOOTH_WIDTH)
    smooth, place = _minimum_of_fit(values)
    log_lowest = grid[0] + place * (grid[-1] - grid[0])
    if not smooth.all():
        fine, values = _narrowed(cost_of, grid[0], grid[-1], steps, _FINE_WIDTH)
        lowest = np.take_along_axis(fine, values.argmin(axis=0)[None], axis=0)[0]
        log_lowest = np.where(smooth, log_lowest, lowest)
    return np.asarray(np.clip(np.exp(log_lowest), low, high))


def _narrowed(
    cost: Callable[[np.ndarray], np.ndarray], left: np.ndarray, right: np.ndarray, steps: np.ndarray, width: float
) -> tuple[np.ndarray, np.ndarray]:
    """Windows around the lowest point, narrowed to a width, with the cost at their points.

    A window is left alone once it is narrow enough, so that no run's answer depends on the others.
    """
    while True:
        grid = left + (right - left) * steps
        values = np.asarray(cost(grid), dtype=float)
        values = np.where(np.isnan(values), np.inf, values)
        wide = right - left > width
        if not np.any(wide):
            return grid, values
        best = values.argmin(axis=0)[None]
        ends = (np.take_along_axis(grid, np.clip(best + side, 0, _POINTS - 1), axis=0)[0] for side in (-1, 1))
        left, right = (np.where(wide, end, old) for end, old in zip(ends, (left, right), strict=True))


@functools.cache
def _polynomials() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Places of the grid from -1 to 1, the powers of each, and their pseudo-inverse."""
    x = 2 * np.linspace(0.0, 1.0, _POINTS) - 1
    basis = np.vander(x, _DEGREE + 1, increasing=True)
    return x, basis, np.linalg.pinv(basis)


def _minimum_of_fit(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Whether a polynomial fits the cost in a window, and the place of its minimum there, in [0, 1]."""
    # least squares in x from -1 to 1, less the lowest value so that no digits are lost
    x, basis, inverse = _polynomials()
    finite = np.where(np.isfinite(values), values, 0.0)
    lowest_value, span = finite.min(axis=0), np.ptp(finite, axis=0)
    factors = np.tensordot(inverse, finite - lowest_value, axes=1)
    misfit = np.abs(np.tensordot(basis, factors, axes=1) - (finite - lowest_value)).max(axis=0)
    smooth = np.isfinite(values).all(axis=0) & (misfit <= _RESIDUAL * span + _NOISE * np.abs(lowest_value))
    # Newton's method on the slope, from the lowest point of the grid; downhill where the curve bends the other way
    place = x[values.argmin(axis=0)]
    for _ in range(4):
        slope = factors[1] + place * (2 * factors[2] + place * (3 * factors[3] + place * 4 * factors[4]))
        bend = 2 * factors[2] + place * (6 * factors[3] + place * 12 * factors[4])
        with np.errstate(divide="ignore", invalid="ignore"):
            step = np.where(bend > 0, slope / bend, np.sign(slope))
        place = np.clip(place - step, -1.0, 1.0)
    return smooth, (place + 1) / 2
