"""The analytical models of the time budget: exact, first order, and the formula of the RSC paper."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ettr.budget import maintenance, predicted, tiered, training
from ettr.budget.blocks import Limits, Parts, as_product, evaluate, with_swept
from ettr.budget.refusals import accepted
from ettr.checkpoint import alarm_rate_per_h, heed_threshold_h
from ettr.core.errors import NotModelled
from ettr.core.results import TimeBudget
from ettr.core.units import LAST_DIGITS
from ettr.core.validity import ENDS, ValidityWarning
from ettr.scenario import JobInHours, Scenario

_LARGEST_EXPONENT = 690.0
"""Above this exponent a time overflows a float."""


def exact(scenario: Scenario | JobInHours, at: Mapping[str, Any] | None = None, *, product: bool = False) -> TimeBudget:
    r"""Return the expected time budget under exponential failures, exact for constant times.

    The start, the background write, the last segment, and detection, queue and restart per failure mode are exact.
    Maintenance is of first order in requests per checkpoint cycle, and refused where that error exceeds half a percent.
    With tiers, predicted failures or silent failures, the run consists of whole intervals of the store, as in the
    steady state; ``job.include_start`` then adds the first queue and one restart.

    Parameters
    ----------
    scenario : Scenario or JobInHours
        The run. A run in hours must come from :func:`accepted`.
    at : mapping, optional
        Dotted path (one of :func:`swept`) to an array in the field's unit; arrays broadcast against each other. GPU
        counts need not be whole nodes here. Not for a run in hours, which has its arrays.
    product : bool
        True for every combination of the arrays, with one axis per array in the order of ``at``.

    Returns
    -------
    TimeBudget
        Floats, or arrays of the broadcast shape; ``to_frame()`` then has one row per point, with the swept values.

    Raises
    ------
    InputError
        A path that cannot be swept, a value that breaks the field's rule, or arrays that do not broadcast.
    NotModelled
        Mechanisms, alone or together, that the exact model has no term for. ``ettr.simulate`` simulates them, and
        :func:`simplified` leaves them out.
    OutsideValidity
        A single run outside the model's validity; in arrays such points are NaN, with one warning.

    Notes
    -----
    A stage that needs x hours without failure at the first attempt, and B hours after a recovery, takes
    :math:`(1-e^{-\lambda x})\,e^{\lambda B}/\lambda` hours, restarts aside. The first stage, the whole segments and the
    last stage differ only in x and B. Daly (2006); Bougeret et al. (2011). With tiers, the flux of jobs across each
    point of a block is a geometric series; with alarms, a job is in one of three states. The methods chapter has the
    derivation.

    Examples
    --------
    >>> from ettr import Scenario, budget
    >>> run = Scenario.load("llama3-405b")
    >>> round(budget.exact(run).ettr, 3)
    0.909
    >>> budget.exact(run, {"checkpoint.interval_min": [5, 10]}).ettr.round(3).tolist()
    [0.907, 0.909]
    >>> at = {"cluster.n_gpus": [8192, 16_384], "checkpoint.interval_min": [5, 10, 20]}
    >>> budget.exact(run, at, product=True).ettr.shape
    (2, 3)
    """
    at = as_product(at) if product else at
    return with_swept(evaluate("budget.exact", _exact, accepted(scenario, at)), at)


def quiet_budget(
    scenario: Scenario | JobInHours, at: Mapping[str, Any] | None = None, form: Callable[..., TimeBudget] = exact
) -> TimeBudget:
    """Time budget by a model without its warning, for callers that look for NaN themselves."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ValidityWarning)
        return form(scenario, at)


def exact_at_each_rate(run: JobInHours, at: None = None) -> TimeBudget:
    """Expected time budget at each failure rate that a run passes through, with no lower limit on its ETTR."""
    return evaluate("budget.exact", _exact, run, least_ettr=0.0)


def first_order(
    scenario: Scenario | JobInHours, at: Mapping[str, Any] | None = None, *, product: bool = False
) -> TimeBudget:
    r"""Return the expected time budget to first order: each failure costs half an interval, and losses add up.

    Parameters, result and errors are those of :func:`exact`. Tiers, predicted failures and silent failures may occur
    together; changing rates, and mechanisms that only the simulator has, are refused.

    Notes
    -----
    :math:`1 - ETTR = (w + sp)/\tau + \lambda(\tau/2 + p + d + q + r) + \mu(m + r)` while that is below 1, and useful
    while it is well below 1. Young (1974). The start adds one queue and one restart. Each tier adds its
    :math:`w/\tau`, and recovers its share of failures with its :math:`\tau/2 + p` and load. An announced failure loses
    no work, but each alarm costs its action. A silent failure loses its latency.

    Examples
    --------
    >>> from ettr import Scenario, budget
    >>> round(budget.first_order(Scenario.load("llama3-405b")).ettr, 3)
    0.906
    """
    at = as_product(at) if product else at
    return with_swept(evaluate("budget.first_order", _first_order, accepted(scenario, at, "first_order")), at)


def rsc(scenario: Scenario | JobInHours, at: Mapping[str, Any] | None = None, *, product: bool = False) -> TimeBudget:
    r"""Return the expected time budget by the formula of the RSC paper, with its queue and start-up terms.

    Parameters and result are those of :func:`exact`.

    Raises
    ------
    NotModelled
        A background write, maintenance, or another mechanism that the formula has no term for.
    OutsideValidity
        Failures cost all of the scheduled time.

    Notes
    -----
    Scheduled time :math:`S = R(1 + w/\Delta) + u_0 + \lambda S (u_0 + \Delta/2)`, wall clock
    :math:`W = S(1 + \lambda q) + q`, ETTR = R/W; :math:`u_0` is detection and restart after a failure, and the restart
    at the start. For long runs without queue this is :math:`[1 - \lambda(u_0 + \Delta/2)]/(1 + w/\Delta)` of version 2
    of the paper; version 1 lacks the term :math:`q\lambda\Delta/2R` in the denominator. Kokolis et al. (2025).

    Examples
    --------
    >>> from ettr import Scenario, budget
    >>> run = Scenario.load("rsc-1").override({"checkpoint.stall_s": 0, "checkpoint.interval_min": 5})
    >>> round(budget.rsc(run).ettr, 2)
    0.92
    """
    at = as_product(at) if product else at
    run = accepted(scenario, at, "rsc")
    for path, section in (("checkpoint.tiers", run.tiers), ("prediction", run.prediction)):
        if section:
            raise NotModelled(f"budget.rsc has no term for {path}: leave it out, or use budget.exact")
    for path, values in (
        ("checkpoint.persist_s", run.persist),
        ("maintenance.per_day", run.stops_per_h),
        ("latency_h of silent modes", run.silent),
    ):
        if np.any(np.asarray(values) > 0):
            raise NotModelled(f"budget.rsc has no term for {path}: set it to 0, or use budget.exact")
    return with_swept(evaluate("budget.rsc", _rsc, run), at)


def _exact(run: JobInHours) -> tuple[Parts, Limits]:
    """Parts of the exact time budget, and where the model is not valid."""
    # hours of training first; the number of failures and the hours of restarts then follow from the hours at risk
    trained, recover = _trained(run), recover_of(run)
    starts = 1.0 if run.include_start else 0.0
    n_failures, restart_h = recover(run, trained.risk_h, starts)
    # a background write must end within its interval; e^(λB) must stay within a float
    limits = {
        "intervals no shorter than the training during the background write": run.head * (1 - LAST_DIGITS) > run.tau,
        ENDS: np.logical_not(trained.largest_exponent - np.log(run.survive_restart) <= _LARGEST_EXPONENT),
    }
    if run.tiers:
        limits["tiers whose intervals do not fall, and none shorter than its write"] = out_of_order(run)
    parts = {
        "productive_h": run.work,
        "checkpoint_h": trained.checkpoint_h,
        "slowdown_h": trained.slowdown_h,
        "rework_h": trained.rework_h,
        "restart_h": restart_h,
        "n_failures": n_failures,
        "maintenance_h": 0.0,
    }
    if np.any(run.stops_per_h):
        limits[maintenance.RARE_STOPS] = maintenance.add_maintenance(run, trained, recover, parts)
    # detection and queue expose the job to no failure, so they are proportional to the number of failures
    parts["detection_h"] = parts["n_failures"] * run.detection
    parts["queue_h"] = parts["n_failures"] * run.queue + starts * run.first_queue
    return parts, limits


def _trained(run: JobInHours) -> training.Training:
    """Hours of training, by the model for the kind of checkpoints and failures of a run."""
    if run.tiers:
        return tiered.tiered(run)
    if run.prediction is not None:
        return predicted.predicted(run)
    return training.silent(run) if run.silent > 0 else training.plain(run)


def recover_of(run: JobInHours) -> maintenance.Recover:
    """Function that returns failures and hours of restarts, from hours at risk."""
    if run.tiers:
        return tiered.recover
    return training.recover_silent if run.silent > 0 else training.recover


def out_of_order(run: JobInHours) -> Any:
    """Mask of points where a slower tier has the shorter interval or write, or a write outlasts its interval."""
    tau, write = run.taus, run.writes
    rising = [(tau[0], write[0])]
    for level in range(1, len(tau)):
        rising += [(tau[level], tau[level - 1]), (write[level], write[level - 1]), (tau[level], write[level])]
    return functools.reduce(np.logical_or, (slower < faster * (1 - LAST_DIGITS) for slower, faster in rising))


def _first_order(run: JobInHours) -> tuple[Parts, Limits]:
    """Parts to first order: the loss L is a sum of shares of the wall clock T, so that T = work / (1 - L)."""
    starts = 1.0 if run.include_start else 0.0
    stalls, rework, restart = _checkpoints_to_first_order(run)
    alarms, announced = _alarms_to_first_order(run)
    rework = rework * (1 - announced) + run.latency
    slowed = run.slowdown * run.persist / run.tau
    loss = stalls + alarms + slowed + run.rate * (rework + run.downtime + restart)
    loss = loss + run.stops_per_h * (run.stop + run.start)
    total = run.work / (1 - loss)
    n_failures, n_stops = run.rate * total, run.stops_per_h * total
    parts = {
        "productive_h": run.work,
        "checkpoint_h": total * (stalls + alarms),
        "slowdown_h": total * slowed,
        "rework_h": n_failures * rework,
        "detection_h": n_failures * run.detection,
        "queue_h": n_failures * run.queue + starts * run.first_queue,
        "restart_h": n_failures * restart + (n_stops + starts) * run.start,
        "maintenance_h": n_stops * run.stop,
        "n_failures": n_failures,
    }
    return parts, {"losses below the whole time, (w + sp)/τ + λ(τ/2 + p + d + q + r) + μ(m + r) < 1": loss >= 1}


def _checkpoints_to_first_order(run: JobInHours) -> tuple[Any, Any, Any]:
    """Share of time in stalls, and mean rework and mean restart of a failure. [1, h, h]"""
    if not run.tiers:
        return run.stall / run.tau, run.tau / 2 + run.persist, run.restart_after
    stalls = sum(stall / tau for stall, tau in zip(run.stalls, run.taus, strict=True))
    rework = sum(
        share * (tau / 2 + write) for share, tau, write in zip(run.severity, run.taus, run.writes, strict=True)
    )
    return stalls, rework, tiered.restart_after_h(run)


def _alarms_to_first_order(run: JobInHours) -> tuple[Any, Any]:
    """Share of time in checkpoints that answer alarms, and share of failures that lose no work."""
    if run.prediction is None:
        return 0.0, 0.0
    prediction = run.prediction
    heeded = heed_threshold_h(prediction.action, prediction.precision) <= run.tau
    recall = np.where(heeded, prediction.recall, 0.0)
    return alarm_rate_per_h(run.rate, recall, prediction.precision) * prediction.action, recall


def _rsc(run: JobInHours) -> tuple[Parts, Limits]:
    """Parts by S = R (1 + w/Δ) + u₀ + λ S (u₀ + Δ/2), solved for the scheduled time S."""
    starts = 1.0 if run.include_start else 0.0
    per_failure = run.detection + run.restart_after + run.tau / 2
    scheduled = run.work * (1 + run.stall / run.tau) + starts * run.start
    scheduled = scheduled / (1 - run.rate * per_failure)
    n_failures = run.rate * scheduled
    parts = {
        "productive_h": run.work,
        "checkpoint_h": run.work * run.stall / run.tau,
        "rework_h": n_failures * run.tau / 2,
        "detection_h": n_failures * run.detection,
        "queue_h": n_failures * run.queue + starts * run.first_queue,
        "restart_h": n_failures * run.restart_after + starts * run.start,
        "n_failures": n_failures,
    }
    return parts, {"λ(u₀ + Δ/2) < 1": run.rate * per_failure >= 1}


FORMULAS = {"exact": exact, "first_order": first_order, "rsc": rsc}
