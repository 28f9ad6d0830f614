"""How failures scatter: worked counts, what an index must not see, and what its intervals promise."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

from ettr.core.errors import InputError
from ettr.failures import dispersion as d
from ettr.failures.rates import failure_rate, gamma_interval
from simulated_logs import simulate_log

WINDOW_H, NODE_DAYS = 350 * 24.0, 400 * 350.0


def starts(seed: int, **rules) -> np.ndarray:
    return simulate_log(seed, **rules)["start_h"].to_numpy()


def in_blocks(counts) -> np.ndarray:
    """Failures in the middle of blocks of an hour."""
    return np.repeat(np.arange(len(counts)) + 0.5, counts)


def test_the_index_is_variance_over_mean():
    """2, 4, 6, 8: mean 5, variance 20/3; chi-square 4 on 3 degrees of freedom."""
    scatter = d.over_dispersion(in_blocks([2, 4, 6, 8]), 4.0, n_blocks=4)
    assert scatter.index == scatter.measured == pytest.approx(4 / 3)
    assert (scatter.n_blocks, scatter.block_h, scatter.dof) == (4, 1.0, 3.0)
    assert scatter.p == pytest.approx(stats.chisquare([2, 4, 6, 8]).pvalue)


def test_neighbours_see_steps_only():
    """2, 4, 6, 8: three steps of 2, so 12 / (2 x 3 x 5); up and down instead, 8 and 2 by turns, gives 108 / 30."""
    assert d.local_dispersion(in_blocks([2, 4, 6, 8]), 4.0, n_blocks=4).measured == pytest.approx(0.4)
    jumping = d.local_dispersion(in_blocks([8, 2, 8, 2]), 4.0, n_blocks=4)
    assert jumping.index == jumping.measured == pytest.approx(3.6)
    assert jumping.dof == pytest.approx(2 * 9 / 8)


@given(
    counts=st.lists(st.integers(0, 30), min_size=4, max_size=30).filter(lambda c: sum(c) >= 10), k=st.floats(0.01, 100)
)
@settings(max_examples=50, deadline=None)
def test_the_index_has_no_unit_and_no_direction(counts, k):
    start, window = in_blocks(counts), float(len(counts))
    scatter = d.over_dispersion(start, window, len(counts))
    assert scatter.measured == pytest.approx(np.var(counts, ddof=1) / np.mean(counts))
    assert scatter.index == max(1, scatter.measured)
    assert d.over_dispersion(start * k, window * k, len(counts)).measured == pytest.approx(scatter.measured)
    backwards = d.local_dispersion((window - start)[::-1], window, len(counts))
    assert backwards.measured == pytest.approx(d.local_dispersion(start, window, len(counts)).measured)


@pytest.mark.parametrize(
    ("rules", "index"),
    [({}, 1.0), ({"burst_mean": 3.0}, 5.0), ({"shape": 0.7}, 2.14), ({"repeat_probability": 0.3}, 1.86)],
)
def test_both_indices_find_what_a_rule_implies(rules, index):
    """Bursts 2 m - 1, renewal gaps their squared coefficient of variation, repeats (1 + q) / (1 - q)."""
    logs = [starts(seed, **rules) for seed in range(200)]
    for measure, blocks in ((d.over_dispersion, 12), (d.local_dispersion, 40)):
        indices = [measure(log, WINDOW_H).measured for log in logs]
        error = np.std(indices, ddof=1) / math.sqrt(len(indices))
        # blocks cut chains of repeats and gaps at their ends, which takes some of the variance
        assert np.mean(indices) == pytest.approx(index, abs=4 * error + 0.06 * (index - 1)), (measure, blocks)


def test_a_trend_is_kept_out_of_the_local_index():
    rising = WINDOW_H * ((np.arange(560) + 0.5) / 560) ** 0.5
    assert d.over_dispersion(rising, WINDOW_H).index > 10
    assert d.local_dispersion(rising, WINDOW_H).index == 1


def test_the_p_value_is_uniform_for_independent_failures():
    p = [d.over_dispersion(starts(seed), WINDOW_H).p for seed in range(200)]
    assert stats.kstest(p, "uniform").pvalue > 1e-3
    assert np.mean([d.over_dispersion(starts(s, shape=0.7), WINDOW_H).p < 0.05 for s in range(100)]) > 0.8


# --------------------------------------------------------------------------- rates


def test_an_index_of_one_is_jeffreys_posterior():
    assert d.rate_gamma(419, 110_592) == d.Gamma(419.5, 110_592)
    assert d.rate_gamma(419, 110_592, index=0.4) == d.rate_gamma(419, 110_592)
    assert d.over_dispersed_rate(419, 110_592) == failure_rate(419, 110_592)


@pytest.mark.parametrize(("n", "low", "high"), [(0, 0.0, 3.69), (3, 0.62, 8.77)])
def test_few_failures_are_known_no_better_than_poisson(n, low, high):
    """Garwood (1936). Jeffreys' interval ends at 2.51 for none."""
    rate = d.over_dispersed_rate(n, 1000.0)
    assert (rate.low, rate.high) == pytest.approx((low, high), abs=0.005)


@given(n=st.integers(0, 500), index=st.floats(1, 50), dof=st.one_of(st.none(), st.floats(1, 100)))
@settings(max_examples=100, deadline=None)
def test_an_index_never_narrows(n, index, dof):
    rate, exact = d.over_dispersed_rate(n, 1000.0, index, dof), failure_rate(n, 1000.0)
    assert rate.low <= exact.low and exact.high <= rate.high
    known, plain = d.rate_gamma(n, 1000.0, index, dof), d.rate_gamma(n, 1000.0)
    assert known.shape / known.node_days == pytest.approx(plain.shape / plain.node_days)


def test_an_index_divides_what_a_count_is_worth():
    """Index 4: 419 failures are worth 104.75 independent ones, and intervals are about twice as wide."""
    gamma = d.rate_gamma(419, 110_592, index=4.0)
    assert (gamma.shape, gamma.node_days) == (104.875, 27_648)
    narrow, wide = gamma_interval(419.5, 110_592), d.over_dispersed_rate(419, 110_592, index=4.0)
    assert (wide.high - wide.low) / (narrow.high - narrow.low) == pytest.approx(2, rel=0.01)
    density = stats.gamma(gamma.shape, scale=1000 / gamma.node_days).pdf
    assert integrate.quad(density, wide.low, wide.high)[0] == pytest.approx(0.95)


@pytest.mark.parametrize("level", [0.8, 0.95])
def test_an_index_that_is_an_estimate_costs_students_quantile(level):
    """For a large count the gamma is normal, and the half-width t standard errors."""
    n, index, dof = 1e8, 4.0, 11.0
    rate = d.over_dispersed_rate(n, 1e8, index, dof, level)
    half = (rate.high - rate.low) / 2 / 1000
    assert half == pytest.approx(stats.t.ppf((1 + level) / 2, dof) * math.sqrt(index / n), rel=1e-3)
    assert d.over_dispersed_rate(n, 1e8, index, 1e9, level).high == pytest.approx(
        d.over_dispersed_rate(n, 1e8, index, None, level).high
    )


@given(n=st.integers(0, 2000), index=st.floats(1, 50), dof=st.floats(1, 100), k=st.floats(0.01, 100))
@settings(max_examples=50, deadline=None)
def test_a_fair_rate_lies_in_its_interval_and_scales(n, index, dof, k):
    rate, other = d.over_dispersed_rate(n, 1000.0, index, dof), d.over_dispersed_rate(n, 1000.0 * k, index, dof)
    assert rate.low <= rate.per_1000_node_days < rate.high
    assert other.high * k == pytest.approx(rate.high)
    assert rate.high >= d.over_dispersed_rate(n, 1000.0).high


@pytest.mark.parametrize("rules", [{"burst_mean": 3.0}, {"shape": 0.7}, {"repeat_probability": 0.3}])
def test_fair_intervals_cover_where_poisson_ones_do_not(rules):
    """Poisson intervals hold the true rate in 60 to 87% of such logs; the fair ones in 93 to 97%."""
    logs = 200
    fair = poisson = 0
    for seed in range(logs):
        log = starts(seed, **rules)
        scatter = d.over_dispersion(log, WINDOW_H)
        wide = d.over_dispersed_rate(log.size, NODE_DAYS, scatter.index, scatter.dof)
        narrow = gamma_interval(log.size + 0.5, NODE_DAYS)
        fair += wide.low <= 4 <= wide.high
        poisson += narrow.low <= 4 <= narrow.high
    error = math.sqrt(0.95 * 0.05 / logs)
    assert 0.93 - 3 * error < fair / logs < 0.97 + 3 * error
    assert poisson / logs < 0.9


# --------------------------------------------------------------------------- bad input

TEN = np.arange(10.0)
BAD = {
    "start_h must hold at least 10 failures to see how they scatter, got 3": lambda: d.over_dispersion(TEN[:3], 10.0),
    "start_h must be in order, got 1 h after 2 h: sort it": lambda: d.over_dispersion([2.0, 1.0], 10.0),
    "start_h must be <= window_h = 8 h, got 9: cut the log or widen the window": lambda: d.local_dispersion(TEN, 8.0),
    "start_h must be >= 0 h and finite, got -1": lambda: d.over_dispersion([-1.0], 10.0),
    "start_h must be a list of times, got an array of shape (2, 5)": lambda: d.over_dispersion(TEN.reshape(2, 5), 10.0),
    "window_h must be > 0 h and finite, got 0": lambda: d.over_dispersion(TEN, 0.0),
    "n_blocks must be a whole number >= 2, got 1": lambda: d.over_dispersion(TEN, 10.0, n_blocks=1),
    "n_blocks must be a whole number >= 2, got 2.5": lambda: d.local_dispersion(TEN, 10.0, n_blocks=2.5),
    "index must be > 0 and finite, got 0": lambda: d.rate_gamma(1, 1.0, index=0.0),
    "dof must be > 0 and finite, got 0": lambda: d.rate_gamma(1, 1.0, dof=0.0),
    "level must be between 0 and 1, got 95": lambda: d.over_dispersed_rate(1, 1.0, level=95),
    "n_events must be >= 0 and finite, got -1": lambda: d.over_dispersed_rate(-1, 1.0),
    "node_days must be > 0 and finite, got 0": lambda: d.rate_gamma(1, 0.0),
}


@pytest.mark.parametrize("message", BAD)
def test_bad_input_is_refused(message):
    with pytest.raises(InputError) as caught:
        BAD[message]()
    assert str(caught.value) == message
