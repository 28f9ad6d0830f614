"""Pools: the cheapest, the least, those that are enough for a share of the time, and racks."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from ettr import Scenario, spares
from ettr.core.errors import InputError
from ettr.spares.simulated import smallest


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


@given(answer=st.integers(0, 10**9), guess=st.integers(0, 10**9))
def test_it_is_found_from_any_guess(answer, guess):
    tried = []

    def enough(number):
        tried.append(number)
        return number >= answer

    assert smallest(enough, guess, 10**10) == answer
    assert min(tried) >= 0 and len(tried) == len(set(tried))
    assert len(tried) <= 4 + 2 * abs(answer - guess).bit_length()


@given(most=st.integers(0, 1000), guess=st.integers(0, 1000))
def test_what_is_known_to_be_enough_is_not_asked(most, guess):
    assert smallest(lambda number: False, min(guess, most - 1) if most else 0, most) == most or most == 0


@given(st.floats(1e-6, 1e5), st.floats(0.01, 0.99999))
def test_a_pool_is_the_least_that_reaches_the_level(in_repair, level):
    n_spares = int(spares.enough_spares(in_repair, level))
    assert stats.poisson.cdf(n_spares, in_repair) >= level * (1 - 1e-12)
    assert n_spares == 0 or stats.poisson.cdf(n_spares - 1, in_repair) < level


@pytest.mark.parametrize("fixed", [True, False])
def test_it_is_enough_for_that_share_of_the_time_whatever_a_repair_takes(fixed):
    """The number of repairs under way at one moment, from failures drawn one by one."""
    random = np.random.default_rng(7)
    rate, repair_h, level, n_moments = 0.3, 24.0, 0.9, 4000
    under_way = np.zeros(n_moments)
    for moment in range(n_moments):
        before = random.uniform(0, 2000, random.poisson(2000 * rate))  # hours before the moment
        lasts = (
            np.full(before.size, repair_h) if fixed else random.lognormal(math.log(repair_h) - 0.5, 1.0, before.size)
        )
        under_way[moment] = (lasts > before).sum()
    n_spares = spares.enough_spares(rate * repair_h, level)
    error = math.sqrt(level * (1 - level) / n_moments)
    assert (under_way < n_spares).mean() - 4 * error < level <= (under_way <= n_spares).mean() + 4 * error


def test_a_rack_of_72_with_8_spares_is_the_sum_of_its_terms():
    n, s, q = 72, 8, 0.01
    by_hand = sum(math.comb(n, k) * q**k * (1 - q) ** (n - k) for k in range(s + 1))
    assert spares.racks_level(1, n - s, s, q) == pytest.approx(by_hand)
    assert spares.racks_level(3, n - s, s, q) == pytest.approx(by_hand**3)


def test_racks_and_pools_are_short_as_often_as_drawn_gpus_are():
    random = np.random.default_rng(5)
    q, n_racks, used, held, moments = 0.01, 8, 64, 2, 4000
    down = random.random((moments, n_racks, used + held)) < q
    in_racks = (down.sum(axis=2) <= held).all(axis=1).mean()
    expected = spares.racks_level(n_racks, used, held, q)
    assert in_racks == pytest.approx(expected, abs=4 * math.sqrt(expected * (1 - expected) / moments))
    # the same GPUs in servers of 8, some of them as a shared pool
    servers = random.random((moments, (n_racks * used + 64) // 8, 8)) < q
    enough = (servers.any(axis=2).sum(axis=1) <= 8).mean()
    expected = spares.domains_level(n_racks * used, 64, 8, q)
    assert enough == pytest.approx(expected, abs=4 * math.sqrt(expected * (1 - expected) / moments))


def test_racks_that_fail_whole_are_beyond_what_spares_in_them_do():
    assert spares.racks_level(10, 64, 8, 0.0, rack_unavailable=0.01) == pytest.approx(0.99**10)


def test_a_pool_of_whole_racks_reaches_less_with_as_many_gpus():
    servers, racks = (spares.domains_level(16_384, 1024, size, 0.0005) for size in (8, 64))
    assert racks < servers


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: spares.cheapest_pool(-1.0, 100), "in_repair must be >= 0"),
        (lambda: spares.cheapest_pool(1.0, 0), "n_nodes must be a whole number from 1"),
        (lambda: spares.cheapest_pool(1e12, 10), "in_repair must be small enough"),
        (lambda: spares.waiting_share(1, 2.0, 0), "n_crew must be a whole number from 1"),
        (lambda: spares.erlang_b(1.5, 2.0), "n_servers must be a whole number"),
        (lambda: spares.erlang_b(np.nan, 1.0), "n_servers must be finite"),
        (lambda: spares.enough_spares(-1.0, 0.9), "in_repair must be >= 0"),
        (lambda: spares.enough_spares(5.0, 1.0), "share must be between 0 and 1, both excluded, got 1"),
        (lambda: spares.racks_level(2, 64, 8, 1.0), "unavailable must be >= 0 and < 1"),
        (lambda: spares.domains_level(64, 8.5, 8, 0.1), "n_spare_gpus must be a whole number"),
    ],
)
def test_what_makes_no_sense_is_refused_in_words(call, message):
    with pytest.raises(InputError, match=message):
        call()
