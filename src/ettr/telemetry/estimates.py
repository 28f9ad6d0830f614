"""Estimates with 95% intervals, from samples that are correlated in time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ettr.core.probability import student_upper

LEVEL = 0.95
"""Confidence level of all intervals."""

_STRONGEST = 0.97
"""Largest autoregression coefficient of the prewhitening."""


@dataclass(frozen=True)
class Estimate:
    """Estimate of a figure from a recording, or the reason why there is none.

    Attributes
    ----------
    name : str
        Name of the figure.
    unit : str
        Unit; empty for none.
    value : float or None
        Estimate; None if the data do not determine it.
    low, high : float or None
        Ends of the 95% confidence interval.
    n : int
        Number of samples.
    why_not : str
        Reason why there is no estimate; empty if there is one.
    note : str
        Further assumptions.

    Examples
    --------
    >>> tau = Estimate("tau", "s", 60.1, 59.2, 61.0, n=900)
    >>> tau.identified, tau.with_ends
    (True, (60.1, 59.2, 61.0))
    """

    name: str
    unit: str
    value: float | None = None
    low: float | None = None
    high: float | None = None
    n: int = 0
    why_not: str = ""
    note: str = ""

    @property
    def identified(self) -> bool:
        """True if there is an estimate."""
        return self.value is not None

    @property
    def with_ends(self) -> tuple[float, float, float] | None:
        """Estimate and the ends of its interval; None if there is none."""
        if self.value is None or self.low is None or self.high is None:
            return None
        return self.value, self.low, self.high


@dataclass(frozen=True)
class Solution:
    """Least-squares solution with standard errors for autocorrelated residuals.

    Attributes
    ----------
    values : ndarray
        Parameters.
    errors : ndarray
        Standard errors.
    n : int
        Number of samples.
    n_effective : float
        Effective number of independent samples.
    """

    values: np.ndarray
    errors: np.ndarray
    n: int
    n_effective: float

    def interval(self, i: int) -> tuple[float, float]:
        """Return the 95% interval of a parameter, by Student's t."""
        freedom = max(self.n_effective - len(self.values), 1.0)
        half = float(student_upper((1 - LEVEL) / 2, freedom) * self.errors[i])
        return float(self.values[i]) - half, float(self.values[i]) + half

    def estimate(self, name: str, unit: str, i: int = 0) -> Estimate:
        """Return a parameter as an estimate."""
        return Estimate(name, unit, float(self.values[i]), *self.interval(i), self.n)


def with_errors(
    values: np.ndarray, jacobian: np.ndarray, residuals: np.ndarray, rounded: np.ndarray | None = None
) -> Solution:
    """Return a least-squares solution with standard errors for residuals that are correlated in time.

    The covariance is the sandwich H⁻¹ S H⁻¹ with H = JᵀJ, and S the long-run variance of the scores, prewhitened by a
    first-order autoregression and summed with Bartlett weights over Andrews' automatic bandwidth (Andrews and Monahan
    1992). The sandwich is too narrow if few samples determine a parameter. An error is therefore at least the
    homoscedastic one times the square root of the integrated autocorrelation time (Geyer's initial positive sequence).
    ``rounded``, readings in whole numbers, adds the rounding error: all samples with the same reading are assumed to
    share an error of variance 1/12.
    """
    n = len(residuals)
    scale = np.sqrt((jacobian**2).sum(axis=0))
    scale[scale == 0] = 1.0
    j = jacobian / scale  # columns of unit length, so that the inverse is well conditioned
    bread = np.linalg.pinv(j.T @ j)
    meat = _long_run(j * residuals[:, None])
    # Variances: independent residuals, those inflated by autocorrelation, and the larger of these and the sandwich.
    independent = np.diag(bread) * float(residuals @ residuals) / max(n - len(values), 1)
    correlated = independent * integrated_time(residuals)
    variance = np.maximum(np.diag(bread @ meat @ bread), correlated)
    inflation = max(float(np.max(variance / np.where(independent > 0, independent, 1.0), initial=1.0)), 1.0)
    rounding = np.zeros(len(values))
    if rounded is not None:  # its variance is known, so that it costs no degrees of freedom
        _, reading = np.unique(rounded, return_inverse=True)
        shared = np.zeros((int(reading.max()) + 1, j.shape[1]))
        np.add.at(shared, reading, j)
        rounding = np.diag(bread @ (shared.T @ shared / 12) @ bread)
    errors = np.sqrt(np.clip(variance + rounding, 0, None)) / scale
    return Solution(values, errors, n, max(n / inflation, len(values) + 1.0))


def integrated_time(residuals: np.ndarray) -> float:
    """Return the integrated autocorrelation time in samples, at least 1.

    It is 1 plus twice the sum of the autocorrelations, over pairs of lags up to the first pair that is not positive
    (Geyer 1992). The autocorrelations come from the inverse Fourier transform of the power spectrum.
    """
    n = residuals.size
    centred = residuals - residuals.mean()
    power = float(centred @ centred)
    if power <= 0:
        return 1.0
    width = 1 << (2 * n - 1).bit_length()
    spectrum = np.fft.rfft(centred, width)
    rho = np.fft.irfft(spectrum * np.conj(spectrum), width)[: n // 2] / power
    pairs = rho[: rho.size // 2 * 2].reshape(-1, 2).sum(axis=1)
    ends = np.flatnonzero(pairs <= 0)
    positive = pairs[: int(ends[0])] if ends.size else pairs
    return max(2 * float(positive.sum()) - 1, 1.0)


def _long_run(scores: np.ndarray) -> np.ndarray:
    """Long-run variance of the scores times their number, by prewhitening and Bartlett weights."""
    n, k = scores.shape
    # Prewhiten with a first-order autoregression of each score.
    past, now = scores[:-1], scores[1:]
    power = (past**2).sum(axis=0)
    rho = np.where(power > 0, (past * now).sum(axis=0) / np.where(power > 0, power, 1.0), 0.0)
    rho = np.clip(rho, -_STRONGEST, _STRONGEST)
    white = now - past * rho
    # Sum the autocovariances of the white scores with weights that fall linearly to 0 at the bandwidth.
    width = _width(white)
    total = white.T @ white
    for lag in range(1, width + 1):
        cross = white[lag:].T @ white[:-lag] * (1 - lag / (width + 1))
        total += cross + cross.T
    recolour = np.diag(1 / (1 - rho))  # undo the prewhitening
    sums: np.ndarray = recolour @ total @ recolour * n / max(n - k, 1)
    return sums


def _width(white: np.ndarray) -> int:
    """Andrews' bandwidth for Bartlett weights, from a first-order autoregression of each score."""
    n = len(white)
    past, now = white[:-1], white[1:]
    power = (past**2).sum(axis=0)
    rho = np.clip((past * now).sum(axis=0) / np.where(power > 0, power, 1.0), -0.9, 0.9)
    alpha = float(np.max(4 * rho**2 / ((1 - rho) ** 2 * (1 + rho) ** 2)))
    return int(min(1.1447 * (alpha * n) ** (1 / 3), n // 4)) + 1


def mean_of(values: np.ndarray) -> tuple[float, float, float]:
    """Return the mean of samples in order of time, with its 95% interval by batch means.

    The number of batches is the square root of the number of samples, between 5 and 30, so that batches are longer
    than the correlation time. The interval uses Student's t with one degree of freedom fewer than batches.
    """
    n = len(values)
    mean = float(np.mean(values))
    n_batches = int(min(30, max(5, math.isqrt(n))))
    if n < 2 * n_batches:
        return mean, -math.inf, math.inf
    batches = [float(batch.mean()) for batch in np.array_split(values, n_batches)]
    half = float(student_upper((1 - LEVEL) / 2, n_batches - 1) * np.std(batches, ddof=1) / math.sqrt(n_batches))
    return mean, mean - half, mean + half


def together(estimates: Sequence[Estimate]) -> Estimate:
    """Return the mean of the estimates of several GPUs, with an interval that includes their differences.

    The variance of the mean is the variance between GPUs divided by their number, but at least the variance implied by
    their intervals. GPUs without an estimate are left out and counted in the note.
    """
    first = estimates[0]
    if len(estimates) == 1:
        return first
    intervals = [estimate.with_ends for estimate in estimates if estimate.with_ends]
    if not intervals:
        return replace(first, why_not=f"{first.why_not} (first of {len(estimates)} GPUs, none with an estimate)")
    values, lows, highs = np.array(intervals).T
    n_gpus = len(intervals)
    half = float(((highs - lows) ** 2).sum()) ** 0.5 / 2 / n_gpus
    if n_gpus > 1:
        between = float(np.std(values, ddof=1)) / math.sqrt(n_gpus)
        half = max(half, between * float(student_upper((1 - LEVEL) / 2, n_gpus - 1)))
    mean = float(values.mean())
    missing = len(estimates) - n_gpus
    note = f"mean of {n_gpus} GPUs" + (f"; {missing} without an estimate" if missing else "")
    assumption = next(estimate.note for estimate in estimates if estimate.identified)
    n = sum(estimate.n for estimate in estimates if estimate.identified)
    notes = "; ".join(filter(None, (assumption, note)))
    return Estimate(first.name, first.unit, mean, mean - half, mean + half, n, note=notes)


def if_significant(estimate: Estimate) -> Estimate:
    """Return the estimate, or a reason against it if its interval contains 0 or is wider than its value."""
    if estimate.with_ends is None:
        return estimate
    value, low, high = estimate.with_ends
    span = f"{value:.3g}{f' {estimate.unit}' if estimate.unit else ''} ({low:.3g} to {high:.3g})"
    if low <= 0 <= high:
        return Estimate(estimate.name, estimate.unit, n=estimate.n, why_not=f"the interval contains 0: {span}")
    if high - low > abs(value):
        why = f"the interval is wider than the value: {span}"
        return Estimate(estimate.name, estimate.unit, n=estimate.n, why_not=why)
    return estimate
