"""Erlang's formulas against their recursion and the states of the queue."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ettr import spares
from repair_chains import chances


def recursion(n_servers: int, offered: float) -> float:
    """1/B by the recursion in n, which is stable."""
    inverse = 1.0
    for k in range(1, n_servers + 1):
        inverse = 1 + inverse * k / offered
    return 1 / inverse


@pytest.mark.parametrize("offered", [1e-3, 7.76, 2500.0, 1e6])
@pytest.mark.parametrize("n_servers", [0, 1, 18, 3000])
def test_erlang_b_follows_its_recursion_from_far_below_the_load_to_far_above(n_servers, offered):
    # the recursion underflows together with the answer, to 0
    assert spares.erlang_b(n_servers, offered) == pytest.approx(recursion(n_servers, offered), rel=2e-9, abs=1e-300)


@settings(max_examples=40)
@given(st.integers(0, 400), st.floats(1e-3, 1e4))
def test_more_servers_turn_fewer_away(n_servers, offered):
    first, second = spares.erlang_b([n_servers, n_servers + 1], offered)
    assert 0 <= second <= first <= 1
    assert second < first or first == 0


def test_a_load_of_nothing_is_never_turned_away_unless_there_is_no_server():
    assert spares.erlang_b([0, 1, 50], 0.0).tolist() == [1.0, 0.0, 0.0]


@pytest.mark.parametrize(("n_servers", "offered"), [(10, 7.76), (1, 0.6)])
def test_erlang_c_is_the_chance_that_all_servers_are_busy(n_servers, offered):
    assert spares.erlang_c(n_servers, offered) == pytest.approx(chances(offered, n_servers, 100)[n_servers:].sum())


@pytest.mark.parametrize("level", [0.05, 0.9, 0.999999])
@pytest.mark.parametrize(("n_crew", "offered"), [(8, 7.76), (30, 7.76), (1, 0.2)])
def test_the_pool_of_a_crew_is_the_least_that_reaches_the_level(level, n_crew, offered):
    n_spares = int(spares.crew_pool(offered, n_crew, level))
    # each state of the chain over the one before, up to where the rest is rounding
    weights = np.cumprod([1.0, *(offered / np.minimum(np.arange(1, 3000), n_crew))])
    at_most = np.cumsum(weights / weights.sum())
    assert at_most[n_spares] >= level
    assert n_spares == 0 or at_most[n_spares - 1] < level
    # many crews are as good as one for each node
    assert spares.crew_pool(offered, 200, level) == spares.poisson_pool(offered, level)
