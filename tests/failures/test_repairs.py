"""Repair times by hand, against the numbers they were drawn from, and with open repairs."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ettr import simulate
from ettr.core.errors import InputError
from ettr.failures.groups import UNKNOWN
from ettr.failures.outages import find_outages
from ettr.failures.repairs import ALL, repair_times
from simulated_logs import simulate_log

NAN = float("nan")


def lasted(start_h, end_h, window_h, *group, **options):
    """Repair times of failures of unknown nodes."""
    return repair_times(find_outages(start_h, end_h, None, window_h, 4000), *group, **options)


@given(hours=st.lists(st.integers(0, 40), min_size=5, max_size=60))
@settings(max_examples=30, deadline=None)
def test_finished_repairs_have_plain_statistics(hours):
    """Nothing is open: the mean, and quantiles as the first length that so many reach."""
    hours = np.array(hours, dtype=float)
    repairs = lasted(np.zeros(len(hours)), hours, 100.0).overall
    ordered = np.sort(hours)
    assert repairs["mean_h"] == pytest.approx(hours.mean())
    assert repairs["median_h"] == ordered[math.ceil(0.5 * len(hours)) - 1]
    assert repairs["p90_h"] == ordered[math.ceil(0.9 * len(hours) - 1e-9) - 1]
    assert repairs["n_zero"] == (hours == 0).sum()


def test_open_repairs_are_censored_not_dropped():
    """Failures at any time in 30 h, repairs of 20 h in the median: a third is open; the finished ones are the short."""
    rng = np.random.default_rng(2)
    start, hours = rng.uniform(0, 30.0, 3000), rng.lognormal(math.log(20.0), 0.8, 3000)
    end = np.where(start + hours <= 30.0, start + hours, NAN)
    assert 0.6 < np.isnan(end).mean() < 0.8
    repairs = lasted(start, np.where(np.isnan(end), 99.0, end), 30.0).overall
    assert repairs["n_open"] == np.isnan(end).sum() and repairs["n_unknown"] == 0
    assert repairs["median_h"] == pytest.approx(20.0, rel=0.1)
    assert np.nanmedian(end - start) < 13  # what dropping them would say


def test_a_quantile_that_was_not_reached_is_infinite():
    repairs = lasted([0.0, 0.0, 0.0], [1.0, 99.0, 99.0], 10.0).overall
    assert repairs["n_open"] == 2
    assert math.isinf(repairs["median_h"]) and math.isinf(repairs["p90_h"])
    assert repairs["mean_h"] == pytest.approx((1 + 10 + 10) / 3)  # up to the longest time seen


def test_ends_that_nobody_kept():
    repairs = lasted([0.0, 1.0], [NAN, NAN], 10.0)
    assert repairs.overall["n_unknown"] == 2 and repairs.overall["n_open"] == 0
    assert math.isnan(repairs.overall["mean_h"]) and math.isnan(repairs.overall["p90_h"])
    assert repairs.downtime_h == 0 and repairs.availability is None


def test_groups():
    log = simulate_log(3, repair_h=6.0)
    component = log["component"].where(log.index % 10 > 0)
    outages = find_outages(log["start_h"], log["end_h"], log["node"], 350 * 24.0, 400)
    repairs = repair_times(outages, component)
    assert repairs.table["group"][0] == ALL
    assert set(repairs.table["group"][1:]) == {UNKNOWN, *log["component"].unique()}
    assert repairs.table["n_events"][1:].is_monotonic_decreasing
    for column in ("n_events", "n_open", "n_unknown", "n_zero"):
        assert repairs.table[column][1:].sum() == repairs.table[column][0]
    row = repairs.table.set_index("group").loc["GPU"]
    gpu = (component == "GPU").to_numpy(dtype=bool)
    # whether a missing end is open is a matter of the whole log
    alone = lasted(log["start_h"][gpu], np.where(log["end_h"].isna(), 1e9, log["end_h"])[gpu], 350 * 24.0)
    assert row["median_h"] == alone.overall["median_h"]
    assert repairs.availability == pytest.approx(1 - repairs.downtime_h / (400 * 350 * 24))


def test_one_repair_tells_no_interval():
    repairs = lasted([0.0], [4.0], 10.0).overall
    assert (repairs["mean_low_h"], repairs["mean_h"], repairs["mean_high_h"]) == (0, 4, math.inf)


def test_the_interval_of_the_mean_covers_it():
    """Exponential repairs watched to the end, 40 a log: close to 95 of 100 logs; 4 standard errors are 9."""
    rng = np.random.default_rng(5)
    covered = 0
    for _ in range(100):
        row = lasted(np.zeros(40), rng.exponential(5.0, 40), 1e5).overall
        covered += row["mean_low_h"] < 5 < row["mean_high_h"]
    assert covered >= 86


def test_nothing_failed():
    repairs = lasted([], [], 10.0, [])
    assert repairs.table["n_events"].tolist() == [0]
    assert repairs.availability is None


def test_repairs_of_a_log_are_a_section_of_a_scenario(plain_run):
    """Their mean and spread, with those that were still open; a simulated job then waits as long."""
    rng = np.random.default_rng(5)
    start_h = np.sort(rng.uniform(0, 2000, 300))
    lasted_h = rng.weibull(0.7, 300) * 20
    repairs = repair_times(find_outages(start_h, start_h + lasted_h, None, 2000.0, 4000))
    section = repairs.section
    assert section["manual_h"] == pytest.approx(lasted_h.mean(), rel=0.02)
    assert section["cv"] == pytest.approx(lasted_h.std() / lasted_h.mean(), rel=0.02)
    run = plain_run.override({"spares": {"n_nodes": 0}, "repair": section, "job.productive_h": 4})
    runs = simulate(run, 4000, seed=1, control_variates=False).runs
    assert runs["waiting_h"].sum() / runs["n_failures"].sum() == pytest.approx(section["manual_h"], rel=0.08)
    with pytest.raises(InputError, match="no repair in the log has an end after its start"):
        repair_times(find_outages([1.0], [NAN], None, 10.0, 4000)).section  # noqa: B018
