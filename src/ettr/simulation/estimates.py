"""Means and their errors from many runs, with control variates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from ettr.core.units import ROUNDING

_RUNS_PER_CONTROL = 20
"""Runs needed per control variate, so that its coefficient is not fitted to noise."""
_UNSEEN = 2.0
"""Factor on the variance that is kept in spite of controls, per effective degree of freedom: rare failures that few
runs met may cost more than the regression estimates."""


@dataclass(frozen=True)
class Means:
    """Means of several quantities over runs.

    Attributes
    ----------
    mean : ndarray of shape (n,)
        Mean of each quantity.
    covariance : ndarray of shape (n, n)
        Covariance of the means.
    variance_ratio : float
        Factor on the number of runs that the plain mean of the last quantity would need for the same error.
    freedom : ndarray of shape (n,)
        Degrees of freedom of the errors: about the number of runs, and fewer where few runs cause most of the spread.
    """

    mean: np.ndarray
    covariance: np.ndarray
    variance_ratio: float
    freedom: np.ndarray

    @property
    def error(self) -> np.ndarray:
        """Standard errors of the means."""
        return np.asarray(np.sqrt(np.maximum(np.diagonal(self.covariance), 0.0)))


def means(values: np.ndarray, controls: np.ndarray | None) -> Means:
    """Return means over runs, with control variates.

    Parameters
    ----------
    values : ndarray of shape (runs, n)
        Quantities to average; ``variance_ratio`` is for the last column.
    controls : ndarray of shape (runs, m) or None
        Control variates with expectation zero; None for plain means.

    Notes
    -----
    Each quantity is regressed on the controls, and its mean is the value at which these are zero (Glasserman 2003,
    section 4.1). The regression is linear, so parts still sum to their total.

    If few runs cause most of the spread, because few met a failure, the estimated variance is itself uncertain. The
    degrees of freedom are :math:`2 n / (\\kappa - 1)` with the kurtosis of the runs, by Satterthwaite's rule: n for a
    normal distribution, and two per run if only few runs differ. The part of the variance that controls explain with so
    few runs is not removed completely: a kind of failure that none of them met may cost more than the regression
    estimates.

    Examples
    --------
    >>> import numpy as np
    >>> means(np.array([[1.0], [2.0], [3.0]]), None).mean.tolist()
    [2.0]
    """
    n_runs = values.shape[0]
    plain = values.mean(axis=0)
    centred = values - plain
    rounding = ROUNDING * abs(plain[-1])  # controls that vary by less are constant up to rounding
    varies = [] if controls is None else [i for i in range(controls.shape[1]) if controls[:, i].std() > rounding]
    if controls is None or n_runs < _RUNS_PER_CONTROL * (len(varies) + 1) or not varies:
        covariance = centred.T @ centred / max(n_runs - 1, 1) / n_runs
        if n_runs == 1:
            covariance = np.full_like(covariance, np.nan)
        return Means(plain, covariance, 1.0, np.minimum(n_runs - 1, _tell(centred)))
    # least squares of the centred values on the centred controls; left are the residuals
    used = controls[:, varies]
    used = used / used.std(axis=0)
    middle = used.mean(axis=0)
    beta, *_ = np.linalg.lstsq(used - middle, centred, rcond=1e-10)
    left = centred - (used - middle) @ beta
    covariance = left.T @ left / (n_runs - len(varies) - 1) / n_runs
    tell = _tell(centred)
    # add a share of the plain variance, which vanishes where many runs contribute to the spread
    unseen = centred * np.sqrt(_UNSEEN * np.maximum(1 / tell - 1 / n_runs, 0.0))
    covariance += unseen.T @ unseen / (n_runs - 1) / n_runs
    before = centred[:, -1] @ centred[:, -1] / (n_runs - 1) / n_runs
    ratio = float(before / covariance[-1, -1]) if covariance[-1, -1] > 0 else 1.0
    return Means(plain - middle @ beta, covariance, ratio, np.minimum(n_runs - len(varies) - 1, tell))


def _tell(centred: np.ndarray) -> np.ndarray:
    """Effective degrees of freedom 2 n / (κ - 1) of the variance of each column, with its kurtosis κ."""
    largest = np.abs(centred).max(axis=0)
    scaled = centred / np.where(largest > 0, largest, 1.0)
    squares, fourths = (scaled**2).mean(axis=0), (scaled**4).mean(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        excess = fourths / squares**2 - 1
        return np.where(excess > 0, 2 * centred.shape[0] / excess, np.inf)


def interval(mean: Any, error: Any, freedom: Any) -> tuple[Any, Any]:
    """Ends of the 95% CI, by Student's distribution; NaN for a single run."""
    freedom = np.asarray(freedom, dtype=float)
    half = np.where(freedom > 0, scipy.special.stdtrit(np.maximum(freedom, 1e-9), 0.975), np.nan) * error
    return mean - half, mean + half
