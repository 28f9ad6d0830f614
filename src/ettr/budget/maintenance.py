"""Planned stops, to first order in requests per checkpoint."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ettr.budget.training import Training
from ettr.checkpoint import growth
from ettr.scenario import JobInHours

Recover = Callable[[JobInHours, Any, Any], tuple[Any, Any]]
"""Takes hours at risk and planned restarts; returns failures and hours of restarts."""

STOPS_ERROR = 0.005
"""Largest relative error of the total, from requests for maintenance that wait for the same checkpoint."""

RARE_STOPS = "maintenance so rare that requests hardly ever wait for the same checkpoint"


def add_maintenance(run: JobInHours, training: Training, recover: Recover, parts: dict[str, Any]) -> Any:
    """Add planned stops to the parts: each costs its duration, a restart, and the training during the write before it.

    Returns the mask of points where the error exceeds half a percent.
    """
    starts = 1.0 if run.include_start else 0.0
    # hours of one stop: the training during the last write is repeated, under failures
    redo_h = growth(run.rate * training.redo_share, run.head)
    stop_failures, stop_restart_h = recover(run, redo_h, 1.0)
    stop_h = run.stop + redo_h + stop_restart_h + stop_failures * run.downtime
    # hours in which a request is still served: all up to the last durable checkpoint
    last_failures, last_restart_h = recover(run, training.last_h, 0.0)
    servable_h = training.exposed_h + parts["restart_h"] + parts["n_failures"] * run.downtime
    servable_h = servable_h - training.last_h - last_restart_h - last_failures * run.downtime
    servable_h = np.where(training.n_durable > 0, servable_h + starts * run.first_queue, 0.0)
    # requests during and after the stop at the last checkpoint are not served; n = μ (servable + n stop), solved for n
    followed = 1 - starts / np.maximum(training.n_durable, 1)
    n_stops = run.stops_per_h * servable_h / (1 - run.stops_per_h * stop_h * followed)
    total_h = servable_h + n_stops * stop_h
    # requests that find another one waiting share its stop, which the first order counts twice
    error = _shared_stops(run, training, parts, total_h) * stop_h / np.maximum(total_h, run.work)
    unkept_h = n_stops * run.slowdown * run.persist * np.exp(-run.rate * run.cycle)
    parts["maintenance_h"] = n_stops * run.stop
    parts["restart_h"] = parts["restart_h"] + n_stops * stop_restart_h
    parts["n_failures"] = parts["n_failures"] + n_stops * stop_failures
    parts["rework_h"] = parts["rework_h"] + n_stops * redo_h + unkept_h
    parts["slowdown_h"] = parts["slowdown_h"] - unkept_h
    return (run.stops_per_h * stop_h >= 1) | (n_stops > training.n_durable) | (error > STOPS_ERROR)


def _shared_stops(run: JobInHours, training: Training, parts: dict[str, Any], total_h: Any) -> Any:
    """Expected number of requests that find another one waiting: half the square of the requests between checkpoints.

    The first interval includes the first queue, and an interval with a failure its downtime.
    """
    n = np.maximum(training.n_durable, 1)
    queue = run.stops_per_h * run.first_queue if run.include_start else 0.0
    mean = (run.stops_per_h * total_h - queue) / n
    failures = parts["n_failures"] / n
    spread = failures * (1 + failures) * (run.stops_per_h * (run.downtime + run.restart_after)) ** 2
    return (n * (mean**2 + spread) + 2 * mean * queue + queue**2) / 2
