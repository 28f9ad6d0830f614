"""Times between failures: which distribution they follow, and whether failures are memoryless."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ettr.core.errors import InputError
from ettr.core.probability import chi2_tail
from ettr.core.validity import at_least_zero
from ettr.failures.fitted_distributions import COLUMNS, CensoredGaps, fit_distributions
from ettr.failures.window import checked_level, checked_starts, in_order

MERGE_RULES_MIN = (0.0, 10.0, 60.0)
"""Merge rules: failures that start within this time are one incident. A fit should agree under all rules. [min]"""

MIN_GAPS = 5
"""Different gap lengths below which no distribution is fitted."""

_MOST_FITTED, _MOST_DRAWN = 20_000, 2_000
"""Most gaps in a fit and in a bootstrap draw; longer logs are sampled."""

_ROUNDING_H = 1e-9
"""Differences below this are rounding errors of equal time stamps. [h]"""


@dataclass(frozen=True)
class GapFit:
    """Distributions fitted to the gaps between incidents, under one merge rule.

    Attributes
    ----------
    within_min : float
        Merge rule: failures that start within this time of an incident's first belong to it. [min]
    n_incidents : int
        Incidents.
    n_gaps : int
        Gaps between incidents, without the open one at the end of the window.
    mean_gap_h : float or None
        Mean gap, from the end of a merge window to the next incident; None without gaps. [h]
    cv : float or None
        Coefficient of variation of the gaps, 1 for exponential ones; None below two gaps.
    table : DataFrame
        One row per distribution (``exponential``, ``weibull``, ``gamma``, ``lognormal``): ``distribution``; ``shape``,
        ``shape_low``, ``shape_high`` (1 for the exponential, sigma for the lognormal); ``scale_h``, ``scale_low_h``,
        ``scale_high_h`` (median for the lognormal) [h]; ``log_likelihood``; ``aic``; ``delta_aic`` to the best row;
        ``ks``, the Kolmogorov-Smirnov distance; ``ks_p``, its p-value by parametric bootstrap. Empty if nothing was
        fitted.
    draws, n_bootstrap_gaps : int
        Bootstrap draws behind each ``ks_p``, and gaps in each draw.
    resolution_h : float
        Resolution of the time stamps. [h]
    too_coarse : bool
        True if the resolution exceeds a fifth of the mean gap, too coarse to judge the shape.
    memoryless_p : float or None
        P-value of exponential gaps; None without a fit.
    level : float
        Coverage of the intervals.
    reason : str
        Why nothing was fitted; empty otherwise.
    """

    within_min: float
    n_incidents: int
    n_gaps: int
    mean_gap_h: float | None
    cv: float | None
    table: pd.DataFrame
    draws: int
    n_bootstrap_gaps: int
    resolution_h: float
    too_coarse: bool
    memoryless_p: float | None
    level: float
    reason: str = ""

    @property
    def best(self) -> str | None:
        """Distribution with the lowest AIC; None if nothing was fitted."""
        return None if self.table.empty else str(self.table.loc[self.table["aic"].idxmin(), "distribution"])

    @property
    def weibull_shape(self) -> float | None:
        """Shape of the Weibull fit: below 1 failures come in bursts, above 1 they are regular."""
        return self._weibull("shape")

    @property
    def weibull_low(self) -> float | None:
        """Low end of the interval of the Weibull shape."""
        return self._weibull("shape_low")

    @property
    def weibull_high(self) -> float | None:
        """High end of the interval of the Weibull shape."""
        return self._weibull("shape_high")

    def _weibull(self, column: str) -> float | None:
        return None if self.table.empty else float(self.table.set_index("distribution").loc["weibull", column])


def merge_starts(start_h: Any, within_h: float) -> np.ndarray:
    """Return the starts of incidents, each of which contains all failures within ``within_h`` of its first. [h]

    Parameters
    ----------
    start_h : array of float
        Starts of failures, in order. [h]
    within_h : float
        Length of the merge window, including its end; 0 merges nothing, not even equal times. [h]

    Returns
    -------
    ndarray
        Start of each incident. Later failures do not extend the merge window, so a busy day is not a single incident.

    Raises
    ------
    InputError
        Times out of order, or a negative duration.

    Examples
    --------
    >>> merge_starts([0.0, 0.4, 0.9, 1.3, 5.0], 1.0)
    array([0. , 1.3, 5. ])
    """
    start = in_order(start_h)
    within = float(at_least_zero("within_h", within_h, unit="h"))
    if within == 0 or start.size == 0:
        return start
    # stamps on a grid lie exactly this far apart, apart from rounding
    until = start + within * (1 + 1e-9) + _ROUNDING_H
    following = np.searchsorted(start, until, side="right").tolist()
    firsts, first = [], 0
    while first < start.size:
        firsts.append(first)
        first = following[first]
    return start[firsts]


def fit_gaps(
    start_h: Any,
    window_h: float,
    within_min: float = 0.0,
    resolution_h: float = 0.0,
    seed: int = 0,
    draws: int = 199,
    level: float = 0.95,
) -> GapFit:
    r"""Fit four distributions to the gaps between incidents, and test whether they are exponential.

    Parameters
    ----------
    start_h : array of float
        Starts of failures since the start of the window, in order. [h]
    window_h : float
        Length of the window. [h]
    within_min : float
        Merge rule, see :func:`merge_starts`. [min]
    resolution_h : float
        Resolution of the time stamps. [h]
    seed : int
        Seed of the bootstrap and of samples.
    draws : int
        Bootstrap draws, at least 19.
    level : float
        Coverage of the intervals.

    Returns
    -------
    GapFit
        With an empty table and a reason if fewer than five different gaps are left.

    Raises
    ------
    InputError
        Times out of order or outside the window, a negative duration, too few draws, a level outside (0, 1).

    Notes
    -----
    A gap runs from the end of an incident's merge window to the next incident, because that time stays exponential
    when memoryless failures are merged; from start to start no gap could be shorter than the merge window, and a
    memoryless log would look regular. The open gap at the end of the window is right-censored. Gaps of zero by their
    coarse time stamps are left-censored: at half the resolution, or at the full resolution after a merge window; if the
    resolution is unknown, at the shortest gap in the log. The time before the first failure is not a gap between
    failures and is not used.

    Fits are by maximum likelihood. Intervals are Wald intervals for the logarithms of shape and scale, from the
    observed information. The Kolmogorov-Smirnov distance has no table once parameters are fitted, so its p-value comes
    from draws of the fitted distribution, rounded to the resolution of the log and fitted again (Stute et al. 1993).

    ``memoryless_p`` is twice the smaller of two p-values, at most 1: that of the likelihood ratio of Weibull to
    exponential (chi-square, 1 degree of freedom) and that of the exponential's Kolmogorov-Smirnov distance
    (Bonferroni). Of memoryless logs at most 5% fall below 0.05 (``benchmarks/fit_coverage.py``).

    Examples
    --------
    >>> quantiles = -np.log1p(-(np.arange(400) + 0.5) / 400)
    >>> start = np.cumsum(np.random.default_rng(0).permutation(quantiles))
    >>> fit = fit_gaps(start, 400.0, draws=19)
    >>> fit.best, round(fit.weibull_shape, 2), fit.memoryless_p > 0.05
    ('exponential', 1.0, True)
    """
    start, window = checked_starts(start_h, window_h)
    within = float(at_least_zero("within_min", within_min, unit="min"))
    resolution = float(at_least_zero("resolution_h", resolution_h, unit="h"))
    checked_level(level)
    if draws < 19:
        raise InputError(f"draws must be >= 19, got {draws:g}")
    firsts = merge_starts(start, within / 60)
    rng = np.random.default_rng(seed)
    gaps = _measure(firsts, window, within / 60, resolution)
    sample = gaps.sample(rng, _MOST_FITTED)
    values, n_gaps = gaps.placed, gaps.length_h.size
    description: dict[str, Any] = {
        "within_min": within,
        "n_incidents": firsts.size,
        "n_gaps": n_gaps,
        "mean_gap_h": float(values.mean()) if n_gaps else None,
        "cv": float(values.std(ddof=1) / values.mean()) if n_gaps > 1 and values.any() else None,
        "resolution_h": resolution,
        "too_coarse": bool(n_gaps and resolution > values.mean() / 5),
        "level": float(level),
    }
    distinct = sample.n_distinct
    if distinct < MIN_GAPS:
        reason = f"a fit takes at least {MIN_GAPS} different times between failures, this log has {distinct}"
        empty = pd.DataFrame(columns=list(COLUMNS))
        return GapFit(table=empty, draws=0, n_bootstrap_gaps=0, memoryless_p=None, reason=reason, **description)
    table = fit_distributions(sample, rng, draws, _MOST_DRAWN, level)
    n_bootstrap = min(sample.length_h.size, _MOST_DRAWN)
    p = _memoryless_p(table)
    return GapFit(table=table, draws=draws, n_bootstrap_gaps=n_bootstrap, memoryless_p=p, **description)


def _measure(firsts: np.ndarray, window: float, within: float, step: float) -> CensoredGaps:
    """Gaps from the end of a merge window to the next incident, with what the resolution censors."""
    raw = np.diff(firsts)
    raw[raw < _ROUNDING_H] = 0.0
    if within == 0:
        # a difference of stamps is the gap to half a step: a zero means a gap below half a step
        zero = raw < step / 2 if step else raw == 0
        limit = step / 2 if step else float(np.min(raw[raw > 0], initial=np.inf))
        return CensoredGaps(raw, zero, limit, _open(window - firsts[-1:]), step, phase=True)
    # stamps are rounded down, so an incident contains all starts before the end of the last step in its merge window
    reach = (np.floor(within / step + 1e-9) + 1) * step if step else within
    since = np.maximum(raw - reach, 0.0)
    open_h = _open(window - firsts[-1:] - reach)
    return CensoredGaps(since + step / 2, since < step / 2, step, open_h, step, phase=False)


def _open(lengths_h: np.ndarray) -> np.ndarray:
    """The open gap at the end of the window, if its length is positive."""
    return lengths_h[lengths_h > 0]


def _memoryless_p(table: pd.DataFrame) -> float:
    """Twice the smaller p-value of likelihood ratio and Kolmogorov-Smirnov test (Bonferroni)."""
    by_name = table.set_index("distribution")
    gain = 2 * (by_name.loc["weibull", "log_likelihood"] - by_name.loc["exponential", "log_likelihood"])
    return float(min(1.0, 2 * min(chi2_tail(max(gain, 0.0), 1), by_name.loc["exponential", "ks_p"])))
