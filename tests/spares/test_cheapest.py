"""The cheapest pool: waits against the states of a chain and a simulated job, cost by brute force."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ettr import Scenario, simulate, spares
from repair_chains import chances


def test_at_the_rate_of_llama_3_with_a_repair_of_a_day_17_are_cheapest():
    # 419 failures in 54 days, each a day in repair
    best = spares.cheapest_pool(419 / 54, 2048)
    assert best.n_spares == 17
    assert (best.low, best.high) == (16, 20)
    costs = [(16384 + 8 * s) / (1 - spares.erlang_b(s + 1, 419 / 54)) for s in range(60)]
    assert int(np.argmin(costs)) == 17
    assert best.cost == pytest.approx(min(costs) / 16384)


@settings(max_examples=40, deadline=None)
@given(st.floats(0, 300), st.integers(1, 20_000))
def test_no_other_size_is_cheaper(in_repair, n_nodes):
    best = spares.cheapest_pool(in_repair, n_nodes)
    sizes = np.arange(0, int(in_repair) + 400)
    costs = spares.pool_cost(sizes, in_repair, n_nodes)
    assert best.cost == pytest.approx(costs.min())
    assert best.low <= best.n_spares <= best.high
    assert costs[best.low] <= costs.min() * (1 + 1e-3) * (1 + 1e-12)


def test_a_job_without_failures_holds_no_spares():
    assert spares.cheapest_pool(0.0, 100).n_spares == 0
    assert spares.pool_cost(0, 0.0, 100) == 1
    assert spares.pool_cost(5, 0.0, 512) == pytest.approx(1 + 5 / 512)


def test_a_larger_job_at_the_same_load_holds_more_since_its_waits_cost_more():
    held = [spares.cheapest_pool(7.76, n).n_spares for n in (50, 500, 5000, 50_000)]
    assert held == sorted(held) and held[0] < held[-1]


@pytest.mark.parametrize(("n_crew", "in_repair"), [(3, 2.5), (4, 9.0), (2, 2.0)])
def test_a_job_that_waits_for_crews_has_the_chances_of_its_chain(n_crew, in_repair):
    """Also where crews cannot keep up: the job then runs as fast as they do."""
    for n_spares in (0, 1, 5, 30):
        full = chances(in_repair, n_crew, n_spares + 1)[-1]
        assert spares.waiting_share(n_spares, in_repair, n_crew) == pytest.approx(full, rel=1e-7, abs=1e-12)


def test_the_limits_of_few_and_of_many_crews():
    for n_spares in (0, 20):
        assert spares.waiting_share(n_spares, 7.76, 21) == pytest.approx(spares.waiting_share(n_spares, 7.76))
    assert spares.waiting_share(10_000, 8.0, 4) == pytest.approx(1 - 4 / 8)  # crews that cannot keep up


@pytest.mark.parametrize(
    ("cv", "n_spares"),
    [
        (0.0, 0),
        (1.0, 2),
        *(pytest.param(cv, n, marks=pytest.mark.slow) for cv, n in ((0.0, 2), (0.0, 5), (1.0, 0), (1.0, 5))),
    ],
)
def test_without_detection_and_queue_a_simulated_job_waits_that_long(cv, n_spares):
    """D = q = 0 and no maintenance: there the closed form is exact in the long run, whatever a repair takes."""
    run = long_run(cv).override({"spares.n_nodes": n_spares})
    simulated = simulate(run, 40, 3)
    share = simulated.runs["waiting_h"] / simulated.total_h
    error = share.std(ddof=1) / np.sqrt(len(share))
    # a full pool at the start saves at most one repair time of waiting in all
    start = 24.0 / simulated.total_h.mean()
    expected = spares.waiting_share(n_spares, run.job_rate_per_h * 24)
    assert share.mean() == pytest.approx(expected, abs=4 * error + start)


def test_a_crew_of_a_simulated_job_makes_it_wait_that_long():
    """Exponential repairs would be exact; log-normal ones of the same spread are near."""
    run = long_run(1.0).override({"spares.n_nodes": 5, "repair.n_crew": 4})
    simulated = simulate(run, 40, 3)
    share = float((simulated.runs["waiting_h"] / simulated.total_h).mean())
    assert share == pytest.approx(spares.waiting_share(5, run.job_rate_per_h * 24, 4), rel=0.08)


def long_run(cv: float) -> Scenario:
    return Scenario.of(
        {
            "name": "long",
            "title": "A long run",
            "cluster": {"n_gpus": 4096},
            "job": {"productive_h": 8000, "include_start": False},
            "failures": {"rate_per_1000_node_days": 6.0},
            "checkpoint": {"interval_min": 10, "stall_s": 0},
            "recovery": {"detection_min": 0, "restart_min": 0},
            "spares": {"n_nodes": 0},
            "repair": {"manual_h": 24, "cv": cv},
        }
    )
