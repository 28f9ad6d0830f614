"""How far a plan may be off, from what is known of the failure rate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ettr.budget.job_in_hours import job_in_hours
from ettr.core.results import TimeBudget
from ettr.failures import FailureRate, gamma_interval
from ettr.plan.intervals import INTERVAL, best_interval_min, quiet_budget, quiet_ettr
from ettr.scenario import Scenario

LEVELS = (0.5, 0.95)
"""Probability inside each band."""

COLUMNS = ("quantity", "unit", "value", "low_50", "high_50", "low_95", "high_95")

_RATES = 15
_RATE = "failures.rate_per_1000_node_days"


@dataclass(frozen=True)
class Bands:
    """Central intervals of a plan's quantities, and the input that they come from.

    Attributes
    ----------
    frame : DataFrame
        A row a quantity: ``quantity`` (``job_mttf_h``, ``best_interval_min``, ``ettr_at_best``: with the plan's
        interval kept, ``ettr_as_given``: with the scenario's own, left out where that has no answer,
        ``failures_per_day``: of wall clock, with the plan's interval), ``unit``, ``value``, and the ends of the
        intervals that hold it with 50% and 95%: ``low_50``, ``high_50``, ``low_95``, ``high_95``. Empty where the
        scenario does not say how well its rate is known.
    source : str
        A part of a sentence: which input the bands come from, or which one is missing.
    """

    frame: pd.DataFrame
    source: str


def bands_of(
    scenario: Scenario, interval_min: float, budget_at_best: TimeBudget, budget_as_given: TimeBudget | None
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
    >>> known = plan.make(Scenario.load("llama3-405b")).bands.set_index("quantity")
    >>> known.loc["ettr_at_best", ["low_95", "high_95"]].astype(float).round(3).tolist()
    [0.905, 0.915]
    """
    known = scenario.failures.posterior
    if known is None:
        return Bands(
            pd.DataFrame(columns=list(COLUMNS)),
            "the scenario does not say how well its failure rate is known, which failures.rate_gamma would, and all "
            "inputs are taken as exact",
        )
    ends = {level: gamma_interval(known.shape, known.node_days, level) for level in LEVELS}
    rates = np.unique([*(end for band in ends.values() for end in (band.low, band.high)), *_between(ends[LEVELS[-1]])])
    inside = {level: (rates >= band.low) & (rates <= band.high) for level, band in ends.items()}
    at_rates = _at_rates(scenario, interval_min, rates)
    point = _points(scenario, interval_min, budget_at_best, budget_as_given)
    rows = [
        {"quantity": quantity, "unit": unit, "value": value, **_ends(at_rates[quantity], inside)}
        for quantity, (unit, value) in point.items()
    ]
    never = any((at_rates[quantity] == 0).any() for quantity in point if quantity.startswith("ettr"))
    ending = "; where a low end is 0 the job would practically never end" if never else ""
    return Bands(pd.DataFrame(rows, columns=list(COLUMNS)), f"{_source(scenario)}{ending}")


def _points(
    scenario: Scenario, interval_min: float, at_best: TimeBudget, as_given: TimeBudget | None
) -> dict[str, tuple[str, float]]:
    """Unit and value of each quantity at the scenario's own rate."""
    given = {} if as_given is None else {"ettr_as_given": ("", float(as_given.ettr))}
    return {
        "job_mttf_h": ("h", scenario.job_mttf_h),
        "best_interval_min": ("min", interval_min),
        "ettr_at_best": ("", float(at_best.ettr)),
        **given,
        "failures_per_day": ("1/d", float(at_best.n_failures / at_best.total_h * 24)),
    }


def _at_rates(scenario: Scenario, interval_min: float, rates: np.ndarray) -> dict[str, np.ndarray]:
    """Each quantity at other failure rates."""
    at = {_RATE: rates}
    run = job_in_hours(scenario, at)
    with np.errstate(divide="ignore", over="ignore"):
        mttf_h = 1 / np.asarray(run.rate, dtype=float)
    return {
        "job_mttf_h": mttf_h,
        "best_interval_min": best_interval_min(scenario, at),
        "ettr_at_best": np.nan_to_num(quiet_ettr(scenario, {**at, INTERVAL: interval_min}), nan=0.0),
        "ettr_as_given": np.nan_to_num(quiet_ettr(scenario, at), nan=0.0),
        "failures_per_day": _failures_per_day(scenario, interval_min, at),
    }


def _failures_per_day(scenario: Scenario, interval_min: float, at: dict[str, Any]) -> np.ndarray:
    """Failures per day of wall clock; of a job that would never end, one in each mean time between two."""
    hours = quiet_budget(scenario, {**at, INTERVAL: interval_min})
    run = job_in_hours(scenario, at)
    endless = 24 * run.rate / (1 + run.rate * run.downtime)
    return np.asarray(np.where(np.isnan(hours.total_h), endless, 24 * hours.n_failures / hours.total_h))


def _between(band: FailureRate) -> np.ndarray:
    """Rates between the ends of a band, for what does not only rise or fall."""
    return np.geomspace(band.low, band.high, _RATES) if band.low > 0 else np.array([])


def _ends(values: np.ndarray, inside: dict[float, np.ndarray]) -> dict[str, float]:
    """Least and most of a quantity over each interval of the rate."""
    ends: dict[str, float] = {}
    for level, within in inside.items():
        name = f"{100 * level:.0f}"
        ends |= {f"low_{name}": float(values[within].min()), f"high_{name}": float(values[within].max())}
    return ends


def _source(scenario: Scenario) -> str:
    failures = scenario.failures
    if failures.n_events is not None:
        return (
            f"from failures.n_events = {failures.n_events:.10g} in failures.node_days = {failures.node_days:.10g}; "
            "all other inputs are taken as exact"
        )
    known = failures.posterior
    assert known is not None
    return (
        f"from failures.rate_gamma, worth {known.shape:.4g} failures in {known.node_days:.6g} node-days; "
        "all other inputs are taken as exact"
    )
