"""How much of the past is taken: all of it where nothing changes, the last part where the rate does."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ettr.failures.prediction import predict_count
from ettr.failures.recent import recent_past
from simulated_logs import WINDOW_H, starts

MONTH_H = 720.0


def past_of(seed, **rules):
    return recent_past(starts(seed, **rules), WINDOW_H, MONTH_H)


@pytest.mark.parametrize("rules", [{}, {"burst_mean": 3.0}, {"shape": 0.7}], ids=str)
def test_where_nothing_changes_the_whole_is_taken(rules):
    """A part in fewer than one log of ten, and hardly wider than independent failures would ask where they are so."""
    results = [past_of(seed, **rules) for seed in range(40)]
    assert sum(not past.is_whole for past in results) <= 4
    if not rules:
        assert np.mean([past.index for past in results]) < 1.3


@pytest.mark.parametrize("beta", [0.5, 1.8])
def test_where_the_rate_changes_its_last_part_is_taken(beta):
    """The rate at the end of such a log is beta times its mean: the part tells it better than the whole."""
    for seed in range(10):
        past = past_of(seed, trend_beta=beta)
        assert not past.is_whole and past.gain >= 5
        end, whole = beta * 560 / WINDOW_H, starts(seed, trend_beta=beta).size / WINDOW_H
        assert abs(past.n_events / past.window_h - end) < abs(whole - end)


def test_a_forecast_follows_a_change_that_came_long_ago():
    """Twice the rate since a third of the window is left: the month to come has twice the failures, not the mean."""
    rng = np.random.default_rng(0)
    change = WINDOW_H * 2 / 3
    start = np.sort(np.r_[rng.uniform(0, change, 240), rng.uniform(change, WINDOW_H, 240)])
    forecast = predict_count(start, WINDOW_H)
    came = 240 * MONTH_H / (WINDOW_H - change)
    assert forecast.past.share in (0.25, 0.125) and forecast.low < came < forecast.high
    assert abs(forecast.mean - came) < 10 < came - 480 * MONTH_H / WINDOW_H


@given(seed=st.integers(0, 30), k=st.sampled_from([0.25, 8.0]), beta=st.sampled_from([1.0, 1.8]))
@settings(max_examples=15, deadline=None)
def test_the_choice_has_no_unit(seed, k, beta):
    """Below 200 days a block is a day, so the window is long enough in either unit."""
    start = starts(seed, trend_beta=beta)
    base, scaled = (recent_past(start * by, WINDOW_H * by, MONTH_H * by) for by in (1.0, max(k, 1.0)))
    assert (base.share, base.n_events) == (scaled.share, scaled.n_events)
    assert base.index == pytest.approx(scaled.index) and base.gain == pytest.approx(scaled.gain)


def test_few_failures_are_taken_whole():
    past = recent_past(np.linspace(900, 999, 9), 1000.0, 100.0)
    assert past.is_whole and (past.index, past.n_events, past.gain) == (1.0, 9, 0.0)
