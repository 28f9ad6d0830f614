"""Means and their errors from many runs, with control variates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from ettr.core.units import ROUNDING

_RUNS_PER_CONTROL = 20
"""Fewer runs than this for each control and its coefficients would be fitted to chance."""


@dataclass(frozen=True)
class Means:
    """Means of several quantities over runs.

    Attributes
    ----------
    mean : ndarray of shape (n,)
        One a quantity.
    covariance : ndarray of shape (n, n)
        Of the means.
    variance_ratio : float
        How many times more runs the plain mean of the last quantity would need for the same error.
    freedom : int
        Degrees of freedom of the errors.
    """

    mean: np.ndarray
    covariance: np.ndarray
    variance_ratio: float
    freedom: int

    @property
    def error(self) -> np.ndarray:
        """Standard errors."""
        return np.asarray(np.sqrt(np.maximum(np.diagonal(self.covariance), 0.0)))


def means(values: np.ndarray, controls: np.ndarray | None) -> Means:
    """Means over runs, less what is explained by sums whose mean is known to be zero.

    Parameters
    ----------
    values : ndarray of shape (runs, n)
        What is to be averaged; the last column is what ``variance_ratio`` is for.
    controls : ndarray of shape (runs, m) or None
        Control variates of mean zero; None for plain means.

    Notes
    -----
    Each quantity is regressed on the controls and its mean taken where these are zero (Glasserman 2003, section 4.1). A
    regression is linear in what is regressed, so parts still sum to their total.
    """
    n_runs = values.shape[0]
    plain = values.mean(axis=0)
    centred = values - plain
    least = ROUNDING * abs(plain[-1])  # what varies by less is rounding, not chance
    varies = [] if controls is None else [i for i in range(controls.shape[1]) if controls[:, i].std() > least]
    if controls is None or n_runs < _RUNS_PER_CONTROL * (len(varies) + 1) or not varies:
        covariance = centred.T @ centred / max(n_runs - 1, 1) / n_runs
        if n_runs == 1:
            covariance = np.full_like(covariance, np.nan)
        return Means(plain, covariance, 1.0, n_runs - 1)
    used = controls[:, varies]
    used = used / used.std(axis=0)
    middle = used.mean(axis=0)
    beta, *_ = np.linalg.lstsq(used - middle, centred, rcond=1e-10)
    left = centred - (used - middle) @ beta
    covariance = left.T @ left / (n_runs - len(varies) - 1) / n_runs
    before = centred[:, -1] @ centred[:, -1] / (n_runs - 1) / n_runs
    ratio = float(before / covariance[-1, -1]) if covariance[-1, -1] > 0 else 1.0
    return Means(plain - middle @ beta, covariance, ratio, n_runs - len(varies) - 1)


def interval(mean: Any, error: Any, freedom: int) -> tuple[Any, Any]:
    """The 95% interval by Student's distribution; NaN for a single run."""
    half = scipy.special.stdtrit(freedom, 0.975) * error if freedom > 0 else np.nan * error
    return mean - half, mean + half
