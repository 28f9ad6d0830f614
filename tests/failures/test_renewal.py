"""The renewal function against its power series, its limits, and renewals drawn at random."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from ettr.failures.renewal import renewal_count

RATE = 3.789  # per 1,000 node-days, as 419 failures of 2,048 nodes in 54 days
OTHER_SHAPES = [pytest.param(shape, marks=pytest.mark.slow) for shape in (0.5, 0.95, 1.5)]
EACH_SHAPE = pytest.mark.parametrize("shape", [0.2, 0.7, 3.0, 5.0, *OTHER_SHAPES])


def by_series(t, shape, terms=110):
    """m(t) for mean 1 as a power series in t ** k (Smith and Leadbetter 1963), in sixty digits."""
    with mpmath.workdps(60):
        k = mpmath.mpf(shape)
        x = (mpmath.mpf(t) * mpmath.gamma(1 + 1 / k)) ** k
        ratio = [mpmath.gamma(1 + n * k) / mpmath.factorial(n) for n in range(terms + 1)]
        term = [mpmath.mpf(0)] * (terms + 1)
        for n in range(1, terms + 1):
            term[n] = ratio[n] - sum(ratio[j] * term[n - j] for j in range(1, n))
        return float(sum((-1) ** (n - 1) * term[n] * x**n / mpmath.gamma(1 + n * k) for n in range(1, terms + 1)))


def variation(shape):
    """Squared coefficient of variation of a lifetime."""
    return math.gamma(1 + 2 / shape) / math.gamma(1 + 1 / shape) ** 2 - 1


@EACH_SHAPE
def test_the_count_is_its_power_series(shape):
    times = np.array([1e-3, 0.1, 0.8, 1.6])
    assert renewal_count(times, shape, 1.0) == pytest.approx([by_series(t, shape) for t in times], rel=1e-4)


@pytest.mark.parametrize("shape", [0.7, 3.0, 5.0, *OTHER_SHAPES])
def test_an_old_node_fails_at_the_settled_rate(shape):
    """m(t) tends to t / mean + (c^2 - 1) / 2."""
    assert renewal_count(2000.0, shape, 1.0) == pytest.approx(2000 + (variation(shape) - 1) / 2, rel=1e-5)


@EACH_SHAPE
def test_at_first_no_node_fails_twice(shape):
    """m(t) is F(t) [1 + O(F)]."""
    scale = 1 / math.gamma(1 + 1 / shape)
    for t in stats.weibull_min.ppf([1e-12, 1e-5], shape, scale=scale):
        first = stats.weibull_min.cdf(t, shape, scale=scale)
        assert renewal_count(t, shape, 1.0) == pytest.approx(first, rel=1e-4)


@pytest.mark.parametrize("shape", [0.5, 2.0])
def test_the_count_is_what_nodes_do(shape):
    rng = np.random.default_rng(0)
    ends = np.cumsum(rng.weibull(shape, (5000, 60)) / math.gamma(1 + 1 / shape), axis=1)
    for t in (0.05, 0.5, 2.0):
        drawn = (ends <= t).sum(axis=1)
        assert renewal_count(t, shape, 1.0) == pytest.approx(drawn.mean(), abs=4 * drawn.std() / math.sqrt(len(drawn)))


def test_new_nodes_at_llama3_s_rate():
    """2,048 nodes for 54 days: 846 failures if all were new and their shape is 0.7; 419 if memoryless, or settled."""
    mean_h = 24_000 / RATE
    assert 2048 * renewal_count(54 * 24, 0.7, mean_h) == pytest.approx(846, abs=0.5)
    assert 2048 * renewal_count(54 * 24, 1.0, mean_h) == pytest.approx(419, abs=0.5)
    old = 2048 * (renewal_count(10_054 * 24, 0.7, mean_h) - renewal_count(10_000 * 24, 0.7, mean_h))
    assert old == pytest.approx(419, rel=0.005)


@given(
    shape=st.floats(0.4, 5.0),
    times=st.lists(st.floats(0, 50), min_size=1, max_size=6),
    mean=st.floats(1e-2, 1e5),
)
@settings(max_examples=6, deadline=None)
def test_the_count_grows_and_has_no_unit(shape, times, mean):
    times = np.sort(times)
    count = renewal_count(times, shape, 1.0)
    assert (count >= 0).all() and (np.diff(count) >= -1e-9).all()
    # between the first failure alone and Lorden's bound (1970), t / mean + c^2
    assert (count >= stats.weibull_min.cdf(times, shape, scale=1 / math.gamma(1 + 1 / shape)) - 1e-6).all()
    assert (count <= times + variation(shape) + 1e-3).all()
    assert renewal_count(times * mean, shape, mean) == pytest.approx(count, rel=1e-3, abs=1e-9)


def test_shapes_near_one_are_near_memoryless():
    times = np.array([0.0, 0.3, 7.0])
    assert renewal_count(times, 1.0, 2.0).tolist() == [0, 0.15, 3.5]
    for shape in (0.9999, 1.0001):
        assert renewal_count(times, shape, 2.0) == pytest.approx(times / 2, rel=1e-3)


def test_scalars_and_shapes():
    assert isinstance(renewal_count(3.0, 0.7, 2.0), float)
    assert renewal_count(0.0, 0.7, 2.0) == 0
    assert renewal_count([[1.0, 0.0], [2.0, 3.0]], 0.7, 2.0).shape == (2, 2)
    assert renewal_count([], 0.7, 2.0).shape == (0,)
