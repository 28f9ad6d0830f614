"""Rules of a run, each as changes to one run, for tests of when it is done: alone, and every two of them together."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from grids import KINDS

from ettr import Scenario, simulate
from ettr.core.finishing import Finishing

RUN = """
name: run
title: A run of forty hours that fails ten times
cluster: {n_gpus: 8000}
job: {productive_h: 40.7}
failures: {rate_per_1000_node_days: 6.0}
checkpoint: {interval_min: 60, stall_s: 120}
recovery: {detection_min: 4, queue_min: 6, restart_min: 10}
"""
RULES: dict[str, dict[str, Any]] = {
    "plain": {},
    "queue": {"recovery.queue_min": 90},
    "steady": {"job.include_start": False},
    "write": {"checkpoint.persist_s": 1200},
    "slowdown": {"checkpoint.persist_s": 1200, "checkpoint.persist_slowdown": 0.3},
    "ends in a write": {"checkpoint.persist_s": 1200, "job.productive_h": 40.1},
    "modes": {"failures.modes": KINDS},
    "people": {"recovery.person_share": 0.3, "recovery.person_min": 45},
    "maintenance": {"maintenance": {"per_day": 0.8, "duration_min": 45}},
    "much maintenance": {"maintenance": {"per_day": 18, "duration_min": 30}},
    "half a failure": {"failures.rate_per_1000_node_days": 0.25},
    "three failures": {"failures.rate_per_1000_node_days": 1.5},
    "ten failures": {"failures.rate_per_1000_node_days": 5.0},
}
A_HAIR_H = 1e-7
"""For rounding: no two different times of these runs are closer."""


def _unions() -> dict[tuple[str, ...], dict[str, Any]]:
    """Rules alone, and two together where both can be seen: none says otherwise, nor no more, than the other."""
    unions: dict[tuple[str, ...], dict[str, Any]] = {(name,): alone for name, alone in RULES.items()}
    for (first, rule), (second, other) in itertools.combinations(RULES.items(), 2):
        both = rule | other
        if both == other | rule and both not in (rule, other):
            unions[first, second] = both
    return unions


FOLLOWED = _unions()


def distance(finish: Finishing, run: Scenario, n_runs: int, seed: int) -> float:
    """Greatest distance to the share of simulated runs that are done, times the root of their number.

    What the form smoothed, all but its atom, is smoothed here too.
    """
    hours = simulate(run, n_runs, seed, control_variates=False).total_h
    if finish.smoothed_h:
        blurred = hours + finish.smoothed_h * np.random.default_rng(seed).standard_normal(n_runs)
        hours = np.where((finish.atom > 0) & (hours < finish.atom_h + A_HAIR_H), hours, blurred)
    distinct_h, first = np.unique(np.round(np.sort(hours), 9), return_index=True)
    before, after = first / n_runs, np.append(first[1:], n_runs) / n_runs
    over = finish.cdf(distinct_h - A_HAIR_H) - before
    under = after - finish.cdf(distinct_h + A_HAIR_H)
    return float(max(over.max(), under.max()) * n_runs**0.5)
