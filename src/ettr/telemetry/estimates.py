"""An estimate with its interval, and how it is found from samples that follow each other."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy

LEVEL = 0.95
"""Of all intervals."""

_STRONGEST = 0.97
"""Correlation from sample to sample that prewhitening stops at."""


@dataclass(frozen=True)
class Estimate:
    """One figure found from a recording, or why there is none.

    Attributes
    ----------
    name : str
        What it is.
    unit : str
        Its unit; empty for none.
    value : float or None
        The figure; None where it is not identified.
    low, high : float or None
        Ends of the 95% interval.
    n : int
        Samples that it rests on.
    why_not : str
        Why the data cannot say; empty where they can.
    note : str
        What the figure rests on besides.
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
        """Whether there is a figure."""
        return self.value is not None

    @property
    def with_ends(self) -> tuple[float, float, float] | None:
        """The figure and the ends of its interval; None where it is not identified."""
        if self.value is None or self.low is None or self.high is None:
            return None
        return self.value, self.low, self.high


@dataclass(frozen=True)
class Solution:
    """Least squares with errors that allow for residuals that follow each other.

    Attributes
    ----------
    values : ndarray
        The parameters.
    errors : ndarray
        Their standard errors.
    n : int
        Samples.
    n_effective : float
        Independent samples that would know the parameters as well.
    """

    values: np.ndarray
    errors: np.ndarray
    n: int
    n_effective: float

    def interval(self, i: int) -> tuple[float, float]:
        """The 95% interval of one parameter, by Student's t."""
        freedom = max(self.n_effective - len(self.values), 1.0)
        half = float(scipy.stats.t.ppf((1 + LEVEL) / 2, freedom) * self.errors[i])
        return float(self.values[i]) - half, float(self.values[i]) + half

    def estimate(self, name: str, unit: str, i: int = 0) -> Estimate:
        """One parameter as a figure."""
        return Estimate(name, unit, float(self.values[i]), *self.interval(i), self.n)


def with_errors(
    values: np.ndarray, jacobian: np.ndarray, residuals: np.ndarray, rounded: np.ndarray | None = None
) -> Solution:
    """Standard errors of a least-squares solution whose residuals are correlated in time.

    The sandwich H⁻¹ S H⁻¹ with H = JᵀJ, and S the long-run variance of the scores, prewhitened by a first-order
    autoregression and summed with Bartlett's weights over Andrews' automatic width (Andrews and Monahan 1992). Where
    few samples decide a parameter the sandwich is too narrow, so that an error is no less than that of residuals which
    are alike everywhere, times the root of their integrated autocorrelation time (Geyer's initial positive sequence).
    ``rounded``, readings that are whole numbers, adds what rounding hides: all samples with one reading are taken to
    share an error of variance 1/12.
    """
    n = len(residuals)
    scale = np.sqrt((jacobian**2).sum(axis=0))
    scale[scale == 0] = 1.0
    j = jacobian / scale
    bread = np.linalg.pinv(j.T @ j)
    meat = _long_run(j * residuals[:, None])
    plain = np.diag(bread) * float(residuals @ residuals) / max(n - len(values), 1)
    even = plain * integrated_time(residuals)
    own = np.maximum(np.diag(bread @ meat @ bread), even)
    inflation = max(float(np.max(own / np.where(plain > 0, plain, 1.0), initial=1.0)), 1.0)
    hidden = np.zeros(len(values))
    if rounded is not None:  # of a variance that is known, so that it costs no freedom
        _, reading = np.unique(rounded, return_inverse=True)
        shared = np.zeros((int(reading.max()) + 1, j.shape[1]))
        np.add.at(shared, reading, j)
        hidden = np.diag(bread @ (shared.T @ shared / 12) @ bread)
    errors = np.sqrt(np.clip(own + hidden, 0, None)) / scale
    return Solution(values, errors, n, max(n / inflation, len(values) + 1.0))


def integrated_time(residuals: np.ndarray) -> float:
    """Samples that are worth one independent sample; 1 or more.

    One and twice the sum of the autocorrelations, in pairs of lags for as long as a pair is positive (Geyer 1992).
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
    kept = pairs[: int(ends[0])] if ends.size else pairs
    return max(2 * float(kept.sum()) - 1, 1.0)


def _long_run(scores: np.ndarray) -> np.ndarray:
    """Sum of the autocovariances of the scores, times their number."""
    n, k = scores.shape
    past, now = scores[:-1], scores[1:]
    power = (past**2).sum(axis=0)
    rho = np.where(power > 0, (past * now).sum(axis=0) / np.where(power > 0, power, 1.0), 0.0)
    rho = np.clip(rho, -_STRONGEST, _STRONGEST)
    white = now - past * rho
    width = _width(white)
    total = white.T @ white
    for lag in range(1, width + 1):
        cross = white[lag:].T @ white[:-lag] * (1 - lag / (width + 1))
        total += cross + cross.T
    recolour = np.diag(1 / (1 - rho))
    sums: np.ndarray = recolour @ total @ recolour * n / max(n - k, 1)
    return sums


def _width(white: np.ndarray) -> int:
    """Andrews' width for Bartlett's weights, from a first-order autoregression of each score."""
    n = len(white)
    past, now = white[:-1], white[1:]
    power = (past**2).sum(axis=0)
    rho = np.clip((past * now).sum(axis=0) / np.where(power > 0, power, 1.0), -0.9, 0.9)
    alpha = float(np.max(4 * rho**2 / ((1 - rho) ** 2 * (1 + rho) ** 2)))
    return int(min(1.1447 * (alpha * n) ** (1 / 3), n // 4)) + 1


def mean_of(values: np.ndarray) -> tuple[float, float, float]:
    """Mean of samples in order of time, with its 95% interval by means of batches.

    Between 5 and 30 batches, as many as the square root of the samples: batches are then longer than what
    correlates neighbours, and Student's t is of as many degrees as there are batches less one.
    """
    n = len(values)
    mean = float(np.mean(values))
    n_batches = int(min(30, max(5, math.isqrt(n))))
    if n < 2 * n_batches:
        return mean, -math.inf, math.inf
    batches = [float(batch.mean()) for batch in np.array_split(values, n_batches)]
    half = float(scipy.stats.t.ppf((1 + LEVEL) / 2, n_batches - 1) * np.std(batches, ddof=1) / math.sqrt(n_batches))
    return mean, mean - half, mean + half


def together(estimates: Sequence[Estimate]) -> Estimate:
    """One estimate from those of several GPUs: their mean, with what differs from GPU to GPU in the interval.

    The variance of the mean is that between the GPUs over their number, but no less than what their own intervals
    imply. GPUs where the figure is not identified are left out, and counted in the note.
    """
    first = estimates[0]
    if len(estimates) == 1:
        return first
    known = [each.with_ends for each in estimates if each.with_ends]
    if not known:
        return replace(first, why_not=f"{first.why_not} (the first of {len(estimates)} GPUs, none of which can say)")
    values, lows, highs = np.array(known).T
    half = float(((highs - lows) ** 2).sum()) ** 0.5 / 2 / len(known)
    if len(known) > 1:
        between = float(np.std(values, ddof=1)) / math.sqrt(len(known))
        half = max(half, between * float(scipy.stats.t.ppf((1 + LEVEL) / 2, len(known) - 1)))
    mean = float(values.mean())
    missing = len(estimates) - len(known)
    note = f"mean of {len(known)} GPUs" + (f"; {missing} could not say" if missing else "")
    own = next(each.note for each in estimates if each.identified)
    n = sum(each.n for each in estimates if each.identified)
    whole = "; ".join(filter(None, (own, note)))
    return Estimate(first.name, first.unit, mean, mean - half, mean + half, n, note=whole)


def if_sure(each: Estimate) -> Estimate:
    """The estimate, or why it says nothing: its interval holds 0, or is wider than its value."""
    if each.with_ends is None:
        return each
    value, low, high = each.with_ends
    span = f"{value:.3g}{f' {each.unit}' if each.unit else ''} ({low:.3g} to {high:.3g})"
    if low <= 0 <= high:
        return Estimate(each.name, each.unit, n=each.n, why_not=f"the interval holds 0: {span}")
    if high - low > abs(value):
        return Estimate(each.name, each.unit, n=each.n, why_not=f"the interval is wider than the value: {span}")
    return each
