"""Rates that change while the job runs: the steady state of each moment, integrated until the work is done."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import pandas as pd

from ettr.budget.closed_forms import exact, recover_of
from ettr.budget.job_in_hours import job_in_hours
from ettr.budget.refusals import SIMULATE, refuse_extras
from ettr.core.errors import NotModelled, OutsideValidity
from ettr.core.results import TimeBudget
from ettr.core.validity import ValidityWarning
from ettr.scenario import Scenario

_RATE, _INTERVAL = "failures.rate_per_1000_node_days", "checkpoint.interval_min"
_STEPS, _FIRST_STEP, _LONGEST = 2000, 1e-4, 1e4
"""Steps from a ten-thousandth of the work to ten thousand times the work."""

IntervalOf = Callable[[np.ndarray], Any]
"""From the job's failure rate [1/h] to the interval to use [min]."""


@dataclass(frozen=True)
class _Steps:
    """Stretches of exposed time with the mean rate in each; ``relative`` to the settled rate."""

    end_h: np.ndarray
    length_h: np.ndarray
    relative: np.ndarray
    settled_per_h: float


def over_time(scenario: Scenario, interval_of: IntervalOf | None = None) -> TimeBudget:
    r"""Expected time budget of a run whose failure rate changes while it lasts.

    Parameters
    ----------
    scenario : Scenario
        The run; with ``failures.burn_in``, or ``failures.lifetime`` and nodes that start new, its rate changes.
    interval_of : callable, optional
        Interval to use at a failure rate of the job: takes an array of rates [1/h], returns minutes. The scenario's
        own interval throughout if not given.

    Returns
    -------
    TimeBudget
        Expected hours from submission to the last productive hour.

    Raises
    ------
    NotModelled
        Burn-in together with lifetimes, or what else :func:`exact` refuses.
    OutsideValidity
        The run would practically never end, or makes no progress at its start.

    Notes
    -----
    With :math:`b(\lambda)` the steady-state hours of a part per exposed hour at rate :math:`\lambda`, each part is
    :math:`\int_0^{t_W} b(\lambda(t))\,dt`, where :math:`t_W` is when the productive part reaches the work. Each step
    takes the mean of :math:`\lambda` over it, so no failure is lost. The first restart meets the same rates. Good while
    the rate changes little from one checkpoint to the next. New nodes: :math:`N m(t)` failures by t, m the renewal
    function; a rate that was counted is read as the count of nodes that were new, and one that was given as the rate in
    the long run.

    Examples
    --------
    >>> from ettr import Scenario, budget
    >>> young = Scenario.load("llama3-405b").override({"failures.burn_in": {"factor": 5, "decay_days": 7}})
    >>> round(budget.over_time(young).ettr, 3), round(budget.exact(Scenario.load("llama3-405b")).ettr, 3)
    (0.879, 0.909)
    """
    refuse_extras("budget.over_time", scenario)
    steps = _steps(scenario)
    steady = _steady(scenario)
    base = long_run_rate(scenario) * steps.relative
    rate_per_h = steps.settled_per_h * steps.relative
    at: dict[str, Any] = {_RATE: base}
    if interval_of is not None:
        at[_INTERVAL] = interval_of(rate_per_h)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ValidityWarning)
        steady_hours = exact(steady, at)
    exposed_h = steady_hours.total_h - steady_hours.detection_h - steady_hours.queue_h - steady_hours.maintenance_h
    share = steps.length_h / exposed_h
    start = _start(scenario, steady, base, steps)
    share = share * np.clip((steps.end_h - start.get("restart_h", 0.0)) / steps.length_h, 0.0, 1.0)
    done_h = np.cumsum(steady_hours.productive_h * share)
    reach = int(np.searchsorted(done_h, scenario.work_h))
    if reach == done_h.size or not np.isfinite(done_h[reach]):
        raise OutsideValidity("budget.over_time holds only for runs that make progress at each rate they meet")
    used = share[: reach + 1].copy()
    before_h = done_h[reach - 1] if reach else 0.0
    used[-1] *= (scenario.work_h - before_h) / (done_h[reach] - before_h)
    parts = {
        field.name: float(np.sum(np.broadcast_to(getattr(steady_hours, field.name), share.shape)[: reach + 1] * used))
        for field in fields(TimeBudget)
    }
    return TimeBudget(**{name: value + start.get(name, 0.0) for name, value in parts.items()})


def changes(scenario: Scenario) -> bool:
    """Whether the failure rate changes while the job runs."""
    failures = scenario.failures
    return (failures.burn_in is not None and failures.burn_in.factor != 1) or _starts_new(scenario)


def _starts_new(scenario: Scenario) -> bool:
    lifetime = scenario.failures.lifetime
    return lifetime is not None and lifetime.shape != 1 and lifetime.start == "new"


def at_mean_rate(scenario: Scenario) -> Scenario:
    """The same run at the mean failure rate of its exposed hours, which does not change.

    Parameters
    ----------
    scenario : Scenario
        The run.

    Returns
    -------
    Scenario
        With ``failures.rate_per_1000_node_days`` for what stood there, known as well as that, and without burn-in and
        lifetimes.

    Raises
    ------
    NotModelled, OutsideValidity
        As :func:`over_time`.
    """
    if scenario.failures.burn_in is None and scenario.failures.lifetime is None:
        return scenario
    steady: dict[str, Any] = {"failures.burn_in": None, "failures.lifetime": None}
    if not changes(scenario) or scenario.job_rate_per_h == 0:
        return scenario.override(steady)
    hours = over_time(scenario.override({"job.include_start": False}))
    exposed_h = hours.total_h - hours.detection_h - hours.queue_h - hours.maintenance_h
    steps = _steps(scenario)
    expected = np.append(0.0, np.cumsum(steps.relative * steps.length_h)) * steps.settled_per_h
    higher = float(np.interp(exposed_h, np.append(0.0, steps.end_h), expected)) / exposed_h / scenario.job_rate_per_h
    return scenario.override(steady | _known_as_well(scenario, higher))


def settled(scenario: Scenario) -> dict[str, Any]:
    """What to override for the same run at the rate of nodes in the long run, without burn-in and lifetimes."""
    steady: dict[str, Any] = {"failures.burn_in": None, "failures.lifetime": None}
    rate = scenario.failures.rate
    higher = long_run_rate(scenario) / rate if rate else 1.0
    return steady if higher == 1 else steady | _known_as_well(scenario, higher)


def _known_as_well(scenario: Scenario, higher: float) -> dict[str, Any]:
    """What to override for a higher rate, known as well as the one that stands there."""
    known = scenario.failures.posterior
    rate: dict[str, Any] = {_RATE: scenario.failures.rate * higher}
    if known is not None:
        rate["failures.rate_gamma"] = {"shape": known.shape, "node_days": known.node_days / higher}
    return rate


def rate_over_time(scenario: Scenario) -> pd.DataFrame:
    """The job's failure rate as its exposed hours go by.

    Parameters
    ----------
    scenario : Scenario
        The run.

    Returns
    -------
    DataFrame
        A row a step: ``exposed_h`` at its end [h], ``rate_per_h`` its mean rate [1/h], ``n_failures`` expected until
        then. From a ten-thousandth of the productive hours to twice as many.
    """
    steps = _steps(scenario)
    rate = steps.settled_per_h * steps.relative
    table = pd.DataFrame({"exposed_h": steps.end_h, "rate_per_h": rate, "n_failures": np.cumsum(rate * steps.length_h)})
    return table[table["exposed_h"] <= 2 * scenario.work_h].reset_index(drop=True)


def _steps(scenario: Scenario) -> _Steps:
    from ettr.failures.hazards import burn_in_count
    from ettr.failures.renewal import renewal_count

    failures, work = scenario.failures, scenario.work_h
    if failures.burn_in and failures.lifetime and failures.lifetime.shape != 1:
        raise NotModelled(
            f"budget.over_time has no form for failures.burn_in together with failures.lifetime: {SIMULATE}"
        )
    if _starts_new(scenario) and any(mode.scales_with == "job" for mode in failures.modes):
        raise NotModelled(
            f"budget.over_time has no form for nodes that start new together with modes of the job: {SIMULATE}"
        )
    if _starts_new(scenario) and failures.lemons and failures.lemons.factor > 1:
        raise NotModelled(
            f"budget.over_time has no form for failures.lifetime together with failures.lemons: {SIMULATE}"
        )
    edges = np.concatenate([[0.0], work * np.geomspace(_FIRST_STEP, _LONGEST, _STEPS)])
    settled_per_h = scenario.job_rate_per_h
    relative = np.ones(_STEPS)
    lengths = np.diff(edges)
    if failures.burn_in:
        young = failures.burn_in
        count = burn_in_count(edges, 1.0, young.factor, young.decay_days * 24, young.age_days * 24)
        relative = np.diff(count) / lengths
    elif failures.lifetime and _starts_new(scenario):
        settled_per_h *= long_run_rate(scenario) / failures.rate if failures.rate else 1.0
        node_rate = settled_per_h / scenario.n_nodes
        if node_rate:
            relative = np.diff(renewal_count(edges, failures.lifetime.shape, 1 / node_rate)) / lengths / node_rate
    return _Steps(edges[1:], lengths, relative, settled_per_h)


def long_run_rate(scenario: Scenario) -> float:
    """Failure rate in the long run, also where it was counted on nodes that were new. [1 / (1000 node-days)]"""
    failures = scenario.failures
    if not _starts_new(scenario) or not failures.n_events or failures.lifetime is None:
        return failures.rate
    from ettr.failures.hazards import settled_rate  # loads the statistics of scipy

    nodes = failures.observed_nodes or scenario.n_nodes
    exposed_h = (failures.node_days or 0.0) * 24 / nodes * (failures.exposed_share or 1.0)
    per_h = settled_rate(failures.n_events, nodes, exposed_h, failures.lifetime.shape)
    return float(per_h) * 24_000 * (failures.exposed_share or 1.0)


def _steady(scenario: Scenario) -> Scenario:
    return scenario.override({"failures.burn_in": None, "failures.lifetime": None, "job.include_start": False})


def _start(scenario: Scenario, steady: Scenario, base: np.ndarray, steps: _Steps) -> dict[str, float]:
    """Hours and failures of the first queue and the first restart, through the rates that the restart meets.

    A restart that takes R exposed hours on average at some rate ends there with 1/R an hour.
    """
    if not scenario.job.include_start:
        return {}
    run = job_in_hours(steady, {_RATE: base})
    with np.errstate(over="ignore", divide="ignore"):
        failures, mean_h = recover_of(run)(run, 0.0, 1.0)
        ends = np.broadcast_to(steps.length_h / mean_h, base.shape)
    left = np.exp(-np.append(0.0, np.cumsum(ends)))
    with np.errstate(invalid="ignore"):  # where a restart hardly ever ends, all fail that strike
        struck_per_h = np.where(np.isfinite(mean_h), failures / mean_h, steps.settled_per_h * steps.relative)
        spent_h = np.where(ends > 1e-12, mean_h * (left[:-1] - left[1:]), steps.length_h * left[:-1])
    n_failures = float((spent_h * np.where(spent_h > 0, struck_per_h, 0.0)).sum())
    return {
        "queue_h": float(np.max(run.first_queue + n_failures * run.queue)),
        "restart_h": float(spent_h.sum()),
        "detection_h": float(np.max(n_failures * run.detection)),
        "n_failures": n_failures,
    }
