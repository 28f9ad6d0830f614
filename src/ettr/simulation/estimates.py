"""Means and their errors from many runs, with control variates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from ettr.core.units import ROUNDING

_RUNS_PER_CONTROL = 20
"""Fewer runs than this for each control and its coefficients would be fitted to chance."""
_UNSEEN = 2.0
"""Share of the plain variance that controls leave where so many runs tell of it: what they never saw may differ."""


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
    freedom : ndarray of shape (n,)
        Degrees of freedom of the errors: as many as there are runs, fewer where few of them make up the spread.
    """

    mean: np.ndarray
    covariance: np.ndarray
    variance_ratio: float
    freedom: np.ndarray

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

    Where few runs make up the spread, as few met a failure, its own error counts: the degrees of freedom are
    :math:`2 n / (\\kappa - 1)` with the kurtosis of the runs, by Satterthwaite's rule, which is n for normal numbers
    and two for each of few runs that differ. What controls explain away of so few is not trusted to the last: a kind of
    failure that none of them met may cost more than the regression knows.
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
        return Means(plain, covariance, 1.0, np.minimum(n_runs - 1, _tell(centred)))
    used = controls[:, varies]
    used = used / used.std(axis=0)
    middle = used.mean(axis=0)
    beta, *_ = np.linalg.lstsq(used - middle, centred, rcond=1e-10)
    left = centred - (used - middle) @ beta
    covariance = left.T @ left / (n_runs - len(varies) - 1) / n_runs
    tell = _tell(centred)
    unseen = centred * np.sqrt(_UNSEEN * np.maximum(1 / tell - 1 / n_runs, 0.0))
    covariance += unseen.T @ unseen / (n_runs - 1) / n_runs
    before = centred[:, -1] @ centred[:, -1] / (n_runs - 1) / n_runs
    ratio = float(before / covariance[-1, -1]) if covariance[-1, -1] > 0 else 1.0
    return Means(plain - middle @ beta, covariance, ratio, np.minimum(n_runs - len(varies) - 1, tell))


def _tell(centred: np.ndarray) -> np.ndarray:
    """Runs that tell of the spread of each column: all of normal numbers, two for each of few that differ."""
    largest = np.abs(centred).max(axis=0)
    scaled = centred / np.where(largest > 0, largest, 1.0)
    squares, fourths = (scaled**2).mean(axis=0), (scaled**4).mean(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        excess = fourths / squares**2 - 1
        return np.where(excess > 0, 2 * centred.shape[0] / excess, np.inf)


def interval(mean: Any, error: Any, freedom: Any) -> tuple[Any, Any]:
    """The 95% interval by Student's distribution; NaN for a single run."""
    freedom = np.asarray(freedom, dtype=float)
    half = np.where(freedom > 0, scipy.special.stdtrit(np.maximum(freedom, 1e-9), 0.975), np.nan) * error
    return mean - half, mean + half
