"""Failure rates against printed tables, against SciPy, and against what an interval promises."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

from ettr import failures
from ettr_book.chapters import sources

# Garwood (1936), 95% limits as in the tables of Pearson and Hartley, Biometrika Tables I, table 40
GARWOOD = {
    0: (0.0, 3.69),
    1: (0.0253, 5.57),
    2: (0.242, 7.22),
    5: (1.62, 11.67),
    10: (4.80, 18.39),
    50: (37.11, 65.92),
}


@pytest.mark.parametrize("n", GARWOOD)
def test_poisson_limits_are_the_printed_ones(n):
    half_a_digit = 0.006  # the high ends are printed to two decimals
    assert failures.poisson_interval(n) == pytest.approx(GARWOOD[n], abs=half_a_digit)


@given(n=st.integers(1, 2000), level=st.floats(0.5, 0.999))
@settings(max_examples=60, deadline=None)
def test_poisson_limits_leave_half_the_rest_in_each_tail(n, level):
    """The definition: at the low end n or more, at the high end n or fewer have probability (1 - level) / 2."""
    low, high = failures.poisson_interval(n, level)
    assert low < n < high
    assert stats.poisson.sf(n - 1, low) == pytest.approx((1 - level) / 2, rel=1e-6)
    assert stats.poisson.cdf(n, high) == pytest.approx((1 - level) / 2, rel=1e-6)


def test_poisson_limits_of_an_array_are_those_of_its_items():
    low, high = failures.poisson_interval([[0, 3], [7, 419]], 0.9)
    assert low.shape == high.shape == (2, 2)
    assert (low[1, 0], high[1, 0]) == failures.poisson_interval(7, 0.9)
    assert low[0, 0] == 0


def test_llama3_rate():
    """419 failures on 2,048 nodes in 54 days: 3.789 per 1,000 node-days, 3.09 h between two."""
    rate = failures.failure_rate(419, 2048 * 54)
    assert rate.per_1000_node_days == pytest.approx(3.789, abs=5e-4)
    assert failures.job_mttf_h(rate.per_1000_node_days, 16_384) == pytest.approx(54 * 24 / 419, rel=1e-12)
    assert failures.job_mttf_h(rate.per_1000_node_days, 100_000) * 60 == pytest.approx(30.4, abs=0.05)


def test_rsc_time_to_failure():
    """Kokolis et al. (2025): 1.8 h on 16,384 GPUs, 0.23 h on 131,072, at 6.50 per 1,000 node-days."""
    mttf_h = failures.job_mttf_h(6.50, np.array([16_384, 131_072]))
    assert mttf_h == pytest.approx([1.803, 0.2254], abs=5e-4)
    assert failures.job_mttf_h(0.0, 8) == math.inf
    assert failures.job_mttf_h(6.5, 16, 4) == pytest.approx(failures.job_mttf_h(6.5, 32))


@pytest.mark.parametrize(("shape", "level"), [(419.5, 0.95), (0.5, 0.8), (3.0, 0.5)])
def test_gamma_interval_holds_its_probability(shape, level):
    """Integrate the density between the ends, without the quantile function that made them."""
    interval = failures.gamma_interval(shape, 2000.0, level)
    assert interval.per_1000_node_days == pytest.approx(shape / 2)
    scale = 1000 / 2000.0

    def density(rate: float) -> float:
        return math.exp((shape - 1) * math.log(rate / scale) - rate / scale - math.lgamma(shape)) / scale

    inside, _ = integrate.quad(density, interval.low, interval.high)
    below, _ = integrate.quad(density, 0, interval.low)
    assert inside == pytest.approx(level, abs=1e-6)
    assert below == pytest.approx((1 - level) / 2, abs=1e-5)


def test_jeffreys_interval_lies_inside_the_exact_one():
    for n in (1, 5, 50, 419):
        exact, jeffreys = failures.failure_rate(n, 1000), failures.gamma_interval(n + 0.5, 1000)
        assert exact.low < jeffreys.low < jeffreys.high < exact.high


# --------------------------------------------------------------------------- tables


def test_without_each_is_a_subtraction_of_counts():
    """Table 5 of Dubey et al. (2024): 151 of 419 interruptions are not of the category GPU: one each 8.58 h."""
    without = failures.without_each(sources.tables.interruption_shares(), 54 * 24).set_index("category")
    assert without.index[0] == "nothing"
    assert without.loc["nothing", "mtbi_h"] == pytest.approx(3.093, abs=5e-4)
    assert without.loc["GPU", "mtbi_h"] == pytest.approx(54 * 24 / 151)
    assert (without["low"] < without["mtbi_h"]).all() and (without["mtbi_h"] < without["high"]).all()


def test_without_the_only_category_nothing_fails():
    without = failures.without_each(pd.DataFrame({"category": ["GPU"], "n_events": [3]}), 10.0)
    assert without["mtbi_h"].tolist() == pytest.approx([10 / 3, math.inf])
    assert math.isinf(without["high"].iloc[1]) and without["low"].iloc[1] == pytest.approx(10 / 3.689, rel=1e-3)


def test_count_intervals_keep_the_rows():
    frame = pd.DataFrame({"component": ["NIC", "CPU"], "n_events": [7, 0]}, index=[4, 9])
    counts = failures.count_intervals(frame, 0.9)
    assert counts.index.tolist() == [4, 9] and counts["component"].tolist() == ["NIC", "CPU"]
    assert (counts.loc[4, "low"], counts.loc[4, "high"]) == failures.poisson_interval(7, 0.9)
    assert "low" not in frame


def test_a_count_of_nothing_has_the_high_end_of_nothing():
    """No failure in an exposure rules out more than 3.69 of them (Garwood 1936): 1.844 in 2000 node-days."""
    frame = pd.DataFrame(
        {
            "n_events": pd.array([0, 0, 4, None], dtype="Int64"),
            "node_days": [1000.0, 2000.0, 2000.0, np.nan],
            "rate": [0.0, 0.0, 2.0, 5.0],
            "rate_low": [0.0, 0.0, 2.0, 4.0],
            "rate_high": [0.0, 0.0, 2.0, 6.0],
        }
    )
    rates = failures.rate_intervals(frame)
    assert rates["low"].tolist()[:2] == [0, 0]
    assert rates["high"].tolist()[:2] == pytest.approx([-math.log(0.025), -math.log(0.025) / 2])
    assert -math.log(0.025) == pytest.approx(GARWOOD[0][1], abs=0.006)
    assert rates.loc[2, ["low", "high"]].tolist() == pytest.approx(
        [end / 2 for end in failures.poisson_interval(4)], rel=1e-12
    )
    assert rates.loc[3, ["low", "high"]].tolist() == [4, 6]
    assert failures.rate_intervals(frame, 0.8)["high"][0] == pytest.approx(-math.log(0.1))


def test_an_open_exposure_widens_the_interval_of_a_count():
    """A window of 90 to 110 days: the interval of the count, with the exposure of either end."""
    frame = pd.DataFrame({"n_events": [25], "node_days": [100.0], "rate": [250.0]})
    frame = frame.assign(rate_low=1000 * 25 / 110, rate_high=1000 * 25 / 90)
    rates, (low, high) = failures.rate_intervals(frame).loc[0], failures.poisson_interval(25)
    assert [rates["low"], rates["high"]] == pytest.approx([1000 * low / 110, 1000 * high / 90])
