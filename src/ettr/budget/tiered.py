"""Several tiers of checkpoints: each failure goes back to the fastest tier that survived it.

This is the steady state, in whole intervals of the store. A block of tier l is the stretch between two of its
checkpoints. In the long run the job crosses every point of the work once more forwards than backwards. This balance
gives the flux across each point from the flux across the point before, a geometric series within every block.
"""

from __future__ import annotations

import functools
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
    """Recovery by tier: the first row for failures in training, then a row per tier that was being loaded.

    ``lands`` is the probability that a failure is recovered from each tier, ``loads`` that no failure strikes during
    that restart and load, and ``cut_h`` their mean hours until a failure or their end, as a mean over all failures.
    """

    lands: Table
    loads: Table
    cut_h: Table


def tiered(run: JobInHours) -> Training:
    """Training of a run with tiers, in the steady state."""
    lost = [-np.expm1(-run.rate * write) for write in run.writes]  # probability of a failure during the write
    # the hours per crossing of the end of a block, over the mean probability that a crossing is durable
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
    """Failures and hours of restarts: a failure while a tier is loaded may need a slower, safer tier."""
    planned_h = n_planned * run.planned_restart_h
    at_risk_h, back = risk_h + planned_h, _recoveries(run)
    loading = _loading([run.rate * at_risk_h * cut_h for cut_h in back.cut_h[0]], run.rate, back)
    restart_h = sum(loading)
    return run.rate * (at_risk_h + restart_h), planned_h + restart_h


def restart_after_h(run: JobInHours) -> Any:
    """Mean restart and load of a failure, if no other strikes meanwhile. [h]"""
    load_h = sum(share * load for share, load in zip(run.severity, run.loads, strict=True))
    return load_h + sum(restart.share * restart.restart for restart in run.restarts)


@functools.lru_cache(maxsize=1)  # training and restarts of a run both ask for them
def _recoveries(run: JobInHours) -> _Recoveries:
    """Recovery by tier, summed over groups of modes with the same restart."""
    n, groups = range(len(run.loads)), range(len(run.restarts))
    # share of failures of each group that each tier survives, rising from tier to tier; all survive the store
    kept = [[0.0, *(tier.kept[i] for tier in run.tiers), run.restarts[i].share] for i in groups]
    survive = [[run.survives_restart(group.restart, load) for load in run.loads] for group in run.restarts]
    cut_h = [[run.until_struck_h(group.restart, load) for load in run.loads] for group in run.restarts]

    def answered(group: int, floor: int, tier: int) -> Any:
        """Probability that a failure is of this group and recovers from ``tier``, while tier ``floor`` loads."""
        if tier + 1 < floor:
            return 0.0
        return kept[group][tier + 1] - (kept[group][tier] if tier + 1 > floor else 0.0)

    def table(value: Callable[[int, int], Any]) -> Table:
        floors = range(len(run.loads) + 1)
        return [[sum(answered(i, floor, tier) * value(i, tier) for i in groups) for tier in n] for floor in floors]

    return _Recoveries(
        lands=table(lambda group, tier: 1.0),
        loads=table(lambda group, tier: survive[group][tier]),
        cut_h=table(lambda group, tier: cut_h[group][tier]),
    )


def _loading(first: list[Any], rate: Any, back: _Recoveries) -> list[Any]:
    """Hours of restart and load at each tier, from the hours of the first attempts. [h]

    A failure while a tier loads goes on to the same tier or to a slower one, so the tiers are solved in order.
    """
    hours: list[Any] = []
    for tier, first_h in enumerate(first):
        again_h = sum(rate * hours[lower] * back.cut_h[lower + 1][tier] for lower in range(tier))
        # 1 less the share of failures that load this tier again; computed as a sum, because a difference loses digits
        leaves = sum(back.lands[tier + 1][tier + 1 :]) + back.loads[tier + 1][tier]
        hours.append((first_h + again_h) / leaves)
    return hours


def _ends(rate: Any, back: _Recoveries) -> Table:
    """Probability that a failure first needs one tier (row), and its recovery ends at another (column)."""
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
    # from the blocks of the fastest tier to those of the store: a block of the next tier is a sequence of blocks of
    # this one, with ``step`` the relative growth of the flux from one to the one before, going back
    rate, taus = run.rate, run.taus
    n, ends = len(taus), _ends(rate, back)
    length = [taus[0] + sum(run.stalls[: due + 1]) for due in range(n)]
    hours = [growth(rate, length[due]) for due in range(n)]  # by the slowest tier that is due at the block's end
    for level in range(n - 1):
        held = sum(lost[k] * sum(ends[k][t] for t in range(level + 1)) for k in range(level + 1))
        beyond = sum(run.severity[t] + sum(ends[k][t] for k in range(level + 1)) for t in range(level + 1, n))
        step = [rate * beyond * hours[due] / (1 - held) for due in range(n)]
        count = taus[level + 1] / taus[level]
        # all blocks but the last, whose flux a geometric series sums; the last one ends with the slower tiers' stalls
        others_h = hours[level] * _series(step[level], count - 1)
        hours = [hours[due] + (1 + step[due]) * others_h for due in range(n)]
    return hours[-1]


def _series(step: Any, count: Any) -> Any:
    """Geometric series 1 + x + ... + x^(n-1) for x = 1 + step; n where the step is 0."""
    step = np.asarray(step, dtype=float)
    divisor = np.where(step > 0, step, 1.0)
    return np.where(step > 0, np.expm1(count * np.log1p(divisor)) / divisor, count)
