"""The slowest of many, against known values and draws."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ettr.core.errors import InputError
from ettr.thermal import daily_c, inlet_c, largest_of, largest_of_many


@pytest.mark.parametrize(("n", "expected"), [(1, 0.0), (2, 1 / np.sqrt(np.pi)), (3, 1.5 / np.sqrt(np.pi))])
def test_the_largest_of_a_few_has_a_closed_form(n, expected):
    assert largest_of(n) == pytest.approx(expected, abs=1e-9)


def test_the_largest_of_many_is_that_of_draws():
    draws = np.random.default_rng(1).standard_normal((4000, 1024)).max(axis=1)
    assert largest_of(1024) == pytest.approx(draws.mean(), abs=4 * draws.std() / np.sqrt(draws.size))
    assert np.all(np.diff(largest_of(np.array([8, 64, 512, 4096, 16384, 1_000_000]))) > 0)


@settings(max_examples=30)
@given(st.integers(1, 10**9))
def test_the_quick_largest_of_many_is_the_slow_one(n):
    assert largest_of_many(float(n)) == pytest.approx(largest_of(n), abs=1e-8)


def test_the_quick_largest_of_many_is_smooth():
    more = np.diff(largest_of_many(np.arange(1.0, 5000.0)))
    assert np.all(more > 0) and np.all(np.diff(more) < 0)
    assert np.shape(largest_of_many(np.ones((2, 3)))) == (2, 3)


@pytest.mark.parametrize(
    ("function", "n"), [(largest_of, 0), (largest_of_many, 0.99), (largest_of_many, 1.1e9), (largest_of_many, np.nan)]
)
def test_so_many_there_must_be(function, n):
    with pytest.raises(InputError, match=r"n must be from 1 to 1e\+09"):
        function(n)


def test_the_day_has_its_mean_and_its_hottest_hour():
    hours = np.arange(24)
    day = daily_c(hours, 20.0, 8.0)
    assert day.mean() == pytest.approx(20) and hours[day.argmax()] == 15 and day.max() == 28
    assert daily_c(39, 20, 8) == daily_c(15, 20, 8)


def test_an_inlet_follows_the_air_between_its_set_point_and_its_chiller():
    assert inlet_c(np.array([-10.0, 20.0, 40.0]), 3, 18, 27).tolist() == [18, 23, 27]
    for ambient, most in ((70, 27), (20, 10)):
        with pytest.raises(InputError, match="ambient_c must be from -90 to 60|most_c must be >= 18"):
            inlet_c(ambient, 3, 18, most)
