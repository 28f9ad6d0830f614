"""Intervals of tiers against Young's, a numerical optimiser and every way to share."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy import optimize

from ettr.checkpoint import young_interval
from ettr.checkpoint.tier_intervals import first_order_intervals, first_order_loss

S = 1 / 3600
STALL_H, RATE = np.array([0.1, 5.0, 30.0]) * S, np.array([0.2, 0.05, 0.01])


def test_tiers_in_order_have_young_s_intervals_each():
    """Benoit et al. (2017): sqrt(2 w / λ) a tier, and a loss of the sum of sqrt(2 w λ)."""
    intervals_h = first_order_intervals(STALL_H, RATE)
    assert intervals_h == pytest.approx(young_interval(STALL_H, 1 / RATE), rel=1e-14)
    assert (np.diff(intervals_h) > 0).all()
    assert first_order_loss(intervals_h, STALL_H, RATE) == pytest.approx(np.sqrt(2 * STALL_H * RATE).sum(), rel=1e-14)


@pytest.mark.parametrize("seed", range(4))
def test_the_intervals_are_the_constrained_optimum(seed):
    """SLSQP in the logarithms of the intervals, which may not decrease."""
    rng = np.random.default_rng(seed)
    n_tiers = 2 + seed % 4
    stall, rate = np.exp(rng.normal(0, 1.5, (2, n_tiers)))
    steps = np.diff(np.eye(n_tiers), axis=0)
    best = optimize.minimize(
        lambda x: math.log(first_order_loss(np.exp(x), stall, rate)),
        np.zeros(n_tiers),
        method="SLSQP",
        constraints=[{"type": "ineq", "fun": lambda x: steps @ x, "jac": lambda x: steps}],
        options={"ftol": 1e-14, "maxiter": 500},
    )
    intervals_h = first_order_intervals(stall, rate)
    # a flat minimum: its place is found to the square root of the precision of its value
    assert intervals_h == pytest.approx(np.exp(best.x), rel=1e-4)
    assert first_order_loss(intervals_h, stall, rate) <= math.exp(best.fun) * (1 + 1e-9)


@given(logs=arrays.arrays(float, (2, 4), elements=st.floats(-4, 4)))
@settings(max_examples=40)
def test_no_other_way_to_share_intervals_loses_less(logs):
    """All eight ways to cut four tiers into blocks that share an interval; those in order compete."""
    stall, rate = np.exp(logs)
    intervals_h = first_order_intervals(stall, rate)
    assert (np.diff(intervals_h) >= 0).all()
    losses = []
    for cuts in itertools.product((False, True), repeat=3):
        block = np.concatenate([[0], np.cumsum(cuts)])
        tau = np.sqrt(2 * np.bincount(block, stall) / np.bincount(block, rate))[block]
        if (np.diff(tau) >= 0).all():
            losses.append(first_order_loss(tau, stall, rate))
    assert first_order_loss(intervals_h, stall, rate) == pytest.approx(min(losses), rel=1e-12)


def test_a_tier_that_would_be_slower_than_the_next_shares_its_interval():
    intervals_h = first_order_intervals([10 * S, 10 * S], [0.03, 0.3])
    assert intervals_h.tolist() == [intervals_h[0]] * 2
    assert intervals_h[0] == pytest.approx(young_interval(20 * S, 1 / 0.33), rel=1e-14)
    # the last pulls the middle one down, and both the first
    intervals_h = first_order_intervals([1.0, 3.0, 1.0], [1.0, 1.0, 9.0])
    assert intervals_h == pytest.approx([math.sqrt(2 * 5 / 11)] * 3, rel=1e-14)


@pytest.mark.parametrize("k", [1e-3, 7.0, 1e3])
def test_intervals_scale_with_times_and_the_loss_does_not(k):
    intervals_h = first_order_intervals(STALL_H * k, RATE / k)
    assert intervals_h == pytest.approx(k * first_order_intervals(STALL_H, RATE), rel=1e-12)
    assert first_order_loss(intervals_h, STALL_H * k, RATE / k) == pytest.approx(
        first_order_loss(first_order_intervals(STALL_H, RATE), STALL_H, RATE), rel=1e-12
    )


def test_free_tiers_and_tiers_that_no_failure_needs():
    assert first_order_intervals([0.0, 1.0], [1.0, 0.5]).tolist() == [0.0, 2.0]
    assert first_order_intervals([0.5, 1.0], [1.0, 0.0]).tolist() == [1.0, math.inf]
    # a fast tier that nothing needs costs its stalls with each checkpoint of the next
    assert first_order_intervals([1.0, 1.0], [0.0, 1.0]).tolist() == [2.0, 2.0]
    # a free slow tier is written as often as the one before
    assert first_order_intervals([2.0, 0.0], [0.5, 0.5]).tolist() == [2.0, 2.0]
    assert first_order_intervals([0.0, 0.0], [0.0, 0.0]).tolist() == [0.0, 0.0]
    assert first_order_loss([0.0, 2.0], [0.0, 1.0], [1.0, 0.5]) == 1.0
    assert first_order_loss([1.0, math.inf], [0.5, 1.0], [1.0, 0.0]) == 1.0
    assert first_order_loss([1.0, math.inf], [0.5, 1.0], [1.0, 0.1]) == math.inf


def test_arrays_hold_tiers_on_the_last_axis():
    stall = STALL_H * np.array([[[1.0]], [[50.0]]])
    rate = RATE[::-1] * np.array([[1.0], [2.0], [3.0]])
    intervals_h = first_order_intervals(stall, rate)
    assert intervals_h.shape == (2, 3, 3)
    assert intervals_h[1, 2].tolist() == first_order_intervals(STALL_H * 50, RATE[::-1] * 3).tolist()
    loss = first_order_loss(intervals_h, stall, rate)
    assert loss.shape == (2, 3)
    assert loss[1, 2] == first_order_loss(intervals_h[1, 2], stall[1, 0], rate[2])
    assert isinstance(first_order_loss([1.0], [1.0], [1.0]), float)
    assert first_order_intervals([0.02], [0.25]).tolist() == [young_interval(0.02, 4.0)]  # one tier
