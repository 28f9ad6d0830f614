"""Rates that change: against their integrals, the power series of the renewal density, and counts put back."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate

from ettr.core.errors import InputError
from ettr.failures.hazards import FIRST_STRETCH, burn_in_count, burn_in_rate, fleet_rate_per_h, settled_rate
from ettr.failures.renewal import renewal_count

LLAMA_H, LLAMA_NODES, LLAMA_EVENTS = 54 * 24.0, 2048, 419
SHAPES = (0.2, 0.5, 0.7, 0.95, 1.5, 3.0, 5.0)


def density_by_series(t, shape, terms=110):
    """m'(t) for mean 1: the power series of Smith and Leadbetter (1963), term by term, in sixty digits."""
    with mpmath.workdps(60):
        k = mpmath.mpf(shape)
        x = (mpmath.mpf(t) * mpmath.gamma(1 + 1 / k)) ** k
        ratio = [mpmath.gamma(1 + n * k) / mpmath.factorial(n) for n in range(terms + 1)]
        term = [mpmath.mpf(0)] * (terms + 1)
        for n in range(1, terms + 1):
            term[n] = ratio[n] - sum(ratio[j] * term[n - j] for j in range(1, n))
        slope = sum((-1) ** (n - 1) * n * term[n] * x**n / mpmath.gamma(1 + n * k) for n in range(1, terms + 1))
        return float(slope * k / mpmath.mpf(t))


# --------------------------------------------------------------------------- burn-in


def test_a_fleet_begins_at_the_factor_and_settles():
    assert burn_in_rate(0.0, 0.3, 5.0, 480.0) == pytest.approx(1.5, rel=1e-15)
    assert burn_in_rate(480.0, 0.3, 5.0, 480.0) == pytest.approx(0.3 * (1 + 4 / math.e), rel=1e-15)
    assert burn_in_rate(1e6, 0.3, 5.0, 480.0) == 0.3
    assert burn_in_rate(0.0, 0.3, 0.0, 480.0) == 0  # a rate that grows instead


@given(
    t=st.floats(0, 1e4), factor=st.floats(0, 20), decay=st.floats(1, 1e4), age=st.floats(0, 1e4), rate=st.floats(0, 5)
)
@settings(max_examples=60, deadline=None)
def test_the_count_is_the_integral_of_the_rate(t, factor, decay, age, rate):
    nodes, weights = np.polynomial.legendre.leggauss(60)
    edges = np.linspace(0, t, 41)
    at = (edges[:-1, None] + edges[1:, None] + np.diff(edges)[:, None] * nodes) / 2
    integral = (burn_in_rate(at, rate, factor, decay, age) * weights).sum() * t / 80
    assert burn_in_count(t, rate, factor, decay, age) == pytest.approx(integral, rel=1e-8, abs=1e-9)


def test_an_older_fleet_goes_on_where_a_new_one_has_got_to():
    times = np.array([0.0, 10.0, 1000.0])
    assert burn_in_rate(times, 0.3, 5.0, 480.0, 200.0) == pytest.approx(burn_in_rate(times + 200, 0.3, 5.0, 480.0))
    whole = burn_in_count(times + 200, 0.3, 5.0, 480.0)
    assert burn_in_count(times, 0.3, 5.0, 480.0, 200.0) == pytest.approx(
        whole - burn_in_count(200.0, 0.3, 5.0, 480.0), rel=1e-12
    )


def test_without_burn_in_the_rate_is_constant():
    assert burn_in_rate(np.array([0.0, 7.0]), 0.3, 1.0, 480.0).tolist() == [0.3, 0.3]
    assert burn_in_count(np.array([0.0, 7.0]), 0.3, 1.0, 480.0).tolist() == [0.0, 0.3 * 7]


# --------------------------------------------------------------------------- nodes that start new


@pytest.mark.parametrize("shape", SHAPES)
def test_the_rate_is_the_power_series_of_the_density(shape):
    times = np.array([1.1e-4, 1e-3, 0.013, 0.1, 0.4, 0.8, 1.1, 1.6])
    expected = [density_by_series(t, shape) for t in times]
    # the docstring's bounds on the error
    assert fleet_rate_per_h(times, 1, 1.0, shape) == pytest.approx(expected, rel=2e-3 if shape > 3 else 1e-3)


@pytest.mark.parametrize("shape", [0.5, 0.7, 3.0])
def test_the_integral_of_the_rate_is_the_expected_count(shape):
    mean_h = 5000.0
    for until in (FIRST_STRETCH, 0.01, 1.0, 12.0):
        edges = np.geomspace(FIRST_STRETCH, until, 2001) if until > FIRST_STRETCH else np.array([FIRST_STRETCH])
        rates = fleet_rate_per_h(edges * mean_h, 300, 1 / mean_h, shape)
        later = float(integrate.simpson(rates * edges, x=np.log(edges))) * mean_h if edges.size > 1 else 0.0
        first = fleet_rate_per_h(0.0, 300, 1 / mean_h, shape) * FIRST_STRETCH * mean_h
        expected = 300 * renewal_count(until * mean_h, shape, mean_h)
        assert first + later == pytest.approx(expected, rel=3e-4)


@pytest.mark.parametrize("shape", SHAPES[1:])
def test_every_fleet_settles(shape):
    assert fleet_rate_per_h(3000.0, 2048, 1.0, shape) == pytest.approx(2048, rel=1e-3)


def test_shape_one_has_no_memory():
    rates = fleet_rate_per_h(np.array([0.0, 1.0, 1e6]), 2048, 1e-4, 1.0)
    assert rates == pytest.approx(0.2048, rel=1e-15)
    # beyond the first moments shapes near one are near it
    assert fleet_rate_per_h(np.array([1.0, 1e6]), 2048, 1e-4, 0.9999) == pytest.approx(0.2048, rel=2e-3)


@given(shape=st.sampled_from(SHAPES), ages=st.lists(st.floats(0, 60), min_size=1, max_size=5), k=st.floats(1e-3, 1e3))
@settings(max_examples=30, deadline=None)
def test_the_rate_has_no_unit_and_does_not_depend_on_the_other_points(shape, ages, k):
    ages = np.array(ages)
    rates = fleet_rate_per_h(ages, 7, 1.0, shape)
    assert (rates >= 0).all() and np.isfinite(rates).all()
    assert fleet_rate_per_h(ages * k, 7, 1 / k, shape) * k == pytest.approx(rates, rel=1e-6)
    # a longer table is the same function within its own error
    assert [fleet_rate_per_h(age, 7, 1.0, shape) for age in ages] == pytest.approx(rates, rel=2e-3)


def test_young_fleets_fall_below_shape_one_and_rise_above():
    times = np.array([0.0, 0.01, 0.1, 0.5])
    assert (np.diff(fleet_rate_per_h(times, 1, 1.0, 0.7)) < 0).all()
    assert (np.diff(fleet_rate_per_h(times, 1, 1.0, 3.0)) > 0).all()
    assert fleet_rate_per_h(0.0, 1, 0.0, 0.7) == 0 == fleet_rate_per_h(1.0, 0, 1.0, 0.7)


def test_arrays_broadcast():
    rates = fleet_rate_per_h(np.array([0.0, 10.0]), np.array([[1.0], [2.0], [4.0]]), 0.01, 0.7)
    assert rates.shape == (3, 2)
    assert rates[2, 1] == fleet_rate_per_h(10.0, 4, 0.01, 0.7)
    assert isinstance(fleet_rate_per_h(1, 1, 1, 1.0), float) and isinstance(burn_in_rate(1, 1, 1, 1), float)
    assert fleet_rate_per_h(np.array([]), 4, 0.01, 0.7).shape == (0,)


# --------------------------------------------------------------------------- the settled rate


def test_llama3_read_as_new_nodes():
    """419 failures of 2,048 nodes in 54 days: as new nodes of shape 0.7 they settle far below 419 in 54 days."""
    flat = LLAMA_EVENTS / (LLAMA_NODES * LLAMA_H)
    assert LLAMA_NODES * renewal_count(LLAMA_H, 0.7, 1 / flat) == pytest.approx(846, abs=0.5)
    rate = settled_rate(LLAMA_EVENTS, LLAMA_NODES, LLAMA_H, 0.7)
    assert LLAMA_NODES * renewal_count(LLAMA_H, 0.7, 1 / rate) == pytest.approx(LLAMA_EVENTS, rel=1e-6)
    assert rate < 0.4 * flat
    assert settled_rate(LLAMA_EVENTS, LLAMA_NODES, LLAMA_H, 1.0) == pytest.approx(flat, rel=1e-15)


@given(shape=st.sampled_from(SHAPES), log_count=st.floats(-6, 2.5), window=st.floats(1, 1e5))
@settings(max_examples=30, deadline=None)
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


# --------------------------------------------------------------------------- bad input

BAD = {
    "t_h must be >= 0 h and finite, got -1": lambda: burn_in_rate(-1, 1, 1, 1),
    "decay_h must be > 0 h and finite, got 0": lambda: burn_in_rate(1, 1, 1, 0),
    "factor must be >= 0 and finite, got -2": lambda: burn_in_count(1, 1, -2, 1),
    "age_h must be >= 0 h and finite, got nan": lambda: burn_in_count(1, 1, 2, 1, math.nan),
    "settled_rate must be >= 0 and finite, got inf": lambda: burn_in_rate(1, math.inf, 1, 1),
    "settled_rate_per_h must be >= 0 1/h and finite, got -1": lambda: burn_in_count(1, -1, 1, 1),
    "node_rate_per_h must be >= 0 1/h and finite, got -1": lambda: fleet_rate_per_h(1, 1, -1, 0.7),
    "n_nodes must be >= 0 and finite, got -1": lambda: fleet_rate_per_h(1, -1, 1, 0.7),
    "shape must be between 0.2 and 5, got 0.1": lambda: fleet_rate_per_h(1, 1, 1, 0.1),
    "shape must be between 0.2 and 5, got 9": lambda: settled_rate(0, 1, 1, 9),
    "shape must be between 0.2 and 5, got nan": lambda: settled_rate(1, 1, 1, math.nan),
    "n_events must be >= 0 and finite, got -1": lambda: settled_rate(-1, 1, 1, 0.7),
    "n_nodes must be > 0 and finite, got 0": lambda: settled_rate(1, 0, 1, 0.7),
    "window_h must be > 0 h and finite, got 0": lambda: settled_rate(1, 1, 0, 0.7),
}


@pytest.mark.parametrize("message", BAD)
def test_bad_input_is_refused(message):
    with pytest.raises(InputError) as caught:
        BAD[message]()
    assert str(caught.value) == message
