"""Failures of nodes with a memory, of lemons and of new fleets, against what is known of them exactly."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import integrate, special

from agreement import FOUR, MANY, SOME
from ettr import budget, simulate
from ettr.failures.renewal import renewal_count

COUNTED = pytest.mark.parametrize("n_counted", [SOME, MANY])


def _counts(run, expected: float, n_counted: int) -> tuple[float, float, np.ndarray]:
    """Mean failures of a run and its error, from so many runs that the error is small."""
    n_runs = int(np.clip(n_counted / expected, 20, 20_000))
    counts = simulate(run, n_runs, seed=1, control_variates=False).runs["n_failures"].to_numpy()
    return counts.mean(), counts.std(ddof=1) / n_runs**0.5, counts


def _nodes(n_nodes: int, mean_h: float, hours: float, **lifetime) -> dict:
    return {
        "cluster.n_gpus": 8 * n_nodes,
        "failures.rate_per_1000_node_days": 24_000 / mean_h,
        "failures.lifetime": lifetime,
        "job.productive_h": hours,
    }


AGES = [(shape, lives) for shape in (0.5, 3.0) for lives in (0.4, 1.5, 6.0)]
"""Shapes, and ages in mean lifetimes."""


@pytest.mark.parametrize(("shape", "lives"), AGES)
@COUNTED
def test_new_nodes_fail_as_often_as_the_renewal_function_says(counting_run, shape, lives, n_counted):
    run = counting_run.override(_nodes(50, 100.0, 100.0 * lives, shape=shape, start="new"))
    expected = 50 * renewal_count(100.0 * lives, shape, 100.0)
    mean, error, _ = _counts(run, expected, n_counted)
    # the renewal function is known to 1e-4
    assert mean == pytest.approx(expected, abs=FOUR * error + 1e-4 * expected)
    assert error < 0.02 * expected


FIRST_HOURS = {0.5: 0.5, 3.0: 300.0}


@pytest.mark.parametrize("shape", FIRST_HOURS)
@COUNTED
def test_of_a_large_new_fleet_few_nodes_fail_in_the_first_hours(counting_run, shape, n_counted):
    """Of a million GPUs, some hundred nodes of which hardly any fails twice: so their number is nearly binomial."""
    n_nodes, hours = 125_000, FIRST_HOURS[shape]
    run = counting_run.override(_nodes(n_nodes, 4000.0, hours, shape=shape, start="new"))
    scale = 4000.0 / math.gamma(1 + 1 / shape)
    first = -math.expm1(-((hours / scale) ** shape))
    expected = n_nodes * renewal_count(hours, shape, 4000.0)
    mean, error, counts = _counts(run, expected, n_counted)
    assert mean == pytest.approx(expected, abs=FOUR * error + 1e-4 * expected)
    variance = n_nodes * first * (1 - first)
    # second failures add their share; a variance of n counts is known to sqrt(2 / n)
    assert counts.var(ddof=1) == pytest.approx(
        variance, rel=FOUR * (2 / counts.size) ** 0.5 + expected / n_nodes / first - 1
    )


@pytest.mark.parametrize("hours", [5.0, 150.0])
@pytest.mark.parametrize("shape", [0.5, 1.0, 3.0])
@COUNTED
def test_nodes_in_the_middle_of_their_lives_fail_at_a_steady_rate(counting_run, shape, hours, n_counted):
    run = counting_run.override(_nodes(50, 100.0, hours, shape=shape))
    mean, error, _ = _counts(run, hours / 2, n_counted)
    assert mean == pytest.approx(hours / 2, abs=FOUR * error)
    assert error < 0.02 * mean


def _burning(hours: float, factor: float, decay_days: float, age_days: float = 0.0) -> dict:
    burn_in = {"factor": factor, "decay_days": decay_days, "age_days": age_days}
    return {"failures.burn_in": burn_in, "job.productive_h": hours}


@pytest.mark.parametrize(
    ("hours", "factor", "decay_days", "age_days"),
    [(60, 8, 0.5, 0.3), (60, 0, 1, 0), (200, 30, 0.05, 0)],
)
@COUNTED
def test_a_new_fleet_fails_as_often_as_its_rate_says(counting_run, hours, factor, decay_days, age_days, n_counted):
    run = counting_run.override(_burning(hours, factor, decay_days, age_days))
    decay_h = 24 * decay_days
    excess = (factor - 1) * math.exp(-age_days / decay_days) * decay_h * -math.expm1(-hours / decay_h)
    expected = run.job_rate_per_h * (hours + excess)
    mean, error, counts = _counts(run, expected, n_counted)
    assert mean == pytest.approx(expected, abs=FOUR * error)
    # Poisson: the variance is the mean
    assert counts.var(ddof=1) == pytest.approx(
        expected, rel=FOUR * (2 / counts.size + 1 / expected / counts.size) ** 0.5
    )


@COUNTED
def test_lemons_of_a_share_that_is_no_whole_number_leave_the_mean_rate(counting_run, n_counted):
    """2.4 of 8 nodes are two or three; the rate of a run differs, its mean does not, and counts vary more."""
    run = counting_run.override({"cluster.n_gpus": 64, "failures.rate_per_1000_node_days": 800})
    lemons = run.override({"failures.lemons": {"share": 0.3, "factor": 20}})
    hours = run.job.productive_h
    mean, error, counts = _counts(lemons, run.job_rate_per_h * hours, n_counted)
    assert mean == pytest.approx(run.job_rate_per_h * hours, abs=FOUR * error)
    normal = run.job_rate_per_h / 8 / (1 + 0.3 * 19) * hours
    of_two, of_three = normal * (6 + 2 * 20), normal * (5 + 3 * 20)
    expected = 0.6 * of_two + 0.4 * of_three
    variance = expected + 0.6 * 0.4 * (of_three - of_two) ** 2
    assert counts.var(ddof=1) == pytest.approx(variance, rel=FOUR * (3 / counts.size) ** 0.5)


def _renewal_total(run, shape: float, start: str) -> tuple[float, float]:
    """Expected hours and failures of a job on one node, by what is left to do at each of its failures.

    Between two failures the node lives through a restart and as many whole segments as its lifetime holds. All
    lifetimes are alike but the first, which is a residual one where the node was in the middle of its life.
    """
    tau, stall, restart_h = run.interval_h, run.stall_h, run.restart_h
    down_h = run.detection_h + run.queue_h
    mean = 24_000 / run.failure_rate
    scale = mean / math.gamma(1 + 1 / shape)
    n_segments = math.ceil(run.job.productive_h / tau - 1e-9)
    rest = run.job.productive_h - (n_segments - 1) * tau

    def survival(hours):
        return np.exp(-((hours / scale) ** shape))

    def residual(hours):
        return special.gammaincc(1 / shape, (hours / scale) ** shape)

    def one_life(alive, n_left: int, later_h: list[float], later_n: list[float]) -> tuple[float, float, float]:
        """Hours and failures up to the end, but for lives in which no segment is finished, whose share comes third."""
        ends = restart_h + np.arange(n_left) * (tau + stall)
        ends[0] = 0.0
        finish = restart_h + (n_left - 1) * (tau + stall) + rest
        reached = np.append(alive(ends), alive(finish))
        dies = reached[:-1] - reached[1:]  # after 0, 1, ... finished segments
        lived_h = integrate.quad(alive, 0, finish, limit=500, points=sorted({restart_h, finish / 2}))[0]
        fails = 1 - reached[-1]
        hours = lived_h + down_h * fails + sum(dies[c] * later_h[n_left - c] for c in range(1, n_left))
        count = fails + sum(dies[c] * later_n[n_left - c] for c in range(1, n_left))
        return hours, count, dies[0]

    hours, count = [0.0], [0.0]
    for n_left in range(1, n_segments + 1):
        more_h, more, nothing = one_life(survival, n_left, hours, count)
        hours.append(more_h / (1 - nothing))
        count.append(more / (1 - nothing))
    if start == "new":
        return hours[-1] + run.first_queue_h, count[-1]
    first_h, first, nothing = one_life(residual, n_segments, hours, count)
    return first_h + nothing * hours[-1] + run.first_queue_h, first + nothing * count[-1]


@pytest.mark.parametrize("start", ["new", "stationary"])
@pytest.mark.parametrize("shape", [0.5, 1.0, 5.0])
def test_a_node_by_itself_takes_what_dynamic_programming_says(plain_run, shape, start):
    run = plain_run.override(
        {
            "cluster.n_gpus": 8,
            "failures.rate_per_1000_node_days": 6000,
            "failures.lifetime": {"shape": shape, "start": start},
            "job": {"productive_h": 20.4},
            "recovery": {"detection_min": 6, "queue_min": 3, "restart_min": 12},
        }
    )
    hours, count = _renewal_total(run, shape, start)
    if shape == 1:
        expected = budget.exact(run.override({"failures.lifetime": None, "maintenance": None}))
        assert (hours, count) == pytest.approx((expected.total_h, expected.n_failures), rel=1e-9)
    runs = simulate(run, n_runs=8000, seed=5, control_variates=False).runs
    for column, value in (("total_h", hours), ("n_failures", count)):
        error = runs[column].std(ddof=1) / 8000**0.5
        assert runs[column].mean() == pytest.approx(value, abs=FOUR * error), column
        assert error < 0.01 * value, column


STORMY = {
    "many new nodes": {
        "cluster.n_gpus": 12_800,
        "failures.rate_per_1000_node_days": 4,
        "failures.lifetime": {"shape": 0.6, "start": "new"},
    },
    "new nodes": {"failures.lifetime": {"shape": 0.6, "start": "new"}},
    "burn-in": {"failures.burn_in": {"factor": 100, "decay_days": 1}, "recovery.restart_min": 5},
}


@pytest.mark.parametrize("name", STORMY)
def test_a_start_among_many_failures_is_that_of_the_form_for_changing_rates(small_run, name):
    """The first restart alone fails several times, and the rate falls meanwhile; the form is good to 2% here."""
    run = small_run.override(STORMY[name])
    simulated, form = simulate(run, n_runs=4000, seed=3), budget.over_time(run)
    assert simulated.budget.total_h == pytest.approx(
        form.total_h, rel=0.02, abs=4 * simulated.relative_error * form.total_h
    )
    assert simulated.budget.n_failures == pytest.approx(form.n_failures, rel=0.03)
    assert simulated.budget.restart_h == pytest.approx(form.restart_h, rel=0.03)
