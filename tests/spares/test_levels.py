"""Pools by service level, against chance."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from ettr import spares


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
