"""Rates by group add up to the whole, and cohorts are told apart as exact tests do."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from ettr.failures.groups import OTHER, UNKNOWN, Spread, cohorts_differ, group_labels, rates_by, within_cohorts
from ettr.failures.rates import failure_rate
from simulated_logs import cohort_of_node, simulate_log

# --------------------------------------------------------------------------- rates by group


@given(values=st.lists(st.sampled_from(["GPU", "NIC", "CPU", "fan", None]), max_size=80))
@settings(max_examples=30, deadline=None)
def test_groups_add_up_to_the_whole(values):
    rates = rates_by(values, 500.0)
    assert rates["n_events"].sum() == len(values)
    assert rates["rate"].sum() == pytest.approx(1000 * len(values) / 500)
    assert rates["share"].sum() == pytest.approx(1 if values else 0)
    assert rates["group"].is_unique
    assert rates["known_exposure"].all()
    named = rates[~rates["group"].isin([OTHER, UNKNOWN])]
    assert named["n_events"].is_monotonic_decreasing


def test_a_rate_is_that_of_its_count():
    rates = rates_by(["GPU"] * 30 + ["NIC"] * 5, 2000.0, level=0.9).set_index("group")
    exact = failure_rate(30, 2000.0, 0.9)
    assert rates.loc["GPU", ["rate", "low", "high"]].tolist() == pytest.approx([15, exact.low, exact.high])


def test_a_group_without_exposure_has_no_rate_and_says_so():
    rates = rates_by(["a", "b", "b", None], 300.0, exposure={"a": 100, "c": 200}).set_index("group")
    assert rates.index.tolist() == ["b", "a", "c", UNKNOWN]
    assert rates["known_exposure"].tolist() == [False, True, True, False]
    assert rates["rate"].isna().tolist() == [True, False, False, True]
    assert rates.loc["c", ["n_events", "rate", "low"]].tolist() == [0, 0, 0]
    assert rates.loc["c", "high"] == pytest.approx(-math.log(0.025) * 5)
    assert rates["n_events"].sum() == 4


def test_many_small_groups_are_summed():
    values = [f"cause {i}" for i in range(60) for _ in range(60 - i)]
    rates = rates_by(values, 100.0)
    assert len(rates) == 51 and rates["group"].iloc[-1] == OTHER
    assert rates["n_events"].iloc[-1] == sum(range(1, 11))
    exposure = {f"cause {i}": 10.0 for i in range(59)}
    partial = rates_by(values, 600.0, exposure=exposure)
    assert not partial["known_exposure"].iloc[-1]  # one of those summed has none
    whole = rates_by(values, 600.0, exposure=exposure | {"cause 59": 10.0})
    assert whole["node_days"].iloc[-1] == 100 and whole["rate"].iloc[-1] == pytest.approx(550)
    assert group_labels(values).nunique() == 51


# --------------------------------------------------------------------------- cohorts


def test_pooling_two_generations_hides_both():
    """A tenth of the nodes fails 27 times as often as the rest: neither has the rate of the pool."""
    cohorts = {"new": (0.9, 1.0), "old": (0.1, 27.0)}
    log = simulate_log(1, 400, 350, 4.0, cohorts=cohorts)
    nodes = np.bincount(cohort_of_node(400, cohorts))
    exposure = {name: n * 350.0 for name, n in zip(cohorts, nodes, strict=True)}
    table = rates_by(log["cohort"], 400 * 350.0, exposure=exposure).set_index("group")
    pooled = failure_rate(len(log), 400 * 350.0)
    assert table.loc["old", "low"] > 3 * pooled.high
    assert table.loc["new", "high"] < pooled.low / 2
    comparison = cohorts_differ(table["n_events"], table["node_days"], names=table.index)
    assert (comparison.highest, comparison.lowest) == ("old", "new")
    assert comparison.low < 27 < comparison.high and comparison.p < 1e-30


@given(
    counts=st.tuples(st.integers(0, 60), st.integers(0, 60)),
    days=st.tuples(st.floats(10, 1e4), st.floats(10, 1e4)),
)
@settings(max_examples=40, deadline=None)
def test_two_cohorts_are_the_exact_ratio(exact_ratio, counts, days):
    if sum(counts) == 0:
        assert cohorts_differ(counts, days) is None
        return
    comparison = cohorts_differ(counts, days, level=0.9)
    first, second = int(comparison.highest), int(comparison.lowest)
    exact = exact_ratio(counts[first], days[first], counts[second], days[second], 0.9)
    assert comparison.p == pytest.approx(exact.p_value, rel=1e-6)
    assert (comparison.ratio, comparison.low, comparison.high) == pytest.approx(
        (exact.ratio, exact.low, exact.high), rel=1e-6
    )
    assert comparison.ratio >= 1 - 1e-12


def test_three_cohorts(exact_ratio):
    counts, days = np.array([40, 55, 52]), np.array([1000.0, 1500.0, 1200.0])
    comparison = cohorts_differ(counts, days, names=["a", "b", "c"])
    expected = counts.sum() * days / days.sum()
    assert comparison.p == pytest.approx(stats.chisquare(counts, expected).pvalue)
    assert (comparison.highest, comparison.lowest) == ("c", "b")
    narrow = exact_ratio(52, 1200.0, 55, 1500.0)
    assert comparison.low < narrow.low and narrow.high < comparison.high  # three pairs were looked at
    corrected = exact_ratio(52, 1200.0, 55, 1500.0, 1 - 0.05 / 3)
    assert (comparison.low, comparison.high) == pytest.approx((corrected.low, corrected.high))


def test_few_failures_are_redistributed():
    """Four failures, all in one of four equal cohorts: 4 / 4 ** 4 of all ways are so uneven."""
    comparison = cohorts_differ([4, 0, 0, 0], [10.0] * 4)
    assert comparison.p == pytest.approx(1 / 64, abs=4 * math.sqrt(1 / 64 / 9999))
    assert math.isinf(comparison.ratio) and math.isinf(comparison.high)


def test_clusters_count_for_less():
    """Failures five at a time: what 30 against 12 tells is what 6 against 2.4 would."""
    plain = cohorts_differ([30, 12], [100.0, 100.0])
    clustered = cohorts_differ([30, 12], [100.0, 100.0], dispersion=5.0, dof=19)
    assert plain.p < 0.01 and clustered.p > 0.2
    assert clustered.p == pytest.approx(stats.f.sf((30 - 12) ** 2 / 42 / 5, 1, 19))
    assert clustered.ratio == plain.ratio
    assert clustered.low < plain.low and plain.high < clustered.high
    # below 1 is no better than independent
    assert cohorts_differ([30, 12], [100.0, 100.0], dispersion=0.3) == plain


# --------------------------------------------------------------------------- nodes within cohorts


def test_the_spread_within_cohorts_by_hand():
    """Counts 3, 1, 0, 0 (mean 1, sum of squares 6) and 1, 0, 0 (sum of squares over mean 2): 8 / 5."""
    node, cohort = [4, 4, 4, 2, 9, -1, 5, 6], ["a", "a", "a", "a", "b", "a", None, "elsewhere"]
    assert within_cohorts(node, cohort, {"a": 4, "b": 3, "quiet": 8}) == Spread(pytest.approx(8 / 5), 5.0)
    assert within_cohorts(node, pd.Categorical(cohort), {"a": 4, "b": 3}) == Spread(pytest.approx(8 / 5), 5.0)
    assert within_cohorts([1, 2], [7, 7], {7: 3}) == Spread(1.0, 2.0)


@pytest.mark.parametrize("sizes", [{}, {"b": 9}, {"a": 1}])
def test_nothing_tells_of_the_spread(sizes):
    assert within_cohorts([0, 0], ["a", "a"], sizes) == Spread(1.0, None)
    assert within_cohorts([], [], {"a": 5}) == Spread(1.0, None)


def drawn_cohorts(rng: np.random.Generator, sizes: dict[str, int], mean: float, index: float):
    """Failures of nodes whose rates are gamma: counts negative binomial with that variance over mean."""
    size = sum(sizes.values())
    rates = rng.gamma(mean / (index - 1), index - 1, size) if index > 1 else np.full(size, mean)
    node = np.repeat(np.arange(size), rng.poisson(rates))
    return node, np.repeat(list(sizes), list(sizes.values()))[node]


@pytest.mark.parametrize("n_logs", [30, pytest.param(100, marks=pytest.mark.slow)])
@pytest.mark.parametrize("index", [1.0, 2.5])
def test_the_spread_within_cohorts_is_that_of_their_nodes(index, n_logs):
    rng, sizes = np.random.default_rng(3), {"old": 250, "new": 150}
    indices = [within_cohorts(*drawn_cohorts(rng, sizes, 1.5, index), sizes).index for _ in range(n_logs)]
    error = np.std(indices) / math.sqrt(n_logs)
    # an index below 1 is raised to it
    assert np.mean(indices) == pytest.approx(index, abs=4 * error + (0.05 if index == 1 else 0))


def test_equal_cohorts_and_ties():
    assert cohorts_differ([5], [10.0]) is None
    comparison = cohorts_differ([5, 5], [10.0, 10.0])
    assert comparison.highest != comparison.lowest and comparison.ratio == 1 and comparison.p == 1
    none = cohorts_differ([9, 0, 0], [10.0, 10.0, 50.0], names=["a", "b", "c"])
    assert none.lowest == "c"  # of two without failures, the one watched longer
