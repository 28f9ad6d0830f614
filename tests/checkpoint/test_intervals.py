"""Checkpoint intervals and run times against printed values, brute force, many digits and a simulation."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import optimize

from ettr import checkpoint
from ettr.checkpoint import (
    availability_interval,
    daly_first_order_interval,
    daly_interval,
    exact_interval,
    expected_runtime,
    young_interval,
)
from ettr.core.errors import OutsideValidity
from ettr.core.validity import ValidityWarning

MIN = 1 / 60
DUMP, RESTART = 5 * MIN, 10 * MIN  # Daly (2006), figures 3 to 5
RULES = [young_interval, daly_interval, exact_interval, availability_interval, daly_first_order_interval]
stalls, mttfs = st.floats(1e-6, 10), st.floats(1e-3, 1e6)


# --------------------------------------------------------------------------- worked values


@pytest.mark.parametrize(
    ("mttf_h", "printed", "young", "first_order", "higher_order", "exact"),
    [(24.0, 117, 120.0, 115.42, 116.69, 116.69), (6.0, 57, 60.0, 55.83, 56.71, 56.71)],
)
def test_daly_2006(mttf_h, printed, young, first_order, higher_order, exact):
    """Dump 5 min, restart 10 min: Daly (2006) prints 117 min at 24 h and 57 min at 6 h as the true optima."""
    half_a_digit = 0.005
    assert round(exact_interval(DUMP, mttf_h) / MIN) == round(daly_interval(DUMP, mttf_h) / MIN) == printed
    assert young_interval(DUMP, mttf_h) / MIN == pytest.approx(young, abs=half_a_digit)
    assert daly_first_order_interval(DUMP, mttf_h, RESTART) / MIN == pytest.approx(first_order, abs=half_a_digit)
    assert daly_interval(DUMP, mttf_h) / MIN == pytest.approx(higher_order, abs=half_a_digit)
    assert exact_interval(DUMP, mttf_h) / MIN == pytest.approx(exact, abs=half_a_digit)


def test_availability_takes_the_save_off_the_published_cycle():
    """Saxena et al. (2024): T_c = T_s + sqrt(2 (T_f + T_r) T_s + T_s^2) is the whole cycle, save included."""
    cycle = DUMP + math.sqrt(2 * (24 + RESTART) * DUMP + DUMP**2)
    assert availability_interval(DUMP, 24.0, RESTART) == pytest.approx(cycle - DUMP, rel=1e-12)


@pytest.mark.parametrize(("mttf_h", "expected_h"), [(24.0, 547.88), (6.0, 610.22)])
def test_expected_runtime_of_500_hours(mttf_h, expected_h):
    """Daly's 500 h of work at the optimum; recomputed from his equation, and by 50-digit arithmetic here."""
    tau = exact_interval(DUMP, mttf_h)
    runtime_h = expected_runtime(500.0, tau, DUMP, mttf_h, RESTART)
    assert runtime_h == pytest.approx(expected_h, abs=0.005)
    with mpmath.workdps(50):
        m = mpmath.mpf(mttf_h)
        exact = m * mpmath.exp(RESTART / m) * mpmath.expm1((mpmath.mpf(tau) + DUMP) / m) * 500 / tau
        assert runtime_h == pytest.approx(float(exact), rel=1e-13)


@pytest.mark.parametrize(("mttf_h", "downtime_h"), [(2.0, 0.4), pytest.param(6.0, 0.0, marks=pytest.mark.slow)])
def test_expected_runtime_is_what_a_simulation_takes(mttf_h, downtime_h):
    """Segments of work and stall; a failure in them or in a restart starts a restart over. No formula used."""
    rng, tau, stall, restart, n_segments, n_runs = np.random.default_rng(3), 1.0, 0.1, 0.3, 10, 4000
    totals = np.zeros(n_runs)
    for run in range(n_runs):
        left, total, recovering = n_segments, 0.0, False
        while left:
            need = tau + stall + (restart if recovering else 0.0)
            survived = rng.exponential(mttf_h)
            total += min(need, survived)
            recovering = survived < need
            if recovering:
                total += downtime_h
            else:
                left -= 1
        totals[run] = total
    expected = expected_runtime(n_segments * tau, tau, stall, mttf_h, restart, downtime_h)
    assert expected == pytest.approx(totals.mean(), abs=4 * totals.std() / math.sqrt(n_runs))


# --------------------------------------------------------------------------- the exact optimum


@pytest.mark.parametrize(("stall_h", "mttf_h"), [(DUMP, 6.0), (2.0, 0.5), (1e-4, 1e4)])
def test_exact_interval_is_the_minimum_by_brute_force(stall_h, mttf_h):
    """Search the run time itself; its flat minimum is found to the square root of the float's precision."""
    optimum = optimize.minimize_scalar(
        lambda log_tau: math.log(math.expm1((math.exp(log_tau) + stall_h) / mttf_h) / math.exp(log_tau)),
        bounds=(math.log(stall_h / 100), math.log(mttf_h * 3)),
        method="bounded",
        options={"xatol": 1e-10},
    )
    assert exact_interval(stall_h, mttf_h) == pytest.approx(math.exp(optimum.x), rel=1e-6)


@pytest.mark.parametrize("ratio", [1e-14, 1e-9, 1e-4, 0.01, 0.03, 0.1, 1.0, 1e3])
def test_exact_interval_has_full_precision_at_every_ratio(ratio):
    """Against the Lambert function with 50 digits, where the same formula in floats loses half of them."""
    mttf_h = 3.05
    with mpmath.workdps(50):
        stall = mpmath.mpf(ratio * mttf_h)
        exact = mttf_h * (1 + mpmath.lambertw(-mpmath.exp(-1 - stall / mpmath.mpf(mttf_h))))
        assert exact_interval(float(stall), mttf_h) == pytest.approx(float(exact.real), rel=1e-13)


def test_exact_interval_with_a_background_write_by_brute_force():
    """The methods' total: e^{λ(1-s)p} (e^{λ(τ+w+sp)} - 1) / τ, for τ >= (1-s) p."""
    stall, mttf = 0.05, 2.0
    for persist, slowdown in ((0.2, 0.3), (0.9, 0.1), (0.0, 0.5)):
        grid = np.linspace(max((1 - slowdown) * persist, 1e-3), 4, 400_001)
        cost = np.expm1((grid + stall + slowdown * persist) / mttf) / grid
        interval_h = exact_interval(stall, mttf, persist, slowdown)
        assert interval_h == pytest.approx(grid[cost.argmin()], abs=1e-5)
    # the write binds: no interval is shorter than the training done during it
    assert exact_interval(stall, mttf, 0.9, 0.1) == pytest.approx(0.81, rel=1e-15)


@given(stall=stalls, mttf=mttfs)
@settings(max_examples=80)
def test_the_rules_come_in_order(stall, mttf):
    """Exact < Young < Availability; Daly's expansion leaves out 8/135 share² M and less (fitted: 0.0586 to 0.0615)."""
    young, exact = young_interval(stall, mttf), exact_interval(stall, mttf)
    available = availability_interval(stall, mttf), availability_interval(stall, mttf, 1.0)
    assert 0 < exact <= mttf * (1 + 1e-12)
    assert exact <= young <= available[0] <= available[1]
    assert (exact < young < available[0] < available[1]) or mttf > 1e3  # one rounds to the next where they meet
    if stall < 2 * mttf:
        share = stall / (2 * mttf)
        assert abs(daly_interval(stall, mttf) - exact) <= 0.062 * mttf * share**2 + 1e-12 * young


@given(stall=stalls, mttf=mttfs, k=st.floats(1e-3, 1e3))
@settings(max_examples=15)
@pytest.mark.parametrize("rule", RULES)
def test_an_interval_scales_with_its_times(rule, stall, mttf, k):
    assume(rule is not daly_first_order_interval or stall < 1.9 * mttf)
    assert rule(k * stall, k * mttf) == pytest.approx(k * rule(stall, mttf), rel=1e-9)


@pytest.mark.parametrize("rule", RULES)
def test_an_interval_grows_with_the_stall_and_the_time_to_failure(rule):
    grid = np.geomspace(1e-6, 0.4, 60)
    assert (np.diff(rule(grid, 1.0)) > 0).all()
    assert (np.diff(rule(1.0, 1 / grid[::-1])) > 0).all()


@pytest.mark.parametrize("rule", RULES)
def test_small_stalls_and_rare_failures_lead_to_young(rule):
    for stall, mttf in ((1e-12, 1.0), (1.0, 1e12)):
        assert rule(stall, mttf) == pytest.approx(young_interval(stall, mttf), rel=1e-5)


@pytest.mark.parametrize("rule", RULES)
def test_a_free_checkpoint_is_taken_always_and_a_costly_one_never_without_failures(rule):
    assert rule(0.0, 5.0) == 0
    assert rule(0.0, math.inf) == 0
    assert rule(0.1, math.inf) == math.inf
    assert rule(np.array([0.0, 0.1]), math.inf).tolist() == [0.0, math.inf]


def test_long_stalls():
    assert exact_interval(50.0, 1.0) == pytest.approx(1.0, rel=1e-15)  # never above the time to failure
    assert daly_interval(2.0, 1.0) == 1.0 == daly_interval(50.0, 1.0)  # Daly (2006): M for w >= 2M


@given(
    stall=st.floats(0, 1),
    mttf=st.floats(0.3, 1e4),
    tau=st.floats(0.01, 3),
    restart=st.floats(0, 1),
    down=st.floats(0, 1),
)
@settings(max_examples=40)
def test_a_run_takes_at_least_its_work_and_stalls(stall, mttf, tau, restart, down):
    total_h = expected_runtime(10.0, tau, stall, mttf, restart, down)
    assert total_h >= 10 * (1 + stall / tau) * (1 - 1e-12)
    assert total_h <= expected_runtime(10.0, tau, stall, mttf / 1.5, restart, down)
    assert expected_runtime(10.0, exact_interval(stall, mttf) or tau, stall, mttf, restart, down) <= total_h * (
        1 + 1e-9
    )


# --------------------------------------------------------------------------- limits


def test_a_run_without_failures_takes_its_work_and_stalls_and_any_run_grows_with_its_work():
    assert expected_runtime(10.0, 2.0, 0.5, math.inf, 1.0, 1.0) == pytest.approx(12.5)
    assert expected_runtime(20.0, 2.0, 0.1, 5.0, 0.2) == pytest.approx(2 * expected_runtime(10.0, 2.0, 0.1, 5.0, 0.2))


def test_outside_validity_a_scalar_raises_and_an_array_warns_once_with_the_count():
    with pytest.raises(OutsideValidity) as caught:
        daly_first_order_interval(3.0, 1.0, 0.5)
    assert str(caught.value) == "daly_first_order_interval holds only for stall_h < 2 (mttf_h + restart_h)"
    with pytest.warns(ValidityWarning) as caught:
        intervals_h = daly_first_order_interval(np.array([0.1, 3.0, 4.0]), 1.0, 0.5)
    assert [str(warning.message) for warning in caught] == [
        "daly_first_order_interval holds only for stall_h < 2 (mttf_h + restart_h): 2 of 3 points are NaN"
    ]
    assert np.isnan(intervals_h).tolist() == [False, True, True]


def test_a_run_that_never_ends_is_outside_validity():
    with pytest.raises(OutsideValidity, match="runs whose expected time does not overflow"):
        expected_runtime(10.0, 1.0, 0.1, 1e-3, 0.1)
    with pytest.warns(ValidityWarning, match="1 of 2 points are NaN"):
        runtime_h = expected_runtime(10.0, 1.0, 0.1, np.array([1.0, 1e-3]), 0.1)
    assert np.isnan(runtime_h).tolist() == [False, True]


def test_growth_and_mean_until_at_their_limits():
    rate = np.array([0.0, 1e-12, 0.5])
    assert checkpoint.growth(rate, 2.0) == pytest.approx([2.0, 2.0, math.expm1(1.0) / 0.5])
    assert checkpoint.mean_until(rate, 2.0) == pytest.approx([2.0, 2.0, -math.expm1(-1.0) / 0.5])
