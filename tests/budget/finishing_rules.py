"""Rules of a run, each as changes to one run, for tests of when it is done: alone, and every two of them together."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from grids import KINDS, alarms

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
MEMORY = {"name": "memory", "interval_s": 300, "stall_s": 3, "write_s": 40, "load_s": 20, "survives": 0.6}
DISK = {"name": "disk", "interval_s": 900, "stall_s": 10, "write_s": 500, "load_s": 90, "survives": 0.8}
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
    "silent": {"failures.modes": [{"name": "sdc", "share": 1.0, "latency_h": 2.3}]},
    "tiers": {"checkpoint.tiers": [MEMORY], "checkpoint.persist_s": 1200},
    "three tiers": {"checkpoint.tiers": [MEMORY, DISK], "checkpoint.persist_s": 1200},
    "alarms": alarms(0.4, 0.7, 30)
    | {"job.productive_h": 160.7, "failures.rate_per_1000_node_days": 6.0},  # the form needs many failures
    "burn-in": {"failures.burn_in": {"factor": 3, "decay_days": 3}},
    "half a failure": {"failures.rate_per_1000_node_days": 0.25},
    "three failures": {"failures.rate_per_1000_node_days": 1.5},
    "ten failures": {"failures.rate_per_1000_node_days": 5.0},
}
A_HAIR_H = 1e-7
"""For rounding: no two different times of these runs are closer."""


def _unions() -> dict[tuple[str, ...], dict[str, Any]]:
    """Rules alone, and two together where both can be seen: none says otherwise, nor no more, than the other."""
    unions: dict[tuple[str, ...], dict[str, Any]] = {(name,): rule for name, rule in RULES.items()}
    for (first, one), (second, other) in itertools.combinations(RULES.items(), 2):
        both = one | other
        if both == other | one and both not in (one, other):
            unions[first, second] = both
    return unions


UNIONS = _unions()
STORED, TIERS, STOPS = (
    ("write", "slowdown", "ends in a write"),
    ("tiers", "three tiers"),
    ("maintenance", "much maintenance"),
)
WORDS = (
    dict.fromkeys(STORED, "a background write")
    | dict.fromkeys(TIERS, "checkpoint.tiers")
    | dict.fromkeys(STOPS, "maintenance")
    | {"silent": "silent failures", "alarms": "prediction", "burn-in": "failures.burn_in"}
)
"""By which a rule is named where it is refused beside another."""
REFUSED = {
    frozenset(pair): tuple(WORDS[name] for name in pair)
    for each, others in (
        (("silent",), (*STORED, *STOPS, *TIERS, "alarms", "burn-in")),
        (("alarms",), (*TIERS, "burn-in")),
    )
    for pair in itertools.product(each, others)
} | {frozenset((name, "slowdown")): ("checkpoint.tiers", "checkpoint.persist_slowdown") for name in TIERS}
"""Pairs that have no transform, and the words for both."""
ENDLESS = {frozenset(("steady", "silent"))}
"""In the steady state all failures are noticed, and in a simulated run not those of its last hours."""
FOLLOWED = {names: rules for names, rules in UNIONS.items() if set(names) not in (*REFUSED, *ENDLESS)}


def allowance_h(finish: Finishing, run: Scenario) -> float:
    """Hours that the form may be off, by what it says of itself.

    With alarms the interval that the end cuts short counts as the others: half of what one of them loses. A rate that
    changes is taken at each moment for a steady state, which costs the mean three thousandths.
    """
    if run.prediction is not None:
        return (finish.mean_h * run.interval_h / run.job.productive_h - run.interval_h) / 2
    return 0.003 * finish.mean_h if run.failures.burn_in is not None else 0.0


def distance(finish: Finishing, run: Scenario, n_runs: int, seed: int, shift_h: float = 0.0) -> float:
    """Greatest distance to the share of simulated runs that are done, times the root of their number.

    What the form smoothed, all but its atom, is smoothed here too; hours may be off by a shift.
    """
    hours = simulate(run, n_runs, seed, control_variates=False).total_h
    if finish.smoothed_h:
        blurred = hours + finish.smoothed_h * np.random.default_rng(seed).standard_normal(n_runs)
        hours = np.where((finish.atom > 0) & (hours < finish.atom_h + A_HAIR_H), hours, blurred)
    seen, first = np.unique(np.round(np.sort(hours), 9), return_index=True)
    before, after = first / n_runs, np.append(first[1:], n_runs) / n_runs
    over = finish.cdf(seen - A_HAIR_H - shift_h) - before
    under = after - finish.cdf(seen + A_HAIR_H + shift_h)
    return float(max(over.max(), under.max()) * n_runs**0.5)
