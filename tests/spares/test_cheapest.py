"""The cheapest pool, by brute force."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ettr import Scenario, spares


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


def test_a_scenario_has_a_cheapest_pool_where_the_closed_form_covers_it():
    run = Scenario.load("llama3-405b").override({"spares": {"n_nodes": 0}, "repair": {"manual_h": 24}})
    assert spares.cheapest_pool_for(run) == spares.cheapest_pool(spares.demand(run).in_repair, 2048)
    for changes in (
        {"spares": None, "repair": None},
        {"spares.n_preemptible": 4},
        {"elastic": {"n_replicas": 128, "n_least": 100}},
        {"failures": {"rate_per_1000_node_days": 0}},
        {"recovery.restart_min": 1e6},
    ):
        assert spares.cheapest_pool_for(run.override(changes)) is None
