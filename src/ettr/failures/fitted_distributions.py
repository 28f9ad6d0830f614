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
    """Gaps between incidents, and what time stamps tell of each.

    Attributes
    ----------
    length_h : ndarray
        Gaps as the stamps give them. [h]
    unresolved : ndarray of bool
        True for gaps of which only is known that they are shorter than ``limit_h``.
    limit_h : float
        See ``unresolved``. [h]
    open_h : ndarray
        Gaps that had not ended when the watch ended, known only to be longer. [h]
    step_h : float
        Step of the stamps. [h]
    phase : bool
        True if a gap begins anywhere between two stamps, False if at one.
    """

    length_h: np.ndarray
    unresolved: np.ndarray
    limit_h: float
    open_h: np.ndarray
    step_h: float
    phase: bool

    @classmethod
    def of_lifetimes(cls, ended_h: np.ndarray, running_h: np.ndarray) -> CensoredGaps:
        """Lifetimes known exactly, and those that had not ended. [h]"""
        return cls(ended_h, np.zeros(len(ended_h), dtype=bool), np.inf, running_h, 0.0, phase=True)

    @property
    def resolved(self) -> np.ndarray:
        """Gaps whose length is known. [h]"""
        return np.asarray(self.length_h[~self.unresolved])

    @property
    def placed(self) -> np.ndarray:
        """All gaps, an unresolved one in the middle of what it may be. [h]"""
        middle = self.limit_h / 2 if np.isfinite(self.limit_h) else 0.0
        return np.asarray(np.where(self.unresolved, middle, self.length_h))

    @property
    def n_distinct(self) -> int:
        """Known gaps that differ by more than what arithmetic leaves of equal ones."""
        return int(np.unique(np.round(self.resolved / self.length_h.mean(), 6)).size) if self.resolved.size else 0

    def sample(self, rng: np.random.Generator, most: int) -> CensoredGaps:
        """At most so many of the gaps, drawn at random."""
        if self.length_h.size <= most:
            return self
        chosen = rng.choice(self.length_h.size, most, replace=False, shuffle=False)
        return replace(self, length_h=self.length_h[chosen], unresolved=self.unresolved[chosen])

    def stamp(self, rng: np.random.Generator, gaps: np.ndarray) -> np.ndarray:
        """Gaps of known length as these stamps would have placed them."""
        if not self.step_h:
            return gaps
        steps = np.floor(gaps / self.step_h + (rng.uniform(size=gaps.shape) if self.phase else 0.0))
        seen = steps * self.step_h + (0.0 if self.phase else self.step_h / 2)
        return np.where(steps == 0, self.limit_h / 2, seen)


@dataclass(frozen=True)
class Family:
    """A distribution by shape and scale: SciPy's, its quick fit to known gaps, its draws and its probabilities."""

    scipy: Any
    has_shape: bool
    quick: Callable[[np.ndarray], tuple[float, float]]
    draw: Callable[[np.random.Generator, float, float, tuple[int, int]], np.ndarray]
    cdf: Callable[[np.ndarray, Any, Any], np.ndarray]

    def law(self, shape: float, scale: float) -> Any:
        """SciPy's distribution with these parameters."""
        return self.scipy(*((shape,) if self.has_shape else ()), scale=scale)

    def log_likelihood(self, gaps: CensoredGaps, shape: float, scale: float) -> float:
        law = self.law(shape, scale)
        total = law.logpdf(gaps.resolved).sum()
        if n_unresolved := np.count_nonzero(gaps.unresolved):
            total += n_unresolved * law.logcdf(gaps.limit_h)
        return float(total + law.logsf(gaps.open_h).sum())

    def fit(self, gaps: CensoredGaps) -> tuple[float, float]:
        """Maximum likelihood with censoring, begun at the quick fit."""
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
    """Search in logarithms, per gap: SciPy's usual simplex stops after four digits and takes five times as long."""
    optimum = scipy.optimize.minimize(
        lambda logs: function(np.exp(logs), *args) / n, np.log(start), method="BFGS", options={"gtol": 1e-6}
    )
    return np.exp(optimum.x)


def _quick_weibull(gaps: np.ndarray) -> tuple[float, float]:
    location, spread = scipy.stats.gumbel_l.fit(np.log(gaps))
    return 1 / float(spread), float(np.exp(location))


def _quick_gamma(gaps: np.ndarray) -> tuple[float, float]:
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
    """Fit all four distributions, with intervals and a test of each.

    Parameters
    ----------
    gaps : CensoredGaps
        At least a few distinct ones.
    rng : Generator
        Of the bootstrap.
    draws : int
        Bootstrap draws.
    most : int
        Most gaps of a draw.
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
    """Intervals from the curvature of the log-likelihood in the logarithms of shape and scale.

    Returns
    -------
    dict
        ``shape_low``, ``shape_high``, ``scale_low_h`` and ``scale_high_h``: from 0 to infinity where the likelihood is
        too flat to give an interval.
    """
    shapes = np.log([shape]) if family.has_shape else np.empty(0)
    # of a gamma the mean, not the scale, is nearly independent of the shape: differences then stay exact
    tilt = family is FAMILIES["gamma"]
    centre = np.append(shapes, np.log(scale) + tilt * shapes.sum())

    def height(logs: np.ndarray) -> float:
        at = np.exp(logs)
        return family.log_likelihood(gaps, at[0] if family.has_shape else 1.0, at[-1] / (at[0] if tilt else 1.0))

    # nearly equal gaps have a likelihood as narrow as they are
    narrow = min(1.0, float(np.log(gaps.resolved).std()))
    information = _curvature(height, centre, 1e-3 * np.append(np.ones(shapes.size), narrow))
    ends = {"shape_low": 0.0, "shape_high": np.inf} if family.has_shape else {"shape_low": 1.0, "shape_high": 1.0}
    ends |= {"scale_low_h": 0.0, "scale_high_h": np.inf}
    if np.isfinite(information).all() and (np.linalg.eigvalsh(information) > 0).all():
        covariance, spread = np.linalg.inv(information), tail_quantile(level)
        to_scale = np.append(-float(tilt) * np.ones(shapes.size), 1.0)
        error = spread * np.sqrt(to_scale @ covariance @ to_scale)
        ends |= {"scale_low_h": scale * np.exp(-error), "scale_high_h": scale * np.exp(error)}
        if family.has_shape:
            error = spread * np.sqrt(covariance[0, 0])
            ends |= {"shape_low": shape * np.exp(-error), "shape_high": shape * np.exp(error)}
    return {name: float(end) for name, end in ends.items()}


def _curvature(height: Callable[[np.ndarray], float], centre: np.ndarray, steps: np.ndarray) -> np.ndarray:
    """Negative second derivatives, by central differences."""
    units = np.diag(steps)
    hessian = np.empty((centre.size, centre.size))
    for i in range(centre.size):
        for j in range(i, centre.size):
            both, one = units[i] + units[j], units[i] - units[j]
            twist = height(centre + both) - height(centre + one) - height(centre - one) + height(centre - both)
            hessian[i, j] = hessian[j, i] = -twist / (4 * steps[i] * steps[j])
    return hessian
