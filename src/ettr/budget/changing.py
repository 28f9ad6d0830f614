"""Failure rates that change while the job runs: the steady state at each rate, integrated until the work is done."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from ettr.budget.closed_forms import exact_at_each_rate, quiet_budget, recover_of
from ettr.budget.refusals import accepted
from ettr.core.errors import OutsideValidity
from ettr.core.results import TimeBudget
from ettr.core.units import MIN_PER_H
from ettr.core.validity import ENDS, LEAST_ETTR
from ettr.scenario import JobInHours, Scenario
from ettr.scenario.long_run import changes, steady
from ettr.scenario.paths import INTERVAL

_STEPS, _FIRST_STEP, _LONGEST = 2000, 1e-4, 1e4
"""Number of time steps; the first ends at 1e-4, the last at 1e4 times the work."""

IntervalOf = Callable[[np.ndarray], Any]
"""From the job's failure rate [1/h] to the interval to use [min]."""


@dataclass(frozen=True)
class _Steps:
    """Steps of exposed time, with the mean failure rate in each."""

    end_h: np.ndarray
    length_h: np.ndarray
    rate_per_h: np.ndarray


def over_time(scenario: Scenario | JobInHours, interval_of: IntervalOf | None = None) -> TimeBudget:
    r"""Return the expected time budget of a run whose failure rate changes over time.

    Parameters
    ----------
    scenario : Scenario or JobInHours
        The run. Its rate changes with ``failures.burn_in``, or with ``failures.lifetime`` and nodes that start new. A
        run in hours must come from :func:`accepted` for ``"over_time"``.
    interval_of : callable, optional
        Checkpoint interval at a failure rate of the job: takes an array of rates [1/h], returns minutes. The scenario's
        interval throughout if not given.

    Returns
    -------
    TimeBudget
        Expected hours from submission to the last productive hour.

    Raises
    ------
    NotModelled
        Burn-in together with lifetimes, or a mechanism that :func:`exact` refuses.
    OutsideValidity
        The run would practically never end, or makes no progress at its start.

    Notes
    -----
    With :math:`b(\lambda)` the steady-state hours of a part per exposed hour at rate :math:`\lambda`, each part is
    :math:`\int_0^{t_W} b(\lambda(t))\,dt`, where :math:`t_W` is the time at which the productive part reaches the work.
    Each step takes the mean of :math:`\lambda` over its length, so that the number of failures is exact. The first
    restart passes through the same rates. The result is accurate if the rate changes little from one checkpoint to the
    next. N new nodes have :math:`N m(t)` failures by t, with the renewal function m; a counted rate is that of nodes
    which were new, and a rate without a count is the long-run rate.

    Examples
    --------
    >>> from ettr import Scenario, budget
    >>> young = Scenario.load("llama3-405b").override({"failures.burn_in": {"factor": 5, "decay_days": 7}})
    >>> round(budget.over_time(young).ettr, 3), round(budget.exact(Scenario.load("llama3-405b")).ettr, 3)
    (0.879, 0.909)
    """
    run = accepted(scenario, formula="over_time")
    # steady-state hours at the rate of each step, for the whole work
    steps = _steps(run)
    moments = replace(run, rate=steps.rate_per_h, include_start=False)
    if interval_of is not None:
        interval_min = Scenario.check_values(INTERVAL, interval_of(steps.rate_per_h))
        moments = replace(moments, tau=interval_min / MIN_PER_H)
    steady_hours = quiet_budget(moments, form=exact_at_each_rate)
    # share of that which falls into each step, where the first restart takes up some of the exposed hours
    share = steps.length_h / _exposed_h(steady_hours)
    start = _start(moments, steps) if run.include_start else {}
    share = share * np.clip((steps.end_h - start.get("restart_h", 0.0)) / steps.length_h, 0.0, 1.0)
    # the step in which the productive hours reach the work, and the part of it that is needed
    done_h = np.cumsum(steady_hours.productive_h * share)
    reach = int(np.searchsorted(done_h, run.work))
    if reach == done_h.size or not np.isfinite(done_h[reach]):
        raise OutsideValidity("budget.over_time holds only for runs that make progress at each rate they meet")
    used = share[: reach + 1].copy()
    before_h = done_h[reach - 1] if reach else 0.0
    used[-1] *= (run.work - before_h) / (done_h[reach] - before_h)
    parts = {
        field.name: float(np.sum(np.broadcast_to(getattr(steady_hours, field.name), share.shape)[: reach + 1] * used))
        for field in fields(TimeBudget)
    }
    hours = TimeBudget(**{name: value + start.get(name, 0.0) for name, value in parts.items()})
    if not hours.ettr >= LEAST_ETTR:
        raise OutsideValidity(f"budget.over_time holds only for {ENDS}")
    return hours


def _exposed_h(hours: TimeBudget) -> Any:
    """Exposed hours: those in which failures can strike. [h]"""
    return hours.total_h - hours.detection_h - hours.queue_h - hours.maintenance_h


def at_mean_rate(scenario: Scenario) -> Scenario:
    """Return a run with a constant failure rate, the mean over its exposed hours.

    Parameters
    ----------
    scenario : Scenario
        The run.

    Returns
    -------
    Scenario
        With ``failures.rate_per_1000_node_days``, with the same relative uncertainty, and without burn-in and
        lifetimes.

    Raises
    ------
    NotModelled, OutsideValidity
        As by :func:`over_time`.

    Examples
    --------
    >>> from ettr import Scenario, budget
    >>> run = Scenario.load("llama3-405b")
    >>> young = run.override({"failures.burn_in": {"factor": 5, "decay_days": 7}})
    >>> round(budget.at_mean_rate(young).failure_rate / run.failure_rate, 2)
    1.52
    """
    if scenario.failures.burn_in is None and scenario.failures.lifetime is None:
        return scenario
    if not changes(scenario) or scenario.job_rate_per_h == 0:
        return scenario.override(steady(scenario))
    run = accepted(scenario, formula="over_time")
    return scenario.override(steady(scenario, mean_rate_per_h(run) / run.rate))


def mean_rate_per_h(run: JobInHours) -> float:
    """Mean failure rate of the exposed hours of a run whose rate changes. [1/h]"""
    hours, steps = float(_exposed_h(over_time(replace(run, include_start=False)))), _steps(run)
    expected = np.append(0.0, np.cumsum(steps.rate_per_h * steps.length_h))
    return float(np.interp(hours, np.append(0.0, steps.end_h), expected)) / hours


def _steps(run: JobInHours) -> _Steps:
    """Steps of exposed time with the mean failure rate in each: of burn-in, of new nodes, or a constant one."""
    from ettr.failures.hazards import burn_in_count
    from ettr.failures.renewal import renewal_count

    edges = np.concatenate([[0.0], run.work * np.geomspace(_FIRST_STEP, _LONGEST, _STEPS)])
    lengths, settled_per_h, old = np.diff(edges), run.rate, run.ageing
    relative = np.ones(_STEPS)
    if old and old.factor != 1:
        relative = np.diff(burn_in_count(edges, 1.0, old.factor, old.decay, old.age)) / lengths
    elif old and old.starts_new:
        settled_per_h = settled_per_h * old.long_run
        node_rate = settled_per_h / run.n_nodes
        if node_rate:
            relative = np.diff(renewal_count(edges, old.shape, 1 / node_rate)) / lengths / node_rate
    return _Steps(edges[1:], lengths, settled_per_h * relative)


def _start(moments: JobInHours, steps: _Steps) -> dict[str, float]:
    """Hours and failures of the first queue and the first restart, at the rates that the restart passes through.

    A restart that takes R exposed hours on average at a rate ends there at a rate of 1/R.
    """
    with np.errstate(over="ignore", divide="ignore"):
        failures, mean_h = recover_of(moments)(moments, 0.0, 1.0)
        ends = np.broadcast_to(steps.length_h / mean_h, steps.length_h.shape)
    # probability that the restart still runs at the edges of the steps; expected hours and failures within each step
    left = np.exp(-np.append(0.0, np.cumsum(ends)))
    with np.errstate(invalid="ignore"):  # where a restart hardly ever ends, failures come at the full rate
        struck_per_h = np.where(np.isfinite(mean_h), failures / mean_h, steps.rate_per_h)
        spent_h = np.where(ends > 1e-12, mean_h * (left[:-1] - left[1:]), steps.length_h * left[:-1])
    n_failures = float((spent_h * np.where(spent_h > 0, struck_per_h, 0.0)).sum())
    # infinitely many failures without downtime have none together, not NaN
    queue_h, detection_h = (n_failures * hours if hours else 0.0 for hours in (moments.queue, moments.detection))
    return {
        "queue_h": float(moments.first_queue + queue_h),
        "restart_h": float(spent_h.sum()),
        "detection_h": float(detection_h),
        "n_failures": n_failures,
    }
