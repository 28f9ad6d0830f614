"""Tails and quantiles of distributions, from ``scipy.special``.

``scipy.stats`` has them all, but takes half a second to load: longer than a small log takes to read and fit.
"""

from __future__ import annotations

from typing import Any

import scipy


def chi2_tail(x: Any, degrees: Any) -> Any:
    """Return the probability that a chi-square variable exceeds ``x``.

    Examples
    --------
    >>> round(float(chi2_tail(3.841, 1)), 3)
    0.05
    """
    return scipy.special.chdtrc(degrees, x)


def chi2_quantile(p: Any, degrees: Any) -> Any:
    """Return the value that a chi-square variable exceeds with probability 1 - p.

    Examples
    --------
    >>> round(float(chi2_quantile(0.95, 1)), 3)
    3.841
    """
    return 2 * scipy.special.gammaincinv(degrees / 2, p)


def chi2_upper(tail: Any, degrees: Any) -> Any:
    """Return the value that a chi-square variable exceeds with probability ``tail``.

    Examples
    --------
    >>> round(float(chi2_upper(0.05, 1)), 3)
    3.841
    """
    return 2 * scipy.special.gammainccinv(degrees / 2, tail)


def student_upper(tail: Any, degrees: Any) -> Any:
    """Return the value that Student's t exceeds with probability ``tail``.

    Examples
    --------
    >>> round(float(student_upper(0.025, 11)), 2)
    2.2
    """
    return -scipy.special.stdtrit(degrees, tail)


def log_poisson(n: Any, mean: Any) -> Any:
    """Return the logarithm of the probability of a Poisson count.

    Examples
    --------
    >>> round(float(log_poisson(0, 2.5)), 3)
    -2.5
    """
    return scipy.special.xlogy(n, mean) - scipy.special.gammaln(n + 1) - mean


def poisson_from(n: Any, mean: Any) -> Any:
    """Return the probability that a Poisson count is at least ``n``.

    Examples
    --------
    >>> round(float(poisson_from(1, 1.0)), 3), float(poisson_from(0, 1.0))
    (0.632, 1.0)
    """
    return scipy.special.gammainc(n, mean)  # 1 for n = 0


def binomial_from(n: Any, trials: Any, p: Any) -> Any:
    """Return the probability that at least ``n`` of independent trials succeed, 1 <= n <= trials.

    Examples
    --------
    >>> round(float(binomial_from(3, 3, 0.5)), 3)
    0.125
    """
    return scipy.special.betainc(n, trials - n + 1, p)


def negative_binomial_from(n: Any, mean: Any, index: Any) -> Any:
    """Return the probability of a count of at least ``n`` >= 1 whose variance is ``index`` > 1 times its mean.

    Examples
    --------
    >>> round(float(negative_binomial_from(1, 1.0, 2.0)), 3)
    0.5
    """
    return scipy.special.betainc(n, mean / (index - 1), 1 - 1 / index)


def count_quantile(p: float, mean: float, shape: float | None) -> int:
    """Return a quantile of a Poisson count, or of one whose mean has a gamma distribution.

    Parameters
    ----------
    p : float
        Probability, in (0, 1).
    mean : float
        Expected count.
    shape : float or None
        Shape of the gamma distribution of the mean; None for an exact mean.

    Examples
    --------
    >>> count_quantile(0.975, 81.2, None), count_quantile(0.975, 81.2, 20.0), count_quantile(0.975, 0.014, None)
    (99, 125, 0)
    """

    def below(n: int) -> Any:
        if shape is None:
            return scipy.special.pdtr(n, mean)
        return scipy.special.betainc(shape, n + 1, shape / (shape + mean))

    low, high = -1, 1  # the smallest count with a probability of at least p lies above low, up to high
    while below(high) < p:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if below(middle) >= p else (middle, high)
    return high
