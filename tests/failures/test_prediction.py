"""Forecasts of failure counts: their distribution by a second road, and their hits on logs whose future is known."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import stats

from ettr.failures import prediction as p
from ettr.failures.dispersion import over_dispersion
from simulated_logs import WINDOW_H, starts


def test_the_poisson_forecast_is_a_poisson_count_of_a_gamma_rate():
    """Draw the rate from its posterior, then the count from the rate: the quantiles are the forecast's ends."""
    forecast = p.predict_count(np.linspace(0, WINDOW_H, 560), WINDOW_H)
    rng = np.random.default_rng(1)
    counts = rng.poisson(rng.gamma(560.5, 30 / 350, 200_000))
    assert forecast.mean == pytest.approx(counts.mean(), abs=4 * counts.std() / math.sqrt(counts.size))
    assert [forecast.poisson_low, forecast.poisson_high] == pytest.approx(np.quantile(counts, [0.025, 0.975]), abs=1)


def test_the_wide_forecast_has_the_variance_that_it_states():
    """A log of bursts: the half-width is t sqrt(index x mean x (1 + h / T)), nearly, for a long horizon."""
    start = starts(3, burst_mean=3.0)
    blocks, forecast = over_dispersion(start, WINDOW_H), p.predict_count(start, WINDOW_H, 150.0)
    assert forecast.past.index == pytest.approx(blocks.index * (stats.t.ppf(0.975, blocks.dof) / 1.959964) ** 2)
    half = 1.959964 * math.sqrt(forecast.past.index * forecast.mean * (1 + 150 / 350))
    assert (forecast.high - forecast.low) / 2 == pytest.approx(half, rel=0.03)


@given(
    times=st.lists(st.floats(0, 1), min_size=0, max_size=60),
    horizon=st.floats(0.01, 5),
    # powers of two scale without rounding, which would move a failure over the edge of a stretch
    k=st.sampled_from([0.125, 0.5, 2.0, 64.0]),
)
@example(times=[0.0, 0.0, 0.0, 0.5, 0.5, 0.5, 0.5, 0.75, 0.875, 0.25], horizon=0.01, k=4.0)
@settings(max_examples=30, deadline=None)
def test_forecasts_have_no_unit_and_hold_the_poisson_ones(times, horizon, k):
    start = np.sort(times) * 240
    forecast = p.predict_count(start, 240.0, horizon * 10)
    scaled = p.predict_count(start * k, 240.0 * k, horizon * 10 * k)
    assert scaled.mean == pytest.approx(forecast.mean) and scaled.past.index == pytest.approx(forecast.past.index)
    if forecast.past.is_whole:
        assert forecast.low <= forecast.poisson_low <= forecast.poisson_high <= forecast.high
    assert 0 <= forecast.low <= math.ceil(forecast.mean) and forecast.past.index >= 1


def test_few_failures_are_forecast_as_poisson():
    for n in (0, 9):
        forecast = p.predict_count(np.linspace(1, 99, n), 100 * 24.0)
        assert (forecast.low, forecast.high, forecast.past.index) == (forecast.poisson_low, forecast.poisson_high, 1)
        assert forecast.mean == pytest.approx((n + 0.5) * 0.3)


@pytest.mark.parametrize(
    ("rules", "poisson_below", "logs"),
    [
        ({"burst_mean": 3.0}, 0.8, 100),
        pytest.param({}, 1.0, 300, marks=pytest.mark.slow),
        pytest.param({"burst_mean": 3.0}, 0.8, 300, marks=pytest.mark.slow),
        pytest.param({"shape": 0.7}, 0.93, 300, marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_forecasts_hold_what_comes(rules, poisson_below, logs):
    hits = poisson_hits = 0
    for seed in range(logs):
        start = starts(seed, days=380.0, **rules)
        past = start[start < WINDOW_H]
        forecast, came = p.predict_count(past, WINDOW_H), start.size - past.size
        hits += forecast.low <= came <= forecast.high
        poisson_hits += forecast.poisson_low <= came <= forecast.poisson_high
    assert hits / logs > 0.95 - 4 * math.sqrt(0.95 * 0.05 / logs)
    assert poisson_hits / logs < poisson_below + 0.001


# --------------------------------------------------------------------------- score


def test_each_row_of_a_score_is_a_forecast_of_the_past_alone():
    start = starts(4, burst_mean=3.0)
    score = p.score_forecasts(start, WINDOW_H)
    row = score.table.iloc[40]
    past = start[start < row["origin_h"]]
    alone = p.predict_count(past, row["origin_h"])
    assert [row["low"], row["high"], row["mean"]] == [alone.low, alone.high, alone.mean]
    assert row["n_events"] == ((start >= row["origin_h"]) & (start < row["origin_h"] + 720)).sum()
    assert score.over_dispersed_coverage == score.table["hit"].mean() > score.poisson_coverage


def test_origins_run_from_a_third_to_a_horizon_before_the_end():
    score = p.score_forecasts(starts(1), WINDOW_H)
    origin = score.table["origin_h"]
    assert origin.iloc[0] == pytest.approx(WINDOW_H / 3)
    assert WINDOW_H - 720 - 42 < origin.iloc[-1] <= WINDOW_H - 720
    assert np.diff(origin) == pytest.approx(WINDOW_H / 200)
    assert score.n_forecasts == len(score.table) == 117 and score.n_independent == 7
    assert score.horizon_d == 30


@pytest.mark.parametrize("days", [0.5, 89.9])
def test_a_short_log_shortens_the_horizon(days):
    score = p.score_forecasts(np.linspace(0, days * 24, 50), days * 24)
    assert score.horizon_d == pytest.approx(days / 6)
    assert score.n_independent == 4 and score.n_forecasts >= 4
    assert (score.table["origin_h"] + score.horizon_d * 24 <= days * 24 + 1e-6).all()


def test_a_change_of_regime_breaks_poisson_forecasts_first():
    """Seven seasons of other rates: what the past scattered, the wide interval allows the future."""
    rng = np.random.default_rng(3)
    seasons = [rng.uniform(i * 1200, (i + 1) * 1200, n) for i, n in enumerate((40, 110, 30, 80, 120, 50, 90))]
    score = p.score_forecasts(np.sort(np.concatenate(seasons)), WINDOW_H)
    assert score.poisson_coverage < 0.6
    assert score.over_dispersed_coverage > 0.8


def test_no_failures_are_forecast_to_go_on():
    score = p.score_forecasts([], 2400.0)
    assert score.poisson_coverage == score.over_dispersed_coverage == 1 and (score.table["n_events"] == 0).all()
