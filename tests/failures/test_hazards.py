"""Rates that change: against their integrals, and counts put back."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ettr.failures.hazards import burn_in_count, settled_rate
from ettr.failures.renewal import renewal_count

LLAMA_H, LLAMA_NODES, LLAMA_EVENTS = 54 * 24.0, 2048, 419
SHAPES = (0.2, 0.5, 0.7, 0.95, 1.5, 3.0, 5.0)


def burn_in_rate(t, settled, factor, decay, age):
    return settled * (1 + (factor - 1) * np.exp(-(t + age) / decay))


# --------------------------------------------------------------------------- burn-in


@given(
    t=st.floats(0, 1e4), factor=st.floats(0, 20), decay=st.floats(1, 1e4), age=st.floats(0, 1e4), rate=st.floats(0, 5)
)
@settings(max_examples=40, deadline=None)
def test_the_count_is_the_integral_of_the_rate(t, factor, decay, age, rate):
    nodes, weights = np.polynomial.legendre.leggauss(60)
    edges = np.linspace(0, t, 41)
    at = (edges[:-1, None] + edges[1:, None] + np.diff(edges)[:, None] * nodes) / 2
    integral = (burn_in_rate(at, rate, factor, decay, age) * weights).sum() * t / 80
    assert burn_in_count(t, rate, factor, decay, age) == pytest.approx(integral, rel=1e-8, abs=1e-9)


def test_without_burn_in_the_rate_is_constant():
    assert burn_in_count(np.array([0.0, 7.0]), 0.3, 1.0, 480.0).tolist() == [0.0, 0.3 * 7]


# --------------------------------------------------------------------------- the settled rate


def test_llama3_read_as_new_nodes():
    """419 failures of 2,048 nodes in 54 days: as new nodes of shape 0.7 they settle far below 419 in 54 days."""
    flat = LLAMA_EVENTS / (LLAMA_NODES * LLAMA_H)
    rate = settled_rate(LLAMA_EVENTS, LLAMA_NODES, LLAMA_H, 0.7)
    assert LLAMA_NODES * renewal_count(LLAMA_H, 0.7, 1 / rate) == pytest.approx(LLAMA_EVENTS, rel=1e-6)
    assert rate < 0.4 * flat
    assert settled_rate(LLAMA_EVENTS, LLAMA_NODES, LLAMA_H, 1.0) == pytest.approx(flat, rel=1e-15)


@given(shape=st.sampled_from(SHAPES), log_count=st.floats(-6, 2.5), window=st.floats(1, 1e5))
@settings(max_examples=8, deadline=None)
def test_the_count_comes_back(shape, log_count, window):
    """Between too few failures for any node to fail twice and hundreds a node."""
    count = 10**log_count
    rate = settled_rate(count * 50, 50, window, shape)
    # renewal_count itself moves by up to 1e-4 with the end of its grid
    assert renewal_count(window, shape, 1 / rate) == pytest.approx(count, rel=2e-4)


def test_many_windows_at_once():
    events, window = np.array([0.0, 40.0, 419.0]), np.array([[LLAMA_H], [2 * LLAMA_H]])
    rates = settled_rate(events, 2048, window, 0.7)
    assert rates.shape == (2, 3)
    assert rates[:, 0].tolist() == [0.0, 0.0]
    assert rates[1, 2] == pytest.approx(settled_rate(419, 2048, 2 * LLAMA_H, 0.7), rel=1e-4)
    assert rates[0] == pytest.approx(2 * rates[1], rel=1e-12)  # the same count in twice the time
    assert settled_rate(0, 5, 10.0, 0.7) == 0
