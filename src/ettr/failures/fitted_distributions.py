"""Exponential, Weibull, gamma and lognormal distributions fitted to censored gaps and lifetimes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
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


@dataclass(frozen=True)
class Family:
    """A distribution with shape and scale: SciPy's class, a quick fit to exact gaps, random draws, and its CDF."""

    scipy: Any
    has_shape: bool
    quick: Callable[[np.ndarray], tuple[float, float]]
    draw: Callable[[np.random.Generator, float, float, tuple[int, int]], np.ndarray]
    cdf: Callable[[np.ndarray, Any, Any], np.ndarray]

    def law(self, shape: float, scale: float) -> Any:
        """Return SciPy's distribution with these parameters."""
        return self.scipy(*((shape,) if self.has_shape else ()), scale=scale)

    def log_likelihood(self, gaps: CensoredGaps, shape: float, scale: float) -> float:
        """Return the log-likelihood: density of exact gaps, CDF of left-censored, survival of right-censored ones."""
        law = self.law(shape, scale)
        total = law.logpdf(gaps.resolved).sum()
        if n_unresolved := np.count_nonzero(gaps.unresolved):
            total += n_unresolved * law.logcdf(gaps.limit_h)
        return float(total + law.logsf(gaps.open_h).sum())

    def fit(self, gaps: CensoredGaps) -> tuple[float, float]:
        """Return shape and scale by maximum likelihood with censoring, starting from the quick fit."""
        shape, scale = self.quick(gaps.placed)
        censored = scipy.stats.CensoredData(
            uncensored=gaps.resolved,
            left=np.full(np.count_nonzero(gaps.unresolved), gaps.limit_h),
            right=gaps.open_h,
        )
        with np.errstate(all="ignore"):  # the search may try a scale at which an open gap is impossible
            shapes = (shape,) if self.has_shape else ()
            parameters = self.scipy.fit(
                censored, *shapes, floc=0, scale=scale, optimizer=partial(_search, gaps.length_h.size)
            )
        return (float(parameters[0]) if self.has_shape else 1.0), float(parameters[-1])


def _search(n: int, function: Any, start: Any, args: tuple[Any, ...] = (), disp: int = 0) -> Any:
    """BFGS in the logarithms: SciPy's default simplex stops after four digits and takes five times as long."""
    optimum = scipy.optimize.minimize(
        lambda logs: function(np.exp(logs), *args) / n, np.log(start), method="BFGS", options={"gtol": 1e-6}
    )
    return np.exp(optimum.x)


def _quick_weibull(gaps: np.ndarray) -> tuple[float, float]:
    """Weibull shape and scale: the logarithm of a Weibull variable is a Gumbel variable."""
    location, spread = scipy.stats.gumbel_l.fit(np.log(gaps))
    return 1 / float(spread), float(np.exp(location))


def _quick_gamma(gaps: np.ndarray) -> tuple[float, float]:
    """Gamma shape and scale of exact gaps."""
    shape, _, scale = scipy.stats.gamma.fit(gaps, floc=0)
    return float(shape), float(scale)


FAMILIES = {
    "exponential": Family(
        scipy.stats.expon,
        False,
        lambda gaps: (1.0, float(gaps.mean())),
        lambda rng, shape, scale, size: rng.exponential(scale, size),
        lambda gaps, shape, scale: -np.expm1(-gaps / scale),
    ),
    "weibull": Family(
        scipy.stats.weibull_min,
        True,
        _quick_weibull,
        lambda rng, shape, scale, size: scale * rng.weibull(shape, size),
        lambda gaps, shape, scale: -np.expm1(-((gaps / scale) ** shape)),
    ),
    "gamma": Family(
        scipy.stats.gamma,
        True,
        _quick_gamma,
        lambda rng, shape, scale, size: rng.gamma(shape, scale, size),
        lambda gaps, shape, scale: scipy.special.gammainc(shape, gaps / scale),
    ),
    "lognormal": Family(
        scipy.stats.lognorm,
        True,
        lambda gaps: (float(np.log(gaps).std()), float(np.exp(np.log(gaps).mean()))),
        lambda rng, shape, scale, size: rng.lognormal(np.log(scale), shape, size),
        lambda gaps, shape, scale: scipy.special.ndtr(np.log(gaps / scale) / shape),
    ),
}


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
    fits = np.array([family.quick(row) for row in gaps])
    expected = family.cdf(np.sort(gaps, axis=1), fits[:, :1], fits[:, 1:])
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
