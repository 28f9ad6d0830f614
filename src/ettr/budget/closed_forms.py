"""The closed forms: exact, first order, and the RSC paper's."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from ettr.budget.rules import Rules, rules
from ettr.checkpoint import growth, mean_until
from ettr.errors import NotModelled, OutsideValidity
from ettr.results import TimeBudget
from ettr.scenario import Scenario
from ettr.validity import plain, warn_outside

_BLOCK_POINTS = 32_768
"""Points evaluated at a time: their temporaries fit the cache."""

_LARGEST_EXPONENT = 690.0
"""Beyond this exponent a time overflows a float."""

_STOPS_ERROR = 0.005
"""Error of the total from requests for maintenance that wait for the same checkpoint."""

_ENDS = "runs that practically end, in a time that a float can hold"
_RARE_STOPS = "maintenance so rare that requests seldom wait for the same checkpoint"

Parts = dict[str, Any]
Limits = dict[str, Any]
"""What must hold, in words, and where it does not (a mask)."""


def exact(scenario: Scenario, at: Mapping[str, Any] | None = None) -> TimeBudget:
    r"""Expected time budget under exponential failures, exact for constant times.

    Start, background write, last segment, and detection, queue and restart by mode are exact; maintenance is of
    first order in requests per checkpoint cycle, and refused where that is more than half a per cent off.

    Parameters
    ----------
    scenario : Scenario
        The run.
    at : mapping, optional
        Dotted path (one of ``SWEPT``) to an array in the field's unit; arrays broadcast against each other. GPU
        counts need not be whole nodes here.

    Returns
    -------
    TimeBudget
        Floats, or arrays of the broadcast shape.

    Raises
    ------
    InputError
        A path that cannot be swept, or a value that breaks the field's rule.
    OutsideValidity
        One run outside the formula's validity; in arrays such points are NaN, with one warning.

    Notes
    -----
    A stage that needs x hours without failure the first time, and B hours after a recovery, takes
    :math:`(1-e^{-\lambda x})\,e^{\lambda B}/\lambda` hours beside restarts. The first stage, the whole segments and the
    last one differ in x and B only. Daly (2006); Bougeret et al. (2011); derived in the methods chapter.

    Examples
    --------
    >>> from ettr import Scenario, budget
    >>> round(budget.exact(Scenario.load("llama3-405b")).ettr, 3)
    0.909
    """
    return _evaluate("budget.exact", _exact, rules(scenario, at))


def first_order(scenario: Scenario, at: Mapping[str, Any] | None = None) -> TimeBudget:
    r"""Expected time budget when each failure costs half an interval and losses only add up.

    Parameters, result and errors are those of :func:`exact`.

    Notes
    -----
    :math:`1 - ETTR = (w + sp)/\tau + \lambda(\tau/2 + p + d + q + r) + \mu(m + r)` while that is below 1, and useful
    while it is well below. Young (1974). The start adds its queue and restart once.

    Examples
    --------
    >>> from ettr import Scenario, budget
    >>> round(budget.first_order(Scenario.load("llama3-405b")).ettr, 3)
    0.906
    """
    return _evaluate("budget.first_order", _first_order, rules(scenario, at))


def rsc(scenario: Scenario, at: Mapping[str, Any] | None = None) -> TimeBudget:
    r"""Expected time budget by the formula of the RSC paper, with its queue and start-up terms.

    Parameters and result are those of :func:`exact`.

    Raises
    ------
    NotModelled
        The scenario has a background write or maintenance: the formula has no term for them.
    OutsideValidity
        The failures' losses reach the whole scheduled time.

    Notes
    -----
    Scheduled time :math:`S = R(1 + w/\Delta) + u_0 + \lambda S (u_0 + \Delta/2)`, wall clock
    :math:`W = S(1 + \lambda q) + q`, ETTR = R/W; :math:`u_0` is detection and restart after a failure, and the restart
    at the start. For long runs without queue this is version 2's :math:`[1 - \lambda(u_0 + \Delta/2)]/(1 + w/\Delta)`;
    version 1 leaves the term :math:`q\lambda\Delta/2R` out of the denominator. Kokolis et al. (2025).

    Examples
    --------
    >>> from ettr import Scenario, budget
    >>> run = Scenario.load("rsc-1").override({"checkpoint.stall_s": 0, "checkpoint.interval_min": 5})
    >>> round(budget.rsc(run).ettr, 2)
    0.92
    """
    run = rules(scenario, at)
    for path, values in (("checkpoint.persist_s", run.persist), ("maintenance.per_day", run.stops_per_h)):
        if np.any(np.asarray(values) > 0):
            raise NotModelled(f"budget.rsc has no term for {path}: set it to 0, or use budget.exact")
    return _evaluate("budget.rsc", _rsc, run)


def _evaluate(formula: str, model: Callable[[Rules], tuple[Parts, Limits]], run: Rules) -> TimeBudget:
    """Run a model block by block, and mark the points that lie outside its limits."""
    values = {field.name: getattr(run, field.name) for field in fields(run)}
    shape = np.broadcast_shapes(*(np.shape(value) for value in values.values()))
    results = {field.name: np.zeros(shape) for field in fields(TimeBudget)} if shape else {}
    broken: dict[str, int] = {}
    with np.errstate(all="ignore"):
        for block in _blocks(shape):
            parts, limits = model(replace(run, **{name: _cut(value, shape, block) for name, value in values.items()}))
            outside = _broken(limits, broken)
            if not shape:
                break
            for name, result in results.items():
                value = parts.get(name, 0.0)
                result[block] = np.where(outside, np.nan, value) if np.any(outside) else value
    if broken and not shape:
        raise OutsideValidity(f"{formula} holds only for {next(iter(broken))}")
    if broken:
        warn_outside(formula, " and ".join(broken), int(np.isnan(results["productive_h"]).sum()), int(np.prod(shape)))
    return TimeBudget(**(results or {name: plain(value) for name, value in parts.items()}))


def _blocks(shape: tuple[int, ...]) -> Iterator[tuple[slice, ...]]:
    """Cut an array across its longest axis."""
    if not shape:
        yield ()
        return
    axis = int(np.argmax(shape))
    before = (slice(None),) * axis
    width = max(1, _BLOCK_POINTS * shape[axis] // max(1, int(np.prod(shape))))
    for start in range(0, shape[axis], width):
        yield (*before, slice(start, start + width))


def _cut(value: Any, shape: tuple[int, ...], block: tuple[slice, ...]) -> Any:
    """The part of a value that belongs to a block of ``shape``; values that do not vary along it stay whole."""
    if not shape or np.ndim(value) == 0:
        return value
    axis = len(block) - 1 - (len(shape) - np.ndim(value))
    if axis < 0 or np.shape(value)[axis] == 1:
        return value
    return value[(slice(None),) * axis + block[-1:]]


def _broken(limits: Limits, broken: dict[str, int]) -> Any:
    """Join the masks of all limits, and note which limits were broken at all."""
    outside: Any = False
    for rule, mask in limits.items():
        if np.any(mask):
            broken[rule] = 1
            outside = outside | mask
    return outside


@dataclass(frozen=True)
class _Training:
    """The training of a run beside its recoveries, in expected hours exposed to failure.

    ``last_h`` is the part of ``exposed_h`` after the last durable checkpoint: no maintenance is served in it.
    """

    exposed_h: Any
    last_h: Any
    rework_h: Any
    slowdown_h: Any
    n_checkpoints: Any
    n_durable: Any
    largest_exponent: Any


def _exact(run: Rules) -> tuple[Parts, Limits]:
    training = _finite_run(run) if run.include_start else _steady_state(run)
    starts = 1.0 if run.include_start else 0.0
    n_failures, restart_h = _recoveries(run, training.exposed_h, starts)
    limits = {
        "intervals no shorter than the training during the background write": run.head > run.tau,
        _ENDS: training.largest_exponent - np.log(run.survive_restart) > _LARGEST_EXPONENT,
    }
    parts = {
        "productive_h": run.work,
        "checkpoint_h": training.n_checkpoints * run.stall,
        "slowdown_h": training.slowdown_h,
        "rework_h": training.rework_h,
        "restart_h": restart_h,
        "n_failures": n_failures,
        "maintenance_h": 0.0,
    }
    if np.any(run.stops_per_h):
        _add_maintenance(run, training, parts, limits)
    parts["detection_h"] = parts["n_failures"] * run.detection
    parts["queue_h"] = parts["n_failures"] * run.queue + starts * run.first_queue
    return parts, limits


def _recoveries(run: Rules, exposed_h: Any, n_planned: Any) -> tuple[Any, Any]:
    """Failures, and hours of restarts, of a stretch of training with planned restarts in it."""
    planned_h = n_planned * mean_until(run.rate, run.restart)
    at_risk_h = exposed_h + planned_h
    survive = run.survive_restart
    return run.rate * at_risk_h / survive, planned_h + at_risk_h * run.cut_restart / survive


def _stage(rate: Any, first_h: Any, again_h: Any) -> tuple[Any, Any]:
    """Exposed hours of a stage (x = first_h, B = again_h), and how much more they are than x."""
    repeat = np.expm1(rate * (again_h - first_h))
    more = _excess(rate, first_h) * (1 + repeat) + first_h * repeat
    return first_h + more, more


def _excess(rate: Any, duration_h: Any) -> Any:
    """(e^{λx} - 1)/λ - x, without the loss of digits where λx is small. [h]"""
    exponent = np.asarray(rate * duration_h)
    difference = growth(rate, duration_h) - duration_h
    small = exponent < 0.01
    if not small.any():
        return difference
    series = (
        duration_h * exponent / 2 * (1 + exponent / 3 * (1 + exponent / 4 * (1 + exponent / 5 * (1 + exponent / 6))))
    )
    return np.where(small, series, difference)


def _steady_state(run: Rules) -> _Training:
    """Whole segments only, as many as the work holds, each from one durable checkpoint to the next."""
    n = run.work / run.tau
    again = run.tau + run.stall + run.persist
    exposed, more = _stage(run.rate, run.cycle, again)
    write = run.slowdown * run.persist
    kept = np.exp(-run.rate * run.cycle)
    return _Training(n * exposed, 0.0, n * (more + write * (1 - kept)), n * write * kept, n, n, run.rate * again)


def _finite_run(run: Rules) -> _Training:
    """From submission to the last productive hour; the last segment takes no checkpoint."""
    rate, tau, head, write = run.rate, run.tau, run.head, run.slowdown * run.persist
    n = np.maximum(np.ceil(run.work / tau * (1 - 1e-12)) - 1, 0)
    rest = run.work - n * tau
    ends_in_write = (n > 0) & (rest < head)
    end_h = rest / (1 - run.slowdown)
    again = tau + run.stall + run.persist
    again_to_end = tau + run.stall + end_h

    only_stage = (n == 0) | (ends_in_write & (n == 1))
    first = np.where(n == 0, run.work, np.where(only_stage, again_to_end, again))
    n_middle = np.where(only_stage, 0, np.where(ends_in_write, n - 2, n - 1))
    last_first = np.where(ends_in_write, again_to_end - head, rest - head)
    last_again = np.where(ends_in_write, again_to_end, rest)

    first_h, first_more = _stage(rate, first, first)
    middle_h, middle_more = _stage(rate, run.cycle, again)
    last_h, last_more = _stage(rate, last_first, last_again)
    last_h, last_more = np.where(only_stage, 0.0, last_h), np.where(only_stage, 0.0, last_more)

    kept_middle = np.exp(-rate * run.cycle)
    kept_last = np.where(only_stage, 0.0, np.exp(-rate * last_first))
    lost_last = np.where(only_stage, 0.0, -np.expm1(-rate * last_first))
    slowdown = write * (n_middle * kept_middle + kept_last) + np.where(ends_in_write, end_h - rest, 0.0)
    rework = first_more + n_middle * (middle_more - write * np.expm1(-rate * run.cycle)) + last_more
    return _Training(
        exposed_h=first_h + n_middle * middle_h + last_h,
        last_h=np.where(only_stage, first_h, last_h),
        rework_h=rework + write * lost_last,
        slowdown_h=slowdown,
        n_checkpoints=n,
        n_durable=n - ends_in_write,
        largest_exponent=rate * np.maximum(first, np.where(only_stage, 0.0, again)),
    )


def _add_maintenance(run: Rules, training: _Training, parts: Parts, limits: Limits) -> None:
    """Add planned stops: each costs itself, a restart, and the training done during the write before it."""
    starts = 1.0 if run.include_start else 0.0
    redo_h = growth(run.rate, run.head)
    stop_failures, stop_restart_h = _recoveries(run, redo_h, 1.0)
    stop_h = run.stop + redo_h + stop_restart_h + stop_failures * run.downtime
    last_failures, last_restart_h = _recoveries(run, training.last_h, 0.0)
    servable_h = training.exposed_h + parts["restart_h"] + parts["n_failures"] * run.downtime
    servable_h = servable_h - training.last_h - last_restart_h - last_failures * run.downtime
    servable_h = np.where(training.n_durable > 0, servable_h + starts * run.first_queue, 0.0)
    # what is requested during and after the stop at the last checkpoint waits for no other
    followed = 1 - starts / np.maximum(training.n_durable, 1)
    n_stops = run.stops_per_h * servable_h / (1 - run.stops_per_h * stop_h * followed)
    total_h = servable_h + n_stops * stop_h
    error = _shared_stops(run, training, parts, total_h) * stop_h / np.maximum(total_h, run.work)
    limits[_RARE_STOPS] = (run.stops_per_h * stop_h >= 1) | (n_stops > training.n_durable) | (error > _STOPS_ERROR)
    unkept_h = n_stops * run.slowdown * run.persist * np.exp(-run.rate * run.cycle)
    parts["maintenance_h"] = n_stops * run.stop
    parts["restart_h"] = parts["restart_h"] + n_stops * stop_restart_h
    parts["n_failures"] = parts["n_failures"] + n_stops * stop_failures
    parts["rework_h"] = parts["rework_h"] + n_stops * redo_h + unkept_h
    parts["slowdown_h"] = parts["slowdown_h"] - unkept_h


def _shared_stops(run: Rules, training: _Training, parts: Parts, total_h: Any) -> Any:
    """How many requests find another waiting: half the square of the requests in each stretch between checkpoints.

    The first stretch holds the first queue, and a stretch with a failure its downtime.
    """
    n = np.maximum(training.n_durable, 1)
    queue = run.stops_per_h * run.first_queue if run.include_start else 0.0
    mean = (run.stops_per_h * total_h - queue) / n
    failures = parts["n_failures"] / n
    spread = failures * (1 + failures) * (run.stops_per_h * (run.downtime + run.restart_after)) ** 2
    return (n * (mean**2 + spread) + 2 * mean * queue + queue**2) / 2


def _first_order(run: Rules) -> tuple[Parts, Limits]:
    starts = 1.0 if run.include_start else 0.0
    per_failure = run.tau / 2 + run.persist + run.downtime + run.restart_after
    loss = (run.stall + run.slowdown * run.persist) / run.tau + run.rate * per_failure
    loss = loss + run.stops_per_h * (run.stop + run.restart)
    total = run.work / (1 - loss)
    n_failures, n_stops = run.rate * total, run.stops_per_h * total
    parts = {
        "productive_h": run.work,
        "checkpoint_h": total * run.stall / run.tau,
        "slowdown_h": total * run.slowdown * run.persist / run.tau,
        "rework_h": n_failures * (run.tau / 2 + run.persist),
        "detection_h": n_failures * run.detection,
        "queue_h": n_failures * run.queue + starts * run.first_queue,
        "restart_h": n_failures * run.restart_after + (n_stops + starts) * run.restart,
        "maintenance_h": n_stops * run.stop,
        "n_failures": n_failures,
    }
    return parts, {"losses below the whole time, (w + sp)/τ + λ(τ/2 + p + d + q + r) + μ(m + r) < 1": loss >= 1}


def _rsc(run: Rules) -> tuple[Parts, Limits]:
    starts = 1.0 if run.include_start else 0.0
    per_failure = run.detection + run.restart_after + run.tau / 2
    scheduled = run.work * (1 + run.stall / run.tau) + starts * run.restart
    scheduled = scheduled / (1 - run.rate * per_failure)
    n_failures = run.rate * scheduled
    parts = {
        "productive_h": run.work,
        "checkpoint_h": run.work * run.stall / run.tau,
        "rework_h": n_failures * run.tau / 2,
        "detection_h": n_failures * run.detection,
        "queue_h": n_failures * run.queue + starts * run.first_queue,
        "restart_h": n_failures * run.restart_after + starts * run.restart,
        "n_failures": n_failures,
    }
    return parts, {"λ(u₀ + Δ/2) < 1": run.rate * per_failure >= 1}
