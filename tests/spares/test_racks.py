"""Racks: sums by hand, limits, and GPUs that are drawn one by one."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ettr import spares


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
