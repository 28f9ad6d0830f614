"""Gaps between failures: merging, fits against two other libraries, and verdicts on logs whose rules are known."""

from __future__ import annotations

import math
import warnings

import mpmath
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from ettr.failures import gaps as g
from simulated_logs import WINDOW_H, starts


def weibull_log(seed: int, n: int, shape: float, open_h: float) -> tuple[np.ndarray, float]:
    """A log whose last gap is open since ``open_h``."""
    start = np.cumsum(10 * np.random.default_rng(seed).weibull(shape, n + 1))
    return start, float(start[-1] + open_h)


def quick(start, window_h, *args, **options) -> g.GapFit:
    return g.fit_gaps(start, window_h, *args, draws=19, **options)


# --------------------------------------------------------------------------- merging


def test_merging_nothing_keeps_even_equal_times():
    assert g.merge_starts([1.0, 1.0, 2.0], 0.0).tolist() == [1, 1, 2]
    assert g.merge_starts([1.0, 1.0, 2.0], 0.1).tolist() == [1, 2]
    assert g.merge_starts([], 1.0).size == 0 and g.merge_starts([], 0.0).size == 0


@given(times=st.lists(st.integers(0, 200), max_size=60), within=st.integers(1, 30))
@settings(max_examples=50, deadline=None)
def test_merging_is_what_a_clerk_would_do(times, within):
    expected: list[int] = []
    for time in sorted(times):
        if not expected or time > expected[-1] + within:
            expected.append(time)
    merged = g.merge_starts(np.sort(times), within)
    assert merged.tolist() == expected
    assert g.merge_starts(merged, within).tolist() == expected


def test_merged_memoryless_failures_stay_memoryless():
    """From start to start the same gaps look regular: none can be shorter than the window."""
    rng = np.random.default_rng(8)
    start = np.cumsum(rng.exponential(3.0, 3000))
    fit = quick(start, start[-1] + 1, 60.0)
    assert fit.weibull_low < 1 < fit.weibull_high and fit.memoryless_p > 0.05
    naive = np.diff(g.merge_starts(start, 1.0))
    naive_shape = 1 / stats.gumbel_l.fit(np.log(naive))[1]
    assert naive_shape > 1.15 > fit.weibull_high
    assert fit.mean_gap_h == pytest.approx(naive.mean() - 1)


# --------------------------------------------------------------------------- fits


def test_the_exponential_is_events_over_time():
    start, window = weibull_log(1, 50, 1.0, 25.0)
    row = quick(start, window).table.set_index("distribution").loc["exponential"]
    total = window - start[0]
    assert row["scale_h"] == pytest.approx(total / 50, rel=1e-6)
    assert row["log_likelihood"] == pytest.approx(-50 * math.log(total / 50) - 50)
    assert row["scale_high_h"] / row["scale_h"] == pytest.approx(math.exp(1.959964 / math.sqrt(50)), rel=1e-4)
    assert (row["shape"], row["shape_low"], row["shape_high"]) == (1, 1, 1)
    assert row["aic"] == pytest.approx(2 - 2 * row["log_likelihood"])


@pytest.mark.parametrize(("shape", "open_h"), [(0.7, 60.0), (1.0, 0.0), (2.5, 8.0)])
def test_censored_fits_agree_with_lifelines(shape, open_h):
    start, window = weibull_log(2, 300, shape, open_h)
    table = quick(start, window).table.set_index("distribution")
    times, seen = np.append(np.diff(start), max(open_h, 1e-12)), np.append(np.ones(300), 0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from lifelines import LogNormalFitter, WeibullFitter

        weibull, lognormal = WeibullFitter().fit(times, seen), LogNormalFitter().fit(times, seen)
        error = weibull.summary.loc["rho_", "se(coef)"] / weibull.rho_
    ours = table.loc["weibull"]
    assert [ours["shape"], ours["scale_h"]] == pytest.approx([weibull.rho_, weibull.lambda_], rel=1e-4)
    assert ours["log_likelihood"] == pytest.approx(weibull.log_likelihood_, rel=1e-7)
    assert math.log(ours["shape_high"] / ours["shape"]) == pytest.approx(1.959964 * error, rel=1e-3)
    assert ours["shape"] ** 2 == pytest.approx(ours["shape_low"] * ours["shape_high"])
    theirs = [lognormal.sigma_, math.exp(lognormal.mu_)]
    assert table.loc["lognormal", ["shape", "scale_h"]].tolist() == pytest.approx(theirs, rel=1e-4)


def test_gaps_below_the_resolution_are_left_censored():
    """Equal stamps of a quarter of an hour: known to be less than half a step apart. lifelines takes bounds."""
    start, window = weibull_log(3, 400, 0.7, 5.0)
    stamped, step = np.floor(start * 4) / 4, 0.25
    fit = quick(stamped, window, resolution_h=step)
    gaps = np.append(np.diff(stamped), window - stamped[-1])
    zero = gaps == 0
    assert zero.sum() > 10
    low, high = np.where(zero, 0.0, gaps), np.where(zero, step / 2, gaps)
    high[-1] = np.inf
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from lifelines import WeibullFitter

        theirs = WeibullFitter().fit_interval_censoring(low, high)
    assert [fit.weibull_shape] == pytest.approx([theirs.rho_], rel=1e-3)
    assert fit.table.set_index("distribution").loc["weibull", "scale_h"] == pytest.approx(theirs.lambda_, rel=1e-3)


def test_the_gamma_fit_solves_its_equations():
    """The score of the censored likelihood is zero, in another library's digits; with none open, it is SciPy's root."""
    start, window = weibull_log(4, 80, 0.8, 20.0)
    row = quick(start, window).table.set_index("distribution").loc["gamma"]
    gaps = np.diff(start)
    n, logs, total = gaps.size, float(np.log(gaps).sum()), float(gaps.sum())

    def log_likelihood(shape, scale):
        closed = (shape - 1) * logs - total / scale - n * (mpmath.loggamma(shape) + shape * mpmath.log(scale))
        return closed + mpmath.log(mpmath.gammainc(shape, 20 / scale, regularized=True))

    best = mpmath.findroot(
        lambda k, s: [mpmath.diff(log_likelihood, (k, s), order) for order in ((1, 0), (0, 1))],
        (row["shape"] * 1.05, row["scale_h"] * 0.95),
    )
    assert [row["shape"], row["scale_h"]] == pytest.approx([float(best[0]), float(best[1])], rel=1e-5)
    assert row["log_likelihood"] == pytest.approx(float(log_likelihood(*best)))
    closed = quick(start, start[-1]).table.set_index("distribution").loc["gamma"]
    shape, _, scale = stats.gamma.fit(gaps, floc=0)
    assert [closed["shape"], closed["scale_h"]] == pytest.approx([shape, scale], rel=1e-5)


def test_the_right_family_has_the_lowest_aic():
    rng = np.random.default_rng(9)
    drawn = {
        "exponential": rng.exponential(5, 2000),
        "weibull": rng.weibull(0.6, 2000),
        "gamma": rng.gamma(0.4, 5, 2000),
        "lognormal": rng.lognormal(1, 1.2, 2000),
    }
    for name, gaps in drawn.items():
        start = np.cumsum(gaps)
        fit = quick(start, start[-1])
        rows = fit.table.set_index("distribution")
        assert rows["delta_aic"].min() == 0 and rows.loc[name, "delta_aic"] < 4
        assert fit.best == rows["aic"].idxmin()
        assert rows.loc[name, "ks_p"] > 0.05
    assert fit.best == "lognormal" and rows.loc["exponential", "ks_p"] == 0.05  # the least that 19 draws can say


def test_the_distance_is_kolmogorov_smirnovs():
    start, window = weibull_log(5, 150, 0.7, 0.0)
    gaps = np.diff(start)
    rows = quick(start, window).table.set_index("distribution")
    shape, _, scale = stats.gamma.fit(gaps, floc=0)
    location, spread = stats.gumbel_l.fit(np.log(gaps))
    expected = {
        "exponential": stats.expon(scale=gaps.mean()),
        "weibull": stats.weibull_min(1 / spread, scale=math.exp(location)),
        "gamma": stats.gamma(shape, scale=scale),
        "lognormal": stats.lognorm(np.log(gaps).std(), scale=math.exp(np.log(gaps).mean())),
    }
    for name, fitted in expected.items():
        assert rows.loc[name, "ks"] == pytest.approx(stats.kstest(gaps, fitted.cdf).statistic)


@pytest.mark.parametrize("n_logs", [20, pytest.param(60, marks=pytest.mark.slow)])
def test_bootstrap_probabilities_are_fair(n_logs):
    """For gaps of the family itself they spread evenly; a table for known parameters would put nearly all near 1."""
    p, tabled = [], []
    for seed in range(n_logs):
        start, window = weibull_log(seed, 60, 0.8, 0.0)
        row = quick(start, window, seed=seed).table.set_index("distribution").loc["weibull"]
        p.append(row["ks_p"])
        tabled.append(stats.kstwo.sf(row["ks"], 60))
    assert np.mean(p) == pytest.approx(0.525, abs=4 / math.sqrt(12 * n_logs))
    assert np.mean(tabled) > 0.75


@given(k=st.floats(0.01, 100))
@settings(max_examples=5, deadline=None)
def test_a_fit_scales_with_its_unit(k):
    start, window = weibull_log(6, 40, 0.7, 3.0)
    base, scaled = quick(start, window), quick(start * k, window * k)
    for column in ("shape", "shape_low", "shape_high", "ks", "ks_p", "delta_aic"):
        assert scaled.table[column].tolist() == pytest.approx(base.table[column].tolist(), rel=1e-4, abs=1e-4)
    assert (scaled.table["scale_h"] / k).tolist() == pytest.approx(base.table["scale_h"].tolist(), rel=1e-5)
    assert scaled.memoryless_p == pytest.approx(base.memoryless_p, rel=1e-4)


def test_moments_of_gaps():
    fit = quick([0.0, 1.0, 3.0, 6.0, 10.0, 15.0, 21.0], 21.0)
    assert (fit.n_incidents, fit.n_gaps, fit.mean_gap_h) == (7, 6, 3.5)
    assert fit.cv == pytest.approx(math.sqrt(3.5) / 3.5)


# --------------------------------------------------------------------------- verdicts


@pytest.mark.parametrize(("n_logs", "n_others"), [(8, 1), pytest.param(30, 3, marks=pytest.mark.slow)])
def test_memoryless_logs_pass_and_others_fail(n_logs, n_others):
    """Alarms of memoryless logs: 5%, and more than these have a probability below 0.1%."""
    alarms = [g.fit_gaps(starts(seed), WINDOW_H, draws=99).memoryless_p < 0.05 for seed in range(n_logs)]
    assert sum(alarms) <= stats.binom.isf(1e-3, n_logs, 0.05)
    for seed in range(n_others):
        bunched, regular = (g.fit_gaps(starts(seed, shape=k), WINDOW_H, draws=99) for k in (0.7, 1.5))
        assert max(bunched.memoryless_p, regular.memoryless_p) < 0.05
        assert bunched.weibull_high < 1 < regular.weibull_low


@pytest.mark.parametrize("n_logs", [8, pytest.param(25, marks=pytest.mark.slow)])
@pytest.mark.parametrize("within_min", [0.0, 60.0, 150.0])
def test_coarse_stamps_do_not_bend_a_shape(within_min, n_logs):
    """A step of a tenth of the mean gap; mean shape of memoryless logs."""
    step = 1.5
    fits = [quick(np.floor(starts(s) / step) * step, WINDOW_H, within_min, resolution_h=step) for s in range(n_logs)]
    shapes = [fit.weibull_shape for fit in fits]
    assert np.mean(shapes) == pytest.approx(1, abs=0.008 + 4 * np.std(shapes) / math.sqrt(n_logs))
    assert not any(fit.too_coarse for fit in fits)


def test_days_are_too_coarse_for_gaps_of_hours():
    fit = quick(np.floor(starts(1) / 24) * 24, WINDOW_H, resolution_h=24.0)
    assert fit.too_coarse
    assert not quick(starts(1), WINDOW_H, resolution_h=2.0).too_coarse


# --------------------------------------------------------------------------- limits


@pytest.mark.parametrize("start", [[], [3.0], [1.0, 2.0, 4.0], np.arange(30.0), np.arange(30) * 1.1, [2.0] * 20])
def test_too_few_gaps_give_a_reason(start):
    fit = g.fit_gaps(start, 40.0)
    assert fit.table.empty and "takes at least 5" in fit.reason
    assert fit.best is fit.weibull_shape is fit.weibull_low is fit.memoryless_p is None
    assert list(fit.table.columns) == list(quick(np.cumsum(range(8)), 40.0).table.columns)
    assert (fit.n_incidents, fit.n_gaps) == (len(start), max(0, len(start) - 1))
    assert (fit.mean_gap_h is None) == (len(start) < 2)


def test_five_distinct_gaps_are_enough():
    fit = quick([0.0, 1.0, 3.0, 6.0, 10.0, 15.0], 16.0)
    assert not fit.reason and len(fit.table) == 4 and not fit.table.isna().any(axis=None)


def test_a_seed_decides_the_draws_and_nothing_else():
    start, window = weibull_log(8, 60, 1.0, 2.0)
    first, same, other = (g.fit_gaps(start, window, seed=seed).table for seed in (1, 1, 2))
    pd.testing.assert_frame_equal(first, same)
    assert first["ks_p"].tolist() != other["ks_p"].tolist()
    pd.testing.assert_frame_equal(first.drop(columns="ks_p"), other.drop(columns="ks_p"))
