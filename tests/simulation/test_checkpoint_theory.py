"""Tiers, announced failures and silent ones: simulated means against the exact forms and an independent model."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from agreement import FOUR, ROUNDING, check, check_means, per_hour_of_work

import monte_carlo_silent
from ettr import budget, simulate
from ettr.core.results import PARTS

QUANTITIES = (*PARTS, "n_failures", "total_h")
DEAD = {"recovery.detection_min": 4, "recovery.queue_min": 6}
STORE = {"checkpoint.stall_s": 60, "checkpoint.persist_s": 1200}
WRITE = {"checkpoint.persist_s": 1200, "checkpoint.persist_slowdown": 0.2}
MEMORY = {"name": "memory", "interval_s": 300, "stall_s": 3, "write_s": 40, "load_s": 20, "survives": 0.6}
DISK = {"name": "disk", "interval_s": 900, "stall_s": 10, "write_s": 500, "load_s": 90, "survives": 0.8}
MODES = [
    {"name": "bug", "share": 0.5, "detection_min": 12, "restart_min": 25},
    {"name": "hang", "share": 0.2, "queue_min": 20, "n_lost_nodes": 0},
    {"name": "rack", "share": 0.2, "restart_min": 2, "n_lost_nodes": 16},
]


def _tiers(*tiers: dict, **changes) -> dict:
    return {"checkpoint.tiers": [tier | changes for tier in tiers]}


TIERED = {
    "two, no write": _tiers(MEMORY, write_s=0),
    "two": _tiers(MEMORY) | DEAD | STORE,
    "writes as long as the intervals": _tiers(MEMORY, write_s=300) | {"checkpoint.persist_s": 3600},
    "three": _tiers(MEMORY, DISK) | DEAD | STORE,
    "three, low ETTR": _tiers(MEMORY, DISK)
    | STORE
    | {"checkpoint.load_s": 600, "failures.rate_per_1000_node_days": 60},
    "failures while loading": _tiers(MEMORY | {"load_s": 1200}, DISK | {"load_s": 2400})
    | DEAD
    | STORE
    | {"checkpoint.load_s": 3600, "failures.rate_per_1000_node_days": 12},
    "modes": _tiers(
        MEMORY | {"survives": {"bug": 1, "rack": 0.1, "all": 0.4}}, DISK | {"survives": {"bug": 1, "all": 0.5}}
    )
    | DEAD
    | STORE
    | {"failures.modes": MODES, "checkpoint.load_s": 300},
    "copies in groups": _tiers(MEMORY | {"survives": None, "copies": 2}) | {"failures.modes": MODES} | STORE,
    "copies in a ring": _tiers(MEMORY | {"survives": None, "copies": 2, "placement": "ring"}, DISK | {"survives": 1})
    | {"failures.modes": MODES, "failures.rate_per_1000_node_days": 20}
    | STORE,
    "just in time": _tiers({"name": "replicas", "interval_s": 120, "load_s": 400, "survives": {"bug": 0.9, "all": 0.7}})
    | DEAD
    | STORE
    | {"failures.modes": MODES, "checkpoint.interval_min": 30},
}


@pytest.mark.parametrize("name", TIERED)
def test_tiers_take_what_is_expected(plain_run, name):
    """In the steady state each interval of the store begins from the same state, so any number of them is exact."""
    run = plain_run.override(TIERED[name] | {"job.productive_h": 20})
    check(simulate(run, n_runs=2000, seed=3, control_variates=False), budget.exact(run))
    check(simulate(run, n_runs=2000, seed=3), budget.exact(run))


def _alarms(recall: float, precision: float, action_s: float, lead_s: float = 7200) -> dict:
    return {"prediction": {"recall": recall, "precision": precision, "lead_s": lead_s, "action_s": action_s}}


GOOD, POOR = _alarms(0.6, 0.85, 30), _alarms(0.4, 0.05, 60)
ANNOUNCED = {
    "good": GOOD | DEAD,
    "poor: a third of the interval is not worth an answer": POOR | DEAD,
    "all announced": _alarms(1, 1, 30) | DEAD,
    "at no cost": _alarms(0.7, 0.3, 0) | DEAD,
    "long action": _alarms(0.8, 0.7, 1500) | DEAD,
    "modes": GOOD | DEAD | {"failures.modes": MODES, "checkpoint.load_s": 200},
    "write": GOOD | DEAD | {"checkpoint.persist_s": 900},
    "write and slowdown": GOOD | WRITE,
    "write and slowdown, poor": POOR | WRITE | {"failures.modes": MODES},
    "write as long as the interval": GOOD | {"checkpoint.persist_s": 4500, "checkpoint.persist_slowdown": 0.2},
    "low ETTR": _alarms(0.5, 0.5, 120) | WRITE | {"failures.rate_per_1000_node_days": 30},
    "announced too late": _alarms(0.9, 0.9, 60, lead_s=59) | DEAD | WRITE,
    "never worth an answer": _alarms(0.9, 0.01, 60) | DEAD | WRITE,
}


@pytest.mark.parametrize("include_start", [True, False], ids=["start", "steady"])
@pytest.mark.parametrize("name", ANNOUNCED)
def test_announced_failures_take_what_is_expected(plain_run, name, include_start):
    run = plain_run.override(ANNOUNCED[name])
    expected = budget.exact(run)
    mean, error = per_hour_of_work(run.override({"job.include_start": include_start}), 20, 120, 600, seed=4)
    work_h = run.job.productive_h
    check_means(mean, error, {part: getattr(expected, part) / work_h for part in QUANTITIES})
    assert error["total_h"] < 0.01 * mean["total_h"]


def _silent(latency_h: float, **own: float) -> dict:
    """Half of the failures are of a kind with recovery times of its own; all are silent for as long."""
    kinds = [{"name": "sdc", "share": 0.5, **own}, {"name": "loader", "share": 0.5}]
    return {"failures.modes": [kind | {"latency_h": latency_h} for kind in kinds]}


OWN = {"detection_min": 30, "queue_min": 2, "restart_min": 45}
SILENT = {
    "at once": _silent(0) | {"recovery.restart_min": 0},
    "within an interval": _silent(0.4) | DEAD,
    "over several intervals": _silent(5.5) | DEAD,
    "as long as two intervals": _silent(2 * (1 + 300 / 3600)) | DEAD,
    "recovery by mode": _silent(2, **OWN) | DEAD | {"checkpoint.load_s": 600},
    "rare, found after a day": _silent(24) | {"failures.rate_per_1000_node_days": 1},
    "low ETTR": _silent(3, **OWN) | DEAD | {"failures.rate_per_1000_node_days": 24},
}


@pytest.mark.parametrize("name", SILENT)
def test_silent_failures_of_one_latency_take_what_is_expected(plain_run, name):
    """Away from the end of the run, at which some are still hidden."""
    run = plain_run.override(SILENT[name])
    expected = budget.exact(run)
    mean, error = per_hour_of_work(run, 40, 140, 800, seed=5)
    work_h = run.job.productive_h
    check_means(mean, error, {part: getattr(expected, part) / work_h for part in QUANTITIES})
    assert error["total_h"] < 0.01 * mean["total_h"]


UNEQUAL = {
    "two latencies": ((0.3, 0), (4, 0)),
    "one that varies": ((3, 1), (3, 1)),
    "one that varies widely, found within minutes or days": ((3, 3), (0.1, 0.3)),
}


@pytest.mark.parametrize("rate", [2, 6, 15])
@pytest.mark.parametrize("name", UNEQUAL)
def test_silent_failures_of_unequal_latencies_agree_with_the_other_simulation(plain_run, name, rate):
    kinds = [
        {"name": f"kind {number}", "share": 0.5, "latency_h": latency, "latency_cv": cv, "detection_min": 20 * number}
        for number, (latency, cv) in enumerate(UNEQUAL[name])
    ]
    run = plain_run.override(DEAD | {"failures.modes": kinds, "failures.rate_per_1000_node_days": rate})
    rules = monte_carlo_silent.rules_of(run)
    spreads = [cv for _, cv in UNEQUAL[name]]
    rules["modes"] = tuple(replace(mode, cv=cv) for mode, cv in zip(rules["modes"], spreads, strict=True))
    n_cycles = 10_000
    hours = monte_carlo_silent.Run(**rules, random=random.Random(6)).simulate(n_cycles)
    other = {part: column.mean() / run.interval_h for part, column in hours.items()}
    other_error = {part: column.std(ddof=1) / n_cycles**0.5 / run.interval_h for part, column in hours.items()}
    mean, error = per_hour_of_work(run, 40, 140, 800, seed=6)
    check_means(mean, error, other, other_error)
    assert error["total_h"] < 0.02 * mean["total_h"]


def test_what_nobody_has_found_at_the_end_is_counted_and_costs_nothing(plain_run):
    """One latency, longer than any run: no failure is ever found, and all that strike are hidden at the end."""
    run = plain_run.override(_silent(1e6) | DEAD | {"job.include_start": True, "recovery.restart_min": 0})
    simulated = simulate(run, n_runs=4000, seed=7, control_variates=False)
    runs = simulated.runs
    exposed_h = 40 + 39 * run.stall_h
    assert runs["total_h"].to_numpy() == pytest.approx(exposed_h + run.first_queue_h, rel=ROUNDING)
    assert (runs["n_failures"] == 0).all()
    # a Poisson number, so its variance is its mean; four standard errors of each
    expected = run.job_rate_per_h * exposed_h
    assert runs["n_undetected"].mean() == pytest.approx(expected, abs=FOUR * (expected / 4000) ** 0.5)
    assert runs["n_undetected"].var() == pytest.approx(expected, rel=FOUR * (2 / 4000) ** 0.5)


def test_fewer_checkpoints_kept_mean_more_lost_work(plain_run):
    """A latency of 2.5 h spans two checkpoints or three: two kept are never enough, three sometimes, four always."""
    run = plain_run.override(_silent(2.5) | DEAD | {"failures.rate_per_1000_node_days": 1})
    one, two, three, four, all_of_them = (
        simulate(run.override({"checkpoint.n_kept": kept}), 500, seed=8).runs["total_h"].to_numpy()
        for kept in (1, 2, 3, 4, None)
    )
    assert (one == two).all() and (four == all_of_them).all()
    assert two.mean() > three.mean() > four.mean()
    assert (three >= four - ROUNDING).all()
