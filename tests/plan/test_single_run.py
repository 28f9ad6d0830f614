"""The prediction interval of a single run: against simulated runs, and where a run rarely fails."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.stats

from ettr import Scenario, budget, plan, simulate
from ettr.plan.single_run import prediction_interval

JOB_H = 48.0


def job(n_failures: float, **more: object) -> Scenario:
    """A job on 64 GPUs that takes 48 h of training and meets about so many failures."""
    return Scenario.of(
        {
            "cluster": {"n_gpus": 64},
            "job": {"productive_h": JOB_H},
            "failures": {"rate_per_1000_node_days": n_failures * 1000 / (8 * JOB_H / 24)},
            "checkpoint": {"interval_min": 60, "stall_s": 30},
            "recovery": {"restart_min": 20, "detection_min": 10},
            **more,
        }
    )


@pytest.mark.parametrize("n_failures", [0.01, 0.1, 1, 10])
def test_the_interval_holds_at_least_95_percent_of_simulated_runs(n_failures):
    """Few failures are a distribution with steps, whose interval may hold more than 95% of the runs and never less."""
    run = job(n_failures)
    interval = plan.prediction_interval(run, budget.exact(run))
    runs = simulate(run, 20_000, seed=5).runs
    inside = runs["ettr"].between(interval.low * (1 - 1e-9), interval.high * (1 + 1e-9)).mean()
    counted = runs["n_failures"].between(interval.n_low, interval.n_high).mean()
    error = 3 * math.sqrt(0.95 * 0.05 / len(runs))
    assert inside >= 0.95 - error and counted >= 0.95 - error
    if n_failures >= 1:  # and it is no wider than it must be
        narrower = runs["ettr"].between(interval.low + 0.005, interval.high - 1e-9).mean()
        assert narrower < 0.96


def test_a_run_that_hardly_ever_fails_is_as_good_as_one_without_failures():
    lows = []
    for mtbf_h in (1e3, 3e3, 1e4, 1e6, 1e9):
        run = Scenario.of(
            {"cluster": {"n_gpus": 64}, "failures": {"job_mttf_h": mtbf_h}, "job": {"productive_h": JOB_H}}
        )
        answer = plan.make(run)
        assert answer.prediction_interval.low <= answer.prediction_interval.high < 1
        assert answer.band.interval_min <= 60 * JOB_H * (1 + 1e-12)
        lows.append(answer.prediction_interval.low)
    assert lows == sorted(lows), "a cluster that fails more rarely has no worse runs"
    assert min(lows[1:]) > 0.995, "more than 97.5% of the runs meet no failure"


def test_the_interval_is_that_of_simulated_runs(llama3):
    run = llama3.override({"failures.rate_per_1000_node_days": llama3.failure_rate, "maintenance": None})
    answer = plan.make(run)
    interval = answer.prediction_interval
    runs = simulate(answer.best, n_runs=4000, seed=3)
    low, high = np.quantile(runs.runs["ettr"], (0.025, 0.975))
    assert interval.counted is None
    assert (interval.low, interval.high) == pytest.approx((low, high), abs=0.05 * (high - low))
    failures = np.quantile(runs.runs["n_failures"], (0.025, 0.975))
    assert (interval.n_low, interval.n_high) == pytest.approx(tuple(failures), rel=0.03)


def test_the_error_of_an_estimated_rate_is_included(llama3):
    exact = llama3.override({"failures.rate_per_1000_node_days": llama3.failure_rate})
    counted, certain = plan.make(llama3).prediction_interval, plan.make(exact).prediction_interval
    assert counted.counted == 419
    assert counted.high - counted.low > certain.high - certain.low
    assert counted.n_high - counted.n_low > certain.n_high - certain.n_low


@pytest.mark.parametrize(
    "more",
    [{}, {"checkpoint.tiers": [{"name": "peer", "interval_s": 60, "stall_s": 0.5, "load_s": 5, "survives": 0.9}]}],
)
def test_a_job_without_an_end_has_the_interval_of_a_month(more):
    run = Scenario.of({"cluster": {"n_gpus": 4096}, "failures": {"job_mttf_h": 9}, "checkpoint": {"stall_s": 90}})
    answer = plan.make(run.override(more) if more else run)
    interval = answer.prediction_interval
    assert interval.window == "month" and interval.n_failures == pytest.approx(730.5 / 9, rel=0.03)
    assert interval.low < float(answer.budget.ettr) < interval.high < interval.low + 0.05
    assert interval.n_low < interval.n_failures < interval.n_high


def test_a_run_that_is_simulated_has_the_interval_of_these_runs():
    run = job(10, spares={"n_nodes": 0}, repair={"manual_h": 24})
    answer = plan.make(run)
    interval, runs = answer.prediction_interval, answer.simulation
    assert interval.low < runs.ettr < interval.high
    assert interval.high < float(answer.budget.ettr), "without spares no run reaches what the formula says with enough"


def test_simulated_runs_differ_in_a_rate_that_was_counted():
    """Six failures leave the rate open by a factor: what is simulated must not look more certain than the formula."""
    counted = {"failures": {"n_events": 6, "node_days": 1280}, "job": {"productive_h": 500}}
    analytical = plan.make(job(1, **counted))
    simulated = plan.make(job(1, **counted).override({"recovery.false_alarms_per_day": 0.01}))
    width = [
        interval.high - interval.low for interval in (answer.prediction_interval for answer in (analytical, simulated))
    ]
    assert width[1] == pytest.approx(width[0], rel=0.15)
    assert simulated.prediction_interval.counted == analytical.prediction_interval.counted == 6
    last_h = [answer.dates.reported.quantile(0.9) for answer in (analytical, simulated)]
    assert last_h[1] == pytest.approx(last_h[0], rel=0.01) and last_h[1] > last_h[0]


def test_a_rate_at_which_no_run_ends_is_replaced_by_the_highest_at_which_one_does():
    """One failure leaves the rate open upwards, to rates at which restarts are hardly survived."""
    rare = {"failures": {"n_events": 1, "node_days": 8}, "recovery": {"restart_min": 4200, "detection_min": 10}}
    run = job(1, **rare).override({"recovery.false_alarms_per_day": 0.01, "job.productive_h": 200})
    answer = plan.make(run)
    assert answer.single_runs.n_runs >= 400 * 0.9
    assert 0 < answer.prediction_interval.low < answer.prediction_interval.high < 1


def test_an_interval_with_which_the_run_hardly_trains_is_not_simulated():
    alarms = {"recovery.false_alarms_per_day": 1.0}
    run = Scenario.of(
        {"cluster": {"n_gpus": 4096}, "failures": {"job_mttf_h": 9}, "checkpoint": {"interval_min": 4000}}
    )
    answer = plan.make(run.override(alarms))
    assert answer.hours_at_current is None and float(answer.budget_at_current.ettr) < 0.05
    assert answer.losses.total.share == answer.losses_at_best.total.share and answer.report()


def test_no_failures_leave_no_interval(plain_run):
    still = plain_run.override({"failures.rate_per_1000_node_days": 0})
    answer = plan.make(still)
    assert answer.prediction_interval is None and answer.recommendation is None
    assert prediction_interval(still, answer.budget) is None


def test_a_bound_of_the_rate_is_not_widened_twice():
    run = Scenario.of({"cluster": {"n_gpus": 1024}, "failures": {"n_events": 0, "node_days": 300}})
    interval = plan.make(run).prediction_interval
    assert interval.counted is None
    assert (interval.n_low, interval.n_high) == tuple(scipy.stats.poisson.ppf((0.025, 0.975), interval.n_failures))
