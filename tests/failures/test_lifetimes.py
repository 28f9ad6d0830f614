"""Lifetimes by hand, survival and Weibull fits against lifelines."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from ettr.failures.lifetimes import fit_lifetimes, kaplan_meier, node_lifetimes
from ettr.failures.outages import find_outages
from simulated_logs import simulate_log

NAN = float("nan")


def lives(seed, n, shape=1.3, censor=1.0):
    """Weibull lifetimes of scale 100, watched for up to ``censor`` times 200 h."""
    rng = np.random.default_rng(seed)
    life, watch = 100 * rng.weibull(shape, n), censor * rng.uniform(0, 200, n)
    return np.minimum(life, watch), life <= watch


# --------------------------------------------------------------------------- lifetimes


def test_lifetimes_by_hand():
    """Node a fails at 10 and 30 h, b at 50 h for good; five nodes never fail in 100 h."""
    log = ([10.0, 30.0, 50.0], [12.0, 40.0, NAN], ["a", "a", "b"], 100.0, 7)
    after = node_lifetimes(find_outages(*log))
    assert after[["node", "duration_h", "observed"]].to_numpy().tolist() == [[0, 18.0, True], [0, 60.0, False]]
    assert node_lifetimes(find_outages([1.0, 5.0], [2.0, 6.0], [None, None], 10.0, 3)).empty  # of unknown nodes


@given(seed=st.integers(0, 1000))
@settings(max_examples=20, deadline=None)
def test_lifetimes_and_outages_fill_the_window(seed):
    log = simulate_log(seed, 20, 50, 40.0, repair_h=20.0)
    columns = (log["start_h"], log["end_h"], log["node"], 1200.0, 20)
    outages = find_outages(*columns)
    out_h = (outages.incidents["end_h"] - outages.incidents["start_h"]).sum()
    after = node_lifetimes(outages)
    since_first_h = (1200.0 - pd.Series(columns[0]).groupby(columns[2]).min()).sum()
    assert after["duration_h"].sum() + out_h == pytest.approx(since_first_h)
    assert out_h >= outages.downtime_h and (after["duration_h"][after["observed"]] > 1 / 6).all()


# --------------------------------------------------------------------------- survival


@pytest.mark.parametrize("ties", [False, True])
def test_survival_is_lifelines_s(ties):
    duration, seen = lives(1, 300)
    duration = np.ceil(duration / 5) * 5 if ties else duration
    ours = kaplan_meier(duration, seen, level=0.9)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from lifelines import KaplanMeierFitter

        theirs = KaplanMeierFitter(alpha=0.1).fit(duration, seen)
    assert ours["survival"].to_numpy() == pytest.approx(theirs.predict(ours["time_h"]).to_numpy(), abs=1e-12)
    inside = ours[(ours["survival"] > 0) & (ours["method"] == "log-log")]
    ends = theirs.confidence_interval_.loc[inside["time_h"]].to_numpy()
    assert inside[["low", "high"]].to_numpy() == pytest.approx(ends, abs=1e-9) and len(inside) > 25


def test_the_ends_of_survival():
    """Down to nothing, where the interval has no low end; and with nobody failed, the exact bound on 2 of 2 units."""
    curve = kaplan_meier([3.0, 1.0, 2.0, 2.0], [True, False, True, True])
    assert curve["survival"].to_numpy() == pytest.approx([1, 1 / 3, 0])
    assert curve["at_risk"].tolist() == [4, 3, 1] and curve["n_events"].tolist() == [0, 2, 1]
    assert curve["method"].tolist() == ["exact", "log-log", "log-log"]
    assert (curve["low"].iloc[-1], curve["high"].iloc[-1]) == (0, curve["high"].iloc[-2])
    curve = kaplan_meier([5.0, 9.0], [False, False])
    columns = ["time_h", "survival", "low", "high", "at_risk"]
    assert curve[columns].to_numpy().tolist() == [[0, 1, pytest.approx(0.025**0.5), 1, 2]]
    assert kaplan_meier([4.0, 5.0], [False, True]).iloc[-1][["survival", "low", "high"]].tolist() == [0, 0, 1]


def test_survival_of_units_that_none_was_lost_of_is_binomial():
    """Every age before the first loss, and of those still watched before the first failure."""
    duration, seen = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]), np.array([True, True, False, True, True, True])
    curve = kaplan_meier(duration, seen, 0.9, [0.5, 1.0, 2.5, 4.0])
    for row, n_failed in zip(curve.itertuples(), (0, 1, 2), strict=False):
        exact = stats.binomtest(6 - n_failed, 6).proportion_ci(0.9)
        assert (row.survival, row.low, row.high) == pytest.approx((1 - n_failed / 6, exact.low, exact.high))
    assert curve["method"].tolist() == ["exact"] * 3 + ["log-log"]
    assert kaplan_meier(duration, ~seen, 0.9, [2.5])["low"].iloc[0] == pytest.approx(0.05 ** (1 / 4))


# --------------------------------------------------------------------------- shape


@pytest.mark.parametrize(("shape", "censor"), [(0.6, 1.0), (1.0, 0.3), (2.5, 5.0)])
def test_the_fit_is_lifelines_s(shape, censor):
    """To four digits, scale, shape and interval."""
    duration, seen = lives(4, 400, shape, censor)
    ours = fit_lifetimes(duration, seen)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from lifelines import WeibullFitter

        theirs = WeibullFitter().fit(duration, seen)
    assert ours.shape == pytest.approx(theirs.rho_, rel=1e-4)
    assert ours.scale_h == pytest.approx(theirs.lambda_, rel=1e-4)
    # lifelines' interval is symmetric around the shape itself, with the same standard error
    error = theirs.summary.loc["rho_", "se(coef)"] / theirs.rho_
    assert np.log(ours.high / ours.low) / 2 / stats.norm.isf(0.025) == pytest.approx(error, rel=1e-3)


def test_the_interval_of_a_shape_holds_it_19_times_in_20():
    """Of 300 fits 285; four standard errors of that are 15."""
    fits = [fit_lifetimes(*lives(seed, 150, 0.7)) for seed in range(300)]
    assert abs(sum(fit.low <= 0.7 <= fit.high for fit in fits) - 285) <= 15


@pytest.mark.parametrize(("shape", "hazard"), [(0.6, "falling"), (1.0, "flat"), (2.0, "rising")])
def test_the_hazard_is_named(shape, hazard):
    fit = fit_lifetimes(*lives(9, 500, shape))
    assert fit.hazard == hazard
    assert fit.mean_h == pytest.approx(stats.weibull_min.mean(fit.shape, scale=fit.scale_h))


def test_too_few_lifetimes_tell_no_shape():
    assert fit_lifetimes([1.0, 2.0, 3.0, 4.0, 9.0], [True] * 4 + [False]) is None
    assert fit_lifetimes([5.0] * 50, [True] * 50) is None
    assert fit_lifetimes([1.0, 2.0, 3.0, 4.0, 9.0], [True] * 5) is not None
