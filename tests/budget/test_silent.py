"""Failures that are silent at first: the closed form against a simulation, and by itself."""

from __future__ import annotations

import math
import random
from dataclasses import replace

import numpy as np
import pytest

import monte_carlo_silent
from ettr import budget
from ettr.core.errors import NotModelled
from ettr.core.results import PARTS

DEAD = {"recovery.detection_min": 4, "recovery.queue_min": 6}
OWN = {"detection_min": 30, "queue_min": 2, "restart_min": 45}


def _silent(latency_h: float, **own: float) -> dict:
    """Half of the failures are of a kind with recovery times of its own; all are silent for as long."""
    kinds = [{"name": "sdc", "share": 0.5, **own}, {"name": "loader", "share": 0.5}]
    return {"failures.modes": [kind | {"latency_h": latency_h} for kind in kinds]}


GRID = {
    "within an interval": _silent(0.4) | DEAD,
    "over several intervals": _silent(5.5) | DEAD,
    "as long as two intervals": _silent(2 * (1 + 300 / 3600)) | DEAD,
    "recovery by mode": _silent(2, **OWN) | DEAD | {"checkpoint.load_s": 600},
    "rare, found after a day": _silent(24) | {"failures.rate_per_1000_node_days": 1},
    "low ETTR": _silent(3, **OWN) | DEAD | {"failures.rate_per_1000_node_days": 24},
}
N_FAILURES = 15_000


def _interval_of(plain_run, changes: dict):
    run = plain_run.override(changes)
    return run.override({"job.productive_h": run.interval_h})


@pytest.mark.parametrize("name", GRID)
def test_every_part_agrees_with_the_simulation(plain_run, name):
    run = _interval_of(plain_run, GRID[name])
    form = budget.exact(run)
    n_cycles = math.ceil(N_FAILURES / form.n_failures)
    rules = monte_carlo_silent.rules_of(run)
    hours = monte_carlo_silent.Run(**rules, random=random.Random(len(name))).simulate(n_cycles)
    for part in (*PARTS, "n_failures", "total_h"):
        if part not in hours:
            assert getattr(form, part) == 0, part
            continue
        error = hours[part].std(ddof=1) / n_cycles**0.5
        # four standard errors; parts that never vary differ by rounding only
        assert getattr(form, part) == pytest.approx(hours[part].mean(), abs=4 * error + 1e-9), part
        assert error <= 0.02 * hours[part].mean() + 1e-9, part  # sharp enough to see a term that is missing


def test_a_worked_value(plain_run):
    """Half of the segments fail: one failure in each, which takes a mean time to failure, 3 h and what follows."""
    rate = math.log(2) / (1 + 300 / 3600)
    changes = {"failures.rate_per_1000_node_days": 24 * rate, **_silent(3), **DEAD}
    form = budget.exact(_interval_of(plain_run, changes))
    assert form.n_failures == pytest.approx(1, rel=1e-12)
    assert form.total_h == pytest.approx(1 / rate + 3 + 1 / 6 + 1 / 6, rel=1e-12)
    assert form.rework_h == pytest.approx(1 / rate + 3 - 1 - 300 / 3600, rel=1e-12)


def test_latencies_that_differ_take_no_longer_than_their_mean(plain_run):
    """A failure may be found while an older one is hidden: more recoveries then, and less that each throws away."""
    run = _interval_of(plain_run, _silent(3) | DEAD)
    rules = monte_carlo_silent.rules_of(run)
    rules["modes"] = tuple(replace(mode, exponential=True) for mode in rules["modes"])
    hours = monte_carlo_silent.Run(**rules, random=random.Random(1)).simulate(50_000)
    form = budget.exact(run)
    ratio = hours["total_h"].mean() / form.total_h
    assert 0.96 < ratio < 0.99
    assert hours["n_failures"].mean() > 1.1 * form.n_failures


@pytest.mark.parametrize("changes", [{}, DEAD, DEAD | {"checkpoint.stall_s": 0}], ids=["plain", "dead", "no stall"])
def test_what_is_found_at_once_is_no_silent_failure(plain_run, changes):
    """Where a restart takes no time; else a failure that is not silent can strike during it."""
    run = plain_run.override({"recovery.restart_min": 0, **changes})
    form, expected = budget.exact(run.override(_silent(0))), budget.exact(run)
    for part in (*PARTS, "n_failures", "total_h"):
        assert getattr(form, part) == pytest.approx(getattr(expected, part), rel=1e-12, abs=1e-14), part


@pytest.mark.parametrize("name", GRID)
def test_only_ratios_of_times_matter(plain_run, name):
    run = plain_run.override(GRID[name])
    modes = [
        {key: value * 3 if key.endswith(("_min", "_h")) and value is not None else value for key, value in mode.items()}
        for mode in run.model_dump()["failures"]["modes"]
    ]
    changes = {"failures.rate_per_1000_node_days": run.failures.rate / 3, "failures.modes": modes}
    paths = ["job.productive_h", "recovery.restart_min", *DEAD]
    for path in [*paths, "checkpoint.interval_min", "checkpoint.stall_s", "checkpoint.load_s"]:
        section, field = path.split(".")
        changes[path] = getattr(getattr(run, section), field) * 3
    longer, expected = budget.exact(run.override(changes)), budget.exact(run)
    assert longer.n_failures == pytest.approx(expected.n_failures, rel=1e-11)
    for part in PARTS:
        assert getattr(longer, part) == pytest.approx(3 * getattr(expected, part), rel=1e-11, abs=1e-14), part


def test_each_failure_costs_its_latency(plain_run):
    """As rework, whether the latency is shorter than an interval or not, and nothing else."""
    budgets = [budget.exact(plain_run.override(_silent(latency) | DEAD)) for latency in (0.0, 0.3, 6.0)]
    for latency, hours in zip((0.3, 6.0), budgets[1:], strict=True):
        assert hours.n_failures == pytest.approx(budgets[0].n_failures, rel=1e-12)
        more_h = hours.rework_h - budgets[0].rework_h
        assert more_h == pytest.approx(latency * hours.n_failures, rel=1e-12)
        assert hours.total_h - budgets[0].total_h == pytest.approx(more_h, rel=1e-9)
        assert hours.ettr < budgets[0].ettr


def test_to_first_order_only_silent_failures_cost_a_latency(plain_run):
    immediate = [{"name": "sdc", "share": 0.2}]
    quiet = [immediate[0] | {"latency_h": 5}]
    form, without = (
        budget.first_order(plain_run.override({"failures.modes": modes, **DEAD})) for modes in (quiet, immediate)
    )
    rate = plain_run.job_rate_per_h
    assert without.ettr - form.ettr == pytest.approx(0.2 * rate * 5, rel=1e-9)


def test_the_first_order_is_the_limit_of_rare_failures(plain_run):
    """Without stalls the two differ in the second order: ten times fewer failures, a hundredth of the difference."""
    run = plain_run.override(_silent(3) | DEAD | {"checkpoint.stall_s": 0})
    rates = {"failures.rate_per_1000_node_days": np.array([0.5, 0.05, 0.005])}
    difference = budget.exact(run, rates).ettr - budget.first_order(run, rates).ettr
    assert difference[:-1] / difference[1:] == pytest.approx([100, 100], rel=0.15)


SWEEPS = {
    "checkpoint.interval_min": [20.0, 60.0, 240.0],
    "checkpoint.stall_s": [0.0, 60.0, 300.0],
    "checkpoint.load_s": [0.0, 60.0, 300.0],
    "failures.rate_per_1000_node_days": [0.0, 1.0, 30.0],
    "cluster.n_gpus": [80, 8000, 24_000],
    "recovery.restart_min": [0.0, 10.0, 60.0],
}


@pytest.mark.parametrize("path", SWEEPS)
def test_arrays_give_what_single_runs_give(plain_run, path):
    run = plain_run.override(_silent(3, detection_min=8, restart_min=14))
    others = np.array([0.0, 6.0])
    grid = budget.exact(run, {path: np.array(SWEEPS[path])[:, None], "recovery.detection_min": others})
    assert grid.total_h.shape == (3, 2)
    for i, value in enumerate(SWEEPS[path]):
        single = budget.exact(run.override({path: value, "recovery.detection_min": others[1]}))
        for part in (*PARTS, "n_failures"):
            expected = getattr(single, part)
            assert getattr(grid, part)[i, 1] == pytest.approx(expected, rel=1e-12, abs=1e-14), part


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"failures.modes": [{"name": "sdc", "share": 0.5, "latency_h": 1}]}, "failures that are noticed"),
        (_silent(1) | {"checkpoint.persist_s": 60}, "checkpoint.persist_s"),
        (_silent(1) | {"prediction": {"recall": 0.5, "precision": 0.5, "lead_s": 60, "action_s": 6}}, "prediction"),
        (_silent(1) | {"checkpoint.tiers": [{"name": "m", "interval_s": 60, "survives": 0.5}]}, "checkpoint.tiers"),
    ],
)
def test_what_the_form_does_not_hold_for_is_refused(plain_run, changes, name):
    with pytest.raises(NotModelled, match=f"(silent.*{name})|({name}.*silent)"):
        budget.exact(plain_run.override(changes))
    assert 0 < budget.first_order(plain_run.override(changes)).ettr < 1
