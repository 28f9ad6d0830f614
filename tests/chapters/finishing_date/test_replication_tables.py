"""Errors of a simulation, measured and expected."""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd
import pytest

from ettr import Scenario, budget, simulate
from ettr.chapters.finishing_date import replication_tables
from ettr.chapters.finishing_date.replication_tables import (
    CONTROLLED,
    FEW_SPARES,
    FULL_SUPPLY,
    OTHER_SEEDS,
    PLAIN,
    SAME_SEED,
)
from ettr.core.errors import InputError
from ettr.simulation.columns import N_FAILURES

BEST_MIN = 7.697463
"""Best interval of llama3-405b."""


@cache
def errors() -> pd.DataFrame:
    return replication_tables.error_by_runs(Scenario.load("llama3-405b"), 2000)


@cache
def lengths() -> pd.DataFrame:
    return replication_tables.ettr_by_length(Scenario.load("opt-175b"), n_points=4)


def test_the_lesson_is_a_run_whose_ettr_is_known(llama3):
    run = replication_tables.lesson_run(llama3.override({"recovery.restart_cv": 1}))
    assert not run.job.include_start and run.maintenance is None and run.recovery.restart_cv == 0
    simulated = simulate(run, 500)
    assert abs(simulated.ettr - budget.exact(run).ettr) < 4 * simulated.ettr_error


def test_measured_errors_are_those_expected_and_fall_with_the_root():
    plain = errors()[errors()["estimate"] == PLAIN]
    assert plain["n_runs"].tolist() == [10, 20, 40, 80, 160]
    np.testing.assert_allclose(
        plain["expected_points"] * np.sqrt(plain["n_runs"]), plain["expected_points"].iloc[0] * 10**0.5
    )
    ratio = plain["error_points"] / plain["expected_points"]
    assert (abs(ratio - 1) < 4 / np.sqrt(2 * plain["n_groups"])).all()  # error of a root mean square of n_groups
    assert (plain["low_points"] < plain["error_points"]).all() and (plain["error_points"] < plain["high_points"]).all()


def test_control_variates_have_rows_where_groups_are_large_enough():
    controlled = errors()[errors()["estimate"] == CONTROLLED]
    assert controlled["n_runs"].min() == 40  # 20 runs for each control and one more
    ratio = controlled["error_points"] / controlled["expected_points"]
    assert (abs(ratio - 1) < 4 / np.sqrt(2 * controlled["n_groups"])).all()
    assert controlled["runs_ratio"].iloc[0] > 2


def test_spread_of_groups_is_that_of_the_runs(llama3):
    """Runs of known spread in place of simulated ones."""
    simulation = simulate(replication_tables.lesson_run(llama3), 4000, control_variates=False)
    table = np.zeros_like(simulation.table)
    table[:, 0] = 100.0
    table[:, N_FAILURES] = 10.0
    table[:, 4] = np.random.default_rng(1).normal(10.0, 1.0, 4000)  # rework
    made = replication_tables.replace(simulation, table=table)
    row = replication_tables._spread_of_groups(made, 25)
    expected = 100 * 100 / 110**2 / 5  # delta method: P/T^2 times the error of T
    assert row["expected_points"] == pytest.approx(expected, rel=0.04)  # 1.1% from 4,000 runs
    assert row["error_points"] == pytest.approx(expected, rel=0.2) and row["n_groups"] == 160  # 5.6% from 160 groups


def test_too_few_runs_measure_no_errors(llama3):
    with pytest.raises(InputError, match="n_runs must be >= 80 to measure errors, got 79"):
        replication_tables.error_by_runs(llama3, 79)


def test_the_other_interval_is_the_best_or_half_of_it(llama3):
    assert replication_tables.other_interval_min(llama3) == pytest.approx(BEST_MIN, rel=1e-5)
    at_best = llama3.override({"checkpoint.interval_min": BEST_MIN})
    assert replication_tables.other_interval_min(at_best) == pytest.approx(BEST_MIN / 2)
    full = llama3.override({"checkpoint.interval_min": BEST_MIN, "checkpoint.persist_s": BEST_MIN * 60})
    steep = replication_tables.other_interval_min(full)
    assert steep >= replication_tables.lesson_run(full).least_interval_min and abs(np.log(steep / BEST_MIN)) > 0.1


def test_the_same_seed_cancels_chance(llama3):
    frame = replication_tables.difference_by_seed(llama3, BEST_MIN, 500).set_index("way")
    run = replication_tables.lesson_run(llama3)
    other = run.override({"checkpoint.interval_min": BEST_MIN})
    totals = [simulate(one, 500, seed).total_h for one, seed in ((run, 0), (other, 0), (other, 1))]
    assert frame.loc[SAME_SEED, "saved_h"] == pytest.approx((totals[0] - totals[1]).mean())
    assert frame.loc[SAME_SEED, "error_h"] == pytest.approx((totals[0] - totals[1]).std(ddof=1) / 500**0.5)
    assert frame.loc[OTHER_SEEDS, "saved_h"] == pytest.approx(totals[0].mean() - totals[2].mean())
    ratio = (frame.loc[OTHER_SEEDS, "error_h"] / frame.loc[SAME_SEED, "error_h"]) ** 2
    assert frame.loc[SAME_SEED, "runs_ratio"] == pytest.approx(ratio) and ratio > 3
    assert (abs(frame["saved_h"] - frame["closed_h"]) < 4 * frame["error_h"]).all()
    assert frame["closed_h"].iloc[0] == pytest.approx(budget.exact(run).total_h - budget.exact(other).total_h)


def test_without_chance_nothing_is_shared(llama3):
    quiet = llama3.override({"failures.rate_per_1000_node_days": 0})
    frame = replication_tables.difference_by_seed(quiet, 20, 80)
    assert frame["error_h"].max() < 1e-9 and (frame["runs_ratio"] == 1).all()


def test_length_matters_only_where_spares_can_run_out():
    frame = lengths()
    full, few = (frame[frame["pool"] == pool] for pool in (FULL_SUPPLY, FEW_SPARES))
    assert (abs(full["ettr"] - full["closed_ettr"]) < 4 * full["error"]).all()
    assert full["productive_days"].iloc[[0, -1]].tolist() == pytest.approx([0.5, 800 / 24])
    assert few["ettr"].iloc[0] > few["ettr"].iloc[-1] + 0.05
    assert (few["n_spares"] == round(few["in_repair"].iloc[0])).all() and (full["n_spares"] == 0).all()


def test_the_mean_of_ratios_is_never_below_the_ratio_of_sums():
    frame = lengths()
    assert (frame["excess"] >= -1e-12).all()
    full = frame[frame["pool"] == FULL_SUPPLY]
    assert full["excess"].iloc[0] > 0.01 > 10 * full["excess"].iloc[-1]
    run = replication_tables.lesson_run(Scenario.load("opt-175b")).override({"job.productive_h": 12})
    simulated = simulate(run, int(full["n_runs"].iloc[0]))
    exact = simulated.runs["ettr"].mean() - simulated.runs["productive_h"].sum() / simulated.total_h.sum()
    assert full["excess"].iloc[0] == pytest.approx(exact)
