"""Times as tables by the logarithm of their cumulative hazard, from which kernels draw them by interpolation."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
import scipy

from ettr.simulation.rules import HIGH, LOW, POINTS

_LOG_HAZARD = np.linspace(LOW, HIGH, POINTS)
_WIDTH = _LOG_HAZARD[1] - _LOG_HAZARD[0]
_NEVER = 1e-300
"""Less than any time, and more than 0, whose logarithm is infinite."""


@lru_cache(maxsize=8)
def gamma_times(shape: float) -> np.ndarray:
    """Logarithm of a gamma-distributed time of mean 1, and its slope a step, by that of its cumulative hazard."""
    grown = np.maximum(_inverse_gamma(shape), _NEVER)
    time = grown / shape
    log_density = shape * math.log(shape) + (shape - 1) * np.log(time) - grown - math.lgamma(shape)
    return _with_slope(np.log(time), log_density)


@lru_cache(maxsize=8)
def first_failure(shape: float, start: str) -> np.ndarray:
    """Logarithm of the first failure's time, for scale 1, and its slope a step, by that of its cumulative hazard.

    A node in the middle of its life has the residual lifetime of a renewal process in equilibrium, whose survivor
    function is that of a gamma distribution of shape 1/k at the time to the power k.
    """
    if start == "new" or shape == 1:
        return np.stack((_LOG_HAZARD / shape, np.full(POINTS, _WIDTH / shape)))
    grown = _inverse_gamma(1 / shape)
    # the residual density f = e^{-t^k} / Γ(1 + 1/k)
    return _with_slope(np.log(grown) / shape, -grown - math.lgamma(1 + 1 / shape))


def _with_slope(log_time: np.ndarray, log_density: np.ndarray) -> np.ndarray:
    """Logarithms of times, and d ln t / d ln x = x S / (t f) a step."""
    slope = np.exp(_LOG_HAZARD - np.exp(_LOG_HAZARD) - log_time - log_density) * _WIDTH
    return np.stack((log_time, slope))


def _inverse_gamma(shape: float) -> np.ndarray:
    """A gamma-distributed number of scale 1 at each cumulative hazard, with the digits of either tail."""
    gone, left = -np.expm1(-np.exp(_LOG_HAZARD)), np.exp(-np.exp(_LOG_HAZARD))
    early, late = scipy.special.gammaincinv(shape, gone), scipy.special.gammainccinv(shape, left)
    return np.asarray(np.where(gone < 0.5, early, late))
