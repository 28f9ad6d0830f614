"""How far a plan may be off, from what is known of the failure rate."""

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
"""Probability inside each band."""

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
    """Central intervals of a plan's quantities, and the input that they come from.

    Attributes
    ----------
    rows : tuple of dict
        One a quantity: ``quantity`` (``job_mttf_h``, ``best_interval_min``, ``ettr_at_best``: with the plan's
        interval kept, ``ettr_as_given``: with the scenario's own, left out where that has no answer,
        ``failures_per_day``: of wall clock, with the plan's interval), ``unit``, ``value``, and the ends of the
        intervals that hold it with 50% and 95%: ``low_50``, ``high_50``, ``low_95``, ``high_95``. Empty where the
        scenario does not say how well its rate is known.
    source : str
        A part of a sentence: which input the bands come from, or which one is missing.
    """

    rows: tuple[dict[str, Any], ...]
    source: str

    def __getitem__(self, quantity: str) -> dict[str, Any] | None:
        """The row of a quantity; None where it has no band."""
        return next((row for row in self.rows if row["quantity"] == quantity), None)


def bands_of(
    scenario: Scenario,
    interval_min: float,
    budget_at_best: TimeBudget,
    budget_as_given: TimeBudget | None,
    run: JobInHours | None = None,
) -> Bands:
    """Bands of a plan, from quantiles of the failure rate.

    Parameters
    ----------
    scenario : Scenario
        The run as given.
    interval_min : float
        The plan's interval. [min]
    budget_at_best, budget_as_given : TimeBudget
        Hours at the plan's interval and at the scenario's own; the latter may have no answer.
    run : JobInHours, optional
        The scenario in hours, where that is known.

    Returns
    -------
    Bands
        With 50% and 95% intervals.

    Notes
    -----
    Each band holds what the quantity is over the rate's interval. Time to failure and ETTR fall as the rate grows, and
    failures per day rise with it, so that a quantile of the rate is one of each of them, without sampling. The best
    interval falls too, but for runs in which alarms serve as cheap checkpoints: its band is then no narrower than
    needed. The rate has a gamma distribution: that of
    ``failures.rate_gamma``, or of a count under Jeffreys' prior. With ``rate_clock: wall`` the share of the clock in
    which failures could strike (``failures.exposed_share``) was observed with the count, so it stays. All other inputs
    are taken as exact.

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
            "the scenario does not say how well its failure rate is known, which failures.rate_gamma would, and all "
            "inputs are taken as exact",
        )
    ends = {level: gamma_interval(posterior.shape, posterior.node_days, level) for level in LEVELS}
    rates = np.unique([*(end for band in ends.values() for end in (band.low, band.high)), *_between(ends[LEVELS[-1]])])
    inside = [(rates >= band.low) & (rates <= band.high) for band in ends.values()]
    run = run or budget.accepted(scenario)
    swept = replace(run, rate=scenario.job_rate_at(rates))
    kept = quiet_budget(replace(swept, tau=interval_min / MIN_PER_H))
    at_rates = _quantities(swept, best_interval_min(swept), kept, quiet_budget(swept))
    point = _quantities(run, interval_min, budget_at_best, budget_as_given)
    rows = [
        (quantity, _UNITS.get(quantity, ""), float(value), *_ends(at_rates[quantity], inside))
        for quantity, value in point.items()
    ]
    named = tuple(dict(zip(COLUMNS, row, strict=True)) for row in rows)
    never = any((at_rates[quantity] == 0).any() for quantity in point if quantity.startswith("ettr"))
    ending = "; where a low end is 0 the job would practically never end" if never else ""
    return Bands(named, f"{_source(scenario)}{ending}")


def _quantities(
    run: JobInHours, best_interval_min: Any, at_best: TimeBudget, as_given: TimeBudget | None
) -> dict[str, Any]:
    """Each quantity of a run, also at several failure rates."""
    # a job that would never end has one failure in each mean time between two
    endless = run.rate / (1 + run.rate * run.downtime)
    failures_per_h = np.where(np.isnan(at_best.total_h), endless, at_best.n_failures / at_best.total_h)
    given = {} if as_given is None else {"ettr_as_given": np.nan_to_num(as_given.ettr, nan=0.0)}
    return {
        "job_mttf_h": run.mttf,
        "best_interval_min": best_interval_min,
        "ettr_at_best": np.nan_to_num(at_best.ettr, nan=0.0),
        **given,
        "failures_per_day": H_PER_DAY * failures_per_h,
    }


def _between(band: FailureRate) -> np.ndarray:
    """Rates between the ends of a band, for what does not only rise or fall."""
    return np.geomspace(band.low, band.high, _RATES) if band.low > 0 else np.array([])


def _ends(values: np.ndarray, inside: Iterable[np.ndarray]) -> list[float]:
    """Least and most of a quantity over each interval of the rate."""
    return [float(end) for within in inside for end in (values[within].min(), values[within].max())]


def _source(scenario: Scenario) -> str:
    failures = scenario.failures
    if failures.n_events is not None:
        return (
            f"from failures.n_events = {failures.n_events:.10g} in failures.node_days = {failures.node_days:.10g}; "
            "all other inputs are taken as exact"
        )
    posterior = failures.posterior
    assert posterior is not None
    return (
        f"from failures.rate_gamma, worth {posterior.shape:.4g} failures in {posterior.node_days:.6g} node-days; "
        "all other inputs are taken as exact"
    )


def mttf_interval_h(scenario: Scenario, level: float = 0.95) -> tuple[float, float] | None:
    """Interval of the job's mean time to failure, from what is known of the failure rate. [h]

    Returns
    -------
    tuple of float or None
        Low and high end; None if the scenario says nothing about its rate's uncertainty.
    """
    posterior = scenario.failures.posterior
    rate = scenario.failure_rate
    if posterior is None or rate == 0:
        return None
    interval = gamma_interval(posterior.shape, posterior.node_days, level)
    longest_h = scenario.job_mttf_h * rate / interval.low if interval.low > 0 else math.inf
    return scenario.job_mttf_h * rate / interval.high, longest_h
