"""Pools by service level, against sums by hand and chance."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from ettr import spares


@settings(max_examples=40)
@given(st.integers(1, 3000), st.floats(0, 0.4), st.floats(0.01, 0.99999))
def test_the_binomial_pool_is_the_least_that_reaches_the_level(n_nodes, unavailable, level):
    n_spares = int(spares.binomial_pool(n_nodes, unavailable, level))
    assert spares.pool_level(n_nodes, n_spares, unavailable) >= level
    assert n_spares == 0 or spares.pool_level(n_nodes, n_spares - 1, unavailable) < level


def test_a_small_pool_is_the_sum_of_its_terms():
    n, s, u = 6, 2, 0.1
    by_hand = sum(math.comb(n + s, k) * u**k * (1 - u) ** (n + s - k) for k in range(s + 1))
    assert spares.pool_level(n, s, u) == pytest.approx(by_hand)


@pytest.mark.parametrize("fixed", [True, False])
def test_the_poisson_pool_is_the_least_that_reaches_the_level_whatever_a_repair_takes(fixed):
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
    n_spares = spares.poisson_pool(rate * repair_h, level)
    error = math.sqrt(level * (1 - level) / n_moments)
    assert (under_way < n_spares).mean() - 4 * error < level <= (under_way <= n_spares).mean() + 4 * error


def test_binomial_and_poisson_agree_for_rare_failures_and_differ_for_small_jobs_that_are_often_in_repair():
    u = 24.0 / (24 * 1000 / 3.789 + 24.0)
    assert spares.binomial_pool(2048, u, 0.999) == pytest.approx(spares.poisson_pool(2048 * u, 0.999), abs=1)
    # spares fail too, which the flow does not know
    assert spares.binomial_pool(20, 0.3, 0.999) > spares.poisson_pool(20 * 0.3, 0.999)


def test_the_normal_approximation_is_too_low_by_its_next_term():
    a, level = 400.0, 0.999
    z = stats.norm.ppf(level)
    assert spares.poisson_pool(a, level) - spares.normal_pool(a, level) == pytest.approx((z**2 - 1) / 6, abs=1)
    assert spares.normal_pool(0.01, 0.01) == 0


def test_the_share_that_is_held_falls_as_the_job_grows():
    sizes = np.array([16, 128, 1024, 8192, 65_536])
    shares = spares.binomial_pool(sizes, 0.004, 0.999) / sizes
    assert np.all(np.diff(shares) < 0)
    assert shares[-1] == pytest.approx(0.004, rel=0.3)  # in the end only the mean
