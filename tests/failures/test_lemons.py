"""Lemons against scipy and plain counting, and what only looks like them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from ettr.failures.lemons import find_lemons
from ettr.failures.outages import find_outages
from ettr.failures.repeats import repeat_risk
from simulated_logs import simulate_log

NODES, WINDOW_H = 400, 350 * 24.0


def look(log, **options):
    return find_lemons(log["start_h"], log["node"], WINDOW_H, NODES, **options)


def halves(first, second):
    """Times and nodes with these counts in the two halves of 100 h."""
    node = np.concatenate([np.repeat(np.arange(len(first)), first), np.repeat(np.arange(len(second)), second)])
    return np.repeat([20.0, 70.0], [sum(first), sum(second)]), node


counts = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=2, max_size=30)


@given(pairs=counts, healthy=st.integers(0, 20))
@settings(max_examples=15, deadline=None)
def test_statistics_are_those_of_all_nodes(pairs, healthy):
    """The healthy nodes, which no log names, as zeros in plain formulas."""
    first, second = np.array(pairs).T
    if first.sum() == 0 or second.sum() == 0:
        return
    n_nodes = len(first) + healthy
    lemons = find_lemons(*halves(first, second), 100.0, n_nodes)
    early, late = (np.append(half, np.zeros(healthy)) for half in (first, second))
    both = early + late
    assert lemons.dispersion_index == pytest.approx(both.var(ddof=1) / both.mean(), abs=1e-9)
    if early.std() and late.std():
        assert lemons.rank_correlation == pytest.approx(stats.spearmanr(early, late).statistic, abs=1e-9)
    else:
        assert lemons.rank_correlation is None and lemons.rank_p == 1


@given(pairs=counts, seed=st.integers(0, 100))
@settings(max_examples=10, deadline=None)
def test_the_order_of_nodes_decides_nothing(pairs, seed):
    """Ties at the edge of the worst 5% share its places, so names and order cannot matter."""
    first, second = np.array(pairs).T
    if first.sum() == 0 or second.sum() == 0:
        return
    start, node = halves(first, second)
    moved = np.random.default_rng(seed).permutation(len(node))
    renamed = np.random.default_rng(seed + 1).permutation(len(first))
    original = find_lemons(start, node, 100.0, 45)
    shuffled = find_lemons(start[moved], renamed[node][moved], 100.0, 45)
    for name in ("dispersion_index", "rank_correlation", "worst_share"):
        assert getattr(original, name) == pytest.approx(getattr(shuffled, name), abs=1e-12)


def test_ties_share_the_places_of_the_worst():
    """40 nodes, so two places: one for the node with 3, the other shared by four nodes with 2, one of which fails."""
    first, second = [3, 2, 2, 2, 2, 1], [1, 4, 0, 0, 0, 5]
    lemons = find_lemons(*halves(first, second), 100.0, 40)
    assert lemons.n_worst == 2
    assert lemons.worst_share == pytest.approx((1 + 4 / 4) / 10)
    assert lemons.chance_share == 0.05
    # fewer nodes failed than there are places: the healthy share the one left, and hold 5 of 6 later failures
    lemons = find_lemons(*halves([3, 0], [1, 5]), 100.0, 40)
    assert lemons.worst_share == pytest.approx((1 + 5 / 39) / 6)


# --------------------------------------------------------------------------- p-values


@pytest.mark.parametrize("n_logs", [8, pytest.param(20, marks=pytest.mark.slow)])
@pytest.mark.parametrize("rate", [4.0, 0.3])
def test_chance_alone_is_no_lemon(rate, n_logs):
    """False alarms of logs without lemons: 5% each, and more than these have probability 0.3%."""
    logs = [look(simulate_log(seed, rate_per_1000_node_days=rate)) for seed in range(n_logs)]
    most = stats.binom.isf(3e-3, n_logs, 0.05)
    assert sum(log.overdispersed for log in logs) <= most
    assert sum(log.persistent for log in logs) <= most


def test_lemons_are_found():
    """Twelve nodes of 400 fail ten times as often as the others."""
    lemons = look(simulate_log(1, lemon_share=0.03, lemon_factor=10.0))
    assert lemons.overdispersed and lemons.persistent
    assert lemons.worst_share > 2 * lemons.chance_share


def test_repeats_are_over_dispersed_and_do_not_persist():
    """The worst nodes of the first half are ordinary in the second: re-test after repair, replace nothing."""
    log = simulate_log(2, repeat_probability=0.6, repeat_within_h=20.0)
    lemons = look(log)
    assert lemons.overdispersed and not lemons.persistent
    assert abs(lemons.rank_correlation) < 0.15
    assert repeat_risk(find_outages(log["start_h"], log["end_h"], log["node"], WINDOW_H, NODES)).repairs_fail


def test_the_dense_and_the_sparse_p_value_agree():
    """Six failures expected on each of 150 nodes: chi-square; the same test by redistributing them."""
    rng = np.random.default_rng(0)
    node = np.append(rng.integers(0, 150, 850), rng.integers(0, 15, 50))
    lemons = find_lemons(rng.uniform(0, 100, 900), node, 100.0, 150)
    drawn = rng.multinomial(900, [1 / 150] * 150, 4000)
    share = (drawn.var(axis=1, ddof=1) / 6 >= lemons.dispersion_index).mean()
    assert lemons.dispersion_p == pytest.approx(share, abs=4 * np.sqrt(share / 4000) + 0.002)


def test_the_normal_limit_agrees_with_random_places():
    """Either half on 5,200 failed nodes of 20,000: above the limit by the formula; a shade fewer, by drawing."""
    rng = np.random.default_rng(3)
    worse = rng.integers(0, 20_000, 6400)
    start, node = rng.uniform(0, 100, 12_800), np.append(worse, np.append(rng.integers(0, 20_000, 6250), worse[:150]))
    many = find_lemons(start, node, 100.0, 20_000)
    few = find_lemons(start[:9000], node[:9000], 100.0, 20_000)
    spread = np.sqrt(20_000 - 1)
    assert many.rank_p == pytest.approx(stats.norm.sf(many.rank_correlation * spread), rel=1e-9)
    assert few.rank_p == pytest.approx(stats.norm.sf(few.rank_correlation * spread), abs=0.06)


def test_what_cannot_be_told_is_none():
    lemons = find_lemons([1.0, 2.0, 3.0], ["a", None, "a"], 100.0, 5)  # nothing in the second half
    assert (lemons.n_events, lemons.n_unknown) == (2, 1)
    assert lemons.rank_correlation is None and lemons.worst_share is None
    assert not lemons.persistent
    assert not find_lemons([1.0, 60.0], ["a", "a"], 100.0, 1).overdispersed  # one node is like itself
