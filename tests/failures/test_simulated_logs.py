"""The drawn logs against what their rules promise, each rule alone."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from simulated_logs import BURST_H, COMPONENTS, WINDOW_H, gap_moments, simulate_log

EXPECTED = 560  # 4 failures per 1,000 node-days on 400 nodes in 350 days


@pytest.fixture(params=[50, pytest.param(200, marks=pytest.mark.slow)])
def logs(request):
    """So many logs of one rule."""
    return lambda **rules: [simulate_log(seed, **rules) for seed in range(request.param)]


def is_mean(values, expected: float, slack: float = 0.0) -> None:
    """Within four standard errors, and what the end of the window takes."""
    values = np.asarray(values, dtype=float)
    error = values.std(ddof=1) / math.sqrt(values.size)
    assert values.mean() == pytest.approx(expected, abs=4 * error + slack * expected)


def test_plain_failures_are_poisson(logs):
    drawn = logs()
    counts = np.array([len(log) for log in drawn])
    is_mean(counts, EXPECTED)
    ratio = counts.var(ddof=1) / counts.mean()
    assert ratio == pytest.approx(1, abs=4 * math.sqrt(2 / (counts.size - 1)))
    log = drawn[0]
    assert log["start_h"].is_monotonic_increasing and log["start_h"].between(0, WINDOW_H).all()
    assert list(log.columns) == ["start_h", "end_h", "node", "component", "cause"]
    assert log["node"].between(0, 399).all()
    assert stats.kstest(np.concatenate([log["start_h"] for log in drawn]) / WINDOW_H, "uniform").pvalue > 1e-4


@pytest.mark.parametrize("shape", [0.5, 2.0])
def test_renewal_gaps_are_weibull_and_stationary(logs, shape):
    """A stationary renewal process expects rate x time from the first hour; a new one of this shape would not."""
    drawn = logs(shape=shape)
    is_mean([len(log) for log in drawn], EXPECTED)
    is_mean([(log["start_h"] < 24).sum() for log in drawn], EXPECTED / 350)
    scale, cv2 = gap_moments(shape, WINDOW_H / EXPECTED)
    gaps = np.concatenate([np.diff(log["start_h"]) for log in drawn[:20]])
    assert stats.kstest(gaps, stats.weibull_min(shape, scale=scale).cdf).pvalue > 1e-3
    assert cv2 == pytest.approx(stats.weibull_min(shape).var() / stats.weibull_min(shape).mean() ** 2)


def test_nodes_are_renewal_processes_of_their_own(logs):
    drawn = logs(node_shape=0.6, rate_per_1000_node_days=20.0, n_nodes=60)
    is_mean([len(log) for log in drawn], 420)
    is_mean([(log["start_h"] < 24).sum() for log in drawn], 420 / 350)
    scale, _ = gap_moments(0.6, WINDOW_H / 7)
    # of a node's first gap after a failure none is too long for the window
    early = [log[log["start_h"] < WINDOW_H / 2] for log in drawn[:20]]
    later = [log.groupby("node")["start_h"].diff(-1).abs()[part.index] for log, part in zip(drawn, early, strict=False)]
    short = pd.concat(later).fillna(np.inf) < WINDOW_H / 2
    assert short.mean() == pytest.approx(stats.weibull_min(0.6, scale=scale).cdf(WINDOW_H / 2), abs=0.02)


def test_bursts_keep_the_rate_and_raise_the_variance(logs):
    drawn = logs(burst_mean=3.0)
    counts = np.array([len(log) for log in drawn])
    is_mean(counts, EXPECTED)
    # a geometric burst of mean m has E[S^2] / E[S] = 2 m - 1
    assert counts.var(ddof=1) / counts.mean() == pytest.approx(5, abs=4 * 5 * math.sqrt(2 / (counts.size - 1)))
    gaps = np.concatenate([np.diff(log["start_h"]) for log in drawn])
    # of three failures two follow another of their incident; a few incidents fall together by chance
    assert (gaps < BURST_H).mean() == pytest.approx(2 / 3, abs=0.01)


@pytest.mark.parametrize("beta", [0.8, 1.3])
def test_a_trend_is_a_power_law(logs, beta):
    drawn = logs(trend_beta=beta)
    is_mean([len(log) for log in drawn], EXPECTED)
    is_mean([(log["start_h"] < WINDOW_H / 2).sum() for log in drawn], EXPECTED * 0.5**beta)


def test_lemons_take_their_share(logs):
    drawn = logs(lemon_share=0.05, lemon_factor=20.0)
    is_mean([len(log) for log in drawn], EXPECTED)
    is_mean([(log["node"] < 20).mean() for log in drawn], 0.05 * 20 / (1 + 0.05 * 19))


def test_repairs_that_do_not_hold(logs):
    """A share q of failures is a repeat of the same node within a day of its repair; the total stays."""
    drawn = logs(repeat_probability=0.3)
    is_mean([len(log) for log in drawn], EXPECTED, slack=0.002)
    repeats = []
    for log in drawn:
        ordered = log.sort_values(["node", "start_h"], kind="stable")
        same = ordered["node"].eq(ordered["node"].shift())
        since = ordered["start_h"] - ordered["end_h"].shift()
        repeats.append((same & since.between(0, 24)).mean())
    is_mean(repeats, 0.3, slack=0.02)  # and a few that return by chance


def test_components_have_their_shares(logs):
    shares = pd.concat(logs())["component"].value_counts(normalize=True)
    assert shares[list(COMPONENTS)].tolist() == pytest.approx(list(COMPONENTS.values()), abs=0.015)


def test_a_seed_is_a_log():
    pd.testing.assert_frame_equal(simulate_log(3), simulate_log(3))
    assert simulate_log(3)["start_h"][0] != simulate_log(4)["start_h"][0]
