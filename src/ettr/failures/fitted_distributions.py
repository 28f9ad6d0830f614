"""Exponential, Weibull, gamma and lognormal distributions fitted to censored gaps and lifetimes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import scipy

from ettr.failures.dispersion import tail_quantile

COLUMNS = (
    *("distribution", "shape", "shape_low", "shape_high", "scale_h", "scale_low_h", "scale_high_h"),
    *("log_likelihood", "aic", "delta_aic", "ks", "ks_p"),
)
"""Columns of the table of fits."""


@dataclass(frozen=True)
class CensoredGaps:
    """Times between incidents, with their censoring.

    Attributes
    ----------
    length_h : ndarray
        Gaps by their time stamps. [h]
    unresolved : ndarray of bool
        True for left-censored gaps: only known to be shorter than ``limit_h``.
    limit_h : float
        Upper bound of the unresolved gaps. [h]
    open_h : ndarray
        Right-censored gaps, which had not ended by the end of the window. [h]
    step_h : float
        Resolution of the time stamps. [h]
    phase : bool
        True if a gap may begin anywhere between two stamps, False if it begins at a stamp.
    """

    length_h: np.ndarray
    unresolved: np.ndarray
    limit_h: float
    open_h: np.ndarray
    step_h: float
    phase: bool

    @classmethod
    def of_lifetimes(cls, ended_h: np.ndarray, running_h: np.ndarray) -> CensoredGaps:
        """Return lifetimes as gaps: exact ones, and right-censored ones. [h]"""
        return cls(ended_h, np.zeros(len(ended_h), dtype=bool), np.inf, running_h, 0.0, phase=True)

    @property
    def resolved(self) -> np.ndarray:
        """Gaps whose length is known. [h]"""
        return np.asarray(self.length_h[~self.unresolved])

    @property
    def placed(self) -> np.ndarray:
        """All gaps, with unresolved ones at half their upper bound. [h]"""
        middle = self.limit_h / 2 if np.isfinite(self.limit_h) else 0.0
        return np.asarray(np.where(self.unresolved, middle, self.length_h))

    @property
    def n_distinct(self) -> int:
        """Number of different known gaps, apart from rounding."""
        return int(np.unique(np.round(self.resolved / self.length_h.mean(), 6)).size) if self.resolved.size else 0

    def sample(self, rng: np.random.Generator, most: int) -> CensoredGaps:
        """Return a random sample of at most ``most`` gaps."""
        if self.length_h.size <= most:
            return self
        chosen = rng.choice(self.length_h.size, most, replace=False, shuffle=False)
        return replace(self, length_h=self.length_h[chosen], unresolved=self.unresolved[chosen])

    def stamp(self, rng: np.random.Generator, gaps: np.ndarray) -> np.ndarray:
        """Return exact gaps as time stamps of this resolution would record them."""
        if not self.step_h:
            return gaps
        steps = np.floor(gaps / self.step_h + (rng.uniform(size=gaps.shape) if self.phase else 0.0))
        stamped = steps * self.step_h + (0.0 if self.phase else self.step_h / 2)
        return np.where(steps == 0, self.limit_h / 2, stamped)


Fitted = tuple[np.ndarray, np.ndarray]
"""Shapes and scales. [1, h]"""


@dataclass(frozen=True)
class Family:
    """A distribution with shape and scale: its logarithms for scale 1, a quick fit to exact gaps, and random draws.

    Attributes
    ----------
    has_shape : bool
        False for the exponential, whose shape is 1.
    log_density, log_survival, log_cdf : callable
        Functions of gaps in units of the scale, and of the shape.
    quick : callable
        Maximum likelihood for rows of exact gaps: a shape and a scale for each row.
    draw : callable
        Random gaps from a generator, a shape, a scale and the size of the sample.
    """

    has_shape: bool
    log_density: Callable[[Any, Any], Any]
    log_survival: Callable[[Any, Any], Any]
    log_cdf: Callable[[Any, Any], Any]
    quick: Callable[[np.ndarray], Fitted]
    draw: Callable[[np.random.Generator, float, float, tuple[int, int]], np.ndarray]

    def log_likelihood(self, gaps: CensoredGaps, shape: float, scale: float) -> float:
        """Return the log-likelihood: density of exact gaps, CDF of left-censored, survival of right-censored ones."""
        resolved = gaps.resolved
        with np.errstate(divide="ignore"):  # a gap may be impossible at this shape and scale
            total = self.log_density(resolved / scale, shape).sum() - resolved.size * np.log(scale)
            if n_unresolved := np.count_nonzero(gaps.unresolved):
                total += n_unresolved * self.log_cdf(gaps.limit_h / scale, shape)
            return float(total + self.log_survival(gaps.open_h / scale, shape).sum())

    def fit(self, gaps: CensoredGaps) -> tuple[float, float]:
        """Return shape and scale by maximum likelihood with censoring, starting from the quick fit."""
        shapes, scales = self.quick(gaps.placed[None, :])
        n = gaps.length_h.size

        def cost(logs: np.ndarray) -> float:
            at = np.exp(logs)
            return min(-self.log_likelihood(gaps, at[0] if self.has_shape else 1.0, at[-1]) / n, _IMPOSSIBLE)

        start = np.log([*shapes, *scales] if self.has_shape else scales)
        with np.errstate(all="ignore"):  # the search may try a scale at which an open gap is impossible
            # BFGS in the logarithms: a simplex stops after four digits and takes five times as long
            optimum = scipy.optimize.minimize(cost, start, method="BFGS", options={"gtol": 1e-6})
        at = np.exp(optimum.x)
        return (float(at[0]) if self.has_shape else 1.0), float(at[-1])


_IMPOSSIBLE = 1e5
"""Cost per gap of parameters at which a gap is impossible, in place of infinity."""
_STEPS = 50
"""Most steps of Newton's method; it needs fewer than ten."""


def _newton(shape: np.ndarray, excess: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    """Solve for the shape of each row, with a function that returns an excess and its slope in the shape."""
    for _ in range(_STEPS):
        value, slope = excess(shape)
        step = value / slope
        shape = np.where(step < shape, shape - step, shape / 2)  # stays positive
        if (np.abs(step) <= 1e-14 * shape).all():
            break
    return shape


def _quick_weibull(gaps: np.ndarray) -> Fitted:
    r"""Shape k and scale, where :math:`\sum x^k \ln x / \sum x^k - 1/k` is the mean of :math:`\ln x`."""
    longest = gaps.max(axis=1, keepdims=True)
    logs = np.log(gaps / longest)
    mean = logs.mean(axis=1)

    def excess(shape: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        power = np.exp(shape[:, None] * logs)
        power /= power.sum(axis=1, keepdims=True)
        first = (power * logs).sum(axis=1)
        spread = (power * logs**2).sum(axis=1) - first**2
        return first - 1 / shape - mean, spread + shape**-2

    # the standard deviation of the logarithm is pi / sqrt(6) over the shape
    shape = _newton(np.pi / np.sqrt(6) / np.maximum(logs.std(axis=1), 1e-9), excess)
    power = np.exp(shape[:, None] * logs).mean(axis=1)
    return shape, longest[:, 0] * power ** (1 / shape)


def _quick_gamma(gaps: np.ndarray) -> Fitted:
    r"""Shape k and scale, where :math:`\ln k - \psi(k)` is the log of the mean minus the mean of the logs."""
    mean = gaps.mean(axis=1)
    distance = np.maximum(np.log(mean) - np.log(gaps).mean(axis=1), 1e-12)

    def excess(shape: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        value = np.log(shape) - scipy.special.digamma(shape) - distance
        return value, 1 / shape - scipy.special.zeta(2, shape)

    # Minka's approximation (2002) as start
    start = (3 - distance + np.sqrt((distance - 3) ** 2 + 24 * distance)) / (12 * distance)
    shape = _newton(start, excess)
    return shape, mean / shape


def _log_gamma_survival(x: Any, shape: Any) -> Any:
    """Logarithm of the survival at scale 1; where it underflows, its leading term for large x."""
    with np.errstate(divide="ignore"):
        exact = np.log(scipy.special.gammaincc(shape, x))
        return np.where(np.isfinite(exact), exact, (shape - 1) * np.log(x) - x - scipy.special.gammaln(shape))


def _quick_lognormal(gaps: np.ndarray) -> Fitted:
    """Standard deviation of the logarithms, and exp of their mean."""
    logs = np.log(gaps)
    return logs.std(axis=1), np.exp(logs.mean(axis=1))


FAMILIES = {
    "exponential": Family(
        False,
        log_density=lambda x, shape: -x,
        log_survival=lambda x, shape: -x,
        log_cdf=lambda x, shape: np.log(-np.expm1(-x)),
        quick=lambda gaps: (np.ones(len(gaps)), gaps.mean(axis=1)),
        draw=lambda rng, shape, scale, size: rng.exponential(scale, size),
    ),
    "weibull": Family(
        True,
        log_density=lambda x, shape: np.log(shape) + (shape - 1) * np.log(x) - x**shape,
        log_survival=lambda x, shape: -(x**shape),
        log_cdf=lambda x, shape: np.log(-np.expm1(-(x**shape))),
        quick=_quick_weibull,
        draw=lambda rng, shape, scale, size: scale * rng.weibull(shape, size),
    ),
    "gamma": Family(
        True,
        log_density=lambda x, shape: (shape - 1) * np.log(x) - x - scipy.special.gammaln(shape),
        log_survival=_log_gamma_survival,
        log_cdf=lambda x, shape: np.log(scipy.special.gammainc(shape, x)),
        quick=_quick_gamma,
        draw=lambda rng, shape, scale, size: rng.gamma(shape, scale, size),
    ),
    "lognormal": Family(
        True,
        log_density=lambda x, shape: -np.log(x * shape) - np.log(2 * np.pi) / 2 - (np.log(x) / shape) ** 2 / 2,
        log_survival=lambda x, shape: scipy.special.log_ndtr(-np.log(x) / shape),
        log_cdf=lambda x, shape: scipy.special.log_ndtr(np.log(x) / shape),
        quick=_quick_lognormal,
        draw=lambda rng, shape, scale, size: rng.lognormal(np.log(scale), shape, size),
    ),
}
"""The distributions by name."""


def fit_distributions(
    gaps: CensoredGaps, rng: np.random.Generator, draws: int, most: int, level: float = 0.95
) -> pd.DataFrame:
    """Fit all four distributions, with intervals and a goodness-of-fit test of each.

    Parameters
    ----------
    gaps : CensoredGaps
        With at least a few different lengths.
    rng : Generator
        Random generator of the bootstrap.
    draws : int
        Bootstrap draws.
    most : int
        Most gaps in a draw.
    level : float
        Coverage of the intervals.

    Returns
    -------
    DataFrame
        Columns ``COLUMNS``, see :class:`ettr.failures.gaps.GapFit`. An interval runs from 0 to infinity where the
        likelihood is too flat to give one.
    """
    compared = gaps.sample(rng, most)
    rows = []
    for name, family in FAMILIES.items():
        shape, scale = family.fit(gaps)
        height = family.log_likelihood(gaps, shape, scale)
        row = {"distribution": name, "shape": shape, "scale_h": scale, "log_likelihood": height}
        row |= wald(family, gaps, shape, scale, level)
        row["aic"] = 2 * (1 + family.has_shape) - 2 * height
        row["ks"] = float(_distance(family, compared.placed[None, :])[0])
        drawn = np.maximum(family.draw(rng, shape, scale, (draws, compared.length_h.size)), np.finfo(float).tiny)
        drawn_ks = _distance(family, compared.stamp(rng, drawn))
        # p-value: rank of the observed distance among those of the draws, each refitted
        row["ks_p"] = float((1 + np.count_nonzero(drawn_ks >= row["ks"])) / (draws + 1))
        rows.append(row)
    table = pd.DataFrame(rows)
    table["delta_aic"] = table["aic"] - table["aic"].min()
    return table[list(COLUMNS)]


def _distance(family: Family, gaps: np.ndarray) -> np.ndarray:
    """Kolmogorov-Smirnov distance of each row of gaps from its own quick fit."""
    shape, scale = (fitted[:, None] for fitted in family.quick(gaps))
    with np.errstate(divide="ignore"):
        expected = np.exp(family.log_cdf(np.sort(gaps, axis=1) / scale, shape))
    n = gaps.shape[1]
    above = (np.arange(1, n + 1) / n - expected).max(axis=1)
    below = (expected - np.arange(n) / n).max(axis=1)
    return np.asarray(np.maximum(above, below))


def wald(family: Family, gaps: CensoredGaps, shape: float, scale: float, level: float) -> dict[str, float]:
    """Return Wald intervals of shape and scale, from the curvature of the log-likelihood in their logarithms.

    Returns
    -------
    dict
        ``shape_low``, ``shape_high``, ``scale_low_h`` and ``scale_high_h``: from 0 to infinity where the likelihood is
        too flat to give an interval.
    """
    shapes = np.log([shape]) if family.has_shape else np.empty(0)
    # for the gamma, mean (shape times scale) and shape are nearly uncorrelated, which keeps differences accurate
    tilt = family is FAMILIES["gamma"]
    centre = np.append(shapes, np.log(scale) + tilt * shapes.sum())

    def height(logs: np.ndarray) -> float:
        at = np.exp(logs)
        return family.log_likelihood(gaps, at[0] if family.has_shape else 1.0, at[-1] / (at[0] if tilt else 1.0))

    # nearly equal gaps have a narrow likelihood, which takes a smaller step
    narrow = min(1.0, float(np.log(gaps.resolved).std()))
    information = _curvature(height, centre, 1e-3 * np.append(np.ones(shapes.size), narrow))
    ends = {"shape_low": 0.0, "shape_high": np.inf} if family.has_shape else {"shape_low": 1.0, "shape_high": 1.0}
    ends |= {"scale_low_h": 0.0, "scale_high_h": np.inf}
    if np.isfinite(information).all() and (np.linalg.eigvalsh(information) > 0).all():
        covariance, spread = np.linalg.inv(information), tail_quantile(level)
        # delta method: log scale = log mean - log shape for the gamma, itself for the others
        to_scale = np.append(-float(tilt) * np.ones(shapes.size), 1.0)
        error = spread * np.sqrt(to_scale @ covariance @ to_scale)
        ends |= {"scale_low_h": scale * np.exp(-error), "scale_high_h": scale * np.exp(error)}
        if family.has_shape:
            error = spread * np.sqrt(covariance[0, 0])
            ends |= {"shape_low": shape * np.exp(-error), "shape_high": shape * np.exp(error)}
    return {name: float(end) for name, end in ends.items()}


def _curvature(height: Callable[[np.ndarray], float], centre: np.ndarray, steps: np.ndarray) -> np.ndarray:
    """Observed information: negative second derivatives by central differences."""
    units = np.diag(steps)
    hessian = np.empty((centre.size, centre.size))
    for i in range(centre.size):
        for j in range(i, centre.size):
            along, across = units[i] + units[j], units[i] - units[j]
            change = height(centre + along) - height(centre + across) - height(centre - across) + height(centre - along)
            hessian[i, j] = hessian[j, i] = -change / (4 * steps[i] * steps[j])
    return hessian
