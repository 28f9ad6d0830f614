"""The fewest hot spares for a target, against runs of every size."""

from __future__ import annotations

from functools import cache

import pytest

from ettr import Scenario, plan, simulate, spares
from ettr.core.errors import InputError, UnknownName

FIELD = "spares.n_nodes"
RUN = Scenario.load("llama3-405b").override({"spares": {"n_nodes": 4}, "repair": {"manual_h": 24.0}})


@pytest.fixture
def run() -> Scenario:
    return RUN


@cache
def ettr_with(n_spares: int) -> float:
    return simulate(RUN.override({FIELD: n_spares}), 400, 0).ettr


@pytest.mark.parametrize(
    ("target", "tried"),
    [
        (0.3, 1),
        (0.9, 1),
        *(pytest.param(target, 26, marks=pytest.mark.slow) for target in (0.3, 0.6, 0.85, 0.9, 0.907)),
    ],
)
def test_it_is_the_first_size_that_reaches_the_target(run, target, tried):
    """Against the next smaller size; in full against all smaller ones."""
    need = plan.required(run, FIELD, target)
    assert (need.sense, need.unit, need.given) == ("at least", "nodes", 4.0)
    size = int(need.value)
    assert need.value == size and ettr_with(size) >= target
    assert max(ettr_with(n) for n in range(max(0, size - tried), size)) < target
    assert need.blocking == ()
    assert 0 < need.ettr_error < 0.005


def test_the_interval_is_the_scenario_s_own(run):
    """At 30 min no pool reaches what 8 spares do at 10."""
    target = ettr_with(17) - 0.005
    assert plan.required(run, FIELD, target).value < 17
    assert plan.required(run.override({"checkpoint.interval_min": 30}), FIELD, target).value is None


def test_where_no_pool_is_enough_the_reason_names_what_stands_in_the_way(run):
    need = plan.required(run, FIELD, 0.92)
    assert need.value is None and need.ettr_error is None
    assert need.best_ettr == pytest.approx(ettr_with(80), abs=1e-3)
    assert need.blocker is not None and need.blocker.field == "recovery.restart_min"
    assert (need.best_ettr, need.blocker.ettr) == pytest.approx((0.9087, 0.93), abs=0.005)
    # all else as it is, the interval too: restarts in no time by the closed form at 10 min
    other = plan.required(run.override({"recovery.restart_min": 0}), FIELD, 0.92)
    assert other.value is not None
    assert other.best_ettr == pytest.approx(need.blocker.ettr, abs=2e-3)


def test_it_is_solvable_only_with_spares_and_repair(run, llama3):
    assert FIELD in plan.solvable(run)
    assert FIELD not in plan.solvable(llama3)
    with pytest.raises(InputError, match="the scenario has no spares, so there is no spares.n_nodes to solve for"):
        plan.required(llama3, FIELD, 0.9)
    with pytest.raises(UnknownName, match="field to solve for 'spares.nodes'"):
        plan.required(run, "spares.nodes", 0.9)


def test_another_seed_gives_another_ettr_and_nearly_the_same_pool(run):
    pool = spares.least_pool(run, 0.9, seed=1)
    assert pool.n_spares in (11, 12, 13)
    assert pool.ettr == simulate(run.override({FIELD: pool.n_spares}), 400, 1).ettr != ettr_with(pool.n_spares)
