"""Several tiers of checkpoints: each failure goes back to the fastest that survived it.

Steady state, in whole intervals of the store. A block of tier l is the stretch between two of its checkpoints. In the
long run the job crosses every place once more forwards than backwards; that balance gives the flux across each place
from the one behind it, and makes the flux a geometric series inside every block.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ettr.budget.training import Training
from ettr.checkpoint import growth
from ettr.scenario import JobInHours

Table = list[list[Any]]


@dataclass(frozen=True)
class _Recoveries:
    """Where failures go back to, a row for the tier that was being loaded; the first row: while training.

    ``lands`` is the probability that a failure is answered from each tier, ``loads`` that its restart and load then
    also survive, and ``cut_h`` the hours of these until a failure or their end, as a mean over all failures.
    """

    lands: Table
    loads: Table
    cut_h: Table


def tiered(run: JobInHours) -> Training:
    """The training of a run with tiers, and what of it is lost."""
    lost = [-np.expm1(-run.rate * write) for write in run.writes]  # by a failure during the write
    risk_h = _block_h(run, _recoveries(run), lost)
    risk_h = risk_h / sum(q * np.exp(-run.rate * p) for q, p in zip(run.severity, run.writes, strict=True))
    stall_h = sum(run.tau / tau * stall for tau, stall in zip(run.taus, run.stalls, strict=True))
    n = run.work / run.tau
    return Training(
        exposed_h=n * risk_h,
        risk_h=n * risk_h,
        last_h=0.0,
        rework_h=n * np.maximum(risk_h - run.tau - stall_h, 0.0),  # rounding, where nothing fails
        slowdown_h=0.0,
        checkpoint_h=n * stall_h,
        n_durable=n,
        largest_exponent=np.log1p(run.rate * risk_h),
        redo_share=run.severity[-1],
    )


def recover(run: JobInHours, risk_h: Any, n_planned: Any) -> tuple[Any, Any]:
    """Failures and hours of restarts: a failure while a tier is loaded may need a safer one."""
    planned_h = n_planned * run.planned_restart_h
    at_risk_h, back = risk_h + planned_h, _recoveries(run)
    loading = _loading([run.rate * at_risk_h * cut_h for cut_h in back.cut_h[0]], run.rate, back)
    restart_h = sum(loading)
    return run.rate * (at_risk_h + restart_h), planned_h + restart_h


def restart_after_h(run: JobInHours) -> Any:
    """Mean restart and load of a failure, if none strikes meanwhile. [h]"""
    of_loads = sum(share * load for share, load in zip(run.severity, run.loads, strict=True))
    return of_loads + sum(one.share * one.restart for one in run.restarts)


def _recoveries(run: JobInHours) -> _Recoveries:
    n, groups = range(len(run.loads)), range(len(run.restarts))
    kept = [[0.0, *(tier.kept[i] for tier in run.tiers), run.restarts[i].share] for i in groups]
    survive = [[run.survives_restart(one.restart, load) for load in run.loads] for one in run.restarts]
    cut_h = [[run.until_struck_h(one.restart, load) for load in run.loads] for one in run.restarts]

    def answered(group: int, floor: int, tier: int) -> Any:
        """Probability that a failure has this restart and is answered from a tier, while tier ``floor`` loads."""
        if tier + 1 < floor:
            return 0.0
        return kept[group][tier + 1] - (kept[group][tier] if tier + 1 > floor else 0.0)

    def table(of: Callable[[int, int], Any]) -> Table:
        floors = range(len(run.loads) + 1)
        return [[sum(answered(i, floor, tier) * of(i, tier) for i in groups) for tier in n] for floor in floors]

    return _Recoveries(
        lands=table(lambda group, tier: 1.0),
        loads=table(lambda group, tier: survive[group][tier]),
        cut_h=table(lambda group, tier: cut_h[group][tier]),
    )


def _loading(first: list[Any], rate: Any, back: _Recoveries) -> list[Any]:
    """Hours of restart and load at each tier, from those of the first tries. [h]"""
    hours: list[Any] = []
    for tier, own in enumerate(first):
        again = sum(rate * hours[lower] * back.cut_h[lower + 1][tier] for lower in range(tier))
        # one less the share of failures that begin this load anew: a difference would lose its digits
        leaves = sum(back.lands[tier + 1][tier + 1 :]) + back.loads[tier + 1][tier]
        hours.append((own + again) / leaves)
    return hours


def _ends(rate: Any, back: _Recoveries) -> Table:
    """Probability that a failure is of one severity, and its recovery ends at one tier."""
    n, ends = len(back.lands[0]), []
    for severity in range(n):
        hours = _loading([back.cut_h[0][t] if t == severity else 0.0 for t in range(n)], rate, back)
        row = []
        for tier in range(n):
            first = back.loads[0][tier] if tier == severity else 0.0
            later = sum(rate * hours[at] * back.loads[at + 1][tier] for at in range(tier + 1))
            row.append(first + later)
        ends.append(row)
    return ends


def _block_h(run: JobInHours, back: _Recoveries, lost: list[Any]) -> Any:
    """Hours at risk in a block of the store, per crossing of its end. [h]"""
    rate, taus = run.rate, run.taus
    n, ends = len(taus), _ends(rate, back)
    length = [taus[0] + sum(run.stalls[: due + 1]) for due in range(n)]
    hours = [growth(rate, length[due]) for due in range(n)]  # by the slowest tier that is due at the block's end
    for level in range(n - 1):
        held = sum(lost[k] * sum(ends[k][t] for t in range(level + 1)) for k in range(level + 1))
        beyond = sum(run.severity[t] + sum(ends[k][t] for k in range(level + 1)) for t in range(level + 1, n))
        step = [rate * beyond * hours[due] / (1 - held) for due in range(n)]
        count = taus[level + 1] / taus[level]
        others = hours[level] * _series(step[level], count - 1)
        hours = [hours[due] + (1 + step[due]) * others for due in range(n)]
    return hours[-1]


def _series(step: Any, count: Any) -> Any:
    """1 + x + ... + x^(n-1) for x = 1 + step; n where the step is 0."""
    step = np.asarray(step, dtype=float)
    some = np.where(step > 0, step, 1.0)
    return np.where(step > 0, np.expm1(count * np.log1p(some)) / some, count)
