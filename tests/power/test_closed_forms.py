"""Formulas of smoothing: inverses, limits and published numbers."""

from __future__ import annotations

import numpy as np
import pytest

import power_forms
from ettr import Gpu, power
from ettr.core.errors import InputError


@pytest.mark.parametrize(("trough", "share"), [(0.2, 0.866), (0.45, 0.793), (0.5, 0.768), (0.75, 0.404)])
def test_many_steps_give_the_published_overhead(trough, share):
    assert power.floor_overhead(share, trough, 0.9) == pytest.approx(0.105, abs=5e-4)
    assert power.compute_share_of_overhead(trough, 0.9, 0.105) == pytest.approx(share, abs=5e-4)


def test_the_share_of_an_overhead_is_its_inverse():
    trough, peak = np.linspace(0, 0.8, 40), 0.95
    share = power.compute_share_of_overhead(trough, 0.9, 0.12, peak)
    there = np.isfinite(share)
    assert there.any() and power.floor_overhead(share[there], trough[there], 0.9, peak) == pytest.approx(0.12)
    assert np.isnan(power.compute_share_of_overhead(0.95, 0.9, 0.1)) and np.isnan(
        power.compute_share_of_overhead(0.8, 0.9, 0.5)
    )


def test_a_floor_costs_more_the_higher_it_is_and_nothing_below_the_trough():
    floors = np.linspace(0, 1, 50)
    cost = power.floor_overhead(0.8, 0.5, floors, 0.95)
    assert (np.diff(cost) >= 0).all() and (cost[floors <= 0.5] == 0).all()
    assert power.floor_overhead(0.8, 0.5, 1.0, 1.0) == pytest.approx(0.2 * 0.5 / 0.9)
    assert power.floor_overhead(1.0, 0.5, 0.9) == 0.0  # never waits


def test_gb200_cannot_keep_a_tenth():
    gb200 = Gpu.load("gb200")
    assert power.floor_range(gb200.smoothing.floor, gb200.limits.overshoot) == pytest.approx(0.2)


def test_stored_energy_of_published_swings():
    assert power_forms.square_storage_j(910.0, 0.34, 0.7) == pytest.approx(65.0, rel=0.01)
    assert power_forms.square_storage_j(910.0, 1.0, 0.7) == pytest.approx(191.1)
    # a sinusoid's half wave, integrated
    t = np.linspace(0, 0.5, 100_001)
    half = np.trapezoid(455.0 * np.sin(2 * np.pi * t), t)
    assert power_forms.sinusoid_storage_j(910.0, 1.0) == pytest.approx(half, rel=1e-6)


def test_a_filter_lets_the_slow_through_and_not_the_fast():
    assert power_forms.filter_gain(0.0, 5.0) == 1.0 and power_forms.filter_gain(1e6, 1.0) < 1e-6
    assert power_forms.filter_gain(0.5, 12.1 / np.pi) == pytest.approx(0.06 / 0.73, rel=0.01)  # of a capacitor's rack
    taus = np.geomspace(1e-3, 1e3, 30)
    left = power_forms.square_swing_left(0.7, 1.0, taus)
    assert left[0] == pytest.approx(1.0) and (np.diff(left) <= 0).all()
    assert left[-1] == pytest.approx(0.7 * 0.3 / taus[-1], rel=1e-3)  # the ramp of a long filter


def test_jitter_leaves_slow_harmonics():
    still = power_forms.harmonic_amplitude(np.array([1, 3]), 0.5, 1.0)
    assert power_forms.harmonic_amplitude(np.array([1, 3]), 0.5, 1.0, 1.0, 0.05) / still == pytest.approx(
        [0.952, 0.641], abs=1e-3
    )


def test_parseval():
    d, m = 0.3, np.arange(1, 200_000)
    assert (power_forms.harmonic_amplitude(m, d, 2.0) ** 2).sum() / 2 == pytest.approx(4 * d * (1 - d), rel=1e-4)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: power.floor_overhead(1.2, 0.5, 0.9), "compute_share must be <= 1"),
        (lambda: power.floor_overhead(0.5, 0.95, 0.9, 0.9), "trough must be <= peak"),
        (lambda: power.floor_overhead(0.0, 0.0, 0.9), "must take some energy"),
        (lambda: power.compute_share_of_overhead(0.5, 0.95, 0.1, 0.9), "floor must be <= peak"),
        (lambda: power.floor_range(0.9, 0.0), "overshoot must be > 0"),
    ],
)
def test_nonsense_is_refused(call, message):
    with pytest.raises(InputError, match=message):
        call()
