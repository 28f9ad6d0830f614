"""Tables of when a run is done, made of probabilities, of simulated runs, or of hours that are certain."""

from __future__ import annotations

from typing import Any

import numpy as np

from ettr.core.finishing import Finishing
from ettr.core.validity import plain

_POINTS = 1024
"""Of a table that is made of runs."""


def table(below: np.ndarray, density: np.ndarray, *, atom: Any = 0.0, never: Any = 0.0, **named: Any) -> Finishing:
    """A distribution from a table that may be off by rounding: made to rise, and followed by an exponential tail.

    Parameters
    ----------
    below, density : ndarray
        Probabilities with one axis for the hours, ``atom`` left out, and their slopes. [1, 1/h]
    **named
        The other attributes of :class:`Finishing` but ``tail_per_h``.
    """
    most = 1.0 - np.asarray(atom, dtype=float)[..., None] - np.asarray(never, dtype=float)[..., None]
    rising = np.maximum.accumulate(np.clip(below, 0.0, most), axis=-1)
    step_h = np.asarray(named["step_h"], dtype=float)[..., None]
    secant = np.diff(rising, axis=-1) / step_h
    least = np.minimum(
        np.concatenate([secant[..., :1], secant], axis=-1), np.concatenate([secant, secant[..., -1:]], axis=-1)
    )
    # a cubic whose slopes are within three times the secants rises: Fritsch and Carlson (1980)
    slopes = np.clip(density, 0.0, 3.0 * least)
    return Finishing(
        below=rising,
        density=slopes,
        tail_per_h=plain(_tail(rising, density, most)),
        atom=atom,
        never=never,
        **named,
    )


def _tail(below: np.ndarray, density: np.ndarray, most: np.ndarray) -> np.ndarray:
    """Hazard where a millionth is left, which any table resolves. [1/h]"""
    left = most - below
    place = np.maximum((left > 1e-6).sum(axis=-1, keepdims=True) - 1, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        hazard = np.take_along_axis(density, place, -1) / np.take_along_axis(left, place, -1)
    return np.asarray(np.where(hazard > 0, hazard, np.inf)[..., 0])


def of_runs(total_h: np.ndarray) -> Finishing:
    """The distribution of runs that were simulated.

    Parameters
    ----------
    total_h : ndarray of shape (runs,)
        Hours of each. [h]

    Examples
    --------
    >>> seen = of_runs(np.array([10.0, 11.0, 12.0, 13.0]))
    >>> round(seen.cdf(11.5), 3), round(seen.quantile(0.5), 1)
    (0.5, 11.0)
    """
    hours = np.sort(np.asarray(total_h, dtype=float))
    low_h, high_h = float(hours[0]), float(hours[-1])
    if low_h == high_h:
        return constant(low_h)
    step_h = (high_h - low_h) / (_POINTS - 3)
    at_h = low_h + step_h * (np.arange(_POINTS) - 1)
    below = np.searchsorted(hours, at_h, side="right") / hours.size
    density = np.gradient(below, step_h)
    return table(
        below, density, first_h=float(at_h[0]), step_h=step_h, mean_h=float(hours.mean()), sd_h=float(hours.std(ddof=1))
    )


def constant(hours: Any) -> Finishing:
    """A run that takes the same hours for certain, or one at each point."""
    shape = np.shape(hours)
    nothing = np.zeros((*shape, 2))
    one, zero = plain(np.ones(shape)), plain(np.zeros(shape))
    return Finishing(hours, zero, hours, one, nothing, nothing, plain(np.full(shape, np.inf)), atom=one, atom_h=hours)
