"""Confidence intervals of a plan's quantities, from the uncertainty of the failure rate."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ettr import budget
from ettr.budget.closed_forms import quiet_budget
from ettr.budget.intervals import best_interval_min
from ettr.core.results import TimeBudget
from ettr.core.units import H_PER_DAY, MIN_PER_H
from ettr.failures import FailureRate, gamma_interval
from ettr.scenario import JobInHours, Scenario

LEVELS = (0.5, 0.95)
"""Probability of each interval."""

COLUMNS = ("quantity", "unit", "value", "low_50", "high_50", "low_95", "high_95")

_UNITS = {
    "job_mttf_h": "h",
    "best_interval_min": "min",
    "ettr_at_best": "",
    "ettr_as_given": "",
    "failures_per_day": "1/d",
}

_RATES = 15


@dataclass(frozen=True)
class Bands:
    """Confidence intervals of a plan's quantities.

    Attributes
    ----------
    rows : tuple of dict
        One per quantity: ``quantity`` (``job_mttf_h``; ``best_interval_min``; ``ettr_at_best``, at the plan's
        interval; ``ettr_as_given``, at the scenario's current interval, absent where that has no answer;
        ``failures_per_day`` of wall-clock time, at the plan's interval), ``unit``, ``value``, and the ends of the 50%
        and 95% intervals: ``low_50``, ``high_50``, ``low_95``, ``high_95``. Empty where the scenario gives no
        uncertainty for its failure rate.
    source : str
        The input that the intervals come from, or that is missing, as part of a sentence.

    Examples
    --------
    >>> from ettr import plan
    >>> row = plan.make("llama3-405b").bands["job_mttf_h"]
    >>> round(row["low_95"], 2), round(row["value"], 2), round(row["high_95"], 2)
    (2.77, 3.05, 3.36)
    """

    rows: tuple[dict[str, Any], ...]
    source: str

    def __getitem__(self, quantity: str) -> dict[str, Any] | None:
        """Return the row of a quantity; None where it has no interval."""
        return next((row for row in self.rows if row["quantity"] == quantity), None)


def bands_of(
    scenario: Scenario,
    interval_min: float,
    budget_at_best: TimeBudget,
    budget_at_current: TimeBudget | None,
    run: JobInHours | None = None,
) -> Bands:
    """Return confidence intervals of a plan's quantities, from quantiles of the failure rate.

    Parameters
    ----------
    scenario : Scenario
        The run.
    interval_min : float
        The plan's interval. [min]
    budget_at_best, budget_at_current : TimeBudget
        Hours at the plan's interval and at the scenario's current one; None where the latter has no answer.
    run : JobInHours, optional
        The scenario in hours, to save the conversion.

    Returns
    -------
    Bands
        With 50% and 95% intervals.

    Notes
    -----
    Each interval is the range of the quantity over the interval of the failure rate. MTTF and ETTR decrease
    monotonically with the rate and failures per day increase, so their quantiles follow from those of the rate without
    sampling. The best interval decreases too, except where alarms serve as cheap checkpoints; its interval is then
    conservative. The rate has a gamma distribution, either ``failures.rate_gamma`` or the posterior of a count under
    Jeffreys' prior. With ``rate_clock: wall`` the share of the clock in which failures could strike
    (``failures.exposed_share``) was observed with the count, so it stays constant. All other inputs are exact.

    Examples
    --------
    >>> from ettr import Scenario, plan
    >>> ettr = plan.make(Scenario.load("llama3-405b")).bands["ettr_at_best"]
    >>> round(ettr["low_95"], 3), round(ettr["high_95"], 3)
    (0.905, 0.915)
    """
    posterior = scenario.failures.posterior
    if posterior is None:
        return Bands(
            (),
            "none is given, so the failure rate is treated as exact (set failures.rate_gamma, or a count with "
            "failures.n_events)",
        )
    ends = {level: gamma_interval(posterior.shape, posterior.node_days, level) for level in LEVELS}
    rates = np.unique([*(end for band in ends.values() for end in (band.low, band.high)), *_between(ends[LEVELS[-1]])])
    inside = [(rates >= band.low) & (rates <= band.high) for band in ends.values()]
    run = run or budget.accepted(scenario)
    swept = replace(run, rate=scenario.job_rate_at(rates))
    kept = quiet_budget(replace(swept, tau=interval_min / MIN_PER_H))
    at_rates = _quantities(swept, best_interval_min(swept), kept, quiet_budget(swept))
    point = _quantities(run, interval_min, budget_at_best, budget_at_current)
    rows = [
        (quantity, _UNITS.get(quantity, ""), float(value), *_ends(at_rates[quantity], inside))
        for quantity, value in point.items()
    ]
    named = tuple(dict(zip(COLUMNS, row, strict=True)) for row in rows)
    never = any((at_rates[quantity] == 0).any() for quantity in point if quantity.startswith("ettr"))
    ending = "; a lower end of 0 means that the job would practically never end" if never else ""
    return Bands(named, f"{_source(scenario)}{ending}")


def _quantities(
    run: JobInHours, best_interval_min: Any, at_best: TimeBudget, as_given: TimeBudget | None
) -> dict[str, Any]:
    """Return all quantities of a run, also at several failure rates."""
    # a job that never ends alternates between exposure and downtime: rate / (1 + rate * downtime) failures per hour
    endless = run.rate / (1 + run.rate * run.downtime)
    failures_per_h = np.where(np.isnan(at_best.total_h), endless, at_best.n_failures / at_best.total_h)
    at_current = {} if as_given is None else {"ettr_as_given": np.nan_to_num(as_given.ettr, nan=0.0)}
    return {
        "job_mttf_h": run.mttf,
        "best_interval_min": best_interval_min,
        "ettr_at_best": np.nan_to_num(at_best.ettr, nan=0.0),
        **at_current,
        "failures_per_day": H_PER_DAY * failures_per_h,
    }


def _between(band: FailureRate) -> np.ndarray:
    """Return rates inside an interval, for quantities that are not monotonic in the rate."""
    return np.geomspace(band.low, band.high, _RATES) if band.low > 0 else np.array([])


def _ends(values: np.ndarray, inside: Iterable[np.ndarray]) -> list[float]:
    """Return the smallest and the largest value of a quantity over each interval of the rate."""
    return [float(end) for within in inside for end in (values[within].min(), values[within].max())]


def _source(scenario: Scenario) -> str:
    failures = scenario.failures
    if failures.n_events is not None:
        return (
            f"from failures.n_events = {failures.n_events:.10g} in failures.node_days = {failures.node_days:.10g}; "
            "all other inputs are treated as exact"
        )
    posterior = failures.posterior
    assert posterior is not None
    return (
        f"from failures.rate_gamma, equivalent to {posterior.shape:.4g} failures in {posterior.node_days:.6g} "
        "node-days; all other inputs are treated as exact"
    )


def mttf_interval_h(scenario: Scenario, level: float = 0.95) -> tuple[float, float] | None:
    """Return the confidence interval of the job's mean time to failure. [h]

    Parameters
    ----------
    scenario : Scenario
        The run.
    level : float
        Probability of the interval.

    Returns
    -------
    tuple of float or None
        Lower and upper end; None if the scenario gives no uncertainty for its failure rate.

    Examples
    --------
    >>> low_h, high_h = mttf_interval_h(Scenario.load("llama3-405b"))
    >>> round(low_h, 2), round(high_h, 2)
    (2.77, 3.36)
    """
    posterior = scenario.failures.posterior
    rate = scenario.failure_rate
    if posterior is None or rate == 0:
        return None
    interval = gamma_interval(posterior.shape, posterior.node_days, level)
    longest_h = scenario.job_mttf_h * rate / interval.low if interval.low > 0 else math.inf
    return scenario.job_mttf_h * rate / interval.high, longest_h
