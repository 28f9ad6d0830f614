"""Times as tables by the logarithm of their cumulative hazard, from which kernels draw them by interpolation."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
import scipy

from ettr.simulation.rules import HIGH, LOW, POINTS

_NEVER = 1e-300
"""Less than any time, and more than 0, whose logarithm is infinite."""


@lru_cache(maxsize=8)
def gamma_times(shape: float) -> tuple[np.ndarray, np.ndarray]:
    """Logarithm of a gamma-distributed time of mean 1, and its slope a step, by that of its cumulative hazard."""
    log_hazard = np.linspace(LOW, HIGH, POINTS)
    grown = np.maximum(_inverse_gamma(shape, log_hazard), _NEVER)
    time = grown / shape
    log_density = shape * math.log(shape) + (shape - 1) * np.log(time) - grown - math.lgamma(shape)
    left = -np.exp(log_hazard)
    slope = np.exp(log_hazard + left - np.log(time) - log_density) * (log_hazard[1] - log_hazard[0])
    return np.log(time), slope


@lru_cache(maxsize=8)
def first_failure(shape: float, start: str) -> np.ndarray:
    """Logarithm of the first failure's time, for scale 1, and its slope a step, by that of its cumulative hazard.

    A node in the middle of its life has the residual lifetime of a renewal process in equilibrium, whose survivor
    function is that of a gamma distribution of shape 1/k at the time to the power k.
    """
    log_hazard = np.linspace(LOW, HIGH, POINTS)
    width = log_hazard[1] - log_hazard[0]
    if start == "new" or shape == 1:
        return np.stack((log_hazard / shape, np.full(POINTS, width / shape)))
    grown = _inverse_gamma(1 / shape, log_hazard)
    log_time = np.log(grown) / shape
    # d ln t / d ln x = x S / (t f), with the residual density f = e^{-t^k} / Γ(1 + 1/k)
    log_density = -grown - math.lgamma(1 + 1 / shape)
    slope = np.exp(log_hazard - np.exp(log_hazard) - log_time - log_density) * width
    return np.stack((log_time, slope))


def _inverse_gamma(shape: float, log_hazard: np.ndarray) -> np.ndarray:
    """A gamma-distributed number of scale 1 at a cumulative hazard, with the digits of either tail."""
    gone, left = -np.expm1(-np.exp(log_hazard)), np.exp(-np.exp(log_hazard))
    early, late = scipy.special.gammaincinv(shape, gone), scipy.special.gammainccinv(shape, left)
    return np.asarray(np.where(gone < 0.5, early, late))
