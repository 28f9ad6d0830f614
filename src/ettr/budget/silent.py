"""Failures that nobody notices at first: all training since they struck is lost when they are found."""

from __future__ import annotations

from typing import Any

import numpy as np

from ettr.budget.training import Training
from ettr.checkpoint import growth
from ettr.scenario import JobInHours


def silent(run: JobInHours) -> Training:
    """The training of a run whose failures are all silent, in the steady state."""
    n, segment = run.work / run.tau, run.tau + run.stall
    risk = growth(run.rate, segment)
    exposed = risk * (1 + run.rate * run.latency)
    return Training(
        exposed_h=n * exposed,
        risk_h=n * risk,
        last_h=0.0,
        rework_h=n * (exposed - segment),
        slowdown_h=0.0,
        checkpoint_h=n * run.stall,
        n_durable=n,
        largest_exponent=run.rate * segment,
    )


def recover(run: JobInHours, risk_h: Any, n_planned: Any) -> tuple[Any, Any]:
    """Failures and hours of restarts, during which nothing is computed that could be corrupted."""
    n_failures = run.rate * risk_h
    return n_failures, n_failures * run.restart_after + n_planned * run.start * np.ones_like(n_failures)
