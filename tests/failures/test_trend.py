"""Trend tests against printed values, against each other's definitions, and against logs whose trend is known."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from ettr.failures import trend as tr
from ettr.failures.dispersion import local_dispersion
from ettr.failures.rates import poisson_interval
from simulated_logs import WINDOW_H, starts

# NIST/SEMATECH e-Handbook of Statistical Methods, sections 8.2.3.4 and 8.4.5.2: ten repairs of one system in 1500 h
NIST = [5, 40, 43, 175, 389, 712, 747, 795, 1299, 1478]


def test_crow_amsaa_of_the_nist_handbook():
    """The handbook's growth slope is 0.5165 (one minus the unbiased exponent), its chi-square 37.23."""
    growth = tr.crow_amsaa(NIST, 1500.0)
    assert 1 - growth.beta == pytest.approx(0.5165, abs=5e-5)
    assert 2 * 10 / growth.beta_mle == pytest.approx(37.23, abs=5e-3)
    assert growth.p == pytest.approx(2 * stats.chi2.sf(37.228081, 20), rel=1e-6)


def test_a_failure_at_the_origin_sets_the_clock():
    growth = tr.crow_amsaa([0, *NIST], 1500.0)
    assert growth == tr.crow_amsaa(NIST, 1500.0) and growth.n_events == 10


def test_laplace_is_a_mean_against_its_standard_error():
    """Uniform times have mean T/2 and variance T^2/12: here the mean is 568.3 h against 750."""
    test = tr.laplace(NIST, 1500.0)
    assert test.z == pytest.approx((568.3 - 750) / (1500 / math.sqrt(120)))
    assert test.p == pytest.approx(2 * stats.norm.cdf(test.z))


@given(times=st.lists(st.floats(0.01, 0.99), min_size=3, max_size=40, unique=True), k=st.floats(0.01, 1e4))
@settings(max_examples=50, deadline=None)
def test_tests_have_no_unit_and_turn_with_time(times, k):
    start = np.sort(times)
    assert tr.laplace(start * k, k).z == pytest.approx(tr.laplace(start, 1.0).z, abs=1e-9)
    assert tr.laplace((1 - start)[::-1], 1.0).z == pytest.approx(-tr.laplace(start, 1.0).z, abs=1e-9)
    base, scaled = tr.crow_amsaa(start, 1.0), tr.crow_amsaa(start * k, k)
    assert (scaled.beta, scaled.p) == (pytest.approx(base.beta), pytest.approx(base.p, abs=1e-9))
    assert base.low < base.beta_mle < base.high and base.beta < base.beta_mle


def test_an_index_widens_both_tests():
    plain, wide = tr.laplace(NIST, 1500.0), tr.laplace(NIST, 1500.0, index=4.0)
    assert wide.z == pytest.approx(plain.z / 2)
    assert tr.laplace(NIST, 1500.0, index=4.0, dof=5).p == pytest.approx(2 * stats.t.cdf(wide.z, 5))
    assert tr.laplace(NIST, 1500.0, index=0.3) == plain
    narrow, spread = tr.crow_amsaa(NIST, 1500.0), tr.crow_amsaa(NIST, 1500.0, index=2.0)
    assert spread.low < narrow.low and spread.high > narrow.high and spread.p > narrow.p
    assert spread.high == pytest.approx(spread.beta_mle * stats.chi2.isf(0.025, 10) / 10)
    assert tr.crow_amsaa(NIST, 1500.0, index=2.0, dof=5).high > spread.high


def test_the_p_value_and_the_interval_of_beta_agree():
    """At the level 1 - p an end of the interval lies at 1, with or without degrees of freedom."""
    for dof in (None, 13.0):
        p = tr.crow_amsaa(NIST, 1500.0, index=1.5, dof=dof).p
        assert tr.crow_amsaa(NIST, 1500.0, 1 - p, 1.5, dof).high == pytest.approx(1)


@pytest.mark.parametrize("n_logs", [60, pytest.param(200, marks=pytest.mark.slow)])
@pytest.mark.parametrize("beta", [0.7, 1.3])
def test_beta_is_unbiased_and_covered(beta, n_logs):
    fits = [tr.crow_amsaa(starts(seed, trend_beta=beta), WINDOW_H) for seed in range(n_logs)]
    betas = np.array([fit.beta for fit in fits])
    assert betas.mean() == pytest.approx(beta, abs=4 * betas.std() / math.sqrt(n_logs))
    covered = np.mean([fit.low <= beta <= fit.high for fit in fits])
    assert covered == pytest.approx(0.95, abs=4 * math.sqrt(0.95 * 0.05 / n_logs))


def test_bursts_look_like_trends_until_they_are_allowed_for():
    """Steady logs of bursts of three: plain tests call a third of them trending, scaled ones one in twenty."""
    plain = fair = 0
    for seed in range(200):
        start = starts(seed, burst_mean=3.0)
        scatter = local_dispersion(start, WINDOW_H)
        plain += tr.laplace(start, WINDOW_H).p < 0.05
        fair += tr.laplace(start, WINDOW_H, scatter.index, scatter.dof).p < 0.05
    assert plain > 40
    assert fair < 10 + 4 * math.sqrt(200 * 0.05 * 0.95)


# --------------------------------------------------------------------------- rate over time


def test_rate_over_time_counts_every_failure_once():
    start = starts(1)
    rates = tr.rate_over_time(start, WINDOW_H, n_nodes=400)
    assert len(rates) == 24 and rates["n_events"].sum() == start.size
    assert rates["start_h"].tolist()[1:] == rates["end_h"].tolist()[:-1]
    assert rates["rate"].mean() == pytest.approx(start.size / 140)
    low, high = poisson_interval(rates["n_events"][3])
    exposure = 400 * 350 / 24 / 1000
    assert rates.loc[3, ["low", "high"]].tolist() == pytest.approx([low / exposure, high / exposure])


@pytest.mark.parametrize(("n", "bins"), [(0, 6), (100, 6), (200, 10), (5000, 24)])
def test_bins_follow_the_count(n, bins):
    rates = tr.rate_over_time(np.linspace(0, 10, n), 10.0, n_nodes=1)
    assert len(rates) == bins and (rates["high"] > 0).all()


# --------------------------------------------------------------------------- verdicts


@pytest.mark.parametrize(
    ("power", "direction"), [(1 / 1.6, "rising"), (1 / 0.6, "falling"), (1.0, "steady")], ids=["up", "down", "level"]
)
def test_a_smooth_rate_has_its_direction(power, direction):
    trend = tr.find_trend(WINDOW_H * ((np.arange(560) + 0.5) / 560) ** power, WINDOW_H, n_nodes=400)
    assert trend.direction == direction
    assert (trend.laplace.z > 0.5) == (direction == "rising") and len(trend.rates) == 24


def test_a_bad_season_in_the_middle_is_not_a_direction():
    """Three times the rate for a third of the window: neither test sees it, the rate over time does."""
    rng = np.random.default_rng(5)
    start = np.sort(np.r_[rng.uniform(0, WINDOW_H, 300), rng.uniform(WINDOW_H / 3, WINDOW_H * 2 / 3, 200)])
    trend = tr.find_trend(start, WINDOW_H, n_nodes=400)
    assert trend.direction == "not monotone"
    assert min(trend.laplace.p, trend.crow_amsaa.p) > 0.05 and trend.uneven_p < 0.025


def test_tests_that_disagree_give_no_direction():
    """A bad first fortnight, then a slow rise: Crow-AMSAA weighs the first, Laplace the second."""
    rising = WINDOW_H * ((np.arange(500) + 0.5) / 500) ** (1 / 1.5)
    start = np.sort(np.r_[np.linspace(1, 300, 80), rising])
    trend = tr.find_trend(start, WINDOW_H, n_nodes=400)
    assert trend.crow_amsaa.beta < 1 < trend.laplace.z
    assert trend.direction == "not monotone"


@pytest.mark.parametrize("logs", [50, pytest.param(150, marks=pytest.mark.slow)])
@pytest.mark.parametrize("rules", [{}, {"burst_mean": 3.0}, {"shape": 0.7}], ids=["independent", "bursts", "renewal"])
def test_steady_logs_are_called_steady(rules, logs):
    alarms = sum(tr.find_trend(starts(seed, **rules), WINDOW_H, 400).direction != "steady" for seed in range(logs))
    assert alarms <= logs * 0.05 + 4 * math.sqrt(logs * 0.05 * 0.95)


@pytest.mark.parametrize(
    "start", [[], [3.0], np.arange(9.0), [0.0] * 20, [0.0] * 20 + [1.0], [50.0] * 20, [0.0] * 9 + [50.0] * 9]
)
def test_too_few_failures_have_a_rate_but_no_direction(start):
    trend = tr.find_trend(start, 50.0, n_nodes=10)
    assert trend.direction == "unknown" and trend.rates["n_events"].sum() == len(start)
    assert trend.laplace is trend.crow_amsaa is trend.uneven_p is trend.dispersion is None
    assert tr.find_trend(np.arange(10.0), 50.0, n_nodes=10).direction == "falling"


@pytest.mark.parametrize("rules", [{"trend_beta": 1.3}, {"trend_beta": 1.8, "burst_mean": 3.0}], ids=str)
def test_a_rise_is_found_even_among_bursts(rules):
    trends = [tr.find_trend(starts(seed, **rules), WINDOW_H, 400) for seed in range(60)]
    assert np.mean([trend.direction == "rising" for trend in trends]) > 0.9


def test_uneven_counts_are_pearsons_chi_square():
    """The third test is SciPy's, in units of the dispersion between neighbours."""
    start = starts(2)
    counts = tr.rate_over_time(start, WINDOW_H, 400)["n_events"]
    scatter = local_dispersion(start, WINDOW_H)
    trend = tr.find_trend(start, WINDOW_H, 400)
    ratio = stats.chisquare(counts).statistic / 23 / scatter.index
    assert trend.uneven_p == pytest.approx(stats.f.sf(ratio, 23, scatter.dof))
