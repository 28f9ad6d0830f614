"""Shares of a variance that inputs explain: where to look, and what follows from the answers there."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy

_RESAMPLES = 100
"""Samples with repetition from which the errors are known."""


@dataclass(frozen=True, eq=False)
class Shares:
    """Sobol indices of one answer, an element an input.

    Attributes
    ----------
    first, total : ndarray
        Share of the variance that the input explains alone, and with others.
    first_error, total_error : ndarray
        Half the widths of their 95% intervals.
    """

    first: np.ndarray
    total: np.ndarray
    first_error: np.ndarray
    total_error: np.ndarray


def points(n_inputs: int, n: int, seed: int) -> np.ndarray:
    """Where to look for :func:`shares`, in the unit cube.

    Parameters
    ----------
    n_inputs : int
        Inputs.
    n : int
        Points of a scrambled Sobol sequence, a power of 2.
    seed : int
        Of the scrambling.

    Returns
    -------
    ndarray of shape (n * (n_inputs + 2), n_inputs)
        For each of ``n`` pairs of independent points A and B: A, then A with each input in turn as in B, then B.

    Notes
    -----
    Saltelli et al. (2010), section 5: A and B are the halves of one sequence of twice as many dimensions.
    """
    one, other = np.split(scipy.stats.qmc.Sobol(2 * n_inputs, seed=seed).random(n), 2, axis=1)
    blocks = np.repeat(one[:, None], n_inputs + 2, axis=1)
    at = np.arange(n_inputs)
    blocks[:, at + 1, at] = other
    blocks[:, -1] = other
    return blocks.reshape(-1, n_inputs)


def shares(answer: np.ndarray, n_inputs: int, seed: int) -> Shares:
    r"""Sobol indices from the answers at :func:`points`; all zero where the answer is the same everywhere.

    Parameters
    ----------
    answer : ndarray
        One a point, in their order.
    n_inputs : int
        Inputs.
    seed : int
        Of the samples with repetition.

    Notes
    -----
    With f the answer less its mean, and C as A but for one input, which is as in B:
    :math:`\overline{f(B)(f(C) - f(A))} / V` alone (Saltelli et al. 2010), and
    :math:`\overline{(f(A) - f(C))^2} / 2V` with others (Jansen 1999), V being the variance over A and B. Errors are
    those of the bootstrap: 1.96 standard deviations over samples with repetition.

    Examples
    --------
    >>> at = points(2, 1024, seed=1)
    >>> shares(3 * at[:, 0] + at[:, 1], 2, seed=1).total.round(2).tolist()
    [0.9, 0.1]
    """
    if not np.ptp(answer):
        nothing = np.zeros(n_inputs)
        return Shares(nothing, nothing, nothing, nothing)
    scaled = ((answer - answer.mean()) / answer.std()).reshape(-1, n_inputs + 2)
    n = len(scaled)
    again = scaled[np.random.default_rng(seed).integers(n, size=(n, _RESAMPLES)).T]
    normal = scipy.special.ndtri(0.975)
    first_error, total_error = (normal * index.std(axis=0, ddof=1) for index in _indices(again))
    return Shares(*_indices(scaled), first_error, total_error)


def _indices(scaled: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """First and total indices, an input along the last axis; pairs of points along the one before."""
    one, mixed, other = scaled[..., :1], scaled[..., 1:-1], scaled[..., -1:]
    variance = np.concatenate([one, other], axis=-2).var(axis=-2)
    first = (other * (mixed - one)).mean(axis=-2)
    total = ((one - mixed) ** 2).mean(axis=-2) / 2
    flat = variance == 0  # a sample of equal answers
    return tuple(np.where(flat, 0.0, index / np.where(flat, 1.0, variance)) for index in (first, total))  # type: ignore[return-value]
