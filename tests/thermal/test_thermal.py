"""One chip, the slowest of many, and failures by temperature: by hand, in limits, and by integration."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq

from ettr.core.errors import InputError, OutsideValidity
from ettr.core.validity import ValidityWarning
from ettr.thermal import Chip, arrhenius_factor, daily_c, inlet_c, largest_of, largest_of_many, operating_point, speed

H100 = Chip(
    limit_w=700,
    throttle_c=87,
    memory_c=95,
    resistance_k_per_w=0.07,
    memory_resistance_k_per_w=0.08,
    highest_mhz=1980,
    sustained_mhz=1600,
    exponent=2.6,
    leakage_w=90,
    leakage_at_c=74,
    leakage_rise_k=36,
)


def leakage_w(die_c, rise_k=36.0):
    """Leakage of the H100 at a die temperature, 90 W at 74 °C. [W]"""
    return 90 * np.exp((die_c - 74) / rise_k)


@pytest.mark.parametrize(
    ("warming_k", "rise_k", "lost_pct"),
    [(5, 36, 0.68), (8, 36, 1.15), (10, 36, 1.48), pytest.param(8, 20 / np.log(2), 1.47, id="doubles in 20 K")],
)
def test_what_a_warmer_die_costs_at_the_power_limit(warming_k, rise_k, lost_pct):
    """A calibration worked by hand: 90 W of 700 leak, e-fold in 36 K, exponent 2.6, 80% of a step compute."""
    chip = replace(H100, leakage_rise_k=rise_k)
    cool, warm = operating_point(25.0, chip), operating_point(25.0 + warming_k, chip)
    assert (cool.die_c, warm.die_c) == (74, 74 + warming_k)
    lost = 1 - speed(warm.clock_mhz, cool.clock_mhz, 0.8)
    assert 100 * lost == pytest.approx(lost_pct, abs=0.01)


@settings(max_examples=40)
@given(inlet=st.floats(-10, 60))
def test_every_limit_is_kept_and_the_clock_could_not_be_higher(inlet):
    point = operating_point(inlet, H100)
    tight = {
        "clock": (point.clock_mhz, 1980),
        "power": (point.power_w, 700),
        "heat": (point.die_c, 87),
        "memory": (point.memory_c, 95),
    }
    assert all(value <= limit * (1 + 1e-9) for value, limit in tight.values())
    value, limit = tight[point.limited_by]
    assert value == pytest.approx(limit)
    dynamic = (700 - 90) / 1600**2.6 * point.clock_mhz**2.6
    assert dynamic + leakage_w(point.die_c) == pytest.approx(point.power_w)


def test_a_cool_chip_runs_at_its_highest_clock_and_draws_what_a_root_finder_says():
    cool = replace(H100, sustained_mhz=1960, resistance_k_per_w=0.03, memory_resistance_k_per_w=0)
    point = operating_point(10.0, cool)
    full = (700 - 90) / 1960**2.6 * 1980**2.6

    def too_much(power):
        return full + leakage_w(10 + 0.03 * power) - power

    assert point.limited_by == "clock" and point.power_w < 700
    assert point.power_w == pytest.approx(brentq(too_much, 0, 700), rel=1e-12)


def test_without_leakage_temperature_costs_nothing_until_the_part_throttles():
    chip = replace(H100, leakage_w=0.0, memory_resistance_k_per_w=0)
    inlets = np.array([10.0, 25.0, 38.0])
    assert np.ptp(operating_point(inlets, chip).clock_mhz) == 0
    assert operating_point(40.0, chip).limited_by == "heat"


@settings(max_examples=40)
@given(inlet=st.floats(0, 55), more=st.floats(0.1, 5), factor=st.floats(0.8, 1.2))
def test_a_warmer_inlet_or_a_worse_heat_sink_never_speeds_up(inlet, more, factor):
    here = operating_point(inlet, H100, factor)
    assert operating_point(inlet + more, H100, factor).clock_mhz <= here.clock_mhz * (1 + 1e-12)
    assert operating_point(inlet, H100, factor * 1.01).clock_mhz <= here.clock_mhz * (1 + 1e-12)


@settings(max_examples=25)
@given(inlet=st.floats(0, 50), rise=st.floats(4, 30), factor=st.floats(0.8, 1.3))
def test_leakage_that_runs_away_leaves_the_highest_clock_that_a_search_finds(inlet, rise, factor):
    """More power computes less where another watt leaks away by more than itself."""
    chip = replace(H100, leakage_rise_k=rise, highest_mhz=3000)
    powers = np.linspace(0, 700, 200_001)
    die = inlet + 0.07 * factor * powers
    memory = inlet + 0.08 * factor * powers
    dynamic = np.where((die <= 87) & (memory <= 95), powers - leakage_w(die, rise), -np.inf)
    if dynamic.max() < 5:
        return
    clock = min(3000.0, 1600 * (dynamic.max() / 610) ** (1 / 2.6))
    assert operating_point(inlet, chip, factor).clock_mhz == pytest.approx(clock, rel=1e-4)


def test_arrays_broadcast_and_agree_with_single_values():
    inlets, factors = np.array([[10.0], [30.0], [45.0]]), np.array([1.0, 1.2])
    points = operating_point(inlets, H100, factors)
    assert points.clock_mhz.shape == points.limited_by.shape == (3, 2)
    for i in range(3):
        for j in range(2):
            point = operating_point(float(inlets[i, 0]), H100, float(factors[j]))
            assert (point.clock_mhz, point.limited_by) == (points.clock_mhz[i, j], points.limited_by[i, j])
            assert isinstance(point.clock_mhz, float) and isinstance(point.limited_by, str)


def test_an_inlet_too_warm_to_compute_is_refused_alone_and_marked_in_an_array():
    with pytest.raises(OutsideValidity, match="an inlet that leaves power to compute with"):
        operating_point(86.0, H100)
    with pytest.warns(ValidityWarning, match="1 of 2 points are NaN"):
        points = operating_point(np.array([25.0, 86.0]), H100)
    assert np.isnan(points.clock_mhz).tolist() == [False, True]
    assert np.isnan(points.die_c).tolist() == [False, True]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: operating_point(-273, H100), "inlet_c must be from -60 to 150 °C, got -273"),
        (lambda: operating_point("warm", H100), "inlet_c must be a number"),
        (lambda: speed(0.0, 1.0, 0.5), "clock must be > 0 MHz and finite, got 0"),
        (lambda: speed(1.0, 1.0, 1.5), "compute_share must be <= 1, got 1.5"),
        (lambda: replace(H100, leakage_w=800), "leakage_w must be < 700 W"),
        (lambda: arrhenius_factor(500, 60, 0.7), "die_c must be from -60 to 150 °C, got 500"),
        (lambda: arrhenius_factor(60, float("nan"), 0.7), "reference_c must be from -60 to 150 °C"),
        (lambda: arrhenius_factor(60, 60, -1), "energy_ev must be >= 0 eV"),
    ],
)
def test_what_cannot_be_is_refused(call, message):
    with pytest.raises(InputError) as caught:
        call()
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("die_c", "reference_c", "energy_ev", "factor", "digits"),
    [
        (100, 60, 1.2, 88.29574588, 1e-6),  # the reliability library's worked value
        *[(70, 60, 0.3, 1.36, 0.005), (70, 60, 0.7, 2.035, 0.005), (70, 60, 1.2, 3.38, 0.005)],
        (65, 55, 0.66, 2, 0.01),  # a doubling in ten degrees is two thirds of an electronvolt
    ],
)
def test_worked_values_of_arrhenius(die_c, reference_c, energy_ev, factor, digits):
    assert arrhenius_factor(die_c, reference_c, energy_ev) == pytest.approx(factor, abs=digits)


def test_nothing_changes_at_the_reference_nor_without_energy():
    assert arrhenius_factor(60, 60, 1.2) == arrhenius_factor(90, 60, 0) == 1


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
        with pytest.raises(InputError, match="ambient_c must be from -90 to 60|chiller_c must be >= 18"):
            inlet_c(ambient, 3, 18, most)
