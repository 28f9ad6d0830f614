"""Lifetimes of units: survival, Weibull shape, and a comparison of cohorts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ettr.core.probability import chi2_tail
from ettr.core.report import Answer, Headline, Note, Report, Table, plain_values
from ettr.core.sentences import capital, count, duration, listed, number, pct
from ettr.core.units import H_PER_DAY
from ettr.failures.lifetimes import MOST_EXACT, LifetimeFit, fit_lifetimes, kaplan_meier
from ettr.failures.log_words import counted, coverage, probability
from ettr.failures.window import SIGNIFICANT

if TYPE_CHECKING:
    from ettr.logs.lifetimes import Lives

AGES_D = (30.0, 90.0, 365.0)
"""Ages at which survival is reported. [d]"""
_MOST_COHORTS, _STEPS = 12, 200
_FEW_FAILURES, _DRAWS = 5, 20_000
"""Failures below which a p-value is simulated, and draws for it."""
_ROUNDING = 1e-9
_METHODS = (
    "Intervals of survival are exact (Clopper-Pearson) before the first failure and before the first censored unit, "
    f"and log-log (Greenwood) after that or if more than {MOST_EXACT:,} units include failures."
)
_HAZARDS = {
    "falling": "the failure rate falls with age",
    "rising": "the failure rate rises with age",
    "flat": "the failure rate does not significantly change with age",
}


@dataclass(frozen=True)
class Survival:
    """Lifetimes of one cohort.

    Attributes
    ----------
    name : str
        Name of the cohort; ``all`` for all units.
    n, n_failed : int
        Units, and units that failed. [count]
    shortest_h : float
        The shortest lifetime. [h]
    median_h, low_h, high_h : float
        Median lifetime and the ends of its interval; infinite where the survival curve stays above one half. [h]
    n_at_median : int
        Units at risk just before the median lifetime; 0 without a median. [count]
    curve : DataFrame
        Kaplan-Meier estimate, thinned to 200 points, see :func:`~ettr.failures.lifetimes.kaplan_meier`.
    at_ages : DataFrame
        ``age_d`` [d], ``survival``, ``low``, ``high``, ``method`` and ``at_risk`` [count] at 30, 90 and 365 days, up to
        the longest lifetime.
    weibull : LifetimeFit or None
        Weibull fit; None for fewer than five different ages at failure.
    """

    name: str
    n: int
    n_failed: int
    shortest_h: float
    median_h: float
    low_h: float
    high_h: float
    n_at_median: int
    curve: pd.DataFrame
    at_ages: pd.DataFrame
    weibull: LifetimeFit | None


@dataclass(frozen=True, repr=False, eq=False)
class UnitLifetimes(Answer):
    """Lifetimes of all units, and of each cohort.

    Attributes
    ----------
    source : str
        File name of the table.
    whole : Survival
        All units.
    split : str or None
        Column of the cohorts.
    cohorts : tuple of Survival
        Largest first.
    cohorts_p : float or None
        Log-rank p-value of equal survival; None for fewer than two cohorts, or without a failure.
    level : float
        Coverage of all intervals.
    notes : tuple of str
        Omissions and assumptions, one sentence each.
    """

    source: str
    whole: Survival
    split: str | None
    cohorts: tuple[Survival, ...]
    cohorts_p: float | None
    level: float
    notes: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the whole answer as plain values, for JSON."""
        return dict(plain_values({field.name: getattr(self, field.name) for field in fields(self)}))

    @property
    def headline(self) -> str:
        """The file name and the median lifetime."""
        return f"{self.source}: {_half(self.whole, self.level)}"

    def report(self) -> Report:
        """Return the report: median lifetime, effect of age, and a comparison of cohorts."""
        sections: Report = [
            Headline(self.source),
            Note(f"{capital(_half(self.whole, self.level))}. {_hazard(self.whole)}"),
            _at_ages([self.whole, *self.cohorts]),
        ]
        if len(self.cohorts) > 1:
            sections.append(Note(_differ(self)))
        if "log-log" in [*self.whole.at_ages["method"], *self.whole.curve["method"]]:
            sections.append(Note(_METHODS, dim=True))
        return [*sections, *(Note(note, dim=True) for note in self.notes)]


def unit_lifetimes(lives: Lives, level: float = 0.95) -> UnitLifetimes:
    """Return the survival of units, of all together and of each cohort.

    Parameters
    ----------
    lives : Lives
        From :func:`ettr.logs.read_lifetimes`.
    level : float
        Coverage of all intervals.

    Returns
    -------
    UnitLifetimes
    """
    table = lives.table
    by_name = table.groupby("cohort", observed=True, sort=False) if lives.split else []
    cohorts = sorted((_survival(str(name), rows, level) for name, rows in by_name), key=lambda cohort: -cohort.n)
    groups = [(rows["duration_h"], rows["observed"]) for _, rows in by_name]
    cohorts_p = log_rank(groups) if len(cohorts) > 1 and table["observed"].any() else np.nan
    left_out = [f"{row.n:,} rows {row.action}: {row.reason} ({row.example})" for row in lives.ledger.itertuples()]
    return UnitLifetimes(
        source=lives.source,
        whole=_survival("all", table, level),
        split=lives.split,
        cohorts=tuple(cohorts[:_MOST_COHORTS]),
        cohorts_p=None if np.isnan(cohorts_p) else cohorts_p,
        level=level,
        notes=(*left_out, *lives.notes),
    )


def _survival(name: str, rows: pd.DataFrame, level: float) -> Survival:
    duration, observed = rows["duration_h"].to_numpy(), rows["observed"].to_numpy(dtype=bool)
    curve = kaplan_meier(duration, observed, level)
    # the bounds also move just after the age at which a unit is censored
    ages = np.unique(np.concatenate([[0.0], duration, np.nextafter(duration, np.inf)]))
    bounds = kaplan_meier(duration, observed, level, ages)
    ends = []
    for column in ("survival", "low", "high"):
        below = bounds.loc[bounds[column] <= 0.5 + _ROUNDING, "time_h"]
        ends.append(float(below.iloc[0]) if len(below) else np.inf)
    ages = np.array([age for age in AGES_D if age * H_PER_DAY <= duration.max()])
    at_ages = kaplan_meier(duration, observed, level, ages * H_PER_DAY)
    at_ages = at_ages[["survival", "low", "high", "method", "at_risk"]]
    at_ages.insert(0, "age_d", ages)
    thinned = np.unique(np.linspace(0, len(curve) - 1, min(len(curve), _STEPS)).astype(int))
    return Survival(
        name=name,
        n=len(rows),
        n_failed=int(observed.sum()),
        shortest_h=float(duration.min()),
        median_h=ends[0],
        low_h=ends[1],
        high_h=ends[2],
        n_at_median=int((duration >= ends[0]).sum()),
        curve=curve.iloc[thinned].reset_index(drop=True),
        at_ages=at_ages,
        weibull=fit_lifetimes(duration, observed, level),
    )


def log_rank(groups: Sequence[tuple[Any, Any]]) -> float:
    r"""Return the log-rank p-value: the probability of such different survival curves if all groups fail alike.

    Parameters
    ----------
    groups : sequence of (duration_h, observed)
        Lifetimes of each group, and which of them ended; at least two groups. [h]

    Returns
    -------
    float
        NaN if no unit fails while units of other groups of the same age are observed.

    Notes
    -----
    :func:`scipy.stats.logrank` compares two groups; this one compares any number. At each age with failures, the
    failures of a group are hypergeometric given the failures of all groups. With observed minus expected failures
    :math:`O - E` summed over the ages, and their covariance :math:`V` summed too, the statistic
    :math:`(O - E)^T V^{-1} (O - E)` is :math:`\chi^2` with one degree of freedom less than there are groups
    (Mantel 1966; Peto and Peto 1972). That holds for many failures: with fewer than five, the probability is the share
    of 20,000 draws of the failures at each age with a statistic at least as large.

    Examples
    --------
    >>> alike = ([1.0, 2.0, 3.0, 4.0], [True] * 4)
    >>> log_rank([alike, alike]), round(log_rank([alike, ([11.0, 12.0, 13.0, 14.0], [True] * 4)]), 3)
    (1.0, 0.007)
    """
    duration = np.concatenate([np.asarray(times, dtype=float) for times, _ in groups])
    observed = np.concatenate([np.asarray(ended, dtype=bool) for _, ended in groups])
    group = np.repeat(np.arange(len(groups)), [len(times) for times, _ in groups])
    ages = np.unique(duration[observed])
    failed, at_risk = np.zeros((len(ages), len(groups))), np.zeros((len(ages), len(groups)))
    for place in range(len(groups)):
        sorted_h = np.sort(duration[group == place])
        at_risk[:, place] = sorted_h.size - np.searchsorted(sorted_h, ages)
        failed[:, place] = np.bincount(
            np.searchsorted(ages, duration[(group == place) & observed]), minlength=len(ages)
        )
    # hypergeometric moments at each age: d of n units at risk fail, a share of the units at risk is in each group
    n, d = at_risk.sum(axis=1), failed.sum(axis=1)
    share = at_risk / n[:, None]
    weight = np.where(n > 1, d * (n - d) / np.maximum(n - 1, 1), 0.0)
    covariance = np.diag((weight[:, None] * share).sum(axis=0)) - (share * weight[:, None]).T @ share
    if not covariance.any():
        return np.nan
    # the excesses sum to zero, so one group is redundant
    inverse = np.linalg.pinv(covariance[:-1, :-1])

    def statistic(failed: np.ndarray) -> np.ndarray:
        excess = (failed - d[:, None] * share).sum(axis=-2)[..., :-1]
        return np.asarray(np.einsum("...i,ij,...j", excess, inverse, excess))

    if d.sum() >= _FEW_FAILURES:
        return float(chi2_tail(statistic(failed), len(groups) - 1))
    rng = np.random.default_rng(0)
    ages_at_risk = zip(at_risk.astype(int), d.astype(int), strict=True)
    drawn = [rng.multivariate_hypergeometric(units, n_failed, _DRAWS) for units, n_failed in ages_at_risk]
    return float((statistic(np.stack(drawn, axis=1)) >= statistic(failed) * (1 - _ROUNDING)).mean())


def _half(survival: Survival, level: float) -> str:
    if not survival.n_failed:
        bound = f"at least {pct(survival.curve['low'].iloc[0])} of such units live longer ({coverage(level)}, exact)"
        none = f"none of {counted(survival.n, 'unit')} failed in {duration(survival.shortest_h)} of service or more"
        return f"{none}: {bound}"
    if np.isfinite(survival.median_h):
        median = f"the median lifetime is {duration(survival.median_h)}"
        if survival.n_at_median == 1:
            return f"{median}, which rests on a single unit: no other was observed for so long"
        high = f"to {duration(survival.high_h)}" if np.isfinite(survival.high_h) else "or more"
        if not survival.low_h and high == "or more":
            return f"{median} (too few units for an interval)"
        return f"{median} ({coverage(level)} CI {duration(survival.low_h)} {high})"
    last = survival.curve.iloc[-1]
    share = f"{pct(last['survival'], 0)} of the units live longer than {duration(last['time_h'])}"
    return f"{share}, the last age at which one failed"


def _hazard(survival: Survival) -> str:
    counts = ""
    if survival.n_failed:
        counts = f"{count(survival.n_failed)} of {counted(survival.n, 'unit')} failed; "
        counts += "the others were in service, or removed for another reason, when last observed. "
    if survival.n_failed == survival.n:
        counts = f"All {counted(survival.n, 'unit')} failed. " if survival.n > 1 else "The only unit failed. "
    if survival.weibull is None:
        return f"{counts}A Weibull fit takes at least five different ages at failure."
    shape = f"{number(survival.weibull.shape)} ({number(survival.weibull.low)} to {number(survival.weibull.high)})"
    return f"{counts}The Weibull shape is {shape}: {_HAZARDS[survival.weibull.hazard]}."


def _at_ages(groups: Sequence[Survival]) -> Table:
    """Table of the survival of each cohort at some ages, with its Weibull shape."""
    ages = sorted({age for group in groups for age in group.at_ages["age_d"]})
    rows = []
    for group in groups:
        by_age = group.at_ages.set_index("age_d")
        cells = [_between(by_age.loc[age]) if age in by_age.index else "" for age in ages]
        shape = (
            f"{group.weibull.shape:.2f} ({group.weibull.low:.2f} to {group.weibull.high:.2f})" if group.weibull else ""
        )
        rows.append([group.name, count(group.n), count(group.n_failed), *cells, shape])
    return Table(("units", "all", "failed", *(f"survive {age:g} d" for age in ages), "Weibull shape"), rows)


def _between(row: pd.Series) -> str:
    return f"{pct(row['survival'], 0)} ({pct(row['low'], 0)} to {pct(row['high'], 0)})"


def _differ(lifetimes: UnitLifetimes) -> str:
    more = ["others"] if len(lifetimes.cohorts) > 4 else []
    names = listed([*(cohort.name for cohort in lifetimes.cohorts[:4]), *more])
    if lifetimes.cohorts_p is None:
        why = "no unit failed" if not lifetimes.whole.n_failed else "no unit failed at an age that others reached"
        return f"Cohorts by {lifetimes.split} ({names}) cannot be compared: {why}."
    differ = "have different lifetimes" if lifetimes.cohorts_p < SIGNIFICANT else "may have the same lifetimes"
    return f"Cohorts by {lifetimes.split} ({names}) {differ} (log-rank, {probability(lifetimes.cohorts_p)})."
