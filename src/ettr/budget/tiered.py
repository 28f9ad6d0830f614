"""Several tiers of checkpoints: each failure goes back to the fastest that survived it.

Steady state, in whole intervals of the store. A block of tier l is the stretch between two of its checkpoints. In the
long run the job crosses every place once more forwards than backwards; that balance gives the flux across each place
from the one behind it, and makes the flux a geometric series inside every block.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ettr.budget.job_in_hours import JobInHours, TiersInHours
from ettr.budget.training import Training
from ettr.checkpoint import growth, mean_until

Table = list[list[Any]]


def tiered(run: JobInHours) -> Training:
    """The training of a run with tiers, and what of it is lost."""
    tiers = _tiers_of(run)
    lost = [-np.expm1(-run.rate * write) for write in tiers.write]  # by a failure during the write
    risk_h = _block_h(run.rate, tiers, lost)
    risk_h = risk_h / sum(q * np.exp(-run.rate * p) for q, p in zip(tiers.severity, tiers.write, strict=True))
    stall_h = sum(tiers.tau[-1] / tau * stall for tau, stall in zip(tiers.tau, tiers.stall, strict=True))
    n = run.work / tiers.tau[-1]
    return Training(
        exposed_h=n * risk_h,
        risk_h=n * risk_h,
        last_h=0.0,
        rework_h=n * np.maximum(risk_h - tiers.tau[-1] - stall_h, 0.0),  # rounding, where nothing fails
        slowdown_h=0.0,
        checkpoint_h=n * stall_h,
        n_durable=n,
        largest_exponent=np.log1p(run.rate * risk_h),
        redo_share=tiers.severity[-1],
    )


def recover(run: JobInHours, risk_h: Any, n_planned: Any) -> tuple[Any, Any]:
    """Failures and hours of restarts: a failure while a tier is loaded may need a safer one."""
    tiers = _tiers_of(run)
    planned_h = n_planned * mean_until(run.rate, run.restart)
    at_risk_h = risk_h + planned_h
    loading = _loading([run.rate * at_risk_h * cut for cut in tiers.load_cut[0]], run.rate, tiers)
    restart_h = sum(loading)
    return run.rate * (at_risk_h + restart_h), planned_h + restart_h


def _tiers_of(run: JobInHours) -> TiersInHours:
    assert run.tiers is not None
    return run.tiers


def _loading(first: list[Any], rate: Any, tiers: TiersInHours) -> list[Any]:
    """Hours of restart and load at each tier, from those of the first tries. [h]"""
    hours: list[Any] = []
    for tier, own in enumerate(first):
        again = sum(rate * hours[lower] * tiers.load_cut[lower + 1][tier] for lower in range(tier))
        # one less the share of failures that begin this load anew: a difference would lose its digits
        leaves = sum(tiers.lands[tier + 1][tier + 1 :]) + tiers.loads[tier + 1][tier]
        hours.append((own + again) / leaves)
    return hours


def _ends(rate: Any, tiers: TiersInHours) -> Table:
    """Probability that a failure is of one severity, and its recovery ends at one tier."""
    n, ends = len(tiers.tau), []
    for severity in range(n):
        hours = _loading([tiers.load_cut[0][t] if t == severity else 0.0 for t in range(n)], rate, tiers)
        row = []
        for tier in range(n):
            first = tiers.loads[0][tier] if tier == severity else 0.0
            later = sum(rate * hours[at] * tiers.loads[at + 1][tier] for at in range(tier + 1))
            row.append(first + later)
        ends.append(row)
    return ends


def _block_h(rate: Any, tiers: TiersInHours, lost: list[Any]) -> Any:
    """Hours at risk in a block of the store, per crossing of its end. [h]"""
    n, ends = len(tiers.tau), _ends(rate, tiers)
    length = [tiers.tau[0] + sum(tiers.stall[: due + 1]) for due in range(n)]
    hours = [growth(rate, length[due]) for due in range(n)]  # by the slowest tier that is due at the block's end
    for level in range(n - 1):
        held = sum(lost[k] * sum(ends[k][t] for t in range(level + 1)) for k in range(level + 1))
        beyond = sum(tiers.severity[t] + sum(ends[k][t] for k in range(level + 1)) for t in range(level + 1, n))
        step = [rate * beyond * hours[due] / (1 - held) for due in range(n)]
        count = tiers.tau[level + 1] / tiers.tau[level]
        others = hours[level] * _series(step[level], count - 1)
        hours = [hours[due] + (1 + step[due]) * others for due in range(n)]
    return hours[-1]


def _series(step: Any, count: Any) -> Any:
    """1 + x + ... + x^(n-1) for x = 1 + step; n where the step is 0."""
    step = np.asarray(step, dtype=float)
    some = np.where(step > 0, step, 1.0)
    return np.where(step > 0, np.expm1(count * np.log1p(some)) / some, count)
