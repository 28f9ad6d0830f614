"""Failures that are silent at first: the closed form by itself."""

from __future__ import annotations

import math

import numpy as np
import pytest
from grids import DEAD, silent

from agreement import per_hour_of_work, same
from ettr import budget
from ettr.core.errors import NotModelled


def _interval_of(plain_run, changes: dict):
    run = plain_run.override(changes)
    return run.override({"job.productive_h": run.interval_h})


def test_a_worked_value(plain_run):
    """Half of the segments fail: one failure in each, which takes a mean time to failure, 3 h and what follows."""
    rate = math.log(2) / (1 + 300 / 3600)
    changes = {"failures.rate_per_1000_node_days": 24 * rate, **silent(3), **DEAD}
    form = budget.exact(_interval_of(plain_run, changes))
    assert form.n_failures == pytest.approx(1, rel=1e-12)
    assert form.total_h == pytest.approx(1 / rate + 3 + 1 / 6 + 1 / 6, rel=1e-12)
    assert form.rework_h == pytest.approx(1 / rate + 3 - 1 - 300 / 3600, rel=1e-12)


def test_latencies_that_differ_take_no_longer_than_their_mean(plain_run):
    """A failure may be found while an older one is hidden: more recoveries then, and less that each throws away."""
    run = plain_run.override(silent(3) | DEAD)
    form = budget.exact(run)
    differ = run.override({f"failures.modes.{name}.latency_cv": 1 for name in ("sdc", "loader")})
    mean, _ = per_hour_of_work(differ, 40, 140, 4000, seed=1)
    assert 0.96 < mean["total_h"] * run.work_h / form.total_h < 0.99
    assert mean["n_failures"] * run.work_h > 1.1 * form.n_failures


@pytest.mark.parametrize("changes", [{}, DEAD, DEAD | {"checkpoint.stall_s": 0}], ids=["plain", "dead", "no stall"])
def test_what_is_found_at_once_is_no_silent_failure(plain_run, changes):
    """Where a restart takes no time; else a failure that is not silent can strike during it."""
    run = plain_run.override({"recovery.restart_min": 0, **changes})
    same(budget.exact(run.override(silent(0))), budget.exact(run))


def test_each_failure_costs_its_latency(plain_run):
    """As rework, whether the latency is shorter than an interval or not, and nothing else."""
    budgets = [budget.exact(plain_run.override(silent(latency) | DEAD)) for latency in (0.0, 0.3, 6.0)]
    for latency, hours in zip((0.3, 6.0), budgets[1:], strict=True):
        assert hours.n_failures == pytest.approx(budgets[0].n_failures, rel=1e-12)
        more_h = hours.rework_h - budgets[0].rework_h
        assert more_h == pytest.approx(latency * hours.n_failures, rel=1e-12)
        assert hours.total_h - budgets[0].total_h == pytest.approx(more_h, rel=1e-9)
        assert hours.ettr < budgets[0].ettr


def test_the_first_order_is_the_limit_of_rare_failures(plain_run):
    """Without stalls the two differ in the second order: ten times fewer failures, a hundredth of the difference."""
    run = plain_run.override(silent(3) | DEAD | {"checkpoint.stall_s": 0})
    rates = {"failures.rate_per_1000_node_days": np.array([0.5, 0.05, 0.005])}
    difference = budget.exact(run, rates).ettr - budget.first_order(run, rates).ettr
    assert difference[:-1] / difference[1:] == pytest.approx([100, 100], rel=0.15)


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"failures.modes": [{"name": "sdc", "share": 0.5, "latency_h": 1}]}, "failures that are detected at once"),
        (silent(1) | {"checkpoint.persist_s": 60}, "checkpoint.persist_s"),
        (silent(1) | {"prediction": {"recall": 0.5, "precision": 0.5, "lead_s": 60, "action_s": 6}}, "prediction"),
        (silent(1) | {"checkpoint.tiers": [{"name": "m", "interval_s": 60, "survives": 0.5}]}, "checkpoint.tiers"),
    ],
)
def test_what_the_form_does_not_hold_for_is_refused(plain_run, changes, name):
    with pytest.raises(NotModelled, match=f"(silent.*{name})|({name}.*silent)"):
        budget.exact(plain_run.override(changes))
    assert 0 < budget.first_order(plain_run.override(changes)).ettr < 1
